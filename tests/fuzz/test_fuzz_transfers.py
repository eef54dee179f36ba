"""A fixed sample of random procedures with messages between two ranks."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from asphalt.running.mpi import MPICH, SMPI
from fuzz.close import MAKERS
from fuzz.closeness import drawn
from fuzz.exchanges import procedure
from fuzz.transfer_mutant import TransferMutant
from fuzz.transfer_mutation import MUTANTS, named
from fuzz.transfer_teeth import hunt
from fuzz.transfers import batch
from fuzz.typed_handles import typed
from support.mpi_run import compile_source


def test_a_procedure_is_the_same_each_time() -> None:
    assert procedure(5, 3) == procedure(5, 3)
    assert procedure(5, 3) != procedure(5, 4)


_PLAIN = """\
      use mpi
      integer :: me, status(MPI_STATUS_SIZE), req(4), ierr
      integer, allocatable :: requests(:), statuses(:,:)
      call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
      allocate(requests(2*np), statuses(MPI_STATUS_SIZE,
     &2*np))
      statuses = 0
      call MPI_Recv(a, n, MPI_REAL8, left, 1, MPI_COMM_WORLD, status,
     &ierr)
      t = t + statuses(MPI_SOURCE,1)
"""
_TYPED = """\
      use mpi_f08
      integer :: me, ierr
      type(MPI_Status) :: status
      type(MPI_Request) :: req(4)
      type(MPI_Request), allocatable :: requests(:)
      type(MPI_Status), allocatable :: statuses(:)
      call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
      allocate(requests(2*np), statuses(2*np))
      statuses%MPI_SOURCE = 0
      call MPI_Recv(a, n, MPI_REAL8, left, 1, MPI_COMM_WORLD, status)
      t = t + statuses(1)%MPI_SOURCE
"""


def test_handles_and_statuses_of_derived_types() -> None:
    texts = {typed(_PLAIN, Random(number)) for number in range(20)}
    assert texts == {_TYPED, _TYPED.replace("status)", "status,\n     &ierr)")}
    assert typed(_PLAIN.replace("use mpi", "include 'mpif.h'"), Random(1)) is None


def test_error_codes_that_are_passed_out_stay_arguments() -> None:
    text = (
        "subroutine one(a, ierr)\n  use mpi\n  integer, intent(inout) :: ierr\n"
        "  call two(a, ierr)\n  call MPI_Barrier(MPI_COMM_WORLD, ierr)\nend subroutine one\n"
    )
    found = [typed(text, Random(number)) or "" for number in range(10)]
    assert all("one(a, ierr)" in own and "two(a, ierr)" in own for own in found)
    assert any("(MPI_COMM_WORLD)" in own for own in found)


@pytest.mark.skipif(bool(MPICH.missing()), reason="MPICH is not installed")
def test_all_procedures_close_to_conditions_compile_with_them(tmp_path: Path) -> None:
    texts = {".f90": "", ".f": ""}
    for number, name in enumerate(sorted(MAKERS)):
        for seed in (1, 2):
            file, text, _ = drawn(MAKERS, name, seed, 100 * seed + number)
            texts[Path(file).suffix] += typed(text, Random(number)) or text
    # compilers read a module at each USE statement, and mpi_f08 is large
    own = sorted(set(re.findall(r"\bmpi_(?!f08\b)\w+", "".join(texts.values()).lower())))
    names = ", &\n    ".join(own)
    used = f"operator(==), operator(/=), &\n    {names}"
    few = f"module few_f08\n  use mpi_f08, only: {used}\nend module few_f08\n"
    (tmp_path / "few.f90").write_text(few)
    outcome = compile_source(MPICH, tmp_path / "few.f90", tmp_path, ["-w"])
    assert outcome.code == 0, outcome.stderr
    for suffix, text in texts.items():
        assert text.count("use mpi_f08") > 5
        source = tmp_path / f"all{suffix}"
        source.write_text(re.sub(r"\buse mpi_f08\b", "use few_f08", text))
        outcome = compile_source(MPICH, source, tmp_path, ["-fsyntax-only", "-w"])
        assert outcome.code == 0, outcome.stderr


@pytest.mark.wide
@pytest.mark.skipif(bool(MPICH.missing()), reason="MPICH is not installed")
def test_a_sample_with_them_gives_the_same_results(tmp_path: Path) -> None:
    found = batch(101, 0, 6, MPICH, "-O0", tmp_path, (3,), "halos")
    assert found.failures == []
    assert found.transformed >= 5
    assert found.typed >= 2


@pytest.mark.skipif(bool(SMPI.missing()), reason="SMPI is not installed")
@pytest.mark.parametrize(
    ("first", "kind"),
    [
        (8, "exchanges"),
        (8, "alltoalls"),
        (12, "close"),
        pytest.param(0, "exchanges", marks=pytest.mark.wide),
        pytest.param(4, "exchanges", marks=pytest.mark.wide),
        pytest.param(16, "exchanges", marks=pytest.mark.wide),  # SMPI counts requests too many
        pytest.param(20, "close", marks=pytest.mark.wide),
        pytest.param(0, "arrays", marks=pytest.mark.wide),
        pytest.param(0, "halos", marks=pytest.mark.wide),
        pytest.param(0, "kernels", marks=pytest.mark.wide),
        pytest.param(0, "shifts", marks=pytest.mark.wide),
        pytest.param(15, "waves", marks=pytest.mark.wide),
    ],
)
def test_a_sample_gives_the_same_results(first: int, kind: str, tmp_path: Path) -> None:
    found = batch(101, first, 4, SMPI, "-O0", tmp_path, (3,), kind)
    assert found.failures == []
    assert found.transformed >= 2
    assert found.transfers >= 4


@pytest.mark.skipif(bool(SMPI.missing()), reason="SMPI is not installed")
@pytest.mark.parametrize(
    ("mutant", "symptom"),
    [
        ("data: several columns", "differs"),
        ("form: skipped", "changed"),
        ("ASP061 labels", "does not compile"),
    ],
)
def test_a_procedure_shows_a_mutant(mutant: str, symptom: str) -> None:
    assert hunt(named(mutant), 7, range(4), 60.0).symptom == symptom


@pytest.mark.wide
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_random_procedures_show_each_mutant(mutant: TransferMutant) -> None:
    for mpi, _ in mutant.runs:
        if mpi.missing():
            pytest.skip(f"{mpi.name} is not installed")
    found = hunt(mutant, 7, range(40), 600.0)
    assert bool(found.symptom) is not bool(mutant.also)


def test_each_mutant_has_procedures_of_its_own() -> None:
    used = {mutant.near for mutant in MUTANTS}
    assert used == set(MAKERS)
    for name in used:
        assert drawn(MAKERS, name, 3, 1)[1] == drawn(MAKERS, name, 3, 1)[1]
