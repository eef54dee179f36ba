"""The geometry of exchanges to whose blocks an iteration adds different numbers of elements.

All that depends on the rank that a block is for is only known at run time: what an iteration adds
to it, how long it is, where it begins.  The run evaluates it for every rank and asks whether the
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
    """The geometry where a counter goes through the send buffer."""
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


def told_apart(producer: Producer, layout: Layout) -> Layout | Misfit:
    """The geometry of an exchange that is written out: each pair of ranks agrees for itself."""
    if layout.pattern is not TileShape.EVERY_BLOCK:
        reason = "the loop goes through one block after the other, in messages that are written out"
        return Misfit("blocks", reason, producer.packing.tiled.head)
    return replace(layout, packed=Packed(layout.plane))
