"""What is known where a statement is executed: comparisons of the IFs around it, MIN and MAX."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.memory.accesses import Mode
from asphalt.analysis.memory.affine_guards import conditions_around, extremes
from asphalt.analysis.memory.statement_accesses import examine
from asphalt.ir.expr import Lit, Op, Ref
from asphalt.project import Project
from support.judging import SETTINGS

Z, N = Ref("z", "z"), Ref("n", "n")


def comparisons(folder: Path, body: str) -> list[list[str]]:
    """For each assignment to ``s`` in a loop over z, the comparisons that hold there, as text."""
    path = folder / "unit.f90"
    path.write_text(
        "subroutine unit(n, m, x, s, r)\n  use mpi\n  integer :: n, m, z, i, ierr\n"
        f"  real :: x, s(n), r(n)\n  do z = 1, n\n{body}  end do\n"
        "  call MPI_Alltoall(s, 1, MPI_REAL, r, 1, MPI_REAL, MPI_COMM_WORLD, ierr)\n"
        "end subroutine unit\n"
    )
    exchange = Project(path, settings=SETTINGS).sites()[0].exchange
    accesses = examine(exchange.place.siblings[:1], exchange.names).of("s")
    return [
        [f"{text(left)}{relation}{text(right)}" for relation, left, right, _ in found]
        for access in accesses
        if access.mode is Mode.WRITE
        for found in [conditions_around(access)]
    ]


def text(expr: object) -> str:
    match expr:
        case Ref(name=name):
            return name
        case Lit(text=value):
            return value
        case Op(op=op, operands=operands):
            return op.join(map(text, operands))
    return "?"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("s(z) = 1\n", [[]]),
        ("if (z > 1) s(z) = 1\n", [["z>1"]]),
        ("if (z > 1 .and. z <= n) s(z) = 1\n", [["z>1", "z<=n"]]),
        ("if (z > 1 .or. z <= n) s(z) = 1\n", [[]]),
        ("if (.not. (z > 1 .or. z == n)) s(z) = 1\n", [["z<=1", "z!=n"]]),
        ("if (.not. (z > 1 .and. z == n)) s(z) = 1\n", [[]]),
        ("if (z > 1) then\n s(z) = 1\nelse if (z == m) then\n s(z) = 2\nelse\n s(z) = 3\nend if\n",
         [["z>1"], ["z<=1", "z=m"], ["z<=1", "z!=m"]]),
        ("if (z > 1) then\n if (m < n) s(z) = 1\n s(z) = 2\nend if\ns(z) = 3\n",
         [["z>1", "m<n"], ["z>1"], []]),
        ("if (z > 1) then\n do i = 1, m\n  if (i >= 2) s(i) = 1\n end do\nend if\n",
         [["z>1", "i>=2"]]),
        ("select case (z)\ncase (1)\n s(z) = 1\ncase default\n if (z > 4) s(z) = 2\nend select\n",
         [[], ["z>4"]]),
        ("where (s > 1)\n s = 2\nend where\n", [[]]),
    ],
)  # fmt: skip
def test_what_holds_at_an_assignment(body: str, expected: list[list[str]], tmp_path: Path) -> None:
    assert comparisons(tmp_path, body) == expected


def test_what_a_condition_reads_is_read_whatever_it_gives(tmp_path: Path) -> None:
    path = tmp_path / "unit.f90"
    path.write_text(
        "subroutine unit(n, s, r)\n  use mpi\n  integer :: n, z, ierr\n  real :: s(n), r(n)\n"
        "  do z = 1, n\n    if (s(z) > 0 .and. z > 2) s(z) = s(z-1)\n  end do\n"
        "  call MPI_Alltoall(s, 1, MPI_REAL, r, 1, MPI_REAL, MPI_COMM_WORLD, ierr)\n"
        "end subroutine unit\n"
    )
    exchange = Project(path, settings=SETTINGS).sites()[0].exchange
    accesses = examine(exchange.place.siblings[:1], exchange.names).of("s")
    found = [(access.mode, len(list(conditions_around(access)))) for access in accesses]
    assert sorted(found, key=str) == [(Mode.READ, 0), (Mode.READ, 0), (Mode.WRITE, 2)]


def test_extremes() -> None:
    least = Ref("min", "min", (Z, N))
    most = Ref("max", "MAX", (Lit("integer", "1"), Op("-", (Z, N))))
    assert extremes(least, "<=") == (least, Z, N)
    assert extremes(least, ">=") == (least,)
    assert extremes(most, ">=")[1:] == most.args
    assert extremes(most, "<=") == (most,)
    assert extremes(None, "<=") == ()
