"""Integer sets: satisfiable exactly if a solution exists, and the solution is one."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asphalt.analysis.symbolic.polynomials import Poly, poly
from asphalt.analysis.symbolic.problem import AffineProblem
from asphalt.frontend.statements.expressions import parse_expression as e
from asphalt.ir.expr import Expr, Ref
from support.fortran_values import value

RELATIONS = ("=", "<", "<=", ">", ">=")
X, Y = Ref("x", "x"), Ref("y", "y")
BOUND: Mapping[Expr, str] = {X: "first", Y: "second"}
AFFINE = st.builds(
    lambda a, b, c: poly(e(f"{a}*x + {b}*y + {c}")),
    st.integers(-3, 3),
    st.integers(-3, 3),
    st.integers(-6, 6),
)
CONSTRAINTS = st.lists(
    st.tuples(AFFINE, st.sampled_from(RELATIONS), AFFINE), min_size=1, max_size=4
)


def holds(left: int, relation: str, right: int) -> bool:
    return {
        "=": left == right,
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
    }[relation]


def satisfied(constraints: list[tuple[Poly, str, Poly]], values: Mapping[str, int]) -> bool:
    return all(
        holds(value(left.expression(), values), relation, value(right.expression(), values))
        for left, relation, right in constraints
    )


@settings(max_examples=100, deadline=None)
@given(CONSTRAINTS)
def test_no_sample_means_no_solution(
    constraints: list[tuple[Poly, str, Poly]],
) -> None:
    problem = AffineProblem()
    for name in ("first", "second"):
        problem.variable(name)
    for left, relation, right in constraints:
        assert problem.add(left, relation, right, BOUND)
    box = [(poly(e("x")), ">=", poly(e("-4"))), (poly(e("x")), "<=", poly(e("4"))),
           (poly(e("y")), ">=", poly(e("-4"))), (poly(e("y")), "<=", poly(e("4")))]  # fmt: skip
    for left, relation, right in box:
        problem.add(left, relation, right, BOUND)
    found = problem.sample()
    all_points = ({"x": x, "y": y} for x, y in product(range(-4, 5), repeat=2))
    exists = any(satisfied(constraints, point) for point in all_points)
    assert (found is not None) is exists
    if found is not None:
        assert set(found) == {"first", "second"}
        assert satisfied(constraints, {"x": found["first"], "y": found["second"]})


def test_what_is_not_bound_is_a_parameter() -> None:
    problem = AffineProblem()
    assert problem.add(poly(e("x")), ">", poly(e("n")), BOUND)
    assert problem.add(poly(e("x")), "<=", poly(e("n")), BOUND)
    assert problem.sample() is None  # whatever n is


def test_products_of_parameters_are_parameters() -> None:
    problem = AffineProblem()
    assert problem.add(poly(e("x")), "=", poly(e("n*m + 1")), BOUND)
    assert problem.add(poly(e("x")), "=", poly(e("m*n")), BOUND)
    assert problem.sample() is None


@pytest.mark.parametrize("text", ["x*y", "x*x", "n*x*y"])
def test_what_is_not_affine_is_left_out(text: str) -> None:
    problem = AffineProblem()
    assert not problem.add(poly(e(text)), "<", poly(e("0")), BOUND)
    problem.add(poly(e("x")), "=", poly(e("2")), BOUND)
    assert problem.sample() == {"first": 2}


def test_functions_of_parameters_are_parameters_too() -> None:
    problem = AffineProblem()
    assert problem.add(poly(e("x")), "<", poly(e("mod(n, 3)")), BOUND)
    assert problem.add(poly(e("x")), ">=", poly(e("mod(N, 3)")), BOUND)
    assert problem.sample() is None


def test_comparing_variables() -> None:
    problem = AffineProblem()
    problem.compare("a", "<", "b")
    problem.compare("b", "<=", "a", 1)
    found = problem.sample()
    assert found is not None
    assert found["b"] == found["a"] + 1


def test_small_parameters_are_preferred() -> None:
    problem = AffineProblem()
    problem.add(poly(e("x")), "=", poly(e("n")), BOUND)
    found = problem.sample()
    assert found is not None
    assert 1 <= found["first"] <= 6


def test_large_ones_are_found_where_it_must_be() -> None:
    problem = AffineProblem()
    problem.add(poly(e("x")), "=", poly(e("n")), BOUND)
    problem.add(poly(e("x")), ">", poly(e("100")), BOUND)
    found = problem.sample()
    assert found is not None
    assert found["first"] > 100


def test_names_that_isl_would_not_take() -> None:
    problem = AffineProblem()
    problem.compare("mod", "<", "exists")
    problem.compare("subscript 1", "=", "mod")
    assert problem.sample() is not None
