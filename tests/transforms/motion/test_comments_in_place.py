"""Comments about a place stay there when the statement behind them moves up."""

from __future__ import annotations

from pathlib import Path

from asphalt.config.settings import Settings
from asphalt.project import Project

_PROGRAM = """\
module halos
  use mpi
  implicit none
contains
  subroutine halo(q, n, left, right)
    integer, intent(in) :: n, left, right
    integer, intent(inout) :: q(0:n+1)
    integer :: r(4), ie
    ! both ghost cells
    call MPI_Irecv(q(0), 1, MPI_INTEGER, left, 1, MPI_COMM_WORLD, r(1), ie)
    call MPI_Irecv(q(n+1), 1, MPI_INTEGER, right, 2, MPI_COMM_WORLD, r(2), ie)
    call MPI_Isend(q(n), 1, MPI_INTEGER, right, 1, MPI_COMM_WORLD, r(3), ie)
    call MPI_Isend(q(1), 1, MPI_INTEGER, left, 2, MPI_COMM_WORLD, r(4), ie)
    call MPI_Waitall(4, r, MPI_STATUSES_IGNORE, ie)
  end subroutine halo
end module halos
program main
  use mpi
  use halos
  implicit none
  integer :: ierr, me, np, left, right
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  left = modulo(me - 1, np)
  right = modulo(me + 1, np)
  call go(me)
  call MPI_Finalize(ierr)
contains
  subroutine go(me)
    integer, intent(in) :: me
    integer, parameter :: n = 4000
    integer :: q(0:n+1), f(n), i
    do i = 1, n
      q(i) = me + i
    end do
    q(0) = -7
    q(n+1) = -9
    call halo(q, n, left, right)
    do i = 1, n
      f(i) = q(i-1) + 2*q(i) + q(i+1)
    end do
    print *, me, f(1), f(n)
  end subroutine go
end program main
"""


def test_where_a_body_begins_and_a_store_was_is_told_there(tmp_path: Path) -> None:
    (tmp_path / "halos.f90").write_text(_PROGRAM)
    (change,) = Project(tmp_path, settings=Settings(cache=False, jobs=1)).outcome().changes
    text = change.after.decode()
    lines = [line.strip() for line in text[text.index("subroutine go") :].splitlines()]
    receives = [n for n, line in enumerate(lines) if line.startswith("call MPI_Irecv")]
    fill = lines.index("q(i) = me + i")
    assert len(receives) == 2
    assert max(receives) < fill
    stores = "! asphalt: nothing is stored to q that MPI_Irecv overwrites"
    assert lines.count(stores) == 1
    at = lines.index(stores)
    assert at > fill
    assert lines[at + 1] == "! asphalt: halo of halos.f90 stands here"
    assert lines[at + 2].startswith("call MPI_Isend")
    # what the program says of a statement goes with it
    assert lines[lines.index("! both ghost cells") + 1].startswith("call MPI_Irecv(q(0)")
