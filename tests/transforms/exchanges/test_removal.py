"""Exchanges that repeat an earlier one: what must hold for them to be left out, a program each."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.verdicts.exchange_codes import REPEATED
from asphalt.config.passes import DEFAULT, GROUPS, Pass
from asphalt.config.settings import Settings
from asphalt.diagnostics.examples import examples_of
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import optimise
from asphalt.optimiser.options import Options
from asphalt.transforms.exchanges import removal
from support.mpi_run import MPICH, OPENMPI, Mpi, installed
from support.stepping import Stepped

_SENDRECV = """\
    call MPI_Sendrecv(f(n), 1, MPI_DOUBLE_PRECISION, right, 1, &
                      f(0), 1, MPI_DOUBLE_PRECISION, left, 1, comm, MPI_STATUS_IGNORE, ierr)
    call MPI_Sendrecv(f(1), 1, MPI_DOUBLE_PRECISION, left, 2, &
                      f(n + 1), 1, MPI_DOUBLE_PRECISION, right, 2, comm, MPI_STATUS_IGNORE, ierr)
"""
_STARTED = """\
    call MPI_Irecv(f(0), 1, MPI_DOUBLE_PRECISION, left, 1, comm, requests(1), ierr)
    call MPI_Irecv(f(n + 1), 1, MPI_DOUBLE_PRECISION, right, 2, comm, requests(2), ierr)
    call MPI_Isend(f(n), 1, MPI_DOUBLE_PRECISION, right, 1, comm, requests(3), ierr)
    call MPI_Isend(f(1), 1, MPI_DOUBLE_PRECISION, left, 2, comm, requests(4), ierr)
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierr)
"""
_PROGRAM = """\
module line
  use mpi
  implicit none
  integer, parameter :: n = 5
  integer, save :: comm, me, np, left, right
  real(8), save :: spare(0:n+1)
contains
  subroutine find_neighbours()
    integer :: ierr
    comm = MPI_COMM_WORLD
    call MPI_Comm_rank(comm, me, ierr)
    call MPI_Comm_size(comm, np, ierr)
    left = me - 1
    if (left < 0) left = MPI_PROC_NULL
    right = me + 1
    if (right >= np) right = MPI_PROC_NULL
  end subroutine find_neighbours
  {procedure}
end module line
module halo
  use mpi
  use line
  implicit none
contains
  subroutine exchange(f)
    real(8), intent(inout) :: f(0:n+1)
    integer :: requests(4), ierr, k
{exchange}
  end subroutine exchange
end module halo
program main
  use mpi
  use line
  use halo
  implicit none
  real(8){targets} :: u(0:n+1), v(0:n+1), w(n)
  integer :: ierr, step, i, status(MPI_STATUS_SIZE)
  {declared}
  call MPI_Init(ierr)
  call find_neighbours()
  {before}
  do i = 0, n + 1
    u(i) = 10*me + i
    v(i) = -u(i)
  end do
  w = 0
  do step = 1, 3
    {first}
    do i = 1, n
      w(i) = w(i) + u(i-1) + 2*u(i+1)
    end do
    {between}
    {second}
    do i = 1, n
      w(i) = w(i)/2 + u(i-1)*u(i+1) + v(i)
    end do
    do i = 1, n
      u(i) = u(i)/3 + w(i)/7
    end do
    {behind}
  end do
  {after}
  call show()
  call MPI_Finalize(ierr)
contains
  subroutine show()
    integer :: rank
    do rank = 0, np - 1
      call MPI_Barrier(comm, ierr)
      if (rank == me) print '(i0, 99(1x, z16))', me, u, v, w
    end do
  end subroutine show
end program main
"""
_USUAL = {
    "procedure": "",
    "exchange": _SENDRECV,
    "targets": "",
    "declared": "",
    "before": "",
    "first": "call exchange(u)",
    "between": "",
    "second": "call exchange(u)",
    "behind": "",
    "after": "",
}
_DIRECT = """\
call MPI_Sendrecv(u(n), 1, MPI_DOUBLE_PRECISION, right, 7, &
                      u(0), 1, MPI_DOUBLE_PRECISION, left, 7, comm, status, ierr)"""


def _program(**changes: str) -> str:
    return _PROGRAM.format(**{**_USUAL, **changes})


def _tree(folder: Path, **changes: str) -> Stepped:
    tree = Stepped.of(folder, {"a.f90": _program(**changes)})
    tree.uniform = tree.any_sizes = True
    return tree


GOES = {
    "a loop of messages": {
        "exchange": "    do k = 1, 2\n    if (k == 1) then\n"
        + _SENDRECV
        + "    end if\n    end do\n"
    },
    "called": {},
    "started": {"exchange": _STARTED},
    "direct": {"first": _DIRECT, "second": _DIRECT},
    "another field between": {"between": "call exchange(v)"},
    "behind a barrier of halves": {"between": "v(1) = sum(u)\n    call exchange(v)"},
    "a collective operation between": {
        "between": """\
call MPI_Allreduce(MPI_IN_PLACE, v, n, MPI_DOUBLE_PRECISION, MPI_MAX, comm, ierr)"""
    },
    "a communicator that is freed behind it": {
        "before": "call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)",
        "after": "call show()\n  call MPI_Comm_free(comm, ierr)\n  comm = MPI_COMM_WORLD",
    },
    "output before a barrier": {
        "before": "print '(a)', 'begin'\n  call MPI_Barrier(MPI_COMM_WORLD, ierr)",
    },
    "output behind a reduction of all ranks": {
        "behind": """\
call MPI_Allreduce(MPI_IN_PLACE, v, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
    if (me == 0) print '(a, i0)', 'step ', step""",
    },
    "a guard that does not change": {
        "exchange": """\
    if (right /= MPI_PROC_NULL) call MPI_Send(f(n), 1, MPI_DOUBLE_PRECISION, right, 1, comm, ierr)
    if (left /= MPI_PROC_NULL) then
      call MPI_Recv(f(0), 1, MPI_DOUBLE_PRECISION, left, 1, comm, MPI_STATUS_IGNORE, ierr)
    end if
""",
    },
}

STAYS = {
    # what it would bring is not there
    "changed on one rank only": ({"between": "if (me == 0) u(n) = 1"}, "may be needed"),
    "changed on each rank": ({"between": "u(1) = u(1) + 1"}, "may be needed"),
    "its halo is changed": ({"between": "u(0) = 1"}, "may be needed"),
    "through a pointer": (
        {
            "targets": ", target",
            "declared": "real(8), pointer :: p(:)",
            "before": "p => u(1:n)",
            "between": "p(1) = 3",
        },
        "may be needed",
    ),
    "in a called procedure": (
        {
            "procedure": """\
subroutine change(f)
    real(8), intent(inout) :: f(0:n+1)
    f(n) = 2*f(n)
  end subroutine change""",
            "between": "call change(u)",
        },
        "may be needed",
    ),
    "in COMMON": (
        {
            "declared": "common /shared/ u",
            "procedure": """\
subroutine change()
    real(8) :: other(0:n+1)
    common /shared/ other
    other(n) = 2*other(n)
  end subroutine change""",
            "between": "call change()",
        },
        "may be needed",
    ),
    "received into": (
        {
            "between": "call MPI_Bcast(u(1), 1, MPI_DOUBLE_PRECISION, 0, comm, ierr)",
        },
        "may be needed",
    ),
    "not on every path": (
        {"first": "if (step > 1) call exchange(u)"},
        None,
    ),
    "a jump around the first": (
        {"first": "if (step == 2) goto 10\n    call exchange(u)", "between": "10 continue"},
        "a path leads to it around",
    ),
    "another field": ({"second": "call exchange(v)"}, None),
    "a status that is read": (
        {
            "first": _DIRECT,
            "second": _DIRECT,
            "between": _DIRECT.replace("7", "8").replace("u(", "v("),
            "behind": "w(1) = w(1) + status(MPI_TAG)",
        },
        "may be needed",
    ),
    # its messages are not those of the one before
    "partners that change": (
        {"between": "i = left\n    left = right\n    right = i", "first": "call exchange(u)"},
        " may change in line",
    ),
    "partners that change later": (
        {"behind": "if (step == 2) left = MPI_PROC_NULL\n    if (step == 2) right = left"},
        " may change in line",
    ),
    "two communicators": (
        {
            "declared": "integer :: other",
            "before": "call MPI_Comm_dup(MPI_COMM_WORLD, other, ierr)",
            "between": "comm = other",
        },
        "comm may change",
    ),
    "not on all ranks": (
        {
            "first": "if (me >= 0) then\n    call exchange(u)",
            "second": "call exchange(u)\n    end if",
        },
        "all ranks reach it",
    ),
    "another call with its tag": (
        {
            "behind": """\
call MPI_Sendrecv(v(1), 1, MPI_DOUBLE_PRECISION, left, 2, &
                      v(0), 1, MPI_DOUBLE_PRECISION, right, 2, comm, status, ierr)""",
        },
        "may have the same tag",
    ),
    "another procedure with its partners exchanged": (
        {
            "first": _DIRECT,
            "second": _DIRECT,
            "behind": _DIRECT.replace("right", "other")
            .replace("left", "right")
            .replace("other", "left"),
        },
        "has the same tag, and other partners",
    ),
    "the bound of a loop is a local variable": (
        {"exchange": "    k = me\n    do k = k, 1\n" + _SENDRECV + "    end do\n"},
        "k is no variable of a module",
    ),
    "a branch around a loop reads its variable": (
        {
            "exchange": "    k = me\n    if (k == 1) then\n    do k = 1, 1\n"
            + _SENDRECV
            + "    end do\n    end if\n"
        },
        "k is no variable of a module",
    ),
    # it has other effects
    "it changes what it sends": (
        {"exchange": _SENDRECV + "    f(1) = f(1) + f(0)\n"},
        "it changes what it sends",
    ),
    "it sends what it has received": (
        {
            "exchange": """\
    call MPI_Sendrecv(f(0), n, MPI_DOUBLE_PRECISION, right, 1, &
                      spare, n, MPI_DOUBLE_PRECISION, left, 1, comm, MPI_STATUS_IGNORE, ierr)
    if (left /= MPI_PROC_NULL) f(0) = spare(1)
"""
        },
        "it changes what it sends",
    ),
    "it counts": (
        {
            "exchange": "    count = count + 1\n" + _SENDRECV,
            "procedure": "",
            "declared": "",
        },
        None,
    ),
    "what it starts is completed elsewhere": (
        {
            "exchange": _STARTED.replace("requests", "pending").rpartition("    call MPI_W")[0],
            "between": "call MPI_Waitall(4, pending, MPI_STATUSES_IGNORE, ierr)",
            "behind": "call MPI_Waitall(4, pending, MPI_STATUSES_IGNORE, ierr)",
        },
        None,
    ),
    # its messages order what is seen
    "a token that orders output": (
        {"between": "print '(a, i0)', 'rank ', me"},
        "the messages may order it",
    ),
    "output in a called procedure": (
        {
            "procedure": """\
subroutine tell()
    write (*, *) me
  end subroutine tell""",
            "between": "call tell()",
        },
        "the messages may order it",
    ),
    "output before and behind": (
        {"before": "print '(a, i0)', 'rank ', me"},
        "may order what is seen",
    ),
    "output in each step": (
        {"behind": "if (step == 2) print '(a, i0)', 'rank ', me"},
        "may order what is seen",
    ),
    "output behind a reduction of nothing": (
        {
            "declared": "integer :: none = 0",
            "behind": """\
call MPI_Allreduce(MPI_IN_PLACE, v, none, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
    if (me == 0) print '(a, i0)', 'step ', step""",
        },
        "may order what is seen",
    ),
    "output behind a reduction of some ranks": (
        {
            "declared": "integer :: some",
            "before": "call MPI_Comm_split(MPI_COMM_WORLD, mod(me, 2), me, some, ierr)",
            "behind": """\
call MPI_Allreduce(MPI_IN_PLACE, v, 1, MPI_DOUBLE_PRECISION, MPI_MAX, some, ierr)
    if (me == 0) print '(a, i0)', 'step ', step""",
        },
        "may order what is seen",
    ),
    "a file that one rank writes and another one reads": (
        {
            "before": "if (me == 0) open (9, file='/tmp/none')",
            "after": "if (me == 1) open (9, file='/tmp/none')",
        },
        "may order what is seen",
    ),
    "a reading of a clock": (
        {"declared": "real(8) :: t", "between": "t = MPI_Wtime()"},
        "the messages may order it",
    ),
    "a call that is not seen": ({"between": "call elsewhere()"}, None),
    "any source": (
        {
            "after": """\
if (me == 0 .and. np == 0) call MPI_Recv(v, 1, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 9, comm, &
    status, ierr)"""
        },
        "MPI_ANY_SOURCE",
    ),
    "any tag": (
        {
            "after": """\
if (me == 0 .and. np == 0) call MPI_Recv(v, 1, MPI_DOUBLE_PRECISION, 1, MPI_ANY_TAG, comm, &
    status, ierr)"""
        },
        "MPI_ANY_TAG",
    ),
    "a probe": (
        {
            "declared": "logical :: there",
            "after": "call MPI_Iprobe(0, 9, comm, there, status, ierr)",
        },
        "MPI_Iprobe",
    ),
    "a window": (
        {
            "declared": "integer :: window",
            "after": "if (np == 0) call MPI_Win_fence(0, window, ierr)",
        },
        "ranks share memory or files",
    ),
    "a file that ranks share": (
        {
            "declared": "integer :: file",
            "after": "if (np == 0) call MPI_File_sync(file, ierr)",
        },
        "ranks share memory or files",
    ),
}
_COUNTING = "  integer, save :: count = 0\n"
_PENDING = "  integer, save :: pending(4)\n"


def _more(name: str, changes: dict[str, str]) -> dict[str, str]:
    """With the variables of the module ``halo`` that some programs need."""
    text = changes.get("exchange", "")
    extra = _COUNTING * ("count + 1" in text) + _PENDING * ("pending" in text)
    return {**changes, "extra": extra}


def _text(changes: dict[str, str]) -> str:
    changes = dict(changes)
    extra = changes.pop("extra", "")
    text = _program(**changes)
    return text.replace("  use line\n  implicit none\n", f"  use line\n  implicit none\n{extra}", 1)


def _of(folder: Path, changes: dict[str, str]) -> Stepped:
    tree = Stepped.of(folder, {"a.f90": _text(_more("", changes))})
    tree.uniform = tree.any_sizes = True
    return tree


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH), ids=str)
@pytest.mark.parametrize("changes", GOES.values(), ids=GOES)
def test_an_exchange_is_left_out(changes: dict[str, str], mpi: Mpi, tmp_path: Path) -> None:
    tree = _of(tmp_path / "in", changes)
    before = tree.text("a.f90")
    assert tree.applied(removal) == 1
    assert "is left out" in tree.text("a.f90")
    for ranks in (1, 3) if mpi is MPICH else (2, 4):
        again = Stepped.of(tmp_path / f"o{ranks}", {"a.f90": before})
        expected = again.result(mpi, tmp_path / f"b{ranks}", ("a.f90",), ranks)
        assert tree.result(mpi, tmp_path / f"a{ranks}", ("a.f90",), ranks) == expected
        assert expected


@pytest.mark.parametrize(("changes", "why"), STAYS.values(), ids=STAYS)
def test_an_exchange_stays(changes: dict[str, str], why: str | None, tmp_path: Path) -> None:
    tree = _of(tmp_path, changes)
    assert tree.steps(removal) == []
    refused = tree.refusals(removal)
    if why is not None:
        assert [one.code for one in refused] == [REPEATED]
        assert why in refused[0].message


@pytest.mark.parametrize("name", ["refused", "accepted"])
def test_the_examples_of_the_code(name: str) -> None:
    tree = Stepped.at(getattr(examples_of(REPEATED.id), name))
    tree.uniform = tree.any_sizes = True
    assert [one.code for one in tree.refusals(removal)] == [REPEATED] * (name == "refused")
    assert len(tree.steps(removal)) == (name == "accepted")


_PASSED = """\
  subroutine exchange(f, west, east, among)
    integer{intent} :: west, east, among
"""
_CALL = "call exchange(u, left, right, comm)"


def _passing(behind: str = "", intent: str = ", intent(in)", inside: str = "") -> str:
    """A program whose exchange has its partners as arguments."""
    body = _SENDRECV.replace("left", "west").replace("right", "east").replace("comm", "among")
    text = _program(first=_CALL, second=_CALL, behind=behind, exchange=body + inside)
    return text.replace("  subroutine exchange(f)\n", _PASSED.format(intent=intent))


def test_partners_may_be_passed(tmp_path: Path) -> None:
    tree = Stepped.of(tmp_path, {"a.f90": _passing()})
    tree.uniform = tree.any_sizes = True
    assert tree.applied(removal) == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (_passing("call exchange(v, right, left, comm)"), "not the same variable in all calls"),
        (_passing("call exchange(v, me, right, comm)"), "not the same variable in all calls"),
        (_passing("call exchange(v, 0, 0, comm)"), "is no variable where"),
        (_passing(intent="", inside="    west = MPI_PROC_NULL\n"), "may change in exchange"),
        (_passing("if (step == 2) right = MPI_PROC_NULL"), " may change in line"),
    ],
    ids=["exchanged", "another", "a number", "changed inside", "changed"],
)
def test_partners_that_are_passed_differ(text: str, why: str, tmp_path: Path) -> None:
    tree = Stepped.of(tmp_path, {"a.f90": text})
    tree.uniform = tree.any_sizes = True
    (refused,) = tree.refusals(removal)
    assert why in refused.message
    assert tree.steps(removal) == []


_RUN = """\
module run
  use mpi
  use line
  use halo
  implicit none
contains
  subroutine steps(u, w)
    real(8), intent(inout) :: u(0:n+1), w(n)
    {tell}
    call exchange(u)
    w = u(0:n-1)
    call exchange(u)
    w = w + u(2:n+1)
  end subroutine steps
end module run
program main
  use run
  implicit none
  real(8) :: u(0:n+1), w(n)
  integer :: ierr, i
  call MPI_Init(ierr)
  call find_neighbours()
  {before}
  u = me
  do i = 1, 2
    call steps(u, w)
    u(1:n) = w
  end do
  print *, me, u
  call MPI_Finalize(ierr)
end program main
"""


@pytest.mark.parametrize(
    ("before", "tell", "number"),
    [("", "", 1), ("print *, 1", "", 0), ("", "print *, me", 0)],
    ids=["nothing", "before", "inside"],
)
def test_an_exchange_of_a_called_procedure(
    before: str, tell: str, number: int, tmp_path: Path
) -> None:
    text = _program()
    text = text[: text.index("program main")] + _RUN.format(before=before, tell=tell)
    tree = Stepped.of(tmp_path, {"a.f90": text})
    tree.uniform = tree.any_sizes = True
    assert tree.applied(removal) == number


def test_why_an_exchange_stays_is_told() -> None:
    path = examples_of(REPEATED.id).refused
    assert path is not None
    tree = load_tree([path], Settings(cache=False, jobs=1))
    (unit,) = tree.units_of(str(path))
    found = optimise(tree, unit, Options((Pass.REMOVAL,)))
    (told,) = found.dropped
    assert (told.transformation, told.place.line) == ("removal", 19)
    assert "(ASP090)" in told.why
    assert optimise(tree, unit, Options()).dropped == ()


def test_without_the_rest_of_the_program_it_stays(tmp_path: Path) -> None:
    text = _program()
    tree = Stepped.of(tmp_path, {"a.f90": text[: text.index("program main")]})
    tree.uniform = True
    assert tree.steps(removal) == []


def test_a_third_one_goes_too(tmp_path: Path) -> None:
    tree = _of(tmp_path, {"behind": "", "second": "call exchange(u)\n    call exchange(u)"})
    assert tree.applied(removal) == 2


def test_sizes_are_checked_by_the_compiler(tmp_path: Path) -> None:
    tree = _of(tmp_path, {})
    tree.applied(removal)
    assert "n > 0" in tree.text("a.f90")


def test_the_pass_has_to_be_named(tmp_path: Path) -> None:
    assert Pass.REMOVAL not in DEFAULT
    assert all(Pass.REMOVAL not in group for group in GROUPS.values())
    (tmp_path / "a.f90").write_text(_program())
    tree = load_tree([tmp_path], Settings(cache=False, jobs=1))
    path = str(tmp_path / "a.f90")
    (unit,) = (one for one in tree.units_of(path) if one.unit.name == "main")
    found = optimise(tree, unit, Options((Pass.REMOVAL,)))
    assert found.content is not None
    assert [step.transformation for step in found.steps] == [Pass.REMOVAL]
    assert all(gain > 0 for gain in found.steps[0].gained.values())
    again = tree.edited({path: found.content})
    (unit,) = (one for one in again.units_of(path) if one.unit.name == "main")
    assert optimise(again, unit, Options((Pass.REMOVAL,))).content is None
