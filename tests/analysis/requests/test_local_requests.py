"""Which operations a wait completes where its request is a variable of a module."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.data_flow.unit import line_of
from asphalt.analysis.messages.messages import Messages
from support.stepping import Stepped

MODULE = """
module shared
  implicit none
  integer :: request(-1:1), other
  logical :: wanted(3)
  integer :: wants(8)
end module shared
"""
UNIT = """
subroutine unit(b, c, n, comm)
  use mpi
  use shared
  implicit none
  integer, intent(in) :: n, comm
  real, intent(inout) :: b(n), c(n)
  logical :: yes
  integer :: k, ierr
  yes = n > 3
{text}
end subroutine unit

subroutine elsewhere()
  use shared
  request(1) = 3
end subroutine elsewhere
subroutine harmless()
  use shared
  other = 3
end subroutine harmless
subroutine tells()
  use shared
  wanted = .not. wanted
end subroutine tells
"""
START = "call MPI_Irecv(b, n, MPI_REAL, 0, 1, comm, request(1), ierr)"
OTHER = "call MPI_Irecv(c, n, MPI_REAL, 0, 2, comm, request(-1), ierr)"
WAIT = "call MPI_Wait(request(1), MPI_STATUS_IGNORE, ierr)"
LAST = "call MPI_Wait(request(-1), MPI_STATUS_IGNORE, ierr)"


def _completed(tmp_path: Path, text: str) -> list[str] | None:
    """The starts of what the first wait for ``request(1)`` completes."""
    stepped = Stepped.of(tmp_path, {"shared.f90": MODULE, "unit.f90": UNIT.format(text=text)})
    facts = next(facts for facts in stepped.facts() if facts.unit.name == "unit")
    messages = Messages(facts)
    wait = next(
        leaf
        for leaf, call in messages.own_calls()
        if call.operation == "mpi_wait" and (leaf.body or "").lower() == WAIT.lower()
    )
    found = messages.completed_by(wait)
    assert line_of(wait) > 0
    return None if found is None else [match.leaf.body or "" for match in found]


@pytest.mark.parametrize(
    "text",
    [
        f"{START}\n{WAIT}",
        f"{START}\n{OTHER}\n{LAST}\n{WAIT}",
        f"{START}\ncall harmless()\n{WAIT}",
        f"do k = 1, n\n{START}\n{OTHER}\n{WAIT}\n{LAST}\nend do",
        # both halves of a branch that was split
        f"if (wanted(1)) then\n{START}\nend if\nif (wanted(1)) then\n{WAIT}\nend if",
        f"do k = 1, n\nif (wanted(1)) then\n{START}\nend if\n"
        f"if (wanted(1)) then\n{WAIT}\nend if\nend do",
        f"if (wanted(1)) then\n{START}\n{OTHER}\nend if\n"
        f"if (wanted(1)) then\n{LAST}\n{WAIT}\nend if",
        f"if (.not. wanted(1)) then\nb = 0\nelse\n{START}\nend if\n"
        f"if (wanted(1)) then\n{WAIT}\nend if",
    ],
)
def test_a_wait_completes_what_was_started_here(tmp_path: Path, text: str) -> None:
    assert _completed(tmp_path, text) == [START]


@pytest.mark.parametrize(
    "text",
    [
        f"{WAIT}",  # a caller may have started something
        f"{OTHER}\n{LAST}\n{WAIT}",
        f"if (yes) then\n{START}\nend if\n{WAIT}",
        f"{START}\ncall elsewhere()\n{WAIT}",
        f"{START}\nrequest(1) = 3\n{WAIT}",
        # not the same condition any more
        f"if (wanted(1)) then\n{START}\nend if\ncall tells()\nif (wanted(1)) then\n{WAIT}\nend if",
        f"if (wanted(1)) then\n{START}\nend if\nif (wanted(2)) then\n{WAIT}\nend if",
        f"if (wanted(1)) then\n{START}\nend if\nif (.not. wanted(1)) then\n{WAIT}\nend if",
        # another value of the condition is tested inside of the branch
        f"if (yes) then\nyes = n > 5\nif (yes) then\n{START}\nend if\n{WAIT}\nend if",
        f"if (wanted(1)) then\ncall tells()\nif (wanted(1)) then\n{START}\nend if\n{WAIT}\nend if",
        # in the first iteration nothing is started, in the second not always
        f"do k = 1, n\nif (wanted(1)) then\nif (k > 2) then\n{START}\nend if\nend if\n"
        f"if (wanted(1)) then\n{WAIT}\nend if\ncall tells()\nend do",
        f"do k = 1, n\nif (wanted(1)) then\nif (k > 2) then\n{START}\nend if\nend if\n"
        f"if (wanted(1)) then\n{WAIT}\nend if\nend do",
    ],
)
def test_what_a_wait_completes_is_not_known(tmp_path: Path, text: str) -> None:
    assert _completed(tmp_path, text) is None


ZERO = START.replace("request(1)", "request(0)").replace("(b", "(c")
ALL = "call MPI_Waitall(3, request, MPI_STATUSES_IGNORE, ierr)"
TWO = "call MPI_Waitall(2, request(0), MPI_STATUSES_IGNORE, ierr)"


def _all_completed(tmp_path: Path, text: str) -> list[str] | None:
    """The starts of what the first wait for several requests completes."""
    stepped = Stepped.of(tmp_path, {"shared.f90": MODULE, "unit.f90": UNIT.format(text=text)})
    facts = next(facts for facts in stepped.facts() if facts.unit.name == "unit")
    messages = Messages(facts)
    calls = messages.own_calls()
    wait = next(leaf for leaf, call in calls if call.operation == "mpi_waitall")
    found = messages.completed_by(wait)
    return None if found is None else [match.leaf.body or "" for match in found]


@pytest.mark.parametrize(
    ("text", "started"),
    [
        (f"{START}\n{OTHER}\n{ZERO}\n{ALL}", [START, OTHER, ZERO]),
        (f"{START}\n{ZERO}\n{TWO}", [START, ZERO]),
        (
            f"if (wanted(1)) then\n{ZERO}\n{START}\nend if\nif (wanted(1)) then\n{TWO}\nend if",
            [ZERO, START],
        ),
    ],
)
def test_a_wait_for_several_requests(tmp_path: Path, text: str, started: list[str]) -> None:
    assert _all_completed(tmp_path, text) == started


@pytest.mark.parametrize(
    "text",
    [
        f"{START}\n{OTHER}\n{ALL}",  # a caller may have started one
        f"{START}\nif (yes) then\n{ZERO}\nend if\n{TWO}",
        f"{START}\n{ZERO}\ncall elsewhere()\n{TWO}",
        f"{START}\n{ZERO}\n{ALL}",
        f"{START}\n{ZERO}\ncall MPI_Waitall(n, request, MPI_STATUSES_IGNORE, ierr)",
        f"{START}\n{ZERO.replace('(0)', '(k)')}\n{TWO}",
        f"{START}\n{START}\n{TWO}",
    ],
)
def test_not_all_of_several_requests_were_started_here(tmp_path: Path, text: str) -> None:
    assert _all_completed(tmp_path, text) is None


def test_what_is_received_may_be_the_condition(tmp_path: Path) -> None:
    """A wait between both tests may change what they read."""
    own = "call MPI_Irecv(wanted, 3, MPI_LOGICAL, 0, 2, comm, request(-1), ierr)"
    text = f"{own}\nif (wanted(1)) then\n{START}\nend if\n{LAST}\n"
    text += f"if (wanted(1)) then\n{WAIT}\nend if"
    assert _completed(tmp_path, text) is None


def test_what_is_received_may_be_the_request(tmp_path: Path) -> None:
    own = "call MPI_Irecv(request, 1, MPI_INTEGER, 0, 2, comm, other, ierr)"
    text = f"{own}\n{START}\ncall MPI_Wait(other, MPI_STATUS_IGNORE, ierr)\n{WAIT}"
    assert _completed(tmp_path, text) is None


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("own = 0\n{start}\n{wait}", True),
        ("do k = 1, n\nown = -1\n{start}\n{wait}\nend do", True),
        ("{start}\nown = 0\n{wait}", False),  # the operation is in progress
        ("own = n\n{start}\n{wait}", False),  # the number may be the handle of another one
    ],
)
def test_a_number_is_no_handle_of_an_operation(tmp_path: Path, text: str, known: bool) -> None:
    start, wait = (one.replace("request(1)", "own(1)") for one in (START, WAIT))
    body = text.format(start=start, wait=wait)
    unit = UNIT.replace("  integer :: k, ierr", "  integer :: k, ierr, own(2)")
    files = {"shared.f90": MODULE, "unit.f90": unit.format(text=body)}
    facts = next(f for f in Stepped.of(tmp_path, files).facts() if f.unit.name == "unit")
    messages = Messages(facts)
    end = next(leaf for leaf, call in messages.own_calls() if call.operation == "mpi_wait")
    assert (messages.completed_by(end) is not None) == known
