"""The producer of an exchange: the loop nests that are tiled together.

A *phase* is one loop nest whose iterations are cut into tiles; the last phase defines the send
buffer (it may be a packing loop), the phases before it compute what it reads.  Tiling executes
tile t of every phase before tile t+1 of any phase, so it is legal exactly if no two accesses to the
same element, one of them a write, change their order (Danalis et al. 2007, section 3; the usual
condition for fusion and interchange).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING

from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.memory.accesses import Access, Footprint, NameSemantics
from asphalt.analysis.memory.regions import Region, loop_bounds, loop_variable
from asphalt.analysis.memory.statement_accesses import examine
from asphalt.analysis.names.openmp_sentinels import is_threading
from asphalt.ir.expr import Expr, Lit, Ref
from asphalt.ir.records import record
from asphalt.ir.stmt import Assign, Call, DoHead
from asphalt.ir.tree import Do, Leaf, is_continue, leaves

if TYPE_CHECKING:
    from asphalt.analysis.exchange.packing_copy import PackingCopy
    from asphalt.analysis.exchange.packing_counter import PackingCounter


@record
class ProducerPhase:
    """A nest of the producer: its position among the siblings of the call, and its loops from the
    outermost to the one that is tiled (perfectly nested, but for where a running position
    begins)."""

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
    def threaded(self) -> bool:
        """Whether several threads execute the tiled loop."""
        return any(is_threading(entry) for loop in self.loops for entry in loop.head.lead)

    @property
    def innermost(self) -> bool:
        """Whether the tiled loop has neither loops nor calls inside."""
        inside = (leaf.what for node in self.tiled.body for leaf in leaves(node))
        return not any(isinstance(what, DoHead | Call) for what in inside)


@record
class Producer:
    """The phases of one way to tile the producer of an exchange.

    ``moved`` are the positions of scalar assignments between the phases that are executed before
    all of them.  ``first``, ``last``: the bounds of the tiled loops; ``direction``: +1 or -1.
    ``region``: everything from the first phase to the call.  ``copy``: the packing copy that is
    left out, so that the last phase defines its source, which is sent.  ``counter``: the counter
    that addresses the send buffer in the last phase, and is set where a tile begins in a block.
    """

    exchange: Exchange
    phases: tuple[ProducerPhase, ...]
    moved: tuple[int, ...]
    first: Expr
    last: Expr
    direction: int
    region: Region = field(repr=False)
    footprint: Footprint = field(repr=False)
    copy: PackingCopy | None = None
    counter: PackingCounter | None = None

    @property
    def packing(self) -> ProducerPhase:
        """The phase that defines the send buffer."""
        return self.phases[-1]

    @property
    def start(self) -> int:
        """The position of the first phase among the siblings."""
        return self.phases[0].position

    def phase_accesses(self, phase: ProducerPhase) -> tuple[Access, ...]:
        """The accesses of one phase."""
        return examine((phase.nest,), self.exchange.names).accesses


def tilable_loops(nest: Do) -> Iterator[tuple[Do, ...]]:
    """The chains of perfectly nested counted loops, from the nest's own loop inwards."""
    chain: tuple[Do, ...] = (nest,)
    while loop_variable(chain[-1]) is not None:
        yield chain
        inner = [node for node in chain[-1].body if not is_continue(node)]
        if len(inner) != 1 or not isinstance(inner[0], Do):
            return
        chain = (*chain, inner[0])


def positioned_loops(nest: Do) -> tuple[Do, ...] | None:
    """A counted loop whose body is an assignment to a scalar and one counted loop, with the latter:
    a running position may begin there (``packing_counter``)."""
    inner = [node for node in nest.body if not is_continue(node)]
    match inner:
        case [Leaf(what=Assign(target=Ref(args=None), pointer=False)), Do() as tiled]:
            if loop_variable(nest) is not None and loop_variable(tiled) is not None:
                return nest, tiled
    return None


def footprint_between(exchange: Exchange, start: int, names: NameSemantics) -> Footprint:
    """The footprint of the siblings from ``start`` up to the call (not included)."""
    return examine(exchange.place.siblings[start : exchange.place.position], names)


_ONE = Lit("integer", "1")


def make_producer(
    exchange: Exchange,
    phases: tuple[ProducerPhase, ...],
    moved: tuple[int, ...],
    counter: PackingCounter | None = None,
) -> Producer | None:
    """The producer with these phases; None: their loops do not have the same iterations."""
    footprint = footprint_between(exchange, phases[0].position, exchange.names)
    start = phases[0].nest.head
    writes = tuple(access for access in footprint.accesses if access.writes)
    region = Region(exchange.values, start, footprint.written(), writes)
    bounds = [loop_bounds(phase.tiled, region) for phase in phases]
    if any(b is None or b != bounds[-1] for b in bounds) or bounds[-1] is None:
        return None
    head = phases[0].tiled.head.what
    assert isinstance(head, DoHead)
    assert head.first is not None
    assert head.last is not None
    return Producer(
        exchange,
        phases,
        moved,
        head.first,
        head.last,
        bounds[-1].direction,
        region,
        footprint,
        counter=counter,
    )
