"""Findings in the arguments of calls: where they are certain, and not in correct programs alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.call_graph.call_sites import CallSites
from asphalt.analysis.conditions.call_arguments import of_arguments
from asphalt.analysis.data_flow.feasible_statements import FeasibleStatements
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.memory.forward_substitution import Values
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis_manager.analyses import Analyses
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from support.judging import Case, program, project

_PROGRAM = """\
module kinds
  integer, parameter :: dp = kind(1.0d0), few = 4
  real(8) :: shared(few)
end module kinds
program main
{use}  implicit none
{include}  real(8) :: a(400), b(400), box(4, 5)
  real :: single(4)
  real(dp) :: wide(4)
  complex(8) :: z(4)
  integer :: four(4), me, np, ierr, n, other, long, status(10)
  double precision :: d(0:3)
  real(8) :: first(4), second(4)
  real(8) :: many(4)
  integer, allocatable :: grid(:,:)
  real(8), allocatable :: q(:)
  common /block/ many
  equivalence (first, second)
  type vector
    integer :: n
    real(8) :: x(40)
    real(8), allocatable :: y(:)
    real(8), pointer :: p(:)
  end type vector
  type(vector) :: u, v, us(4)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  a = me
  n = 4
  other = merge(MPI_PROC_NULL, me + 1, me + 1 == np)
  {call}
  call MPI_Finalize(ierr)
contains
  integer function next()
    n = n + 4
    next = n
  end function next
  subroutine called(x)
    real(8) :: x(4)
    call MPI_Bcast(x, 8, MPI_REAL8, 0, MPI_COMM_WORLD, ierr)
  end subroutine called
  subroutine one_more(x, k)
    integer :: k
    real(8) :: x(k)
    call MPI_Bcast(x, k + 1, MPI_REAL8, 0, MPI_COMM_WORLD, ierr)
  end subroutine one_more
  subroutine sometimes(x, k)
    integer :: k
    real(8) :: x(k)
    if (k > 9) call MPI_Bcast(x, k + 1, MPI_REAL8, 0, MPI_COMM_WORLD, ierr)
  end subroutine sometimes
  subroutine returning(x, k)
    integer :: k
    real(8) :: x(k)
    if (k < 9) return
    call MPI_Bcast(x, k + 1, MPI_REAL8, 0, MPI_COMM_WORLD, ierr)
  end subroutine returning
  subroutine fewer(x, k)
    integer :: k
    real(8) :: x(k)
    k = k - 1
    call MPI_Bcast(x, k + 1, MPI_REAL8, 0, MPI_COMM_WORLD, ierr)
  end subroutine fewer
  subroutine perhaps(x, k)
    integer :: k
    real(8), optional :: x(k)
    call MPI_Bcast(x, k + 1, MPI_REAL8, 0, MPI_COMM_WORLD, ierr)
  end subroutine perhaps
  subroutine automatic(k)
    integer :: k
    real(8) :: x(k)
    call MPI_Bcast(x, k{more}, MPI_REAL8, 0, MPI_COMM_WORLD, ierr)
  end subroutine automatic
  subroutine longer(x)
    real(8), allocatable :: x(:)
    if (allocated(x)) deallocate(x)
    allocate(x(99))
  end subroutine longer
end program main
"""
_R = "MPI_REAL8"
_W = "MPI_COMM_WORLD"
_UP = "modulo(me + 1, np)"
_DOWN = "modulo(me - 1, np)"


def _text(call: str, header: bool = False) -> str:
    parts = {
        "use": "  use kinds\n" if header else "  use mpi\n  use kinds\n",
        "include": "  include 'mpif.h'\n" if header else "",
    }
    more = " + 1" if "automatic" in call else ""
    return _PROGRAM.format(call=call, more=more, **parts)


def _found(folder: Path, call: str, header: bool = False) -> list[str]:
    found = project(folder, _text(call, header))
    return [one.code for one in found.findings if one.code is not None]


def gather(sent: str, received: str, root: str = "0") -> str:
    return f"call MPI_Gather({sent}, 4, {_R}, {received}, 4, {_R}, {root}, {_W}, ierr)"


def sendrecv(sent: str, received: str, up: str = _UP, count: str = "4") -> str:
    return (
        f"call MPI_Sendrecv({sent}, {count}, {_R}, {up}, 1, &\n    {received}, {count}, {_R}, "
        f"{_DOWN}, 1, {_W}, MPI_STATUS_IGNORE, ierr)"
    )


_OVERLAPPING = (
    gather("a", "a"),
    gather("a(3)", "a"),
    f"call MPI_Allreduce(a, a, n, {_R}, MPI_SUM, {_W}, ierr)",
    f"if (me == 0) call MPI_Allgather(a(1), 4, {_R}, a(4), 4, {_R}, {_W}, ierr)",
    sendrecv("a", "a"),
    sendrecv("a(5)", "a(2)"),
    sendrecv("box(1, 2)", "box(1, 2)"),
    sendrecv("u%x", "u%x"),
    sendrecv("a", "a", "mod(me + 1, np)"),
    sendrecv("a(3)", "a", "mod(me + np - 1, np)"),
    sendrecv("a(3)", "a", "mod(me - 1 + np, np)"),
    sendrecv("a", "a", "np - 1 - me"),
    sendrecv("a", "a", "mod(3*np - 2 - me, np)"),
    sendrecv("a", "a", "me"),
    sendrecv("a", "a", "merge(0, me + 1, me + 1 == np)"),
    sendrecv("a", "a", "max(me - 1, 0)"),
    sendrecv("a", "a", "min(me + 1, np - 1)"),
    sendrecv("a", "a", "abs(me - 1)"),
    "n = mod(me + 1, np)\n" + sendrecv("a", "a", "n"),
    "n = me + 1\nif (n == np) n = 0\n" + sendrecv("a", "a", "n"),
    "do n = 0, np - 1\n" + sendrecv("a", "a", "n") + "\nend do",
    "n = (me + np/2)/2\n" + sendrecv("a", "a", "n"),
    sendrecv("u%x(3)", "u%x"),
    sendrecv("u%y(n)", "u%y(n + 1)"),
    f"call MPI_Allgather(u%y(u%n), 4, {_R}, u%y(u%n + 2), 4, {_R}, {_W}, ierr)",
    "allocate(u%y(9))\nu%y = 0\n" + sendrecv("u%y(2)", "u%y"),
    "allocate(u%y(0:9))\n" + sendrecv("u%y(3)", "u%y"),
)
_APART = (
    gather("a", "b"),
    gather("a(5)", "a", "1").replace(", 4, MPI_REAL8, a,", ", 4, MPI_REAL8, b,"),
    gather("MPI_IN_PLACE", "a"),
    # all but the root may name any variable
    f"if (me > 0) {gather('a', 'a')}",
    f"if (me > 0) then\n{gather('a', 'a')}\nelse\n{gather('MPI_IN_PLACE', 'a')}\nend if",
    f"if (me == 0) stop\n{gather('a', 'a', '1')}",
    gather("a", "a", "other"),
    # in an intercommunicator, no rank has both buffers
    f"call MPI_Comm_get_parent(n, ierr)\n{gather('a', 'a').replace(_W, 'n')}",
    sendrecv("a(1)", "a(5)"),
    sendrecv("a(5)", "a(1)"),
    sendrecv("box(1, 2)", "box(1, 3)"),
    sendrecv("a", "a", "other"),  # it may only receive
    # less than 0 on some ranks: MPI_PROC_NULL of some libraries
    sendrecv("a", "a", "me - 1"),
    sendrecv("a", "a", "mod(me - 1, np)"),
    sendrecv("a", "a", "np - 2 - me"),
    sendrecv("a", "a", "mod(np - 2*me, np)"),
    sendrecv("a", "a", "merge(me + 1, me - 1, me == 0)"),
    sendrecv("a", "a", "min(me - 1, np)"),
    "n = me + 1\nif (n == np) n = MPI_PROC_NULL\n" + sendrecv("a", "a", "n"),
    "n = me - 1\nif (np == 0) n = 0\n" + sendrecv("a", "a", "n"),
    "read *, n\n" + sendrecv("a", "a", "n"),
    "n = next()\n" + sendrecv("a", "a", "n"),
    "n = 0\nif (me == 0) n = next()\n" + sendrecv("a", "a", "n"),
    f"call MPI_Cart_shift({_W}, 0, 1, other, n, ierr)\n" + sendrecv("a", "a", "n"),
    "do n = np - 1, -1, -1\n" + sendrecv("a", "a", "n") + "\nend do",
    "do n = -1, np - 1\n" + sendrecv("a", "a", "n") + "\nend do",
    f"me = -1\nif (np > 1) call MPI_Comm_rank({_W}, me, ierr)\n" + sendrecv("a", "a", "me"),
    sendrecv("u%x(5)", "u%x"),
    sendrecv("u%x", "v%x"),
    sendrecv("u%x", "u%y"),
    sendrecv("u%y(2)", "u%y"),  # its lower bound may be anything
    "allocate(u%y(-9:9))\n" + sendrecv("u%y(2)", "u%y"),
    "allocate(u%y(9))\nu%y = a(1:20)\ndeallocate(u%y)\n" + sendrecv("u%y(2)", "u%y"),
    "allocate(u%y(9))\nu = v\n" + sendrecv("u%y(2)", "u%y"),
    "allocate(u%y(9))\ncall move_alloc(v%y, u%y)\n" + sendrecv("u%y(2)", "u%y"),
    sendrecv("u%p(2)", "u%p"),
    sendrecv("us(n)%x", "us(n - 1)%x"),
    sendrecv("a(next())", "a(next())"),
    sendrecv("a", "a", count="0"),
    sendrecv("a(me + 1)", "a(np)"),
    f"call MPI_Allreduce(MPI_IN_PLACE, a, n, {_R}, MPI_SUM, {_W}, ierr)",
    f"call MPI_Sendrecv_replace(a, 4, {_R}, {_UP}, 1, {_DOWN}, 1, {_W}, MPI_STATUS_IGNORE, ierr)",
    f"n = np - 1\ncall MPI_Allreduce(a, a, n, {_R}, MPI_SUM, {_W}, ierr)",  # nothing, on one rank
)


def bcast(buffer: str, count: str = "4", kind: str = _R) -> str:
    return f"call MPI_Bcast({buffer}, {count}, {kind}, 0, {_W}, ierr)"


_LONG = (
    bcast("four"),
    bcast("four(2)", "4", "MPI_INTEGER"),
    bcast("four", "n + 1", "MPI_INTEGER"),
    bcast("four", "17", "MPI_BYTE"),
    bcast("single", "5", "MPI_REAL"),
    bcast("single", "5", _R),  # whatever the default kinds are
    bcast("wide", "9"),
    bcast("d(1)", "4", "MPI_DOUBLE_PRECISION"),
    bcast("z", "9", _R),
    bcast("shared", "5"),
    bcast("box(3, 5)", "3"),
    bcast("me", "2", "MPI_INTEGER"),
    "allocate(grid(3, 4))\n" + bcast("grid", "13", "MPI_INTEGER"),
    "allocate(grid(3, few))\n" + bcast("grid(2, 4)", "3", "MPI_INTEGER"),
    "allocate(grid(0:2, few))\n" + bcast("grid(0, 4)", "4", "MPI_INTEGER"),
    "allocate(q(9))\nq = 0\nq(:) = a(1:9)\n" + bcast("q", "10"),
    "allocate(q(np))\n" + bcast("q", "np + 1"),
    "allocate(q(np))\nlong = np + 2\n" + bcast("q", "long"),
    "if (me == 0) then\nallocate(q(np))\n" + bcast("q", "np + 1") + "\nend if",
    "allocate(grid(4, 0:np))\n" + bcast("grid", "4*np + 5", "MPI_INTEGER"),
    "call automatic(n)",
    "if (few > 4) then\nn = 5\nelse if (me > 0) then\n" + bcast("four") + "\nend if",
    "do n = 4, few\n" + bcast("four") + "\nend do",
    "do n = 5, few, -1\n" + bcast("four") + "\nend do",
    "call one_more(first, 4)".replace("first", "shared"),
    "call one_more(a(397), n)",
    "call one_more(box(1, 5), 4)\ncall one_more(box(2, 5), 4)",
    "allocate(q(4))\ncall one_more(q, 4)",
    "call one_more(a, 3)\nif (me > 3) call one_more(shared, 4)",
    "select case (few)\ncase (3, 4)\ncall one_more(shared, 4)\nend select",
    "select case (me)\ncase (0)\ncall one_more(shared, 4)\nend select",
    f"call MPI_Send(four, 4, {_R}, other, 1, {_W}, ierr)",
    f"call MPI_Recv(box, 21, {_R}, 0, 1, {_W}, MPI_STATUS_IGNORE, ierr)",
    f"call MPI_Gather(box, 21, {_R}, a, 21, {_R}, 0, {_W}, ierr)",
    f"call MPI_Scatter(a, 21, {_R}, box, 21, {_R}, 0, {_W}, ierr)",
)
_FITTING = (
    bcast("four", "4", "MPI_INTEGER"),
    bcast("four", "2"),
    bcast("four", "16", "MPI_BYTE"),
    bcast("single", "4", "MPI_REAL"),
    bcast("single", "4"),  # with an option that doubles the default kind
    bcast("wide", "8"),
    bcast("d", "4", "MPI_DOUBLE_PRECISION"),
    bcast("z", "8"),
    bcast("box(2, 2)", "15"),
    bcast("box(:, 2)", "16"),
    bcast("many", "8"),  # what follows in the common block
    bcast("first", "5"),
    bcast("four", "np", "MPI_INTEGER"),
    bcast("a(np)", "400"),
    # never executed
    "if (few > 4) " + bcast("four"),
    "if (few == 4) then\nn = 5\nelse\n" + bcast("four") + "\nend if",
    "if (few > 4) then\n" + bcast("four") + "\nelse if (me > 0) then\nn = 5\nend if",
    "do n = 5, few\n" + bcast("four") + "\nend do",
    "do n = 1, few, -1\nif (me > 0) then\n" + bcast("four") + "\nend if\nend do",
    "call called(a)",
    "allocate(grid(3, 4))\n" + bcast("grid", "12", "MPI_INTEGER"),
    "allocate(grid(3, 4))\n" + bcast("grid(2, 4)", "2", "MPI_INTEGER"),
    "allocate(q(0:np))\n" + bcast("q", "np + 1"),
    "allocate(q(np))\n" + bcast("q", "2*np", "MPI_INTEGER"),
    "allocate(q(np))\n" + bcast("q", "2*np"),  # one of no ranks is not known to be wrong
    # it has another size, perhaps
    "if (me > 0) then\nallocate(q(3))\nelse\nallocate(q(9))\nend if\n" + bcast("q", "9"),
    "if (me > 0) then\nallocate(q(3))\nelse\ncall longer(q)\nend if\n" + bcast("q", "9"),
    "allocate(q(3))\nq = a(1:9)\n" + bcast("q", "9"),
    "allocate(q(3))\ncall longer(q)\n" + bcast("q", "9"),
    "allocate(q(3), u%y(9))\ncall move_alloc(u%y, q)\n" + bcast("q", "9"),
    "allocate(q(3))\ndeallocate(q)\nallocate(q(9))\n" + bcast("q", "9"),
    "allocate(q(n))\nn = 3\n" + bcast("q", "n + 1"),
    "call longer(q)\n" + bcast("q", "10"),
    "call one_more(a, 4)",  # a dummy argument may begin in a longer array
    "call one_more(a(396), n)",
    "call one_more(box(1, 4), 4)",
    "call one_more(u%x, 4)",
    "call one_more(u%p, 4)",
    "allocate(q(5))\ncall one_more(q, 4)",
    "call sometimes(shared, 4)",
    "call returning(shared, 4)",
    "call fewer(shared, n)",
    "call perhaps(k=n)",
    "call one_more(shared, np)",
    "if (few > 4) call one_more(shared, 4)",  # never executed
    "select case (few)\ncase (5)\ncall one_more(shared, 4)\nend select",
    "select case (few)\ncase (6:8, 11)\ncall one_more(shared, 4)\ncase default\nend select",
    "select case (few > 4)\ncase (.true.)\ncall one_more(shared, 4)\nend select",
    f"call MPI_Recv(four, 4, {_R}, MPI_PROC_NULL, 1, {_W}, MPI_STATUS_IGNORE, ierr)",
    # significant at the root alone
    f"if (me > 0) call MPI_Gather(a, 400, {_R}, four, 400, {_R}, 0, {_W}, ierr)",
    f"if (me > 0) call MPI_Scatter(four, 400, {_R}, a, 400, {_R}, 0, {_W}, ierr)",
)


@pytest.mark.parametrize("call", _OVERLAPPING)
def test_buffers_that_overlap(call: str, tmp_path: Path) -> None:
    assert _found(tmp_path, call) == ["ASP035"]


@pytest.mark.parametrize("call", _LONG)
def test_messages_that_are_longer_than_their_buffers(call: str, tmp_path: Path) -> None:
    assert "ASP036" in _found(tmp_path, call)


@pytest.mark.parametrize("call", [*_APART, *_FITTING])
def test_correct_calls(call: str, tmp_path: Path) -> None:
    assert not {"ASP035", "ASP036", "ASP037"} & set(_found(tmp_path, call))


_NO_CODE = f"call MPI_Bcast(a, 4, {_R}, 0, {_W})"


@pytest.mark.parametrize(
    ("call", "header", "codes"),
    [
        (_NO_CODE, True, ["ASP037"]),
        (f"call MPI_Send(a, 4, {_R}, 0, 1, {_W})", True, ["ASP037"]),
        (f"call MPI_Allreduce(a, b, 4, {_R}, MPI_SUM, {_W})", True, ["ASP037"]),
        (_NO_CODE.replace(f"{_W})", f"{_W}, ierr)"), True, []),
        ("call MPI_Pcontrol(1)", True, []),
        (_NO_CODE, False, []),  # the compiler tells
        ("call own(a)", True, []),
    ],
)
def test_a_call_without_its_error_code(
    call: str, header: bool, codes: list[str], tmp_path: Path
) -> None:
    assert _found(tmp_path, call, header) == codes


_MORE = f"call MPI_Send(a, 4, {_R}, 0, 1, {_W}, status, ierr)"


@pytest.mark.parametrize(
    ("call", "header", "codes"),
    [
        (_MORE, True, ["ASP038"]),
        (_MORE, False, ["ASP038"]),
        (f"call MPI_Bcast(a, 4, {_R}, 0, {_W}, status, ierr)", True, ["ASP038"]),
        (_MORE.replace("status, ", ""), True, []),
        (_MORE.replace("Send(", "Recv("), True, []),
        (_MORE.replace("status, ", "ierror="), False, []),
        (f"if (n > 9) then\n  {_MORE}\n  end if", True, []),  # never executed
        ("call MPI_Own(a, 1, 2, 3, 4, 5, 6, 7, 8, 9)", True, []),
    ],
)
def test_a_call_with_an_argument_too_many(
    call: str, header: bool, codes: list[str], tmp_path: Path
) -> None:
    assert [code for code in _found(tmp_path, call, header) if code == "ASP038"] == codes


def test_what_gets_the_error_code_is_told(tmp_path: Path) -> None:
    (found,) = (one for one in project(tmp_path, _text(_MORE, True)).findings if one.code)
    assert found.message == "it has 8 arguments, and MPI_Send has 7: status gets the error code"


CASES = (
    Case("ASP035", "one-buffer", _text(_OVERLAPPING[0]), program(), verdict="finding"),
    Case("ASP036", "long-message", _text(_LONG[0]), program(), verdict="finding"),
    Case("ASP037", "no-error-code", _text(_NO_CODE, True), program(), verdict="finding"),
    Case("ASP038", "more-arguments", _text(_MORE, True), program(), verdict="finding"),
)


def test_calls_without_errors_cost_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a call is executed is asked where it has an error; what a variable holds, where the
    length of the buffer is known."""
    monkeypatch.setattr(FeasibleStatements, "never", None)
    assert _found(tmp_path, gather("a", "b")) == []
    monkeypatch.setattr(Values, "__init__", None)
    source = """\
subroutine s(x, n, comm)
  use mpi
  implicit none
  integer, intent(in) :: n, comm
  real(8), intent(inout) :: x(n)
  integer :: ierr
  call MPI_Bcast(x, n, MPI_REAL8, 0, comm, ierr)
end subroutine s
"""
    folder = tmp_path / "dummy"
    folder.mkdir()
    (folder / "s.f90").write_text(source)
    tree = load_tree([folder], Settings(jobs=1, cache=False))
    (located,) = tree.units_of(str(folder / "s.f90"))
    facts = UnitFacts(located, Analyses(tree).of()[0])
    sites = CallSites(facts.effects.scopes)
    assert list(of_arguments(facts, Messages(facts), sites)) == []
