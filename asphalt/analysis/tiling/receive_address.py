"""The position of pieces in the receive buffer, as subscripts in its declared shape."""

from __future__ import annotations

from asphalt.analysis.exchange.buffers import Buffer
from asphalt.analysis.memory.shapes import Shape
from asphalt.analysis.schedule.exchange import TileShape
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.tiling.layout import Address, Guard, Layout, equal, numbers_differ

_ONE = Poly.constant(1)


def receive_address(
    receive: Buffer, shape: Shape, layout: Layout, count: Poly
) -> tuple[Address, tuple[Guard, ...]] | None:
    """Where pieces land: the element ``rank*count + position*unit`` of the receive buffer; None:
    it cannot be written with subscripts in its declared shape."""
    last = shape.rank - 1
    if last > 0 and shape.stride(last) == count:
        steps = layout.step.divided_by(shape.stride(last - 1))
        if steps is not None:
            return Address(receive.name, shape.lower, last - 1, steps, last, _ONE), ()
    in_one = _in_last_dimension(receive, shape, layout, count) or _inside(
        receive, shape, layout, count
    )
    if in_one is not None:
        return in_one, ()
    if layout.pattern is TileShape.EVERY_BLOCK and shape.rank == len(layout.send.fixed):
        dimension = layout.dimension
        inside = layout.strides is not None
        dealt = layout.send.block_factor
        if numbers_differ(shape.stride(dimension), layout.step):
            return None
        guards = (
            *equal(shape.stride(dimension), layout.step),
            *(equal(shape.stride(dimension + 1), layout.step * layout.block) if inside else ()),
            *equal(shape.stride(last) * dealt, count),
        )
        return Address(receive.name, shape.lower, dimension, _ONE, last, dealt), guards
    if layout.pattern is TileShape.SLAB and shape.rank == len(layout.send.fixed):
        if numbers_differ(shape.stride(last), layout.unit):
            return None
        guards = equal(shape.stride(last), layout.unit)
        return Address(receive.name, shape.lower, last, _ONE, last, layout.block), guards
    return None


def _inside(receive: Buffer, shape: Shape, layout: Layout, count: Poly) -> Address | None:
    """The steps of the tiled dimension as whole steps of one dimension that contains them."""
    last = shape.rank - 1
    blocks = count.divided_by(shape.stride(last))
    for dimension in range(last):
        steps = layout.step.divided_by(shape.stride(dimension))
        holds = shape.stride(dimension + 1).divided_by(layout.step * layout.block)
        if blocks is not None and steps is not None and holds is not None:
            return Address(receive.name, shape.lower, dimension, steps, last, blocks)
    return None


def _in_last_dimension(
    receive: Buffer, shape: Shape, layout: Layout, count: Poly
) -> Address | None:
    last = shape.rank - 1
    stride = shape.stride(last)
    steps, blocks = layout.step.divided_by(stride), count.divided_by(stride)
    if steps is None or blocks is None:
        return None
    return Address(receive.name, shape.lower, last, steps, last, blocks)
