"""The kernel of three fields with fewer messages: as few as by hand, and the same results."""

from __future__ import annotations

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
from support.mpi_run import Mpi, build, installed, run, runtime_texts

CASE = KERNELS / "fields"
VERSIONS: dict[str, tuple[Pass, ...]] = {
    "removal": (Pass.REMOVAL,),
    "combination": (Pass.REMOVAL, Pass.COMBINATION, Pass.INLINE),
    "all": PASSES,
}
ALL_RANKS = (1, 2, 3, 4, 5, 6, 7, 8)


@cache
def _text(version: str) -> str:
    """The kernel with the passes of a version; ``original``, ``hand``: as it stands."""
    if version not in VERSIONS:
        return (CASE / f"{version}.f90").read_text()
    beside = [CASE / "original.f90", CASE / "work.f90", KERNELS / "common" / "results.f90"]
    tree = load_tree(beside, Settings(cache=False, jobs=1))
    (unit,) = (u for u in tree.units_of(str(beside[0])) if u.unit.name == "fields")
    found = optimise(tree, unit, Options(VERSIONS[version]))
    assert found.content is not None
    return found.content.decode()


def _program(version: str, mpi: Mpi, folder: Path) -> Path:
    folder.mkdir()
    texts = runtime_texts(_text(version)) if version in VERSIONS else {}
    for path in (KERNELS / "common" / "results.f90", CASE / "work.f90"):
        texts[path.name] = path.read_text()
    texts["main.f90"] = _text(version)
    (folder / "sizes.inc").write_text((CASE / "sizes.inc").read_text())
    for name, text in texts.items():
        (folder / name).write_text(text)
    return build(mpi, [folder / name for name in texts], folder, ("-O1", "-fcheck=all"))


def _steps(version: str) -> str:
    """The time loop."""
    text = _text(version)
    return text[text.index("do step = 1, steps") : text.index("elapsed = ")]


def test_one_exchange_is_left_out() -> None:
    assert _steps("original").count("    call exchange(") == 4
    assert _steps("removal").count("    call exchange(") == 3


def test_three_fields_travel_in_one_message_for_each_neighbour() -> None:
    assert _steps("combination").count("call MPI_Sendrecv(") == 4
    assert _text("hand").count("call MPI_Isend(") == 4


def test_the_messages_overlap_with_work() -> None:
    assert _steps("all").count("call asphalt_isend(") == 4
    assert "MPI_Sendrecv(" not in _steps("all").replace("MPI_Sendrecv made", "")


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH), ids=str)
@pytest.mark.parametrize("version", ["hand", *VERSIONS])
def test_the_results_are_the_same(version: str, mpi: Mpi, tmp_path: Path) -> None:
    programs = [_program(name, mpi, tmp_path / name) for name in ("original", version)]
    for ranks in ALL_RANKS if mpi is MPICH else (4, 6):
        printed = [run(mpi, program, ranks) for program in programs]
        assert [one.code for one in printed] == [0, 0]
        assert len(printed[0].stdout.splitlines()) == ranks
        assert printed[0].stdout == printed[1].stdout


@pytest.mark.skipif(SMPI not in installed(SMPI), reason="SMPI is not installed")
@pytest.mark.parametrize("version", ["hand", *VERSIONS])
def test_no_message_relies_on_buffering(version: str, tmp_path: Path) -> None:
    printed = []
    for name in ("original", version):
        program = _program(name, SMPI, tmp_path / name)
        options = {"smpi/send-is-detached-thresh": "0"}
        command = Simulator().platform.command(6, program, options)
        printed.append(run_program(command, program.parent, 60).output)
    assert printed[0] == printed[1]
    assert len(printed[0].splitlines()) == 6
