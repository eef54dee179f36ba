"""Schedules of messages in segments: right for small sizes, and each way to break them shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asphalt.analysis.schedule.check import Fault
from asphalt.analysis.schedule.check_pipeline import small_sizes
from asphalt.analysis.schedule.check_segments import (
    Posted,
    Shift,
    check_segments,
    check_shift,
    shift_schedule,
)
from asphalt.analysis.schedule.exchange import Compute, Event, RankProgram, Send, Wait

USUAL = Shift(
    ranks=3,
    trips=5,
    elements=2,
    tile=2,
    depth=1,
    executions=2,
    paced=True,
    posted=Posted.AHEAD,
    ring=True,
)


def fault(
    sizes: Shift, change: Callable[[int, RankProgram], list[Event]] | None = None
) -> Fault | None:
    """What the check finds, after each rank's program was changed."""
    programs = [shift_schedule(rank, sizes) for rank in range(sizes.ranks)]
    if change is not None:
        programs = [tuple(change(rank, program)) for rank, program in enumerate(programs)]
    found = check_shift(programs, sizes)
    return None if found is None else found.kind


@pytest.mark.parametrize("paced", [True, False])
@pytest.mark.parametrize("posted", list(Posted))
def test_what_is_emitted_is_right_for_small_sizes(paced: bool, posted: Posted) -> None:
    found = check_segments(paced, posted, 4)
    if paced and posted is Posted.BETWEEN:  # all wait for segments that nobody has asked for
        assert found is not None
        assert found.kind is Fault.WAIT_CYCLE
    else:
        assert found is None


def test_small_sizes_have_all_schedules_of_larger_tiles_and_depths() -> None:
    """No K beyond the nest, and no D beyond the tiles, leads to a schedule that is not checked."""

    def schedules(sizes: Iterable[tuple[int, ...]]) -> set[tuple[object, ...]]:
        return {
            (
                numbers[0],
                *(
                    shift_schedule(rank, Shift(*numbers, paced, Posted.AHEAD, True))
                    for rank in range(numbers[0])
                    for paced in (True, False)
                ),
            )
            for numbers in sizes
        }

    most = 2
    all_ = product(
        range(1, most + 1), range(1, most + 2), (1, 2), range(1, 9), range(1, most + 1), (1, 2)
    )
    checked = list(small_sizes(most))
    assert schedules(checked) == schedules(all_)
    assert len(checked) == len(set(checked))


@given(
    st.integers(1, 6),
    st.integers(1, 8),
    st.integers(1, 3),
    st.integers(1, 10),
    st.integers(1, 6),
    st.integers(1, 3),
    st.booleans(),
    st.sampled_from(list(Posted)),
    st.booleans(),
)
def test_what_is_emitted_is_right_for_other_sizes(
    ranks: int, trips: int, elements: int, tile: int, depth: int, executions: int, paced: bool,
    posted: Posted, ring: bool,
) -> None:  # fmt: skip
    ring = ring and posted is not Posted.BEHIND
    paced = paced and not (ring and posted is Posted.BETWEEN)
    sizes = Shift(ranks, trips, elements, tile, depth, executions, paced, posted, ring)
    assert fault(sizes) is None


def test_a_ring_that_waits_before_it_posts_stops() -> None:
    assert fault(replace(USUAL, posted=Posted.BEHIND)) is Fault.WAIT_CYCLE


def test_other_cuts_on_one_rank_do_not_pair_up() -> None:
    def change(rank: int, program: RankProgram) -> list[Event]:
        return list(shift_schedule(1, replace(USUAL, tile=3)) if rank == 1 else program)

    assert fault(USUAL, change) is Fault.WRONG_LENGTH


def test_one_end_that_stays_whole_shows() -> None:
    def change(rank: int, program: RankProgram) -> list[Event]:
        return list(shift_schedule(1, replace(USUAL, tile=9)) if rank == 1 else program)

    assert fault(USUAL, change) is Fault.WRONG_LENGTH


def test_an_iteration_in_front_of_its_wait_shows() -> None:
    def change(rank: int, program: RankProgram) -> list[Event]:
        waits = [e for e in program if isinstance(e, Wait) and e.slots[0] < USUAL.trips]
        return list(program) if rank == 0 else [e for e in program if e is not waits[1]]

    assert fault(USUAL, change) in (Fault.UNRECEIVED, Fault.SLOT_REUSED)


def test_an_iteration_that_needs_a_later_segment_shows() -> None:
    """The nest behind the receive as a whole in front of the last wait."""

    def change(rank: int, program: RankProgram) -> list[Event]:
        del rank
        found = list(program)
        for n in range(len(found) - 1):
            if isinstance(found[n], Wait) and isinstance(found[n + 1], Compute):
                found[n : n + 2] = [found[n + 1], found[n]]
        return found

    assert fault(USUAL, change) is Fault.UNRECEIVED


def test_a_segment_in_front_of_its_iterations_shows() -> None:
    def change(rank: int, program: RankProgram) -> list[Event]:
        del rank
        found = list(program)
        for n in range(len(found) - 1):
            if isinstance(found[n], Compute) and isinstance(found[n + 1], Send):
                found[n : n + 2] = [found[n + 1], found[n]]
        return found

    assert fault(USUAL, change) is Fault.EARLY_SEND


def test_a_missing_wait_behind_all_shows() -> None:
    sizes = replace(USUAL, executions=1)
    assert fault(sizes, lambda _, program: list(program[:-1])) is Fault.NOT_WAITED
