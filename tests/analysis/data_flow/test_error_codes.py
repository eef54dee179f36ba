"""Error codes that are MPI_SUCCESS whenever a call returns, and what may change places for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.data_flow.error_code_flow import ErrorCodeFlow
from asphalt.analysis.data_flow.error_codes import ErrorCodes
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.messages.messages import Messages
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.ir.stmt import Guarded
from asphalt.ir.tree import Leaf
from asphalt.optimiser.optimise import Optimised, optimise
from asphalt.transforms.buffers import buffered_sends, receive_queues
from asphalt.transforms.motion.windows import is_work
from support.mpi_run import OPENMPI, SMPI, Mpi, installed, same_lines
from support.stepping import Stepped

_UNIT = """\
subroutine exchange(a, b, n, left, right, comm{dummies})
  use mpi{used}
  implicit none
  integer, intent(in) :: n, left, right, comm
  real(8), intent(inout) :: a(n), b(n)
  integer :: first, second, k, other
{declared}
{before}
  call MPI_Irecv(a, n, MPI_DOUBLE_PRECISION, left, 1, comm, first, other)
{one}
{two}
  call MPI_Wait(second, MPI_STATUS_IGNORE, other)
  a(1) = a(1) + k
{behind}
end subroutine exchange
"""
_WAIT = "call MPI_Wait(first, MPI_STATUS_IGNORE, ierr)"
_START = "call MPI_Irecv(b, n, MPI_DOUBLE_PRECISION, right, 2, comm, second, ierr)"
_MAIN = """\
program main
  use mpi
  implicit none
  integer :: ierr
  real(8) :: a(3), b(3)
{declared}
  call MPI_Init(ierr)
  call exchange(a, b, 3, 0, 0, MPI_COMM_SELF{dummies})
  {main}
  call MPI_Finalize(ierr)
end program main
"""
_ERRORS = "module errors\n  integer{attribute} :: ierr\nend module errors\n"


def why_not(
    folder: Path,
    one: str = _WAIT,
    two: str = _START,
    declared: str = "integer, intent(out) :: ierr",
    dummies: str = ", ierr",
    before: str = "",
    behind: str = "",
    used: str = "",
    main: str = "",
    outside: str = "",
    attribute: str = "",
    more: str = "",
    *,
    with_main: bool = True,
) -> str | None:
    """Why the second of two statements may not come before the first."""
    text = _UNIT.format(
        one=one,
        two=two,
        declared=declared,
        dummies=dummies,
        before=before,
        behind=behind,
        used=used,
    )
    files = {
        "exchange.f90": text,
        "more.f90": more,
        "zz_errors.f90": _ERRORS.format(attribute=attribute),
    }
    if with_main:
        files["main.f90"] = _MAIN.format(main=main, declared=outside, dummies=dummies)
    (facts,) = [f for f in Stepped.of(folder, files).facts() if f.unit.name == "exchange"]
    order = Independence(facts, Messages(facts))
    at = 2 if before else 1
    return order.why_not(*facts.unit.body[at : at + 2])


_MODULE = {"dummies": "", "declared": "", "used": "\n  use errors"}
_BEFORE = "  call MPI_Barrier(comm, ierr)"
_THREADED = """\
!$omp parallel do if (n > 9) private(k)
  do k = 1, n
    b(k) = a(k)
  end do"""
_TOLD = """\
  if (code /= MPI_SUCCESS) then
    print *, code
    call MPI_Abort(MPI_COMM_WORLD, 1, code)
  end if
"""


def _checked(
    body: str = _TOLD, *, declared: str = "integer :: code", given: str = "ierr", dummy: str = ""
) -> dict[str, str]:
    """Where the second statement gives the code to a procedure."""
    check = (
        f"subroutine check(code{dummy})\n  use mpi\n  implicit none\n  {declared}\n{body}"
        "end subroutine check\n"
    )
    return {"two": f"call check({given})", "before": _BEFORE, "more": check}


def _given(body: str, two: str = "if (ierr /= 0) return") -> dict[str, str]:
    """Where a procedure has given the code a value."""
    give = (
        "subroutine give(n, comm, code)\n  use mpi\n  implicit none\n  integer :: n, comm, code\n"
        f"{body}end subroutine give\n"
    )
    return {"two": two, "before": "  call give(n, comm, ierr)", "more": give}


_QUIET = """\
module quiet_m
contains
  subroutine quiet(c)
    use mpi
    integer, intent(in) :: c
    integer :: e
    call MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN, e)
    call quieter(c)
  end subroutine quiet
  recursive subroutine quieter(c)
    use mpi
    integer, intent(in) :: c
    integer :: e
    if (c > 0) call quieter(c - 1)
    call MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN, e)
  end subroutine quieter
end module quiet_m
"""
FREE = {
    "what nothing calls lets errors return": {"more": _QUIET},
    "a parallel loop behind": {
        "two": "if (ierr /= 0) return", "before": _BEFORE, "behind": _THREADED,
    },
    "a parallel loop, and a code in a module": {
        **_MODULE, "two": "if (ierr /= 0) return", "before": _BEFORE, "behind": _THREADED,
    },
    "the caller reads it": {},
    "it is in a module": _MODULE,
    "it is in a common block": {
        "dummies": "", "declared": "integer :: ierr\n  common /error/ ierr",
    },
    "it is read later": {
        "dummies": "", "declared": "integer :: ierr", "behind": "  if (ierr /= 0) a(2) = 1",
    },
    "one is an assignment": {"two": "ierr = MPI_SUCCESS"},
    "one is an assignment of what it is": {"two": "ierr = 0"},
    "one is under a condition": {"two": f"if (n > 3) {_START}"},
    "one reads what it was before": {"two": "k = ierr", "before": "  ierr = 0"},
    "one stops if it is something else": {"two": "if (ierr /= 0) stop 1", "before": _BEFORE},
    "one stops if its absolute value is something else": {
        "two": "if (abs(ierr) /= 0) stop 1", "before": _BEFORE,
    },
    "one returns if a number made of it is something else": {
        "two": "if (2*(ierr - iabs(-ierr)) + 1 > 1) return", "before": _BEFORE,
    },
    "one aborts if it is something else": {
        "two": "if (.not. (MPI_SUCCESS == ierr)) then\n    print *, 'error', ierr\n"
        "    call MPI_Abort(comm, 1, ierr)\n  else if (ierr > 3 .or. ierr < 0) then\n    stop 2\n"
        "  end if",
        "before": _BEFORE,
    },
    "one reads what a call has given": {
        "two": "if (ierr /= MPI_SUCCESS) k = 3",
        "before": "  call MPI_Barrier(comm, ierr)",
    },
    "one returns if it is something else": {"two": "if (ierr /= 0) return", "before": _BEFORE},
    "one says so and returns": {
        "two": "if (ierr .ne. 0) then\n    write (*, *) 'error', ierr\n    return\n  end if",
        "before": _BEFORE,
    },
    "one goes elsewhere": {
        "two": "if (ierr /= MPI_SUCCESS) goto 99", "before": _BEFORE,
        "behind": "  return\n99 print *, ierr",
    },
    "one returns for another reason, too": {
        "two": "if (ierr /= 0 .and. n > 50) return", "before": _BEFORE,
    },
    "one returns from its arm": {
        "two": f"if (n > 3) then\n  {_START}\n  if (ierr /= 0) return\n  end if",
        "before": _BEFORE,
    },
    "one leaves its loop": {
        "two": f"do k = 1, 1\n  {_START}\n  if (ierr /= 0) exit\n  if (ierr /= 0) stop 3\n"
        "  end do",
        "before": _BEFORE,
    },
    "a procedure looks at it": _checked(),
    "a procedure looks at it and returns": _checked(
        "  if (code == MPI_SUCCESS) return\n  print *, text\n  stop 1\n",
        declared="integer, intent(in) :: code\n  character(len=*), intent(in) :: text",
        given="ierr, 'exchange'", dummy=", text",
    ),
    "a procedure asks another one": {
        **_checked("  call look(code)\n"),
        "more": _checked("  call look(code)\n")["more"]
        + _checked()["more"].replace("check(", "look(").replace(" check", " look"),
    },
    "a procedure has given it": _given(
        "  call MPI_Barrier(comm, code)\n  if (code /= 0) return\n"
        "  if (n > 3) call MPI_Barrier(comm, code)\n"
    ),
    "a procedure has given it that says that all is well": _given(
        "  if (n > 3) then\n    code = 0\n    return\n  end if\n  code = MPI_SUCCESS\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FREE)
def test_they_change_places(name: str, tmp_path: Path) -> None:
    assert why_not(tmp_path, **FREE[name]) is None


_HANDLER = "call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)"
NOT_FATAL = {
    "what something calls lets errors return": {
        "more": _QUIET + "subroutine loud(c)\n  use quiet_m\n  call quieter(c)\nend subroutine\n",
        "main": "call loud(ierr)",
        "outside": "  external :: loud",
    },
    "what is passed on lets errors return": {
        "more": _QUIET + "subroutine loud\n  use quiet_m\n  external :: apply\n"
        "  call apply(quiet)\nend subroutine\n",
    },
    "what a type is bound to lets errors return": {
        "more": _QUIET.replace(
            "contains\n",
            "type t\n  integer :: n\ncontains\n  procedure, nopass :: quieter\n"
            "end type t\ncontains\n",
            1,
        ),
    },
    "what C may call lets errors return": {
        "more": _QUIET.replace("quieter(c)\n    use", "quieter(c) bind(c)\n    use"),
    },
    "errors return": {"main": _HANDLER},
    "errors return, as a tool is not told": {"main": _HANDLER.replace("MPI_Comm", "PMPI_Comm")},
    "errors return, by an old name": {
        "main": "call MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)"
    },
    "somebody is given what makes them return": {
        "main": "call apply(MPI_Comm_set_errhandler)",
        "outside": "  external :: apply",
    },
    "a user's operation has codes of its own": {
        "main": "call MPI_Grequest_start(ierr, ierr, ierr, 0_8, ierr, ierr)"
    },
    "the library calls a user's operation": {
        "main": "call MPI_Op_create(combine, .true., ierr, ierr)",
        "outside": "  external :: combine",
        "more": "subroutine combine(a, b, n, kind)\n  integer :: n, kind\n  real(8) :: a(n), b(n)\n"
        "  b = a + b\nend subroutine combine\n",
    },
    "the library calls what an attribute has": {
        "main": "call MPI_Comm_create_keyval(copy, delete, ierr, 0_8, ierr)",
        "outside": "  external :: copy, delete",
        "more": "subroutine copy(a, b, c, d, e, f, g)\n  integer :: a, b, g\n"
        "  integer(8) :: c, d, e\n  logical :: f\n  f = .false.\n  g = 0\nend subroutine copy\n"
        "subroutine delete(a, b, c, d, e)\n  integer :: a, b, e\n  integer(8) :: c, d\n  e = 0\n"
        "end subroutine delete\n",
    },
    "Open MPI returns an error of detached buffers": {
        "main": "call MPI_Buffer_detach(a, ierr, ierr)",
    },
    "a finalizer is called where none is seen": {
        "more": "module tokens\n  type :: token\n    integer :: n\n  contains\n"
        "    final :: release\n  end type token\ncontains\n  subroutine release(t)\n"
        "    type(token), intent(inout) :: t\n    t%n = 0\n  end subroutine release\n"
        "end module tokens\n",
    },
    "output calls a procedure": {
        "more": "module tokens\n  type :: token\n    integer :: n\n  contains\n"
        "    procedure :: put\n    generic :: write(formatted) => put\n  end type token\n"
        "contains\n  subroutine put(t, unit, kind, list, stat, text)\n"
        "    class(token), intent(in) :: t\n    integer, intent(in) :: unit, list(:)\n"
        "    character(*), intent(in) :: kind\n    integer, intent(out) :: stat\n"
        "    character(*), intent(inout) :: text\n    stat = 0\n  end subroutine put\n"
        "end module tokens\n",
    },
    "nobody knows what else is called": {"main": "call library(ierr)"},
    "nobody knows the main program": {"with_main": False},
}
KEPT = {
    "a number made of it and of what is not known is something else": {
        "two": "if (abs(ierr) + n /= 0) return", "before": _BEFORE,
    },
    "what the program calls its absolute value is something else": {
        "two": "if (abs(ierr) /= 0) return", "before": _BEFORE,
        "declared": "integer :: ierr\n  integer, external :: abs", "dummies": "",
    },
    # other ranks may access memory by a window, whatever becomes of errors
    "errors of windows return": {"main": _HANDLER.replace("Comm_set", "Win_set")},
    "one stores something else": {"two": "ierr = 3"},
    "one stores what is not known": {"two": "ierr = n"},
    "one reads it": {"two": "k = ierr"},
    "one reads what it may have been": {
        "two": "k = ierr", "before": "  if (n > 3) call MPI_Barrier(comm, ierr)",
    },
    "one stops if it is what it may have been": {"two": "if (ierr /= 0) stop 1"},
    "one stops if it is success": {"two": "if (ierr == 0) stop 1", "before": _BEFORE},
    "one stops for another reason, too": {
        "two": "if (ierr /= 0 .or. n > 50) stop 1", "before": _BEFORE,
    },
    "one stops otherwise": {
        "two": "if (ierr /= 0) then\n    k = 2\n  else\n    stop 1\n  end if", "before": _BEFORE,
    },
    "one returns if it is what it may have been": {"two": "if (ierr /= 0) return"},
    "one returns if it is success": {"two": "if (ierr == 0) return", "before": _BEFORE},
    "one returns for another reason": {
        "two": "if (ierr /= 0 .or. n > 50) return", "before": _BEFORE,
    },
    "one goes elsewhere otherwise": {
        "two": "if (ierr == MPI_SUCCESS) goto 99", "before": _BEFORE,
        "behind": "  return\n99 print *, ierr",
    },
    "one returns, and errors return": {
        "two": "if (ierr /= 0) return", "before": _BEFORE, "main": _HANDLER,
    },
    "one returns if what is read is something else": {
        "two": "if (ierr /= 0) return", "before": "  read *, ierr",
    },
    "one returns if another thread says so": {
        "two": "if (ierr /= 0) return", "before": _BEFORE,
        "declared": "integer, intent(out), volatile :: ierr",
    },
    "a procedure looks at it, and errors return": {**_checked(), "main": _HANDLER},
    "a procedure looks at what it may have been": {**_checked(), "before": ""},
    "a procedure always tells it": _checked("  print *, code\n"),
    "a procedure stops otherwise": _checked("  if (code == 0) stop 2\n"),
    "a procedure stops for another reason": _checked(
        "  if (code /= 0 .or. other > 50) stop 2\n", declared="integer :: code, other",
        given="ierr, n", dummy=", other",
    ),
    "a procedure keeps what it has seen": _checked(
        "  seen = seen + 1\n" + _TOLD, declared="integer :: code\n  integer, save :: seen = 0",
    ),
    "a procedure calls itself": {
        **_checked(), "more": "recursive subroutine check(code)\n  integer :: code\n"
        "  if (code /= 0) stop 1\n  if (code < 5) call check(code)\nend subroutine check\n",
    },
    "a procedure of the program is called": {
        "two": "if (ierr /= 0) return", "before": _BEFORE,
        "more": "subroutine MPI_Barrier(comm, code)\n  integer :: comm, code\n  code = 3\n"
        "end subroutine MPI_Barrier\n",
    },
    "a result has two names": {
        "two": "if (ierr /= 0) return", "before": _BEFORE,
        "behind": "  return\n  entry again(a, b, n, left, right, comm, ierr)",
    },
    "threads have one each in a loop": {
        "two": "if (ierr /= 0) return", "before": _BEFORE,
        "behind": "!$omp parallel do private(ierr)\ndo k = 1, n\n  ierr = k\n  b(k) = ierr\nend do",
    },
    "threads have another variable of a module": {
        **_MODULE, "two": "if (ierr /= 0) return", "before": _BEFORE,
        "attribute": " :: other_one\n  !$omp threadprivate(ierr)\n  integer",
        "behind": _THREADED,
    },
    "another module may give it with OpenMP": {
        "declared": "!$ integer, save :: ierr", "dummies": "", "used": "\n  use errors",
        "two": "if (ierr /= 0) return", "before": _BEFORE,
    },
    "a line is for OpenMP alone": {
        "two": "if (ierr /= 0) return", "before": _BEFORE, "behind": "!$ do k = 1, 3\n!$ end do",
    },
    "threads have one each": {
        "two": "if (ierr /= 0) return", "before": _BEFORE,
        "behind": "!$omp parallel reduction(*:ierr)\n  ierr = 1\n!$omp end parallel",
    },
    "a procedure counts on": _checked(
        "  a(1) = a(1) + 1\n" + _TOLD, declared="integer :: code\n  real(8) :: a(*)",
        given="ierr, a", dummy=", a",
    ),
    "a procedure looks at something else": _checked(
        _TOLD.replace("code /=", "other /="), declared="integer :: code, other", given="ierr, n",
        dummy=", other",
    ),
    "a procedure has given it something else": _given(
        "  call MPI_Barrier(comm, code)\n  if (n > 3) code = 3\n"
    ),
    "a procedure may have given it nothing": _given(
        "  if (n > 3) call MPI_Barrier(comm, code)\n"
    ),
    "a procedure has given it, and errors return": {
        **_given("  call MPI_Barrier(comm, code)\n"), "main": _HANDLER,
    },
    "one stops, and errors return": {
        "two": "if (ierr /= 0) stop 1", "before": _BEFORE, "main": _HANDLER,
    },
    "one gives something else to it": {"two": "call MPI_Comm_rank(comm, ierr, other)"},
    "one gives it twice": {"two": "call MPI_Comm_rank(comm, ierr, ierr)"},
    "it is volatile": {"declared": "integer, intent(out), volatile :: ierr"},
    "it is a pointer": {"declared": "integer, pointer :: ierr"},
    "it is a volatile one of a module": {**_MODULE, "attribute": ", volatile"},
    "it is an element": {
        "one": _WAIT.replace("ierr", "ierr(1)"), "two": _START.replace("ierr", "ierr(k)"),
        "declared": "integer, intent(out) :: ierr(2)",
    },
    "MPI sends it": {
        "before": "  call MPI_Isend(ierr, 1, MPI_INTEGER, left, 7, comm, k, other)",
        "behind": "  call MPI_Wait(k, MPI_STATUS_IGNORE, other)",
    },
    "the caller reads a status": {
        "one": "call MPI_Wait(first, status, other)",
        "two": "call MPI_Recv(b, n, MPI_DOUBLE_PRECISION, right, 2, comm, status, other)",
        "declared": "integer, intent(out) :: ierr, status(MPI_STATUS_SIZE)",
        "dummies": ", ierr, status",
        "outside": "  integer :: status(MPI_STATUS_SIZE)",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_FATAL)
def test_errors_may_return(name: str, tmp_path: Path) -> None:
    assert "errors may not be fatal" in (why_not(tmp_path, **NOT_FATAL[name]) or "")


@pytest.mark.parametrize("name", KEPT)
def test_they_keep_their_order(name: str, tmp_path: Path) -> None:
    found = why_not(tmp_path, **KEPT[name])
    assert found is not None
    assert "fatal" not in found


def test_error_codes_are_not_followed_where_a_handler_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name of the handler is enough: no procedure is looked at for it."""
    followed = property(lambda self: pytest.fail("they are followed"))
    monkeypatch.setattr(ErrorCodeFlow, "decides", followed)
    root = tmp_path / "handler"
    assert why_not(root, main=_HANDLER) is not None


def test_the_reason_is_given(tmp_path: Path) -> None:
    found = why_not(tmp_path / "handler", main=_HANDLER)
    assert found is not None
    assert "ierr (errors may not be fatal: " in found
    assert "main.f90:9 calls MPI_Comm_set_errhandler" in found
    found = why_not(tmp_path / "unknown", with_main=False)
    assert found is not None
    assert found.endswith(
        "ierr (errors may not be fatal: the main program is not among the given files)"
    )
    found = why_not(tmp_path / "other", two="ierr = 3", main=_HANDLER)
    assert found is not None
    assert found.endswith("ierr")


def test_errors_of_files_return(tmp_path: Path) -> None:
    unit = "subroutine s(f, ierr)\n  use mpi\n  integer :: f, ierr\n{}end subroutine s\n"
    close = "  call MPI_File_close(f, ierr)\n"
    wait = "  call MPI_Wait(f, MPI_STATUS_IGNORE, ierr)\n"
    read = "  call MPI_File_iread(f, f, 1, MPI_INTEGER, f, ierr)\n"
    profiled = read.replace("MPI_File", "PMPI_File")
    sums = "  call MPI_Barrier(MPI_COMM_WORLD, ierr)\n"
    start = "  call MPI_Ibarrier(MPI_COMM_WORLD, f, ierr)\n"
    test = "  call MPI_Testall(1, [f], yes, MPI_STATUSES_IGNORE, ierr)\n"
    main = "program p\n  use mpi\n  integer :: f, ierr\n  call s(f, ierr)\nend program p\n"
    for name, calls, known in (
        ("blocking", close + wait, [False, True]),
        ("with requests", read + wait, [False, False]),
        ("profiled", profiled + wait, [False, False]),
        ("of another operation", read + sums + start + test, [False, True, True, False]),
    ):
        files = {"s.f90": unit.format(calls), "p.f90": main}
        units = Stepped.of(tmp_path / name, files).facts()
        (facts,) = [f for f in units if f.unit.name == "s"]
        codes = facts.once(ErrorCodes)
        found = [codes.why_not(call) for _, call in Messages(facts).own_calls()]
        assert [one is None for one in found] == known


_EXCHANGE = """\
subroutine exchange(u, n, left, right, comm, ierr)
  use mpi{only}
  implicit none
  integer, intent(in) :: n, left, right, comm
  real(8), intent(inout) :: u(n, 0:n+1)
  integer, intent(out) :: ierr
  integer :: i, j{own}
  real(8) :: v(n, n)
{before}{calls}  do j = 2, n - 1
    do i = 1, n
      v(i,j) = 0.25d0*(u(i,j-1) + u(i,j+1)) + sin(u(i,j))
    end do
  end do
  do i = 1, n
    v(i,1) = 0.25d0*(u(i,0) + u(i,2)) + sin(u(i,1))
    v(i,n) = 0.25d0*(u(i,n-1) + u(i,n+1)) + sin(u(i,n))
  end do
  u(:,1:n) = v
end subroutine exchange
program main
  use mpi
  implicit none
  integer, parameter :: n = 60
  real(8) :: u(n, 0:n+1)
  integer :: me, np, left, right, ierr, step
  call MPI_Init(ierr)
  {handler}
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  left = modulo(me - 1, np)
  right = modulo(me + 1, np)
  u = me
  do step = 1, 3
    ierr = 7
    call exchange(u, n, left, right, MPI_COMM_WORLD, ierr)
    print '(3(i0, 1x), z17)', me, step, ierr, sum(u)
  end do
  call MPI_Finalize(ierr)
end program main
"""
_TYPE = "n, MPI_DOUBLE_PRECISION"
_BLOCKING = f"""\
  call MPI_Sendrecv(u(1,n), {_TYPE}, right, 1, u(1,0), {_TYPE}, left, 1, comm, &
                    MPI_STATUS_IGNORE, ierr)
  if (left >= 0) call MPI_Sendrecv(u(1,1), {_TYPE}, left, 2, u(1,n+1), {_TYPE}, right, 2, &
                                   comm, MPI_STATUS_IGNORE, ierr)
"""
_PENDING = f"""\
  call MPI_Irecv(u(1,0), {_TYPE}, left, 1, comm, r(1), ierr)
  call MPI_Irecv(u(1,n+1), {_TYPE}, right, 2, comm, r(2), ierr)
  call MPI_Isend(u(1,n), {_TYPE}, right, 1, comm, r(3), ierr)
  call MPI_Isend(u(1,1), {_TYPE}, left, 2, comm, r(4), ierr)
  call MPI_Waitall(4, r, MPI_STATUSES_IGNORE, ierr)
"""


def _transformed(
    folder: Path, calls: str, before: str = "", only: str = "", own: str = "", handler: str = ""
) -> tuple[str, Optimised]:
    folder.mkdir()
    path = folder / "main.f90"
    text = _EXCHANGE.format(calls=calls, before=before, only=only, own=own, handler=handler)
    path.write_text(text)
    tree = load_tree([folder], Settings(cache=False, jobs=1))
    return text, optimise(tree, tree.units_of(str(path))[0])


def _lines(found: Optimised) -> list[str]:
    return [line.strip() for line in (found.content or b"").decode().splitlines()]


def test_a_blocking_call_leaves_its_code(tmp_path: Path) -> None:
    lines = _lines(_transformed(tmp_path / "plain", _BLOCKING)[1])
    assert "ierr = MPI_SUCCESS" in lines
    assert any("asphalt_isend" in line for line in lines)
    only = ", only: MPI_Sendrecv, MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE"
    lines = _lines(_transformed(tmp_path / "only", _BLOCKING, only=only)[1])
    assert "ierr = 0" in lines
    lines = _lines(_transformed(tmp_path / "known", _BLOCKING, before="  ierr = 0\n")[1])
    assert [line for line in lines if "ierr =" in line] == ["ierr = 0", "ierr = 7"]
    assert not any("call MPI_Sendrecv" in line for line in lines)


def test_the_code_is_stored_where_the_call_was_made(tmp_path: Path) -> None:
    calls = _BLOCKING.splitlines(keepends=True)
    found = _transformed(tmp_path / "guarded", "".join(calls[2:]))[1]
    assert "if (left >= 0) ierr = MPI_SUCCESS" in _lines(found)


def test_a_call_whose_errors_return_stays(tmp_path: Path) -> None:
    _, found = _transformed(tmp_path / "returned", _BLOCKING, handler=_HANDLER)
    assert found.content is None


def test_waits_go_their_own_ways(tmp_path: Path) -> None:
    lines = _lines(_transformed(tmp_path / "waits", _PENDING, own=", r(4)")[1])
    (work,) = (n for n, line in enumerate(lines) if "v(i,j) =" in line)
    (wait,) = (n for n, line in enumerate(lines) if "MPI_Wait(r(4)" in line)
    assert lines[wait].endswith("ierr)")
    assert wait > work


_CHECKED = _PENDING.replace(", ierr)\n", ", ierr)\n  if (ierr /= MPI_SUCCESS) stop 1\n")


def test_a_wait_passes_what_is_done_in_case_of_an_error(tmp_path: Path) -> None:
    lines = _lines(_transformed(tmp_path / "checked", _CHECKED, own=", r(4)")[1])
    (work,) = (n for n, line in enumerate(lines) if "v(i,j) =" in line)
    (wait,) = (n for n, line in enumerate(lines) if "MPI_Wait(r(4)" in line)
    assert wait > work > max(n for n, line in enumerate(lines) if "stop 1" in line)
    _, found = _transformed(tmp_path / "returned", _CHECKED, own=", r(4)", handler=_HANDLER)
    assert found.content is None


def test_what_is_done_in_case_of_an_error_is_no_work(tmp_path: Path) -> None:
    calls = _PENDING + "  if (ierr /= MPI_SUCCESS) call failed(u)\n  u(1,1) = u(1,0)\n"
    failed = (
        "end program main\nsubroutine failed(u)\n  real(8) :: u(*)\n  u(1) = 0\nend subroutine\n"
    )
    text = _EXCHANGE.replace("end program main\n", failed)
    text = text.format(calls=calls, before="", only="", own=", r(4)", handler="")
    facts = Stepped.of(tmp_path, {"main.f90": text}).facts()
    (unit,) = [f for f in facts if f.unit.name == "exchange"]
    (check,) = [n for n in unit.unit.body if isinstance(n, Leaf) and isinstance(n.what, Guarded)]
    assert not is_work(check, Messages(unit))
    assert Independence(unit, Messages(unit)).accesses(check) is not None


_RETURN = "  if (ierr /= MPI_SUCCESS) then\n    print *, 'error', ierr\n    return\n  end if\n"
_RETURNING = _PENDING.replace(", ierr)\n", ", ierr)\n" + _RETURN)


def test_a_wait_passes_a_return_in_case_of_an_error(tmp_path: Path) -> None:
    lines = _lines(_transformed(tmp_path / "checked", _RETURNING, own=", r(4)")[1])
    (work,) = (n for n, line in enumerate(lines) if "v(i,j) =" in line)
    (wait,) = (n for n, line in enumerate(lines) if "MPI_Wait(r(4)" in line)
    assert wait > work > max(n for n, line in enumerate(lines) if line == "return")
    _, found = _transformed(tmp_path / "returned", _RETURNING, own=", r(4)", handler=_HANDLER)
    assert found.content is None


@pytest.mark.parametrize("mpi", installed(OPENMPI, SMPI), ids=str)
@pytest.mark.parametrize(
    ("calls", "own"),
    [
        pytest.param(_BLOCKING, "", marks=pytest.mark.wide),
        pytest.param(_PENDING, ", r(4)", marks=pytest.mark.wide),
        pytest.param(_CHECKED, ", r(4)", marks=pytest.mark.wide),
        pytest.param(_RETURNING, ", r(4)", marks=pytest.mark.wide),
        (_BLOCKING.replace(", ierr)\n", ", ierr)\n" + _RETURN), ""),
    ],
)
def test_the_results_are_the_same(calls: str, own: str, mpi: Mpi, tmp_path: Path) -> None:
    text, found = _transformed(tmp_path / "source", calls, own=own)
    printed = same_lines(mpi, tmp_path, text, found.content)
    assert [line.split()[2] for line in printed] == ["0"] * 9


def test_codes_of_what_is_posted_ahead_or_leaves_from_a_copy_are_stored(tmp_path: Path) -> None:
    """Found by the fuzzer (exchange 19 of stream 95): behind a receive that was posted before its
    loop, the variable kept what it was given before, and so it did behind a send from a copy."""
    text = """\
subroutine gather(total, row, n, np, me, comm, code)
  use mpi
  implicit none
  integer, intent(in) :: n, np, me, comm
  integer, intent(out) :: code
  real(8), intent(inout) :: total(n), row(n)
  integer :: p, i
  code = 7
  if (me == 0) then
    do p = 1, np - 1
      call MPI_Recv(row, n, MPI_DOUBLE_PRECISION, p, 1, comm, MPI_STATUS_IGNORE, code)
      do i = 1, n
        total(i) = total(i) + row(i)
      end do
    end do
  else
    do i = 1, n
      row(i) = total(i)
    end do
    call MPI_Send(row, n, MPI_DOUBLE_PRECISION, 0, 1, comm, code)
  end if
end subroutine gather
program main
  use mpi
  implicit none
  real(8) :: total(9), row(9)
  integer :: me, np, code
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, code)
  call MPI_Comm_size(MPI_COMM_WORLD, np, code)
  total = me
  call gather(total, row, 9, np, me, MPI_COMM_WORLD, code)
  print *, code
  call MPI_Finalize(code)
end program main
"""
    stepped = Stepped.of(tmp_path, {"main.f90": text})
    assert stepped.applied(receive_queues, unit="gather") == 1
    assert stepped.applied(buffered_sends, unit="gather") == 1
    lines = [line.strip() for line in stepped.text("main.f90").splitlines()]
    for call in ("call asphalt_take(asphalt_queue_1, row)", "call asphalt_send(row, n, "):
        (place,) = (number for number, line in enumerate(lines) if line.startswith(call))
        assert lines[place + 1] == "code = MPI_SUCCESS"
