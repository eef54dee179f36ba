"""An estimate of the operations of some statements, as a polynomial of named constants.

It serves only to decide whether a piece is worth a message of its own; unknown work counts little.
"""

from __future__ import annotations

from collections.abc import Iterable

from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.data_flow.constant_dummies import ConstantDummies
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.memory.forward_substitution import constants_in
from asphalt.analysis.names.constants import is_size
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Arg, ArrayConstructor, ImpliedDo, Op, OpaqueExpr, Ref, walk
from asphalt.ir.stmt import Assign, Call, DoHead, Guarded, What
from asphalt.ir.tree import Branch, Do, Leaf, Node

_UNKNOWN_TRIPS = 4
_CALL = 10
_DEEP = 3
_ONE = Poly.constant(1)


def operations_of(nodes: Iterable[Node], facts: UnitFacts, dummies: ConstantDummies) -> Poly:
    """An estimate of the number of operations of some statements of a unit."""
    return _Estimate(facts, facts.scope, dummies, 0).of(nodes)


class _Estimate:
    """Statements of one unit, ``depth`` calls away from the first one."""

    def __init__(
        self, facts: UnitFacts, scope: Scope, dummies: ConstantDummies | None, depth: int
    ) -> None:
        self.facts = facts
        self.scope = scope
        self.dummies = dummies
        self.depth = depth

    def of(self, nodes: Iterable[Node]) -> Poly:
        """The sum over some statements."""
        total = Poly()
        for node in nodes:
            total = total + self._node(node)
        return total

    def _node(self, node: Node) -> Poly:
        match node:
            case Leaf(what=what):
                return self._statement(what)
            case Do(head=head, body=body):
                return self._trips(head.what) * (self.of(body) + _ONE)
            case Branch(arms=arms):
                costs = [self.of(arm.body) for arm in arms]
                return costs[0] + _ONE if costs else _ONE
        return Poly()

    def _statement(self, what: What) -> Poly:
        match what:
            case Guarded(condition=condition, action=action):
                return Poly.constant(_operators(condition)) + self._statement(action)
            case Assign(target=target, value=value):
                return Poly.constant(_operators(target) + _operators(value))
            case Call(args=args):
                cost = Poly.constant(_CALL + sum(map(_operators, args)))
                return cost + self._called(what)
        return _ONE

    def _called(self, call: Call) -> Poly:
        target = invoked(call, self.scope)
        if target is None or self.depth == _DEEP:
            return Poly()
        callee = target[0]
        scope = self.facts.effects.scopes.of(callee)
        cost = _Estimate(self.facts, scope, None, self.depth + 1).of(callee.unit.body)
        # constants of another unit may have other names here
        return cost if cost.value is not None else Poly.constant(_CALL)

    def _trips(self, head: What) -> Poly:
        unknown = Poly.constant(_UNKNOWN_TRIPS)
        if not isinstance(head, DoHead) or head.first is None or head.last is None:
            return unknown
        if head.step is not None:
            return unknown
        number = constants_in(head.last, self.scope) - constants_in(head.first, self.scope) + _ONE
        if self.dummies is not None:
            number = self.dummies.replaced(number)
        known = number.value is not None and number.value > 0
        named = self.depth == 0 and all(is_size(atom, self.scope) for atom in number.atoms)
        return number if known or (number.value is None and named) else unknown


def _operators(expr: Arg) -> int:
    """The operators and references of an expression."""
    return sum(
        isinstance(part, Op | OpaqueExpr | ArrayConstructor | ImpliedDo)
        or (isinstance(part, Ref) and part.args is not None)
        for part in walk(expr)
    )
