"""Communicators that are set in branches or by procedures, and what the ranks of a split share."""

from __future__ import annotations

import pytest

from asphalt.analysis.uniformity.uniformity import Level
from support.fortran_program import FortranProgram
from support.uniform_units import SITE, Q, Site, U, V, main

_EITHER = """\
if (np > 4) then
  call MPI_Comm_split(MPI_COMM_WORLD, mod(me, 2), me, row, ierr)
else
  row = MPI_COMM_WORLD
end if
"""
_TELL = "flag = me == 0\ncall MPI_Bcast(flag, 1, MPI_LOGICAL, 0, row, ierr)\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"{_EITHER}{_TELL}if (flag) call site()", U),
        (f"{_TELL}{_EITHER}if (flag) call site()", Q),  # broadcast on what it was before
        (f"row = MPI_COMM_WORLD\n{_TELL}{_EITHER}if (flag) call site()", Q),
        (f"do i = 1, 2\n{_EITHER}{_TELL}if (flag) call site()\nend do", Q),  # set again
        (f"10 continue\n{_EITHER}{_TELL}if (flag) call site()\nif (np > 2) goto 10", Q),
        (f"{_EITHER}if (np > 9) goto 10\n{_TELL}10 continue\ncall site()", U),
        (f"{_EITHER}call MPI_Comm_dup(row, row, ierr)\n{_TELL}if (flag) call site()", Q),
    ],
)
def test_one_communicator_from_its_last_definition(body: str, expected: Level) -> None:
    found = main(body, "logical :: flag", comm="row").reached()
    assert found is expected if expected is U else found is not U


_WORLD = "module world\ninteger :: comm\nlogical :: flag\nend module\n"
_CHOOSE = """\
subroutine choose(c, np)
  use mpi
  integer :: c, np, ierr, me
  c = MPI_COMM_WORLD
  if (np == 4) return
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_split(MPI_COMM_WORLD, me/2, me, c, ierr)
end subroutine
"""
_PROGRAM = """\
program p
  use mpi
  use world
  implicit none
  integer :: np, me, ierr, i
  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  {body}
end program
"""
_ON_COMM = "call MPI_Bcast(flag, 1, MPI_LOGICAL, 0, comm, ierr)\n"
_USER = f"subroutine user\nuse mpi\nuse world\ninteger :: ierr\n{_ON_COMM}end subroutine\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"call choose(comm, np)\nflag = me == 0\n{_ON_COMM}if (flag) call site()", U),
        (f"flag = me == 0\ncall choose(comm, np)\nif (flag) call site()\n{_ON_COMM}", V),
        (f"call choose(comm, np)\n{_ON_COMM}call choose(comm, 2)\nif (flag) call site()", Q),
        # a procedure that uses it is called behind the definition, or before
        (f"call choose(comm, np)\ncall user\n{_ON_COMM}if (flag) call site()", U),
        (f"call user\ncall choose(comm, np)\nflag = me == 0\n{_ON_COMM}if (flag) call site()", Q),
    ],
)
def test_a_procedure_may_choose_it(body: str, expected: Level) -> None:
    program = FortranProgram(_PROGRAM.format(body=body), SITE, _WORLD, _CHOOSE, _USER)
    found = Site(program, "comm").reached()
    assert found is expected if expected is U else found is not U


_ARMS = """\
if (me >= 4) then
  active = .false.
  colour = {one}
else
  active = .true.
  colour = {other}
end if
"""
_SPLIT = "call MPI_Comm_split(MPI_COMM_WORLD, colour, me, row, ierr)\n"
_NOT = "active = me < 4\ncolour = 0\nif (.not. active) colour = 1\n"
_NOT_ALL = _NOT.replace("if (.not.", "if (me > 1) then\n  if (.not.") + "end if\n"
_ASK = "if (active) call site()"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"{_ARMS.format(one=1, other=0)}{_SPLIT}{_ASK}", U),
        (f"{_ARMS.format(one='MPI_UNDEFINED', other=0)}{_SPLIT}{_ASK}", U),
        (f"{_ARMS.format(one=0, other=0)}{_SPLIT}{_ASK}", V),  # one colour for both
        (f"{_ARMS.format(one=1, other='me')}{_SPLIT}{_ASK}", V),  # a rank alone may be anywhere
        (f"{_ARMS.format(one=1, other=0)}colour = 2\n{_SPLIT}{_ASK}", V),
        (f"{_ARMS.format(one=1, other=0)}if (me == 6) colour = 0\n{_SPLIT}{_ASK}", V),
        (f"{_ARMS.format(one=1, other=0)}{_SPLIT}active = me < 2\n{_ASK}", V),
        (f"{_SPLIT}{_ARMS.format(one=1, other=0)}{_ASK}", V),  # split before
        (f"do i = 1, 2\n{_ARMS.format(one=1, other=0)}{_SPLIT}{_ASK}\nend do", V),
        (f"{_NOT}{_SPLIT}{_ASK}", U),
        (f"{_NOT}{_SPLIT}if (.not. active) goto 10\ncall site()\n10 n = 1", U),
        (f"{_NOT.replace('colour = 1', 'colour = 0')}{_SPLIT}{_ASK}", V),
        (f"{_NOT}{_SPLIT}active = me < 2\n{_ASK}", V),  # another value than was tested
        # only some of the ranks that split have tested it
        (f"{_NOT_ALL}{_SPLIT}{_ASK}", V),
        (f"colour = me/2\n{_SPLIT}if (colour == 0) call site()", U),
        (f"colour = me/2\n{_SPLIT}if (me/2 == 0) call site()", V),
        (f"colour = me/2\n{_SPLIT}colour = me\nif (colour == 0) call site()", V),
    ],
)
def test_ranks_of_a_split_share_its_colour(body: str, expected: Level) -> None:
    declared = "logical :: active\ninteger :: colour"
    assert main(body, declared, comm="row").reached() is expected
    world = main(body, declared, comm="mpi_comm_world").reached()
    assert world is V  # it does not hold for others


_EARLY = """\
subroutine ranks(n, me, comm, active)
  use mpi
  implicit none
  integer :: n, me, comm, all, np, ierr, colour
  logical :: active
  all = MPI_COMM_WORLD
  call MPI_Comm_size(all, np, ierr)
  call MPI_Comm_rank(all, me, ierr)
  n = int(sqrt(dble(np)))**2
  colour = 7
  if (np > 9) call get_colour(colour)
  {first}
  comm = all
  active = .true.
  {leave}
  if (me == 0) active = .false.
  call MPI_Bcast(active, 1, MPI_LOGICAL, 0, all, ierr)
  if (active) stop
  {arms}
  {then}
  call MPI_Comm_split(all, colour, me, comm, ierr)
  {last}
end subroutine
"""
_CHOICE = {
    "first": "",
    "leave": "if (np == n) return",
    "arms": _ARMS.format(one=1, other=0),
    "then": "",
    "last": "",
}
_SET = "module set\ninteger :: comm, n, me\nlogical :: active\nend module\n"
_GET = "subroutine get_colour(k)\ninteger :: k\nk = 5\nend subroutine\n"


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, U),
        ({"leave": "if (n > 3 .and. np == n) goto 10", "last": "10 continue"}, U),
        # ranks of MPI_COMM_WORLD have taken different arms
        ({"leave": "", "then": "if (np == n) return"}, V),
        ({"then": "if (np == n) goto 10", "last": "10 n = 1", "leave": ""}, V),
        ({"last": "if (np == n) comm = all"}, V),
        # the ranks that leave are not known to be all, or none
        ({"leave": "if (me == n) return"}, V),
        ({"first": "n = me"}, V),
        # another colour
        ({"arms": _ARMS.format(one=1, other=1)}, V),
        ({"then": "if (me == 3) colour = 2"}, V),
        ({"then": "call get_colour(colour)"}, V),
        ({"last": "active = me == 2"}, V),
        ({"arms": f"do while (np < n)\n{_ARMS.format(one=1, other=0)}end do"}, V),
    ],
)
def test_a_split_or_another_communicator(changed: dict[str, str], expected: Level) -> None:
    text = _EARLY.format(**(_CHOICE | changed))
    setup = "subroutine set_up\nuse set\ncall ranks(n, me, comm, active)\nend subroutine\n"
    body = "program p\nuse set\ncall set_up\nif (active) call site\nn = 1\nend program\n"
    found = Site(FortranProgram(body, SITE, _SET, _GET, setup, text), "comm").reached()
    assert found is expected if expected is U else found is not U


_THREE = """\
colour = 0
if (me < 2) then
  colour = {}
else if (me < 4) then
  colour = {}
end if
"""


@pytest.mark.parametrize(
    ("colours", "asked", "expected"),
    [
        ((1, 2), "me < 2", U),
        ((1, 2), "me < 4", U),
        ((1, 0), "me < 2", U),
        ((1, 0), "me < 4", V),  # the second arm and none have one colour
        ((0, 2), "me < 2", V),
    ],
)
def test_each_arm_has_a_colour_of_its_own(
    colours: tuple[int, int], asked: str, expected: Level
) -> None:
    text = _THREE.format(*colours)
    marked = text.replace(f"({asked}) then", f"({asked}) then\n  n = 1")
    body = f"n = 0\n{marked}{_SPLIT}if (n == 1) call site()"
    found = main(body, "integer :: colour", comm="row").reached()
    assert found is expected


def test_an_inner_condition_is_not_an_arm() -> None:
    inner = "colour = 0\nif (me < 4) then\n  active = me < 2\n  if (active) colour = 1\nend if\n"
    body = f"active = .false.\n{inner}{_SPLIT}if (me < 4) call site()"
    assert main(body, "logical :: active\ninteger :: colour", comm="row").reached() is V
