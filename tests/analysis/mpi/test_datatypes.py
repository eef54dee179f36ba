"""The sizes of predefined datatypes against those of a real MPI."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from asphalt.analysis.mpi.datatypes import PREDEFINED
from support.mpi_run import OPENMPI, build, compile_source, installed, run


def program(names: list[str]) -> str:
    lines = [
        "program sizes",
        "use mpi",
        "implicit none",
        "integer :: n, ierr",
        "call MPI_Init(ierr)",
    ]
    for name in names:
        lines += [f"call MPI_Type_size({name}, n, ierr)", f"print *, '{name}', n"]
    return "\n".join([*lines, "call MPI_Finalize(ierr)", "end program", ""])


@pytest.mark.skipif(not installed(OPENMPI), reason="needs Open MPI")
def test_sizes_are_those_of_open_mpi(tmp_path: Path) -> None:
    source = tmp_path / "sizes.f90"
    names = sorted(PREDEFINED)
    source.write_text(program(names))
    # Some types are optional: the compiler says which ones this MPI does not have.
    missing = compile_source(OPENMPI, source, tmp_path).stderr.lower()
    absent = set(re.findall(r"symbol .(mpi_\w+). at", missing))
    names = [name for name in names if name not in absent]
    assert {"mpi_double_precision", "mpi_integer", "mpi_2real", "mpi_byte"} <= set(names)
    source.write_text(program(names))
    outcome = run(OPENMPI, build(OPENMPI, [source], tmp_path), 1)
    assert outcome.code == 0, outcome.stderr
    sizes = {name: int(size) for name, size in re.findall(r"(mpi_\w+)\s+(-?\d+)", outcome.stdout)}
    assert len(sizes) > 40
    wrong = {
        name: (PREDEFINED[name].bytes, size)
        for name, size in sizes.items()
        if size > 0 and PREDEFINED[name].bytes not in (None, size)
    }
    assert wrong == {}
