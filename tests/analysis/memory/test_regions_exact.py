"""Affine nests: what integer sets say is neither more nor less than what the iterations do.

Sizes up to six are preferred for witnesses, so that an answer is compared with all nests of such
sizes: no violation means that there is none, and a violation is one that really happens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asphalt.analysis.memory.accesses import Access
from asphalt.analysis.memory.regions import Violation
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.symbolic.problem import AffineProblem
from asphalt.frontend.statements.expressions import parse_expression
from asphalt.ir.expr import Op
from support.fortran_values import value
from support.nest_oracle import Nests, nests, points

EXAMPLES = settings(max_examples=40, deadline=None)
SIZES = [{"n": n, "m": m} for n, m in product(range(1, 7), repeat=2)]
Point = tuple[Mapping[str, int], tuple[int, ...]]

BOUNDS = [("1", "n"), ("n", "1"), ("2", "m"), ("m", "0"), ("n - 1", "n + 2")]
INNER = [*BOUNDS, ("z", "n"), ("1", "z"), ("z + 1", "1")]
STEPS = ["", ", 1", ", -1", ", 2", ", -2", ", 3"]
CONDITIONS = ["", "", "if (z > i) ", "if (i /= 2) ", "if (z + i <= n) ", "if (2*z == i) "]
INDICES = ["z", "i", "z + 1", "n - z", "2*z", "i + z", "2*i - 1", "n", "1", "i - 2*m"]
SECTIONS = ["1:n", "1:n:2", "n:1:-2", "z:n:3", "i:i + 1", "2:2*z:2"]


@st.composite
def statements(draw: st.DrawFn) -> tuple[str, str, str]:
    """The head of an outer and an inner loop, and a condition."""
    outer, inner = draw(st.sampled_from(BOUNDS)), draw(st.sampled_from(INNER))
    return (
        f"do z = {outer[0]}, {outer[1]}{draw(st.sampled_from(STEPS))}",
        f"do i = {inner[0]}, {inner[1]}{draw(st.sampled_from(STEPS))}",
        draw(st.sampled_from(CONDITIONS)),
    )


ELEMENTS = st.tuples(st.sampled_from(INDICES), st.sampled_from([*INDICES, *SECTIONS]))


def nest(parts: tuple[str, str, str], element: tuple[str, str]) -> tuple[str, str]:
    """The text of a nest that writes elements, and its condition."""
    outer, inner, condition = parts
    write = f"{condition}s({element[0]}, {element[1]}) = 0"
    return f"{outer}\n{inner}\n{write}\nend do\nend do\n", condition


def happens(access: Access, condition: str, sizes: Mapping[str, int]) -> Iterator[Point]:
    """The iterations in which an access happens, and the elements."""
    test = parse_expression(condition[3:].strip()[1:-1]) if condition else None
    for at, element in points(access, sizes):
        if test is None:
            yield at, element
            continue
        assert isinstance(test, Op)
        left, right = (value(side, at) for side in test.operands)
        if {
            ">": left > right,
            "/=": left != right,
            "<=": left <= right,
            "==": left == right,
        }[test.op]:
            yield at, element


def ordered(relation: str, left: int, right: int) -> bool:
    return {"<": left < right, "=": left == right, ">": left > right}[relation]


def conflicting(
    found: Nests, conditions: tuple[str, str], relation: str
) -> Iterator[tuple[dict[str, int], tuple[int, ...]]]:
    """Every pair of iterations that write the same element in such an order."""
    first, second = found.writes
    for sizes in SIZES:
        by_element: dict[tuple[int, ...], list[Mapping[str, int]]] = {}
        for at, element in happens(first, conditions[0], sizes):
            by_element.setdefault(element, []).append(at)
        for at, element in happens(second, conditions[1], sizes):
            for other in by_element.get(element, ()):
                if ordered(relation, other["z"], at["z"]):
                    yield (
                        {
                            "z then": other["z"],
                            "i then": other["i"],
                            "z later": at["z"],
                            "i later": at["i"],
                        },
                        element,
                    )


@EXAMPLES
@given(statements(), statements(), ELEMENTS, ELEMENTS, st.sampled_from(["<", "=", ">"]))
def test_conflicts_are_exactly_those_of_the_iterations(
    first: tuple[str, str, str],
    second: tuple[str, str, str],
    one: tuple[str, str],
    two: tuple[str, str],
    relation: str,
) -> None:
    (before, condition), (after, other) = nest(first, one), nest(second, two)
    found = nests(before + after)

    def order(problem: AffineProblem, left: Mapping[str, str], right: Mapping[str, str]) -> None:
        problem.compare(left["z"], relation, right["z"])

    answer = found.region.conflict(*found.writes, order)
    really = list(conflicting(found, (condition, other), relation))
    if not really:
        return  # there may be one with larger sizes
    assert answer is not None
    assert answer.point is not None
    element = tuple(answer.point[f"subscript {i + 1}"] for i in range(2))
    iterations = {name: answer.point[name] for name in really[0][0]}
    assert (iterations, element) in really


@EXAMPLES
@given(
    statements(),
    ELEMENTS,
    st.sampled_from([0, 1]),
    st.integers(-1, 1),
    st.sampled_from(["<", ">"]),
)
def test_elements_are_final_exactly_when_the_iterations_say_so(
    parts: tuple[str, str, str],
    element: tuple[str, str],
    dimension: int,
    offset: int,
    relation: str,
) -> None:
    text, condition = nest(parts, element)
    found = nests(text)
    (write,) = found.writes
    shift = Poly.constant(offset)
    answer = found.region.write_elsewhere(write, write.loops[0], dimension, shift, relation)
    really = [
        (at["z"], at["i"], touched)
        for sizes in SIZES
        for at, touched in happens(write, condition, sizes)
        if ordered(relation, at["z"], touched[dimension] - offset)
    ]
    if not really:
        return
    assert answer is not None
    assert answer.point is not None
    touched = tuple(answer.point[f"subscript {i + 1}"] for i in range(2))
    assert (answer.point["z"], answer.point["i"], touched) in really
    assert answer.point["sent with"] == touched[dimension] - offset


@pytest.mark.parametrize(("head", "parity"), [("1, n, 2", 1), ("2*m, 0, -2", 0)])
def test_a_witness_is_an_iteration_that_runs(head: str, parity: int) -> None:
    found = nests(f"do z = {head}\ns(1, z - 1) = 0\nend do\n")
    (write,) = found.writes
    answer = found.region.write_elsewhere(write, write.loops[0], 1, Poly(), ">")
    assert isinstance(answer, Violation)
    assert answer.point is not None
    assert answer.point["z"] % 2 == parity


def test_iterations_and_elements_between_those_of_a_stride_do_not_meet() -> None:
    found = nests("do z = 1, n, 2\ns(1, z) = 0\ns(1, z + 1) = 0\ns(1, z:n:2) = 0\nend do\n")
    odd, even, section = found.writes

    def any_order(
        problem: AffineProblem, left: Mapping[str, str], right: Mapping[str, str]
    ) -> None:
        pass

    assert found.region.conflict(odd, even, any_order) is None
    assert found.region.conflict(even, section, any_order) is None
    assert found.region.conflict(odd, section, any_order) is not None
