"""Cache lines that a loop evicts before it reuses them.

After the cost of loops by Carr, McKinley and Tseng (ASPLOS 1994): references to one array whose
subscripts differ by constants are a group, and if a loop runs along the first dimension of an
array, its iterations share the lines of that array.  They do so only if the lines of one iteration
fit into the cache.  An iteration with more lines finds none of them again (least recently used
replacement), and each of its references fetches a line.

    do k = 1, nz               ! along b; an iteration references nx*ny lines of it
      do j = 1, ny
        do i = 1, nx
          b(k, j, i) = a(i, j, k)

Loops over consecutive lines are ignored: the hardware prefetches those.  ``cache_sets`` counts
conflict misses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asphalt.analysis.cost.cache_sets import NEEDED, conflict
from asphalt.analysis.cost.classes import LINE, CoreCache, Counts
from asphalt.analysis.cost.nests import Inner, references, step
from asphalt.analysis.cost.references import stride_class
from asphalt.analysis.cost.trip_counts import TripCount, is_harmless, is_repeatable, product, usable
from asphalt.analysis.cost.types import Surroundings
from asphalt.analysis.symbolic.polynomials import folded, poly
from asphalt.ir.expr import Arg, Lit, Op, Ref, names_in
from asphalt.ir.tree import Node

Lost = tuple[Counts, tuple[TripCount, ...]]
"""Lines that are fetched again, and how often."""


def lost(
    body: tuple[Node, ...],
    variable: str,
    varying: frozenset[str],
    cache: CoreCache,
    around: Surroundings,
) -> tuple[Lost, ...]:
    """The lines that an iteration of a loop fetches again, for each group of references: all that
    it references if they do not fit into the cache, else none; and those that share few sets.

    ``varying``: the names that change in the loop.
    """
    if not variable or not usable(around, ("sign", *NEEDED)):
        return ()
    others = varying - {variable}
    groups: dict[object, tuple[Inner, ...]] = {}
    nests: dict[tuple[object, int], _Crossing] = {}
    for ref, loops in references(body, (), around):
        crossed = _crossed(ref, variable, loops, others, around)
        if crossed:
            group = _group(ref)
            groups.setdefault(group, crossed)
            nests.setdefault((group, id(crossed[-1].node)), _Crossing(ref, crossed, loops))
    found = [*_beyond_all(cache.size // LINE, tuple(groups.values()))]
    for one in nests.values():
        found += _beyond_sets(one, cache, others, around)
    return tuple(one for one in found if all(trips.value != 0 for trips in one[1]))


@dataclass(frozen=True, slots=True)
class _Crossing:
    """A reference, the loops that move it to other lines, and all loops around it."""

    ref: Ref
    crossed: tuple[Inner, ...]
    loops: tuple[Inner, ...]


def _beyond_all(lines: int, groups: tuple[tuple[Inner, ...], ...]) -> Iterator[Lost]:
    """The lines of references that do not fit into a cache of that many lines, which they share; 0:
    of any."""
    if lines:
        least = -(-lines // max(1, len(groups)))
        for crossed in groups:
            yield Counts.of(line=1), (product(tuple(one.trips for one in crossed), least),)


def _beyond_sets(
    one: _Crossing, cache: CoreCache, others: frozenset[str], around: Surroundings
) -> Iterator[Lost]:
    """The lines that do not fit into the sets of the first cache, in the innermost loop across the
    array with more iterations than a set has lines."""
    long = [at for at, loop in enumerate(one.crossed) if not _is_within(loop, cache.ways)]
    if not long:
        return
    loop = one.crossed[long[-1]]
    again = (*one.loops[: one.loops.index(loop)], *one.crossed[long[-1] + 1 :])
    found = conflict(one.ref, loop, cache, around)
    if found is not None and all(_is_known(other, others, around) for other in again):
        counts, trips = found
        yield counts, (*(other.trips for other in again), trips)


def _is_within(loop: Inner, turns: int) -> bool:
    """Whether a loop is known to have at most that many iterations."""
    known = loop.trips.value
    return known is not None and known <= turns


def _crossed(
    ref: Ref,
    variable: str,
    loops: tuple[Inner, ...],
    others: frozenset[str],
    around: Surroundings,
) -> tuple[Inner, ...]:
    """The inner loops that move a reference to other lines.

    None if the outer loop does not run along its first dimension, or if the strides are unknown.
    """
    first, *further = ref.args or ()
    inside = {one.variable for one in loops}
    if step(first, variable) not in (1, -1) or names_in(first) & others:
        return ()
    if any(variable in names_in(arg) or names_in(arg) & (others - inside) for arg in further):
        return ()
    crossed = []
    for one in loops:
        steps = [step(arg, one.variable) for arg in further if one.variable in names_in(arg)]
        if not steps:
            continue
        if (
            None in steps
            or not stride_class(ref, one.variable, around)
            or not _is_known(one, others, around)
        ):
            return ()
        crossed.append(one)
    return tuple(crossed)


def _is_known(loop: Inner, others: frozenset[str], around: Surroundings) -> bool:
    """Whether the trip count is computable before an iteration of the outer loop."""
    trips = loop.trips
    return not trips.names & others and is_harmless(trips, around) and is_repeatable(trips, around)


def _group(ref: Ref) -> object:
    """A key that two references have in common if their subscripts differ by constants."""
    return ref.name, tuple(_without_constant(arg) for arg in ref.args or ())


def _without_constant(arg: Arg) -> object:
    if not isinstance(arg, Lit | Op | Ref):
        return folded(arg)
    return frozenset((monomial, number) for monomial, number in poly(arg).terms if monomial)


__all__ = ["Lost", "lost"]
