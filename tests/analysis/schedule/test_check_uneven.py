"""Schedules of blocks of different lengths pair up; each way to break the cut rule shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asphalt.analysis.schedule.check import Fault, ProtocolError, check
from asphalt.analysis.schedule.check_uneven import (
    Alltoallv,
    check_uneven,
    check_uneven_sizes,
    sizes_of,
)
from asphalt.analysis.schedule.exchange import (
    Compute,
    Event,
    Post,
    RankProgram,
    Send,
    TileShape,
    Wait,
)
from asphalt.analysis.schedule.uneven import UnevenSizes, cuts, uneven_schedule

BLOCKS = ((2, 0, 3), (1, 4, 2), (0, 3, 1))  # iterations of rank a for rank b
UNITS = (2, 3, 1)


def sizes(shape: TileShape, piece: int = 3, depth: int = 2) -> UnevenSizes:
    return sizes_of(shape, BLOCKS, UNITS, (piece,) * 3, depth)


def changed(
    shape: TileShape, given: UnevenSizes, change: Callable[[int, RankProgram], list[Event]]
) -> ProtocolError | None:
    """What the check says about a schedule whose programs were changed."""
    programs = [
        tuple(change(rank, uneven_schedule(shape, rank, given))) for rank in range(len(given.ranks))
    ]
    return check(programs, Alltoallv(shape, given))


@pytest.mark.parametrize("shape", list(TileShape))
def test_what_is_emitted_is_right_for_small_sizes(shape: TileShape) -> None:
    assert check_uneven(shape) is None


@st.composite
def executions(draw: st.DrawFn, shape: TileShape) -> UnevenSizes:
    ranks = draw(st.integers(1, 6))
    row = st.tuples(*[st.integers(0, 4)] * ranks)
    blocks = draw(st.tuples(*[row] * ranks))
    units = draw(st.tuples(*[st.integers(0, 3)] * ranks))
    lengths = st.integers(1, 9)
    able = st.tuples(*[lengths] * ranks)
    pieces = draw(able | st.tuples(*[st.integers(0, 9)] * ranks))
    depth = draw(st.integers(1, 5))
    extra = 0 if shape is TileShape.SLAB else draw(st.integers(0, 2))
    return sizes_of(shape, blocks, units, pieces, depth, extra)


@given(st.data(), st.sampled_from(list(TileShape)))
def test_what_is_emitted_is_right_for_other_sizes(data: st.DataObject, shape: TileShape) -> None:
    assert check_uneven_sizes(shape, data.draw(executions(shape))) is None


@given(st.integers(0, 40), st.integers(1, 9))
def test_cuts_are_pieces_in_order_of_which_only_the_last_is_shorter(
    length: int, piece: int
) -> None:
    parts = cuts(length, piece)
    assert [element for part in parts for element in part] == list(range(length))
    assert all(len(part) == piece for part in parts[:-1])
    assert all(part for part in parts)


@pytest.mark.parametrize("shape", list(TileShape))
def test_cuts_by_the_receivers_own_iterations_do_not_pair_up(shape: TileShape) -> None:
    """A receiver that takes the sender's iterations to be as long as its own."""
    given = sizes(shape, piece=6)

    def own_cuts(rank: int, program: RankProgram) -> list[Event]:
        posts: list[Event] = []
        for source, theirs in enumerate(given.ranks):
            start = given.ranks[rank].landing[source]
            for part in cuts(theirs.counts[rank], 2 * UNITS[rank]):
                posts.append(Post(0, source, start + part.start, len(part), 100 + len(posts)))
        rest = [event for event in program if not isinstance(event, Post)]
        return [*posts, *rest, Wait(99, tuple(range(100, 100 + len(posts))))]

    found = changed(shape, given, own_cuts)
    assert found is not None
    assert found.kind in (Fault.WRONG_LENGTH, Fault.MISSING_RECEIVE, Fault.MISSING_SEND)


@pytest.mark.parametrize("shape", list(TileShape))
def test_ranks_that_do_not_agree_on_the_piece(shape: TileShape) -> None:
    other = replace(sizes(shape), pieces=(4,) * 3)

    def disagrees(rank: int, program: RankProgram) -> list[Event]:
        return list(uneven_schedule(shape, 1, other)) if rank == 1 else list(program)

    found = changed(shape, sizes(shape), disagrees)
    assert found is not None
    assert found.kind in (Fault.WRONG_LENGTH, Fault.MISSING_RECEIVE, Fault.MISSING_SEND)


def test_cutting_off_the_last_iteration_of_a_piece_sends_too_early() -> None:
    """Pieces that end inside of an iteration: rounding down leaves its elements out."""
    given = sizes(TileShape.EVERY_BLOCK, piece=4)

    def rounded_down(rank: int, program: RankProgram) -> list[Event]:
        last = max(event.step for event in program if isinstance(event, Compute))
        unit = UNITS[rank]
        events: list[Event] = []
        for event in program:
            if isinstance(event, Compute) and event.step < last:
                event = Compute(
                    event.step, range(event.step * 4 // unit, (event.step + 1) * 4 // unit)
                )
            events.append(event)
        return events

    found = changed(TileShape.EVERY_BLOCK, given, rounded_down)
    assert found is not None
    assert found.kind in (Fault.EARLY_SEND, Fault.ITERATIONS)


@pytest.mark.parametrize("shape", list(TileShape))
def test_receives_posted_step_by_step_are_a_wait_cycle(shape: TileShape) -> None:
    """One receive a step, in another order than the sends come."""

    def one_a_step(rank: int, program: RankProgram) -> list[Event]:
        posts = [event for event in program if isinstance(event, Post)]
        events: list[Event] = []
        for event in program:
            if isinstance(event, Post):
                continue
            if isinstance(event, Compute) and posts:
                events.append(posts.pop())
            events.append(event)
        return [*events[:-1], *posts, events[-1]]

    found = changed(shape, sizes(shape, piece=1, depth=1), one_a_step)
    assert found is not None
    assert found.kind is Fault.WAIT_CYCLE


@pytest.mark.parametrize("shape", list(TileShape))
def test_a_lost_piece(shape: TileShape) -> None:
    def without(rank: int, program: RankProgram) -> list[Event]:
        gone: Event | None = None
        if rank == 1:
            gone = next(event for event in program if isinstance(event, Send) and event.peer == 2)
        return [
            event
            for event in program
            if event is not gone
            and not (
                rank == 2
                and isinstance(event, Post)
                and (event.peer, event.offset) == (1, sizes(shape).ranks[2].landing[1])
            )
        ]

    found = changed(shape, sizes(shape), without)
    assert found is not None
    assert found.kind in (Fault.LOST_PIECE, Fault.WRONG_LENGTH)


@pytest.mark.parametrize("shape", list(TileShape))
def test_a_piece_in_the_wrong_place(shape: TileShape) -> None:
    def shifted(rank: int, program: RankProgram) -> list[Event]:
        return [
            replace(event, offset=event.offset + 1)
            if rank == 0 and isinstance(event, Post)
            else event
            for event in program
        ]

    found = changed(shape, sizes(shape), shifted)
    assert found is not None
    assert found.kind is Fault.MISPLACED_PIECE


@pytest.mark.parametrize("shape", list(TileShape))
def test_a_rank_that_does_not_tile(shape: TileShape) -> None:
    alone = replace(sizes(shape), pieces=(0,) * 3)

    def alone_on_one(rank: int, program: RankProgram) -> list[Event]:
        return list(uneven_schedule(shape, 2, alone)) if rank == 2 else list(program)

    found = changed(shape, sizes(shape), alone_on_one)
    assert found is not None
    assert found.kind is Fault.DISAGREEMENT


@pytest.mark.parametrize("shape", list(TileShape))
def test_no_rank_sends_where_one_cannot_tile(shape: TileShape) -> None:
    """The others have computed their first tile by then, and go on in their order."""
    given = replace(sizes(shape, piece=1), pieces=(1, 1, 0))
    first, _, last = (uneven_schedule(shape, rank, given) for rank in range(3))
    assert sum(isinstance(event, Compute) for event in first) > 1
    assert sum(isinstance(event, Compute) for event in last) == 1
    assert (
        check([uneven_schedule(shape, r, given) for r in range(3)], Alltoallv(shape, given)) is None
    )


@pytest.mark.parametrize("shape", list(TileShape))
def test_a_rank_that_sends_without_having_heard(shape: TileShape) -> None:
    given = replace(sizes(shape), pieces=(3, 3, 0))

    def deaf(rank: int, program: RankProgram) -> list[Event]:
        return list(uneven_schedule(shape, 0, sizes(shape))) if rank == 0 else list(program)

    found = changed(shape, given, deaf)
    assert found is not None
    assert found.kind is Fault.DISAGREEMENT
