"""Why something is unknown: a module that several files of a tree define."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from asphalt.config.passes import Pass
from asphalt.project import Project
from support.judging import SETTINGS

_SIZES = """\
module sizes
  integer :: parts = 4
end module sizes
"""
_DEFINED = """\
module defined
  type text
    integer :: length
  end type text
  interface operator(-)
    module procedure shortened
  end interface
contains
  type(text) function shortened(a, b)
    type(text), intent(in) :: a
    integer, intent(in) :: b
    shortened%length = a%length - b
  end function shortened
end module defined
"""
_PROGRAM = """\
program step
  use mpi
  use defined
  use sizes, only: parts
  implicit none
  integer, parameter :: n = 400
  real(8) :: s(n), r(n), a(n)
  integer :: i, k, ierr
  call MPI_Init(ierr)
  call MPI_Recv(a, n, MPI_REAL8, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  do k = 0, parts - 1
    do i = 1, n
      s(i) = i*k
    end do
  end do
  call MPI_Alltoall(s, 4, MPI_REAL8, r, 4, MPI_REAL8, MPI_COMM_WORLD, ierr)
  print *, r(1), a(1)
  call MPI_Finalize(ierr)
end program step
"""


def _project(folder: Path, copies: int) -> Project:
    for name, text in (("defined", _DEFINED), ("step", _PROGRAM)):
        (folder / f"{name}.f90").write_text(text)
    for number in range(copies):
        (folder / f"part{number}").mkdir()
        (folder / f"part{number}" / "sizes.f90").write_text(_SIZES)
    return Project(folder, settings=replace(SETTINGS, passes=(Pass.MOTION, Pass.NONBLOCKING)))


def test_an_operation_on_what_such_a_module_declares(tmp_path: Path) -> None:
    project = _project(tmp_path, copies=2)
    (exchange,) = project.sites()
    receive, *_ = project.not_overlapped(project.transform())
    files = ", ".join(str(tmp_path / f"part{number}" / "sizes.f90") for number in range(2))
    why = f"module sizes is defined 2 times, in {files}"
    assert exchange.report.message.endswith(f"(operator -): the type of parts is not known: {why}")
    assert receive.message.endswith(why)


def test_one_definition_says_the_type(tmp_path: Path) -> None:
    (exchange,) = _project(tmp_path, copies=1).sites()
    assert exchange.report.code != "ASP703"
