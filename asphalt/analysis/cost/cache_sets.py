"""Conflict misses of the first cache: all lines of a loop are in few of its sets.

Each line belongs to one set of the cache, which holds ``ways`` lines; lines that are ``way`` bytes
apart belong to the same set.  A loop that crosses an array with a stride of s bytes uses
``way/gcd(s, way)`` sets, with the trip count divided by that number of lines in each:

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

from asphalt.analysis.cost.classes import LINE, CoreCache, Counts
from asphalt.analysis.cost.nests import Inner, step
from asphalt.analysis.cost.references import known_extent
from asphalt.analysis.cost.trip_counts import TripCount, parenthesised
from asphalt.analysis.cost.types import Surroundings, dims_of
from asphalt.analysis.names.constants import element_bytes
from asphalt.ir.expr import Expr, Lit, Op, Ref, names_in

NEEDED = ("iand", "min", "size")
"""The intrinsic functions in the count of conflicts."""


def conflict(
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


__all__ = ["NEEDED", "conflict"]
