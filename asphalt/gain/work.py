"""How long computation takes: operations by class, times the seconds of a machine file.

All arms of a branch are taken equally often; a procedure of the tree takes what its statements do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from asphalt.analysis.costs_trips import loop_trips
from asphalt.analysis.costs_types import Surroundings
from asphalt.analysis.messages import called
from asphalt.analysis.symbols import Scope
from asphalt.gain.amounts import Amount, turns
from asphalt.ir.program import Located
from asphalt.ir.source import Form
from asphalt.ir.stmt import Call, DoHead
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, leaves
from asphalt.transforms.charge import Charger, Costs

Procedures = Callable[[Call, Scope], tuple[Located, Scope] | None]
"""The procedure of the tree that a statement calls, with what names mean in it."""


@dataclass
class Work:
    """The time of statements of one tree on one core."""

    costs: Costs
    procedures: Procedures
    _times: dict[int, tuple[Node, Amount]] = field(default_factory=dict)
    _bodies: dict[int, tuple[Located, Amount]] = field(default_factory=dict)

    def seconds(self, nodes: tuple[Node, ...], scope: Scope) -> float:
        """How long statements take, without any messages in them."""
        total = Amount()
        for node in nodes:
            total += self._node(node, scope)
        return total.value

    def _node(self, node: Node, scope: Scope) -> Amount:
        found = self._times.get(id(node))
        if found is None:
            found = self._times[id(node)] = node, self._counted(node, scope)
        return found[1]

    def _counted(self, node: Node, scope: Scope) -> Amount:
        if not any(self._callee(leaf, scope) for leaf in leaves(node)):
            return self._charged(node, scope)
        total = Amount()
        match node:
            case Leaf():
                callee = self._callee(node, scope)
                return Amount() if callee is None else self._body(*callee)
            case Do(head=head, body=body):
                for inner in body:
                    total += self._node(inner, scope)
                what = head.what
                around = Surroundings(scope)
                trips = loop_trips(what, around) if isinstance(what, DoHead) else None
                return total * turns(trips, scope)
            case Branch(arms=arms):
                for arm in arms:
                    for inner in arm.body:
                        total += self._node(inner, scope)
                return total * Amount.of(1 / len(arms))
            case Block(body=body):
                for inner in body:
                    total += self._node(inner, scope)
        return total

    def _charged(self, node: Node, scope: Scope) -> Amount:
        """What has no calls of procedures of the tree in it."""
        charger = Charger(scope, self.costs, lambda call, scope: False, Form.FREE, "\n")
        total = Amount()
        for charge in charger.estimate((node,)):
            one = Amount.of(charge.counts.seconds(self.costs.seconds) + charge.waiting)
            for trips in charge.trips:
                one *= turns(trips, scope)
            total += one
        return total

    def _callee(self, leaf: Leaf, scope: Scope) -> tuple[Located, Scope] | None:
        call = called(leaf.what)
        return None if call is None else self.procedures(call, scope)

    def _body(self, located: Located, scope: Scope) -> Amount:
        key = id(located.unit)
        if key not in self._bodies:
            self._bodies[key] = located, Amount()  # of one that calls itself
            total = Amount()
            for node in located.unit.body:
                total += self._node(node, scope)
            self._bodies[key] = located, total
        return self._bodies[key][1]
