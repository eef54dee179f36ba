"""fortran_runtime/asphalt_rt.f90 and the shapes of emitted code, under real MPIs."""

from __future__ import annotations

from pathlib import Path

import pytest
from mpi_run import RUNTIME, Mpi, build, compile_source, installed, run

PROGRAMS = Path(__file__).parent / "runtime"


@pytest.mark.parametrize("mpi", installed(), ids=str)
def test_runtime_compiles_without_a_word(mpi: Mpi, tmp_path: Path) -> None:
    strict = ["-Wall", "-Wextra", "-pedantic", "-std=f2018", "-O2"]
    outcome = compile_source(mpi, RUNTIME, tmp_path, strict)
    assert (outcome.code, outcome.stderr) == (0, "")


@pytest.mark.parametrize("mpi", installed(), ids=str)
def test_enter(mpi: Mpi, tmp_path: Path) -> None:
    program = build(mpi, [RUNTIME, PROGRAMS / "enter.f90"], tmp_path, ["-O1", "-fcheck=all"])
    for ranks in (1, 2, 3, 4):
        outcome = run(mpi, program, ranks)
        assert (outcome.code, outcome.stdout.strip()) == (0, "PASS"), (ranks, outcome)
