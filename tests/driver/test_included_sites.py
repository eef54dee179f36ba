"""Operations in included procedures are listed where they stand, with the reason why they stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.cli.main import main

_PROGRAM = """\
program main
  use mpi
  implicit none
  integer :: ierr
  real :: a(9), b(9)
  call mpi_init(ierr)
  a = 1
  call work
  print *, b(1)
  call mpi_finalize(ierr)
contains
  include 'work.inc'
end program main
"""
_WORK = """\
  subroutine work
    call {}
  end subroutine work
"""


@pytest.mark.parametrize(
    ("call", "name", "code"),
    [
        (
            "mpi_allreduce(a, b, 9, mpi_real, mpi_max, mpi_comm_world, ierr)",
            "MPI_Allreduce",
            "ASP023",
        ),
        (
            "mpi_alltoall(a, 1, mpi_real, b, 1, mpi_real, mpi_comm_world, ierr)",
            "MPI_Alltoall",
            "ASP004",
        ),
    ],
)
def test_an_operation_in_an_included_procedure(
    call: str, name: str, code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "main.f90").write_text(_PROGRAM)
    (tmp_path / "work.inc").write_text(_WORK.format(call))
    flags = ["--passes", "all", "--jobs", "1", "--no-cache"]
    for paths in ([str(tmp_path)], [str(tmp_path / "main.f90")]):
        assert main(["scan", *paths, *flags]) == 0
        lines = [line.split(maxsplit=4) for line in capsys.readouterr().out.splitlines()]
        why = "its file is only a part of another one, in which main.f90:12 includes it"
        assert lines == [[f"{tmp_path / 'work.inc'}:2", name, "refused", code, why]]
