"""Schedules of pipelines: right for small sizes, and each way to break them shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asphalt.analysis.schedule.check import Fault
from asphalt.analysis.schedule.check_pipeline import (
    Chain,
    check_chain,
    check_pipeline,
    pipeline_schedule,
)
from asphalt.analysis.schedule.exchange import Compute, Event, Post, RankProgram, Send, Wait

USUAL = Chain(ranks=3, trips=5, elements=2, tile=2, depth=1, executions=2, paced=True)


def fault(
    sizes: Chain, change: Callable[[int, RankProgram], list[Event]] | None = None
) -> Fault | None:
    """What the check finds, after each rank's program was changed."""
    programs = [pipeline_schedule(rank, sizes) for rank in range(sizes.ranks)]
    if change is not None:
        programs = [tuple(change(rank, program)) for rank, program in enumerate(programs)]
    found = check_chain(programs, sizes)
    return None if found is None else found.kind


@pytest.mark.parametrize("paced", [True, False])
def test_what_is_emitted_is_right_for_small_sizes(paced: bool) -> None:
    assert check_pipeline(paced, 4) is None


@given(
    st.integers(1, 6),
    st.integers(1, 8),
    st.integers(1, 3),
    st.integers(1, 10),
    st.integers(1, 6),
    st.integers(1, 3),
    st.booleans(),
)
def test_what_is_emitted_is_right_for_other_sizes(
    ranks: int, trips: int, elements: int, tile: int, depth: int, executions: int, paced: bool
) -> None:
    assert fault(Chain(ranks, trips, elements, tile, depth, executions, paced)) is None


def test_other_cuts_on_one_rank_do_not_pair_up() -> None:
    def change(rank: int, program: RankProgram) -> list[Event]:
        return list(pipeline_schedule(1, replace(USUAL, tile=3)) if rank == 1 else program)

    assert fault(USUAL, change) is Fault.WRONG_LENGTH


def test_a_tile_too_few_shows() -> None:
    def change(rank: int, program: RankProgram) -> list[Event]:
        last = max(n for n, event in enumerate(program) if isinstance(event, Compute))
        return [e for n, e in enumerate(program) if not (rank == 0 and last < n and _sends(e))]

    assert fault(USUAL, change) is Fault.MISSING_SEND


def _sends(event: Event) -> bool:
    return isinstance(event, Send)


def test_an_iteration_in_front_of_its_wait_shows() -> None:
    def change(rank: int, program: RankProgram) -> list[Event]:
        waits = [e for e in program if isinstance(e, Wait) and e.slots[0] < USUAL.trips]
        return list(program) if rank == 0 else [e for e in program if e is not waits[1]]

    assert fault(USUAL, change) in (Fault.UNRECEIVED, Fault.SLOT_REUSED)


def test_a_send_in_front_of_its_iterations_shows() -> None:
    def change(rank: int, program: RankProgram) -> list[Event]:
        del rank
        found = list(program)
        for n in range(len(found) - 1):
            if isinstance(found[n], Compute) and isinstance(found[n + 1], Send):
                found[n : n + 2] = [found[n + 1], found[n]]
        return found

    assert fault(USUAL, change) is Fault.EARLY_SEND


def test_a_missing_wait_behind_the_nest_shows() -> None:
    def change(rank: int, program: RankProgram) -> list[Event]:
        del rank
        last = program[-1]
        return [e for e in program if not (isinstance(last, Wait) and e is last)]

    found = fault(replace(USUAL, executions=1), change)
    assert found is Fault.NOT_WAITED


def test_receives_that_are_posted_tile_by_tile_behind_the_send_stop_all_ranks() -> None:
    """Two ranks that each send first and post then, as a ring of blocking sends would."""
    programs = [
        (
            Compute(0, range(1)),
            Send(0, 1 - rank, 0, 1, 1),
            Wait(0, (1,)),
            Post(0, 1 - rank, 0, 1, 0),
            Wait(0, (0,)),
        )
        for rank in (0, 1)
    ]
    sizes = Chain(ranks=2, trips=1, elements=1, tile=1, depth=1, executions=1, paced=True)
    found = check_chain(programs, sizes)
    assert found is not None
    assert found.kind is Fault.WAIT_CYCLE
