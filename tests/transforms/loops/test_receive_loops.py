"""A loop that starts receives and sends: the receives start before what computes the data."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.transforms.loops import receive_loops
from support.mpi_run import MPICH, OPENMPI, installed
from support.optimised import optimised_and_run
from support.stepping import Stepped

_PROGRAM = """\
module ring
  use mpi
  implicit none
  integer :: np, me
contains
  subroutine exchange(s, r, n)
    integer, intent(in) :: n
    real(8), intent(inout) :: s(n,0:np-1), r(n,0:np-1)
    integer :: incoming(0:np-1), outgoing(0:np-1), i, j, to, from, ierr, next
    next = 0
    do j = 0, np - 1
      do i = 1, n
        s(i,j) = sqrt(s(i,j) + i)
      end do
    end do
    do i = 0, np - 1
{body}    end do
{between}    call MPI_Waitall(np, outgoing, MPI_STATUSES_IGNORE, ierr)
    call MPI_Waitall(np, incoming, MPI_STATUSES_IGNORE, ierr)
  end subroutine exchange
end module ring
program main
  use ring
  implicit none
  integer, parameter :: n = 3000
  integer :: ierr, k
  real(8), allocatable :: s(:,:), r(:,:)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  allocate (s(n,0:np-1), r(n,0:np-1))
  s = me; r = 0
  do k = 1, 3
    call exchange(s, r, n)
    s = r + 1
  end do
  print '(i0, z17)', me, sum(r)
  call MPI_Finalize(ierr)
end program main
"""
_TO = "      to = modulo(me + i, np)\n"
_FROM = "      from = modulo(me - i, np) ! the sender\n"
_RECEIVE = """\
      ! what comes
      call MPI_Irecv(r(1,from), n, MPI_DOUBLE_PRECISION, from, 1, MPI_COMM_WORLD, &
                     incoming(from), ierr)
"""
_SEND = """\
      call MPI_Isend(s(1,to), n, MPI_DOUBLE_PRECISION, to, 1, MPI_COMM_WORLD, outgoing(to), ierr)
"""
_BODY = _TO + _FROM + _RECEIVE + _SEND


def _text(body: str = _BODY, between: str = "") -> str:
    return _PROGRAM.format(body=body, between=between)


@pytest.mark.parametrize(
    ("body", "receives", "sends"),
    [
        (_BODY, _FROM + _RECEIVE, _TO + _SEND),
        (_FROM + _RECEIVE + _TO + _SEND, _FROM + _RECEIVE, _TO + _SEND),
        (
            _FROM + _RECEIVE + _SEND.replace("to", "from"),
            _FROM + _RECEIVE,
            _FROM + _SEND.replace("to", "from"),
        ),
        (_BODY + "      next = to + 1\n", _FROM + _RECEIVE, _TO + _SEND + "      next = to + 1\n"),
        (
            _RECEIVE.replace("from", "i") + _SEND.replace("to", "i"),
            _RECEIVE.replace("from", "i"),
            _SEND.replace("to", "i"),
        ),
    ],
)
def test_one_loop_for_receives_and_one_for_sends(
    body: str, receives: str, sends: str, tmp_path: Path
) -> None:
    stepped = Stepped.of(tmp_path, {"ring.f90": _text(body)})
    assert stepped.applied(receive_loops, unit="exchange") == 1
    made = stepped.text("ring.f90")
    first, second = made.split("    do i = 0, np - 1\n")[1:]

    def lines(text: str) -> list[str]:
        code = (line.split("!")[0].strip() for line in text.split("    end do\n")[0].splitlines())
        return [line for line in code if line]

    assert lines(first) == lines(receives)
    assert lines(second) == lines(sends)
    assert made.count("! what comes") == 1
    assert "! asphalt: the receives of the loop start first\n    do i = 0" in made


@pytest.mark.parametrize(
    ("body", "between"),
    [
        (_TO + _FROM + _SEND + _RECEIVE, ""),  # the last error code would be another one
        (_BODY.replace(_RECEIVE, _RECEIVE.replace("Irecv", "Recv").replace(
            "incoming(from)", "MPI_STATUS_IGNORE")), ""),
        (_TO + _FROM + _RECEIVE, ""),
        (_FROM.replace("me - i", "next - i") + _RECEIVE + _TO + _SEND + "      next = to\n", ""),
        (_BODY + "      print *, to\n", ""),
        (_BODY + "      s(1,to) = 0\n", ""),
        (_BODY + "      if (to == 3) exit\n", ""),
        (_TO + _FROM.replace("(me - i", "(me - i + ierr") + _RECEIVE + _SEND, ""),
        (_TO + _FROM + _RECEIVE + _SEND.replace("to, 1", "to, int(r(1,to))"), ""),
        ("!$      next = 3\n" + _BODY, ""),
        ("#ifdef OTHER\n" + _TO + "#endif\n" + _FROM + _RECEIVE + _SEND, ""),
        (_BODY.replace("incoming(from)", "incoming(0)"), ""),  # not all of them are completed
    ],
)  # fmt: skip
def test_a_loop_that_stays_as_it_is(body: str, between: str, tmp_path: Path) -> None:
    stepped = Stepped.of(tmp_path, {"ring.F90": _text(body, between)})
    assert stepped.steps(receive_loops) == []


def test_the_receives_start_before_the_computation(tmp_path: Path) -> None:
    made = optimised_and_run(tmp_path, _text(), "exchange", *installed(OPENMPI, MPICH))
    assert made.index("MPI_Irecv") < made.index("sqrt") < made.index("MPI_Isend")
