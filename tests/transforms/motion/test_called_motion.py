"""Calls that complete messages move behind work that accesses nothing of these, and calls that
start messages move before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.assumptions import TIMERS, Assumption
from asphalt.config.passes import Pass
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import optimise
from asphalt.optimiser.options import Options
from asphalt.optimiser.outcome import Optimised

_PROGRAM = """\
module layer
  use mpi
  implicit none
  integer, parameter :: n = 200000
  integer :: left, right, flag
  real(8) :: out(n), in(n)
{module}
contains
  subroutine begin({begins})
    {u}
{begin_declares}
    integer :: ierr
    out = u(1:n)
{start}
    call MPI_Irecv({in_}, n, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, {r}(1), ierr)
    call MPI_Isend({out_}, n, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, {r}(2), ierr)
  end subroutine begin
  subroutine finish({finishes})
    real(8), intent(inout) :: u(0:n+1)
{finish_declares}
    integer :: ierr
    if (right < 0) return
    {wait}
    u(0) = {in_}(n)
{more}
  end subroutine finish
  subroutine work(c)
    real(8), intent(inout) :: c(n)
    integer :: i
    do i = 1, n
      c(i) = sqrt(abs(c(i)) + i)
    end do
  end subroutine work
  subroutine other(c)
    real(8), intent(inout) :: c(n)
    integer :: i
    do i = 1, n
      c(i) = c(i) + {used}
    end do
  end subroutine other
  subroutine part(c, b, k)
    integer, intent(in) :: k
    real(8), intent(inout) :: c(n)
    real(8) :: b(k)
    integer :: i
    do i = 1, n
      c(i) = c(i) + i
    end do
  end subroutine part
  subroutine elsewhere(c)
    real(8), intent(inout) :: c(n)
    integer :: ierr
    {elsewhere}
  end subroutine elsewhere
{step}
end module layer
program main
  use layer
  implicit none
  real(8) :: u(0:n+1), c(n), d(n)
  integer :: ierr, step
{main}
  call MPI_Init(ierr)
  u = 1
  c = 2
  d = 3
  left = 0
  right = 0
{setup}
  do step = 1, 5
{loop}
    u(1:n) = u(1:n) + u(0) + c
  end do
  print *, sum(u), sum(c), sum(d)
  call MPI_Finalize(ierr)
contains
  subroutine inside
    integer :: e
    {inside}
  end subroutine inside
end program main
"""
_DUMMY = {
    "module": "",
    "begins": "u, r",
    "u": "real(8), intent(in) :: u(0:n+1)",
    "begin_declares": "    integer, intent(out) :: r(2)",
    "start": "",
    "in_": "in",
    "out_": "out",
    "r": "r",
    "finishes": "u, r",
    "finish_declares": "    integer, intent(inout) :: r(2)",
    "wait": "call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, ierr)",
    "more": "",
    "used": "1",
    "elsewhere": "ierr = 0",
    "step": "",
    "main": "  integer :: r(2)",
    "setup": "",
    "loop": "    call begin(u, r)\n    call finish(u, r)\n    call work(c)",
    "inside": "e = 0",
}
_MODULE = _DUMMY | {
    "module": "  integer :: r(2)",
    "begins": "u",
    "begin_declares": "",
    "finishes": "u",
    "finish_declares": "",
    "main": "",
    "loop": "    call begin(u)\n    call finish(u)\n    call work(c)",
}
_HANDLE = _DUMMY | {
    "module": (
        "  type handle\n    integer :: r(2) = MPI_REQUEST_NULL\n"
        "    real(8), allocatable :: in(:), out(:)\n  end type"
    ),
    "begins": "u, h",
    "begin_declares": "    type(handle), intent(inout) :: h",
    "in_": "h%in",
    "out_": "h%out",
    "r": "h%r",
    "finishes": "u, h",
    "finish_declares": "    type(handle), intent(inout) :: h",
    "wait": "call MPI_Waitall(2, h%r, MPI_STATUSES_IGNORE, ierr)",
    "main": "  type(handle) :: h",
    "setup": "  allocate (h%in(n), h%out(n))\n  h%out = 1",
    "loop": "    call begin(u, h)\n    call finish(u, h)\n    call work(c)",
}
_PASSED = _DUMMY | {
    "begins": "u, b, r",
    "begin_declares": ("    real(8), intent(inout) :: b(n)\n    integer, intent(out) :: r(2)"),
    "in_": "b",
    "finishes": "u, b, r",
    "finish_declares": ("    real(8), intent(in) :: b(n)\n    integer, intent(inout) :: r(2)"),
    "main": "  integer :: r(2)\n  real(8) :: b(n), wide(2*n)",
    "loop": "    call begin(u, b, r)\n    call finish(u, b, r)\n    call work(c)",
}


def _optimised(
    tmp_path: Path, forms: dict[str, str], *accepted: Assumption
) -> tuple[Optimised, str]:
    path = tmp_path / "main.f90"
    path.write_text(_PROGRAM.format_map(forms))
    tree = load_tree([tmp_path], Settings(cache=False, jobs=1))
    (unit,) = (u for u in tree.units_of(str(path)) if u.unit.kind == "program")
    words = frozenset(one.word for one in accepted)
    found = optimise(tree, unit, Options((Pass.MOTION,), words))
    return found, (found.content or path.read_bytes()).decode().split("program main\n")[1]


def _order(main: str) -> list[str]:
    """The calls of procedures of the program in the loop, in their order."""
    loop = main.split("do step")[1].split("end do")[0]
    found = [line.split("call ")[1] for line in loop.splitlines() if "call " in line]
    return [call.split("(")[0] for call in found]


@pytest.mark.parametrize("forms", [_DUMMY, _MODULE, _HANDLE, _PASSED])
def test_what_completes_messages_goes_behind_work(tmp_path: Path, forms: dict[str, str]) -> None:
    found, main = _optimised(tmp_path, forms)
    assert _order(main) == ["begin", "work", "finish"]
    assert [t.operation for t in found.transfers] == ["MPI_Irecv", "MPI_Isend"]
    assert {t.overlaps for t in found.transfers} == {("call work(c)",)}


def test_a_wait_in_the_caller_goes_behind_work(tmp_path: Path) -> None:
    loop = (
        "    call begin(u, r)\n    call MPI_Wait(r(2), MPI_STATUS_IGNORE, ierr)\n    call work(c)"
    )
    loop += "\n    call MPI_Wait(r(1), MPI_STATUS_IGNORE, ierr)"
    assert _order(_optimised(tmp_path, _DUMMY | {"loop": loop})[1])[:2] == ["begin", "work"]


def test_what_starts_messages_goes_before_work(tmp_path: Path) -> None:
    loop = "    call work(c)\n    call begin(u, r)\n    call finish(u, r)"
    main = _optimised(tmp_path, _DUMMY | {"loop": loop})[1]
    assert _order(main) == ["begin", "work", "finish"]


def test_work_passes_other_messages(tmp_path: Path) -> None:
    loop = "    call begin(u, r)\n    call finish(u, r)\n    if (np < 0) print *, np\n"
    again = "    call begin(d, q)\n    call finish(d, q)\n    call work(c)"
    forms = _DUMMY | {"main": "  integer :: r(2), q(2)", "loop": f"{loop}{again}"}
    kept = _order(_optimised(tmp_path, forms)[1])
    assert kept == ["begin", "finish", "begin", "work", "finish"]
    forms |= {
        "loop": "    call begin(u, r)\n    call begin(d, q)\n    call finish(u, r)\n"
        "    call finish(d, q)\n    call work(c)"
    }
    forms |= {"main": "  integer :: r(2), q(2)\n  real(8) :: d2(0:n+1)"}
    forms |= {"loop": forms["loop"].replace("(d, q)", "(d2, q)")}
    order = _order(_optimised(tmp_path, forms)[1])
    assert order == ["begin", "begin", "work", "finish", "finish"]


def test_messages_may_be_completed_in_the_next_iteration(tmp_path: Path) -> None:
    loop = "    call finish(u, r)\n    call work(c)\n    call begin(u, r)"
    forms = _DUMMY | {"setup": "  call begin(u, r)", "loop": loop}
    found, main = _optimised(tmp_path, forms)
    assert _order(main) == ["work", "finish", "begin"]
    assert {t.operation for t in found.transfers} == {"MPI_Irecv", "MPI_Isend"}
    kept = _optimised(tmp_path, forms | {"loop": loop.replace("(c)", "(in)")})[1]
    assert _order(kept) == ["finish", "work", "begin"]


_INTERNAL = _DUMMY | {
    "main": "  integer :: r(2)\n  real(8) :: b(n)",
    "inside": """if (step < 0) return
    call MPI_Irecv(b, n, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, r(1), e)
  end subroutine inside
  subroutine ended
    integer :: e
    call MPI_Wait(r(1), MPI_STATUS_IGNORE, e)
  end subroutine ended
  subroutine more
    integer :: e
    {third}""",
    "loop": "    call inside\n    call ended\n    call work(c)",
}


def test_internal_procedures_may_start_and_complete(tmp_path: Path) -> None:
    forms = _INTERNAL | {"inside": _INTERNAL["inside"].format(third="e = 0")}
    assert _order(_optimised(tmp_path, forms)[1]) == ["inside", "work", "ended"]
    read = forms | {"loop": forms["loop"].replace("(c)", "(b)")}
    assert _order(_optimised(tmp_path, read)[1]) == ["inside", "ended", "work"]
    third = "call MPI_Irecv(c, n, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, r(1), e)"
    other = _INTERNAL | {"inside": _INTERNAL["inside"].format(third=third), "setup": "  call more"}
    assert _order(_optimised(tmp_path, other)[1]) == ["inside", "ended", "work"]


def test_a_wait_for_a_start_under_another_condition_goes_behind_work(tmp_path: Path) -> None:
    start = "call MPI_Isend(out, n, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, r(1), ierr)"
    loop = f"""    if (step /= 1) call MPI_Wait(r(1), MPI_STATUS_IGNORE, ierr)
    call work(c)
    if (step /= 5) {start}"""
    assert _order(_optimised(tmp_path, _DUMMY | {"loop": loop})[1])[0] == "work"
    kept = _optimised(tmp_path, _DUMMY | {"loop": loop.replace("(c)", "(out)")})[1]
    assert _order(kept)[1] == "work"


_REFUSED = {
    "a buffer may get another name": _PASSED
    | {
        "main": "  integer :: r(2)\n  real(8), allocatable :: b(:), moved(:)",
        "setup": "  allocate (b(n))",
        "loop": "    call begin(u, b, r)\n    call move_alloc(b, moved)\n"
        "    call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, ierr)\n    call work(moved)\n"
        "    call move_alloc(moved, b)",
    },
    "work reads a receive buffer": _DUMMY
    | {"used": "in(i)", "loop": _DUMMY["loop"].replace("work", "other")},
    "work reads a buffer of a handle": _HANDLE
    | {"loop": _HANDLE["loop"].replace("work(c)", "work(h%in)")},
    "work changes a send buffer": _DUMMY | {"loop": _DUMMY["loop"].replace("(c)", "(out)")},
    "work reads what is unpacked": _DUMMY
    | {"loop": _DUMMY["loop"].replace("call work(c)", "c = u(1:n) + u(0)")},
    "a copy of a buffer is written back": _PASSED
    | {"loop": _PASSED["loop"].replace("work(c)", "part(c, b(1:n:2), n/2)")},
    "a buffer may be a copy": _PASSED
    | {"loop": _PASSED["loop"].replace("begin(u, b,", "begin(u, wide(1:2*n:2),")},
    "the request has a second start": _DUMMY
    | {
        "loop": "    call MPI_Irecv(c, n, MPI_DOUBLE_PRECISION, left, 2, MPI_COMM_WORLD, r(2), "
        "ierr)\n    call begin(u, r)\n    call finish(u, r)\n    call work(c)",
    },
    "the request is a copy of another": _DUMMY
    | {
        "main": "  integer :: r(2), q(2)",
        "loop": "    call MPI_Irecv(c, n, MPI_DOUBLE_PRECISION, left, 2, MPI_COMM_WORLD, q(1), "
        "ierr)\n    call begin(u, r)\n    r(1) = q(1)\n    call finish(u, r)\n    call work(c)",
    },
    "the callee copies a request": _DUMMY | {"start": "    r(1) = flag"},
    "an internal procedure has the request": _DUMMY
    | {
        "inside": "call MPI_Irecv(c, n, MPI_DOUBLE_PRECISION, left, 2, MPI_COMM_WORLD, r(1), e)",
        "setup": "  call inside",
    },
    "another procedure starts with the module's request": _MODULE
    | {
        "elsewhere": "call MPI_Irecv(c, n, MPI_DOUBLE_PRECISION, left, 2, MPI_COMM_WORLD, r(1), "
        "ierr)",
        "setup": "  call elsewhere(c)\n  call finish(u)",
    },
    "another procedure starts with the module's request into its own array": _MODULE
    | {
        "elsewhere": "real(8), save :: own(n)\n    call MPI_Irecv(own, n, MPI_DOUBLE_PRECISION, "
        "left, 2, MPI_COMM_WORLD, r(1), ierr)",
        "setup": "  call elsewhere(c)\n  call finish(u)",
    },
    "another procedure assigns the module's request": _MODULE
    | {"elsewhere": "r(1) = left\n    ierr = 0", "setup": "  call elsewhere(c)"},
    "a clock is read between": _DUMMY
    | {
        "main": "  integer :: r(2)\n  real(8) :: t",
        "loop": _DUMMY["loop"].replace("    call work", "    t = MPI_Wtime()\n    call work"),
    },
    "what completes also starts": _DUMMY
    | {
        "more": "    call MPI_Irecv(out, n, MPI_DOUBLE_PRECISION, left, 2, MPI_COMM_WORLD, r(1), "
        "ierr)"
    },
    "a test may complete nothing": _DUMMY
    | {"wait": "call MPI_Testall(2, r, flag, MPI_STATUSES_IGNORE, ierr)"},
    "what completes may stop the program": _DUMMY | {"more": "    if (u(0) < 0) stop"},
    "what completes prints": _DUMMY | {"more": "    print *, u(0)"},
    "work communicates": _DUMMY
    | {
        "elsewhere": "call MPI_Bcast(c, n, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)",
        "loop": _DUMMY["loop"].replace("work", "elsewhere"),
    },
    "the loop may end between": _DUMMY
    | {"loop": _DUMMY["loop"].replace("    call work", "    if (u(0) > 9) exit\n    call work")},
    "a pointer leads to the buffer": _PASSED
    | {
        "main": "  integer :: r(2)\n  real(8), target :: b(n)\n  real(8), pointer :: p(:)",
        "setup": "  p => b",
        "loop": _PASSED["loop"].replace("work(c)", "work(p)"),
    },
}


@pytest.mark.parametrize("name", sorted(_REFUSED))
def test_what_may_meet_the_messages_stays(tmp_path: Path, name: str) -> None:
    forms = _REFUSED[name]
    found, main = _optimised(tmp_path, forms)
    before = _PROGRAM.format_map(forms).split("program main\n")[1]
    assert _order(main) == _order(before)
    assert not found.transfers


_STEP = """\
  subroutine advance(a, c, {dummy}phase)
    real(8), intent(inout) :: a(0:n+1), c(n)
{declared}
    integer, intent(in) :: phase
    if (phase /= 2) call begin(a{r})
    if (phase /= 1) call finish(a{r})
    call work(c)
  end subroutine advance
"""
_OWN = _MODULE | {"step": _STEP.format(dummy="", declared="", r="")}
_GIVEN = _DUMMY | {
    "step": _STEP.format(dummy="r, ", declared="    integer, intent(inout) :: r(2)", r=", r"),
    "setup": "  r = MPI_REQUEST_NULL",
}


def _step(tmp_path: Path, forms: dict[str, str], calls: str) -> list[str]:
    """The calls in ``advance``, in their order, if the program has these calls of it."""
    path = tmp_path / "main.f90"
    text = _PROGRAM.format_map(forms | {"loop": calls})
    path.write_text(text)
    tree = load_tree([tmp_path], Settings(cache=False, jobs=1))
    (unit,) = (u for u in tree.units_of(str(path)) if u.unit.name == "advance")
    found = optimise(tree, unit, Options((Pass.MOTION,))).content or path.read_bytes()
    body = found.decode().split("subroutine advance(")[1].split("end subroutine")[0]
    return [line.split("call ")[1].split("(")[0] for line in body.splitlines() if "call " in line]


_MOVED = ["begin", "work", "finish"]
_KEPT = ["begin", "finish", "work"]


def test_requests_of_a_module_may_be_those_of_an_earlier_call(tmp_path: Path) -> None:
    assert _step(tmp_path, _OWN, "    call advance(u, c, 3)") == _MOVED
    assert _step(tmp_path, _OWN, "    call advance(u, c, 1)\n    call advance(u, d, 2)") == _MOVED
    swapped = "    call advance(u, c, 1)\n    call advance(d2, u(1:n), 2)"
    forms = _OWN | {"main": "  real(8) :: d2(0:n+1)"}
    assert _step(tmp_path, forms, swapped) == _MOVED  # u is copied before it is sent
    forms |= {"out_": "u(1:n)", "u": "real(8), intent(in) :: u(0:n+1)"}
    assert _step(tmp_path, forms, "    call advance(u, c, 1)\n    call advance(d2, d, 2)") == _MOVED
    assert _step(tmp_path, forms, swapped) == _KEPT


def test_requests_that_a_caller_gives_are_those_that_the_unit_starts(tmp_path: Path) -> None:
    call = "    call advance(u, c, r, 3)"
    assert _step(tmp_path, _GIVEN, call) == _MOVED
    start = "    call MPI_Irecv(c, n, MPI_DOUBLE_PRECISION, left, 2, MPI_COMM_WORLD, r(1), ierr)\n"
    assert _step(tmp_path, _GIVEN, start + call) == _KEPT
    assert _step(tmp_path, _GIVEN, "    call begin(u, r)\n" + call) == _KEPT
    assert _step(tmp_path, _GIVEN, "    r(1) = step\n" + call) == _KEPT


_CLOCKED = _DUMMY | {
    "main": "  integer :: r(2)\n  real(8) :: t(4)",
    "loop": "    call begin(u, r)\n    call finish(u, r)\n    t(1) = MPI_Wtime()\n"
    "    call work(c)\n    t(2) = MPI_Wtime()",
}


def test_what_completes_messages_passes_readings_of_a_clock(tmp_path: Path) -> None:
    found, main = _optimised(tmp_path, _CLOCKED, TIMERS)
    loop = main.split("do step")[1]
    assert loop.index("t(1) =") < loop.index("call work") < loop.index("call finish")
    (step,) = found.steps
    assert step.assumed == (TIMERS.word,)
    assert "between the readings of a clock in line" in step.does
    assert _order(_optimised(tmp_path, _CLOCKED)[1]) == ["begin", "finish", "work"]


def test_readings_that_decide_are_not_passed(tmp_path: Path) -> None:
    finished = _CLOCKED["loop"].partition("    t(1) =")[0]
    decides = finished + "    if (MPI_Wtime() > t(1)) call work(c)"
    forms = _CLOCKED | {"loop": decides, "setup": "  t = 0"}
    assert _order(_optimised(tmp_path, forms, TIMERS)[1]) == ["begin", "finish", "work"]
    stored = forms | {"loop": _CLOCKED["loop"] + "\n    u(1) = t(2) - t(1)"}
    assert _order(_optimised(tmp_path, stored, TIMERS)[1]) == ["begin", "finish", "work"]
