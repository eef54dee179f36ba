"""Collective operations in messages: the protocol that is checked before they are emitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asphalt.analysis.schedule.blocks import (
    BlockSizes,
    Pattern,
    Spread,
    blocks_schedule,
    spread_schedule,
)
from asphalt.analysis.schedule.check import Fault, ProtocolError
from asphalt.analysis.schedule.check_blocks import (
    check_blocks,
    check_blocks_of,
    check_spread,
    check_spread_of,
)
from asphalt.analysis.schedule.exchange import Compute, Event, Post, RankProgram, Send, Wait
from asphalt.transforms.decomposition import decomposition
from support.collective_programs import ALLTOALL, BCAST, USE, program, units
from support.mpi_run import MPICH, OPENMPI, RUNTIME, Mpi, build, installed, run
from support.places import RUNTIME_PROGRAMS

Change = Callable[[int, RankProgram], list[Event]]
_LOOPS = list(product((False, True), repeat=2))
USUAL = BlockSizes(
    Pattern.ALL, ((1, 2, 3), (2, 1, 2), (3, 3, 1)), 0, range(3), range(3), True, window=1
)
LINE = Spread(4, 1, planes=3, plane=2, piece=2, line=True, fills=True, uses=True)


@pytest.mark.parametrize(("fills", "uses"), _LOOPS)
@pytest.mark.parametrize("pattern", Pattern)
def test_blocks(pattern: Pattern, fills: bool, uses: bool) -> None:
    assert check_blocks(pattern, fills=fills, uses=uses) is None


@pytest.mark.parametrize(("fills", "uses"), _LOOPS)
def test_blocks_that_touch_planes(fills: bool, uses: bool) -> None:
    assert check_blocks(Pattern.ALL, fills=fills, uses=uses, planes=True) is None


@pytest.mark.parametrize("uses", [False, True])
def test_blocks_that_come_late(uses: bool) -> None:
    assert check_blocks(Pattern.ALL, fills=True, uses=uses, late=True) is None


@pytest.mark.parametrize(("fills", "uses"), _LOOPS)
def test_a_broadcast(fills: bool, uses: bool) -> None:
    assert check_spread(fills=fills, uses=uses) is None


@given(st.data())
def test_other_sizes(data: st.DataObject) -> None:
    ranks = data.draw(st.integers(1, 6))
    row = st.tuples(*[st.integers(0, 3)] * ranks)
    places = st.builds(range, st.integers(0, 2), st.integers(0, ranks))
    sizes = BlockSizes(
        data.draw(st.sampled_from(Pattern)),
        data.draw(st.tuples(*[row] * ranks)),
        data.draw(st.integers(0, ranks - 1)),
        data.draw(places),
        data.draw(places),
        data.draw(st.booleans()),
        data.draw(st.integers(1, ranks)),
        data.draw(st.booleans()),
    )
    assert _fault(sizes) is None


@given(
    st.builds(
        Spread,
        st.integers(1, 9),
        st.just(0),
        st.integers(1, 4),
        st.integers(1, 3),
        st.integers(1, 5),
        st.booleans(),
        st.booleans(),
        st.booleans(),
    ),
    st.integers(0, 8),
)
def test_other_sizes_of_a_broadcast(sizes: Spread, root: int) -> None:
    assert _fault(replace(sizes, root=root % sizes.ranks)) is None


def _same(rank: int, program: RankProgram) -> list[Event]:
    del rank
    return list(program)


def _fault(sizes: BlockSizes | Spread, change: Change = _same) -> Fault | None:
    """What is wrong when the programs of the ranks are changed."""
    ranks = range(sizes.ranks)
    if isinstance(sizes, Spread):
        found = check_spread_of([change(r, spread_schedule(r, sizes)) for r in ranks], sizes)
    else:
        found = check_blocks_of([change(r, blocks_schedule(r, sizes)) for r in ranks], sizes)
    return None if found is None else found.kind


def _without(rank: int, number: int, kind: type[Event]) -> Change:
    """Without the last but so many event of a kind on one rank."""

    def change(here: int, program: RankProgram) -> list[Event]:
        found = [n for n, event in enumerate(program) if isinstance(event, kind)]
        left_out = found[-1 - number] if here == rank else None
        return [event for n, event in enumerate(program) if n != left_out]

    return change


def _before(kind: type[Event], other: type[Event]) -> Change:
    """The last event of a kind that stands behind one of another kind comes before it."""

    def change(rank: int, program: RankProgram) -> list[Event]:
        del rank
        found = list(program)
        for n in reversed(range(len(found) - 1)):
            if isinstance(found[n], other) and isinstance(found[n + 1], kind):
                found[n : n + 2] = found[n + 1], found[n]
                break
        return found

    return change


FAULTS: dict[str, tuple[BlockSizes | Spread, Change, set[Fault]]] = {
    "a send too few": (USUAL, _without(1, 0, Send), {Fault.MISSING_SEND, Fault.WRONG_LENGTH}),
    "a receive too few": (USUAL, _without(2, 0, Post), {Fault.MISSING_RECEIVE}),
    "a last wait too few": (USUAL, _without(0, 0, Wait), {Fault.NOT_WAITED}),
    "an iteration too few": (USUAL, _without(0, 0, Compute), {Fault.ITERATIONS}),
    "sent before it is filled": (USUAL, _before(Send, Compute), {Fault.EARLY_SEND}),
    "used before it is there": (
        replace(USUAL, fills=range(0)), _before(Compute, Wait), {Fault.UNRECEIVED},
    ),
    "received in what is still read": (
        replace(USUAL, late=True), _before(Post, Compute), {Fault.EARLY_RECEIVE},
    ),
    "sent on before it is there": (
        replace(LINE, fills=False, uses=False), _before(Send, Wait), {Fault.EARLY_SEND},
    ),
    "a plane before it is there": (LINE, _before(Compute, Wait), {Fault.UNRECEIVED}),
    "not sent on": (LINE, _without(2, 0, Send), {Fault.MISSING_SEND}),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_wrong_shows(name: str) -> None:
    sizes, change, kinds = FAULTS[name]
    assert _fault(sizes) is None
    assert _fault(sizes, change) in kinds


def test_ranks_that_wait_before_they_send_wait_for_ever() -> None:
    def change(rank: int, program: RankProgram) -> list[Event]:
        del rank
        sends = [event for event in program if isinstance(event, Send)]
        at = next(n for n, event in enumerate(program) if isinstance(event, Wait)) + 1
        found = [event for event in program[:at] if event not in sends]
        return [*found, *sends, *(event for event in program[at:] if event not in sends)]

    alone = replace(USUAL, counts=((1, 1), (1, 1)), fills=range(0), uses=range(1, 2), turned=False)
    assert _fault(alone) is None
    assert _fault(alone, change) is Fault.WAIT_CYCLE


@pytest.mark.parametrize("body", [ALLTOALL + USE, BCAST + USE])
def test_a_fault_keeps_the_operation(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert decomposition.check(units(tmp_path, program(body)))

    def fault(*args: object, **kwargs: object) -> ProtocolError:
        return ProtocolError(Fault.WAIT_CYCLE, "rank 0")

    monkeypatch.setattr(decomposition, "check_blocks", fault)
    monkeypatch.setattr(decomposition, "check_spread", fault)
    facts = units(tmp_path, program(body))
    assert decomposition.check(facts) == ()
    (refused,) = decomposition.refusals(facts)
    assert refused.code is decomposition.PROTOCOL
    assert "ranks wait for each other" in refused.message


_COUNT, _RANKS = 4096, 4
_EQUAL = ((_COUNT,) * _RANKS,) * _RANKS
_EACH = range(_RANKS)
_NONE = range(0)
EXECUTED: dict[str, BlockSizes | Spread] = {
    "all": BlockSizes(Pattern.ALL, _EQUAL, 0, _EACH, _EACH, True, _RANKS),
    "late": BlockSizes(Pattern.ALL, _EQUAL, 0, _EACH, _NONE, False, _RANKS, late=True),
    "gather": BlockSizes(Pattern.GATHER, _EQUAL, 1, _NONE, _EACH, False, _RANKS),
    "scatter": BlockSizes(Pattern.SCATTER, _EQUAL, 1, _EACH, _NONE, False, _RANKS),
    "line": Spread(_RANKS, 1, _RANKS, _COUNT, _COUNT // 2, True, True, False),
    "tree": Spread(_RANKS, 1, _RANKS, _COUNT // 8, _COUNT // 2, False, True, False),
}


def _told(event: Event, rank: int, filled: int) -> str | None:
    """An event as the traced program prints it; what a rank has for itself is no message."""
    match event:
        case Send(peer=peer, length=length) if peer != rank:
            return f"send {peer} {length}"
        case Post(peer=peer, length=length) if peer != rank:
            return f"post {peer} {length}"
        case Compute(step=place, iterations=some):
            return f"{'fill' if some.start < filled else 'use'} {place}"
    return None


@pytest.mark.parametrize(
    "mpi", [pytest.param(m, marks=[pytest.mark.wide] * n) for n, m in
            enumerate(installed(OPENMPI, MPICH))], ids=str,
)  # fmt: skip
def test_the_run_time_module_does_this(mpi: Mpi, tmp_path: Path) -> None:
    sources = [RUNTIME_PROGRAMS / "traced.f90", *RUNTIME, RUNTIME_PROGRAMS / "blocks_traced.f90"]
    outcome = run(mpi, build(mpi, sources, tmp_path, ("-O1",)), _RANKS)
    assert outcome.code == 0, outcome.stderr
    lines = [line.split() for line in outcome.stdout.splitlines()]
    for rank in range(_RANKS):
        found: dict[str, list[str]] = {}
        told: list[str] = []
        for what, me, *rest in lines:
            if me == str(rank) and what == "next":
                told = found.setdefault(" ".join(rest), [])
            elif me == str(rank):
                told.append(" ".join([what, *rest]))
        for name, sizes in EXECUTED.items():
            assert found[name] == _events(rank, sizes), (rank, name)


def _events(rank: int, sizes: BlockSizes | Spread) -> list[str]:
    """What a rank says of itself in an execution."""
    if isinstance(sizes, Spread):
        program, filled = spread_schedule(rank, sizes), sizes.planes
    else:
        program, filled = blocks_schedule(rank, sizes), len(sizes.fills)
    return [text for event in program if (text := _told(event, rank, filled)) is not None]
