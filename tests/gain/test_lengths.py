"""How long a message is whose count is a variable: as the one that it matches, or as its buffer."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.messages.messages import Messages
from asphalt.gain.amounts import typical
from asphalt.gain.transfers import Transfers
from support.stepping import Stepped

_FRAME = """\
subroutine unit(r, box, n1, n2, n3, m, left, right)
  use mpi
  implicit none
  integer, intent(in) :: n1, n2, n3, m, left, right
  real(8), intent(inout) :: r(n1, n2, n3), box(n1, n2, n3)
  real(8) :: out(n1*n2*n3), back(n1*n2*n3)
  integer :: status(MPI_STATUS_SIZE), ierr, i, j, k, l
{fill}
  call MPI_Send({sent}, right, 1, MPI_COMM_WORLD, ierr)
  call MPI_Recv({received}, left, 1, MPI_COMM_WORLD, status, ierr)
{use}
end subroutine unit
"""
_LOOPS = (
    "  k = 0\n  do j = 1, n2\n    do i = 1, n1\n      k = k + 1\n      {}\n    end do\n  end do"
)
_FILL = _LOOPS.format("out(k) = r(i, j, n3)")
_USE = _LOOPS.format("r(i, j, 1) = back(k)")
_REAL = "MPI_DOUBLE_PRECISION"


def _sizes(folder: Path, **parts: str) -> list[float]:
    given = {"fill": "", "use": "", "sent": f"out, 3, {_REAL}", "received": f"back, m, {_REAL}"}
    stepped = Stepped.of(folder, {"unit.f90": _FRAME.format(**{**given, **parts})})
    (facts,) = stepped.facts()
    transfers = Transfers()
    found = [transfers.of(leaf, facts) for leaf, _ in facts.once(Messages).own_calls()]
    return [one.size / 8 for one in found if one is not None]


@pytest.mark.parametrize(
    ("parts", "sent", "received"),
    [
        # the send is known
        ({}, 3, 3),
        ({"sent": f"out, n1*n2, {_REAL}"}, typical(2), typical(2)),
        ({"sent": f"out, n1*n2, {_REAL}", "use": _USE}, typical(2), typical(2)),
        # the send is as long as what is packed
        ({"fill": _FILL, "sent": f"out, k, {_REAL}"}, typical(2), typical(2)),
        # the receive is as long as what is unpacked
        ({"use": _USE, "sent": f"out, m, {_REAL}"}, typical(1), typical(2)),
        ({"sent": f"out, m, {_REAL}"}, typical(1), typical(1)),
        # a count that says how many extents it has
        ({"use": _USE, "received": f"back, n1*n2*n3, {_REAL}"}, 3, typical(3)),
        # a loop that reads the same elements again and again
        ({"sent": f"out, m, {_REAL}", "use":
          "  do j = 1, n2\n    do i = 1, n1\n      r(i, j, 1) = back(i)\n    end do\n  end do"},
         typical(1), typical(1)),
        # of a field, a message has any part
        ({"sent": f"out, m, {_REAL}", "received": f"box, m, {_REAL}", "use":
          "  do j = 1, n2\n    r(:, j, 1) = box(:, j, 1)\n  end do"}, typical(1), typical(1)),
    ],
)  # fmt: skip
def test_the_length_of_a_message(
    parts: dict[str, str], sent: float, received: float, tmp_path: Path
) -> None:
    assert _sizes(tmp_path, **parts) == [sent, received]


def test_loops_around_the_message_do_not_count(tmp_path: Path) -> None:
    before = f"  do l = 1, n3\n{_FILL}"
    found = _sizes(tmp_path, fill=before, sent=f"out, k, {_REAL}", use="  end do")
    assert found == [typical(2), typical(2)]


def test_a_receive_that_may_match_several_messages(tmp_path: Path) -> None:
    more = f"  call MPI_Send(out, n1, {_REAL}, right, 1, MPI_COMM_WORLD, ierr)"
    same = _sizes(tmp_path / "same", sent=f"out, n1, {_REAL}", fill=more)
    several = _sizes(tmp_path / "several", sent=f"out, n1*n2, {_REAL}", fill=more, use=_USE)
    assert (same[-1], several[-1]) == (typical(1), typical(2))
