"""Exchanges that are included once for each type of array, with macros for what differs."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.cli.main import main
from support.mpi_run import MPICH, OPENMPI, RUNTIME, Mpi, build, installed, run

_EXCHANGE = """\
    integer :: ierr, req(4)
    call MPI_IRECV(a(0), 1, DATATYPE, low, 1, MPI_COMM_WORLD, req(1), ierr)
    call MPI_IRECV(a(n+1), 1, DATATYPE, high, 2, MPI_COMM_WORLD, req(2), ierr)
    call MPI_ISEND(a(n), 1, DATATYPE, high, 1, MPI_COMM_WORLD, req(3), ierr)
    call MPI_ISEND(a(1), 1, DATATYPE, low, 2, MPI_COMM_WORLD, req(4), ierr)
    call MPI_WAITALL(4, req, MPI_STATUSES_IGNORE, ierr)
"""
_MODULE = """\
module halos
  use mpi
  implicit none
  integer :: low, high
contains
{}end module
"""
_PROCEDURE = """\
  subroutine halo_{0}(a, n)
    integer, intent(in) :: n
    {1}, intent(inout) :: a(0:n+1)
#define DATATYPE {2}
#include "exchange.inc"
#undef DATATYPE
  end subroutine
"""
_MAIN = """\
program shifts
  use mpi
  use halos
  implicit none
  integer, parameter :: n = 400
  real(8) :: u(0:n+1), v(0:n+1)
  integer :: k(0:n+1), l(0:n+1)
  integer :: ierr, me, ranks, i, t
  call MPI_INIT(ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, me, ierr)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
  low = merge(MPI_PROC_NULL, me - 1, me == 0)
  high = merge(MPI_PROC_NULL, me + 1, me == ranks - 1)
  do i = 0, n + 1
    u(i) = me + 0.5d0*i
    k(i) = 3*me + mod(i, 7)
  end do
  v = 0
  l = 0
  do t = 1, 5
    call halo_real(u, n)
    do i = 1, n
      v(i) = u(i-1) + sqrt(abs(u(i+1))) - u(i)
    end do
    call halo_integer(k, n)
    do i = 1, n
      l(i) = k(i-1) + k(i+1)
    end do
    do i = 1, n
      u(i) = u(i) + 0.25d0*v(i)
      k(i) = mod(l(i), 1000)
    end do
  end do
  print '(i4,2z20,2i14)', me, sum(u), sum(v), sum(k), sum(l)
  call MPI_FINALIZE(ierr)
end program
"""
_TYPES = (("real", "real(8)", "MPI_DOUBLE_PRECISION"), ("integer", "integer", "MPI_INTEGER"))
_FILES = {
    "halos.F90": _MODULE.format("".join(_PROCEDURE.format(*one) for one in _TYPES)),
    "exchange.inc": _EXCHANGE,
    "main.f90": _MAIN,
}


def transformed(folder: Path, files: dict[str, str], *options: str) -> Path:
    """The folder of the transformed files."""
    source, output = folder / "in", folder / "out"
    source.mkdir()
    for name, text in files.items():
        (source / name).write_text(text)
    asked = ["--network", "ethernet-1g", "--no-cache", "--jobs", "1", *options]
    assert main(["apply", str(source), "-o", str(output), *asked]) == 0
    return output


def printed(mpi: Mpi, tree: Path, place: Path, ranks: int) -> list[str]:
    """The sorted lines of a program."""
    place.mkdir()
    for path in tree.iterdir():
        if path.is_file():
            (place / path.name).write_bytes(path.read_bytes())
    sources = [*RUNTIME, place / "halos.F90", place / "main.f90"]
    flags = ["-O1", "-w", "-fallow-argument-mismatch"]
    found = run(mpi, build(mpi, sources, place, flags), ranks)
    assert found.code == 0, found.stderr
    return sorted(found.stdout.splitlines())


@pytest.mark.parametrize(
    "mpi",
    [*installed(OPENMPI), *(pytest.param(one, marks=pytest.mark.wide) for one in installed(MPICH))],
)
def test_exchanges_of_each_type_come_to_their_calls(mpi: Mpi, tmp_path: Path) -> None:
    output = transformed(tmp_path, _FILES)
    text = (output / "main.f90").read_text()
    assert "MPI_DOUBLE_PRECISION" in text
    assert "MPI_INTEGER" in text
    assert "DATATYPE" not in text
    for name in ("halos.F90", "exchange.inc"):  # which nothing else calls or includes
        assert (output / name).read_text() == _FILES[name]
    for ranks in (1, 2, 4):
        before, after = (
            printed(mpi, tree, tmp_path / f"{tree.name}{ranks}", ranks)
            for tree in (tmp_path / "in", output)
        )
        assert before == after


def test_a_macro_that_a_condition_asks_for_keeps_the_exchange(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its text means what that condition has chosen."""
    asked = _EXCHANGE.replace("    call MPI_WAIT", "#if DATATYPE\n#endif\n    call MPI_WAIT")
    output = transformed(tmp_path, {**_FILES, "exchange.inc": asked})
    assert (output / "main.f90").read_text() == _MAIN
    assert "has the line #define DATATYPE" in capsys.readouterr().out


def test_reports_name_the_lines_of_the_included_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    transformed(tmp_path, _FILES)
    told = capsys.readouterr().out
    lines = [one for one in told.split("\n") if "exchange.inc" in one]
    assert [one.split()[0].rpartition(":")[2] for one in lines] == list("22334455")
