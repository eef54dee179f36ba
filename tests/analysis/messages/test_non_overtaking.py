"""Which MPI calls keep their order whatever data they access (MPI-4.0 3.5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.messages import non_overtaking
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.messages.non_overtaking import MessageOrder
from asphalt.analysis_manager.analyses import Analyses
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from support.stepping import Stepped

_UNIT = """\
subroutine unit(a, b, r, q, comm, dup)
  use mpi
  implicit none
  real(8) :: a(9), b(9)
  integer :: r, q, comm, dup, ierr
  {first}
  {second}
end subroutine unit
{more}"""
_SEND = "call MPI_Isend({0}, 9, MPI_REAL8, {1}, {2}, {3}, {4}, ierr)"
_RECEIVE = _SEND.replace("Isend", "Irecv")
_ANY = """\
subroutine other
  use mpi
  call MPI_Recv(w, 1, MPI_REAL, {}, {}, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
end subroutine other
"""


def why_not(folder: Path, first: str, second: str, more: str = "") -> str | None:
    """Why two statements keep their order."""
    text = _UNIT.format(first=first, second=second, more=more)
    (facts, *_) = Stepped.of(folder, {"a.f90": text}).facts()
    assert facts.unit.name == "unit"
    one, other = facts.unit.body
    return MessageOrder(facts, Messages(facts)).why_not(one, other)


def start(text: str, buffer: str, rank: object, tag: object, comm: str = "comm") -> str:
    return text.format(buffer, rank, tag, comm, "r" if buffer == "a" else "q")


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        (start(_SEND, "a", 1, 5), start(_SEND, "b", 1, 5), "the same rank, tag"),
        (start(_SEND, "a", 1, 5), start(_SEND, "b", 1, 5, "dup"), "the same rank, tag"),
        (start(_SEND, "a", 1, 5), start(_SEND, "b", 2, 5), None),
        (start(_SEND, "a", 1, 5), start(_SEND, "b", 1, 6), None),
        (start(_SEND, "a", 1, 5), start(_RECEIVE, "b", 1, 5), None),
        (start(_RECEIVE, "a", 1, 5), start(_RECEIVE, "b", 1, 6), None),
        (start(_RECEIVE, "a", 1, 5), start(_RECEIVE, "b", 1, "MPI_ANY_TAG"), "the same rank, tag"),
        (start(_RECEIVE, "a", 1, 5), start(_RECEIVE, "b", "MPI_ANY_SOURCE", 6), None),
        (start(_SEND, "a", 1, 5), "call MPI_Wait(q, MPI_STATUS_IGNORE, ierr)", "before a start"),
        ("call MPI_Wait(q, MPI_STATUS_IGNORE, ierr)", start(_SEND, "a", 1, 5), None),
        ("call MPI_Barrier(comm, ierr)", "call MPI_Ibarrier(dup, r, ierr)", "MPI_Ibarrier"),
        ("call MPI_Comm_rank(comm, r, ierr)", start(_SEND, "b", 1, 5), None),
    ],
)
def test_order(first: str, second: str, kept: str | None, tmp_path: Path) -> None:
    reason = why_not(tmp_path, first, second)
    assert (reason is None) is (kept is None)
    assert kept is None or kept in str(reason)


@pytest.mark.parametrize(
    ("first", "second", "source", "tag", "kept"),
    [
        # a receive of any tag takes the message that was sent first
        (start(_SEND, "a", 1, 5), start(_SEND, "b", 1, 6), "0", "MPI_ANY_TAG", "the same rank"),
        (start(_SEND, "a", 1, 5), start(_SEND, "b", 2, 6), "0", "MPI_ANY_TAG", None),
        (
            "call MPI_Wait(q, MPI_STATUS_IGNORE, ierr)",
            start(_SEND, "a", 1, 5),
            "MPI_ANY_SOURCE",
            "0",
            "MPI_ANY_SOURCE",
        ),
        ("call MPI_Wait(q, MPI_STATUS_IGNORE, ierr)", start(_SEND, "a", 1, 5), "0", "0", None),
    ],
)
def test_order_beside_receives_of_other_units(
    first: str, second: str, source: str, tag: str, kept: str | None, tmp_path: Path
) -> None:
    reason = why_not(tmp_path, first, second, _ANY.format(source, tag))
    assert (reason is None) is (kept is None)
    assert kept is None or kept in str(reason)


def test_receives_do_not_pass_starts_in_a_program_with_ready_sends(tmp_path: Path) -> None:
    more = _ANY.format(0, 0).replace("MPI_Recv", "MPI_Rsend").replace("MPI_STATUS_IGNORE, ", "")
    first, second = start(_RECEIVE, "a", 1, 5), start(_SEND, "b", 2, 6)
    assert why_not(tmp_path, first, second) is None
    assert "needs its receive to be posted" in str(why_not(tmp_path, first, second, more))


_WAIT = "call MPI_Wait(q, MPI_STATUS_IGNORE, ierr)"
_POLLING = """\
subroutine other(b, r, comm)
  use mpi
  real(8) :: b(9)
  integer :: r, comm, number, ierr
  logical :: flag
  {}
  {}
end subroutine other
"""
_ISSEND = "call MPI_Issend(b, 9, MPI_REAL8, 1, 5, comm, r, ierr)"


@pytest.mark.parametrize(
    ("polls", "sends", "start_", "kept"),
    [
        # what is sent after this rank has heard from the other one is not there before
        ("call MPI_Test(r, flag, MPI_STATUS_IGNORE, ierr)", "", _SEND, "MPI_Test"),
        ("call MPI_Iprobe(0, 5, comm, flag, MPI_STATUS_IGNORE, ierr)", "", _SEND, "MPI_Iprobe"),
        ("call MPI_Waitany(1, [r], number, MPI_STATUS_IGNORE, ierr)", "", _SEND, "MPI_Waitany"),
        ("call MPI_Cancel(r, ierr)", "", _SEND, "MPI_Cancel"),
        ("call MPI_Wait(r, MPI_STATUS_IGNORE, ierr)", "", _SEND, None),
        ("call MPI_Probe(0, 5, comm, MPI_STATUS_IGNORE, ierr)", "", _SEND, None),
        # a standard send may be complete before its receive is posted, a synchronous one is not
        ("call MPI_Test(r, flag, MPI_STATUS_IGNORE, ierr)", "", _RECEIVE, None),
        ("call MPI_Test(r, flag, MPI_STATUS_IGNORE, ierr)", _ISSEND, _RECEIVE, "MPI_Test"),
        ("call MPI_Wait(r, MPI_STATUS_IGNORE, ierr)", _ISSEND, _RECEIVE, None),
    ],
)
def test_a_program_that_polls_sees_what_starts_earlier(
    polls: str, sends: str, start_: str, kept: str | None, tmp_path: Path
) -> None:
    more = _POLLING.format(polls, sends)
    reason = why_not(tmp_path, _WAIT, start(start_, "a", 1, 5), more)
    assert (reason is None) is (kept is None)
    assert kept is None or f"{kept} may tell that it is complete earlier" in str(reason)
    assert why_not(tmp_path, start(start_, "a", 1, 5), start(_SEND, "b", 2, 6), more) is None


def test_a_buffer_for_sends_may_have_no_room_yet(tmp_path: Path) -> None:
    more = _POLLING.format("", "call MPI_Bsend(b, 9, MPI_REAL8, 1, 5, comm, ierr)")
    reason = why_not(tmp_path, _WAIT, start(_SEND, "a", 1, 5), more)
    assert "MPI_Bsend needs room" in str(reason)
    assert "cannot be reordered" in str(why_not(tmp_path, _WAIT, _BARRIER, more))
    assert why_not(tmp_path, _WAIT, start(_RECEIVE, "a", 1, 5), more) is None


_BARRIER = "call MPI_Barrier(comm, ierr)"
_MEMORY = """\
subroutine other(p, n)
  use, intrinsic :: iso_c_binding
  type(c_ptr) :: p
  integer :: n
  real(c_double), pointer :: x(:)
  call c_f_pointer(p, x, [n])
end subroutine other
"""
_CRAY_POINTER = """\
subroutine other(i)
  integer(8) :: segment
  external segment
  integer :: i
  real(8) :: x(9)
  pointer (p, x)
  p = segment(i)
end subroutine other
"""
_FROM_C = """\
subroutine other(p)
  use, intrinsic :: iso_c_binding
  interface
    subroutine map(x) bind(c)
      import
      real(c_double), pointer :: x(:)
    end subroutine map
  end interface
  real(c_double), pointer :: p(:)
  call map(p)
end subroutine other
"""
_FILE = "subroutine other(f, e)\n  use mpi\n  call MPI_File_sync(f, e)\nend subroutine other\n"
_ANY_SOURCE = _ANY.format("MPI_ANY_SOURCE", 0)
_CONNECTS = """\
subroutine other(c, e)
  use mpi
  call MPI_Comm_get_parent(c, e)
end subroutine other
"""


@pytest.mark.parametrize(
    ("first", "second", "more", "passed"),
    [
        (_WAIT, _BARRIER, "", True),
        (_BARRIER, start(_SEND, "a", 1, 5), "", True),
        (_BARRIER, "b = sqrt(b)", "", True),
        ("b = sqrt(b)", _BARRIER, "", True),
        # what another rank waits for still happens before
        (start(_SEND, "a", 1, 5), _BARRIER, "", False),
        (_BARRIER, _WAIT, "", False),
        (_BARRIER, "call MPI_Bcast(b, 9, MPI_REAL8, 0, comm, ierr)", "", False),
        # statements behind a barrier may rely on it
        (_BARRIER, "print *, b(1)", "", False),
        (_BARRIER, "b(1) = MPI_Wtime()", "", False),
        (_BARRIER, "call unseen(b)", "", False),
        # ranks know more of each other than messages tell
        (_WAIT, _BARRIER, _ANY_SOURCE, False),
        (_BARRIER, "b = sqrt(b)", _MEMORY, False),
        (_BARRIER, "b = sqrt(b)", _CRAY_POINTER, False),
        (_BARRIER, "b = sqrt(b)", _FROM_C, False),
        (_BARRIER, "b = sqrt(b)", _CONNECTS, False),
        (_BARRIER, "b = sqrt(b)", _FILE, False),
        (_BARRIER, start(_SEND, "a", 1, 5), _POLLING.format(
            "call MPI_Test(r, flag, MPI_STATUS_IGNORE, ierr)", ""), False),
    ],
)  # fmt: skip
def test_what_passes_a_barrier(
    first: str, second: str, more: str, passed: bool, tmp_path: Path
) -> None:
    text = _UNIT.format(first=first, second=second, more=more)
    (facts, *_) = Stepped.of(tmp_path, {"a.f90": text}).facts()
    one, other = facts.unit.body
    order = Independence.of(facts)
    asked = order.calls if _WAIT in (first, second) else order  # its buffers are not known here
    reason = asked.why_not(one, other)
    assert (reason is None) is passed


def test_a_program_that_is_connected_may_take_messages_from_any_source(tmp_path: Path) -> None:
    first, second = _WAIT, start(_SEND, "a", 1, 5)
    assert why_not(tmp_path, first, second) is None
    reason = str(why_not(tmp_path, first, second, _CONNECTS))
    assert "the program that MPI_Comm_get_parent connects may depend on it" in reason


_PASSED_ON = """\
subroutine other(ask, r)
  use mpi
  external MPI_Test
  integer :: r
  call ask(MPI_Test, r)
end subroutine other
"""


@pytest.mark.parametrize(
    ("more", "c", "kept"),
    [
        (_PASSED_ON, "", "MPI_Test may tell"),
        ("", "int ask(MPI_Request *r, int *f) { return PMPI_Test(r, f, MPI_STATUS_IGNORE); }\n",
         "MPI_Test may tell"),
        ("", "int a(void *b) { return MPI_Recv(b, 1, MPI_INT, MPI_ANY_SOURCE, 1, c, s); }\n",
         "MPI_ANY_SOURCE"),
        ("", "int a(MPI_File f) { return MPI_File_sync(f); }\n", "MPI_File_sync"),
        ("", "int a(void *b) { return MPI_Rsend(b, 1, MPI_INT, 1, 1, c); }\n", "MPI_Rsend needs"),
        ("", "int a(void *b) { return MPI_Recv(b, 1, MPI_INT, 0, 1, c, s); }\n", None),
    ],
)  # fmt: skip
def test_other_languages_and_procedures_passed_on_count_too(
    more: str, c: str, kept: str | None, tmp_path: Path
) -> None:
    (tmp_path / "other.c").write_text(c)
    reason = why_not(tmp_path, _WAIT, start(_SEND, "a", 1, 5), more)
    assert (reason is None) is (kept is None)
    assert kept is None or kept in str(reason)


@pytest.mark.parametrize(
    ("c", "passed"),
    [
        ("void start() { unit_(mmap(0, n, 3, MAP_SHARED, f, 0), b, &r, &q, &c, &d); }\n", False),
        ("void start() { unit_(malloc(n), b, &r, &q, &c, &d); }\n", True),
    ],
)
def test_a_segment_that_c_maps_may_be_an_argument(c: str, passed: bool, tmp_path: Path) -> None:
    (tmp_path / "start.c").write_text(c)
    text = _UNIT.format(first=_BARRIER, second="a = sqrt(a)", more="")
    (facts, *_) = Stepped.of(tmp_path, {"a.f90": text}).facts()
    one, other = facts.unit.body
    assert (Independence.of(facts).why_not(one, other) is None) is passed


def test_the_header_of_mpi_calls_nothing(tmp_path: Path) -> None:
    (tmp_path / "mpi.h").write_text("int MPI_Test(MPI_Request *r, int *flag, MPI_Status *s);\n")
    assert why_not(tmp_path, _WAIT, start(_SEND, "a", 1, 5)) is None


_TAKES = """\
subroutine unit(a, b, comm)
  use mpi
  implicit none
  real(8) :: a(9), b(9)
  integer :: comm, ierr, r
  call MPI_Isend(b, 9, MPI_REAL8, 1, 5, comm, r, ierr)
  call MPI_Wait(r, MPI_STATUS_IGNORE, ierr)
{}
contains
  subroutine take(from, tag)
    integer, intent(in) :: from, tag
    integer :: ierr
    call MPI_Recv(a, 9, MPI_REAL8, from, tag, comm, MPI_STATUS_IGNORE, ierr)
  end subroutine take
end subroutine unit
"""
_TAKEN = "  call MPI_Recv(a, 9, MPI_REAL8, {}, {}, comm, MPI_STATUS_IGNORE, ierr)"


@pytest.mark.parametrize(
    ("source", "tag", "seen"), [(1, 5, ()), (-2, 5, ("source",)), (1, -1, ("tag",))]
)
def test_a_wildcard_in_an_argument_is_seen_when_the_call_is_inlined(
    source: int, tag: int, seen: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "a.f90"
    path.write_text(_TAKES.format(f"  call take({source}, {tag})"))
    tree = load_tree([tmp_path], Settings(cache=False, jobs=1))
    text = _TAKES.format(_TAKEN.format(source, tag))
    found = []
    for edited in (tree, tree.edited({str(path): text.encode()})):
        effects, _ = Analyses(tree).edited(edited).of(any_sizes=True)
        assert (effects.given is None) is (edited is tree)
        facts = UnitFacts(edited.units_of(str(path))[0], effects)
        order = MessageOrder(facts, Messages(facts))
        takes = order.why_not_earlier(next(order.messages.own_calls())[1])
        assert order._takes_any_tag is ("tag" in seen and edited is not tree)
        found.append(takes)
    assert found[0] is None
    assert (found[1] is not None) is ("source" in seen)


def test_what_a_program_names_is_asked_once_for_all_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Effects] = []

    def seen(effects: Effects) -> str | None:
        asked.append(effects)
        return whole(effects)

    whole = non_overtaking._depends_on_time
    monkeypatch.setattr(non_overtaking, "_depends_on_time", seen)
    path = tmp_path / "a.f90"
    path.write_text(_TAKES.format("  call take(1, 5)"))
    tree = load_tree([tmp_path], Settings(cache=False, jobs=1))
    analyses = Analyses(tree)
    for more in range(3):
        text = _TAKES.format(f"  call take(1, 5)\n  b(1) = {more}")
        edited = tree.edited({str(path): text.encode()})
        effects, _ = analyses.edited(edited).of(any_sizes=True)
        facts = UnitFacts(edited.units_of(str(path))[0], effects)
        assert MessageOrder(facts, Messages(facts)).depends_on_time is None
    assert [one.given for one in asked] == [None]
