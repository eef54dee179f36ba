"""Renaming of buffers: what must hold for it, one program each, and that results stay the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.transforms.buffers import renaming
from support.mpi_run import MPICH, OPENMPI, installed
from support.stepping import Stepped

_SIZES = """\
module sizes
  implicit none
  integer, parameter :: n = 6
end module sizes
"""
_EDGES = """\
subroutine edges(g, north, west, m)
  use mpi
  use sizes
  implicit none
  integer :: north, west, m
  real(8) :: g(0:n, 0:n){dummy}
  integer :: i, ierr, status(MPI_STATUS_SIZE), request
  {line}
  {declare}
  {before}
  call MPI_Recv(line, n, MPI_DOUBLE_PRECISION, north, 1, MPI_COMM_WORLD, status, ierr)
  do i = 1, n
    g(i,0) = line(i)
  end do
  {between}
  call MPI_Recv(line, {count}, MPI_DOUBLE_PRECISION, west, {tag}, MPI_COMM_WORLD, status, ierr)
  do i = 1, n
    g(0,i) = line(i) ! as it came
  end do
  {after}
end subroutine edges
"""
_MAIN = """\
program grid
  use mpi
  use sizes
  implicit none
  integer :: me, ierr, i, m
  real(8) :: g(0:n, 0:n), a(n)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  m = n
  g = 0
  if (me == 0) then
    do i = 1, n
      a(i) = 10*i
    end do
    call MPI_Send(a, n, MPI_DOUBLE_PRECISION, 1, 1, MPI_COMM_WORLD, ierr)
    a = a + 1
    call MPI_Send({sent}, MPI_DOUBLE_PRECISION, 1, {sent_tag}, MPI_COMM_WORLD, ierr)
    {other}
  else
    call edges(g, 0, 0, n)
    print '(13f6.1)', g(1:n,0), g(0,:)
  end if
  call MPI_Finalize(ierr)
end program grid
"""
_USUAL = {
    "line": "real(8) :: line(n)",
    "declare": "",
    "dummy": "",
    "before": "",
    "between": "",
    "count": "n",
    "tag": "2",
    "after": "",
    "sent": "a, n",
    "sent_tag": "2",
    "other": "",
}


def _files(**changes: str) -> dict[str, str]:
    words = {**_USUAL, **changes}
    main = "" if words["other"] == "no program" else _MAIN.format(**words)
    return {"a.f90": _SIZES + _EDGES.format(**words) + main}


_STAYS = {
    "a message may be shorter": {"sent": "a, n - 1"},
    "a message may have the tag and be shorter": {"sent": "a, m", "sent_tag": "m"},
    "ranks may have other counts": {"sent": "a, m", "count": "m"},
    "another type": {"other": "call MPI_Send(m, n, MPI_INTEGER, 1, 2, MPI_COMM_WORLD, ierr)"},
    "a persistent send": {
        "other": "call MPI_Send_init(m, 1, MPI_INTEGER, 1, 2, MPI_COMM_WORLD, i, ierr)"
    },
    "any tag": {"tag": "MPI_ANY_TAG", "sent_tag": "3", "sent": "a, n - 1"},
    "a number for any tag": {"tag": "-1", "sent_tag": "3", "sent": "a, n - 1"},
    "nobody may send": {"after": "if (west == MPI_PROC_NULL) g = 0"},
    "a grid may end": {
        "other": "call MPI_Cart_shift(MPI_COMM_WORLD, 0, 1, i, m, ierr)",
    },
    "senders may be elsewhere": {"other": "no program"},
    "more is read than came": {"count": "n - 1", "sent": "a, n - 1"},
    "less is defined than read": {"after": "g(0,0) = line(n + 1)", "line": "real(8) :: line(n+1)"},
    "it is kept": {"line": "real(8), save :: line(n)"},
    "it has a value": {"line": "real(8) :: line(n) = 0"},
    "it is shared": {"line": "real(8) :: line(n)", "declare": "common /shared/ line"},
    "it is in a namelist": {"declare": "namelist /all/ line"},
    "it may have other names": {"line": "real(8), target :: line(n)"},
    "it has a second name": {"declare": "real(8) :: twin(n)\n  equivalence (line, twin)"},
    "it is allocated": {
        "line": "real(8), allocatable :: line(:)",
        "before": "allocate(line(n))",
    },
    "it is on its way": {
        "after": "call MPI_Irecv(line, n, MPI_DOUBLE_PRECISION, west, 3, MPI_COMM_WORLD, request, "
        "ierr)\n  call MPI_Wait(request, status, ierr)",
    },
    "the next iteration reads it": {
        "before": "line = 0\n  do m = 1, 2\n  g(1,1) = line(1)",
        "after": "end do",
    },
    "a way leads back": {
        "before": "m = 0\n10 continue",
        "after": "m = m + 1\n  if (m < 2) goto 10",
    },
    "the text is printed as it is": {"after": "print *, line"},
    "a procedure is not seen": {"between": "call elsewhere(g)"},
}


_QUICK = (
    "a message may be shorter",
    "ranks may have other counts",
    "any tag",
    "nobody may send",
    "a grid may end",
    "more is read than came",
    "it is on its way",
    "the next iteration reads it",
)


@pytest.mark.parametrize(
    "changes",
    [
        {"line": "\n#ifdef LONG\nreal(8) :: line(2*n)\n#else\nreal(8) :: line(n)\n#endif"},
        {"after": "\n#ifdef MORE\ng(1,1) = line(1)\n#endif"},
    ],
    ids=["declared otherwise", "used behind"],
)
def test_it_stays_where_other_builds_have_other_lines(
    changes: dict[str, str], tmp_path: Path
) -> None:
    for found, steps in (({}, 1), (changes, 0)):
        tree = Stepped.of(tmp_path / str(steps), {"a.F90": _files(**found)["a.f90"]})
        (file,) = tree.tree.files
        assert len(tree.tree.units_of(file.path)) == 3  # it was read
        assert len(tree.steps(renaming)) == steps


@pytest.mark.parametrize(
    "name",
    [name if name in _QUICK else pytest.param(name, marks=pytest.mark.wide) for name in _STAYS],
)
def test_it_stays(name: str, tmp_path: Path) -> None:
    tree = Stepped.of(tmp_path, _files(**_STAYS[name]))
    tree.any_sizes = True
    assert tree.found(renaming) == []


_MOVES = {
    "as it is": {},
    "another tag is shorter": {"sent_tag": "2", "other": "if (me > 1) call MPI_Send(m, 1, "
                               "MPI_INTEGER, 1, 3, MPI_COMM_WORLD, ierr)"},
    "more room": {"line": "real(8) :: line(2*n)"},
    "each iteration for itself": {"before": "do m = 1, 1", "after": "end do"},
    "on some ways only": {"between": "if (west >= 0) then", "after": "end if"},
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    ["more room", *(pytest.param(n, marks=pytest.mark.wide) for n in _MOVES if n != "more room")],
)
def test_a_second_receive_has_an_array_of_its_own(name: str, tmp_path: Path) -> None:
    tree = Stepped.of(tmp_path, _files(**_MOVES[name]))
    tree.any_sizes = True
    assert tree.applied(renaming) == 1
    lines = [line.strip() for line in tree.text("a.f90").splitlines()]
    room = "2*n" if name == "more room" else "n"
    assert f"real(8) :: asphalt_line_1({room})" in lines
    assert "g(i,0) = line(i)" in lines
    assert "g(0,i) = asphalt_line_1(i) ! as it came" in lines


def test_the_program_prints_the_same(tmp_path: Path) -> None:
    (mpi, *_) = installed(OPENMPI, MPICH)
    tree = Stepped.of(tmp_path / "src", _files())
    before = tree.result(mpi, tmp_path / "before", ("a.f90",), 2)
    assert tree.applied(renaming) == 1
    assert tree.result(mpi, tmp_path / "after", ("a.f90",), 2) == before
    assert "61.0" in before


_READS = {"north": "  do i = 1, n\n    g(i,0) = line(i)\n  end do\n",
          "west": "  do i = 1, n\n    g(0,i) = line(i) ! as it came\n  end do\n"}  # fmt: skip


def _guarded(**conditions: str) -> dict[str, str]:
    text = _files()["a.f90"]
    for which, condition in conditions.items():
        guarded = f"  if ({condition}) then\n{_READS[which]}  end if\n"
        assert _READS[which] in text
        text = text.replace(_READS[which], guarded)
    return {"a.f90": text}


@pytest.mark.parametrize(
    ("north", "west", "between", "steps"),
    [
        ("north /= MPI_PROC_NULL", "MPI_PROC_NULL /= west", "", 1),
        ("north /= MPI_PROC_NULL", "west /= MPI_PROC_NULL", "i = 1", 1),
        ("north /= MPI_PROC_NULL", "north /= MPI_PROC_NULL", "", 0),
        ("north == MPI_PROC_NULL", "west /= MPI_PROC_NULL", "", 0),
        ("north /= MPI_PROC_NULL", "west > 0", "", 0),
        ("north /= MPI_PROC_NULL", "west /= MPI_PROC_NULL", "g(1,1) = line(1)", 0),
    ],
)
def test_messages_that_were_not_sent_are_not_read(
    tmp_path: Path, north: str, west: str, between: str, steps: int
) -> None:
    second = "  call MPI_Recv(line, n, MPI_DOUBLE_PRECISION, west"
    text = _guarded(north=north, west=west)["a.f90"].replace(second, f"  {between}\n{second}")
    tree = Stepped.of(tmp_path, {"a.f90": text})
    tree.any_sizes = True
    assert len(tree.steps(renaming)) == steps


def test_a_source_that_changes_before_the_read_guards_nothing(tmp_path: Path) -> None:
    guard = "if (west /= MPI_PROC_NULL) then\n"
    text = _guarded(north="north /= MPI_PROC_NULL", west="west /= MPI_PROC_NULL")["a.f90"]
    tree = Stepped.of(tmp_path, {"a.f90": text.replace(guard, f"west = 0\n  {guard}")})
    tree.any_sizes = True
    assert tree.steps(renaming) == []


_OWN = "! asphalt: other for a transfer of its own\n  real(8) :: asphalt_other_1(100000)"


@pytest.mark.parametrize(
    ("size", "declare", "limit", "steps"),
    [
        ("n", "", 1, 1),
        ("n", "", 0, 0),
        ("m", "", 1, 1),  # nobody knows how long it is
        ("m", "", 0, 0),
        ("200000", "", None, 1),
        ("200000", "", 2, 1),
        ("200000", "", 1, 0),
        ("100000", _OWN, 2, 1),
        ("100000", _OWN, 1, 0),  # each alone would fit
    ],
)
def test_copies_are_limited(
    tmp_path: Path, size: str, declare: str, limit: int | None, steps: int
) -> None:
    tree = Stepped.of(tmp_path, _files(line=f"real(8) :: line({size})", declare=declare))
    (facts,) = (found for found in tree.facts() if found.unit.name == "edges")
    assert len(renaming.check(facts, limit)) == steps
