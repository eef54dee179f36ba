"""The time that a unit takes on one rank of many: its statements one after the other, on a clock.

All ranks are taken to be at the same statement at the same time (Culler et al., LogP, PPoPP 1993,
section 3, count in the same way): the message that a rank receives was sent when it sent its own.
What stands in other arms of a branch happens on other ranks at that time.  Where the send of a
message has not been reached yet, or is not seen, it leaves when its receive is posted; a message
whose receive is not seen is needed at the end of the unit.

A message of n bytes takes latency + n/bandwidth, one after the other into a rank; from
``Network.eager`` bytes on it leaves when its receive is posted, with two more latencies for
asking.  Either end pays what the network says that a message costs a processor.  A copy of a
buffer takes its bytes in memory, and a queue of messages has its bookkeeping (``LogGP``, Alexandrov
et al., SPAA 1995, and the costs that it leaves to the processor).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from asphalt.analysis.costs_trips import loop_trips
from asphalt.analysis.costs_types import Surroundings
from asphalt.analysis.further_turns import condition_of, condition_to_go_on
from asphalt.analysis.messages import Envelope, Messages, Part, Way, called, part_of
from asphalt.analysis.mpi_call import MpiCall
from asphalt.analysis.type_maps import type_map
from asphalt.analysis.unit_facts import UnitFacts
from asphalt.gain.amounts import PEERS, amount, known, typical
from asphalt.gain.blocks import BlockCall, Blocks, Step, block_call
from asphalt.gain.work import Work
from asphalt.ir.expr import Arg, Expr
from asphalt.ir.program import Located
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, leaves
from asphalt.simulation.platforms import GB, US, Network

COPY_BANDWIDTH = 10 * GB
"""Of one core, in bytes a second: assumed, as for the copies of ``simulation.platforms``."""
QUEUED = 0.2 * US
"""What a queue does for a message (memory, the size of its type): assumed."""
GROUP = 16
"""The ranks of a collective operation, where they are not known."""
_TURNS = 3  # of a loop that are looked at one by one; the others take as long as the last one
_LEVELS = 4  # of calls


@dataclass(frozen=True, slots=True)
class _Message:
    """One on its way: ``sent`` is when it leaves, None where that is not known when it starts."""

    posted: float
    size: float
    envelope: Envelope | None
    collective: bool = False


@dataclass
class _State:
    """What has happened up to ``now``, in seconds.  ``sent``: by tag, when messages left, and
    ``there``: when the last one is where it goes; ``taken``: how many of a tag were received;
    ``link``: until when the last one comes in."""

    now: float = 0.0
    link: float = 0.0
    pending: dict[int, list[_Message]] = field(default_factory=dict)
    queues: dict[str, list[_Message]] = field(default_factory=dict)
    sent: dict[str, list[float]] = field(default_factory=dict)
    there: dict[str, float] = field(default_factory=dict)
    taken: dict[str, int] = field(default_factory=dict)
    blocks: dict[str, Blocks] = field(default_factory=dict)

    def copy(self) -> _State:
        """One that goes on by itself."""
        queues = {name: list(queue) for name, queue in self.queues.items()}
        sent = {tag: list(times) for tag, times in self.sent.items()}
        pending = {start: list(messages) for start, messages in self.pending.items()}
        there, taken, blocks = dict(self.there), dict(self.taken), dict(self.blocks)
        return _State(self.now, self.link, pending, queues, sent, there, taken, blocks)


@dataclass
class Clock:
    """Runs a unit on a network.  ``facts``: those of a procedure that it calls."""

    network: Network
    work: Work
    facts_of: Callable[[Located], UnitFacts]
    facts: UnitFacts
    state: _State = field(default_factory=_State)
    _others: dict[str, float] = field(default_factory=dict)
    _received: set[str] = field(default_factory=set)
    _again: bool = False
    _goes_on: dict[Arg, bool] = field(default_factory=dict)
    _depth: int = 0
    _exploring: bool = False
    _talking: dict[int, tuple[Node, bool]] = field(default_factory=dict)

    def run(self) -> float:
        """The seconds that the unit takes."""
        self._list(self.facts.unit.body)
        unseen = (there for tag, there in self.state.there.items() if tag not in self._received)
        return max(self.state.now, *unseen, 0.0)

    @property
    def messages(self) -> Messages:
        """Of the unit that is run."""
        return self.facts.once(Messages)

    def _list(self, nodes: tuple[Node, ...]) -> None:
        for node in nodes:
            goes_on = self._is_true(node)
            if goes_on is False:
                continue
            if goes_on and isinstance(node, Branch):
                self._list(node.arms[0].body)
                continue
            if not self._talks(node):
                self.state.now += self.work.seconds((node,), self.facts.scope)
                continue
            match node:
                case Leaf():
                    self._statement(node)
                case Do():
                    self._loop(node)
                case Branch():
                    self._branch(node)
                case Block(body=body):
                    self._list(body)

    def _is_true(self, node: Node) -> bool | None:
        """Whether the condition of a statement holds in this turn of a loop, where that is told."""
        condition = condition_of(node) if self._goes_on else None
        return None if condition is None else self._goes_on.get(condition)

    def _talks(self, node: Node) -> bool:
        """Whether messages start or end in it, or in what it calls."""
        found = self._talking.get(id(node))
        if found is None:
            self._talking[id(node)] = node, False  # of a procedure that calls itself
            talks = any(self._leaf_talks(leaf) for leaf in leaves(node))
            found = self._talking[id(node)] = node, talks
        return found[1]

    def _leaf_talks(self, leaf: Leaf) -> bool:
        if self.messages.call(leaf) is not None or block_call(leaf) is not None:
            return True
        callee = self._callee(leaf)
        if callee is None or self._depth >= _LEVELS:
            return False
        with self._inside(callee):
            return any(self._talks(node) for node in callee.unit.body)

    def _callee(self, leaf: Leaf) -> UnitFacts | None:
        call = called(leaf.what)
        found = None if call is None else self.work.procedures(call, self.facts.scope)
        return None if found is None else self.facts_of(found[0])

    @contextmanager
    def _inside(self, callee: UnitFacts) -> Iterator[None]:
        facts, self.facts = self.facts, callee
        self._depth += 1
        yield
        self.facts = facts
        self._depth -= 1

    def _loop(self, loop: Do) -> None:
        head = loop.head.what
        around = Surroundings(self.facts.scope)
        trips = loop_trips(head, around) if isinstance(head, DoHead) else None
        number = known(trips, self.facts.scope)
        number = PEERS if number is None else number
        if number > PEERS and any(block_call(leaf) is not None for leaf in leaves(loop)):
            self._parts(loop, number)
            return
        again, outer = self._again, self._goes_on
        only_receives = not any(self._sends(leaf) for leaf in leaves(loop))
        goes_on = condition_to_go_on(loop)
        turn = 0.0
        looked_at = min(number, max(_TURNS, PEERS))
        for count in range(looked_at):
            began, before, is_last = self.state.now, turn, count == looked_at - 1
            self._again = again or (count > 0 and only_receives)
            if goes_on is not None:
                self._goes_on = {**outer, goes_on: not is_last}
            self._list(loop.body)
            turn = before if is_last and goes_on is not None else self.state.now - began
        self._again, self._goes_on = again, outer
        self.state.now += turn * (number - looked_at)

    def _parts(self, loop: Do, number: int) -> None:
        """A loop over the blocks of an operation, of which there are more than are looked at: each
        turn stands for several."""
        for _ in range(PEERS):
            for node in loop.body:
                if self._talks(node):
                    self._list((node,))
                else:
                    work = self.work.seconds((node,), self.facts.scope)
                    self.state.now += work * number / PEERS

    def _sends(self, leaf: Leaf) -> bool:
        call = self.messages.call(leaf)
        if call is None:
            return self._callee(leaf) is not None
        return any(one.way is Way.OUT for one in self._envelopes(call))

    def _branch(self, branch: Branch) -> None:
        """Ranks are in different arms.  The next thing that they do together waits for the slowest;
        in between, the others may go ahead: it is half of the time of each."""
        began, others = self.state, self._others
        ends: list[_State] = []
        exploring = self._exploring
        # what the arms of other ranks have sent is asked once on each level, not in both turns
        for last in (False, True) if len(branch.arms) > 1 and not exploring else (True,):
            self._exploring = exploring or not last
            sent = [end.sent for end in ends]
            ends = []
            for number, arm in enumerate(branch.arms):
                self.state = began.copy()
                if last:
                    self._others = others | _newly_sent(
                        began, [*sent[:number], *sent[number + 1 :]]
                    )
                self._list(arm.body)
                ends.append(self.state)
            self._others = others
        self._exploring = exploring
        self.state = max(ends, key=lambda end: end.now)
        self.state.now = (self.state.now + sum(end.now for end in ends) / len(ends)) / 2
        self.state.link = min(self.state.link, self.state.now)
        for end in ends:
            self.state.pending = {**end.pending, **self.state.pending}
            self.state.queues = {**end.queues, **self.state.queues}
            self.state.sent = {**end.sent, **self.state.sent}
            self.state.there = {**end.there, **self.state.there}

    def _statement(self, leaf: Leaf) -> None:
        call, block = self.messages.call(leaf), block_call(leaf)
        if block is not None:
            self._block(leaf, block)
            return
        if call is None:
            callee = self._callee(leaf)
            if callee is not None and self._depth < _LEVELS:
                with self._inside(callee):
                    self._list(callee.unit.body)
            return
        match part_of(call):
            case Part.START:
                self._start(leaf, call)
            case Part.COMPLETE:
                several = any(p.kind == "REQUEST" and p.array for p, _ in call.bound())
                for started in self.messages.completed_by(leaf) or ():
                    pending = self.state.pending.get(id(started.leaf), [])
                    for _ in range(len(pending) if several else min(1, len(pending))):
                        self._finish(pending.pop(0))
            case Part.BOTH:
                self._blocking(leaf, call)
            case Part.OTHER if not self._envelopes(call):
                size = self._size(leaf, call)
                self._finish(_Message(self.state.now, size, None, collective=True))
            case Part.OTHER:
                self._blocking(leaf, call)
            case Part.NOTHING:
                pass

    def _start(self, leaf: Leaf, call: MpiCall) -> None:
        size = self._size(leaf, call)
        envelopes = self._envelopes(call)
        self.state.now += _replacing(call, size)
        received = (one for one in envelopes if one.way is Way.IN)
        envelope = next(received, envelopes[0] if envelopes else None)
        message = _Message(self.state.now, size, envelope, collective=envelope is None)
        if call.queue is not None:
            self.state.now += QUEUED
            self.state.queues.setdefault(repr(call.queue).lower(), []).append(message)
            return
        self.state.pending.setdefault(id(leaf), []).append(message)
        for one in envelopes:
            if one.way is Way.OUT:
                self.state.now += self.network.sending_cost(size)
                self._left(one, size)

    def _blocking(self, leaf: Leaf, call: MpiCall) -> None:
        if call.queue is not None:
            queue = self.state.queues.get(repr(call.queue).lower(), [])
            size = typical(1)
            if queue:
                message = queue.pop(0)
                size = message.size
                self._finish(message)
            self.state.now += QUEUED + size / COPY_BANDWIDTH
            return
        size = self._size(leaf, call)
        copied = call.binding == "runtime"
        self.state.now += _replacing(call, size)
        for envelope in self._envelopes(call):
            if envelope.way is Way.OUT:
                self.state.now += self.network.sending_cost(size)
                if copied:
                    self.state.now += QUEUED + size / COPY_BANDWIDTH
                self._left(envelope, size)
                if not copied:
                    self._finish(_Message(self.state.now, size, envelope))
        for envelope in self._envelopes(call):
            if envelope.way is Way.IN:
                self._finish(_Message(self.state.now, size, envelope))

    def _left(self, envelope: Envelope, size: float) -> None:
        tag = self._tag(envelope)
        self.state.sent.setdefault(tag, []).append(self.state.now)
        way = self.network.latency + size / self.network.bandwidth
        self.state.there[tag] = self.state.now + way

    def _finish(self, message: _Message) -> None:
        """The clock goes on to when a message is there, or its buffer is free again."""
        state, network = self.state, self.network
        envelope = message.envelope
        if message.collective or envelope is None:
            state.now = max(state.now, message.posted + self._together(message.size))
            return
        time = message.size / network.bandwidth
        asked = message.size >= network.eager
        if envelope.way is Way.OUT:
            if asked:
                state.now = max(state.now, message.posted + 3 * network.latency + time)
            return
        sent = self._when_sent(message, envelope)
        begins = sent if not asked else max(sent, message.posted) + 2 * network.latency
        there = max(begins + network.latency, state.link) + time
        if there < message.posted and not asked:  # the library has kept it: a copy more
            state.now += message.size / COPY_BANDWIDTH
        state.link = there
        state.now = max(state.now, there) + network.receiving_cost(message.size)

    def _together(self, size: float) -> float:
        """The seconds of a collective operation."""
        network = self.network
        ends = network.sending_cost(size) + network.receiving_cost(size)
        return math.log2(GROUP) * (ends + network.latency + size / network.bandwidth)

    def _block(self, leaf: Leaf, call: BlockCall) -> None:
        """What is done for an operation that was decomposed."""
        state, name = self.state, call.variable
        if call.step is Step.START:
            size = self._bytes(call.count, call.datatype, leaf)
            state.blocks[name] = Blocks.started(state.now, self._together(size), later=call.later)
            return
        blocks = state.blocks.get(name, Blocks(state.now, 0.0))
        match call.step:
            case Step.SEND:
                state.blocks[name] = blocks.sent(state.now)
            case Step.REST:
                state.blocks[name] = blocks.sent(state.now, PEERS)
            case Step.AWAIT:
                state.blocks[name], there = blocks.awaited()
                state.now = max(state.now, there)
            case Step.FINISH:
                state.now = max(state.now, blocks.end)

    def _when_sent(self, message: _Message, envelope: Envelope) -> float:
        tag = self._tag(envelope)
        self._received.add(tag)
        if tag in self._others:
            return self._others[tag]
        taken = self.state.taken.get(tag, 0) + (0 if self._again else 1)
        self.state.taken[tag] = taken
        times = self.state.sent.get(tag, [])
        return times[taken - 1] if 0 < taken <= len(times) else message.posted

    def _tag(self, envelope: Envelope) -> str:
        """What sends and receives of one message have in common."""
        value = self.facts.values.constants(envelope.tag).value
        return str(value) if value is not None else repr(envelope.tag).lower()

    def _envelopes(self, call: MpiCall) -> tuple[Envelope, ...]:
        if call.queue is not None and part_of(call) is not Part.START:
            return ()
        return self.messages.envelopes(call) or ()

    def _size(self, leaf: Leaf, call: MpiCall) -> float:
        """The bytes of a message."""
        counts = [a for p, a in call.bound() if p.is_count and not p.array]
        types = [None if p.array else a for p, a in call.bound() if p.kind == "DATATYPE"]
        if not types:
            return 0.0
        return self._bytes(counts[0] if counts else None, types[0], leaf)

    def _bytes(self, count: Expr | None, datatype: Expr | None, leaf: Leaf) -> float:
        """The bytes of so many elements; None: not known."""
        number = typical(1) if count is None else self._count(count)
        facts = self.facts
        made = None if datatype is None else type_map(datatype, leaf, facts.scope, facts.values)
        if made is None:
            return number * 8
        bytes_ = 8 if made.element.bytes is None else made.element.bytes
        return number * self._count(made.elements.expression()) * bytes_

    def _count(self, expr: Expr) -> float:
        return amount(expr, self.facts.scope).value


def _replacing(call: MpiCall, size: float) -> float:
    """The seconds for the copy of a message that leaves from where another comes to."""
    exchange = call.procedure.exchange
    one_buffer = exchange is not None and exchange.send == exchange.receive
    return size / COPY_BANDWIDTH if one_buffer else 0.0


def _newly_sent(began: _State, others: list[dict[str, list[float]]]) -> dict[str, float]:
    """When other ranks sent their first message of each tag since a branch began."""
    found: dict[str, float] = {}
    for sent in others:
        for tag, times in sent.items():
            new = times[len(began.sent.get(tag, [])) :]
            if new:
                found[tag] = min(new[0], found.get(tag, new[0]))
    return found
