"""What a tile sends: how the tiled loop runs through the blocks of the exchange.

The send buffer of MPI_ALLTOALL is a sequence of blocks of ``count`` elements, one a rank.  The
tiled loop runs over one dimension of the buffer, whose stride is ``unit`` elements.  Either it runs
inside every block at once (*every block*: the next dimension is the rank), or over one block after
the other (*slab*).  Sizes are compared as polynomials; an equality that algebra does not prove
becomes a run-time guard.
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.exchange.buffers import Buffer, FlatShape, View, buffer_of, views, writes_in
from asphalt.analysis.exchange.flat_views import flat_view, flat_writes
from asphalt.analysis.exchange.producer import Producer
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.memory.accesses import Access
from asphalt.analysis.memory.contiguity import contiguity
from asphalt.analysis.memory.regions import loop_variable
from asphalt.analysis.memory.shapes import shape_of
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.tiling.block_layouts import every_block, slab
from asphalt.analysis.tiling.layout import (
    Address,
    Contiguous,
    Divides,
    Guard,
    Layout,
    Misfit,
    equal,
)
from asphalt.analysis.tiling.tiled_dimension import tiled_dimension
from asphalt.ir.expr import Expr, names_in

_ZERO, _ONE = Poly.constant(0), Poly.constant(1)


def send_writes(producer: Producer, view: View) -> tuple[Access, ...]:
    """The accesses of the packing phase that write the send buffer, in terms of the view."""
    storage = producer.exchange.names.storage(view.buffer.name)
    accesses = producer.phase_accesses(producer.packing)
    writes = (a for a in accesses if a.writes and a.touches(storage))
    refined = (producer.region.refined(access) for access in writes)
    if view.flat is None:
        return writes_in(view, refined, storage, producer.region)
    array = replace(view, shape=view.flat.array, flat=None)
    found = writes_in(array, refined, storage, producer.region)
    return flat_writes(view, found, producer.region)


def send_view(producer: Producer, layout: Layout) -> View:
    """The view of the send buffer of a layout, or of the array that is sent in its place."""
    if producer.copy is not None:
        return producer.copy.view
    return next(
        v for v in _send_views(producer) if v.tail == layout.send.tail and v.flat == layout.flat
    )


def _send_views(producer: Producer) -> list[View]:
    """The views of the send buffer that all writes of the packing phase agree with, that with the
    longest tail first; if they agree with none, that with all dimensions.  Flat views follow."""
    exchange = producer.exchange
    arguments = exchange.call.procedure.exchange
    assert arguments is not None
    send = buffer_of(exchange, arguments.send)
    assert send is not None
    found = list(views(exchange, send, producer.packing.nest.head))
    agreeing = [
        view
        for view in found
        if all(write.subscripts is not None for write in send_writes(producer, view))
    ]
    uneven = arguments.send_displacements is not None
    count = None if uneven else argument(exchange, arguments.send_count)
    flat = [
        flat_view(view, send_writes(producer, view), producer.region, count) for view in agreeing
    ]
    return (agreeing[::-1] or found[:1]) + [view for view in flat if view is not None]


def layout_of(producer: Producer) -> Layout | Misfit:
    """The geometry of the exchange when this producer is tiled."""
    exchange = producer.exchange
    arguments = exchange.call.procedure.exchange
    assert arguments is not None
    send, receive = (buffer_of(exchange, a) for a in (arguments.send, arguments.receive))
    assert send is not None
    assert receive is not None
    layout: Layout | Misfit = Misfit(
        "shape", f"the shape of {send.spelled} is not known", exchange.leaf
    )
    for view in _send_views(producer):
        layout = _layout_in(producer, view, receive)
        if isinstance(layout, Layout):
            break
    return layout


def _layout_in(producer: Producer, view: View, receive: Buffer) -> Layout | Misfit:
    """The geometry of the exchange for one view of the send buffer."""
    exchange = producer.exchange
    arguments = exchange.call.procedure.exchange
    assert arguments is not None
    send, shape = view.buffer, view.shape
    found = tiled_dimension(producer, send_writes(producer, view), shape)
    if isinstance(found, Misfit):
        return found
    dimension, offset = found
    count = argument(exchange, arguments.send_count)
    other = argument(exchange, arguments.receive_count)
    assert count is not None
    assert other is not None
    guards: list[Guard | Divides] = [] if count == other else [Guard(count, "==", other)]
    guards += [guard for pair in view.equal for guard in equal(*pair)]
    unit = shape.stride(dimension)
    if dimension == shape.rank - 1:
        layout = slab(producer, send, shape, dimension, offset, unit, count)
    else:
        layout = every_block(producer, send, shape, dimension, offset, unit, count)
    if isinstance(layout, Misfit):
        return layout
    layout = replace(layout, send=replace(layout.send, tail=view.tail, room=view.room))
    if shape_of(receive.name, exchange.scope, exchange.values, exchange.leaf) is None:
        return Misfit("shape", f"the shape of {receive.spelled} is not known", exchange.leaf)
    strided = layout.strides is not None
    across = _crossed(producer, view) if strided else None
    if across is not None:
        return Misfit("strided", across, producer.packing.tiled.head)
    stated = [(layout.unit, layout.plane)]
    written = _written_here(producer, arguments.send_count)
    if written is not None:
        stated.append((count, written))
    if view.flat is not None:
        guards += [Guard(_ONE, "<=", extent) for extent in view.flat.dimensions.extents]
        layout = replace(layout, send=_flat_address(layout, view.flat), flat=view.flat)
    return replace(
        layout,
        receive=receive_address(receive),
        guards=(*guards, *layout.guards, *gap_guards(exchange, send, receive)),
        stated=tuple(stated),
        count=count,
    )


def _flat_address(layout: Layout, flat: FlatShape) -> Address:
    """The address of a piece in the array of a flat view."""
    address, last = layout.send, flat.array.rank - 1
    inside = max(address.tile_dimension - last, 0)
    factor = flat.dimensions.strides[inside] if address.tile_dimension >= last else _ONE
    ranks = address.block_dimension - last
    return replace(
        address,
        fixed=flat.array.lower,
        tile_dimension=min(address.tile_dimension, last),
        tile_factor=address.tile_factor * factor,
        block_dimension=last,
        block_factor=address.block_factor * flat.dimensions.strides[ranks],
    )


def gap_guards(exchange: Exchange, *buffers: Buffer) -> tuple[Contiguous, ...]:
    """The run-time checks for buffers whose contiguity is not proved."""
    return tuple(
        Contiguous(buffer.array)
        for buffer in buffers
        if contiguity(buffer.name, exchange.scope).unknown
    )


def receive_address(receive: Buffer) -> Address:
    """The address of the receive buffer: the runtime finds the pieces in it."""
    return Address(receive.name, receive.origin or (), 0, _ZERO, 0, _ZERO)


def _written_here(producer: Producer, argument: str | None) -> Expr | None:
    """An argument as the call writes it, if it has the same value at the entry of the nest."""
    exchange = producer.exchange
    actual = exchange.call.args.get(argument or "")
    changing = producer.footprint.written()
    if actual is None or any(exchange.names.storage(n) in changing for n in names_in(actual)):
        return None
    return actual


def argument(exchange: Exchange, name: str | None) -> Poly | None:
    actual = exchange.call.args.get(name or "")
    return None if actual is None else exchange.values.polynomial(actual, exchange.leaf)


def _crossed(producer: Producer, view: View) -> str | None:
    """Why it would be slow to move the tiled loop outwards: it steps through the fast dimension of
    a block, and the loop around it through a slow one.  Around a loop may stand those over ranks.
    """
    around = {loop_variable(loop) for loop in producer.packing.loops[:-1]}
    for write in send_writes(producer, view):
        for subscript in (write.subscripts or ())[: view.shape.rank - 1]:
            for name in sorted(names_in(subscript)):
                if name in around:
                    return (
                        f"the loop over {producer.packing.variable} is inside of that over {name}, "
                        f"and a tile of it would be many short runs of {view.buffer.spelled}"
                    )
    return None
