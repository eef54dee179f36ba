"""Numbers of array elements as declared: for estimates, not for proofs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asphalt.analysis.cost.trip_counts import TripCount
from asphalt.analysis.cost.types import Surroundings, symbol_of
from asphalt.analysis.names.constants import value_now
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.names.symbol import Symbol
from asphalt.ir.expr import Arg, Component, Expr, Lit, Op, Ref, Section
from asphalt.ir.mapped import NotMappedError, mapped_expr
from asphalt.ir.stmt import Allocation, Dim
from asphalt.ir.tree import leaves

_ONE = Lit("integer", "1")


def factors(trips: TripCount, around: Surroundings) -> tuple[TripCount, ...]:
    """A trip count as a product, with one factor for each dimension if it is the size of an array.

    Bounds are those of the declaration or allocation in the unit.
    """
    match trips.count:
        case Ref(name="size", args=(Ref() | Component() as array,)):
            dims = _dims(array, around)
            if dims:
                places = (Lit("integer", str(n + 1)) for n in range(len(dims)))
                return tuple(_factor(Ref("size", "size", (array, p)), around) for p in places)
    return (replace(_factor(trips.count, around), least=trips.least),)


def _factor(count: Expr, around: Surroundings) -> TripCount:
    try:
        return TripCount(mapped_expr(count, lambda ref: _stated(ref, around)))
    except NotMappedError:
        return TripCount(count)


def _stated(ref: Ref, around: Surroundings) -> Expr | None:
    """The result of an inquiry about one dimension of an array, if it is declared."""
    match ref:
        case Ref(name="size" | "lbound" | "ubound", args=(Ref() | Component() as array, place)):
            number = place.integer if isinstance(place, Lit) else None
            dims = _dims(array, around) or ()
            if number is None or not 0 < number <= len(dims):
                return None
            dim = dims[number - 1]
            if dim.kind != "explicit" or dim.upper is None:
                return None
            symbol = symbol_of(array, around)
            lower = _here(dim.lower or _ONE, symbol, around)
            upper = _here(dim.upper, symbol, around)
            if lower is None or upper is None:
                return None
            if ref.name == "size":
                return Op("()", (Op("+", (Op("-", (upper, lower)), _ONE)),))
            return lower if ref.name == "lbound" else upper
    return None


def _dims(array: Ref | Component, around: Surroundings) -> tuple[Dim, ...] | None:
    """The dimensions of an array in its declaration, or in its only ALLOCATE statement in the
    unit."""
    symbol = symbol_of(array, around)
    if symbol is None or symbol.dims is None:
        return None
    if isinstance(array, Ref) and any(dim.kind == "deferred" for dim in symbol.dims):
        found = tuple(_allocated(array.name, around.scope))
        if len(found) == 1 and len(found[0]) == len(symbol.dims):
            return found[0]
    return symbol.dims


def _allocated(name: str, scope: Scope) -> Iterator[tuple[Dim, ...]]:
    for node in scope.unit.body:
        for leaf in leaves(node):
            if isinstance(leaf.what, Allocation) and leaf.what.kind == "allocate":
                for item in leaf.what.objects:
                    if isinstance(item, Ref) and item.name == name and item.args is not None:
                        yield tuple(_dim(arg) for arg in item.args)


def _dim(arg: Arg) -> Dim:
    match arg:
        case Section(lower=lower, upper=upper):
            return Dim("explicit", lower, upper)
        case Ref() | Component() | Op() | Lit():
            return Dim("explicit", None, arg)
    return Dim("deferred")


def _here(bound: Expr, symbol: Symbol | None, around: Surroundings) -> Expr | None:
    """A declared bound as the unit may write it: a number, or the expression of its own."""
    home = None if symbol is None else symbol.home
    known = None if home is None else value_now(bound, home)
    if known is not None:
        return Lit("integer", str(known))
    return Op("()", (bound,)) if home is around.scope else None
