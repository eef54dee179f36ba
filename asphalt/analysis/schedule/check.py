"""The check of a plan's schedule for all ranks, before anything is emitted.

``check`` runs the abstract programs of all ranks against each other by MPI's rules: messages of a
pair do not overtake each other (MPI-4.0 section 3.5), a send may wait until its receive is posted
(rendezvous, the strictest that the standard allows), a slot holds one request.  The events of each
rank happen in order, a completion only enables more events, and the matching of messages does not
depend on the order of ranks: so one simulated execution stands for all.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from itertools import permutations, product
from typing import Protocol

from asphalt.analysis.schedule.exchange import (
    Collective,
    Compute,
    Event,
    Post,
    RankProgram,
    Reach,
    Send,
    Sizes,
    TileShape,
    Wait,
    iterations,
    last_writer,
    schedule,
    source,
)
from asphalt.ir.records import record


class Fault(Enum):
    """The faults of a schedule."""

    MISSING_RECEIVE = "a send has no receive"
    MISSING_SEND = "a receive has no send"
    WRONG_LENGTH = "a send and its receive differ in length"
    WAIT_CYCLE = "ranks wait for each other"
    LOST_PIECE = "an element is never received"
    DUPLICATED_PIECE = "an element is received twice"
    MISPLACED_PIECE = "an element is received from or into the wrong place"
    EARLY_SEND = "an element is sent before it is final"
    EARLY_RECEIVE = "something is received in what an iteration still reads"
    UNRECEIVED = "an iteration is executed before its data is received"
    SLOT_REUSED = "a request is overwritten before it is completed"
    NOT_WAITED = "a request is never completed"
    ITERATIONS = "an iteration is not executed exactly once"
    DISAGREEMENT = "some ranks call the collective and others do not"


@record
class ProtocolError:
    """A fault of a schedule with the place where it shows."""

    kind: Fault
    witness: str

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.witness}"


class Moves(Protocol):
    """The elements that an exchange moves between ranks, and when it may."""

    def trips_of(self, rank: int) -> int:
        """The trip count of the producer on a rank."""

    def final_in(self, rank: int, element: int) -> int:
        """The iteration that makes an element of a rank's send buffer final (-1: before all)."""

    def origins(self, rank: int, ranks: int) -> Mapping[int, tuple[int, int]]:
        """For each element that a rank receives: the rank that it comes from, and its element of
        that rank's send buffer."""


@record
class Alltoall:
    """The elements that MPI_ALLTOALL moves: ``count`` elements from each rank to each rank.

    ``iterations``: trip count of the producer on each rank; ``final``: the iteration that makes an
    element of the array that is sent from final (-1: final before the loop).  ``source``: where
    element j of the block for a rank lies in that array, if not in the order of the blocks.
    """

    count: int
    iterations: int
    final: Callable[[int], int]
    source: Callable[[int, int], int] | None = None

    def lies(self, rank: int, element: int) -> int:
        """Where an element of the block for ``rank`` is sent from."""
        return self.source(rank, element) if self.source else rank * self.count + element

    def trips_of(self, rank: int) -> int:
        """The trip count, the same on all ranks."""
        return self.iterations

    def final_in(self, rank: int, element: int) -> int:
        """The iteration that makes an element final, the same on all ranks."""
        return self.final(element)

    def origins(self, rank: int, ranks: int) -> Mapping[int, tuple[int, int]]:
        """Element j of block p comes from element j of block ``rank`` of rank p."""
        return {
            peer * self.count + inside: (peer, self.lies(rank, inside))
            for peer in range(ranks)
            for inside in range(self.count)
        }


@dataclass(slots=True)
class _Request:
    event: Post | Send
    matched: bool = False


def check(programs: Sequence[RankProgram], moves: Moves) -> ProtocolError | None:
    """The first fault of a schedule; None: every rank finishes and the right elements move."""
    return (
        _decision_fault(programs)
        or _iteration_fault(programs, moves)
        or _message_fault(programs)
        or _execution_fault(programs)
        or _coverage_fault(programs, moves)
    )


def _decision_fault(programs: Sequence[RankProgram]) -> ProtocolError | None:
    """Either all ranks call the collective once and send nothing, or none calls it."""
    calling = [sum(isinstance(e, Collective) for e in program) for program in programs]
    if any(calls != calling[0] for calls in calling) or calling[0] > 1:
        rank = next((r for r, calls in enumerate(calling) if calls != calling[0]), 0)
        return ProtocolError(
            Fault.DISAGREEMENT, f"rank 0 calls it {calling[0]} times, rank {rank} {calling[rank]}"
        )
    if calling[0]:
        for rank, program in enumerate(programs):
            if any(isinstance(event, Post | Send) for event in program):
                return ProtocolError(Fault.DISAGREEMENT, f"rank {rank} calls it and sends, too")
    return None


def _iteration_fault(programs: Sequence[RankProgram], moves: Moves) -> ProtocolError | None:
    """Each iteration is executed once; no element is sent before its final iteration."""
    for rank, program in enumerate(programs):
        trips = moves.trips_of(rank)
        done = [0] * trips
        for event in program:
            match event:
                case Compute(iterations=some):
                    if some and (some.start < 0 or some.stop > trips):
                        return ProtocolError(Fault.ITERATIONS, f"rank {rank} executes {some}")
                    for iteration in some:
                        done[iteration] += 1
                case Send(peer=peer, step=step):
                    for element in event.elements:
                        final = moves.final_in(rank, element)
                        if final >= 0 and not done[final]:
                            return ProtocolError(
                                Fault.EARLY_SEND,
                                f"rank {rank} sends element {element} to rank {peer} in step "
                                f"{step}, before iteration {final}",
                            )
                case Collective() if 0 in done:
                    return ProtocolError(
                        Fault.EARLY_SEND, f"rank {rank} calls before iteration {done.index(0)}"
                    )
                case _:
                    pass
        for iteration, times in enumerate(done):
            if times != 1:
                return ProtocolError(
                    Fault.ITERATIONS, f"rank {rank} executes iteration {iteration} {times} times"
                )
    return None


def _message_fault(programs: Sequence[RankProgram]) -> ProtocolError | None:
    """For each ordered pair of ranks, both sides have the same sequence of lengths."""
    sends: dict[tuple[int, int], list[Send]] = defaultdict(list)
    posts: dict[tuple[int, int], list[Post]] = defaultdict(list)
    for rank, program in enumerate(programs):
        for event in program:
            if isinstance(event, Send):
                sends[rank, event.peer].append(event)
            elif isinstance(event, Post):
                posts[event.peer, rank].append(event)
    for pair in sorted({*sends, *posts}):
        sender, receiver = pair
        for send, post in zip(sends[pair], posts[pair], strict=False):
            if send.length != post.length:
                return ProtocolError(
                    Fault.WRONG_LENGTH,
                    f"rank {sender} sends {send.length} in step {send.step} to rank {receiver}, "
                    f"which receives {post.length}",
                )
        extra = len(sends[pair]) - len(posts[pair])
        if extra > 0:
            send = sends[pair][len(posts[pair])]
            return ProtocolError(
                Fault.MISSING_RECEIVE, f"step {send.step}, rank {sender} to rank {receiver}"
            )
        if extra < 0:
            post = posts[pair][len(sends[pair])]
            return ProtocolError(
                Fault.MISSING_SEND, f"step {post.step}, rank {sender} to rank {receiver}"
            )
    return None


class _Execution:
    """All ranks run until each has finished or waits for another."""

    def __init__(self, programs: Sequence[RankProgram]) -> None:
        self.programs = programs
        self.next = [0] * len(programs)
        self.slots: list[dict[int, _Request]] = [{} for _ in programs]
        self.sent: dict[tuple[int, int], deque[_Request]] = defaultdict(deque)
        self.posted: dict[tuple[int, int], deque[_Request]] = defaultdict(deque)

    def run(self) -> ProtocolError | None:
        moved = True
        while moved:
            moved = False
            for rank in range(len(self.programs)):
                before = self.next[rank]
                fault = self.advance(rank)
                if fault is not None:
                    return fault
                moved = moved or self.next[rank] > before
        return self.blocked() or self.pending()

    def advance(self, rank: int) -> ProtocolError | None:
        program = self.programs[rank]
        while self.next[rank] < len(program):
            event = program[self.next[rank]]
            match event:
                case Wait():
                    if self.waits_for(rank, event) is not None:
                        return None
                    for slot in event.slots:
                        self.slots[rank].pop(slot, None)
                case Post() | Send():
                    if event.slot in self.slots[rank]:
                        return ProtocolError(
                            Fault.SLOT_REUSED,
                            f"rank {rank}, step {event.step}, slot {event.slot}",
                        )
                    self.start(rank, event)
                case _:
                    pass
            self.next[rank] += 1
        return None

    def start(self, rank: int, event: Post | Send) -> None:
        request = _Request(event)
        self.slots[rank][event.slot] = request
        if isinstance(event, Send):
            mine, theirs = self.sent[rank, event.peer], self.posted[rank, event.peer]
        else:
            mine, theirs = self.posted[event.peer, rank], self.sent[event.peer, rank]
        if theirs:
            request.matched = theirs.popleft().matched = True
        else:
            mine.append(request)

    def waits_for(self, rank: int, wait: Wait) -> Event | None:
        """The first operation that is not complete."""
        for slot in wait.slots:
            request = self.slots[rank].get(slot)
            if request is not None and not request.matched:
                return request.event
        return None

    def blocked(self) -> ProtocolError | None:
        """Ranks that wait for ever: each waits for the next, until one comes again."""
        rank = next((r for r, p in enumerate(self.programs) if self.next[r] < len(p)), None)
        if rank is None:
            return None
        seen: list[int] = []
        steps: list[str] = []
        while rank not in seen:
            seen.append(rank)
            wait = self.programs[rank][self.next[rank]] if self.running(rank) else None
            event = self.waits_for(rank, wait) if isinstance(wait, Wait) else None
            if not isinstance(event, Post | Send):
                break
            verb = "send to" if isinstance(event, Send) else "receive from"
            steps.append(f"rank {rank} waits for its {verb} rank {event.peer} (step {event.step})")
            rank = event.peer
        return ProtocolError(Fault.WAIT_CYCLE, "; ".join(steps))

    def running(self, rank: int) -> bool:
        return self.next[rank] < len(self.programs[rank])

    def pending(self) -> ProtocolError | None:
        for rank, held in enumerate(self.slots):
            for slot, request in held.items():
                return ProtocolError(
                    Fault.NOT_WAITED, f"rank {rank}, step {request.event.step}, slot {slot}"
                )
        return None


def _execution_fault(programs: Sequence[RankProgram]) -> ProtocolError | None:
    return _Execution(programs).run()


def _coverage_fault(programs: Sequence[RankProgram], moves: Moves) -> ProtocolError | None:
    """Each element comes from where the exchange takes it, once, and no other is received."""
    if any(isinstance(event, Collective) for event in programs[0]):
        return None
    sends: dict[tuple[int, int], deque[Send]] = defaultdict(deque)
    for rank, program in enumerate(programs):
        for event in program:
            if isinstance(event, Send):
                sends[rank, event.peer].append(event)
    for rank, program in enumerate(programs):
        origins = moves.origins(rank, len(programs))
        received = dict.fromkeys(origins, 0)
        for event in program:
            if not isinstance(event, Post):
                continue
            send = sends[event.peer, rank].popleft()
            for sent, element in zip(send.elements, event.elements, strict=True):
                if origins.get(element) != (event.peer, sent):
                    return ProtocolError(
                        Fault.MISPLACED_PIECE,
                        f"rank {rank} receives at {element} what rank {event.peer} has at {sent} "
                        f"(step {event.step})",
                    )
                received[element] += 1
        for element, times in received.items():
            if times != 1:
                kind = Fault.DUPLICATED_PIECE if times else Fault.LOST_PIECE
                return ProtocolError(kind, f"element {element} of rank {rank}: {times} times")
    return None


def check_sizes(shape: TileShape, sizes: Sizes) -> ProtocolError | None:
    """The fault of one shape's schedule at given sizes; None: it has none."""
    programs = [schedule(shape, rank, sizes) for rank in range(sizes.ranks)]
    other = source(sizes) if shape is TileShape.STRIDED else None
    count, trips = sizes.count, iterations(shape, sizes)
    return check(programs, Alltoall(count, trips, last_writer(shape, sizes), other))


@cache
def check_reach(
    shape: TileShape, late: int, ranks: int = 5, planes: int = 4
) -> ProtocolError | None:
    """The first fault of a shape's schedule where iterations do not complete their own planes.

    1 to ``ranks`` ranks; 0 to ``planes`` planes; from one plane less than none to two before and
    behind the loop; every K and D up to 3.
    """
    for count in range(1, ranks + 1):
        for trips in range(planes + 1):
            for before in range(-1, 3):
                for behind in range(-1, 3):
                    reach = Reach(before, late, behind)
                    for tile in range(trips + 3):
                        for depth in (1, 2, 3) if tile and trips else (1,):
                            sizes = Sizes(count, trips, 1, tile, depth, reach)
                            fault = check_sizes(shape, sizes)
                            if fault is not None:
                                return ProtocolError(fault.kind, f"{fault.witness}, with {sizes}")
    return None


@cache
def check_shape(shape: TileShape, ranks: int = 5, trips: int = 7) -> ProtocolError | None:
    """The first fault of a shape's schedule, over all small sizes.

    1 to ``ranks`` ranks; 0 to ``trips`` iterations; every K from 0 (not tiled) to one more than the
    iterations; D from 1 to 4; no and some elements.  K and D do not matter to a schedule that is
    not tiled, which is checked once.  Strided: fewer sizes, but no, one and two runs, and every
    order of the dimensions in the array that is sent from.
    """
    strided = shape is TileShape.STRIDED
    for sizes in _small_strided(ranks, trips) if strided else _small_sizes(ranks, trips):
        if sizes.tiled or (sizes.tile, sizes.depth) == (0, 1):
            fault = check_sizes(shape, sizes)
            if fault is not None:
                return ProtocolError(fault.kind, f"{fault.witness}, with {sizes}")
    return None


def _small_sizes(ranks: int, trips: int) -> Iterator[Sizes]:
    for count, planes, elements in product(range(1, ranks + 1), range(trips + 1), (0, 2)):
        for tile, depth in product(range(planes + 2), range(1, 5)):
            yield Sizes(count, planes, elements, tile, depth)


def _small_strided(ranks: int, trips: int) -> Iterator[Sizes]:
    for count, planes in product(range(1, ranks), range(min(trips, 5) + 1)):
        for tile, depth in product(range(planes + 2), range(1, 4)):
            for elements, runs in ((1, 3), (2, 0), (2, 2)):
                yield Sizes(count, planes, elements, tile, depth, runs=runs)
    for a, b, c, d in permutations(range(4)):
        for tile in (1, 3):
            yield Sizes(3, 4, 2, tile, 2, runs=3, order=(a, b, c, d))
