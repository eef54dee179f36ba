"""What calls of MPI do to the clocks of roles: when messages leave, and when they arrive."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from asphalt.analysis.messages.messages import Stage, Way
from asphalt.gain.amounts import PEERS, typical
from asphalt.gain.blocks import BlockCall, BlocksInFlight, BlockStep
from asphalt.gain.priced_transfers import Letter, PricedTransfer
from asphalt.gain.roles import MessageInFlight, RankRole
from asphalt.machine.platforms import GB, US, Network

COPY_BANDWIDTH = 10 * GB
"""Of one core, in bytes a second: assumed, as for the copies of ``machine.platforms``."""
QUEUED = 0.2 * US
"""What a queue does for a message (memory, the size of its type): assumed."""
GROUP = 16
"""The ranks of a collective operation, where they are not known."""


@dataclass
class PostedMessages:
    """The messages between ``roles``.  ``known``: messages of roles in other arms of the enclosing
    branches; ``received``: the tags of messages whose receive is seen; ``again``: receives belong
    to several at the same time, from different ranks."""

    network: Network
    roles: list[RankRole]
    known: list[RankRole] = field(default_factory=list)
    received: set[str] = field(default_factory=set)
    again: bool = False

    def execute(self, transfer: PricedTransfer, active: Sequence[RankRole]) -> None:
        """Some roles execute a call."""
        match transfer.part:
            case Stage.START:
                self._start(transfer, active)
            case Stage.COMPLETE:
                for role in active:
                    self._complete(role, transfer)
            case Stage.OTHER if not transfer.letters:
                posted = _all_there(active)
                for role in active:
                    self._finish(role, MessageInFlight(posted, transfer.size, None))
            case Stage.BOTH | Stage.OTHER if transfer.queue is not None:
                for role in active:
                    self._take(role, transfer.queue)
            case Stage.BOTH | Stage.OTHER:
                self._exchange(transfer, active)
            case Stage.NOTHING:
                pass

    def execute_block(self, call: BlockCall, size: float, active: Sequence[RankRole]) -> None:
        """Some roles execute a call for an operation that was decomposed; ``size``: bytes of a
        block, at its start."""
        name, posted = call.variable, _all_there(active)
        for role in active:
            blocks = role.blocks.get(name, BlocksInFlight(role.now, 0.0))
            match call.step:
                case BlockStep.START:
                    time = self._together(size)
                    role.blocks[name] = BlocksInFlight.started(posted, time, later=call.later)
                case BlockStep.SEND:
                    role.blocks[name] = blocks.sent(role.now)
                case BlockStep.REST:
                    role.blocks[name] = blocks.sent(role.now, PEERS)
                case BlockStep.AWAIT:
                    role.blocks[name], there = blocks.awaited()
                    role.now = max(role.now, there)
                case BlockStep.FINISH:
                    role.now = max(role.now, blocks.end)

    def end(self, last: bool) -> float:
        """When all roles are done, and all messages have arrived whose receive is not seen.

        ``last``: nothing follows.  Otherwise the next thing that ranks do together waits for the
        slowest role, but what they do before that does not: it counts as half of the time of each.
        """
        there = [item for role in self.roles for item in role.there.items()]
        unseen = (time for tag, time in there if tag not in self.received)
        times = [role.now for role in self.roles]
        slowest = max(times)
        own = slowest if last else (slowest + sum(times) / len(times)) / 2
        return max(own, *unseen, 0.0)

    def _start(self, transfer: PricedTransfer, active: Sequence[RankRole]) -> None:
        size, letters = transfer.size, (*transfer.going(Way.IN), *transfer.letters)
        letter = letters[0] if letters else None
        for role in active:
            role.now += _replacing(transfer)
        together = _all_there(active)
        for role in active:
            posted = together if letter is None else role.now
            message = MessageInFlight(posted, size, letter, transfer.leaf, transfer.request)
            if transfer.queue is not None:
                role.now += QUEUED
                queued = role.queues.get(transfer.queue, ())
                role.queues[transfer.queue] = (*queued, message)
                continue
            role.pending = (*role.pending, message)
            for one in transfer.going(Way.OUT):
                role.now += self.network.sending_cost(size)
                self._leave(role, one, size)

    def _complete(self, role: RankRole, transfer: PricedTransfer) -> None:
        """Complete the operations of a wait; if it is not known which, those that may have its
        request."""
        if transfer.starts is None:
            named = transfer.request
            found = [[m for m in role.pending if None in (named, m.request) or m.request == named]]
        else:
            found = [[m for m in role.pending if m.started == start] for start in transfer.starts]
        ended = [m for own in found for m in (own if transfer.several else own[:1])]
        role.pending = tuple(m for m in role.pending if m not in ended)
        for message in ended:
            self._finish(role, message)

    def _take(self, role: RankRole, queue: str) -> None:
        """Take a message out of a queue."""
        size, queued = typical(1), role.queues.get(queue, ())
        if queued:
            size = queued[0].size
            role.queues[queue] = queued[1:]
            self._finish(role, queued[0])
        role.now += QUEUED + size / COPY_BANDWIDTH

    def _exchange(self, transfer: PricedTransfer, active: Sequence[RankRole]) -> None:
        """Send from all roles before one of them receives."""
        size = transfer.size
        for role in active:
            role.now += _replacing(transfer)
            for letter in transfer.going(Way.OUT):
                role.now += self.network.sending_cost(size)
                if transfer.copied:
                    role.now += QUEUED + size / COPY_BANDWIDTH
                self._leave(role, letter, size)
                if not transfer.copied:
                    self._finish(role, MessageInFlight(role.now, size, letter))
        for role in active:
            for letter in transfer.going(Way.IN):
                self._finish(role, MessageInFlight(role.now, size, letter))

    def _leave(self, role: RankRole, letter: Letter, size: float) -> None:
        role.sent[letter.tag] = (*role.sent.get(letter.tag, ()), role.now)
        way = self.network.latency + size / self.network.bandwidth
        role.there[letter.tag] = role.now + way

    def _finish(self, role: RankRole, message: MessageInFlight) -> None:
        """Continue a role when a message has arrived, or its buffer is free again."""
        network, letter = self.network, message.letter
        if letter is None:
            role.now = max(role.now, message.posted + self._together(message.size))
            return
        time = message.size / network.bandwidth
        asked = message.size >= network.eager
        if letter.way is Way.OUT:
            if asked:
                role.now = max(role.now, message.posted + 3 * network.latency + time)
            return
        sent = self._when_sent(role, message, letter)
        begins = sent if not asked else max(sent, message.posted) + 2 * network.latency
        there = max(begins + network.latency, role.link) + time
        if there < message.posted and not asked:  # the library has kept it: a copy more
            role.now += message.size / COPY_BANDWIDTH
        role.link = there
        role.now = max(role.now, there) + network.receiving_cost(message.size)

    def _when_sent(self, role: RankRole, message: MessageInFlight, letter: Letter) -> float:
        """When the slowest of the roles that have sent such a message did so; if none has reached
        that, when the message is requested."""
        tag = letter.tag
        self.received.add(tag)
        taken = role.taken[tag] = role.taken.get(tag, 0) + (0 if self.again else 1)
        others = [one for one in self.known if not one.has_ranks_of(role)]
        times: dict[tuple[object, ...], float] = {}
        for one in (*others, *self.roles):
            sent = one.sent.get(tag, ())
            if 0 < taken <= len(sent):
                times[one.name] = sent[taken - 1]
        return max(times.values(), default=message.posted)

    def _together(self, size: float) -> float:
        """The seconds of a collective operation."""
        network = self.network
        ends = network.sending_cost(size) + network.receiving_cost(size)
        return math.log2(GROUP) * (ends + network.latency + size / network.bandwidth)


def _all_there(active: Iterable[RankRole]) -> float:
    """When the last role reaches what ranks do all together."""
    return max((role.now for role in active), default=0.0)


def _replacing(transfer: PricedTransfer) -> float:
    """The seconds for the copy of a message that leaves from the buffer that another one arrives
    in."""
    return transfer.size / COPY_BANDWIDTH if transfer.one_buffer else 0.0
