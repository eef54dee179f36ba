"""Exchanges with the same partners: what must hold for them to become one, a program each."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.combining import Combining
from asphalt.config.passes import DEFAULT, GROUPS, Pass
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import optimise
from asphalt.optimiser.options import Options
from asphalt.transforms.exchanges import combination
from support.mpi_run import MPICH, OPENMPI, Mpi, installed
from support.stepping import Stepped

_PROGRAM = """\
module line
  use mpi
  implicit none
  integer, parameter :: n = {n}
  integer, save :: comm, me, np, left, right, m = 2
  real(8), save :: kept(2)
contains
  subroutine find_neighbours()
    integer :: ierr
    comm = MPI_COMM_WORLD
    call MPI_Comm_rank(comm, me, ierr)
    call MPI_Comm_size(comm, np, ierr)
    {neighbours}
  end subroutine find_neighbours
end module line
program main
  use mpi
  use line
  implicit none
  real(8) :: u(n,0:4), v(n,0:4), w(n,0:4), column(4), ghost(4)
  integer :: ierr, step, i, j, status(MPI_STATUS_SIZE), whole(2)
  {declared}
  call MPI_Init(ierr)
  call find_neighbours()
  do j = 0, 4
    do i = 1, n
      u(i,j) = 100*me + 10*j + i
      v(i,j) = -u(i,j)
      w(i,j) = u(i,j)**2
    end do
  end do
  whole = me
  column = me
  ghost = -1
  {before}
  do step = 1, 3
    {body}
    u(1,2) = u(1,1) + u(n,4)*v(1,3)
    v(n,1) = w(1,4) - u(1,3)/7 + ghost(2)
  end do
  {after}
  do i = 0, np - 1
    call MPI_Barrier(comm, ierr)
    if (i == me) print '(i0, 999(1x, z16))', me, u, v, w, ghost, whole(1)*1d0, whole(2)*1d0
  end do
  call MPI_Finalize(ierr)
end program main
"""
_LINE = """\
left = me - 1
    if (left < 0) left = MPI_PROC_NULL
    right = me + 1
    if (right >= np) right = MPI_PROC_NULL"""
_RING = """\
left = modulo(me - 1, np)
    right = modulo(me + 1, np)"""
_USUAL = {
    "n": "5",
    "neighbours": _LINE,
    "declared": "",
    "before": "",
    "after": "",
}


def _exchange(
    send: str, receive: str, count: str = "n", tag: int = 1, kind: str = "DOUBLE_PRECISION"
) -> str:
    return (
        f"call MPI_Sendrecv({send}, {count}, MPI_{kind}, right, {tag}, &\n"
        f"      {receive}, {count}, MPI_{kind}, left, {tag}, comm, status, ierr)\n    "
    )


_U = _exchange("u(1,1)", "u(1,4)")
_V = _exchange("v(1,1)", "v(1,4)")
_W = _exchange("w(1,1)", "w(1,4)")
_PACKED = "column = w(2,1:4)\n    "
_BACK = (
    _exchange("u(1,2)", "u(1,3)", tag=2)
    .replace("right", "other")
    .replace("left", "right")
    .replace("other", "left")
)

# how many become one
GOES: dict[str, tuple[str, dict[str, str], int]] = {
    "two": (_U + _V, {}, 2),
    "three": (_U + _V + _W, {}, 3),
    "in a ring": (_U + _V, {"neighbours": _RING}, 2),
    "with the other direction between": (_U + _BACK + _V, {}, 2),
    "with the other direction of another field between": (
        _U + _BACK.replace("u(", "w(") + _V + _BACK.replace("u(", "v("),
        {},
        3,
    ),
    "with a message of another type between that has the same tag": (
        _U + _exchange("whole(1)", "whole(2)", "1", kind="INTEGER") + _V,
        {},
        2,
    ),
    "with a message between that has the same tag and is needed": (
        _U + _exchange("v(3,1)", "w(3,4)", "1") + "v(1,1) = w(3,4)\n    " + _V + _BACK,
        {},
        2,
    ),
    "of other lengths": (_U + _exchange("v(2,1)", "v(2,4)", "n - 1"), {}, 2),
    "an element": (_U + _exchange("v(2,1)", "v(2,4)", "1"), {}, 2),
    "an array of its own": (_U + _PACKED + _exchange("column", "ghost", "4"), {}, 2),
    "what the first brings is used between": (
        _U + "w(:,0) = u(:,4)\n    " + _V,
        {},
        2,
    ),
    "what the first sends is changed between": (_U + "u(:,1) = 0\n    " + _V, {}, 2),
    "a buffer that is used again": (
        _PACKED
        + _exchange("column", "ghost", "4")
        + "w(3,:3) = ghost\n    column = v(2,1:4)\n    "
        + _exchange("column", "ghost", "4"),
        {},
        2,
    ),
    "output before a barrier": (
        _U + _V,
        {"before": "print '(a)', 'begin'\n  call MPI_Barrier(MPI_COMM_WORLD, ierr)"},
        2,
    ),
    "a size that is no constant": (
        _exchange("column", "ghost", "m") + _exchange("sent", "got(2)", "m"),
        {
            "declared": "real(8) :: sent(4), got(0:9)",
            "before": "sent = me + 0.5d0\n  got = 0",
            "after": "u(:,0) = got(:4)",
        },
        2,
    ),
    "other tags": (_U + _exchange("v(1,1)", "v(1,4)", tag=3), {}, 2),
    "integers": (
        _exchange("whole(1)", "whole(2)", "1", kind="INTEGER") * 2,
        {},
        2,
    ),
}

STAYS: dict[str, tuple[str, dict[str, str]]] = {
    "a corner that goes on": (_U + _exchange("u(1,4)", "v(1,4)"), {}),
    "what the first brings is sent by another name": (
        _exchange("u(1,1)", "ghost", "1") + "v(1,1) = ghost(1)\n    " + _V,
        {},
    ),
    "other partners": (_U + _BACK, {}),
    "other tags that an MPI_ANY_TAG may meet": (
        _U + _exchange("v(1,1)", "v(1,4)", tag=3),
        {
            "after": """\
if (np == 0) call MPI_Recv(w, 1, MPI_DOUBLE_PRECISION, 0, MPI_ANY_TAG, comm, status, ierr)"""
        },
    ),
    "a tag that is another message's, too": (
        _U
        + _exchange("v(1,1)", "v(1,4)", tag=3)
        + "if (me == 0) call MPI_Send(w, 1, MPI_REAL8, MPI_PROC_NULL, 3, comm, ierr)",
        {},
    ),
    "other types": (_U + _exchange("whole(1)", "whole(2)", "1", kind="INTEGER"), {}),
    "other communicators": (
        _U + _V.replace("comm", "other"),
        {
            "declared": "integer :: other",
            "before": "call MPI_Comm_dup(MPI_COMM_WORLD, other, ierr)",
        },
    ),
    "partners that change between": (
        _U + "i = left\n    left = right\n    right = i\n    " + _V,
        {"neighbours": _RING},
    ),
    "lengths that differ between ranks": (
        _exchange("u(1,1)", "u(1,4)", "j") + _exchange("v(1,1)", "v(1,4)", "j"),
        {"before": "j = 1 + mod(me, 2)", "neighbours": _RING},
    ),
    "a receive that is longer than its message": (
        (_U + _V).replace("n, MPI_DOUBLE_PRECISION, right", "3, MPI_DOUBLE_PRECISION, right"),
        {},
    ),
    "a status that is read": (_U + "whole(2) = status(MPI_TAG)\n    " + _V, {}),
    "a message that is awaited before the next is sent": (
        _U
        + "if (me == 0 .and. np > 1) call MPI_Send(kept, 1, MPI_REAL8, 1, 8, comm, ierr)\n"
        + "    if (me == 1) call MPI_Recv(kept, 1, MPI_REAL8, 0, 8, comm, status, ierr)\n    "
        + _V,
        {},
    ),
    "a collective operation between": (_U + "call MPI_Barrier(comm, ierr)\n    " + _V, {}),
    "output between": (_U + "print '(a)', 'between'\n    " + _V, {}),
    "output before and behind": (_U + _V, {"before": "print '(a)', 'begin'"}),
    "not on all ranks": (
        f"if (me >= 0) then\n    {_U}{_V}end if",
        {},
    ),
    "a size that changes between": (
        _exchange("u(1,1)", "u(1,4)", "j")
        + "j = j - 1\n    "
        + _exchange("v(1,1)", "v(1,4)", "j")
        + "j = j + 1",
        {"before": "j = 3"},
    ),
    "an element that changes between": (
        _exchange("u(1,j)", "u(1,4)") + "j = 2\n    " + _V + "j = 1",
        {"before": "j = 1"},
    ),
    "another name": (
        _U.replace("u(1,1)", "p(1,1)") + _V,
        {"declared": "real(8), pointer :: p(:,:)", "before": "allocate (p(n,4))\n  p = 1"},
    ),
    "another call with the tag": (
        _U + _V,
        {"after": _exchange("w(1,1)", "w(1,4)").replace("right", "me").replace("left", "me")},
    ),
    "any source": (
        _U + _V,
        {
            "after": """\
if (np == 0) call MPI_Recv(w, 1, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 9, comm, status, ierr)"""
        },
    ),
}


def _text(body: str, changes: dict[str, str]) -> str:
    return _PROGRAM.format(**{**_USUAL, **changes}, body=body)


def _tree(folder: Path, text: str) -> Stepped:
    tree = Stepped.of(folder, {"a.f90": text})
    tree.uniform = tree.any_sizes = True
    return tree


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH), ids=str)
@pytest.mark.parametrize(("body", "changes", "number"), GOES.values(), ids=GOES)
def test_exchanges_become_one(
    body: str, changes: dict[str, str], number: int, mpi: Mpi, tmp_path: Path
) -> None:
    before = _text(body, changes)
    tree = _tree(tmp_path / "in", before)
    assert tree.applied(combination) == 1
    after = tree.text("a.f90")
    sends = after.count("call MPI_Sendrecv") + after.count("call asphalt_isend(")
    assert sends == before.count("call MPI_Sendrecv") - max(0, number - 1)
    for ranks in (1, 3) if mpi is MPICH else (2, 4):
        again = Stepped.of(tmp_path / f"o{ranks}", {"a.f90": before})
        expected = again.result(mpi, tmp_path / f"b{ranks}", ("a.f90",), ranks)
        assert expected
        assert tree.result(mpi, tmp_path / f"a{ranks}", ("a.f90",), ranks) == expected


@pytest.mark.parametrize(("body", "changes"), STAYS.values(), ids=STAYS)
def test_exchanges_stay_apart(body: str, changes: dict[str, str], tmp_path: Path) -> None:
    assert _tree(tmp_path, _text(body, changes)).steps(combination) == []


def test_phases_that_bring_corners_stay_apart(tmp_path: Path) -> None:
    """What the first phase of two fields receives, the second one sends: two messages, one after
    the other."""
    back = _BACK.replace("u(1,2)", "u(1,4)")
    before = _text(_U + back + _V + back.replace("u(", "v("), {})
    tree = _tree(tmp_path / "in", before)
    assert tree.applied(combination) == 2
    after = tree.text("a.f90")
    assert after.count("call MPI_Sendrecv(") == 2
    assert "asphalt_isend" not in after
    first = after.index("call MPI_Sendrecv(")
    assert first < after.index("= asphalt_in_1(") < after.index("call MPI_Sendrecv(", first + 1)
    for mpi in installed(MPICH):
        again = Stepped.of(tmp_path / "o", {"a.f90": before})
        expected = again.result(mpi, tmp_path / "b", ("a.f90",), 3)
        assert tree.result(mpi, tmp_path / "a", ("a.f90",), 3) == expected


def _optimised(folder: Path, text: str, combining: Combining = Combining.AUTO) -> str | None:
    folder.mkdir(exist_ok=True)
    path = folder / "a.f90"
    path.write_text(text)
    tree = load_tree([folder], Settings(cache=False, jobs=1))
    (unit,) = (one for one in tree.units_of(str(path)) if one.unit.name == "main")
    found = optimise(tree, unit, Options((Pass.COMBINATION,), combining=combining))
    assert bool(found.steps) == (found.content is not None)
    return None if found.content is None else found.content.decode()


def test_the_pass_has_to_be_named() -> None:
    assert Pass.COMBINATION not in DEFAULT
    assert all(Pass.COMBINATION not in group for group in GROUPS.values())


def test_short_messages_are_combined_and_long_ones_stay(tmp_path: Path) -> None:
    short = _optimised(tmp_path / "short", _text(_U + _V + _W, {}))
    assert short is not None
    assert short.count("call MPI_Sendrecv") == 1
    assert _optimised(tmp_path / "again", short) is None
    assert _optimised(tmp_path / "long", _text(_U + _V + _W, {"n": "1000000"})) is None


_WORK = """\
do i = 1, n
      w(i,{to}) = sqrt(w(i,{to})*{of}(i,1))
    end do
    """
_EQUAL_WINDOWS = _WORK.format(to=1, of="w") + _U + _V + _WORK.format(to=2, of="w") + "w(1,3) = "
_EQUAL_WINDOWS += "u(1,4)*v(1,4)\n    "
_OTHER_START = _U + _WORK.format(to=1, of="w") + "v(2,1) = 2*w(2,1)\n    " + _V
_OTHER_END = _U + _V + "w(1,0) = u(1,4)/2\n    " + _WORK.format(to=2, of="w")


@pytest.mark.parametrize(
    ("body", "number"),
    [(_EQUAL_WINDOWS, 1), (_OTHER_START, 2), (_OTHER_END, 2)],
    ids=["equal windows", "one could start earlier", "one is needed later"],
)
def test_hidden_combines_exchanges_with_equal_windows(
    body: str, number: int, tmp_path: Path
) -> None:
    text = _text(body, {})
    most = _optimised(tmp_path / "most", text, Combining.MOST)
    assert most is not None
    assert most.count("call MPI_Sendrecv(") == 1
    hidden = _optimised(tmp_path / "hidden", text, Combining.HIDDEN)
    assert (hidden or text).count("call MPI_Sendrecv(") == number


def test_most_does_not_ask_what_messages_cost(tmp_path: Path) -> None:
    text = _text(_U + _V + _W, {"n": "1000000"})
    most = _optimised(tmp_path / "most", text, Combining.MOST)
    assert most is not None
    assert most.count("call MPI_Sendrecv(") == 1
