"""Programs in which each rank needs an edge of one neighbour for its work, and sends one of its own
to the other neighbour behind it: a wave of work through the ranks."""

from __future__ import annotations

GRID = """\
module grid
  implicit none
  integer, parameter :: n = 12, m = 2000
end module grid
"""
SWEEP = """\
subroutine sweep(u, left, right, comm, k)
  use mpi
  use grid
  implicit none
  real(8), intent(inout) :: u(0:m, 0:n+1)
  integer, intent(in) :: comm, k
  integer :: left, right
  real(8) :: west(n), east(n)
  integer :: i, j, ierr, status(MPI_STATUS_SIZE)
  real(8) :: t, row(m)
{declared}
  if (left /= MPI_PROC_NULL) then
    call MPI_Recv(west, n, MPI_DOUBLE_PRECISION, left, 1, comm, status, ierr)  ! from the west
    do j = 1, n
      u(0,j) = west(j)
    end do
  end if
  ! the work
{nest}
  ! to the next
  if (right /= MPI_PROC_NULL) then
    do j = 1, n
      east(j) = u(m,j)
    end do
    call MPI_Send(east, n, MPI_DOUBLE_PRECISION, right, 1, comm, ierr)  ! to the east
  end if
{behind}
end subroutine sweep
"""
MAIN = """\
program main
  use mpi
  use grid
  implicit none
  real(8) :: u(0:m, 0:n+1)
  integer :: me, np, left, right, step, i, j, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  left = MPI_PROC_NULL
  right = MPI_PROC_NULL
  if (me > 0) left = me - 1
  if (me < np - 1) right = me + 1
  do j = 0, n + 1
    do i = 0, m
      u(i,j) = modulo(7*i + 3*j + me, 11)
    end do
  end do
  do step = 1, 60
    call sweep(u, left, right, MPI_COMM_WORLD, step)
  end do
{more}
  print '(i3, 3es25.17)', me, u(m,n), u(1,1), sum(u(1:,1:n))
  call MPI_Finalize(ierr)
end program main
"""
OTHERS = """\
subroutine other(u, k)
  use mpi
  implicit none
  real(8) :: u(*)
  integer :: k, ierr
  {what}
end subroutine other
"""
POINT = "u(i,j) = 0.5d0*u(i,j) + 0.25d0*(u(i-1,j) + u(i,j-1))"


def nest(*statements: str, rows: str = "1, n") -> str:
    """Two loops, one iteration of the outer one for each element of a message."""
    inside = "".join(f"      {statement}\n" for statement in statements or (POINT,))
    return f"  do j = {rows}\n    do i = 1, m\n{inside}    end do\n  end do\n"


def program(
    work: str = "", declared: str = "", behind: str = "", more: str = "", other: str = ""
) -> str:
    """The text; ``work``: what is done between the receive and the send."""
    sweep = SWEEP.format(nest=work or nest(), declared=declared, behind=behind)
    return GRID + sweep + (OTHERS.format(what=other) if other else "") + MAIN.format(more=more)


CALL = "  call other(u, 1)\n"
SEND = "if (k < 0) call MPI_Send(u, 1, MPI_DOUBLE_PRECISION, 0, {tag}, MPI_COMM_WORLD, ierr)"
RECV = (
    "if (k < 0) call MPI_Recv(u, 1, MPI_DOUBLE_PRECISION, {source}, {tag}, MPI_COMM_WORLD, &\n"
    "    MPI_STATUS_IGNORE, ierr)"
)


def changed(before: str, after: str, **parts: str) -> str:
    """The program with another text in one place."""
    text = program(**parts)
    assert before in text
    return text.replace(before, after)


def with_other(call: str) -> str:
    """The program with a procedure that is called once, and what it does."""
    return program(other=call, more=CALL)
