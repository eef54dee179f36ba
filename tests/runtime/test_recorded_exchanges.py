"""What the compiled runtime executes is the plan that is checked by enumeration.

A program runs small exchanges of all types on 1 to 4 ranks, and records the iterations that it is
handed, and the messages that the runtime starts and completes (``programs/recorded.f90``).  Each
record is compared with ``asphalt.analysis.schedule``, event by event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, permutations, product
from pathlib import Path

import pytest

from asphalt.analysis.schedule.check import Alltoall
from asphalt.analysis.schedule.check_packed import PackedSizes, packed_schedule, packed_sizes
from asphalt.analysis.schedule.check_uneven import sizes_of
from asphalt.analysis.schedule.exchange import (
    Collective,
    Compute,
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
    slots,
    source,
    window,
)
from asphalt.analysis.schedule.uneven import UnevenSizes, cuts, origins_in, uneven_schedule
from support.mpi_run import MPICH, OPENMPI, RUNTIME, Mpi, build, installed, run
from support.places import RUNTIME_PROGRAMS

BLOCKS, STRIDED, SLAB = TileShape.EVERY_BLOCK, TileShape.STRIDED, TileShape.SLAB
FIRST = 3
"""The first iteration of all loops."""

Step = tuple[object, ...]
"""An event in the form that plans and records have in common."""

Record = list[tuple[str, list[int]]]
"""The lines of one exchange: a letter and numbers."""


@dataclass(frozen=True, slots=True)
class Case:
    """An exchange: what each rank reads, its plan, the number of its requests (None: any), and
    where what it receives comes from."""

    what: str
    lines: tuple[list[int], ...]
    plans: tuple[RankProgram, ...]
    requests: tuple[int | None, ...]
    origins: tuple[Mapping[int, tuple[int, int]], ...]
    step: int = 1
    trips: tuple[int, ...] = ()
    begins: int = 0
    """Elements of the array that is sent from in front of those of the plan."""
    turned: Callable[[Post | Send], Sequence[int]] | None = None
    """The elements of a message of which the plan counts the planes in the order of the loop."""


# -- equal blocks ----------------------------------------------------------------------------------


def equal(shape: TileShape, sizes: Sizes, turn: int, *, refused: bool = False) -> Case:
    """An exchange of equal blocks.  ``turn`` chooses what the plan does not know of: the direction
    of the loop, whether that of memory is another one, a clone, whether the ranks know that they
    agree, and how often MPI may make progress."""
    trips = iterations(shape, sizes)
    reach = sizes.reach
    slab = shape is SLAB
    step = -1 if not slab and turn % 4 in (1, 3) else 1
    against = None if slab or turn % 4 in (0, 1) else turn % 4 == 2
    backwards = step < 0 if against is None else against
    last = FIRST + (trips - 1) * step
    ready = None if reach is None or slab else reach.before - reach.late
    before = reach.before if reach is not None and slab else None
    strided = shape is STRIDED
    source_strides = sizes.strides if strided and (turn % 3 or sizes.order != (0, 1, 2, 3)) else ()
    extents = sizes.extents[:3] if strided else ()
    clone, uniform, chances = turn % 5 == 0, turn % 2 == 0, turn % 3
    total = sizes.count * sizes.ranks
    begins = turn % 4 if source_strides else 0  # elements in front of those that are sent
    numbers = [
        1,
        total + begins,
        total,
        sizes.count,
        sizes.elements * sizes.runs,
        FIRST,
        last,
        step,
    ]
    numbers += [sizes.tile, sizes.depth, slab, uniform, clone, not refused, chances]
    for value in (against, ready, before, begins or None):
        numbers += [0] if value is None else [1, value]
    numbers += [len(extents), *extents, len(source_strides), *source_strides]

    stream = sizes.trips if slab else trips
    tile = 0 if refused else min(sizes.tile, stream)
    tiles = -(-stream // tile) * (sizes.ranks if slab else 1) if tile > 0 else 1
    executed = replace(sizes, tile=max(0, tile), depth=max(1, min(sizes.depth, tiles)))
    lies = source(sizes) if strided else None
    packed = (1, sizes.elements, sizes.elements * sizes.trips, sizes.count)
    moves = Alltoall(sizes.count, trips, last_writer(shape, sizes), lies)
    plans = tuple(schedule(shape, rank, executed) for rank in range(sizes.ranks))

    def turned(event: Post | Send) -> Sequence[int]:
        strides = sizes.strides if strided and isinstance(event, Send) else packed
        planes = event.dims[1][0] if event.dims else event.length // sizes.elements
        block = event.peer * strides[3]
        start = (event.offset - block) // strides[1]
        offset = block + (sizes.trips - start - planes) * strides[1]
        return replace(event, offset=offset).elements

    return Case(
        f"{shape} {sizes} turn {turn}",
        tuple([[int(number) for number in numbers]] * sizes.ranks),
        plans,
        (slots(shape, executed),) * sizes.ranks,
        tuple(moves.origins(rank, sizes.ranks) for rank in range(sizes.ranks)),
        step,
        (trips,) * sizes.ranks,
        begins,
        turned if backwards else None,
    )


def all_equal(ranks: int) -> Iterator[Case]:
    turns = cycle(range(60))
    for shape in (BLOCKS, SLAB):
        for trips, elements in [*product(range(5), (1, 2)), (2, 0)]:
            for tile, depth in product(range(trips + 2), (1, 2, 3, 9)):
                sizes = Sizes(ranks, trips, elements, tile, depth)
                yield equal(shape, sizes, next(turns))
        yield equal(shape, Sizes(ranks, 4, 2, 1, 2), next(turns), refused=True)
    for shape, planes, before, behind in product(
        (BLOCKS, SLAB), range(4), range(-1, 3), range(-1, 3)
    ):
        for late in (0, 1) if shape is BLOCKS else (0,):
            for tile in range(0, planes + 2):
                sizes = Sizes(
                    ranks, planes, 2, tile, 1 + next(turns) % 3, Reach(before, late, behind)
                )
                yield equal(shape, sizes, next(turns))
    for trips, (elements, runs) in product(range(5), ((1, 3), (2, 2), (2, 0))):
        for tile in range(trips + 2):
            sizes = Sizes(ranks, trips, elements, tile, 1 + next(turns) % 3, runs=runs)
            yield equal(STRIDED, sizes, next(turns))
    for a, b, c, d in permutations(range(4)):
        for tile in (1, 3):
            sizes = Sizes(ranks, 4, 2, tile, 2, runs=3, order=(a, b, c, d))
            yield equal(STRIDED, sizes, next(turns))


# -- blocks of different lengths -------------------------------------------------------------------


def uneven(shape: TileShape, sizes: UnevenSizes, tile: int, turn: int, refused: bool) -> Case:
    """An exchange whose ranks cut what ``tile`` of their iterations compute."""
    number = len(sizes.ranks)
    longest = [-(-max(own.counts) // own.unit) if own.unit else 0 for own in sizes.ranks]
    pieces = [
        max(1, min(tile, most) * own.unit) for own, most in zip(sizes.ranks, longest, strict=True)
    ]
    if refused or not tile:
        pieces[-1] = 0
    pieces = pieces if tile else [0] * number
    plans: list[RankProgram] = []
    requests: list[int | None] = []
    lines: list[list[int]] = []
    for rank, own in enumerate(sizes.ranks):
        made = sum(len(cuts(count, pieces[rank] or 1)) for count in own.counts)
        depth = max(1, min(sizes.depth, made))
        executed = replace(sizes, pieces=tuple(pieces), depth=depth)
        plan = uneven_schedule(shape, rank, executed)
        if not any(longest):  # nobody sends anything
            plan = (Compute(0, range(own.trips)), Collective())
        plans.append(plan)
        ring = depth * (1 if shape is SLAB else number)
        requests.append(ring + sum(isinstance(event, Post) for event in plan))
        arrive = [other.counts[rank] for other in sizes.ranks]
        sent = max(d + c for d, c in zip(own.displs, own.counts, strict=True))
        received = max(d + c for d, c in zip(own.landing, arrive, strict=True))
        spread = 0 if shape is SLAB else own.displs[1] if number > 1 else max(own.counts)
        legal = not (refused and rank == number - 1)
        line = [2, sent, received, own.unit, FIRST, FIRST + own.trips - 1, tile, sizes.depth]
        line += [shape is SLAB, spread, legal, turn % 3]
        lines.append([*line, *own.counts, *own.displs, *arrive, *own.landing])
    return Case(
        f"{shape} {sizes} tile {tile}, pieces {pieces}",
        tuple([int(number) for number in line] for line in lines),
        tuple(plans),
        tuple(requests),
        tuple(origins_in(sizes.ranks, rank) for rank in range(number)),
        trips=tuple(own.trips for own in sizes.ranks),
    )


def all_uneven(ranks: int) -> Iterator[Case]:
    turns = cycle(range(60))
    examples = [
        (
            tuple(
                tuple((turn + 2 * a + 3 * b + a * b) % 4 for b in range(ranks))
                for a in range(ranks)
            ),
            tuple((a + turn) % 4 for a in range(ranks)),
        )
        for turn in range(8)
    ]
    without = tuple((0,) * ranks if a == 0 else (2,) * ranks for a in range(ranks))
    examples += [(without, (2,) * ranks), (((0,) * ranks,) * ranks, (2,) * ranks)]
    for shape, (blocks, units), tile in product((BLOCKS, SLAB), examples, (0, 1, 2, 5)):
        for depth in (1, 3):
            turn = next(turns)
            sizes = sizes_of(shape, blocks, units, (1,) * ranks, depth, extra=turn // 4 % 2)
            yield uneven(shape, sizes, tile, turn, turn % 7 == 6)


def packed(sizes: PackedSizes, turn: int, refused: bool) -> Case:
    """An exchange whose iterations add different numbers of elements to the blocks."""
    number = len(sizes.ranks)
    apart = max(unit * own.trips for own in sizes.ranks for unit in own.units) if turn % 3 else 0
    if apart:
        displs = tuple(apart * peer for peer in range(number))
        sizes = replace(sizes, ranks=tuple(replace(own, displs=displs) for own in sizes.ranks))
    plans: list[RankProgram] = []
    requests: list[int | None] = []
    lines: list[list[int]] = []
    for rank, own in enumerate(sizes.ranks):
        tile = min(sizes.tile, max(1, own.trips))
        depth = min(sizes.depth, -(-max(1, own.trips) // max(1, tile)))
        executed = replace(sizes, depth=depth, tile=0 if refused else sizes.tile)
        plans.append(packed_schedule(rank, executed))
        posts = sum(isinstance(event, Post) for event in plans[-1])
        requests.append(depth * number + posts)
        arrive = [other.counts[rank] for other in sizes.ranks]
        sent = max(d + u * own.trips for d, u in zip(own.displs, own.units, strict=True))
        received = max(d + c for d, c in zip(own.landing, arrive, strict=True))
        legal = not (refused and rank == number - 1)
        line = [3, sent, received, FIRST, FIRST + own.trips - 1, sizes.tile, sizes.depth]
        line += [legal, turn % 3, *([1, apart] if turn % 2 or apart else [0]), *own.units]
        lines.append([*line, *own.counts, *own.displs, *arrive, *own.landing])
    return Case(
        f"packed {sizes} turn {turn}",
        tuple([int(number) for number in line] for line in lines),
        tuple(plans),
        tuple(requests),
        tuple(origins_in(sizes.ranks, rank) for rank in range(number)),
        trips=tuple(own.trips for own in sizes.ranks),
    )


def all_packed(ranks: int) -> Iterator[Case]:
    turns = cycle(range(60))
    for turn, tile, depth, without in product(range(4), range(5), (1, 3), (None, 1, 2)):
        units = tuple(
            tuple((turn + 2 * a + 3 * b + a * b) % 4 for b in range(ranks)) for a in range(ranks)
        )
        trips = tuple((turn + 3 * a) % 4 for a in range(ranks))
        now = next(turns)
        yield packed(packed_sizes(units, trips, tile, depth, without), now, now % 11 == 10)


# -- plans and records -----------------------------------------------------------------------------


def steps_of_plan(case: Case, rank: int) -> Iterator[Step]:
    for event in case.plans[rank]:
        match event:
            case Compute(iterations=some):
                yield "compute", tuple(some)
            case Wait(slots=some):
                yield "wait", frozenset(some)
            case Post() | Send():
                elements = event.elements if case.turned is None else case.turned(event)
                if isinstance(event, Post):
                    yield "post", event.peer, tuple(elements), event.slot
                else:
                    found = tuple(case.begins + element for element in elements)
                    yield "send", event.peer, found, event.slot
            case Collective():
                yield ("collective",)


def steps_of_record(lines: Record) -> Iterator[Step]:
    """The steps of a record; addresses become slots and elements."""
    bases = next(numbers for letter, numbers in lines if letter == "B")
    waits = [numbers for letter, numbers in lines if letter == "W"]
    first = waits[-1][0] if waits else 0
    for letter, numbers in lines:
        match letter:
            case "C":
                low, high, step = numbers
                some = range(low, high + step, step)
                yield "compute", tuple((i - FIRST) * step for i in some)
            case "W":
                slot = (numbers[0] - first) // 4
                yield "wait", frozenset(range(slot, slot + numbers[1]))
            case "R" | "S":
                peer, tag, request, buffer, *inside = numbers
                assert tag == 0
                begin = (buffer - bases[letter == "R"]) // 8
                elements = tuple(begin + element for element in inside)
                name = "post" if letter == "R" else "send"
                yield name, peer, elements, (request - first) // 4
            case "F" if not numbers[0]:
                yield ("collective",)
            case _:
                pass


def normal(steps: Iterator[Step], *, posts_first: bool) -> list[Step]:
    """Waits for what is pending alone, several of them as one; ``posts_first``: receives are all
    posted before anything is sent or waited for, wherever that is."""
    pending: set[object] = set()
    found: list[Step] = []
    posts: list[Step] = []
    for step in steps:
        match step:
            case ("wait", frozenset() as some):
                done = tuple(sorted(some & pending, key=repr))
                pending -= some
                if done and found and found[-1][0] == "wait":
                    (_, before) = found.pop()
                    assert isinstance(before, tuple)
                    done = tuple(sorted({*before, *done}, key=repr))
                if done:
                    found.append(("wait", done))
            case ("post", _, _, slot) if posts_first:
                assert not any(other[0] in ("wait", "send") for other in found)
                posts.append(step)
                pending.add(slot)
            case ("post" | "send", _, _, slot):
                assert slot not in pending
                pending.add(slot)
                found.append(step)
            case _:
                found.append(step)
    assert not pending
    return posts + found


def split(text: str) -> list[Record]:
    """The records of all exchanges of a rank."""
    found: list[Record] = []
    for line in text.splitlines():
        letter, *numbers = line.split()
        if letter == "N":
            found.append([])
        else:
            found[-1].append((letter, list(map(int, numbers))))
    return found


def compare(case: Case, rank: int, record: Record) -> None:
    where = f"{case.what}, rank {rank}: {case.lines[rank]}\n{record}"
    first_post = next((e for e in case.plans[rank] if isinstance(e, Post)), None)
    posts_first = case.lines[rank][0] != 1 and first_post is not None
    planned = normal(steps_of_plan(case, rank), posts_first=posts_first)
    executed = normal(steps_of_record(record), posts_first=posts_first)
    assert executed == planned, where
    tiled = Collective() not in case.plans[rank]
    waits = [numbers[1] for letter, numbers in record if letter == "W"]
    if tiled:
        assert sum(waits[-2:]) == case.requests[rank], where  # of destinations, of sources
    (received,) = (numbers for letter, numbers in record if letter == "D")
    origins = case.origins[rank] if tiled else {}
    known = {element: 1000 * peer + case.begins + sent for element, (peer, sent) in origins.items()}
    assert received == [known.get(element, -1) for element in range(len(received))], where
    (behind,) = (numbers for letter, numbers in record if letter == "L")
    assert behind == [FIRST + case.trips[rank] * case.step], where


def has_clone(case: Case) -> bool:
    """Whether messages come into memory that goes with the exchange: of equal blocks only."""
    return case.lines[0][0] == 1 and bool(case.lines[0][12])


def _build(mpi: Mpi, folder: Path) -> Path:
    sources = [RUNTIME_PROGRAMS / name for name in ("recorder.f90", "recorded.f90")]
    return build(mpi, [*RUNTIME, *sources], folder, ["-O1", "-fcheck=all"])


def records_of(
    mpi: Mpi, program: Path, lists: Sequence[Sequence[Sequence[int | str]]], backend: str = "isend"
) -> list[list[Record]]:
    """What each rank records of the exchanges of its list; each of them is made twice where
    messages are kept from the first time to the second."""
    for rank, lines in enumerate(lists):
        text = "".join(f"{len(line)} {' '.join(map(str, line))}\n" for line in lines)
        (program.parent / f"list.{rank}").write_text(text)
    outcome = run(mpi, program, len(lists), [backend])
    assert (outcome.code, outcome.stdout, outcome.stderr) == (0, "", ""), outcome
    found = []
    for rank, lines in enumerate(lists):
        found.append(split((program.parent / f"record.{rank}").read_text()))
        assert len(found[-1]) == TIMES[backend] * len(lines)
    return found


TIMES = {"isend": 1, "persistent": 2}

# SMPI has no profiling interface for Fortran; ranks of MPICH wait in busy loops
RANKS = {OPENMPI: (1, 2, 3, 4), MPICH: (1, 2)}


@pytest.mark.parametrize("backend", TIMES)
@pytest.mark.parametrize(
    ("mpi", "ranks"),
    [
        pytest.param(mpi, RANKS[mpi], marks=() if mpi is OPENMPI else pytest.mark.wide, id=str(mpi))
        for mpi in installed(*RANKS)
    ],
)
def test_what_the_runtime_executes_is_what_is_checked(
    mpi: Mpi, ranks: tuple[int, ...], backend: str, tmp_path: Path
) -> None:
    program = _build(mpi, tmp_path)
    times = TIMES[backend]
    for number in ranks if times == 1 else ranks[-2:-1]:
        cases = [*all_equal(number), *all_uneven(number), *all_packed(number)]
        lists = [[case.lines[rank] for case in cases] for rank in range(number)]
        for rank, records in enumerate(records_of(mpi, program, lists, backend)):
            made = [case for case in cases for _ in range(times)]
            for case, record in zip(made, records, strict=True):
                compare(case, rank, record)
                letters = [letter for letter, _ in record]
                messages = letters.count("R") + letters.count("S")
                kept = backend == "persistent" and not has_clone(case)
                assert letters.count("P") == (messages if kept else 0), case.what


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH)[:1], ids=str)
def test_windows_are_those_of_the_schedule(mpi: Mpi, tmp_path: Path) -> None:
    """The planes that tiles send, whether or not a program has such loops."""
    lines: list[list[int]] = []
    expected: list[list[range]] = []
    for tiles, tile, ready, block in product(range(1, 5), range(1, 5), range(-5, 8), range(1, 7)):
        prologue = 1 if ready > 0 else 0
        if tiles > prologue:
            last = FIRST + (tiles - prologue) * tile - 1
            lines.append([1, block, block, block, 1, FIRST, last, 1, tile, 2, 0, 1, 0, 1, 0])
            lines[-1] += [0, 1, ready, 0, 0, 0, 0]
            given = (tiles, tile, ready - prologue * tile, block)
            expected.append([window(number, *given) for number in range(tiles)])
    program = _build(mpi, tmp_path)
    for record, windows in zip(records_of(mpi, program, [lines])[0], expected, strict=True):
        sent = [step for step in steps_of_record(record) if step[0] == "send"]
        assert [step[2] for step in sent] == [tuple(some) for some in windows if some]
