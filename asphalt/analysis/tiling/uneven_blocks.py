"""The geometry of an exchange whose blocks differ in length (MPI_ALLTOALLV).

The pieces do not depend on it: a block is cut into pieces of an agreed number of elements, wherever
it lies (``schedule.uneven``).  The geometry determines the iterations that write a piece.
Either the tiled loop runs over the last dimension of the send buffer, and the blocks are whole
planes of it, one behind the other (*slab*); or the last dimension is the rank, and the loop runs
over the dimension before it (*every block*).  Begins and lengths of the blocks are known at run
time only: each rank checks its own counts and displacements (``blocks_fit`` in the run-time
library), and all agree on the result.
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.exchange.buffers import View, buffer_of
from asphalt.analysis.exchange.flat_views import flat_view
from asphalt.analysis.exchange.per_rank import Uneven, uneven_blocks
from asphalt.analysis.exchange.producer import Producer
from asphalt.analysis.memory.shapes import shape_of
from asphalt.analysis.schedule.exchange import TileShape
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.tiling.geometry import gap_guards, send_writes
from asphalt.analysis.tiling.layout import Address, Guard, Layout, Misfit, equal
from asphalt.analysis.tiling.tiled_dimension import loop_ends, tiled_dimension

_ONE = Poly.constant(1)


def uneven_layout_of(producer: Producer) -> Layout | Misfit:
    """The geometry of an MPI_ALLTOALLV when this producer is tiled."""
    exchange = producer.exchange
    arguments = exchange.call.procedure.exchange
    assert arguments is not None
    send, receive = (buffer_of(exchange, a) for a in (arguments.send, arguments.receive))
    assert send is not None
    assert receive is not None
    blocks = uneven_blocks(exchange)
    assert isinstance(blocks, Uneven)
    shape = shape_of(send.name, exchange.scope, exchange.values, producer.packing.nest.head)
    if shape is None:
        return Misfit("shape", f"the shape of {send.spelled} is not known", exchange.leaf)
    for buffer in (send, receive):
        if buffer.origin is not None:
            reason = f"{buffer.spelled} is not passed from its first element on"
            return Misfit("blocks", reason, exchange.leaf)
    view = View(send, shape)
    found = tiled_dimension(producer, send_writes(producer, view), shape)
    if isinstance(found, Misfit):
        flat = flat_view(view, send_writes(producer, view), producer.region, None)
        inside = None if flat is None else _inside(producer, flat)
        if flat is None or inside is None:
            return found
        view, shape, found = flat, flat.shape, inside
    dimension, offset = found
    ends = loop_ends(producer)
    assert ends is not None
    unit = shape.stride(dimension)
    plane = shape.stated_stride(dimension) or unit.expression()
    guards: tuple[Guard, ...] = equal(ends[0] + offset, shape.lower[dimension])
    pattern = TileShape.SLAB
    if dimension < shape.rank - 1:
        extent = shape.extent[dimension]
        if dimension < shape.rank - 2 or extent is None:
            reason = (
                f"dimension {dimension + 1} of {send.spelled} is neither the last one nor the one "
                "before the ranks"
            )
            return Misfit("blocks", reason, producer.packing.tiled.head)
        pattern = TileShape.EVERY_BLOCK
        blocks = replace(blocks, spread=unit * extent)
        last, upper = ends[1] + offset, shape.lower[dimension] + extent - _ONE
        if last != upper:
            guards = (*guards, Guard(last, "<=", upper))
    if view.flat is not None:
        guards += tuple(Guard(_ONE, "<=", extent) for extent in view.flat.dimensions.extents)
    place = Address(send.name, shape.lower, dimension, _ONE, dimension, _ONE)
    landing = Address(receive.name, (), 0, _ONE, 0, _ONE)
    return Layout(
        pattern,
        dimension,
        offset,
        unit,
        plane,
        blocks.spread or Poly(),
        place,
        landing,
        (*guards, *gap_guards(exchange, send, receive)),
        ((unit, plane),),
        uneven=blocks,
        flat=view.flat,
    )


def _inside(producer: Producer, view: View) -> tuple[int, Poly] | None:
    """The dimension of a flat view that the tiled loop runs over, and subscript minus loop
    variable; None: it runs over none."""
    found = tiled_dimension(producer, send_writes(producer, view), view.shape)
    return None if isinstance(found, Misfit) else found
