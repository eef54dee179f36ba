"""The two layouts of a tiled loop: it runs inside of every block at once, or over one block after
the other (slabs)."""

from __future__ import annotations

from asphalt.analysis.exchange.buffers import Buffer
from asphalt.analysis.exchange.producer import Producer
from asphalt.analysis.memory.shapes import Shape
from asphalt.analysis.schedule.exchange import TileShape
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.tiling.layout import (
    Address,
    Divides,
    Guard,
    Layout,
    Misfit,
    equal,
    numbers_differ,
)
from asphalt.analysis.tiling.strides import part_of_block
from asphalt.analysis.tiling.tile_window import PlaneWindow
from asphalt.analysis.tiling.tiled_dimension import exactly, gaps, loop_ends
from asphalt.ir.expr import Lit, Op, Ref

_ONE = Poly.constant(1)


def every_block(
    producer: Producer,
    send: Buffer,
    shape: Shape,
    dimension: int,
    offset: Poly,
    unit: Poly,
    count: Poly,
) -> Layout | Misfit:
    """The layout of a loop that runs inside of every block at once."""
    extent = shape.extent[dimension]
    left_out = gaps(producer, shape, dimension, offset)
    assert extent is not None
    assert left_out is not None
    assert left_out.behind is not None
    leaf = producer.packing.tiled.head
    last = shape.rank - 1
    ends_inside = any(shape.stride(d) == count for d in range(dimension + 1, last))
    if ends_inside and shape.stride(last) != count:
        reason = f"the blocks of {send.spelled} are spread over more than one dimension"
        return Misfit("strided", reason, leaf)
    dealt = count.divided_by(shape.stride(last)) or _ONE  # steps of the last dimension in a block
    if shape.stated and numbers_differ(shape.stride(last) * dealt, count):
        reason = (
            f"a block is {count} elements, but dimensions 1 to {last} of "
            f"{send.spelled} are {shape.stride(last)}"
        )
        return Misfit("blocks", reason, leaf)
    guards = (
        *equal(shape.stride(last) * dealt, count),
        *(() if left_out.known else exactly(producer, shape, dimension, offset)),
    )
    window = PlaneWindow(left_out.before) if left_out.known else None
    address = Address(send.name, shape.lower, dimension, _ONE, last, dealt)
    strides = part_of_block((*shape.extent[:last], dealt), dimension)
    if strides is not None:
        if window is not None:
            reason = f"the loop over {producer.packing.variable} leaves out planes of strided runs"
            return Misfit("strided", reason, leaf)
        unit = strides.elements
    plane = (shape.stated_stride(dimension) if strides is None else None) or unit.expression()
    return Layout(
        TileShape.EVERY_BLOCK,
        dimension,
        offset,
        unit,
        plane,
        extent,
        address,
        address,
        guards,
        window=window,
        strides=strides,
    )


def slab(
    producer: Producer,
    send: Buffer,
    shape: Shape,
    dimension: int,
    offset: Poly,
    unit: Poly,
    count: Poly,
) -> Layout | Misfit:
    """The layout of a loop that runs over one block after the other."""
    ends = loop_ends(producer)
    assert ends is not None
    block = count.divided_by(unit)
    left_out = gaps(producer, shape, dimension, offset)
    window: PlaneWindow | None = None
    guards: tuple[Guard | Divides, ...] = ()
    if left_out is not None and left_out.known:
        window = PlaneWindow(left_out.before)
    else:
        guards = equal(ends[0] + offset, shape.lower[dimension])
    if block is None:
        if numbers_differ(unit, count) and count.value is not None and unit.value is not None:
            leaf = producer.packing.tiled.head
            reason = f"a block of {count} elements is not a number of planes of {unit}"
            return Misfit("blocks", reason, leaf)
        block = _quotient(count, unit)
        guards = (*guards, Divides(count, unit))
    address = Address(send.name, shape.lower, dimension, _ONE, dimension, block)
    plane = shape.stated_stride(dimension) or unit.expression()
    return Layout(
        TileShape.SLAB,
        dimension,
        offset,
        unit,
        plane,
        block,
        address,
        address,
        guards,
        window=window,
    )


def _quotient(a: Poly, b: Poly) -> Poly:
    """The quotient of two sizes; the guard does not hold if the divisor is 0."""
    divisor = Ref("max", "max", (Lit("integer", "1"), b.expression()))
    return Poly.atom(Op("/", (a.expression(), divisor)))
