"""Dominators and loops, against networkx and against the definition, on random graphs."""

from __future__ import annotations

import networkx as nx
from hypothesis import given

from asphalt.analysis.control_flow.dominance import Dominance, DominatorTree, immediate_dominators
from asphalt.analysis.control_flow.graph import ENTRY, EXIT, STOP
from support.flow_graphs import Graph, flow, graphs, unit_graph


def as_networkx(graph: Graph) -> nx.DiGraph:
    made = nx.DiGraph()
    made.add_nodes_from(range(len(graph)))
    made.add_edges_from((a, b) for a, targets in enumerate(graph) for b in targets)
    return made


def reaches(graph: Graph, start: int, end: int, without: int | None = None) -> bool:
    if without in (start, end):
        return False
    seen, work = {start}, [start]
    while work:
        for target in graph[work.pop()]:
            if target not in seen and target != without:
                seen.add(target)
                work.append(target)
    return end in seen


@given(graphs())
def test_as_networkx_says(graph: Graph) -> None:
    expected = {0: 0, **nx.immediate_dominators(as_networkx(graph), 0)}
    expected = {node: 0 if parent is None else parent for node, parent in expected.items()}
    found = immediate_dominators(graph, 0)
    assert {n: d for n, d in enumerate(found) if d is not None} == expected


@given(graphs(8))
def test_every_path_goes_through_a_dominator(graph: Graph) -> None:
    tree = DominatorTree(graph, 0)
    for a in range(len(graph)):
        for b in range(len(graph)):
            reached = reaches(graph, 0, b) and reaches(graph, 0, a)
            assert tree.dominates(a, b) == (reached and not reaches(graph, 0, b, without=a))


@given(graphs())
def test_reducible_graphs_have_no_other_cycles(graph: Graph) -> None:
    """Taking the back edges away leaves no cycle, in a reducible graph alone."""
    made = unit_graph(graph)
    dominance = Dominance(made)
    left = nx.DiGraph()
    for a, targets in enumerate(made.successors):
        if dominance.dominators.reached(a):
            left.add_edges_from((a, b) for b in targets if not dominance.dominators.dominates(b, a))
    assert dominance.reducible == nx.is_directed_acyclic_graph(left)


@given(graphs())
def test_the_innermost_loop_of_a_reducible_graph_is_the_smallest_cycle(graph: Graph) -> None:
    """Two nodes are in one strongly connected component exactly if a natural loop holds both."""
    made = unit_graph(graph)
    dominance = Dominance(made)
    if not dominance.reducible:
        return
    reached = [n for n in range(len(made.successors)) if dominance.dominators.reached(n)]
    whole = nx.DiGraph((a, b) for a in reached for b in made.successors[a])
    for component in nx.strongly_connected_components(whole):
        for node in component:
            cyclic = len(component) > 1 or whole.has_edge(node, node)
            holding = [loop for loop in dominance.loops if node in loop.nodes]
            assert bool(holding) == cyclic
            if holding:
                assert holding[0].nodes == component
                assert dominance.innermost_loop(node) == holding[-1]


def test_post_dominators_of_a_procedure_that_may_stop() -> None:
    dominance = Dominance(flow("a = 1\nif (l) stop\na = 2\n"))
    assert dominance.post_dominators.dominates(6, 3)
    assert not dominance.post_dominators_with_stop.dominates(6, 3)
    assert dominance.post_dominators_with_stop.dominates(EXIT, STOP)
    assert dominance.dominators.dominates(ENTRY, STOP)


def test_control_equivalence() -> None:
    inside = Dominance(flow("do i = 1, n\na = 1\nif (l) a = 2\na = 3\nend do\na = 4\n"))
    first, action, last, after = 5, 7, 8, 10
    assert inside.control_equivalent(first, last)
    assert not inside.control_equivalent(first, action)
    assert not inside.control_equivalent(first, after)
