"""Calls that start, or complete, more requests of an array than the matching calls.

The requests of a start are compared with those of possible completions, and the requests of a
completion with those that may have been started, as integer sets over what is invariant between
them.  A remainder is certain if it exists for all sizes.
"""

from __future__ import annotations

from collections.abc import Iterable

from asphalt.analysis.control_flow.graph import ControlFlow
from asphalt.analysis.memory.invariant_frame import loop_variable
from asphalt.analysis.memory.regions import Region, loop_bounds
from asphalt.analysis.requests.elements import RequestElements
from asphalt.analysis.requests.operations import Operation
from asphalt.analysis.symbolic.affine import Affine
from asphalt.analysis.symbolic.index_sets import Elements
from asphalt.analysis.symbolic.isl import UndecidedError
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Ref, names_in

_ONE = Poly.constant(1)
_INDEX = Ref("(element)", "(element)")
_ELEMENT = Poly.atom(_INDEX)


class PartialRequests:
    """Questions about the request arrays of one unit."""

    def __init__(self, requests: RequestElements) -> None:
        self.requests = requests

    def left_over(
        self, one: Operation, others: Iterable[Operation], ways: ControlFlow
    ) -> str | None:
        """The requests of an operation that certainly none of the others has, whenever it has any,
        as a designator; None: there may be none.

        A statement in loops counts as executed in all their iterations, which have no early exit.
        """
        alike = [other for other in others if other.storage == one.storage]
        if not alike or one.storage is None or one.scalar or any(other.scalar for other in alike):
            return None
        region = self.requests.region_of(one, alike)
        mine = self._all_of(one, region, ways)
        if mine is None:
            return None
        left = mine
        try:
            for other in alike:
                access = self.requests.elements(other, other.loops)
                if access is None:
                    return None
                left = left.minus(region.elements(access))
        except UndecidedError:
            return None
        return self._designator(one, left) if left.is_there_where(mine) else None

    def _all_of(self, one: Operation, region: Region, ways: ControlFlow) -> Elements | None:
        """The requests of an operation in all iterations of its loops; None: unknown."""
        if one.first is None:
            return None
        counted = tuple(loop for loop in one.loops if loop_variable(loop) is not None)
        first = region.value(one.first, counted)
        count = _ONE if one.count is None else region.value(one.count, counted)
        if first is None or count is None:
            return None
        used = set[str]().union(*map(names_in, (*first.atoms, *count.atoms)))
        varying = [number for number, loop in enumerate(one.loops) if loop_variable(loop) in used]
        limits = [_ELEMENT - first, first + count - _ONE - _ELEMENT]
        variables: list[Ref] = []
        point = one.point
        for loop in reversed(one.loops[varying[0] :] if varying else ()):
            bounds, head = loop_bounds(loop, region), self.requests.whole_loop(loop, point, ways)
            name = loop_variable(loop)
            if bounds is None or head is None or name is None:
                return None
            point = head
            variables.append(Ref(name, name))
            low, high = (bounds.first, bounds.last)[:: bounds.direction]
            limits += [Poly.atom(variables[-1]) - low, high - Poly.atom(variables[-1])]
        return _values(limits, variables)

    def _designator(self, one: Operation, left: Elements) -> str:
        """Some requests in words."""
        ((low, high),) = left.box()
        assert one.storage is not None
        name = one.storage.rsplit("::", 1)[-1]
        if low is None or high is None:
            return f"some elements of {name}"
        symbol = self.requests.values.scope.lookup(name)
        if symbol is not None and symbol.dims is not None and len(symbol.dims) > 1:
            where = f"element {low}" if low == high else f"elements {low} to {high}"
            return f"{where} of {name}"
        return f"{name}({low})" if low == high else f"{name}({low}:{high})"


def _values(limits: Iterable[Poly], variables: Iterable[Ref]) -> Elements | None:
    """The elements for which no limit is negative, for some values of the variables; None: a limit
    is not affine."""
    unknowns = [*variables, _INDEX]
    affine = Affine(frozenset(variable.name for variable in unknowns))
    texts = [affine.text(limit) for limit in limits]
    names = [(variable,) for variable in unknowns]
    constraints = [f"{text} >= 0" for text in texts if text is not None]
    if len(constraints) < len(texts):
        return None
    constraints.append(f"e0 = {affine.name((_INDEX,))}")
    try:
        return Elements.where(1, constraints, affine).project(names)
    except UndecidedError:
        return None
