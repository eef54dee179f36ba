"""Ways through the graph as witnesses, against networkx and a product with a two-state machine."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asphalt.analysis.control_flow.dominance import Dominance
from asphalt.analysis.control_flow.graph import ENTRY, EXIT, ControlFlow
from asphalt.analysis.control_flow.paths import Path, alternation, path_witness
from support.flow_graphs import Graph, flow, graphs, unit_graph


def assert_is_way(path: Path) -> None:
    for here, there in zip(path.points, path.points[1:], strict=False):
        assert there in path.graph.successors[here]


@given(graphs(), st.integers(0, 13), st.integers(0, 13), st.sets(st.integers(0, 13)))
def test_a_shortest_way(graph: Graph, start: int, end: int, avoid: set[int]) -> None:
    made = unit_graph(graph)
    start, end = start % len(graph) + 3, end % len(graph) + 3
    avoiding = {n + 3 for n in avoid} - {start, end}
    path = path_witness(made, [start], {end}, avoiding)
    whole = nx.DiGraph((a, b) for a, targets in enumerate(made.successors) for b in targets)
    whole.add_nodes_from((start, end))
    whole.remove_nodes_from(avoiding)
    try:
        lengths = [nx.shortest_path_length(whole, n, end) for n in whole.successors(start)]
    except nx.NetworkXNoPath:
        lengths = []
        for n in whole.successors(start):
            if nx.has_path(whole, n, end):
                lengths.append(nx.shortest_path_length(whole, n, end))
    assert (path is not None) == bool(lengths)
    if path is not None:
        assert_is_way(path)
        assert (path.points[0], path.points[-1]) == (start, end)
        assert len(path.points) == min(lengths) + 2
        assert not avoiding & set(path.points)


def takes_turns(graph: ControlFlow, first: int, second: int) -> bool:
    """Run the graph with a machine that remembers whose turn it is."""
    seen = {(ENTRY, 0)}
    work = [(ENTRY, 0)]
    while work:
        node, turn = work.pop()
        for target in graph.successors[node]:
            after = turn
            if target == first:
                if turn == 1:
                    return False
                after = 1
            elif target == second:
                if turn == 0:
                    return False
                after = 0
            elif target == EXIT and turn == 1:
                return False
            if (target, after) not in seen:
                seen.add((target, after))
                work.append((target, after))
    return True


@given(graphs(8), st.integers(0, 7), st.integers(0, 7))
def test_alternating_ranks(graph: Graph, one: int, two: int) -> None:
    made = unit_graph(graph)
    first, second = one % len(graph) + 3, two % len(graph) + 3
    dominance = Dominance(made)
    reached = dominance.dominators.reached
    if first == second or not (reached(first) and reached(second)):
        return
    found = alternation(made, frozenset({first}), frozenset({second}))
    assert (found is None) == takes_turns(made, first, second)
    if found is not None:
        assert_is_way(found.path)
    elif dominance.post_dominators.reached(first):
        assert dominance.dominators.dominates(first, second)
        assert dominance.post_dominators.dominates(second, first)


def test_control_equivalence_does_not_make_them_alternate() -> None:
    graph = flow("10 a = 1\nif (l) goto 10\na = 2\nif (n > 1) goto 10\n")
    first, second = 3, 6
    assert Dominance(graph).control_equivalent(first, second)
    found = alternation(graph, frozenset({first}), frozenset({second}))
    assert found is not None
    assert str(found.path) == ("line 3: the condition is true; line 3: it goes to label 10; line 2")


NEST = "do i = 1, n\na = 1\nend do\n"
TURNS = {
    "plain": (f"{NEST}a = 2\n", None),
    "in-a-loop": (f"do j = 1, n\n{NEST}a = 2\nend do\n", None),
    "stop-between": (f"{NEST}if (l) stop\na = 2\n", None),
    "return-between": (
        f"{NEST}if (l) return\na = 2\n",
        "line 2: there are no more iterations; line 5: the condition is true; line 5: it returns",
    ),
    "cycle-between": (
        f"do j = 1, n\n{NEST}if (l) cycle\na = 2\nend do\n",
        "line 3: there are no more iterations; line 6: the condition is true; "
        "line 6: it goes on with the next iteration; line 2: there is another iteration; line 3",
    ),
    "io-condition": (
        f"read (1, *, end=10) n\n{NEST}10 a = 2\n",
        "from the entry; line 2: an I/O condition leads to label 10; line 6",
    ),
    "nest-under-a-condition": (
        f"if (l) then\n{NEST}end if\na = 2\n",
        "from the entry; line 2: the condition is false; line 7",
    ),
    "only-one-is-repeated": (
        f"{NEST}do j = 1, n\na = 2\nend do\n",
        "line 2: there are no more iterations; line 5: there are no more iterations; "
        "to the end of the procedure",
    ),
    "begun-anew": (
        "10 do i = 1, n\na = 1\nif (l) goto 10\nend do\na = 2\n",
        "line 4: it goes to label 10; line 2",
    ),
    "entry-between": (f"{NEST}entry other(n)\na = 2\n", "the ENTRY is called; line 6"),
}


@pytest.mark.parametrize("case", TURNS)
def test_a_nest_and_a_statement(case: str) -> None:
    body, expected = TURNS[case]
    graph = flow(body)
    head = next(p for p in graph.points if p.leaf is not None and p.leaf.body == "do i = 1, n")
    nest = next(
        node
        for point in graph.points
        for node in point.around
        if getattr(node, "head", None) is head.leaf
    )
    call = next(p for p in graph.points if p.leaf is not None and p.leaf.body == "a = 2")
    found = alternation(graph, graph.inside(nest), frozenset({call.number}))
    assert (None if found is None else str(found.path)) == expected
