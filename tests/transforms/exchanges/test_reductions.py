"""Reductions of all ranks: what must hold for them to become one, a program each."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.transforms.exchanges import combination
from support.mpi_run import MPICH, OPENMPI, Mpi, installed
from support.stepping import Stepped

_PROGRAM = """\
program main
  use mpi
  implicit none
  real(8) :: x, y, a, b, v(3), w(3)
  integer :: k, l, i, j, me, np, ierr, step, other
  logical :: p, q, all_p, all_q
  {declared}
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  x = 1d0/(me + 3)
  y = -x*me
  v = [x, y, x*y]
  w = 0
  k = me
  l = 7 - me
  p = me > 0
  q = me < 9
  {before}
  do step = 1, 3
    {body}
    x = x + b/7
    y = y*a
    k = k + j
    v(2) = v(1) + a
  end do
  do i = 0, np - 1
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    if (i == me) print '(i0, 99(1x, z16))', me, x, y, a, b, v, w, k*1d0, l*1d0, i*1d0, j*1d0
  end do
  call MPI_Finalize(ierr)
{contained}
end program main
"""
_USUAL = {"declared": "", "before": "a = 1; b = 2; i = 0; j = 0", "contained": ""}


def _all(what: str, to: str, kind: str, op: str, count: str = "1") -> str:
    return (
        f"call MPI_Allreduce({what}, {to}, {count}, MPI_{kind}, MPI_{op}, MPI_COMM_WORLD, ierr)\n"
        "    "
    )


_X = _all("x", "a", "DOUBLE_PRECISION", "MAX")
_Y = _all("y", "b", "DOUBLE_PRECISION", "MAX")
_SUMS = (_X + _Y).replace("MPI_MAX", "MPI_SUM")

# how many there are then
GOES: dict[str, tuple[str, dict[str, str], int]] = {
    "the largest": (_X + _Y, {}, 1),
    "sums of integers": (
        _all("k", "i", "INTEGER", "SUM") + _all("l", "j", "INTEGER", "SUM"),
        {},
        1,
    ),
    "logical": (
        _all("p", "all_p", "LOGICAL", "LAND")
        + _all("q", "all_q", "LOGICAL", "LAND")
        + "w(3) = merge(1, 2, all_p) + merge(3, 4, all_q)\n    ",
        {},
        1,
    ),
    "an array": (_X + _all("v(1)", "w(1)", "DOUBLE_PRECISION", "MAX", "3"), {}, 1),
    "in place": (
        _all("MPI_IN_PLACE", "v(1)", "DOUBLE_PRECISION", "MAX", "2") + _X,
        {},
        1,
    ),
    "work between that needs the first": (_X + "w(1) = a + 1\n    " + _Y, {}, 1),
    "another operation between": (
        _X + _all("k", "i", "INTEGER", "SUM") + _Y,
        {},
        2,
    ),
}
QUICK = frozenset({"in place", "work between that needs the first"})
"""Those that the quick suite runs."""

STAYS: dict[str, tuple[str, dict[str, str]]] = {
    "sums of reals": (_SUMS, {}),
    "another operation": (_X + _Y.replace("MPI_MAX", "MPI_MIN"), {}),
    "another type": (
        _X + _all("k", "i", "INTEGER", "MAX"),
        {},
    ),
    "another communicator": (
        _X + _Y.replace("MPI_COMM_WORLD", "other"),
        {"before": "call MPI_Comm_dup(MPI_COMM_WORLD, other, ierr)"},
    ),
    "pairs": (
        (_X + _Y).replace("DOUBLE_PRECISION", "2DOUBLE_PRECISION").replace("MPI_MAX", "MPI_MAXLOC"),
        {"declared": "dimension x(2), y(2), a(2), b(2)"},
    ),
    "an operation of the user": (
        (_X + _Y).replace("MPI_MAX", "mine"),
        {
            "declared": "integer :: mine",
            "before": "call MPI_Op_create(larger, .true., mine, ierr)",
            "contained": """\
contains
  subroutine larger(one, both, number, kind)
    integer :: number, kind
    real(8) :: one(number), both(number)
    both = max(one, both)
  end subroutine larger""",
        },
    ),
    "what the second needs": (_X + "y = y + a\n    " + _Y, {}),
    "not on all ranks": (f"if (me >= 0) then\n    {_X}{_Y}end if", {}),
    "a message between": (
        _X
        + "if (me == 0 .and. np > 1) call MPI_Send(v, 1, MPI_REAL8, 1, 8, MPI_COMM_WORLD, ierr)\n"
        + "    if (me == 1) call MPI_Recv(w, 1, MPI_REAL8, 0, 8, MPI_COMM_WORLD, "
        + "MPI_STATUS_IGNORE, ierr)\n    "
        + _Y,
        {},
    ),
    "output between": (_X + "print '(a)', 'between'\n    " + _Y, {}),
    "an error code that is read": (_X + "if (ierr /= 0) w(1) = 1\n    " + _Y, {}),
}


def _text(body: str, changes: dict[str, str]) -> str:
    return _PROGRAM.format(**{**_USUAL, **changes}, body=body)


def _tree(folder: Path, text: str, *accepted: str) -> Stepped:
    tree = Stepped.of(folder, {"a.f90": text})
    tree.uniform = tree.any_sizes = True
    tree.accepted = frozenset(accepted)
    return tree


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH), ids=str)
@pytest.mark.parametrize(
    ("body", "changes", "number"),
    [
        pytest.param(*one, id=name, marks=() if name in QUICK else pytest.mark.wide)
        for name, one in GOES.items()
    ],
)
def test_reductions_become_one(
    body: str, changes: dict[str, str], number: int, mpi: Mpi, tmp_path: Path
) -> None:
    before = _text(body, changes)
    tree = _tree(tmp_path / "in", before)
    assert tree.applied(combination) == 1
    after = tree.text("a.f90")
    assert after.count("call MPI_Allreduce(") == number
    ranks = 3 if mpi is MPICH else 4
    again = Stepped.of(tmp_path / "original", {"a.f90": before})
    expected = again.result(mpi, tmp_path / "before", ("a.f90",), ranks)
    assert expected
    assert tree.result(mpi, tmp_path / "after", ("a.f90",), ranks) == expected


@pytest.mark.parametrize(("body", "changes"), STAYS.values(), ids=STAYS)
def test_reductions_stay_apart(body: str, changes: dict[str, str], tmp_path: Path) -> None:
    assert _tree(tmp_path, _text(body, changes)).steps(combination) == []


def test_sums_of_reals_become_one_where_bits_is_accepted(tmp_path: Path) -> None:
    (step,) = _tree(tmp_path, _text(_SUMS, {}), "bits").steps(combination)
    assert step.assumed == ("bits",)
