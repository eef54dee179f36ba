"""The check of schedules: what asphalt emits passes, and each kind of damage is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asphalt.analysis.schedule.check import (
    Alltoall,
    Fault,
    ProtocolError,
    check,
    check_reach,
    check_shape,
    check_sizes,
)
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
    slots,
)

SIZES = Sizes(ranks=3, trips=5, elements=2, tile=2, depth=2)


def programs(shape: TileShape, sizes: Sizes = SIZES) -> list[RankProgram]:
    return [schedule(shape, rank, sizes) for rank in range(sizes.ranks)]


def alltoall(shape: TileShape, sizes: Sizes = SIZES) -> Alltoall:
    return Alltoall(sizes.count, iterations(shape, sizes), last_writer(shape, sizes))


def damaged(
    shape: TileShape, rank: int, damage: Callable[[RankProgram], list[Event]]
) -> ProtocolError:
    """What the check says about a schedule of which one rank's program was changed."""
    given = programs(shape)
    given[rank] = tuple(damage(given[rank]))
    found = check(given, alltoall(shape))
    assert found is not None
    return found


def first(kind: type, program: RankProgram) -> int:
    return next(i for i, event in enumerate(program) if isinstance(event, kind))


@pytest.mark.parametrize("shape", list(TileShape))
def test_what_is_emitted_is_right_for_all_small_sizes(shape: TileShape) -> None:
    assert check_shape(shape) is None


@pytest.mark.parametrize("late", range(4))
def test_late_planes_and_planes_from_before_are_right(late: int) -> None:
    assert check_reach(TileShape.EVERY_BLOCK, late, ranks=3) is None


@pytest.mark.wide
@pytest.mark.parametrize("late", range(5))
def test_late_planes_are_right_for_five_ranks(late: int) -> None:
    assert check_reach(TileShape.EVERY_BLOCK, late, ranks=5, planes=5) is None


def test_slabs_of_which_the_loop_leaves_out_some_are_right() -> None:
    assert check_reach(TileShape.SLAB, 0, ranks=4, planes=3) is None


REACHES = st.builds(Reach, st.integers(-3, 4), st.integers(0, 4), st.integers(-3, 4))


@given(
    st.sampled_from((TileShape.EVERY_BLOCK, TileShape.SLAB)),
    st.integers(1, 6),
    st.integers(0, 9),
    st.integers(0, 11),
    st.integers(1, 6),
    REACHES,
)
def test_reaches_are_right_for_other_sizes(
    shape: TileShape, ranks: int, planes: int, tile: int, depth: int, reach: Reach
) -> None:
    assert check_sizes(shape, Sizes(ranks, planes, 2, tile, depth, reach)) is None


@given(st.integers(0, 3), st.integers(0, 3), st.integers(1, 5), st.integers(1, 3))
def test_a_plane_that_is_later_than_the_schedule_takes_it_for(
    before: int, late: int, tile: int, depth: int
) -> None:
    """With more than one tile, what is sent with the first is sent too early."""
    sizes = Sizes(2, before + 8, 1, tile, depth, Reach(before, late, 0))
    later = replace(sizes, reach=Reach(before, late + 1, 0))
    given = programs(TileShape.EVERY_BLOCK, sizes)
    found = check(given, alltoall(TileShape.EVERY_BLOCK, later))
    sent_before_the_end = any(
        isinstance(event, Send)
        and event.step < max(e.step for e in given[0] if isinstance(e, Send))
        for event in given[0]
    )
    assert (found is not None) == sent_before_the_end
    assert found is None or found.kind is Fault.EARLY_SEND


def test_a_prologue_that_sends_a_plane_too_many() -> None:
    sizes = Sizes(2, 6, 1, 2, 1, Reach(2, 0, 0))
    less = replace(sizes, reach=Reach(1, 0, 1))
    found = check(programs(TileShape.EVERY_BLOCK, sizes), alltoall(TileShape.EVERY_BLOCK, less))
    assert found is not None
    assert found.kind is Fault.EARLY_SEND


def test_ranks_that_differ_about_what_is_final_before() -> None:
    sizes = Sizes(2, 6, 1, 2, 1, Reach(2, 0, 1))
    other = replace(sizes, reach=Reach(1, 0, 2))
    mixed = [schedule(TileShape.EVERY_BLOCK, 0, sizes), schedule(TileShape.EVERY_BLOCK, 1, other)]
    found = check(mixed, alltoall(TileShape.EVERY_BLOCK, sizes))
    assert found is not None
    assert found.kind is Fault.WRONG_LENGTH


@given(
    st.sampled_from(list(TileShape)),
    st.builds(
        Sizes,
        ranks=st.integers(1, 7),
        trips=st.integers(0, 12),
        elements=st.integers(0, 3),
        tile=st.integers(0, 14),
        depth=st.integers(1, 9),
        runs=st.just(1),
        order=st.just((0, 1, 2, 3)),
    ),
)
def test_what_is_emitted_is_right_for_other_sizes(shape: TileShape, sizes: Sizes) -> None:
    assert check_sizes(shape, sizes) is None


@given(st.sampled_from(list(TileShape)), st.integers(1, 4), st.integers(1, 9), st.integers(1, 10))
def test_slots_are_within_the_request_array(
    shape: TileShape, ranks: int, trips: int, tile: int
) -> None:
    sizes = Sizes(ranks, trips, 1, tile, 2)
    used = {e.slot for p in programs(shape, sizes) for e in p if isinstance(e, Post | Send)}
    assert used <= set(range(slots(shape, sizes)))


@pytest.mark.parametrize("shape", list(TileShape))
def test_a_missing_receive(shape: TileShape) -> None:
    def without_a_receive(program: RankProgram) -> list[Event]:
        at = first(Post, program)
        return [*program[:at], *program[at + 1 :]]

    found = damaged(shape, 1, without_a_receive)
    # The last piece of that pair has no receive left, or the next receive is of another length.
    assert found.kind in (Fault.MISSING_RECEIVE, Fault.WRONG_LENGTH)
    assert "rank 1" in found.witness


def test_a_missing_receive_of_the_last_piece() -> None:
    def without_the_last(program: RankProgram) -> list[Event]:
        last = [event for event in program if isinstance(event, Post)][-1]
        return [event for event in program if event is not last]

    assert damaged(TileShape.EVERY_BLOCK, 0, without_the_last).kind is Fault.MISSING_RECEIVE


@pytest.mark.parametrize("shape", list(TileShape))
def test_a_wrong_length(shape: TileShape) -> None:
    def longer(program: RankProgram) -> list[Event]:
        at = first(Post, program)
        post = program[at]
        assert isinstance(post, Post)
        return [*program[:at], replace(post, length=post.length + 1), *program[at + 1 :]]

    assert damaged(shape, 2, longer).kind is Fault.WRONG_LENGTH


def test_a_wait_cycle() -> None:
    # Each of two ranks waits for what it sends before it posts its receive.
    def rank(peer: int, me: int) -> RankProgram:
        return (
            Compute(0, range(1)),
            Send(0, peer, peer, 1, 0),
            Wait(0, (0,)),
            Post(0, peer, peer, 1, 1),
            Send(0, me, me, 1, 2),
            Post(0, me, me, 1, 3),
            Wait(1, (0, 1, 2, 3)),
        )

    found = check([rank(1, 0), rank(0, 1)], Alltoall(1, 1, lambda element: 0))
    assert found is not None
    assert found.kind is Fault.WAIT_CYCLE
    assert "rank 0 waits for its send to rank 1" in found.witness
    assert "rank 1 waits for its send to rank 0" in found.witness


def test_receives_posted_too_late_are_a_wait_cycle() -> None:
    # All receives move behind the last step: the second tile's wait never ends.
    def late(program: RankProgram) -> list[Event]:
        posts = [event for event in program if isinstance(event, Post)]
        return [*(e for e in program[:-1] if not isinstance(e, Post)), *posts, program[-1]]

    sizes = Sizes(ranks=2, trips=4, elements=1, tile=1, depth=1)
    given = [tuple(late(p)) for p in programs(TileShape.EVERY_BLOCK, sizes)]
    found = check(given, alltoall(TileShape.EVERY_BLOCK, sizes))
    assert found is not None
    assert found.kind is Fault.WAIT_CYCLE


@pytest.mark.parametrize("shape", list(TileShape))
def test_a_lost_piece(shape: TileShape) -> None:
    # Both sides forget the same message: nothing hangs, but the elements do not arrive.
    given = programs(shape)
    lost = next(e for e in given[0] if isinstance(e, Send) and e.peer == 1)
    matching = next(e for e in given[1] if isinstance(e, Post) and e.peer == 0)
    given[0] = tuple(e for e in given[0] if e is not lost)
    given[1] = tuple(e for e in given[1] if e is not matching)
    found = check(given, alltoall(shape))
    assert found is not None
    assert found.kind is Fault.LOST_PIECE
    assert "of rank 1" in found.witness


def test_a_duplicated_piece() -> None:
    def again(program: RankProgram) -> list[Event]:
        return [
            copy
            for event in program
            for copy in (
                (event, replace(event, slot=event.slot + 1000))
                if isinstance(event, Post | Send)
                else (event,)
            )
        ] + [Wait(99, tuple(range(1000, 1000 + slots(TileShape.EVERY_BLOCK, SIZES))))]

    # The copies of a slot that is used again would be overwritten: use every slot once.
    sizes = replace(SIZES, tile=SIZES.trips)
    given = [tuple(again(p)) for p in programs(TileShape.EVERY_BLOCK, sizes)]
    found = check(given, alltoall(TileShape.EVERY_BLOCK, sizes))
    assert found is not None
    assert found.kind is Fault.DUPLICATED_PIECE


def test_a_piece_in_the_wrong_place() -> None:
    def swapped(program: RankProgram) -> list[Event]:
        posts = [e for e in program if isinstance(e, Post) and e.peer == 2]
        assert posts[0].length == posts[1].length
        places = {id(posts[0]): posts[1].offset, id(posts[1]): posts[0].offset}
        return [
            replace(e, offset=places.get(id(e), e.offset)) if isinstance(e, Post) else e
            for e in program
        ]

    assert damaged(TileShape.EVERY_BLOCK, 0, swapped).kind is Fault.MISPLACED_PIECE


@pytest.mark.parametrize("shape", list(TileShape))
def test_a_piece_sent_too_early(shape: TileShape) -> None:
    def early(program: RankProgram) -> list[Event]:
        at = first(Send, program)
        return [program[at], *program[:at], *program[at + 1 :]]

    found = damaged(shape, 0, early)
    assert found.kind is Fault.EARLY_SEND
    assert "before iteration" in found.witness


def test_an_element_that_changes_one_iteration_later() -> None:
    # The schedule sends what iteration i wrote with its own tile; here i + 1 still changes it.
    late = last_writer(TileShape.EVERY_BLOCK, SIZES)
    moves = replace(
        alltoall(TileShape.EVERY_BLOCK), final=lambda e: min(late(e) + 1, SIZES.trips - 1)
    )
    found = check(programs(TileShape.EVERY_BLOCK), moves)
    assert found is not None
    assert found.kind is Fault.EARLY_SEND


@pytest.mark.parametrize("shape", list(TileShape))
def test_a_slot_reused_too_early(shape: TileShape) -> None:
    def without_waits(program: RankProgram) -> list[Event]:
        return [e for e in program if not isinstance(e, Wait) or e is program[-1]]

    assert damaged(shape, 0, without_waits).kind is Fault.SLOT_REUSED


@pytest.mark.parametrize("shape", list(TileShape))
def test_a_request_without_a_wait(shape: TileShape) -> None:
    assert damaged(shape, 1, lambda program: list(program[:-1])).kind is Fault.NOT_WAITED


def test_an_iteration_left_out_or_repeated() -> None:
    def without(program: RankProgram) -> list[Event]:
        # Nothing is sent after the last tile's compute but that tile: drop both.
        at = max(i for i, e in enumerate(program) if isinstance(e, Compute))
        return [e for i, e in enumerate(program) if i < at or isinstance(e, Wait)]

    assert damaged(TileShape.EVERY_BLOCK, 0, without).kind is Fault.ITERATIONS
    twice = damaged(TileShape.SLAB, 0, lambda program: [*program, Compute(9, range(0, 1))])
    assert twice.kind is Fault.ITERATIONS


@pytest.mark.parametrize("shape", list(TileShape))
def test_one_rank_that_falls_back_alone(shape: TileShape) -> None:
    given = programs(shape)
    given[1] = schedule(shape, 1, replace(SIZES, tile=0))
    found = check(given, alltoall(shape))
    assert found is not None
    assert found.kind is Fault.DISAGREEMENT


def test_two_ranks_with_different_tiles() -> None:
    given = programs(TileShape.EVERY_BLOCK)
    given[1] = schedule(TileShape.EVERY_BLOCK, 1, replace(SIZES, tile=3))
    found = check(given, alltoall(TileShape.EVERY_BLOCK))
    assert found is not None
    assert found.kind in (Fault.WRONG_LENGTH, Fault.MISSING_RECEIVE, Fault.MISSING_SEND)


def test_a_call_before_the_loop_is_done() -> None:
    given = [(Collective(), Compute(0, range(5)))] * 3
    found = check(given, alltoall(TileShape.EVERY_BLOCK))
    assert found is not None
    assert found.kind is Fault.EARLY_SEND


def test_nothing_to_send_leaves_the_original_call() -> None:
    nothing = Sizes(ranks=2, trips=3, elements=0, tile=2, depth=1)
    for shape in TileShape:
        assert any(isinstance(e, Collective) for e in schedule(shape, 0, nothing))
        assert check_sizes(shape, nothing) is None


def test_slabs_go_to_different_ranks_at_the_same_step() -> None:
    given = programs(TileShape.SLAB)
    steps = {e.step for p in given for e in p if isinstance(e, Send)}
    for step in steps:
        peers = [e.peer for p in given for e in p if isinstance(e, Send) and e.step == step]
        assert sorted(peers) == [0, 1, 2]
