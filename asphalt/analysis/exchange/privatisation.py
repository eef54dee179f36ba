"""Which variables are private to the iterations of a nest: no value flows between iterations.

A variable is private if each iteration defines what it reads of it before.  An array is private if
no region of it is upwards exposed in an iteration, whether a loop, a whole-array assignment or a
called procedure writes it.
"""

from __future__ import annotations

import re
from dataclasses import replace

from asphalt.analysis.effects.array_flow import ArrayFlow
from asphalt.analysis.exchange.producer import Producer, ProducerPhase
from asphalt.analysis.exchange.site import Exchange, calls_in
from asphalt.analysis.memory.accesses import Mode
from asphalt.analysis.memory.invariant_frame import Frame
from asphalt.analysis.memory.loop_scalars import Covers, ListLevel, live_after, upward_exposed
from asphalt.analysis.memory.regions import Region, loop_bounds, loop_variable
from asphalt.analysis.memory.shapes import shape_of
from asphalt.analysis.memory.statement_accesses import examine
from asphalt.analysis.mpi.procedures import Timing
from asphalt.analysis.names.host_association import named_inside
from asphalt.analysis.names.parallel_loops import threads_of
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Arg, Component, Expr, Ref, names_in
from asphalt.ir.source import TriviaKind
from asphalt.ir.stmt import Assign, StatementFunction
from asphalt.ir.tree import Block, Do, Leaf, Node, leaves

_VALUES_GO_IN = frozenset(("default", "firstprivate", "lastprivate", "linear", "reduction"))
"""The clauses of parallel loops with which values come in or go out, or that name no variable."""


def covers_whole(exchange: Exchange) -> Covers:
    """A test for loops that define all elements of an array: ``do j = lb, ub; a(j) = ...``."""

    def covers(node: Node, storage: str) -> bool:
        subscripts: list[Expr] = []
        loops: list[Do] = []
        inner: Node = node
        while isinstance(inner, Do):
            loops.append(inner)
            if not inner.body:
                return False
            inner = inner.body[0]
        if not isinstance(inner, Leaf) or not isinstance(inner.what, Assign):
            return False
        target = inner.what.target
        if not isinstance(target, Ref) or target.args is None:
            return False
        if exchange.names.storage(target.name) != storage:
            return False
        shape = shape_of(target.name, exchange.scope, exchange.values, inner)
        if shape is None or len(target.args) != shape.rank:
            return False
        subscripts = [a for a in target.args if isinstance(a, Ref) and a.args is None]
        region = Region(exchange.values, loops[0].head, frozenset())
        by_variable = {loop_variable(loop): loop_bounds(loop, region) for loop in loops}
        names = {s.name for s in subscripts if isinstance(s, Ref)}
        if len(names) != shape.rank or names != set(by_variable):
            return False  # a loop that is no subscript might have no trips
        for subscript, lower, extent in zip(subscripts, shape.lower, shape.extent, strict=True):
            assert isinstance(subscript, Ref)
            bounds = by_variable.get(subscript.name)
            if bounds is None or extent is None:
                return False
            ends = (bounds.first, bounds.last)
            low, high = ends if bounds.direction > 0 else ends[::-1]
            if low != lower or high != lower + extent - Poly.constant(1):
                return False
        return True

    return covers


def is_private(producer: Producer, phases: tuple[ProducerPhase, ...], storage: str) -> bool:
    """Whether a variable carries no value between the iterations of these phases, and has in the
    end the value of the original order (or one that nothing reads)."""
    exchange = producer.exchange
    if any(reads_from_before(producer, phase, storage) for phase in phases):
        return False
    symbol = exchange.scope.lookup(storage)
    if symbol is None:
        return False
    last = [
        a
        for a in producer.phase_accesses(phases[-1])
        if a.storage == storage and a.mode is Mode.WRITE
    ]
    in_every_iteration = (a.sure and a.loops and a.loops[-1] is phases[-1].tiled for a in last)
    if symbol.dims is None and any(in_every_iteration):
        return True
    return not may_be_read_later(producer, storage)


def reads_from_before(producer: Producer, phase: ProducerPhase, storage: str) -> bool:
    """Whether a variable may be upwards exposed in an iteration of the tiled loop."""
    exchange = producer.exchange
    if not upward_exposed(phase.tiled.body, storage, exchange.names, covers_whole(exchange)):
        return False
    symbol = exchange.scope.lookup(storage)
    if symbol is None or not symbol.dims:
        return True
    shape = shape_of(storage, exchange.scope, exchange.values, phase.tiled.head)
    frame = Frame(exchange.values, producer.region.changing)
    flow = ArrayFlow(storage, len(symbol.dims), exchange.names, frame, shape)
    return not flow.of(phase.tiled.body, phase.loops).exposed.is_empty()


def may_be_read_later(producer: Producer, storage: str) -> bool:
    """Whether a variable's value may be read after the phases."""
    return may_be_read_after(producer.exchange, storage, producer.packing.position)


def may_be_read_after(
    exchange: Exchange, storage: str, position: int, covers: Covers | None = None
) -> bool:
    """Whether a variable's value may be read after a statement among the siblings of the call.

    ``covers`` tests whether a nest defines all of an array; by default ``covers_whole``.
    """
    symbol = exchange.scope.lookup(storage)
    if symbol is None or symbol.origin.value != "local":
        return True
    if symbol.attrs & {"save", "pointer", "target", "volatile"} and exchange.scope.unit.kind != (
        "program"
    ):
        return True
    if symbol.attrs & {"pointer", "target", "volatile"} or symbol.equivalenced:
        return True
    if named_inside(storage, exchange.scope) or _known_to_library(exchange, storage):
        return True
    if _named_in_directives(exchange, storage):
        return True
    for around in exchange.place.around:
        # the head of an enclosing loop is evaluated again after the statement
        if isinstance(around, Do) and storage in examine((around.head,), exchange.names).read():
            return True
        # an ASSOCIATE around the statement gives it another name
        if isinstance(around, Block) and examine((around.head,), exchange.names).of(storage):
            return True
    if any(
        isinstance(getattr(n, "what", None), StatementFunction) for n in exchange.scope.unit.spec
    ):
        return True  # it may read the variable wherever it is referenced
    level = exchange.place.levels[-1]
    inner = replace(level, position=position)
    levels: tuple[ListLevel, ...] = (*exchange.place.levels[:-1], inner)
    return live_after(levels, storage, exchange.names, covers or covers_whole(exchange))


def _named_in_directives(exchange: Exchange, storage: str) -> bool:
    """Whether a directive may read a variable (FIRSTPRIVATE, COPYIN), or make the assignments to
    it in a region those to a private copy.

    PRIVATE of a parallel loop does not read it; whether its value behind the loop is used, which
    depends on threads then, is another question (``dependence.threads``).
    """
    word = re.compile(rf"\b({re.escape(storage)}|default)\b", re.IGNORECASE)
    unit = exchange.scope.unit
    own = [leaf for node in unit.body for leaf in leaves(node)]
    private = {
        id(one.loop.head)
        for one in threads_of(unit).loops
        if storage in one.private and not one.clauses & _VALUES_GO_IN
    }
    return any(
        trivia.kind is TriviaKind.DIRECTIVE and word.search(trivia.text)
        for leaf in (*own, unit.end)
        for trivia in (() if id(leaf) in private else leaf.lead)
    )


def _known_to_library(exchange: Exchange, storage: str) -> bool:
    """Whether MPI may access a variable that no statement names: its address was passed to a call
    that is not complete on return, or that only keeps the address."""
    symbol = exchange.scope.lookup(storage)
    if symbol is None or "asynchronous" in symbol.attrs:
        return True
    for _, call, _, _ in calls_in(exchange.located, exchange.scope):
        procedure = call.procedure
        if procedure.timing is Timing.BLOCKING and procedure.exchange is not None:
            continue
        for parameter, actual in call.bound():
            if parameter.kind == "BUFFER" and storage in _handed_over(actual, exchange.scope):
                return True
    return False


def _handed_over(actual: Arg, scope: Scope) -> frozenset[str]:
    """The variables whose address a call gets with a buffer: subscripts of an array are evaluated,
    and forgotten."""
    match actual:
        case Component(base=base):
            return _handed_over(base, scope)
        case Ref(name=name, args=args) if args is not None:
            symbol = scope.lookup(name)
            if symbol is not None and symbol.dims is not None:
                return frozenset({name})
    return frozenset(names_in(actual))


def is_private_and_dead(
    producer: Producer, phases: tuple[ProducerPhase, ...], storage: str
) -> bool:
    """Whether a variable carries no value between the iterations of these phases, and nothing reads
    its last value."""
    if may_be_read_later(producer, storage):
        return False
    return not any(reads_from_before(producer, phase, storage) for phase in phases)
