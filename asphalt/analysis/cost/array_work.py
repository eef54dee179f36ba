"""Statements that work on whole arrays, and so take time, as loops do::

    b = sqrt(b) + 2.0         v(:, 1:m) = u(:, 0:m-1)         s = sum(a*a)
    where (t < 0) t = 0       forall (i = 1:n) d(i, i) = 1    if (any(e > limit)) exit

Statements on arrays that are known to have few elements do not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from asphalt.analysis.cost.declared_extents import factors
from asphalt.analysis.cost.trip_counts import TripCount, extents
from asphalt.analysis.cost.types import (
    Surroundings,
    dims_of,
    is_intrinsic_function,
    is_valued_as_array,
)
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.names.constants import value_now
from asphalt.analysis.names.intrinsics import is_inquiry
from asphalt.analysis.names.references import actions
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.expr import Arg, ArrayConstructor, Component, ImpliedDo, OpaqueExpr, Ref, children
from asphalt.ir.stmt import ArmHead, Assign, Guarded, What
from asphalt.ir.tree import Leaf

FEW = 64
"""The time of at most this many elements is negligible: points in space, small matrices, lists."""
_DECIDES = frozenset({"if", "else_if", "select_case", "where", "elsewhere"})


class ArrayWork:
    """The answers for one unit (``facts.once`` keeps them)."""

    def __init__(self, facts: UnitFacts) -> None:
        self.scope = facts.scope
        self._known: dict[int, tuple[What, bool]] = {}

    def in_line(self, leaf: Leaf) -> bool:
        """Whether a statement assigns to more than a few elements of an array, or computes
        something from them."""
        found = self._known.get(id(leaf.what))
        if found is None:  # the statement is kept, so that no other gets its identity
            found = self._known[id(leaf.what)] = leaf.what, works_on_arrays(leaf.what, self.scope)
        return found[1]


def works_on_arrays(what: What, scope: Scope) -> bool:
    """Whether a statement works on array elements that are not known to be few."""
    around = Surroundings(scope)
    for one in actions(what):
        if isinstance(one, ArmHead | Guarded) and one.kind == "forall":
            return True
        arrays = (array for expr in _computed(one, around) for array in _arrays(expr, around))
        if not all(_are_few(array, around) for array in arrays):
            return True
    return False


def _computed(what: What, around: Surroundings) -> tuple[Arg, ...]:
    """The expressions that a statement computes, and the variable that it assigns to."""
    match what:
        case Assign(target=target, value=value, pointer=False):
            given = isinstance(value, OpaqueExpr) or is_valued_as_array(value, around)
            bare = isinstance(target, Ref | Component) and target.args is None
            # what is allocatable may get as many elements as the value has
            return (value,) if given and bare and _is_deferred(target, around) else (target, value)
        case ArmHead(kind=kind, exprs=exprs) if kind in _DECIDES:
            return exprs
        case Guarded(condition=condition):
            return (condition,)
    return ()


def _is_deferred(target: Arg, around: Surroundings) -> bool:
    return any(dim.kind == "deferred" for dim in dims_of(target, around) or ())


def _arrays(expr: Arg, around: Surroundings) -> Iterator[Ref | Component | ArrayConstructor]:
    """The arrays and sections that an expression references."""
    match expr:
        case Ref(name=name) if is_inquiry(name) and is_intrinsic_function(expr, around):
            return
        case Ref(args=None) | Component(args=None):
            if is_valued_as_array(expr, around):
                yield expr
        case Ref() | Component():
            if dims_of(expr, around) is not None and is_valued_as_array(expr, around):
                yield expr
        case ArrayConstructor():
            yield expr
    for part in children(expr):
        yield from _arrays(part, around)


def _are_few(array: Ref | Component | ArrayConstructor, around: Surroundings) -> bool:
    if isinstance(array, ArrayConstructor):
        values = array.values
        more = any(isinstance(v, ImpliedDo) or is_valued_as_array(v, around) for v in values)
        return not more and len(values) <= FEW
    if isinstance(array, Component) and dims_of(array, around) is None:
        base = array.base  # ``field(:)%x``
        return isinstance(base, Ref | Component) and _are_few(base, around)
    found = extents(array, around)
    if found is None:
        return False
    each = [_number(one, around) for trips in found for one in factors(trips, around)]
    known = [number for number in each if number is not None]
    return len(known) == len(each) and prod(known) <= FEW


def _number(trips: TripCount, around: Surroundings) -> int | None:
    """A constant trip count; None: unknown."""
    value = value_now(trips.count, around.scope)
    return None if value is None else max(0, value)
