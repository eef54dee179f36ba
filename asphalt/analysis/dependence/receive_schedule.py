"""Whether the receives of a loop can all be posted before it.

They can if neither the loop nor a received message changes the conditions around the receives,
their counts, ranks and tags.  The receives keep their order, so that each gets the same message as
before (MPI-4.0 section 3.5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.memory.accesses import Access, Footprint
from asphalt.analysis.memory.regions import loop_variable
from asphalt.analysis.memory.statement_accesses import examine
from asphalt.analysis.messages.messages import Messages, Stage, stage_of
from asphalt.analysis.mpi.call import MpiCall
from asphalt.analysis.verdicts.block_codes import DECIDED, PLACE, Obstacle
from asphalt.ir.expr import Expr, names_in
from asphalt.ir.records import record
from asphalt.ir.stmt import ArmHead, DoHead, Guarded, Jump, JumpKind
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, leaves


@record
class Receive:
    """A receive: its statement, the call, and its arguments (count, datatype, source, tag,
    communicator)."""

    leaf: Leaf
    call: MpiCall
    arguments: tuple[Expr, ...]


@record
class EarlyReceives:
    """The receives of a loop that may be posted before it, in their order.

    ``kept``: the body of the loop, with only these receives and the statements that control them.
    """

    receives: tuple[Receive, ...]
    kept: tuple[Node, ...]


def early_receives(
    loop: Do,
    receives: Mapping[int, Receive],
    facts: UnitFacts,
    messages: Messages,
    order: Independence,
) -> EarlyReceives | Obstacle | None:
    """The receives of a loop, if they may be posted before it, or why they may not; None: it has
    none outside of inner loops.

    ``receives``: those of the unit that can be split into a start and a wait, by the identity of
    their statements.
    """
    own = tuple(receives[id(leaf)] for leaf in direct_statements(loop.body) if id(leaf) in receives)
    if not own:
        return None
    place = order.place.bound(loop) or order.calls.depends_on_time
    if place is not None:
        return Obstacle(PLACE, place, loop.head)
    decided = _uncounted(loop, facts)
    if decided is not None:
        return Obstacle(DECIDED, decided, loop.head)
    try:
        kept = _Control(loop, {id(one.leaf) for one in own}).kept(loop.body)
    except _TwistedError as error:
        return Obstacle(DECIDED, str(error), loop.head)
    place = _others(loop, own, messages, order)
    if place is not None:
        return Obstacle(PLACE, place, own[0].leaf)
    decided = _changes(loop, own, kept, facts, order)
    return EarlyReceives(own, kept) if decided is None else Obstacle(DECIDED, decided, own[0].leaf)


def direct_statements(nodes: tuple[Node, ...]) -> Iterator[Leaf]:
    """The statements of a body outside of inner loops."""
    for node in nodes:
        match node:
            case Leaf():
                yield node
            case Branch(arms=arms):
                for arm in arms:
                    yield from direct_statements(arm.body)
            case Block(body=body):
                yield from direct_statements(body)


def _uncounted(loop: Do, facts: UnitFacts) -> str | None:
    """Why the trip count of a loop is unknown on entry."""
    head, where = loop.head.what, f"line {line_of(loop.head)}"
    name = loop_variable(loop)
    if not isinstance(head, DoHead) or head.kind != "count" or name is None:
        return f"{where}: the trip count is unknown on entry"
    footprint = facts.footprint(loop.head)
    bounds = [bound for bound in (head.first, head.last, head.step) if bound is not None]
    if footprint.effects or sum(access.writes for access in footprint.accesses) > 1:
        return f"{where}: the bounds call a procedure"
    if any(name in names_in(bound) for bound in bounds):
        return f"{where}: its bounds depend on its variable {name}"
    return None


class _TwistedError(Exception):
    """More than IF statements, CYCLE and EXIT control the receives."""


@record
class _Control:
    """The statements of a loop that control its receives."""

    loop: Do
    receives: set[int]

    def kept(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """The part of a body that controls the receives."""
        found = list(self._kept(nodes))
        last = max(n for n, leaf in enumerate(self._all) if id(leaf) in self.receives)
        ends = {id(leaf) for leaf in self._all[last:] if _jump(leaf) is JumpKind.CYCLE}
        return _without(tuple(found), ends)

    @property
    def _all(self) -> list[Leaf]:
        return list(leaves(self.loop))

    def _kept(self, nodes: tuple[Node, ...]) -> Iterator[Node]:
        for node in nodes:
            match node:
                case Leaf():
                    if id(node) in self.receives or self._leaves(node, True):
                        yield node
                case Branch(kind=kind, arms=arms):
                    bodies = [tuple(self._kept(arm.body)) for arm in arms]
                    if not any(bodies):
                        continue
                    if kind != "if":
                        line = line_of(arms[0].head)
                        raise _TwistedError(f"line {line}: a receive in a {kind} construct")
                    last = max(n for n, body in enumerate(bodies) if body)
                    parts = zip(arms[: last + 1], bodies, strict=False)
                    yield replace(node, arms=tuple(replace(a, body=b) for a, b in parts))
                case Do(body=body):
                    for leaf in (leaf for inner in body for leaf in leaves(inner)):
                        if self._leaves(leaf, False):
                            raise _TwistedError(f"line {line_of(leaf)}: leaves two loops at once")

    def _leaves(self, leaf: Leaf, directly: bool) -> bool:
        """Whether a statement ends an iteration of the loop."""
        what = leaf.action
        if not isinstance(what, Jump):
            return False
        return directly if what.construct is None else what.construct == self.loop.head.name


def _jump(leaf: Leaf) -> JumpKind | None:
    what = leaf.action
    return what.kind if isinstance(what, Jump) else None


def _without(nodes: tuple[Node, ...], dropped: set[int]) -> tuple[Node, ...]:
    """The nodes without some statements, and without branches that become empty."""
    found: list[Node] = []
    for node in nodes:
        if isinstance(node, Branch):
            arms = [replace(arm, body=_without(arm.body, dropped)) for arm in node.arms]
            while arms and not arms[-1].body:
                arms.pop()
            if arms:
                found.append(replace(node, arms=tuple(arms)))
        elif id(node) not in dropped:
            found.append(node)
    return tuple(found)


def _others(
    loop: Do, own: tuple[Receive, ...], messages: Messages, order: Independence
) -> str | None:
    """Why the receives cannot move before the other MPI calls of the loop."""
    mine = {id(one.leaf) for one in own}
    for one in own:
        for argument in ("source", "tag"):
            if order.calls.wildcard(one.call.args[argument]):
                return f"line {line_of(one.leaf)}: receives with any {argument}"
    for leaf, call in messages.calls(loop):
        if id(leaf) in mine or stage_of(call) is Stage.COMPLETE:
            continue
        for one in own:
            reason = order.calls.overtaking(call, one.call)
            if reason is not None:
                return f"lines {line_of(leaf)} and {line_of(one.leaf)}: {reason}"
    return None


def _changes(
    loop: Do,
    own: tuple[Receive, ...],
    kept: tuple[Node, ...],
    facts: UnitFacts,
    order: Independence,
) -> str | None:
    """Why the controlling conditions of the receives are unknown before the loop."""
    every = order.accesses(loop)
    if every is None:
        return "a wait for unknown buffers"
    written = [a for a in every if a.writes and a.leaf is not loop.head]
    arguments = {id(one.leaf): one.arguments for one in own}
    for leaf, read in _decisions(kept, arguments, facts):
        where = f"line {line_of(leaf)}"
        if read.effects or any(access.writes for access in read.accesses):
            return f"{where}: a condition of a receive calls a procedure"
        for access in read.accesses:
            change = _met(access, written)
            if change is not None:
                changed = f"line {line_of(change.leaf)} changes in the loop"
                return f"{where} reads {access.object}, which {changed}"
    return None


def _met(read: Access, written: list[Access]) -> Access | None:
    return next((access for access in written if read.meets(access)), None)


def _decisions(
    kept: tuple[Node, ...], arguments: Mapping[int, tuple[Expr, ...]], facts: UnitFacts
) -> Iterator[tuple[Leaf, Footprint]]:
    """The accesses of the evaluation of each condition, and of the arguments of each receive."""
    for node in kept:
        for leaf in leaves(node):
            evaluated: tuple[Expr, ...] = arguments.get(id(leaf), ())
            if isinstance(leaf.what, Guarded):
                evaluated = (leaf.what.condition, *evaluated)
            what = leaf.what if isinstance(leaf.what, ArmHead) else ArmHead("if", evaluated)
            yield leaf, examine((replace(leaf, what=what),), facts.names)
