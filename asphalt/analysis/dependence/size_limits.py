"""Limits of sizes that follow from array elements in MPI calls.

A subscript of an element is not below the lower bound of its dimension (F2018 9.5.3.1), so that
after a call with ``u(1, ny)`` of ``u(0:nx+1, 0:ny+1)``, ``ny >= 0`` holds.  Upper bounds give
nothing: programs declare a dummy array with the extent 1 for any size.  The limit holds as long as
the variables keep the values that they had in the last execution of the call.
"""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.data_flow.preserved_values import PreservedValues
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.memory.shapes import shape_of
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.names.intrinsics import is_inquiry, is_pure_function
from asphalt.analysis.names.scopes import Origin
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import AltReturn, Expr, Keyword, Lit, Op, Ref, Section, names_in, walk
from asphalt.ir.records import record
from asphalt.ir.tree import Leaf

Limit = tuple[Poly, Poly]
"""A polynomial that is not less than another one."""


@record
class KnownLimits:
    """The limits of one unit, each with the call after which it holds."""

    facts: UnitFacts
    kept: PreservedValues
    limits: tuple[tuple[Leaf, Limit], ...]

    @staticmethod
    def of(facts: UnitFacts, messages: Messages) -> KnownLimits:
        """The limits that follow from the buffers of a unit's MPI calls."""
        found: dict[tuple[int, Limit], tuple[Leaf, Limit]] = {}
        for leaf, call in messages.own_calls():
            for parameter, actual in call.bound():
                if parameter.kind == "BUFFER" and isinstance(actual, Ref):
                    for limit in _of_element(actual, leaf, facts):
                        found.setdefault((id(leaf), limit), (leaf, limit))
        return KnownLimits(facts, messages.kept, tuple(found.values()))

    def at(self, leaf: Leaf) -> tuple[Limit, ...]:
        """The limits that hold at a statement, on all paths."""
        if not self.limits:
            return ()
        return tuple(dict.fromkeys(x for origin, x in self.limits if self._holds(x, origin, leaf)))

    def _holds(self, limit: Limit, origin: Leaf, here: Leaf) -> bool:
        """Whether a limit of one statement holds at another one."""
        points = [self.facts.reaching.graph.action(leaf) for leaf in (origin, here)]
        if points[0] is None or points[1] is None:
            return False
        if not self.facts.reaching.dominance.dominators.dominates(points[0], points[1]):
            return False
        names = {name for atom in (limit[0] - limit[1]).atoms for name in names_in(atom)}
        return self.kept.since(names, origin, here)


def _of_element(actual: Ref, leaf: Leaf, facts: UnitFacts) -> Iterator[Limit]:
    symbol = facts.scope.lookup(actual.name)
    if actual.args is None or symbol is None or symbol.dims is None:
        return
    shape = shape_of(actual.name, facts.scope, facts.values, leaf)
    if shape is None or shape.rank != len(actual.args):
        return
    for subscript, lower in zip(actual.args, shape.lower, strict=True):
        if isinstance(subscript, Section | Keyword | AltReturn):
            continue
        index = facts.values.polynomial(subscript, leaf)
        difference = index - lower
        if difference.value is None and all(_is_plain(atom, facts) for atom in difference.atoms):
            yield index, lower


def _is_plain(expr: Expr, facts: UnitFacts) -> bool:
    """Whether a value consists of scalar variables, literals and intrinsic functions."""
    for part in walk(expr):
        match part:
            case Lit() | Op():
                continue
            case Ref(name=name, args=None):
                symbol = facts.scope.lookup(name)
                if symbol is not None and symbol.dims is None and _has_value(symbol.origin):
                    continue
            case Ref(name=name, args=tuple()):
                symbol = facts.scope.lookup(name)
                own = symbol is not None and symbol.origin is Origin.INTRINSIC
                if own and is_pure_function(name) and not is_inquiry(name):
                    continue
        return False
    return True


def _has_value(origin: Origin) -> bool:
    return origin.is_variable or origin is Origin.PARAMETER
