"""Kernels with fewer messages: as few as by hand, and the same results.

``tomcatv`` and ``swm`` are programs of Choi and Snyder, ICPP 1997.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from asphalt.config.passes import PASSES, Pass
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import optimise
from asphalt.optimiser.options import Options
from asphalt.running.mpi import MPICH, OPENMPI, SMPI
from bench.lab.case import KERNELS
from bench.lab.measure import Simulator
from bench.lab.run import run_program
from support.mpi_run import QUICK, Mpi, build, installed, run, runtime_texts

CASES = (
    "fields",
    pytest.param("swm", marks=pytest.mark.wide),
    pytest.param("tomcatv", marks=pytest.mark.wide),
)
VERSIONS: dict[str, tuple[Pass, ...]] = {
    "removal": (Pass.REMOVAL,),
    "combination": (Pass.REMOVAL, Pass.COMBINATION, Pass.INLINE),
    "all": PASSES,
}
ALL_RANKS = (1, 4, 6) if QUICK in os.environ else (1, 2, 3, 4, 5, 6, 7, 8)


@cache
def _text(version: str, case: str = "fields") -> str:
    """A kernel with the passes of a version; ``original``, ``hand``: as it stands."""
    folder = KERNELS / case
    if version not in VERSIONS:
        return (folder / f"{version}.f90").read_text()
    beside = [folder / "original.f90", folder / "work.f90", KERNELS / "common" / "results.f90"]
    tree = load_tree(beside, Settings(cache=False, jobs=1))
    (unit,) = (u for u in tree.units_of(str(beside[0])) if u.unit.name == case)
    found = optimise(tree, unit, Options(VERSIONS[version]))
    assert found.content is not None
    return found.content.decode()


def _program(version: str, mpi: Mpi, folder: Path, case: str = "fields") -> Path:
    folder.mkdir()
    text = _text(version, case)
    texts = runtime_texts(text) if version in VERSIONS else {}
    for path in (KERNELS / "common" / "results.f90", KERNELS / case / "work.f90"):
        texts[path.name] = path.read_text()
    texts["main.f90"] = text
    (folder / "sizes.inc").write_text((KERNELS / case / "sizes.inc").read_text())
    for name, text in texts.items():
        (folder / name).write_text(text)
    return build(mpi, [folder / name for name in texts], folder, ("-O1", "-fcheck=all"))


def _steps(version: str, case: str = "fields") -> str:
    """The time loop."""
    text = _text(version, case)
    return text[text.index("do step = 1, steps") : text.index("elapsed = ")]


def _messages(version: str, case: str) -> int:
    """The messages of the time loop: statements that send, or call a procedure that does."""
    calls = ("    call from_", " call MPI_Sendrecv(", " call asphalt_isend(")
    return sum(_steps(version, case).count(one) for one in calls)


@pytest.mark.parametrize(
    ("case", "original", "removal", "combination"),
    [("swm", 27, 17, 11), pytest.param("tomcatv", 46, 22, 11, marks=pytest.mark.wide)],
)
def test_a_compilers_messages_are_fewer(
    case: str, original: int, removal: int, combination: int
) -> None:
    assert _messages("original", case) == original
    assert _messages("removal", case) == removal
    assert _messages("combination", case) == combination


@pytest.mark.wide
def test_two_reductions_are_one() -> None:
    assert _steps("original", "tomcatv").count("call MPI_Allreduce(") == 2
    assert _steps("combination", "tomcatv").count("call MPI_Allreduce(") == 1


def test_one_exchange_is_left_out() -> None:
    assert _steps("original").count("    call exchange(") == 4
    assert _steps("removal").count("    call exchange(") == 3


def test_three_fields_travel_in_one_message_for_each_neighbour() -> None:
    assert _steps("combination").count("call asphalt_isend(") == 4
    assert "MPI_Sendrecv(" not in _steps("combination")
    assert _text("hand").count("call MPI_Isend(") == 4


def test_the_messages_overlap_with_work() -> None:
    assert _steps("all").count("call asphalt_isend(") == 4
    assert "MPI_Sendrecv(" not in _steps("all").replace("MPI_Sendrecv made", "")


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH), ids=str)
@pytest.mark.parametrize("version", ["hand", *VERSIONS])
@pytest.mark.parametrize("case", CASES)
def test_the_results_are_the_same(case: str, version: str, mpi: Mpi, tmp_path: Path) -> None:
    names = ("original", version)
    programs = [_program(name, mpi, tmp_path / name, case) for name in names]
    for ranks in ALL_RANKS if mpi is MPICH else (4, 6):
        printed = [run(mpi, program, ranks) for program in programs]
        assert [one.code for one in printed] == [0, 0]
        assert len(printed[0].stdout.splitlines()) == ranks
        assert printed[0].stdout == printed[1].stdout


@pytest.mark.skipif(SMPI not in installed(SMPI), reason="SMPI is not installed")
@pytest.mark.parametrize("version", ["hand", *VERSIONS])
@pytest.mark.parametrize("case", CASES)
def test_no_message_relies_on_buffering(case: str, version: str, tmp_path: Path) -> None:
    printed = []
    for name in ("original", version):
        program = _program(name, SMPI, tmp_path / name, case)
        options = {"smpi/send-is-detached-thresh": "0"}
        command = Simulator().platform.command(6, program, options)
        printed.append(run_program(command, program.parent, 60).output)
    assert printed[0] == printed[1]
    assert len(printed[0].splitlines()) == 6
