"""Which messages can be cut into segments, at the send, at the receive, or at both.

The nest that fills the message sends each segment while it is still executed; the nest behind the
receive uses the segments one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from asphalt.analysis.conditions.pairing import PROTOCOL
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.memory.accesses import Access, Mode
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.names.constants import constant
from asphalt.analysis.names.designators import designator_name
from asphalt.analysis.schedule.check_segments import Posted, check_segments
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.tiling.equal_parts import ConstantTrips, parts_of
from asphalt.analysis.tiling.tiled_groups import TiledGroup, group_at
from asphalt.analysis.tiling.work_estimate import operations_of
from asphalt.analysis.verdicts.pipelining_codes import BETWEEN, MESSAGES, NEEDED, PARTS
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.ir.expr import Ref
from asphalt.ir.records import record
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Block, Branch, Do, Node, leaves
from asphalt.transforms.rewriting.edit import lists_in
from asphalt.transforms.rewriting.step import Found, Step
from asphalt.transforms.tiling.message_tiles import MessageSpan
from asphalt.transforms.tiling.program_starts import OwnStarts
from asphalt.transforms.tiling.segment_tiles import SegmentEnd
from asphalt.transforms.tiling.wave_pipelines import Finder, plain
from asphalt.transforms.tiling.whole_messages import (
    exchanged_messages,
    messages_of,
    started_messages,
)

Path = tuple[int, ...]


@record
class Segmented(Step):
    """A message that is cut into segments at both ends.

    ``site``: the name in the header; ``along``: the variable of the loops; ``work``: about the
    operations of an iteration of the nests of both ends, ``amount``: of all iterations, with the
    present sizes.  ``between``: what is executed between the nest in front of the send and the wait
    of the receive.
    """

    receive: SegmentEnd
    send: SegmentEnd
    trips: ConstantTrips
    site: str
    along: str
    work: Poly
    amount: int
    between: tuple[Node, ...]


@record
class _Place:
    """A message in its list; ``order``: where each statement of the unit stands in the text."""

    path: Path
    siblings: tuple[Node, ...]
    message: MessageSpan
    order: Mapping[int, int]

    @property
    def start(self) -> int:
        """Where it starts."""
        return self.order[id(self.message.start)]

    @property
    def at(self) -> int:
        """The position of its list where the nest is that is tiled: in front of the start of a
        send, behind the wait of a receive."""
        return self.message.end_position if self.message.receives else self.message.start_position


class SegmentableMessages(Finder):
    """The messages of one unit that may be cut; ``blocking``: including those that could be
    non-blocking."""

    def __init__(
        self, facts: UnitFacts, messages: Messages, order: Independence, *, blocking: bool = False
    ) -> None:
        super().__init__(facts, messages, order)
        self._blocking = blocking
        self._plain = facts.scope_of_these_sizes

    def all(self) -> Iterator[Found]:
        """The messages that can be cut, or what keeps them from it."""
        return (found for _, _, found in self.pairs_found())

    def pairs_found(self) -> Iterator[tuple[MessageSpan, MessageSpan, Found]]:
        """These results, each with the send and the receive."""
        body = self.facts.unit.body
        order = {id(leaf): n for n, leaf in enumerate(x for node in body for x in leaves(node))}
        places = [
            _Place(path, siblings, message, order)
            for path, siblings in lists_in(body)
            for message in self._in(siblings)
        ]
        places.sort(key=lambda place: place.start)
        for send in (p for p in places if not p.message.receives):
            for receive in (p for p in places if p.message.receives):
                tags = {constant(p.message.arguments[4], self._plain) for p in (send, receive)}
                if len(tags) > 1 or None in tags or not _is_ahead(send, receive, body):
                    continue
                found = self._of(send, receive)
                if found is not None:
                    yield send.message, receive.message, found

    def _in(self, siblings: tuple[Node, ...]) -> tuple[MessageSpan, ...]:
        own = tuple(self.facts.once(OwnStarts).messages_of(siblings))
        if self._blocking:
            alone = messages_of(siblings, self.facts, self.messages)
            return (*own, *alone, *exchanged_messages(siblings, self.facts))
        return (*own, *started_messages(siblings, self.messages))

    def _of(self, send: _Place, receive: _Place) -> Found | None:
        nests = [*self._nests(send), *self._nests(receive)]
        if not nests:
            return None
        stays = send.message.stays or receive.message.stays
        if stays is not None:
            return self._refused(BETWEEN, receive.message, send.message, stays)
        reason = "no loop has constant bounds and the step 1"
        lost: Refused | None = None
        tried: list[ConstantTrips] = []
        for loop in nests:
            trips = self._trips(loop)
            if trips is None or trips in tried:
                continue
            tried.append(trips)
            reason = "no iteration has a part of its own"
            ends = self._with_parts(send, trips), self._with_parts(receive, trips)
            if ends[0] is not None and ends[1] is not None:
                found = self._cut(ends[0], ends[1], trips)
                if not isinstance(found, Refused):
                    return found
                lost = lost or found
        return lost or self._refused(PARTS, receive.message, send.message, reason)

    def _nests(self, place: _Place) -> tuple[Do, ...]:
        """The last nest in front of a send that fills the message, or the first behind a receive
        that uses it."""
        message, body = place.message, place.siblings
        receives = message.receives
        leaf = message.end if receives else message.start
        own = group_at(place.at, body[place.at], leaf, first=receives)
        if own is None:
            return ()
        if own.loops:
            return own.loops
        name = designator_name(message.arguments[0])
        buffer = None if name is None else self.facts.names.storage(name)
        beside = body[place.at + 1 :] if receives else reversed(body[: place.at])
        for node in (n for n in beside if isinstance(n, Do)):
            footprint = self.facts.footprint(node)
            read = {a.storage for a in footprint.accesses}
            if buffer in (read if receives else footprint.written()):
                return (node,)
        return ()

    def _with_parts(self, place: _Place, trips: ConstantTrips) -> _Place | None:
        message = place.message
        parts = parts_of(*message.content, trips, message.start, self.facts, self.dummies)
        return None if parts is None else replace(place, message=replace(message, parts=parts))

    def _cut(self, send: _Place, receive: _Place, trips: ConstantTrips) -> Found:
        out, come = send.message, receive.message
        if not self._alike(come, out):
            return self._refused(MESSAGES, come, out, "they have not the same datatype and count")
        ends: list[SegmentEnd] = []
        lost: list[str] = []
        for place in (send, receive):
            side, reason = self._side(place, trips)
            changed = self._changes(place.siblings, side)
            if changed is not None:
                return self._refused(BETWEEN, come, out, changed)
            ends.append(side)
            lost += [reason] if reason is not None else []
        if not any(end.groups for end in ends):
            code, why = (NEEDED, lost[0]) if lost else (PARTS, "no nest has the same iterations")
            return self._refused(code, come, out, why)
        reason = self.order.calls.earlier_sends or self.pairs.why_not(
            (come.arguments[4], out.arguments[4]), (come.start, out.start)
        )
        if reason is not None:
            return self._refused(MESSAGES, come, out, reason)
        paced = not self._starts_within(send.siblings, out)
        posted = Posted.at(receive.start, send.start, send.order[id(out.end)])
        fault = check_segments(paced, posted)
        if fault is not None:
            return self._refused(PROTOCOL, come, out, str(fault))
        ends[0] = replace(ends[0], message=replace(out, paced=paced))
        return self._step(ends[1], ends[0], trips, _between(send, receive, self.facts.unit.body))

    def _step(
        self, receive: SegmentEnd, send: SegmentEnd, trips: ConstantTrips, between: tuple[Node, ...]
    ) -> Found:
        loops = [x for end in (send, receive) for group in end.groups for x in group.loops]
        work = operations_of([n for loop in loops for n in loop.body], self.facts, self.dummies)
        head = loops[0].head.what
        assert isinstance(head, DoHead)
        assert isinstance(head.var, Ref)
        out, come = send.message, receive.message
        assumed = self._assumed(loops, come, out)
        if isinstance(assumed, Refused):
            return assumed
        return Segmented(
            line_of(out.start),
            f"the message of lines {line_of(out.start)} and {line_of(come.start)} leaves and comes "
            f"in segments, each with a tile of the nest of {self.facts.at(loops[0].head)}",
            (
                "no other messages of the program have its tag, and both ends have equal parts",
                "no iteration changes a part that was sent, nor needs a later one",
            ),
            receive,
            send,
            trips,
            f"{self.facts.unit.name or 'main'}_{plain(head.var.name)}",
            head.var.spelled,
            work,
            self._amount(work * trips.number),
            between,
            assumed=assumed,
        )

    def _side(self, place: _Place, trips: ConstantTrips) -> tuple[SegmentEnd, str | None]:
        """One end with as many nests beside the message as can be executed in tiles with it; none,
        where the nest that the message needs cannot, with the reason."""
        message, siblings = place.message, place.siblings
        whole = SegmentEnd(place.path, message)
        nests = self._nests(place)
        if not nests or any(self._trips(loop) != trips for loop in nests):
            return whole, None
        leaf = message.end if message.receives else message.start
        own = group_at(place.at, siblings[place.at], leaf, first=message.receives)
        assert own is not None
        assert message.parts is not None
        mode = Mode.MAYBE_WRITE if message.receives else Mode.READ
        access = message.parts.access(mode, message.start, nests[0], self.facts)
        reason = self.fusion.why_not_alone(own) or self._unlike((own,), access, message)
        if reason is not None:
            return whole, reason
        side = replace(whole, groups=(own,))
        step = 1 if message.receives else -1
        ends = {message.start_position, message.end_position} - {place.at}
        foreign = self._buffers_of_others(place)
        others: list[int] = []
        position = place.at + step
        reason = None
        while 0 <= position < len(siblings) and position not in ends:
            node = siblings[position]
            group = group_at(position, node, None, first=False)
            alike = group is not None and self._trips(group.loops[0]) == trips
            if group is None or not alike or self.fusion.why_not_alone(group) is not None:
                if self.order.place.bound(node) is not None or any(self.messages.calls(node)):
                    break
                others.append(position)
            elif foreign & {a.storage for a in self.facts.footprint(node).accesses} and not any(
                loop is node for loop in nests
            ):
                break
            else:
                groups = (*side.groups, group) if step > 0 else (group, *side.groups)
                reason = self._unlike(groups, access, message)
                inside = range(groups[0].position, groups[-1].position)
                between = sorted(p for p in others if p in inside)
                moved = self._moved(siblings, groups, between)
                if reason is not None or isinstance(moved, str):
                    reason = reason or str(moved)
                    break
                side = replace(side, groups=groups, before=moved[0], after=moved[1])
            position += step
        tiled = [loop for group in side.groups for loop in group.loops]
        if not all(any(loop is other for other in tiled) for loop in nests):
            return whole, reason
        return side, None

    def _buffers_of_others(self, place: _Place) -> frozenset[str]:
        """The buffers of the other messages of a list: their nests are tiled with them."""
        own = place.message.start
        found = (
            *self.facts.once(OwnStarts).messages_of(place.siblings),
            *started_messages(place.siblings, self.messages),
        )
        names = (designator_name(m.arguments[0]) for m in found if m.start is not own)
        return frozenset(self.facts.names.storage(name) for name in names if name is not None)

    def _unlike(
        self, groups: tuple[TiledGroup, ...], access: Access, message: MessageSpan
    ) -> str | None:
        received, sent = (access, None) if message.receives else (None, access)
        return self.fusion.why_not(groups, received, sent)

    def _changes(self, siblings: tuple[Node, ...], side: SegmentEnd) -> str | None:
        """What is changed of that which a message is known by, while its parts come or go."""
        message, covered = side.message, side.covered
        first, last = message.start_position, message.end_position
        if side.groups:
            first, last = min(covered.start, first), max(covered.stop - 1, last)
        return self._changing((message,), siblings[first : last + 1])


def _chain(path: Path, body: tuple[Node, ...]) -> list[tuple[tuple[Node, ...], int, int]]:
    """The lists around one that a path leads to, with the position in each, and the arm."""
    found: list[tuple[tuple[Node, ...], int, int]] = []
    steps = iter(path)
    for number in steps:
        node = body[number]
        arm = next(steps) if isinstance(node, Branch) else 0
        found.append((body, number, arm))
        if isinstance(node, Branch):
            body = node.arms[arm].body
        else:
            assert isinstance(node, Do | Block)
            body = node.body
    return found


def _apart(
    send: _Place, receive: _Place, body: tuple[Node, ...]
) -> tuple[list[tuple[tuple[Node, ...], int, int]], list[tuple[tuple[Node, ...], int, int]]]:
    """What is around each, from the innermost list with both of them on."""
    one = [*_chain(send.path, body), (send.siblings, send.message.start_position, 0)]
    other = [*_chain(receive.path, body), (receive.siblings, receive.message.end_position, 0)]
    while len(one) > 1 and len(other) > 1 and one[0][1:] == other[0][1:]:
        del one[0], other[0]
    return one, other


def _is_ahead(send: _Place, receive: _Place, body: tuple[Node, ...]) -> bool:
    """Whether a send comes before its receive, or other ranks execute it at that time, as often."""
    if send.message.start is receive.message.start:
        return True  # one call of all ranks
    one, other = _apart(send, receive, body)
    inner = (around[number] for places in (one, other) for around, number, _ in places[:-1])
    if any(not isinstance(node, Branch) for node in inner):
        return False
    first, second = one[0], other[0]
    return first[1] < second[1] or (first[1] == second[1] and first[2] != second[2])


def _between(send: _Place, receive: _Place, body: tuple[Node, ...]) -> tuple[Node, ...]:
    """What is executed between the start of a send and the wait of a receive."""
    one, other = _apart(send, receive, body)
    (around, first, _), (_, second, _) = one[0], other[0]
    if first == second and len(one) > 1 and len(other) > 1:
        return ()
    behind = [n for siblings, number, _ in one[1:] for n in siblings[number + 1 :]]
    front = [n for siblings, number, _ in other[1:] for n in siblings[:number]]
    return (*behind, *around[first + 1 : second], *front)
