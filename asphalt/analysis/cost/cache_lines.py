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

Loops over consecutive lines are ignored: the hardware prefetches those.

Conflict misses of the first cache: all lines of a loop are in few of its sets. Each line belongs to
one set of the cache, which holds ``ways`` lines; lines that are ``way`` bytes apart belong to the
same set. A loop that crosses an array with a stride of s bytes uses ``way/gcd(s, way)`` sets, with
the trip count divided by that number of lines in each:

    do k = 1, nz
      do i = 1, nx             ! a stride of 16*ny*nz bytes: one set if it is a multiple of way
        b(k, i) = a(i, k)      ! complex(8) :: b(ny*nz, nx)

Lines beyond the ways are evicted before the next iteration of the enclosing loop and come from the
second cache.  Lines of one set are fetched one after the other, those of several sets at the same
time, so that a line of p sets costs one p-th of a line of one set.

Strides are known at run time: with p sets and n iterations, ``(n - p*ways)/p`` conflicts are
charged.  The greatest power of two that divides a number is ``iand(number, -number)``.
"""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.cost.classes import LINE, CoreCache, Counts
from asphalt.analysis.cost.nests import Inner, references, step
from asphalt.analysis.cost.references import known_extent, stride_class
from asphalt.analysis.cost.trip_counts import (
    TripCount,
    is_harmless,
    is_repeatable,
    parenthesised,
    product,
    usable,
)
from asphalt.analysis.cost.types import Surroundings, dims_of
from asphalt.analysis.names.constants import element_bytes
from asphalt.analysis.symbolic.polynomials import folded, poly
from asphalt.ir.expr import Arg, Expr, Lit, Op, Ref, names_in
from asphalt.ir.records import record
from asphalt.ir.tree import Node

_NEEDED = ("iand", "min", "size")
"""The intrinsic functions in the count of conflicts."""

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
    if not variable or not usable(around, ("sign", *_NEEDED)):
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


@record
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
    found = _conflict(one.ref, loop, cache, around)
    if found is not None and all(_is_known(other, others, around) for other in again):
        counts, trips = found
        yield counts, (*(other.trips for other in again), trips)


def _conflict(
    ref: Ref, loop: Inner, cache: CoreCache, around: Surroundings
) -> tuple[Counts, TripCount] | None:
    """The misses of each execution of a loop that moves a reference across an array; None: none, or
    its stride is unknown."""
    if not cache.ways or not cache.way:
        return None
    found = _steps(ref, loop.variable, around)
    if found is None:
        return None
    unit, others = found
    sets = cache.way // min(cache.way, unit & -unit)
    if sets == 1 or not others:
        if sets * LINE >= cache.way:
            return None
        count = Op("-", (parenthesised(loop.trips.count), _number(sets * cache.ways)))
        return Counts.of(conflict=1 / sets), TripCount(count)
    product = others[0]
    for other in others[1:]:
        product = Op("*", (product, other))
    power = Ref("iand", "iand", (product, Op("-", (product,))))
    turns = Op("*", (parenthesised(loop.trips.count), Ref("min", "min", (_number(sets), power))))
    return Counts.of(conflict=1 / sets), TripCount(Op("-", (turns, _number(sets * cache.ways))))


def _steps(ref: Ref, variable: str, around: Surroundings) -> tuple[int, tuple[Expr, ...]] | None:
    """The bytes between the elements of two iterations: a number, times the extents known at run
    time."""
    symbol, dims = around.symbol(ref.name), dims_of(ref, around)
    bytes_ = None if symbol is None else element_bytes(symbol, around.scope)
    args = ref.args or ()
    places = [number for number, arg in enumerate(args) if variable in names_in(arg)]
    if len(places) != 1 or not bytes_ or dims is None or len(dims) != len(args):
        return None
    own = step(args[places[0]], variable)
    if not own:
        return None
    unit = abs(own) * bytes_
    others: list[Expr] = []
    for number, dim in enumerate(dims[: places[0]], 1):
        extent = known_extent(dim, around)
        if extent is None:
            bare = Ref(ref.name, ref.spelled)
            others.append(Ref("size", "size", (bare, _number(number))))
        elif extent > 0:
            unit *= extent
        else:
            return None
    return unit, tuple(others)


def _number(value: int) -> Expr:
    return Lit("integer", str(value))


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
