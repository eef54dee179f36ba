"""Guards that follow from others are left out, and no others."""

from __future__ import annotations

import pytest

from asphalt.analysis.symbolic.polynomials import Poly, poly
from asphalt.analysis.tiling.implied_guards import with_upper_bounds, written_guards
from asphalt.analysis.tiling.layout import Divides, Guard
from asphalt.frontend.statements.expressions import parse_expression as expression


def size(text: str) -> Poly:
    return poly(expression(text))


def guard(text: str) -> Guard:
    for relation in ("<=", "=="):
        left, found, right = text.partition(f" {relation} ")
        if found:
            return Guard(size(left), relation, size(right))
    raise AssertionError(text)


def left(guards: list[str], known: list[str], checked: list[str]) -> list[str]:
    """Which of the guards are written."""
    found = {guard(text): text for text in guards}
    zeros = [[size(text) for text in texts] for texts in (known, checked)]
    return [found[one] for one in written_guards(found, *zeros, None)]  # type: ignore[index]


WHOLE = ["size(s,1)*size(s,2) == n*nz", "lbound(s,2) == 1", "nz == lbound(s,2) + size(s,2) - 1"]
CHECKED = ["n*nz - size(s,1)*nz"]


def test_an_equality_that_the_runtime_checks_is_left_out() -> None:
    assert left(WHOLE, [], CHECKED) == WHOLE[1:]
    assert left(["n*m == count"], ["m - 8"], ["count - n*8"]) == []


@pytest.mark.parametrize(
    ("guards", "checked"),
    [
        (WHOLE, []),  # the runtime checks nothing
        (WHOLE[:1] + WHOLE[2:], CHECKED),  # the lower bound may be another one
        (WHOLE[:2], CHECKED),  # nothing is known of the extent
        (["m*n == count"], ["count - n*8"]),
        (["n <= count", "count <= n"], ["n - count"]),  # only equalities are
    ],
)
def test_others_stay(guards: list[str], checked: list[str]) -> None:
    assert left(guards, [], checked) == guards


def test_two_guards_do_not_leave_each_other_out() -> None:
    assert left(["n == m", "m == n"], [], []) in (["n == m"], ["m == n"])


def test_a_divisor_that_the_runtime_checks() -> None:
    divides = Divides(size("count"), size("n"))
    assert written_guards([divides], [], [], (size("count"), size("n"))) == ()
    assert written_guards([divides], [], [], (size("count"), size("m"))) == (divides,)
    assert written_guards([divides], [], [], None) == (divides,)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("lbound(s,2) + size(s,2) - 1", "ubound(s,2)"),
        ("lbound(s,1) + size(s,1) + n", "ubound(s,1) + n + 1"),
        ("lbound(s,1) + size(s,2) - 1", "lbound(s,1) + size(s,2) - 1"),
        ("lbound(s,1) + size(s,1)*n", "lbound(s,1) + size(s,1)*n"),
        ("lbound(s,1) - size(s,1)", "lbound(s,1) - size(s,1)"),
        ("2*lbound(s,1) + size(s,1)", "2*lbound(s,1) + size(s,1)"),
    ],
)
def test_upper_bounds(given: str, told: str) -> None:
    assert with_upper_bounds(size(given)) == size(told)
