"""The geometry of exchanges in which an iteration adds different numbers of elements to blocks.

The number of elements that an iteration adds to a block, its length and its begin depend on its
rank, and are known at run time only.  The run evaluates them for every rank, and checks that the
blocks are where the iterations put them (``packed_fit`` in the run-time library).
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.exchange.buffers import buffer_of
from asphalt.analysis.exchange.per_rank import Uneven, uneven_blocks
from asphalt.analysis.exchange.producer import Producer
from asphalt.analysis.memory.shapes import shape_of
from asphalt.analysis.schedule.exchange import TileShape
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.tiling.geometry import gap_guards
from asphalt.analysis.tiling.layout import Address, Layout, Misfit, Packed
from asphalt.ir.expr import Lit

_ONE = Poly.constant(1)


def packed_layout_of(producer: Producer) -> Layout | Misfit:
    """The geometry if a counter addresses the send buffer."""
    exchange, counter = producer.exchange, producer.counter
    assert counter is not None
    arguments = exchange.call.procedure.exchange
    assert arguments is not None
    send, receive = (buffer_of(exchange, a) for a in (arguments.send, arguments.receive))
    assert send is not None
    assert receive is not None
    blocks = uneven_blocks(exchange)
    assert isinstance(blocks, Uneven)
    if receive.origin is not None:
        reason = f"{receive.spelled} is not passed from its first element on"
        return Misfit("blocks", reason, exchange.leaf)
    shape = shape_of(send.name, exchange.scope, exchange.values, producer.packing.nest.head)
    assert shape is not None
    return Layout(
        TileShape.EVERY_BLOCK,
        0,
        Poly(),
        _ONE,
        Lit("integer", "1"),
        Poly(),
        Address(send.name, shape.lower, 0, _ONE, 0, _ONE),
        Address(receive.name, (), 0, _ONE, 0, _ONE),
        gap_guards(exchange, send, receive),
        uneven=blocks,
        packed=Packed(counter.unit, counter),
    )


def open_coded_layout(producer: Producer, layout: Layout) -> Layout | Misfit:
    """The geometry of an open-coded exchange: each pair of ranks agrees on its own pieces."""
    if layout.pattern is not TileShape.EVERY_BLOCK:
        reason = "the loop runs over one block after the other, in an open-coded exchange"
        return Misfit("blocks", reason, producer.packing.tiled.head)
    return replace(layout, packed=Packed(layout.plane))
