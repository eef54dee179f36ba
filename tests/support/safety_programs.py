"""Programs for the matrix of safety, which are run by any number of ranks."""

from __future__ import annotations

from collections.abc import Iterable

REAL = "MPI_DOUBLE_PRECISION"
_COMM = "MPI_COMM_WORLD"
_SIZES = """\
module sizes
  implicit none
  integer, parameter :: n = 200
end module sizes
"""
_UNIT = """\
subroutine step(a, b, c, d, left, right, me, flag, turn)
  use mpi
  use sizes
  implicit none
  integer, intent(in) :: left, right, me, turn
  logical, intent(inout) :: flag
  real(8), intent(inout) :: a(n), b(n), c(n), d(n)
  real(8) :: x(n), y(n)
  integer :: r1, r2, r(2), e1, e2, ierr, i, j, k
  integer :: status(MPI_STATUS_SIZE), other(MPI_STATUS_SIZE)
{declared}  k = turn
{body}end subroutine step
"""
_MAIN = """\
program main
  use mpi
  use sizes
  implicit none
  real(8) :: a(n), b(n), c(n), d(n), s(n,9), g(n,9)
  integer :: me, np, left, right, turn, i, ierr, requests(18)
  logical :: flag
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  left = modulo(me - 1, np)
  right = modulo(me + 1, np)
  a = 1; b = 2; c = me; d = 4; g = 0
  do turn = 1, 3
    flag = modulo(turn, 2) == 1
    do i = 1, 9
      s(:,i) = 10*i + me + turn
    end do
    requests = MPI_REQUEST_NULL
{posts}    call step(a, b, c, d, left, right, me, flag, turn)
    call MPI_Waitall(18, requests, MPI_STATUSES_IGNORE, ierr)
    print '(2i3, 5z17)', me, turn, sum(a), sum(b), sum(c), sum(d), sum(g)
  end do
  call MPI_Finalize(ierr)
end program main
"""


def program(
    *body: str,
    declared: str = "",
    sends: Iterable[int] = (1,),
    takes: Iterable[int] = (),
    other: str = "",
) -> str:
    """A program whose main program sends messages with some tags to the right, and takes some from
    the left, beside what the procedure ``step`` does."""
    posts = ""
    for number, tag in enumerate(sends, 1):
        posts += (
            f"    call MPI_Isend(s(1,{number}), n, {REAL}, right, {tag}, {_COMM}, &\n"
            f"                   requests({number}), ierr)\n"
        )
    for number, tag in enumerate(takes, 1):
        posts += (
            f"    call MPI_Irecv(g(1,{number}), n, {REAL}, left, {tag}, {_COMM}, &\n"
            f"                   requests({9 + number}), ierr)\n"
        )
    unit = _UNIT.format(declared=declared, body="".join(body))
    return _SIZES + unit + other + _MAIN.format(posts=posts)


def _error(request: str) -> str:
    """The error code of calls with a request: what sets one variable keeps its order."""
    return {"r1": "e1", "r2": "e2"}.get(request, "ierr")


def irecv(
    buffer: str, tag: object, request: str = "r1", source: str = "left", count: str = "n"
) -> str:
    """The start of a receive."""
    last = f"{source}, {tag}, {_COMM}, {request}, {_error(request)}"
    return f"  call MPI_Irecv({buffer}, {count}, {REAL}, {last})\n"


def isend(buffer: str, tag: object, request: str = "r1") -> str:
    """The start of a send."""
    last = f"right, {tag}, {_COMM}, {request}, {_error(request)}"
    return f"  call MPI_Isend({buffer}, n, {REAL}, {last})\n"


def recv(
    buffer: str,
    tag: object,
    status: str = "MPI_STATUS_IGNORE",
    count: str = "n",
    source: str = "left",
) -> str:
    """A receive."""
    last = f"{source}, {tag}, {_COMM}, {status}, ierr"
    return f"  call MPI_Recv({buffer}, {count}, {REAL}, {last})\n"


def wait(request: str = "r1", status: str = "MPI_STATUS_IGNORE") -> str:
    """A wait."""
    return f"  call MPI_Wait({request}, {status}, {_error(request)})\n"


def work(array: str, value: str = "0.5d0*i") -> str:
    """A loop that changes an array."""
    return f"  do i = 1, n\n    {array}(i) = {array}(i) + {value}\n  end do\n"


def branch(*body: str, condition: str = "flag") -> str:
    """A branch."""
    return f"  if ({condition}) then\n{''.join(body)}  end if\n"


def grid(
    value: str = "u(i,j-1)", inside: str = "", awaited: str | None = None, declared: str = ""
) -> str:
    """A nest behind the receive of a row, which only its first iterations need."""
    nest = (
        f"  do j = 1, 9\n    do i = 1, n\n      v(i,j) = u(i,j) + {value}\n{inside}"
        "    end do\n  end do\n"
    )
    waited = wait("r1", "status") if awaited is None else awaited
    body = "  u = me; other = 0\n", irecv("u(1,0)", 1), waited, nest, "  c(:) = v(:,1) + v(:,9)\n"
    return program(*body, declared=f"  real(8) :: u(n,0:9), v(n,9)\n{declared}")


def under(condition: str, call: str) -> str:
    """A call under a condition."""
    return call.replace("  call", f"  if ({condition}) call", 1)


def flagged(text: str, value: str) -> str:
    """The program with one value of the flag in all turns."""
    return text.replace("flag = modulo(turn, 2) == 1", f"flag = {value}")
