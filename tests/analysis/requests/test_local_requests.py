"""Which operations a wait completes where its request is a variable of a module."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from asphalt.analysis.data_flow.unit import line_of
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.requests.matching import Match, Matched, Unknown
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


_EPOCH = """\
subroutine unit(n, win, ready)
  use mpi
  implicit none
  integer, intent(in) :: n, win
  integer :: ready
  integer :: near, r, ierr
  integer(MPI_ADDRESS_KIND) :: zero
  common /neighbours/ near
  real :: b(100)
  call MPI_Win_lock_all(0, win, ierr)
{more}
  if (near /= 0) then
    b(1) = 1
  else
    call MPI_Irecv(b, 1, MPI_REAL, 0, 0, MPI_COMM_WORLD, r, ierr)
  end if
  call MPI_Win_sync(win, ierr)
  call {end}
  if (near /= 0) then
    b(2) = 1
  else
    call MPI_Wait(r, MPI_STATUS_IGNORE, ierr)
  end if
end subroutine unit
"""
_EPOCHS = (
    "MPI_Win_unlock_all(win, ierr)",
    "MPI_Win_flush(0, win, ierr)",
    "MPI_Win_fence(0, win, ierr)",
    "MPI_Win_complete(win, ierr)",
)
_PUT = "  call MPI_Put(b(9), 1, MPI_REAL, 0, zero, 1, MPI_REAL, win, ierr)"
_GET = "  call MPI_Get({}, 1, MPI_INTEGER, 0, zero, 1, MPI_INTEGER, win, ierr)"
_CREATE = "  call MPI_Win_create({}, zero, 1, MPI_INFO_NULL, MPI_COMM_WORLD, ierr, ierr)"
_SWAP = "  call MPI_Compare_and_swap(1, 2, {}, MPI_INTEGER, 0, zero, win, ierr)"


@pytest.mark.parametrize("end", _EPOCHS)
@pytest.mark.parametrize("more", ["", _PUT])
def test_the_end_of_an_epoch_changes_what_mpi_allocated(
    more: str, end: str, tmp_path: Path
) -> None:
    assert isinstance(_of_the_receive(tmp_path, more, end), Matched)


@pytest.mark.parametrize("more", [_GET, _CREATE, _SWAP])
@pytest.mark.parametrize("name", ["near", "ready"])
@pytest.mark.parametrize("end", _EPOCHS[:2])
def test_the_end_of_an_epoch_may_change_a_variable(
    more: str, name: str, end: str, tmp_path: Path
) -> None:
    """The program has a window of one, or gets something into one."""
    assert isinstance(_of_the_receive(tmp_path, more.format(name), end), Unknown)


@pytest.mark.parametrize("end", ["MPI_Win_wait(win, ierr)", "MPI_Win_lock(1, 0, 0, win, ierr)"])
def test_another_rank_changes_a_variable_in_a_window(end: str, tmp_path: Path) -> None:
    """This rank sees it behind an epoch of others, or of its own."""
    assert isinstance(_of_the_receive(tmp_path, "", end), Matched)
    assert isinstance(_of_the_receive(tmp_path, _CREATE.format("near"), end), Unknown)


def test_an_epoch_and_what_a_pointer_leads_to(tmp_path: Path) -> None:
    """It may be the memory that MPI allocated."""
    found = _of_the_receive(
        tmp_path, "", _EPOCHS[0], {"integer :: near": "integer, pointer :: near"}
    )
    assert isinstance(found, Unknown)


def _of_the_receive(
    tmp_path: Path, more: str, end: str, changes: Mapping[str, str] = MappingProxyType({})
) -> Match:
    text = _EPOCH.format(more=more, end=end)
    for old, new in changes.items():
        text = text.replace(old, new)
    (facts,) = Stepped.of(tmp_path, {"unit.f90": text}).facts()
    (found,) = (m for m in facts.once(Messages).matches if "Irecv" in (m.leaf.body or ""))
    return found
