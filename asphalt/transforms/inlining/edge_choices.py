"""The iterations of the nests of a procedure that may be its edges.

Which of them need a message, only the caller knows: its code motion proves it.  Here is what may be
worth a trial, by the distances at which the nests read elements of arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.exchange.producer import tilable_loops
from asphalt.analysis.memory.regions import loop_variable
from asphalt.analysis.symbolic.polynomials import poly
from asphalt.analysis.tiling.edge_iterations import WIDEST, EdgeCounts
from asphalt.ir.expr import Ref, Section
from asphalt.ir.tree import Do
from asphalt.transforms.loops.index_set_splitting import is_edge
from asphalt.transforms.rewriting.guarded_nests import nest_in

_LEVELS = 3  # of loops at most of which some iterations are edges

Ends = dict[int, tuple[EdgeCounts, ...]]
"""The ends of the nests of a procedure that are edges, by their position in its body: of each of
the perfectly nested loops."""


def choices_of(facts: UnitFacts, *, offsets: bool) -> Iterator[Ends]:
    """The ways to divide nests of a procedure, those with the fewest divided loops first.

    ``offsets``: the edges read elements before the first or behind the last one of what the
    interior reads; else they are the first and the last ones that are defined.
    """
    nests = dict(_nests(facts, offsets=offsets))
    if not any(own for _, widths in nests.values() for _, own in widths):
        nests = dict(_nests(facts, offsets=False))
    levels = sorted({level for _, widths in nests.values() for level, own in widths if own})
    seen: list[Ends] = []
    for number in range(1, _LEVELS + 1):
        for divided in combinations(levels[: _LEVELS + 1], number):
            for wider in (0,) if offsets else (0, 1):
                found = {
                    position: _at(dict(widths), divided, depth, wider)
                    for position, (depth, widths) in nests.items()
                    if any(dict(widths).get(level) for level in divided)
                }
                if found and found not in seen:
                    seen.append(found)
                    yield found


def _at(
    widths: Mapping[int, EdgeCounts], divided: Sequence[int], depth: int, wider: int
) -> tuple[EdgeCounts, ...]:
    """The ends of perfectly nested loops, of which some are divided."""
    own = (widths[n] if n in divided else EdgeCounts() for n in range(depth))
    return tuple(replace(e, first=e.first + wider, last=e.last + wider) if e else e for e in own)


_Widths = tuple[tuple[int, EdgeCounts], ...]
"""The ends of loops that may be edges, by the number of the loop from the outermost one."""


def _nests(facts: UnitFacts, *, offsets: bool) -> Iterator[tuple[int, tuple[int, _Widths]]]:
    """The nests of a procedure that may be divided, by their position: how many loops are perfectly
    nested, and the ends that may be edges."""
    for position, node in enumerate(facts.unit.body):
        nest = nest_in(node, facts)
        *_, chain = ((), *tilable_loops(nest)) if nest is not None else ((),)
        if nest is None or not chain or any(is_edge(loop, facts) for loop in chain):
            continue
        widths = tuple(
            (n, _widths(loop, nest, facts) if offsets else EdgeCounts(1, 1))
            for n, loop in enumerate(chain)
        )
        yield position, (len(chain), widths)


def _widths(loop: Do, nest: Do, facts: UnitFacts) -> EdgeCounts:
    """How many iterations at each end of a loop read elements before or behind all others."""
    first = last = 0
    variable = poly(Ref(str(loop_variable(loop)), ""))
    for read in facts.footprint(nest).accesses:
        for subscript in () if read.writes else read.subscripts or ():
            if isinstance(subscript, Section):
                continue
            distance = (poly(subscript) - variable).value
            if distance is not None and abs(distance) <= WIDEST:
                first, last = max(first, -distance), max(last, distance)
    return EdgeCounts(first, last)
