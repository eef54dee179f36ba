"""Charges a program: its computation advances a simulated clock.

    do j = 1, m                        call asphalt_charge(3.2e-9_8*max(0.0_8, real(m, 8)) &
      do i = 1, n                                         + 4.1e-9_8*max(0.0_8, real(m, 8)) &
        a(i, j) = b(i, j) + s    ->                                  *max(0.0_8, real(n, 8)))
      end do                           do j = 1, m
    end do                               do i = 1, n
    call MPI_Send(a, ...)                ...
                                       call asphalt_charge_now()
                                       call MPI_Send(a, ...)

The cost of a whole loop is charged before it if its trip count is known there; otherwise each
iteration charges itself.  Branches and procedures charge themselves.  No charge moves above a call
that may communicate, and before such a call the simulated clock advances by all charges.  The
results of the program do not change: the new statements read variables and define none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from asphalt.analysis.control_flow.graph import jump_targets
from asphalt.analysis.cost.expressions import OperationCounter
from asphalt.analysis.cost.scalar_replacement import defined_in
from asphalt.analysis.cost.trip_counts import usable
from asphalt.ir.insertion import last_declaration
from asphalt.ir.stmt import Decl, DoHead, Entity, Guarded, Jump, JumpKind, Opaque, Plain, What
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, Unit, leaves
from asphalt.transforms.charging.concurrent import charge_forall
from asphalt.transforms.charging.constructs import charge_branch, charge_grouped, charge_where
from asphalt.transforms.charging.edit import (
    CHARGE,
    FLUSH,
    CannotInsertError,
    Charge,
    before,
)
from asphalt.transforms.charging.insert import charge_call, emitted, insert
from asphalt.transforms.charging.loops import charge_loop
from asphalt.transforms.charging.state import ChargerState, Costs, NotCharged, Placed, Waits
from asphalt.transforms.charging.statements import statement
from asphalt.transforms.rewriting.declare import insert_behind
from asphalt.transforms.rewriting.make import maker_at


@dataclass
class Charger(ChargerState):
    """The charging of the statements of one unit."""

    def unit(self, unit: Unit) -> Unit:
        """The unit with its executable statements charged."""
        self.ends_of_loops = frozenset(
            leaf.what.label
            for node in unit.body
            for leaf in leaves(node)
            if isinstance(leaf.what, DoHead) and leaf.what.label is not None
        )
        self.targets = _targets(unit)
        if not unit.body:
            return unit
        if not usable(self.around):
            self.refuse(unit.body[0], "an intrinsic function is hidden by a name of this unit")
            return unit
        body = emitted(self, self._block(unit.body))
        changed = replace(unit, body=body)
        return self._declared(changed) if body != unit.body else unit

    def _declared(self, unit: Unit) -> Unit:
        """The unit with declarations of the called procedures, if IMPLICIT NONE requires them."""
        rules = [
            leaf
            for outer in self.scope.located.chain
            for node in outer.spec
            for leaf in leaves(node)
            if isinstance(leaf.what, Decl) and leaf.what.kind == "implicit"
        ]
        if not any("external" in (leaf.body or "").lower() for leaf in rules):
            return unit
        names = tuple(Entity(name, name) for name in (CHARGE, FLUSH))
        make = maker_at((*unit.spec, *unit.body)[0], self.form, self.eol)
        new = make.leaf(Decl("external", entities=names))
        return insert_behind(unit, last_declaration(unit), (new,))

    def estimate(self, nodes: tuple[Node, ...]) -> tuple[Charge, ...]:
        """The cost of statements in all, as far as it is known before them: all arms of a branch
        are taken equally often."""
        self.estimating = True
        found = self._block(nodes).due
        self.estimating = False
        return found

    def _block(self, nodes: tuple[Node, ...]) -> Placed:
        """Charge a list; the caller charges the cost of its first part."""
        out: list[Node] = []
        first: tuple[tuple[Charge, ...], int] | None = None
        due: list[Charge] = []
        at: int | None = None
        defined: frozenset[str] = frozenset()
        counter = self.counter()

        def close() -> None:
            nonlocal first, due, at, defined
            if first is None:
                first = (tuple(due), len(out) if at is None else at)
            elif due and at is not None:
                insert(self, out, at, due)
            due, at, defined = [], None, frozenset()

        for node in nodes:
            if self._is_target(node):
                close()
                counter.forget()
            done = self._node(node, counter)
            movable = [c for c in done.due if self.may_move(c, defined)]
            stuck = [c for c in done.due if c not in movable]
            if done.due and at is None:
                at = len(out)
            due += movable
            if stuck:
                call = charge_call(self, done.nodes[0], stuck)
                if call is not None:
                    try:
                        out += before(done.nodes[0], call)
                    except CannotInsertError as error:
                        self.refuse(node, str(error))
                        out.append(done.nodes[0])
                    out += done.nodes[1:]
                else:
                    out += done.nodes
            else:
                out += done.nodes
            if not isinstance(node, Leaf):
                counter.forget()
            defined |= self.also_selectors(defined_in((node,)))
            if not done.closed and not self.estimating:
                close()
                counter.forget()
        closed = first is None
        close()
        assert first is not None
        return Placed(tuple(out), first[0], first[1], closed)

    def _is_target(self, node: Node) -> bool:
        """Whether a statement is a jump target, which an estimate ignores."""
        if self.estimating:
            return False
        first = next(iter(leaves(node)))
        entry = isinstance(first.what, Plain) and first.what.keyword == "entry"
        return entry or first.label in self.targets

    def _node(self, node: Node, counter: OperationCounter) -> Placed:
        """Charge one statement or construct; ``due`` is to be charged before it."""
        match node:
            case Leaf():
                return statement(self, node, counter, self._block)
            case Do():
                return charge_loop(self, node, self._block)
            case Branch(kind="where"):
                return charge_where(self, node)
            case Branch():
                return charge_branch(self, node, self._block)
            case Block(kind="forall"):
                return charge_forall(self, node, self._block)
            case Block():
                return charge_grouped(self, node, self._block)
        return Placed((node,), (), 0, True)


def _targets(unit: Unit) -> frozenset[int]:
    """The labels that statements of a unit jump to."""
    own = [leaf for node in unit.body for leaf in leaves(node)]
    if any(_may_go_anywhere(leaf.what) for leaf in own):
        return frozenset(leaf.label for leaf in own if leaf.label is not None)
    return frozenset(label for leaf in own for label in jump_targets(leaf.what))


def _may_go_anywhere(what: What) -> bool:
    match what:
        case Guarded(action=action):
            return _may_go_anywhere(action)
        case Jump(kind=JumpKind.ASSIGNED_GOTO, labels=()) | Opaque():
            return True
    return False


__all__ = ["Charger", "Costs", "NotCharged", "Waits"]
