"""The modules of fortran_runtime and the shapes of emitted code, under real MPIs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from asphalt.config.runtime import runtime_modules
from asphalt.output.modules import used_modules
from support.mpi_run import (
    MPICH,
    OPENMPI,
    RUNTIME,
    RUNTIME_F08,
    SMPI,
    Mpi,
    build,
    compile_runtime,
    compile_source,
    installed,
    run,
)
from support.places import RUNTIME_PROGRAMS

PROGRAMS = RUNTIME_PROGRAMS


STANDARDS = {"f2008": OPENMPI, "f2018": MPICH, "legacy": SMPI}
"""Standards, and the MPI whose modules the quick suite has with each."""


@pytest.mark.parametrize(
    ("mpi", "standard"),
    [
        pytest.param(mpi, standard, marks=() if mpi is quick else pytest.mark.wide)
        for standard, quick in STANDARDS.items()
        for mpi in installed()
    ],
    ids=str,
)
def test_runtime_compiles_without_a_word(mpi: Mpi, standard: str, tmp_path: Path) -> None:
    strict = ["-Wall", "-Wextra", "-pedantic", f"-std={standard}", "-O2"]
    outcome = compile_runtime(mpi, tmp_path, strict)
    assert (outcome.code, outcome.stderr) == (0, "")


CHECKED = {
    "enter.f90": OPENMPI,
    "communicators.f90": MPICH,
    "datatypes.f90": OPENMPI,
    "persistent.f90": OPENMPI,
    "persistent_transfers.f90": OPENMPI,
    "packed.f90": SMPI,
    "segments.f90": SMPI,
    "uneven.f90": SMPI,
    "choice.f90": OPENMPI,
    "turns.f90": MPICH,
    "places_of_types.f90": SMPI,
    "nobody.f90": MPICH,
    "in_place.f90": SMPI,
    "broadcast.f90": SMPI,
    "chosen.f90": SMPI,
    "copies.f90": OPENMPI,
}
"""Programs that check themselves, and the MPI that the quick suite runs each under."""


@pytest.mark.parametrize(
    ("name", "mpi"),
    [
        pytest.param(name, mpi, marks=() if mpi is quick else pytest.mark.wide)
        for name, quick in CHECKED.items()
        for mpi in installed()
    ],
    ids=str,
)
def test_what_programs_check(name: str, mpi: Mpi, tmp_path: Path) -> None:
    program = build(mpi, [*RUNTIME, PROGRAMS / name], tmp_path, ["-O1", "-fcheck=all"])
    for ranks in (1, 2, 3, 4):
        outcome = run(mpi, program, ranks)
        assert (outcome.code, outcome.stdout.strip()) == (0, "PASS"), (ranks, outcome)


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH), ids=str)
@pytest.mark.parametrize("name", ["persistent", "persistent_transfers"])
def test_kept_requests(name: str, mpi: Mpi, tmp_path: Path) -> None:
    """Nothing is kept where threads may call MPI at once."""
    source = PROGRAMS / f"{name}.f90"
    program = build(mpi, [*RUNTIME, source], tmp_path, ["-O1", "-fcheck=all"])
    for arguments in ([], ["threads"]):
        outcome = run(mpi, program, 2, arguments)
        assert (outcome.code, outcome.stdout.strip()) == (0, "PASS"), (arguments, outcome)


@pytest.mark.parametrize(
    "mpi",
    [
        m if m is MPICH else pytest.param(m, marks=pytest.mark.wide)
        for m in installed(MPICH, OPENMPI)
    ],
    ids=str,
)
def test_threads_make_one_key(mpi: Mpi, tmp_path: Path) -> None:
    """Two threads meet in their first exchanges: the one that makes the key is held up."""
    sources = [*RUNTIME, PROGRAMS / "key_of_threads.f90", PROGRAMS / "second_thread.c"]
    program = build(mpi, sources, tmp_path, ["-O1", "-fopenmp"], runtime=["-O1", "-fopenmp"])
    outcome = run(mpi, program, 1, threads=2)
    assert (outcome.code, outcome.stdout.strip()) == (0, "PASS"), outcome


@pytest.mark.parametrize("mpi", installed(MPICH), ids=str)
def test_a_backend_of_another_kind(mpi: Mpi, tmp_path: Path) -> None:
    """Pieces may be put through a window; nothing but the four points says so.

    Not every component of Open MPI 4.1 has windows to which memory is attached.
    """
    source = PROGRAMS / "one_sided.f90"
    program = build(mpi, [*RUNTIME, source], tmp_path, ["-O1", "-fcheck=all"])
    for ranks in (1, 2):
        outcome = run(mpi, program, ranks)
        assert (outcome.code, outcome.stdout.strip()) == (0, "PASS"), (ranks, outcome)


def test_each_module_has_programs_that_check_it() -> None:
    used = {name for path in PROGRAMS.glob("*.f90") for name in used_modules(path)}
    assert runtime_modules().keys() <= used


@pytest.mark.parametrize(
    "mpi",
    [
        m if m is MPICH else pytest.param(m, marks=pytest.mark.wide)
        for m in installed(MPICH, OPENMPI)
    ],
    ids=str,
)
def test_typed_statuses(mpi: Mpi, tmp_path: Path) -> None:
    """Not under SMPI 3.32, which has no module ``mpi_f08``."""
    sources = [*RUNTIME, *RUNTIME_F08, PROGRAMS / "typed_statuses.f90"]
    program = build(mpi, sources, tmp_path, ["-O1", "-fcheck=all"])
    for ranks in (1, 2, 3):
        outcome = run(mpi, program, ranks)
        assert (outcome.code, outcome.stdout.strip()) == (0, "PASS"), (ranks, outcome)


@pytest.mark.parametrize("mpi", installed(), ids=str)
def test_progress(mpi: Mpi, tmp_path: Path) -> None:
    program = build(mpi, [*RUNTIME, PROGRAMS / "progress.f90"], tmp_path, ["-O1", "-fcheck=all"])
    outcome = run(mpi, program, 1)
    assert (outcome.code, outcome.stdout.strip()) == (0, "PASS"), outcome


@pytest.mark.wide
@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH), ids=str)
def test_blocks(mpi: Mpi, tmp_path: Path) -> None:
    """Not under SMPI 3.32, which has no intercommunicators."""
    program = build(mpi, [*RUNTIME, PROGRAMS / "blocks.f90"], tmp_path, ["-O1", "-fcheck=all"])
    for ranks in (1, 2, 3, 4):
        outcome = run(mpi, program, ranks)
        assert (outcome.code, outcome.stdout.strip()) == (0, "PASS"), (ranks, outcome)


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH), ids=str)
def test_blocks_of_types(mpi: Mpi, tmp_path: Path) -> None:
    """What a block touches is waited for, and nothing else; what is filled is sent.  Not under SMPI
    3.32, which has other extents for such types."""
    source = PROGRAMS / "blocks_of_types.f90"
    program = build(mpi, [*RUNTIME, source], tmp_path, ["-O1", "-fcheck=all", "-w"])
    for ranks in (1, 2, 3, 4):
        outcome = run(mpi, program, ranks)
        assert (outcome.code, outcome.stdout.strip()) == (0, "PASS"), (ranks, outcome)


# the MPI of the quick suite, where it is installed; the others are wide
PROTOTYPES = {
    "blocks_mpi.f90": SMPI,
    "blocks_f08.f90": OPENMPI,
    "blocks_fixed.f": SMPI,
    "slab_mpi.f90": MPICH,
}


def _programs() -> Iterator[ParameterSet]:
    for name, quick in PROTOTYPES.items():
        for mpi in installed():
            if not (mpi.simulated and "f08" in name):
                marks = () if mpi is quick else pytest.mark.wide
                yield pytest.param(mpi, name, marks=marks, id=f"{mpi}-{name}")


@pytest.mark.parametrize(("mpi", "name"), list(_programs()))
def test_shape_of_emitted_code(mpi: Mpi, name: str, tmp_path: Path) -> None:
    """Both shapes, by hand: no warnings, and for all K, D and sizes what the collective gives."""
    compile_runtime(mpi, tmp_path)
    for flags in (["-Wall", "-O3"], ["-Wall", "-O1", "-g", "-fcheck=all"]):
        outcome = compile_source(mpi, PROGRAMS / name, tmp_path, flags)
        assert (outcome.code, outcome.stderr) == (0, "")
    sources = [*RUNTIME, PROGRAMS / name, PROGRAMS / "drive.f90"]
    program = build(mpi, sources, tmp_path, ["-O1", "-g", "-fcheck=all"])
    # ranks of MPICH wait in busy loops: with more of them than cores, only a few cases
    ranks_tried = {"openmpi": (1, 3), "mpich": (2,), "smpi": (1, 2, 3, 4)}[mpi.name]
    for ranks in ranks_tried:
        outcome = run(mpi, program, ranks)
        assert (outcome.code, outcome.stdout.strip()) == (0, "PASS"), (ranks, outcome)
    if mpi.name == "mpich":
        outcome = run(mpi, program, 3, ["few"])
        assert (outcome.code, outcome.stdout.strip()) == (0, "PASS"), outcome


OPTIMISED = {("-O2",): OPENMPI, ("-O3",): None, ("-O2", "-flto"): None, ("-O3", "-flto"): OPENMPI}
"""Flags, and the MPI that the quick suite has with them, if it has them."""


@pytest.mark.parametrize(
    ("flags", "mpi"),
    [
        pytest.param(flags, mpi, marks=() if mpi is quick else pytest.mark.wide)
        for flags, quick in OPTIMISED.items()
        for mpi in installed()
    ],
    ids=lambda given: str(given) if isinstance(given, Mpi) else "".join(given),
)
def test_buffers_whose_addresses_are_kept(flags: tuple[str, ...], mpi: Mpi, tmp_path: Path) -> None:
    """Optimisers leave in place what the program stores to buffers, and what it loads.

    What they do where the runtime does not protect them: ``test_protections.py``."""
    sources = [*RUNTIME, PROGRAMS / "kept.f90"]
    program = build(mpi, sources, tmp_path, flags, runtime=flags)
    for ranks in (1, 2, 3):
        outcome = run(mpi, program, ranks)
        assert (outcome.code, outcome.stdout.strip()) == (0, "PASS"), (ranks, outcome)


def test_sync_keeps_accesses_in_place(tmp_path: Path) -> None:
    """The compiler reloads a buffer after asphalt_sync, and keeps stores before it."""
    mpi = installed(OPENMPI, MPICH)[0]
    source = tmp_path / "sync.f90"
    source.write_text(
        "subroutine s(after)\n"
        "  use asphalt_core, only: asphalt_sync\n"
        "  implicit none\n"
        "  integer, intent(out) :: after\n"
        "  integer :: buf(4)\n"
        "  buf = 1\n"
        "  call asphalt_sync(buf)\n"
        "  after = buf(1)\n"
        "end subroutine s\n"
    )
    compile_runtime(mpi, tmp_path)
    outcome = compile_source(mpi, source, tmp_path, ["-O3", "-fdump-tree-optimized"])
    assert outcome.code == 0
    (dump,) = tmp_path.glob("*.optimized")
    before, after = dump.read_text().split("asphalt_sync (", 1)
    assert "{ 1, 1, 1, 1 }" in before
    assert "= buf[0]" in after
