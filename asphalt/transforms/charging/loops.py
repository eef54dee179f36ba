"""Charges for loops: before the loop if its trip count is known there, else in each iteration."""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.cost.cache_lines import lost
from asphalt.analysis.cost.classes import Counts, total
from asphalt.analysis.cost.expressions import EnclosingLoop
from asphalt.analysis.cost.recurrences import iteration_latency
from asphalt.analysis.cost.scalar_replacement import defined_in, kept_in_registers
from asphalt.analysis.cost.trip_counts import TripCount, is_repeatable, loop_trips
from asphalt.ir.expr import Ref
from asphalt.ir.stmt import IO, Call, DoHead, Jump, JumpKind, Opaque
from asphalt.ir.tree import Do, Node, leaves
from asphalt.transforms.charging.concurrent import concurrent
from asphalt.transforms.charging.edit import FLUSH, Charge
from asphalt.transforms.charging.insert import emitted, flushed
from asphalt.transforms.charging.state import ENDS, Blocks, ChargerState, Placed
from asphalt.transforms.rewriting.make import maker_at


def charge_loop(state: ChargerState, do: Do, block: Blocks) -> Placed:
    """Charge a loop; ``due`` is what is charged before it."""
    head = do.head.what
    if not isinstance(head, DoHead):
        return Placed((do,), (), 0, False)
    if head.kind == "concurrent":
        return concurrent(state, do, head.condition, do.body, block)
    variable = head.var.name if isinstance(head.var, Ref) else ""
    depth = len(state.loops)
    varying = state.also_selectors(defined_in(do.body)) | {variable}
    varying -= kept_in_registers(do.body, variable)
    kept = state.loops
    counter = state.counter()
    counter.add(depth, loop_entry=1)
    for expr in (head.first, head.last, head.step):
        if expr is not None:
            counter.value(expr)
    outside = state.taken(counter, do)
    state.loops = (*kept, EnclosingLoop(variable, varying))
    placed = block(do.body)
    turn = [Charge(depth + 1, Counts.of(loop=1)), *_waiting(state, do, placed, variable)]
    fetched = lost(do.body, variable, varying, state.costs.cache, state.around)
    turn += [Charge(depth + 1, counts, trips) for counts, trips in fetched]
    if head.condition is not None:
        condition = state.counter()
        condition.condition(head.condition, ends=True)
        turn += state.taken(condition, do)
    state.loops = kept
    trips = loop_trips(head, state.around)
    flush = state.needs_clock(head)
    stays, leaves_loop = _divided(state, (*turn, *placed.due), placed, trips, varying, depth)
    body = emitted(state, replace(placed, due=stays)) if stays else placed.nodes
    due = (*outside, *leaves_loop)
    closed = _is_closed(state, do, placed) and not state.calls_out(head)
    if flush and head.condition is not None and do.end is not None:
        body = (*body, maker_at(do.head, state.form, state.eol).inner().call(FLUSH))
    nodes: tuple[Node, ...] = (replace(do, body=body),)
    return Placed(flushed(state, nodes) if flush else nodes, due, 0, closed)


def _divided(
    state: ChargerState,
    charges: tuple[Charge, ...],
    placed: Placed,
    trips: TripCount | None,
    varying: frozenset[str],
    depth: int,
) -> tuple[tuple[Charge, ...], tuple[Charge, ...]]:
    """What each iteration charges by itself, and what is charged before the loop."""
    stays: list[Charge] = []
    out: list[Charge] = []
    countable = trips is not None and placed.closed and is_repeatable(trips, state.around)
    for charge in charges:
        free = state.may_move(charge, varying)
        if charge.level <= depth and free:
            out.append(charge)
        elif countable and free:
            assert trips is not None
            out.append(replace(charge, level=depth, trips=(trips, *charge.trips)))
        else:
            stays.append(charge)
    return tuple(stays), tuple(out)


def _waiting(state: ChargerState, do: Do, placed: Placed, variable: str) -> tuple[Charge, ...]:
    """How long an iteration of an innermost loop waits for results, beyond what it computes."""
    own = [leaf.what for node in do.body for leaf in leaves(node)]
    if any(isinstance(what, DoHead | Call | IO) for what in own):
        return ()
    depth = len(state.loops)
    counts = total(c.counts for c in placed.due if c.level == depth) + Counts.of(loop=1)
    busy = counts.seconds(state.costs.seconds)
    found = iteration_latency(do.body, variable, state.around, state.costs.latency)
    least = found.least(counts.time(state.costs.seconds), state.costs.window)
    return (Charge(depth, Counts(), (), least - busy),) if least > busy else ()


def _is_closed(state: ChargerState, do: Do, placed: Placed) -> bool:
    """Whether control runs through the loop, and nothing in it communicates."""
    if placed.closed:
        return True
    for node in do.body:
        for leaf in leaves(node):
            what = leaf.action
            match what:
                case Jump(kind=JumpKind.CYCLE | JumpKind.EXIT, construct=None):
                    continue
                case Jump(kind=kind) if kind in ENDS:
                    continue
                case Jump() | Call() | Opaque():
                    return False
                case IO(labels=labels) if labels:
                    return False
            if state.calls_out(what):
                return False
    return True
