"""Control-flow graphs of small units, and random graphs."""

from __future__ import annotations

from hypothesis import strategies as st

from asphalt.analysis.control_flow.graph import (
    EXIT,
    ControlFlow,
    control_flow,
)
from support.fortran_program import FortranProgram

HEAD = "subroutine unit(a, n, l, *, *)\n"


def flow(body: str, head: str = HEAD, suffix: str = ".f90") -> ControlFlow:
    """The graph of a unit whose body begins in line 1 (that of the text after the head)."""
    text = f"{head}{body}end subroutine\n"
    return control_flow(FortranProgram(text, suffix=suffix).all[0].unit)


Graph = tuple[tuple[int, ...], ...]


@st.composite
def graphs(draw: st.DrawFn, most: int = 14) -> Graph:
    """Any directed graph."""
    size = draw(st.integers(1, most))
    node = st.integers(0, size - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=3 * size))
    return tuple(tuple(sorted({b for a, b in edges if a == n})) for n in range(size))


def unit_graph(graph: Graph) -> ControlFlow:
    """A graph as that of a unit: ENTRY leads to its first node, nodes without successors return."""
    shifted: list[tuple[int, ...]] = [(3,), (), ()]
    shifted += [tuple(n + 3 for n in targets) or (EXIT,) for targets in graph]
    before: list[list[int]] = [[] for _ in shifted]
    for a, targets in enumerate(shifted):
        for b in targets:
            before[b].append(a)
    return ControlFlow((), tuple(shifted), tuple(map(tuple, before)), {}, {})
