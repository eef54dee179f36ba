"""How long computation takes: operations by class, times the seconds of a machine file.

All arms of a branch are taken equally often.  A procedure of the tree takes what its statements do,
with the sizes that are passed to it where they are known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from asphalt.analysis.cost.declared_extents import factors
from asphalt.analysis.cost.trip_counts import TripCount, loop_trips
from asphalt.analysis.cost.types import Surroundings
from asphalt.analysis.memory.forward_substitution import constants_in
from asphalt.analysis.names.references import bind
from asphalt.analysis.names.scopes import Scope
from asphalt.frontend.statements.concurrent import concurrent_header
from asphalt.gain.amounts import Amount, iterations
from asphalt.gain.called_units import CalledUnits
from asphalt.gain.known_amounts import Known
from asphalt.gain.sizes import Sizes
from asphalt.ir.expr import Expr, Lit, Ref
from asphalt.ir.mapped import NotMappedError, mapped_expr
from asphalt.ir.program import Located
from asphalt.ir.source import Form
from asphalt.ir.stmt import Call, DoHead
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, leaves
from asphalt.transforms.charging.edit import together
from asphalt.transforms.charging.program import Charger, Costs

Procedures = Callable[[Call, Scope], tuple[Located, Scope] | None]
"""The procedure of the tree that a statement calls, with what names mean in it."""


Given = tuple[tuple[str, int], ...]
"""What is passed for dummies of a procedure that it only reads, by name."""


@dataclass
class Work:
    """The time of statements of one tree on one core.  ``units``: the procedures that are the same
    in other texts of a unit."""

    costs: Costs
    procedures: Procedures
    known: Known = field(default_factory=Known)
    sizes: Sizes = field(default_factory=Sizes)
    units: CalledUnits = field(default_factory=CalledUnits)
    _times: dict[tuple[int, Given], tuple[Node, Amount]] = field(default_factory=dict)
    _bodies: dict[tuple[int, Given], tuple[Located, Amount]] = field(default_factory=dict)
    _seconds: dict[int, tuple[Node, float]] = field(default_factory=dict)
    _open: set[int] = field(default_factory=set)
    _is_cut: bool = False  # whether times depend on which procedure of a recursion was asked first

    def seconds(self, nodes: tuple[Node, ...], scope: Scope) -> float:
        """How long statements take, without any messages in them."""
        if len(nodes) != 1:
            return self._list(nodes, scope, ()).value
        (node,) = nodes
        found = self._seconds.get(id(node))
        if found is None:
            found = self._seconds[id(node)] = node, self._list(nodes, scope, ()).value
        return found[1]

    def repeated(self, node: Node, trips: TripCount, scope: Scope) -> float:
        """How long a statement without messages takes in all iterations of a loop around it."""
        return (self._node(node, scope, ()) * self._iterations(trips, scope, ())).value

    def _list(self, nodes: tuple[Node, ...], scope: Scope, given: Given) -> Amount:
        total = Amount()
        for node in nodes:
            total += self._node(node, scope, given)
        return total

    def _node(self, node: Node, scope: Scope, given: Given) -> Amount:
        key = id(node), given
        found = self._times.get(key)
        if found is None:
            found = self._times[key] = node, self._kept(node, scope, given)
        return found[1]

    def _kept(self, node: Node, scope: Scope, given: Given) -> Amount:
        """The time of a statement, taken from another text of the unit if it is one of a procedure
        that is the same there."""

        def find() -> Amount:
            return self._counted(node, scope, given)

        if not self.units.has_names(scope):
            return find()
        return self.units.amounts.of(node, find, given, lambda: not self._is_cut)

    def _counted(self, node: Node, scope: Scope, given: Given) -> Amount:
        # one loop does not overlap with the next one, be there a message between them or not
        several = isinstance(node, Branch | Block) and any(
            isinstance(leaf.what, DoHead) for leaf in leaves(node)
        )
        if not several and not any(self._callee(leaf, scope) for leaf in leaves(node)):
            return self._without_calls(node, scope, given)
        match node:
            case Leaf():
                callee = self._callee(node, scope)
                return Amount() if callee is None else self._body(node, callee, scope, given)
            case Do(head=head, body=body):
                what = head.what
                around = Surroundings(scope)
                trips = loop_trips(what, around) if isinstance(what, DoHead) else None
                return self._list(body, scope, given) * self._iterations(trips, scope, given)
            case Branch(arms=arms):
                total = Amount()
                for arm in arms:
                    total += self._list(arm.body, scope, given)
                return total * Amount.of(1 / len(arms))
            case Block(body=body):
                return self._list(body, scope, given)
        return Amount()

    def _without_calls(self, node: Node, scope: Scope, given: Given) -> Amount:
        """The time of statements without calls of procedures of the tree, counted once for all
        texts of the unit."""
        amounts = self.known.amounts

        def count() -> Amount:
            return self._charged(node, scope, given)

        return count() if amounts is None else amounts.of(node, scope, given, self.sizes, count)

    def _charged(self, node: Node, scope: Scope, given: Given) -> Amount:
        """The time of statements without calls of procedures of the tree."""
        charger = Charger(
            scope, self.costs, lambda call, scope: False, Form.FREE, "\n", concurrent_header
        )
        total, at_ends = Amount(), False
        for charge in together(charger.estimate((node,))):
            one = Amount.of(charge.counts.seconds(self.costs.seconds) + charge.waiting)
            for trips in charge.trips:
                for each in factors(trips, Surroundings(scope)):
                    times = self._iterations(each, scope, given)
                    at_ends = at_ends or times.is_at_ends
                    one *= times if times.value >= each.least else Amount()
            total += one
        return total.of_one_field() if at_ends else total

    def _iterations(self, trips: TripCount | None, scope: Scope, given: Given) -> Amount:
        return iterations(self.sizes.trips(_known(trips, given), scope), scope)

    def _callee(self, leaf: Leaf, scope: Scope) -> tuple[Located, Scope] | None:
        call = leaf.call
        return None if call is None else self.procedures(call, scope)

    def _body(
        self, leaf: Leaf, callee: tuple[Located, Scope], scope: Scope, given: Given
    ) -> Amount:
        located, inner = callee
        call = leaf.call
        passed = () if call is None else self._passed(call, callee, scope, given)
        key = id(located.unit), passed
        if key not in self._bodies:
            if key[0] in self._open:
                self._is_cut = True
                return Amount()  # of one that calls itself, whatever it passes
            self._open.add(key[0])
            self._bodies[key] = located, self._list(located.unit.body, inner, passed)
            self._open.remove(key[0])
        return self._bodies[key][1]

    def _passed(
        self, call: Call, callee: tuple[Located, Scope], scope: Scope, given: Given
    ) -> Given:
        """The known numbers that a call passes for dummy arguments with INTENT(IN)."""
        _, inner = callee
        bound = bind(call.args, inner.dummies)
        found: list[tuple[str, int]] = []
        for dummy, actual in (bound or {}).items():
            symbol = inner.lookup(dummy)
            if symbol is None or symbol.intent != "in" or symbol.dims is not None:
                continue
            expr = self.sizes.in_numbers(_in_numbers(actual, given), scope)
            value = constants_in(expr, scope).value
            if value is not None and symbol.type is not None and symbol.type.base == "integer":
                found.append((dummy, value))
        return tuple(found)


def _known(trips: TripCount | None, given: Given) -> TripCount | None:
    if trips is None or not given:
        return trips
    return replace(trips, count=_in_numbers(trips.count, given))


def _in_numbers(expr: Expr, given: Given) -> Expr:
    """The expression with known numbers in place of names."""
    known = dict(given)

    def change(ref: Ref) -> Expr | None:
        value = known.get(ref.name) if ref.args is None else None
        return None if value is None else Lit("integer", str(value))

    try:
        return mapped_expr(expr, change)
    except NotMappedError:
        return expr
