"""Facts about procedures that call each other in circles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asphalt.support.fixpoint import Fixpoint

Graph = dict[int, list[int]]
_COUNT = 7


def _reaching(graph: Graph, made: list[int] | None = None) -> Fixpoint[int, frozenset[int]]:
    """The keys that each key asks for, by way of others, too."""

    def compute(key: int) -> frozenset[int]:
        if made is not None:
            made.append(key)
        return frozenset({key}).union(*(solve(other) for other in graph[key]))

    solve: Fixpoint[int, frozenset[int]] = Fixpoint(
        compute,
        least=lambda key: frozenset(),
        widened=lambda key, value: value,
        unknown=lambda key: frozenset(range(_COUNT)),
    )
    return solve


def _reached(graph: Graph, key: int) -> frozenset[int]:
    found, waiting = {key}, [key]
    while waiting:
        new = set(graph[waiting.pop()]) - found
        found |= new
        waiting += new
    return frozenset(found)


_GRAPHS = st.fixed_dictionaries(
    {key: st.lists(st.integers(0, _COUNT - 1), max_size=3) for key in range(_COUNT)}
)


@given(_GRAPHS, st.permutations(range(_COUNT)))
def test_every_key_has_its_value_in_whatever_order_they_are_asked_for(
    graph: Graph, order: list[int]
) -> None:
    solve = _reaching(graph)
    assert {key: solve(key) for key in order} == {key: _reached(graph, key) for key in order}
    assert solve.final == {key: _reached(graph, key) for key in graph}


def test_a_caller_of_a_circle_waits_for_all_of_it() -> None:
    """Arguments that change places come back with the second round."""
    made: list[int] = []

    def compute(key: int) -> frozenset[str]:
        made.append(key)
        inner = solve(1)
        return inner if key == 0 else frozenset({"a"} | {{"a": "b", "b": "a"}[n] for n in inner})

    solve: Fixpoint[int, frozenset[str]] = Fixpoint(
        compute, lambda key: frozenset(), lambda key, value: value, lambda key: frozenset("?")
    )
    assert solve(0) == frozenset({"a", "b"})
    assert solve(1) == frozenset({"a", "b"})
    assert made.count(0) == 1


def test_what_a_circle_asks_for_is_computed_once() -> None:
    made: list[int] = []
    graph = {0: [1], 1: [2, 3], 2: [1, 4], 3: [4], 4: []} | {5: [0], 6: [5]}
    assert _reaching(graph, made)(6) == frozenset(range(_COUNT))
    assert [made.count(key) for key in (0, 4, 5, 6)] == [1, 1, 1, 1]


def test_a_circle_that_does_not_settle_is_unknown() -> None:
    solve: Fixpoint[int, int] = Fixpoint(
        compute=lambda key: solve(1 - key) + 1,
        least=lambda key: 0,
        widened=lambda key, value: value,
        unknown=lambda key: -1,
    )
    assert (solve(0), solve(1)) == (-1, -1)


def test_a_value_that_keeps_changing_is_widened() -> None:
    solve: Fixpoint[int, int] = Fixpoint(
        compute=lambda key: min(solve(1 - key) + 1, 100),
        least=lambda key: 0,
        widened=lambda key, value: 100,
        unknown=lambda key: -1,
    )
    assert (solve(0), solve(1)) == (100, 100)


def test_an_error_leaves_nothing_half_done() -> None:
    failing = True

    def compute(key: int) -> frozenset[int]:
        inner = solve(1 - key)
        if failing:
            raise ValueError("failing")
        return inner | {key}

    solve: Fixpoint[int, frozenset[int]] = Fixpoint(
        compute, lambda key: frozenset(), lambda key, value: value, lambda key: frozenset()
    )
    with pytest.raises(ValueError, match="failing"):
        solve(0)
    failing = False
    assert solve(1) == solve(0) == frozenset({0, 1})
