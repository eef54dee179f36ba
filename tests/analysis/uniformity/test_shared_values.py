"""Variables of modules that one procedure sets and others read, and jumps that end the program."""

from __future__ import annotations

import pytest

from asphalt.analysis.uniformity.uniformity import Level
from support.fortran_program import FortranProgram
from support.uniform_units import SITE, Q, Site, U, V, main

_SET = "module set\nlogical :: flag\ninteger :: np, me\nend module\n"
_TOLD = "call MPI_Bcast(flag, 1, MPI_LOGICAL, 0, MPI_COMM_WORLD, ierr)"
_ASK = "if (flag) call site()"
_PROGRAM = """\
program p
  use mpi
  use set
  implicit none
  integer :: ierr, i
  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  {body}
  i = 1
end program
"""


def _procedure(name: str, body: str) -> str:
    return f"subroutine {name}\nuse mpi\nuse set\ninteger :: ierr\n{body}\nend subroutine\n"


_TELL = _procedure("tell", f"flag = me == 0\n{_TOLD}")
_SPOIL = _procedure("spoil", "flag = me == 1")


def _is(found: Level, expected: Level) -> bool:
    """A broadcast that may hide a value of the rank makes it unknown, not different."""
    return found is U if expected is U else found is not U


def _reached(body: str, *procedures: str) -> Level:
    program = FortranProgram(_PROGRAM.format(body=body), SITE, _SET, *procedures)
    return Site(program).reached()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"call tell\n{_ASK}", U),
        (f"call spoil\ncall tell\n{_ASK}", U),
        (f"call tell\ncall spoil\n{_ASK}", V),
        (f"call tell\nif (np > 3) call spoil\n{_ASK}", V),
        (f"call spoil\nif (np > 3) call tell\n{_ASK}", V),
        (f"call spoil\nif (me > 3) call tell\n{_ASK}", V),
        (f"call tell\n{_ASK}\ncall spoil", U),
        (f"call tell\ndo i = 1, 3\n{_ASK}\ncall spoil\nend do", V),
        (f"do i = 1, 3\ncall tell\n{_ASK}\ncall spoil\nend do", U),
        (f"call tell\nif (me > 3) flag = .true.\n{_ASK}", V),
        (f"if (np > 3) goto 10\ncall spoil\n10 call tell\n{_ASK}", U),
        (f"call tell\n10 continue\n{_ASK}\nif (np > 4) then\ncall spoil\ngoto 10\nend if", V),
    ],
)
def test_the_definitions_that_reach_it(body: str, expected: Level) -> None:
    assert _is(_reached(body, _TELL, _SPOIL), expected)


@pytest.mark.parametrize(
    ("tell", "user", "body", "expected"),
    [
        # who reads it is called from the procedure that sets it
        (f"flag = me == 0\n{_TOLD}\ncall user", _ASK, "call tell", U),
        (f"flag = me == 0\ncall user\n{_TOLD}", _ASK, "call tell", V),
        (f"flag = me == 0\ncall user\n{_TOLD}", _ASK, "call tell\ncall user", V),
        (f"flag = me == 0\nif (np > 4) return\n{_TOLD}", _ASK, "call tell\ncall user", V),
        (f"flag = me == 0\n{_TOLD}\nif (np > 4) return", _ASK, "call tell\ncall user", U),
        # what the caller has set is still there
        (f"if (np > 4) {_TOLD}", _ASK, "flag = me == 0\ncall tell\ncall user", V),
        (f"{_TOLD}", _ASK, "flag = me == 0\ncall tell\ncall user", U),
        (f"{_TOLD}", _ASK, "flag = me == 0\ncall user\ncall tell", V),
        # behind a call of another procedure
        (f"flag = me == 0\n{_TOLD}", f"call tell\n{_ASK}", "call user", U),
        (f"flag = me == 0\n{_TOLD}", f"{_ASK}\ncall tell", "call user", Q),  # never defined
        (f"flag = me == 0\n{_TOLD}", f"{_ASK}\ncall tell", "call spoil\ncall user", V),
        # one of its conditions defines it
        (f"{_TOLD}", _ASK, "flag = .true.\nif (spoiled()) call user", V),
    ],
)
def test_it_is_followed_through_calls(tell: str, user: str, body: str, expected: Level) -> None:
    spoiled = (
        "logical function spoiled()\nuse set\nflag = me == 1\nspoiled = .true.\nend function\n"
    )
    declared = f"logical, external :: spoiled\n{body}" if "spoiled" in body else body
    text = _PROGRAM.format(body="").replace("i = 1", body)
    if declared != body:
        text = text.replace("integer :: ierr", "logical, external :: spoiled\ninteger :: ierr")
    procedures = (_procedure("tell", tell), _procedure("user", user), _SPOIL, spoiled)
    assert _is(Site(FortranProgram(text, SITE, _SET, *procedures)).reached(), expected)


def test_a_recursive_procedure_may_read_it_in_between() -> None:
    tell = f"flag = me == 0\nif (np > 4) call user\n{_TOLD}"
    user = f"{_ASK}\nif (np > 9) call tell"
    again = _procedure("tell", tell).replace("subroutine tell", "recursive subroutine tell", 1)
    assert _reached("call tell\ncall user", again, _procedure("user", user)) is not U


def test_a_name_that_is_part_of_an_operator_is_no_use_of_a_variable() -> None:
    """``.lt.`` names no variable, so that what a unit without it does to it is known."""
    module = _SET.replace("np, me", "np, me, lt")
    told = "lt = me\ncall MPI_Bcast(lt, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)"
    other = (
        "subroutine other(k)\nimplicit none\ninteger :: k\nif (k .lt. 3) k = 4\nend subroutine\n"
    )
    text = _PROGRAM.format(body=f"{told}\ncall other(i)\nif (lt > 1) call site()")
    assert Site(FortranProgram(text, SITE, module, other)).reached() is U


_PART = "call MPI_Bcast({buffer}, {count}, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)"


@pytest.mark.parametrize(
    ("buffer", "count", "expected"),
    [
        ("a", "10", U),
        ("a(1)", "10", U),
        ("b(0)", "4", U),
        ("c", "6", U),
        ("c(1, 1)", "6", U),
        ("a(1)", "9", V),
        ("a(2)", "9", V),
        ("a(2)", "10", V),
        ("b", "3", V),
        ("b(1)", "4", V),
        ("c(2, 1)", "6", V),
        ("a", "np", V),
    ],
)
def test_a_whole_array_is_broadcast(buffer: str, count: str, expected: Level) -> None:
    name = buffer[0]
    element = "c(2, 1)" if name == "c" else f"{name}(2)"
    told = _PART.format(buffer=buffer, count=count)
    body = f"{name} = me\n{told}\nif ({element} == 1) call site()\nn = 1"
    found = main(body, "integer :: b(0:3), c(2, 3)").reached()
    assert _is(found, expected)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if (np > 3) then\nk = 1\nm = k\nelse\nk = 2\nm = k + 1\nend if\n", U),
        ("k = me\nif (np > 3) then\nk = 1\nelse\nk = 2\nend if\n", U),
        ("k = me\nif (np > 3) k = 1\nif (np <= 3) k = 2\n", V),
        ("k = me\nif (np > 3) then\nk = 1\nelse if (np > 2) then\nk = 2\nend if\n", V),
        ("do i = 1, 3\nk = me\nk = 2\nif (np > 3) exit\nk = k + 1\nend do\n", U),
        ("do i = 1, 3\nk = me\nif (np > 3) exit\nk = 2\nend do\n", V),
        ("if (np > 3) goto 20\nk = me\nk = 2\ngoto 30\n20 k = 3\n30 continue\n", U),
        ("k = me\nif (np > 3) goto 30\nk = 2\n30 continue\n", V),
        ("k = me\nif (me > 3) then\nk = 1\nelse\nk = 2\nend if\n", V),
        ("k = me\n!$ if (np > 3) goto 30\nk = 2\n30 continue\n", V),
        ("k = me\n!$omp parallel\nk = 2\n!$omp end parallel\n", V),
        ("where (a > 3) a = 1\n", Q),
    ],
)
def test_an_assignment_on_each_path_hides_earlier_ones(body: str, expected: Level) -> None:
    asked = "a(1)" if "where" in body else "k"
    start = "a = me\n" if "where" in body else ""
    found = main(f"{start}{body}if ({asked} == 1) call site()\nn = 1").reached()
    assert _is(found, expected)


_END = "{jump}\ncall site()\n10 continue\n{last}"


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ("call MPI_Finalize(ierr)", U),
        ("call MPI_Barrier(MPI_COMM_WORLD, ierr)\ncall MPI_Finalize(ierr)", U),
        ("if (me == 0) print *, a(1), sqrt(2.0)\nstop", U),
        # a rank may still meet the others in one of these
        ("call MPI_Bcast(n, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)\ncall MPI_Finalize(ierr)", V),
        ("call other\ncall MPI_Finalize(ierr)", V),
        ("print *, total()\ncall MPI_Finalize(ierr)", V),
        ("if (np > 2) goto 20\n", V),
        ("!$ call other\n", V),
    ],
)
def test_a_jump_to_the_end_of_the_program_is_like_stop(last: str, expected: Level) -> None:
    jumps = ("if (me > 3) goto 10", "if (me > 3) then\nprint *, me\ngoto 10\nend if")
    for jump in jumps:
        body = f"20 continue\n{_END.format(jump=jump, last=last)}"
        assert main(body, "integer, external :: total").reached() is expected


def test_a_jump_to_the_end_of_a_procedure_is_none() -> None:
    body = "if (me > 3) goto 10\ncall site()\n10 continue"
    assert _reached("call work", _procedure("work", body)) is V


_SHARE = "call MPI_Bcast(x, 1, MPI_LOGICAL, 0, MPI_COMM_WORLD, ierr)"


@pytest.mark.parametrize("variable", ["flag", "own%flag", "mine"])
@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (_SHARE, U),
        (f"if (ierr == 5) stop\n{_SHARE}", U),
        (f"if (present(r)) ierr = r\n{_SHARE}", U),
        (f"if (present(r)) return\n{_SHARE}", V),  # the value of the caller may stay
        (f"if (np > 2) {_SHARE}", V),
        (f"{_SHARE}\nx = x .and. me > 2", V),
        (_SHARE.replace("MPI_Bcast(x", "MPI_Bcast(other"), V),
        (f"{_SHARE}\nreturn\nentry late(x)", V),
    ],
)
def test_a_procedure_that_broadcasts_its_argument(
    variable: str, share: str, expected: Level
) -> None:
    module = (
        "module set\ntype team\nlogical :: flag = .false., other\nend type\n"
        "type(team) :: own\nlogical :: flag, other\ninteger :: np, me\nend module\n"
    )
    procedure = (
        "module sharing\nuse mpi\nuse set\ncontains\nsubroutine share(x, r)\n"
        "logical, intent(inout) :: x\ninteger, intent(in), optional :: r\ninteger :: ierr\n"
        f"{share}\nend subroutine\nend module\n"
    )
    body = f"if (me == 0) {variable} = .true.\ncall share({variable})\nif ({variable}) call site()"
    program = _PROGRAM.format(body=body).replace("use set", "use set\n  use sharing")
    program = program.replace("integer :: ierr", "logical :: mine\n  integer :: ierr")
    assert _is(Site(FortranProgram(program, SITE, module, procedure)).reached(), expected)


_KINDS = """\
module kinds
type wide
integer :: first
end type
type, extends(wide) :: wider
integer :: second
end type
contains
subroutine tell(x)
{dummy} :: x
{body}
end subroutine
subroutine inner(x)
type(wide) :: x
x = wide(1)
end subroutine
end module
"""


@pytest.mark.parametrize(
    ("variable", "dummy", "body", "asked", "expected"),
    [
        ("character(2)", "character(2)", "x = 'a'", "v == 'ab'", U),
        ("character(2)", "character(1)", "x = 'a'", "v == 'ab'", V),  # the rest stays
        ("character :: z*2, ", "character(1)", "x = 'a'", "v == 'ab'", V),
        ("integer(8)", "integer(4)", "x = 1", "v == 1", V),
        ("type(wider)", "type(wider)", "x%second = 1", "v%second == 1", U),
        ("type(wider)", "class(wide)", "call inner(x)", "v%second == 1", V),  # the parent alone
    ],
)
def test_a_procedure_may_define_a_part_of_its_argument(
    variable: str, dummy: str, body: str, asked: str, expected: Level
) -> None:
    separator = "" if "::" in variable else " :: "
    name = "v*2" if "z*2" in variable else "v"
    start = "v = char(me)//char(me)" if "char" in variable else "v = me"
    start = "v%second = me" if "wider" in variable else start
    module = _KINDS.format(dummy=dummy, body=body)
    text = _PROGRAM.format(body=f"{start}\ncall tell(v)\nif ({asked}) call site()").replace(
        "integer :: ierr, i", f"integer :: ierr, i\n{variable}{separator}{name}"
    )
    text = text.replace("use set", "use set\n  use kinds")
    assert _is(Site(FortranProgram(text, SITE, _SET, module)).reached(), expected)
