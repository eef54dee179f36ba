"""Which nests can be executed in tiles together with the messages before and behind them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from asphalt.analysis.call_graph.datatype_variables import datatype_of
from asphalt.analysis.conditions.pairing import PROTOCOL
from asphalt.analysis.data_flow.accepted_assumptions import is_accepted_at
from asphalt.analysis.data_flow.constant_dummies import ConstantDummies
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.dependence.permutable_loops import region_of
from asphalt.analysis.dependence.vector_rounding import why_other_digits
from asphalt.analysis.memory.accesses import Access, EffectKind, Mode
from asphalt.analysis.memory.invariant_frame import loop_variable
from asphalt.analysis.messages.messages import Messages, Stage, stage_of
from asphalt.analysis.messages.sole_pair import SolePair
from asphalt.analysis.names.constants import constant, is_size, type_bytes
from asphalt.analysis.names.designators import designator_name
from asphalt.analysis.schedule.check_pipeline import check_pipeline
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.tiling.equal_parts import ConstantTrips, MessageParts, parts_of
from asphalt.analysis.tiling.tiled_groups import Fusion, TiledGroup, group_at, trips_of
from asphalt.analysis.tiling.work_estimate import operations_of
from asphalt.analysis.verdicts.pipelining_codes import BETWEEN, MESSAGES, NEEDED, PARTS
from asphalt.analysis.verdicts.splitting_codes import DIGITS
from asphalt.analysis.verdicts.verdict import Code, Refused
from asphalt.config.assumptions import BITS
from asphalt.ir.expr import Ref, names_in
from asphalt.ir.records import record
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Branch, Do, Node, leaves
from asphalt.transforms.rewriting.step import Found, Step
from asphalt.transforms.tiling.message_tiles import MessageSpan
from asphalt.transforms.tiling.whole_messages import holds_directly, messages_of

_TOGETHER = frozenset(
    {
        EffectKind.MPI,
        EffectKind.UNKNOWN_CALL,
        EffectKind.SYSTEM,
        EffectKind.OPAQUE,
        EffectKind.IO,
        EffectKind.ASSUMED,
    }
)
"""Effects by which another rank may get what it waits for."""


@record
class Pipeline(Step):
    """A wavefront: the statements of the list that ``path`` leads to which are executed in tiles.

    ``groups``: from the receive to the send; ``before``, ``after``: the positions of statements in
    between that move in front of the tiles or behind them.  ``site``: the name in the header;
    ``along``: the variable of the loops; ``work``: about the operations of an iteration,
    ``amount``: of all iterations, with the present sizes.
    """

    path: tuple[int, ...]
    receive: MessageSpan
    send: MessageSpan
    groups: tuple[TiledGroup, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    trips: ConstantTrips
    site: str
    along: str
    work: Poly
    amount: int

    @property
    def blocking(self) -> tuple[tuple[int, str], ...]:
        """Line and MPI procedure of the messages that were blocking."""
        both = (self.receive, self.send)
        return tuple((line_of(m.start), m.operation) for m in both if m.is_blocking)


class Finder:
    """Finds the wavefronts of one unit."""

    def __init__(self, facts: UnitFacts, messages: Messages, order: Independence) -> None:
        self.facts = facts
        self.messages = messages
        self.order = order
        self.dummies = ConstantDummies(facts)
        self.fusion = Fusion(facts, order, self.dummies)
        self.pairs = facts.once(SolePair)

    def found(self, path: tuple[int, ...], siblings: tuple[Node, ...]) -> Iterator[Found]:
        """The wavefronts of one statement list, or what keeps their messages from being cut."""
        whole = messages_of(siblings, self.facts, self.messages)
        for receive in (m for m in whole if m.receives):
            for send in (m for m in whole if not m.receives):
                if receive.end_position < send.start_position:
                    one = self._pair(path, siblings, receive, send)
                    if one is not None:
                        yield one

    def _pair(
        self,
        path: tuple[int, ...],
        siblings: tuple[Node, ...],
        receive: MessageSpan,
        send: MessageSpan,
    ) -> Found | None:
        first = group_at(receive.end_position, siblings[receive.end_position], receive.end,
                         first=True)  # fmt: skip
        last = group_at(send.start_position, siblings[send.start_position], send.start, first=False)
        between = range(receive.end_position + 1, send.start_position)
        nests = [node for p in between if isinstance(node := siblings[p], Do)]
        if not _is_direct(siblings, receive, send):
            return None
        if first is None or last is None:
            around = siblings[receive.end_position if first is None else send.start_position]
            if not self._is_wave(nests, receive, send):
                return None
            reason = f"line {line_of(next(leaves(around)))}: {_more_than_a_message(around)}"
            return self._refused(BETWEEN, receive, send, reason)
        found = next(
            (t for loop in (*first.loops, *last.loops, *nests) if (t := self._trips(loop))), None
        )
        if not nests:
            return None
        if found is None:
            return self._refused(PARTS, receive, send, "no loop has constant bounds and the step 1")
        parts = [
            parts_of(*m.content, found, m.start, self.facts, self.dummies) for m in (receive, send)
        ]
        if parts[0] is None or parts[1] is None:
            return self._refused(PARTS, receive, send, "no iteration has a part of its own")
        return self._tiled(
            path, siblings, receive, send, (first, last), found, (parts[0], parts[1])
        )

    def _is_wave(self, nests: list[Do], receive: MessageSpan, send: MessageSpan) -> bool:
        """Whether nests read what is received and define what is sent."""
        names = self.facts.names
        got, sent = (
            {names.storage(name) for name in (designator_name(m.arguments[0]),) if name}
            for m in (receive, send)
        )
        read = {a.storage for nest in nests for a in self.facts.footprint(nest).accesses}
        written = {name for nest in nests for name in self.facts.footprint(nest).written()}
        return bool(got & read and sent & written)

    def _tiled(
        self,
        path: tuple[int, ...],
        siblings: tuple[Node, ...],
        receive: MessageSpan,
        send: MessageSpan,
        ends: tuple[TiledGroup, TiledGroup],
        trips: ConstantTrips,
        parts: tuple[MessageParts, MessageParts],
    ) -> Found:
        receive, send = (
            replace(m, parts=own) for m, own in zip((receive, send), parts, strict=True)
        )
        same = self._alike(receive, send)
        reason = None if same else "they have not the same datatype and count"
        reason = reason or self.order.calls.earlier_sends
        reason = reason or self.pairs.why_not(
            (receive.arguments[4], send.arguments[4]), (receive.start, send.start)
        )
        if reason is not None:
            return self._refused(MESSAGES, receive, send, reason)
        inner: list[TiledGroup] = []
        others: list[int] = []
        for position in range(ends[0].position + 1, ends[1].position):
            group = group_at(position, siblings[position], None, first=False)
            alike = group is not None and self._trips(group.loops[0]) == trips
            if group is not None and alike and self.fusion.why_not_alone(group) is None:
                inner.append(group)
            else:
                others.append(position)
        groups = (ends[0], *inner, ends[1])
        loops = [loop for group in groups for loop in group.loops]
        if not inner or any(self._trips(loop) != trips for loop in loops):
            return self._refused(PARTS, receive, send, "no nest has the same iterations")
        stays = next((r for g in groups if (r := self.fusion.why_not_alone(g)) is not None), None)
        changed = self._changed(siblings, receive, send)
        moved = self._moved(siblings, groups, others)
        if stays or changed or isinstance(moved, str):
            return self._refused(BETWEEN, receive, send, stays or changed or str(moved))
        accesses = self._accesses(receive, send, parts, loops[0])
        needed = self.fusion.why_not(groups, *accesses)
        if needed is not None:
            return self._refused(NEEDED, receive, send, needed)
        paced = not self._starts_within(siblings, send)
        fault = check_pipeline(paced)
        if fault is not None:
            return self._refused(PROTOCOL, receive, send, str(fault))
        work = operations_of([n for loop in loops for n in loop.body], self.facts, self.dummies)
        along = inner[0].loops[0].head.what
        assert isinstance(along, DoHead)
        assert isinstance(along.var, Ref)
        assumed = self._assumed(loops, receive, send)
        if isinstance(assumed, Refused):
            return assumed
        return Pipeline(
            line_of(receive.start),
            f"the nest of {self.facts.at(inner[0].loops[0].head)} and the messages of "
            f"{receive.operation} and {send.operation} are cut into tiles along {along.var.name}",
            (
                "no other messages of the program have their tag, and both have equal parts",
                "no iteration needs a later part, nor changes one that was sent",
            ),
            path,
            receive,
            replace(send, paced=paced),
            groups,
            *moved,
            trips,
            f"{self.facts.unit.name or 'main'}_{plain(along.var.name)}",
            along.var.spelled,
            work,
            self._amount(work * trips.number),
            assumed=assumed,
        )

    def _assumed(
        self, loops: list[Do], receive: MessageSpan, send: MessageSpan
    ) -> tuple[str, ...] | Refused:
        """What has to be assumed of the last digits that loops compute in tiles, if it is accepted
        for one of them or of the messages."""
        for loop in loops:
            region = region_of(loop, self.facts)
            digits = why_other_digits((loop,), loop.body, self.facts, region)
            if digits is None:
                continue
            leading = (receive.start, send.start, *(one.head for one in loops))
            if any(is_accepted_at(BITS, leaf, self.facts) for leaf in leading):
                return (BITS.word,)
            reason = f"the innermost loop of the nest of {self.facts.at(loop.head)} evaluates "
            refused = self._refused(DIGITS, receive, send, reason + digits)
            return replace(refused, lifted_by=BITS.word)
        return ()

    def _amount(self, work: Poly) -> int:
        plain = self.facts.scope_of_these_sizes
        return constant(work.expression(), plain) or 0

    def _trips(self, loop: Do) -> ConstantTrips | None:
        """The iterations of a loop if all ranks have the same ones at any time, and at least
        one."""
        found = trips_of(loop, self.facts, self.dummies)
        if found is None or loop_variable(loop) is None:
            return None
        scope = self.facts.scope
        atoms = found.first.atoms | found.last.atoms
        if not all(isinstance(a, Ref) and is_size(a, scope) and _is_default(a, self.facts)
                   for a in atoms):  # fmt: skip
            return None
        plain = self.facts.scope_of_these_sizes
        number = constant(found.number.expression(), plain)
        return found if number is not None and number > 0 else None

    def _alike(self, receive: MessageSpan, send: MessageSpan) -> bool:
        """Whether both messages have elements of one predefined type, and as many of them for each
        iteration."""
        one, other = (datatype_of(m.content[2], self.facts.scope) for m in (receive, send))
        each = [None if m.parts is None else m.parts.each for m in (receive, send)]
        return one is not None and one == other and each[0] == each[1]

    def _changed(
        self, siblings: tuple[Node, ...], receive: MessageSpan, send: MessageSpan
    ) -> str | None:
        """What is changed of that which the messages are known by."""
        nodes = siblings[receive.start_position : send.end_position + 1]
        return self._changing((receive, send), nodes)

    def _changing(self, messages: tuple[MessageSpan, ...], nodes: tuple[Node, ...]) -> str | None:
        """What some statements change of that which messages are known by."""
        names: set[str] = set()
        for message in messages:
            buffer, *others = message.arguments
            subscripts = buffer.args or () if isinstance(buffer, Ref) else ()
            names |= {name for arg in (*subscripts, *others) for name in names_in(arg)}
        for node in nodes:
            changing = self.facts.footprint(node).written()
            for name in sorted(names):
                if self.facts.names.storage(name) in changing:
                    line = line_of(next(leaves(node)))
                    return f"line {line} may change {name}"
        return None

    def _starts_within(self, siblings: tuple[Node, ...], send: MessageSpan) -> bool:
        """Whether something is started between a send and its wait: another rank may not receive
        what is sent before it has got that, so that no wait comes in front of it."""
        behind = siblings[send.start_position + 1 : send.end_position + 1]
        calls = (call for node in behind for _, call in self.messages.calls(node))
        if any(stage_of(call) not in (Stage.COMPLETE, Stage.NOTHING) for call in calls):
            return True
        others = (x for n in behind for x in leaves(n) if self.messages.call(x) is None)
        return any(e.kind in _TOGETHER for x in others for e in self.facts.footprint(x).effects)

    def _moved(
        self, siblings: tuple[Node, ...], groups: tuple[TiledGroup, ...], others: list[int]
    ) -> tuple[tuple[int, ...], tuple[int, ...]] | str:
        """Which of the other statements come in front of the tiles, and which behind."""
        before: list[int] = []
        after: list[int] = []
        for position in others:
            node = siblings[position]
            bound = self.order.place.bound(node)
            if bound is not None:
                return bound
            passed = [g.node for g in groups if g.position < position]
            passed += [siblings[p] for p in after]
            reason = next((r for p in passed if (r := self.order.why_not(p, node))), None)
            if reason is None:
                before.append(position)
                continue
            if any(self.messages.calls(node)):
                return reason  # a wait for a part would come in front of what others wait for
            passed = [g.node for g in groups if g.position > position]
            if any(self.order.why_not(node, other) for other in passed):
                return reason
            after.append(position)
        return tuple(before), tuple(after)

    def _accesses(
        self,
        receive: MessageSpan,
        send: MessageSpan,
        parts: tuple[MessageParts, MessageParts],
        loop: Do,
    ) -> tuple[Access, Access]:
        modes = Mode.MAYBE_WRITE, Mode.READ
        found = (
            own.access(mode, message.start, loop, self.facts)
            for own, mode, message in zip(parts, modes, (receive, send), strict=True)
        )
        return next(found), next(found)

    @staticmethod
    def _refused(code: Code, receive: MessageSpan, send: MessageSpan, reason: str) -> Refused:
        lines = line_of(receive.start), line_of(send.start)
        message = f"the messages of lines {lines[0]} and {lines[1]} are not cut: {reason}"
        if receive.start is send.start:
            message = f"the message of line {lines[0]} is not cut: {reason}"
        return Refused(code, message, receive.start.span)


def _more_than_a_message(node: Node) -> str:
    """What is around a message that cannot be divided into tiles."""
    if isinstance(node, Branch) and len(node.arms) > 1:
        return "the IF construct around the message has another arm"
    return "what is around the message holds more than the message and loops"


def plain(name: str) -> str:
    """The name that a variable had before asphalt gave it another one."""
    return re.sub(r"^asphalt_(\w+)_\d+$", r"\1", name)


def _is_direct(siblings: tuple[Node, ...], receive: MessageSpan, send: MessageSpan) -> bool:
    """Whether starts and waits stand in no loop of their own, so that each is executed once."""
    found = (
        (receive.start_position, receive.start),
        (receive.end_position, receive.end),
        (send.start_position, send.start),
        (send.end_position, send.end),
    )
    return all(holds_directly(siblings[position], leaf) for position, leaf in found)


def _is_default(atom: Ref, facts: UnitFacts) -> bool:
    """Whether a named constant is an integer of the default kind."""
    symbol = facts.scope.lookup(atom.name)
    return symbol is not None and type_bytes(symbol.type, facts.scope) == 4
