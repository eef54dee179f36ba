"""Condition 1: one loop nest defines the send buffer, and runs exactly as often as the call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asphalt.analysis.conditions.equally_often import (
    NOT_TOGETHER,
    WAY_OUT,
    call_without,
    not_in_turn,
    reaching_lines,
    refused_by,
)
from asphalt.analysis.conditions.equally_often import check as check
from asphalt.analysis.conditions.evidence import order_marks, order_witness
from asphalt.analysis.conditions.send_side import CHANGED
from asphalt.analysis.conditions.visible_effects import refused_for
from asphalt.analysis.exchange.buffers import buffer_of
from asphalt.analysis.exchange.packed_subscripts import closed_form_of
from asphalt.analysis.exchange.packing_copy import packing_copy
from asphalt.analysis.exchange.packing_counter import counter_of
from asphalt.analysis.exchange.phase_order import Reorder, carried_by_fusion, carried_by_interchange
from asphalt.analysis.exchange.privatisation import covers_whole
from asphalt.analysis.exchange.producer import (
    Producer,
    ProducerPhase,
    make_producer,
    positioned_loops,
    tilable_loops,
)
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.exchange.statements_between import commute, may_be_first
from asphalt.analysis.memory.accesses import ALIASED
from asphalt.analysis.memory.loop_scalars import is_copy, upward_exposed
from asphalt.analysis.memory.statement_accesses import examine
from asphalt.analysis.verdicts.verdict import Code, Mark, Refused
from asphalt.ir.records import record
from asphalt.ir.stmt import Call, Guarded
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, leaves

NO_LOOP = Code(
    "ASP101",
    "no loop nest of this procedure defines the send buffer",
    "The send buffer is defined before the procedure is entered, by a called procedure, or by a "
    "statement that is not a loop: there is no computation here that could be overlapped.",
    "If another procedure computes the buffer, ask for `--passes prepush,inline`, which inlines "
    "procedures for an exchange; or call it in the loop over planes.",
    1,
)
LOOP = Code(
    "ASP104",
    "the loop cannot be tiled",
    "The loop over the planes is not a counted loop with an integer variable and step 1 or -1, or "
    "its bounds change in the nest.",
    "Write it as `do k = first, last` with bounds that are set before.",
    1,
)
ONLY_COPY = Code(
    "ASP105",
    "only the packing copy could be overlapped",
    "The nest in front of the call only copies into the send buffer.  The computation before it "
    "cannot be tiled together with it: an iteration packs a plane that a later iteration "
    "computes, or both use a variable that carries a value.  Nor can the copy be removed: "
    "something else uses the send buffer or a variable of the copy's loops, or the copy is not "
    "one assignment of elements with affine subscripts that fills the buffer.",
    "Compute and pack plane by plane, in loops over the same range; or copy element by element "
    "into an array that only the exchange uses.",
    1,
)
ORDER = Code(
    "ASP106",
    "tiling would change the order of dependent operations",
    "The loop over the planes is not the outermost loop of its nest, and moving it outwards would "
    "interchange two accesses to the same element.",
    "Make the loop over the planes the outermost one.",
    1,
)

CODES = (NO_LOOP, NOT_TOGETHER, WAY_OUT, LOOP, ONLY_COPY, ORDER)


def definer(exchange: Exchange) -> int | Refused:
    """The position, among the siblings of the call, of the nest that defines the send buffer."""
    arguments = exchange.call.procedure.exchange
    assert arguments is not None
    buffer = buffer_of(exchange, arguments.send)
    assert buffer is not None
    storage = exchange.names.storage(buffer.name)
    reaching = [
        d
        for d in exchange.reaching.at(exchange.point, storage)
        if d.leaf is not None and d.point != exchange.point
    ]
    for around in exchange.place.around:
        if isinstance(around, Do) and getattr(around.head.what, "kind", "") == "concurrent":
            message = "the exchange is inside of a DO CONCURRENT"
            return Refused(NOT_TOGETHER, message, around.head.span)
    if exchange.guarded:
        message = "the call is under an IF of its own"
        skipped = not_in_turn(exchange, reaching)
        return refused_by(NOT_TOGETHER, message, exchange.span, skipped)
    siblings = exchange.place.siblings
    for position in range(exchange.place.position - 1, -1, -1):
        node = siblings[position]
        if examine((node,), exchange.names).may_write(storage):
            answer = _nest_at(exchange, position, node, buffer.spelled)
            if isinstance(answer, int):
                return answer
            inside = exchange.reaching.graph.inside(node)
            here = [d for d in reaching if d.point in inside]
            if _is_defined_by_nest(exchange, position, storage):
                message = f"{buffer.spelled} changes between the nest that defines it and the call"
                return Refused(CHANGED, message, answer.span, reaching_lines(reaching))
            way = call_without(exchange, here) if answer.code is NOT_TOGETHER else None
            found = way or reaching_lines(here)
            return refused_by(answer.code, answer.message, answer.span, found)
    written = exchange.values.writes_of(storage)
    if any(a.leaf is not exchange.leaf for a in written):
        message = f"{buffer.spelled} is defined outside of the block that contains the call"
        where = next(a.leaf for a in written if a.leaf is not exchange.leaf)
        why = not_in_turn(exchange, reaching) or reaching_lines(reaching)
        return refused_by(NOT_TOGETHER, message, where.span or exchange.span, why)
    message = f"nothing in this procedure defines {buffer.spelled}"
    return refused_by(NO_LOOP, message, exchange.span, call_without(exchange, ()))


def _is_defined_by_nest(exchange: Exchange, before: int, storage: str) -> bool:
    """Whether a loop nest among the siblings in front of ``before`` writes ``storage``."""
    return any(
        isinstance(node, Do) and examine((node,), exchange.names).may_write(storage)
        for node in exchange.place.siblings[:before]
    )


def _nest_at(exchange: Exchange, position: int, node: Node, name: str) -> int | Refused:
    first = next(iter(leaves(node)))
    match node:
        case Do():
            return position
        case Branch() | Block():
            message = f"{name} is defined under a condition that does not guard the call"
            return Refused(NOT_TOGETHER, message, first.span)
        case Leaf(what=Guarded()):
            message = f"{name} is defined under a condition that does not guard the call"
            return Refused(NOT_TOGETHER, message, first.span)
        case Leaf(what=Call()):
            message = f"{name} is defined by a called procedure, not by a loop here"
            return Refused(NO_LOOP, message, first.span)
    return Refused(NO_LOOP, f"{name} is defined by a statement that is not a loop", first.span)


def producers(exchange: Exchange, position: int) -> Iterator[Producer | Refused]:
    """Every way to tile the producer, the most promising first; then the refusals of the others.

    ``position`` is that of the defining nest.  Ways that overlap more phases come first, then those
    with an outer tiled loop.
    """
    nest = exchange.place.siblings[position]
    assert isinstance(nest, Do)
    refusals: list[Refused] = []
    found: list[Producer] = []
    for loops in tilable_loops(nest):
        answer = _with_phases(exchange, ProducerPhase(position, loops))
        if isinstance(answer, Refused):
            refusals.append(answer)
        else:
            found += answer
    running = positioned_loops(nest)
    if running is not None and counter_of(exchange, running, position) is not None:
        answer = _with_phases(exchange, ProducerPhase(position, running))
        if isinstance(answer, Refused):
            refusals, found = [answer], []
        else:
            found += answer
    yield from sorted(found, key=lambda p: (-len(p.phases), len(p.packing.loops)))
    yield from _without_copy(exchange, position)
    if not refusals and not found:
        message = "the loop is not a counted loop"
        refusals.append(Refused(LOOP, message, nest.head.span))
    # a loop that could be tiled says more than one around it that could not
    yield from sorted(refusals, key=lambda refused: refused.code is LOOP)


def _without_copy(exchange: Exchange, position: int) -> Iterator[Producer]:
    """The ways to tile the nest that computes the source of a packing copy, without the copy."""
    arguments = exchange.call.procedure.exchange
    uneven = arguments is not None and arguments.send_displacements is not None
    copy = None if uneven else packing_copy(exchange, position)
    if copy is None:
        return
    storage = exchange.names.storage(copy.source)
    for before in range(position - 1, -1, -1):
        nest = exchange.place.siblings[before]
        if storage not in examine((nest,), exchange.names).written():
            continue
        if not isinstance(nest, Do):
            return
        found: list[Producer] = []
        for loops in tilable_loops(nest):
            answer = _with_phases(exchange, ProducerPhase(before, loops))
            found += [] if isinstance(answer, Refused) else answer
        for producer in sorted(found, key=lambda p: (-len(p.phases), len(p.packing.loops))):
            yield replace(producer, copy=copy)
        return


def _with_phases(exchange: Exchange, packing: ProducerPhase) -> tuple[Producer, ...] | Refused:
    """The producers that end with this phase; each has one more leading phase than the last."""
    counter = counter_of(exchange, packing.loops, packing.position)
    if counter is None:
        counter = closed_form_of(exchange, packing.loops)
    alone = make_producer(exchange, (packing,), (), counter)
    if alone is None:
        message = (
            f"the loop over {packing.variable} has a step other than 1 or -1, or bounds that are "
            "not known to stay the same in the nest"
        )
        return Refused(LOOP, message, packing.tiled.head.span)
    symbol = exchange.scope.lookup(packing.variable)
    if symbol is None or symbol.type is None or symbol.type.base != "integer" or symbol.dims:
        message = f"the loop variable {packing.variable} is not an integer scalar"
        return Refused(LOOP, message, packing.tiled.head.span)
    carried = None
    if counter is None or counter.variable is None:
        carried = carried_by_interchange(alone, packing)
    if carried is not None:
        message = (
            f"tiling the loop over {packing.variable} would change the order of {_what(carried)}"
        )
        return Refused(
            ORDER, message, carried.later.span, order_witness(carried), order_marks(carried)
        )
    fused, obstacle = _fuse(exchange, alone)
    copies = is_copy(packing.nest, exchange.names, beside_scalars=True)
    if counter is not None:
        copies = counter.copies
    if not copies:
        return (alone, *fused)
    if not fused:
        if obstacle is not None and obstacle.refused is not None:
            return obstacle.refused
        return _refused_copy(packing, obstacle)
    return fused


def _refused_copy(packing: ProducerPhase, obstacle: TilingObstacle | None) -> Refused:
    """The refusal of a nest that only copies, with what keeps the computation apart from it."""
    message, span = "the nest only copies into the send buffer", packing.nest.head.span
    if obstacle is None:
        message += ", and no nest before it computes what is copied"
        return Refused(ONLY_COPY, message, span)
    message += f"; the computation cannot be tiled with it: {obstacle.text}"
    return Refused(ONLY_COPY, message, span, obstacle.witness, obstacle.marks)


def refused_as_copy(exchange: Exchange, position: int) -> Refused | None:
    """The refusal of the nest at a position among the siblings of the call if it only copies, and
    sets scalars for its subscripts; None: it computes, or nests before it can be tiled with it."""
    nest = exchange.place.siblings[position]
    if not isinstance(nest, Do) or not is_copy(nest, exchange.names, beside_scalars=True):
        return None
    for loops in tilable_loops(nest):
        packing = ProducerPhase(position, loops)
        alone = make_producer(exchange, (packing,), ())
        fused, obstacle = ((), None) if alone is None else _fuse(exchange, alone)
        if alone is not None and not fused:
            return _refused_copy(packing, obstacle)
    return None


@record
class TilingObstacle:
    """Why a nest cannot be tiled together with those behind it.

    ``refused``: it has effects that tiled loops may not have, whatever follows it.
    """

    text: str
    witness: str | None = None
    marks: tuple[Mark, ...] = ()
    refused: Refused | None = None


def _fuse(
    exchange: Exchange, producer: Producer
) -> tuple[tuple[Producer, ...], TilingObstacle | None]:
    """Add the nests before the first phase, as long as a later phase reads what they write.

    Returns the producers with one more nest each, and the obstacle to adding the next one.
    """
    siblings = exchange.place.siblings
    fused: tuple[Producer, ...] = ()
    moved: list[int] = []
    position = producer.start - 1
    while position >= 0:
        node = siblings[position]
        if may_be_first(exchange, node):
            moved.append(position)
            position -= 1
            continue
        if not isinstance(node, Do):
            return fused, _why_not(exchange, producer, node)
        written = examine((node,), exchange.names).written()
        if not written & _read_from_before(producer):
            return fused, None
        text = "its loops do not run over the same iterations"
        beyond = refused_for(examine((node,), exchange.names), exchange.scope, exchange.effects)
        obstacle: TilingObstacle | None = TilingObstacle(
            text, marks=_mark(node.head, text), refused=beyond
        )
        for loops in tilable_loops(node):
            phases = (ProducerPhase(position, loops), *producer.phases)
            moving = (*producer.moved, *moved)
            wider = make_producer(exchange, phases, moving, producer.counter)
            if wider is None or not commute(wider):
                continue
            carried = carried_by_interchange(wider, phases[0]) or carried_by_fusion(wider)
            if carried is None:
                producer, moved, obstacle = wider, [], None
                fused = (*fused, wider)
                break
            text = f"the order of {_what(carried)} would change"
            obstacle = TilingObstacle(text, order_witness(carried), order_marks(carried), beyond)
        if obstacle is not None:
            return fused, obstacle
        position = producer.start - 1
    return fused, None


def _read_from_before(producer: Producer) -> frozenset[str]:
    """The storages that are upwards exposed in the statements from the first phase to the call."""
    exchange = producer.exchange
    nodes = exchange.place.siblings[producer.start : exchange.place.position]
    covers = covers_whole(exchange)
    return frozenset(
        storage
        for storage in producer.footprint.read()
        if upward_exposed(nodes, storage, exchange.names, covers)
    )


def _why_not(exchange: Exchange, producer: Producer, node: Node) -> TilingObstacle | None:
    written = examine((node,), exchange.names).written()
    if written & producer.footprint.read():
        first = next(iter(leaves(node)))
        line = first.span.first if first.span else 0
        text = f"line {line} defines what it copies and is not a loop"
        return TilingObstacle(text, marks=_mark(first, "defines what is copied, and is not a loop"))
    return None


def _mark(leaf: Leaf, text: str) -> tuple[Mark, ...]:
    return (Mark(leaf.span, "path", text),) if leaf.span is not None else ()


def _what(carried: Reorder) -> str:
    if carried.storage == ALIASED:
        return "pointers, targets or components"
    return carried.storage.rsplit("::", 1)[-1] or "iterations whose number is not known"
