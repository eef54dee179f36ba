"""The producer of an exchange: which loop nests are tiled together, and whether they may be.

A *phase* is one loop nest whose iterations are cut into tiles; the last phase defines the send
buffer (it may be a packing loop), the phases before it compute what it reads.  Tiling executes
tile t of every phase before tile t+1 of any phase, so it is legal exactly if no two accesses to the
same element, one of them a write, change their order (Danalis et al. 2007, section 3; the usual
condition for fusion and interchange).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from asphalt.analysis.access import Access, Footprint, Names, examine
from asphalt.analysis.algebra import Poly
from asphalt.analysis.exchange import Exchange, calls_in
from asphalt.analysis.mpi_table import Timing
from asphalt.analysis.regions import Region, Violation, loop_variable
from asphalt.analysis.scalars import Covers, Level, exposed, live_after
from asphalt.analysis.sets import Problem
from asphalt.analysis.shapes import shape_of
from asphalt.ir.expr import Expr, Lit, Ref, names_in
from asphalt.ir.source import TriviaKind
from asphalt.ir.stmt import Assign, Call, DoHead, Plain, StatementFunction
from asphalt.ir.tree import Do, Leaf, Node, leaves


@dataclass(frozen=True, slots=True)
class Phase:
    """One nest: its position among the siblings of the call, and its loops from the outermost to
    the one that is tiled (perfectly nested)."""

    position: int
    loops: tuple[Do, ...]

    @property
    def nest(self) -> Do:
        """The whole nest."""
        return self.loops[0]

    @property
    def tiled(self) -> Do:
        """The loop that is tiled."""
        return self.loops[-1]

    @property
    def variable(self) -> str:
        """The folded variable of the tiled loop."""
        name = loop_variable(self.tiled)
        assert name is not None
        return name

    @property
    def innermost(self) -> bool:
        """Whether the tiled loop has neither loops nor calls inside."""
        inside = (leaf.what for node in self.tiled.body for leaf in leaves(node))
        return not any(isinstance(what, DoHead | Call) for what in inside)


@dataclass(frozen=True, slots=True)
class Producer:
    """The phases of one way to tile the producer of an exchange.

    ``moved`` are the positions of scalar assignments between the phases that are executed before
    all of them.  ``first``, ``last``: the bounds of the tiled loops; ``direction``: +1 or -1.
    ``region``: everything from the first phase to the call.
    """

    exchange: Exchange
    phases: tuple[Phase, ...]
    moved: tuple[int, ...]
    first: Expr
    last: Expr
    direction: int
    region: Region = field(repr=False)
    footprint: Footprint = field(repr=False)

    @property
    def packing(self) -> Phase:
        """The phase that defines the send buffer."""
        return self.phases[-1]

    @property
    def start(self) -> int:
        """The position of the first phase among the siblings."""
        return self.phases[0].position

    def phase_accesses(self, phase: Phase) -> tuple[Access, ...]:
        """The accesses of one phase."""
        return examine((phase.nest,), self.exchange.names).accesses


def tilable_loops(nest: Do) -> Iterator[tuple[Do, ...]]:
    """The chains of perfectly nested counted loops, from the nest's own loop inwards."""
    chain: tuple[Do, ...] = (nest,)
    while loop_variable(chain[-1]) is not None:
        yield chain
        inner = [node for node in chain[-1].body if not _is_continue(node)]
        if len(inner) != 1 or not isinstance(inner[0], Do):
            return
        chain = (*chain, inner[0])


def _is_continue(node: Node) -> bool:
    return isinstance(node, Leaf) and node.what == Plain("continue")


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of a loop as polynomials that hold before the region; direction +1 or -1."""

    first: Poly
    last: Poly
    direction: int


def loop_bounds(loop: Do, region: Region) -> Bounds | None:
    """The bounds of a loop with step 1 or -1 whose bounds do not change in the region."""
    head = loop.head.what
    if not isinstance(head, DoHead) or head.first is None or head.last is None:
        return None
    step = 1
    if head.step is not None:
        value = region.value(head.step, ())
        if value is None or value.value not in (1, -1):
            return None
        step = value.value
    first, last = region.value(head.first, ()), region.value(head.last, ())
    if first is None or last is None:
        return None
    return Bounds(first, last, step)


def covers_whole(exchange: Exchange) -> Covers:
    """Tells loops that define all elements of an array: ``do j = lb, ub; a(j) = ...``."""

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


Order = Callable[[Problem, Mapping[str, str], Mapping[str, str]], None]


@dataclass(frozen=True, slots=True)
class Reorder:
    """A reason why the order of two accesses would change: what and where."""

    storage: str
    earlier: Leaf
    later: Leaf
    violation: Violation


def carried_by_fusion(producer: Producer) -> Reorder | None:
    """Two accesses that fusing the phases tile by tile would execute in another order."""
    for number, before in enumerate(producer.phases):
        for after in producer.phases[number + 1 :]:
            found = _fusion_pair(producer, before, after)
            if found is not None:
                return found
    return None


def _fusion_pair(producer: Producer, before: Phase, after: Phase) -> Reorder | None:
    for a in producer.phase_accesses(before):
        for b in producer.phase_accesses(after):
            if not a.meets(b) or not (a.writes or b.writes):
                continue
            if _is_own_variable(a, before, producer) and _is_own_variable(b, after, producer):
                continue
            if _private(producer, (before, after), a.storage):
                continue
            if before.tiled not in a.loops or after.tiled not in b.loops:
                return Reorder(a.storage, a.leaf, b.leaf, Violation(None))
            later = ">" if producer.direction > 0 else "<"

            def order(
                problem: Problem,
                one: Mapping[str, str],
                two: Mapping[str, str],
                relation: str = later,
            ) -> None:
                problem.compare(one[before.variable], relation, two[after.variable])

            violation = producer.region.conflict(a, b, order)
            if violation is not None:
                return Reorder(a.storage, a.leaf, b.leaf, violation)
    return None


def _is_own_variable(access: Access, phase: Phase, producer: Producer) -> bool:
    """An access to the variable of a loop of the nest's own: defined before every use."""
    names = {loop_variable(loop) for loop in phase.loops}
    storage = producer.exchange.names.storage
    return access.storage in {storage(name) for name in names if name is not None}


def carried_by_interchange(producer: Producer, phase: Phase) -> Reorder | None:
    """Two accesses of one phase whose order changes because its tiled loop is not its outermost."""
    outer = phase.loops[:-1]
    if not outer:
        return None
    directions = []
    for loop in outer:
        direction = _direction(loop, producer.region)
        if direction is None:
            return Reorder("", loop.head, loop.head, Violation(None))
        directions.append(direction)
    accesses = producer.phase_accesses(phase)
    for a in accesses:
        for b in accesses:
            if not a.meets(b) or not (a.writes or b.writes):
                continue
            if _is_own_variable(a, phase, producer):
                continue
            if _private(producer, (phase,), a.storage):
                continue
            if phase.tiled not in a.loops or phase.tiled not in b.loops:
                return Reorder(a.storage, a.leaf, b.leaf, Violation(None))
            for level in range(len(outer)):
                violation = producer.region.conflict(
                    a, b, _interchanged(phase, directions, level, producer.direction)
                )
                if violation is not None:
                    return Reorder(a.storage, a.leaf, b.leaf, violation)
    return None


def _direction(loop: Do, region: Region) -> int | None:
    """The sign of a loop's step; None: not known, or its bounds may change in the region."""
    head = loop.head.what
    if not isinstance(head, DoHead) or head.first is None or head.last is None:
        return None
    if region.value(head.first, ()) is None or region.value(head.last, ()) is None:
        return None
    step = Poly.constant(1) if head.step is None else region.value(head.step, ())
    if step is None or not step.value:
        return None
    return 1 if step.value > 0 else -1


def _interchanged(phase: Phase, directions: list[int], level: int, direction: int) -> Order:
    """The order of two iterations whose outer loops put the first before the second, by their
    loop number ``level``, but whose tiles do the contrary."""

    def order(problem: Problem, one: Mapping[str, str], two: Mapping[str, str]) -> None:
        for depth, loop in enumerate(phase.loops[: level + 1]):
            name = loop_variable(loop)
            assert name is not None
            before = "<" if directions[depth] > 0 else ">"
            problem.compare(one[name], before if depth == level else "=", two[name])
        problem.compare(one[phase.variable], ">" if direction > 0 else "<", two[phase.variable])

    return order


def _private(producer: Producer, phases: tuple[Phase, ...], storage: str) -> bool:
    """Whether a variable has no value to carry between the iterations of these phases, and ends
    with the value that it had in the original order (or one that nothing reads)."""
    exchange = producer.exchange
    covers = covers_whole(exchange)
    for phase in phases:
        if exposed((phase.tiled,), storage, exchange.names, covers):
            return False
    symbol = exchange.scope.lookup(storage)
    if symbol is None:
        return False
    last = [a for a in producer.phase_accesses(phases[-1]) if a.storage == storage and a.writes]
    in_every_iteration = (a.sure and a.loops and a.loops[-1] is phases[-1].tiled for a in last)
    if symbol.dims is None and any(in_every_iteration):
        return True
    return not may_be_read_later(producer, storage)


def may_be_read_later(producer: Producer, storage: str) -> bool:
    """Whether a variable's value may be read after the phases."""
    exchange = producer.exchange
    symbol = exchange.scope.lookup(storage)
    if symbol is None or symbol.origin.value != "local":
        return True
    if symbol.attrs & {"save", "pointer", "target", "volatile"} and exchange.scope.unit.kind != (
        "program"
    ):
        return True
    if symbol.attrs & {"pointer", "target", "volatile"} or symbol.equivalenced:
        return True
    if exchange.scope.unit.contained or _known_to_library(exchange, storage):
        return True
    if _named_in_directives(exchange, storage):
        return True
    for around in exchange.place.around:
        # the head of an enclosing loop is evaluated again after the statement
        if isinstance(around, Do) and storage in examine((around.head,), exchange.names).read():
            return True
    if any(
        isinstance(getattr(n, "what", None), StatementFunction) for n in exchange.scope.unit.spec
    ):
        return True  # it may read the variable wherever it is referenced
    level = exchange.place.levels[-1]
    inner = replace(level, position=producer.packing.position)
    levels: tuple[Level, ...] = (*exchange.place.levels[:-1], inner)
    return live_after(levels, storage, exchange.names, covers_whole(exchange))


def _named_in_directives(exchange: Exchange, storage: str) -> bool:
    """Whether a directive may read a variable (FIRSTPRIVATE, COPYIN), or make the assignments to
    it in a region those to a private copy."""
    word = re.compile(rf"\b({re.escape(storage)}|default)\b", re.IGNORECASE)
    unit = exchange.scope.unit
    own = [leaf for node in unit.body for leaf in leaves(node)]
    return any(
        trivia.kind is TriviaKind.DIRECTIVE and word.search(trivia.text)
        for leaf in (*own, unit.end)
        for trivia in leaf.lead
    )


def _known_to_library(exchange: Exchange, storage: str) -> bool:
    """Whether MPI may access a variable when no statement names it: its address was handed over
    to a call that is not complete on return, or that only keeps the address."""
    symbol = exchange.scope.lookup(storage)
    if symbol is None or "asynchronous" in symbol.attrs:
        return True
    for _, call, _, _ in calls_in(exchange.located, exchange.scope):
        procedure = call.procedure
        if procedure.timing is Timing.BLOCKING and procedure.exchange is not None:
            continue
        for parameter, actual in call.bound():
            if parameter.kind == "BUFFER" and storage in names_in(actual):
                return True
    return False


def carried_by_rotation(producer: Producer) -> Reorder | None:
    """Two accesses that depend on the order of the iterations of the tiled loops."""
    for before in producer.phases:
        for after in producer.phases:
            found = _rotation_pair(producer, before, after)
            if found is not None:
                return found
    return None


def _rotation_pair(producer: Producer, before: Phase, after: Phase) -> Reorder | None:
    for a in producer.phase_accesses(before):
        for b in producer.phase_accesses(after):
            if not a.meets(b) or not (a.writes or b.writes):
                continue
            tiled_variables = {producer.exchange.names.storage(p.variable) for p in (before, after)}
            if a.storage in tiled_variables:
                continue  # its last value is restored
            if _private_and_dead(producer, (before, after), a.storage):
                continue
            if before.tiled not in a.loops or after.tiled not in b.loops:
                return Reorder(a.storage, a.leaf, b.leaf, Violation(None))
            for relation in ("<", ">"):

                def order(
                    problem: Problem,
                    one: Mapping[str, str],
                    two: Mapping[str, str],
                    relation: str = relation,
                ) -> None:
                    problem.compare(one[before.variable], relation, two[after.variable])

                violation = producer.region.conflict(a, b, order)
                if violation is not None:
                    return Reorder(a.storage, a.leaf, b.leaf, violation)
    return None


def _private_and_dead(producer: Producer, phases: tuple[Phase, ...], storage: str) -> bool:
    exchange = producer.exchange
    covers = covers_whole(exchange)
    for phase in phases:
        if exposed(phase.tiled.body, storage, exchange.names, covers):
            return False
    return not may_be_read_later(producer, storage)


def footprint_between(exchange: Exchange, start: int, names: Names) -> Footprint:
    """The footprint of the siblings from ``start`` up to the call (not included)."""
    return examine(exchange.place.siblings[start : exchange.place.position], names)


_ONE = Lit("integer", "1")


def make_producer(
    exchange: Exchange, phases: tuple[Phase, ...], moved: tuple[int, ...]
) -> Producer | None:
    """The producer with these phases; None: their loops do not run over the same iterations."""
    footprint = footprint_between(exchange, phases[0].position, exchange.names)
    start = phases[0].nest.head
    region = Region(exchange.values, start, footprint.written())
    bounds = [loop_bounds(phase.tiled, region) for phase in phases]
    if any(b is None or b != bounds[-1] for b in bounds) or bounds[-1] is None:
        return None
    head = phases[0].tiled.head.what
    assert isinstance(head, DoHead)
    assert head.first is not None
    assert head.last is not None
    return Producer(
        exchange, phases, moved, head.first, head.last, bounds[-1].direction, region, footprint
    )
