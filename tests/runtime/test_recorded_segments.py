"""What the compiled runtime executes of messages in segments is the plan that is checked by
enumeration.

A program runs small pipelines, and messages between two nests, on 1 to 4 ranks, and records the
iterations that it is handed, and the messages that the runtime starts and completes
(``programs/recorded_segments.f90``).  Each record is compared with what ``check_pipeline`` and
``check_segments`` enumerate, event by event.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import pytest

from asphalt.analysis.schedule.check_pipeline import Chain, pipeline_schedule, small_sizes
from asphalt.analysis.schedule.check_segments import Posted, Shift, shift_schedule
from asphalt.analysis.schedule.exchange import Compute, Post, RankProgram, Send, Wait
from runtime.test_recorded_exchanges import Record, records_of
from support.mpi_run import MPICH, OPENMPI, RUNTIME, Mpi, build, installed
from support.places import RUNTIME_PROGRAMS

Step = tuple[object, ...]
_POSTED = list(Posted)


@dataclass(frozen=True, slots=True)
class Case:
    """Messages in segments: what each rank reads, and its plan."""

    what: str
    lines: tuple[list[int | str], ...]
    plans: tuple[RankProgram, ...]


def cases(ranks: int) -> Iterator[Case]:
    """Pipelines and shifts of small sizes, in turn those of each kind."""
    kinds = cycle((posted, ring) for posted in (None, *Posted) for ring in (False, True))
    for numbers in small_sizes(4):
        if numbers[0] != ranks:
            continue
        for paced in (True, False):
            posted, ring = next(kinds)
            if posted is None:
                yield _pipeline(Chain(*numbers, paced))
            elif not (ring and posted is Posted.BEHIND):
                yield _shift(Shift(*numbers, paced, posted, ring))


def _pipeline(sizes: Chain) -> Case:
    ranks = range(sizes.ranks)
    peers = [(rank - 1, rank + 1 if rank + 1 < sizes.ranks else -1) for rank in ranks]
    lines = tuple(_line(sizes, "T", *peers[rank], 0) for rank in ranks)
    return Case(str(sizes), lines, tuple(pipeline_schedule(rank, sizes) for rank in ranks))


def _shift(sizes: Shift) -> Case:
    ranks = range(sizes.ranks)
    peers = [(sizes.source(rank), sizes.target(rank)) for rank in ranks]
    posted = _POSTED.index(sizes.posted)
    own = [(-1 if a is None else a, -1 if b is None else b) for a, b in peers]
    lines = tuple(_line(sizes, "F", *own[rank], posted) for rank in ranks)
    return Case(str(sizes), lines, tuple(shift_schedule(rank, sizes) for rank in ranks))


def _line(sizes: Chain | Shift, kind: str, source: int, dest: int, posted: int) -> list[int | str]:
    depth = sizes.depth if sizes.paced else 0
    numbers = (sizes.trips, sizes.elements, sizes.tile, depth, sizes.executions)
    return [kind, source, dest, *numbers, posted]


def planned(plan: RankProgram) -> Iterator[Step]:
    """The steps of a plan; a wait names what it completes, if that is still in progress."""
    pending: dict[int, Step] = {}
    for event in plan:
        match event:
            case Compute(iterations=some):
                yield "compute", some.start, some.stop - 1
            case Wait(slots=slots):
                for slot in slots:
                    if slot in pending:
                        yield "wait", pending.pop(slot)
            case Post() | Send():
                name = "post" if isinstance(event, Post) else "send"
                step = name, event.peer, event.offset, event.length
                assert event.slot not in pending
                pending[event.slot] = step
                yield step
    assert not pending


def executed(lines: Record) -> Iterator[Step]:
    """The steps of a record."""
    bases = next(numbers for letter, numbers in lines if letter == "B")
    pending: dict[int, Step] = {}
    for letter, numbers in lines:
        match letter:
            case "C":
                yield "compute", *numbers
            case "W":
                if numbers[0] in pending:
                    yield "wait", pending.pop(numbers[0])
            case "R" | "S":
                peer, tag, request, buffer, *inside = numbers
                assert tag == 7
                assert inside == list(range(len(inside)))
                begin = (buffer - bases[letter == "S"]) // 8
                step = "post" if letter == "R" else "send", peer, begin, len(inside)
                assert request not in pending
                pending[request] = step
                yield step
    assert not pending


RANKS = {OPENMPI: (1, 2, 3, 4), MPICH: (2,)}


@pytest.mark.parametrize(
    ("mpi", "ranks"),
    [
        pytest.param(mpi, RANKS[mpi], marks=() if mpi is OPENMPI else pytest.mark.wide, id=str(mpi))
        for mpi in installed(*RANKS)
    ],
)
def test_what_the_runtime_executes_is_what_is_checked(
    mpi: Mpi, ranks: tuple[int, ...], tmp_path: Path
) -> None:
    sources = [RUNTIME_PROGRAMS / name for name in ("recorder.f90", "recorded_segments.f90")]
    program = build(mpi, [*RUNTIME, *sources], tmp_path, ["-O1", "-fcheck=all"])
    for number in ranks:
        own = list(cases(number))
        lists = [[case.lines[rank] for case in own] for rank in range(number)]
        for rank, records in enumerate(records_of(mpi, program, lists)):
            for case, record in zip(own, records, strict=True):
                where = f"{case.what}, rank {rank}: {case.lines[rank]}\n{record}"
                assert list(executed(record)) == list(planned(case.plans[rank])), where
