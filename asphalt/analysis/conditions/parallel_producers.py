"""Threads in front of an exchange: a tile is computed by several threads, and sent by one.

A parallel loop (``!$omp parallel do``) of the producer stays one in each tile, with its directive:

    do while (asphalt_x%next_tile(s))
      !$omp parallel do private(i)
      do k = asphalt_x%lo, asphalt_x%hi
        ...
      end do
    end do

All threads are through with a tile where its loop ends, and MPI calls stand outside of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.dependence.threads import LoopThreads
from asphalt.analysis.exchange.buffers import buffer_of
from asphalt.analysis.exchange.producer import Producer
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.names.openmp_sentinels import (
    conditional_statements,
    is_threading,
    sentinel_of,
)
from asphalt.analysis.names.parallel_loops import ParallelLoop
from asphalt.analysis.verdicts.verdict import Answer, Code, Holds, Refused
from asphalt.ir.tree import Leaf, Node, leaves

DIRECTIVE = Code(
    "ASP705",
    "an OpenMP or OpenACC directive",
    "The nest or the call is in a parallel region, or contains one that is no parallel loop: MPI "
    "calls must not move into it.  Or the nest is a parallel loop (`parallel do`) that cannot be "
    "executed one tile after the other: its directive has a clause such as REDUCTION, FIRSTPRIVATE "
    "or LASTPRIVATE, or a statement in it may ask for the number of the thread.  Or a statement "
    "behind `!$` stands in the nest or between nest and call, or the procedure has one that "
    "asphalt does not understand.",
    "Write `parallel do` at the loop that is tiled, or at one inside of it, with PRIVATE and "
    "SHARED alone.",
    7,
)


def check_directives(exchange: Exchange, start: int) -> Answer:
    """Whether no directive but those of parallel loops stands between the sibling ``start`` and the
    call, and none opens a region around them."""
    for leaf, text in conditional_statements(exchange.unit):
        message = f"asphalt does not analyse lines for OpenMP alone: {text}"
        return Refused(DIRECTIVE, message, leaf.span)
    for around in exchange.place.around:
        head = getattr(around, "head", None)
        for trivia in head.lead if isinstance(head, Leaf) else ():
            sentinel = sentinel_of(trivia)
            if sentinel is not None and not sentinel.lower().startswith("end"):
                message = f"the exchange is in a construct with the directive {sentinel}"
                return Refused(DIRECTIVE, message, head.span if head is not None else None)
    for leaf in (leaf for node in exchange.written[1:] for leaf in leaves(node)):
        found = [s for s in map(sentinel_of, leaf.lead) if s is not None]
        if found:
            return Refused(DIRECTIVE, f"line {leaf.line} has the directive {found[0]}", leaf.span)
    nodes = exchange.place.siblings[start : exchange.place.position + 1]
    for leaf in (leaf for node in nodes for leaf in leaves(node)):
        if leaf.is_hidden:
            message = f"line {leaf.line} is for OpenMP alone: {leaf.body}"
            return Refused(DIRECTIVE, message, leaf.span)
    return _check_regions(exchange, nodes)


def _check_regions(exchange: Exchange, nodes: tuple[Node, ...]) -> Answer:
    """Whether statements stand in no region, and have no directives but those of parallel loops."""
    threads = _threads(exchange)
    inside = {id(leaf) for node in nodes for leaf in leaves(node)}
    loops = [one for node in nodes for one in threads.threads.inside(node)]
    if loops:
        refused = _refused_for(exchange, threads, nodes, loops)
        if refused is not None:
            return refused
    parallel = {id(leaf) for one in threads.threads.loops for leaf in leaves(one.loop)}
    regions: tuple[str, ...] = ()
    for node in exchange.scope.unit.body:
        for leaf in leaves(node):
            for trivia in leaf.lead:
                sentinel = sentinel_of(trivia)
                if sentinel is None or id(leaf) in parallel:
                    continue
                if id(leaf) in inside:
                    message = f"line {leaf.line} has the directive {sentinel}"
                    return Refused(DIRECTIVE, message, leaf.span)
                regions = _after(sentinel, regions)
            if id(leaf) in inside and regions:
                message = f"the exchange is in the region of {regions[-1]}"
                return Refused(DIRECTIVE, message, leaf.span)
    return Holds("no directives but those of parallel loops")


def _refused_for(
    exchange: Exchange, threads: LoopThreads, nodes: tuple[Node, ...], loops: list[ParallelLoop]
) -> Refused | None:
    """The refusal for parallel loops between producer and call: what they do is not known."""
    why = threads.unclear
    for node in nodes:
        why = why or threads.why_unknown(node)
    if why is not None:
        return Refused(DIRECTIVE, why, loops[0].loop.head.span)
    buffers = set(_buffers(exchange))
    for one in loops:
        for name in sorted(one.evaluated & buffers):
            message = f"the directive in line {one.loop.head.line} reads {name}, which is a buffer"
            return Refused(DIRECTIVE, message, one.loop.head.span)
    return None


def _buffers(exchange: Exchange) -> Iterator[str]:
    """The names of the send and the receive buffer."""
    arguments = exchange.call.procedure.exchange
    assert arguments is not None
    for argument in (arguments.send, arguments.receive):
        passed = buffer_of(exchange, argument)
        if passed is not None:
            yield passed.name.split("%")[0]


def check_tiles(producer: Producer) -> Answer:
    """Whether each parallel loop that is cut into tiles, or that has the tiled loop inside, can be
    executed for one tile after the other."""
    cut = [
        loop
        for phase in producer.phases
        for loop in phase.loops
        if any(map(is_threading, loop.head.lead))
    ]
    if not cut:
        return Holds("no loop that is tiled has threads")
    threads = _threads(producer.exchange)
    for one in threads.threads.loops:
        if not any(one.loop is loop for loop in cut):
            continue
        why = threads.why_whole(one)
        if why is None and "default(none)" in one.clauses:
            why = "its directive has DEFAULT(NONE), so that its bounds cannot be those of a tile"
        if why is None and producer.counter is not None:
            why = "a position runs through its iterations"
        if why is not None:
            line = one.loop.head.line
            message = f"the parallel loop of line {line} is not divided into tiles: {why}"
            return Refused(DIRECTIVE, message, one.loop.head.span)
    return Holds("threads share the iterations of a tile, and are through before it is sent")


def _threads(exchange: Exchange) -> LoopThreads:
    return UnitFacts(exchange.located, exchange.effects).once(LoopThreads)


_REGIONS = (
    "parallel", "task", "single", "master", "masked", "critical", "sections", "target", "teams",
    "ordered", "workshare", "taskgroup", "data", "kernels", "serial", "host_data",
)  # fmt: skip


def _after(sentinel: str, regions: tuple[str, ...]) -> tuple[str, ...]:
    """The regions that may still be open after a directive."""
    words = sentinel.lower().split("(")[0].split()
    if not words or "do" in words or "loop" in words:
        return regions  # it ends with its loop
    if words[0].startswith("end"):
        name = words[0].removeprefix("end") or "".join(words[1:2])
        for number in reversed(range(len(regions))):
            if _name(regions[number]) == name:
                return (*regions[:number], *regions[number + 1 :])
        return regions
    return (*regions, sentinel) if words[0] in _REGIONS else regions


def _name(sentinel: str) -> str:
    return sentinel.lower().split("(")[0].split()[0]
