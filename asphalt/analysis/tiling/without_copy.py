"""What a tile sends without its packing copy: a strided part of the source of the copy.

The nest that computes the source is tiled.  A plane of the source that becomes final is a plane of
every block (*every block*), but its elements have the strides of the source: ``Strides.source``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from asphalt.analysis.exchange.buffers import buffer_of
from asphalt.analysis.exchange.packing_copy import PackingCopy
from asphalt.analysis.exchange.producer import Producer
from asphalt.analysis.schedule.exchange import TileShape
from asphalt.analysis.symbolic.polynomials import Poly, product
from asphalt.analysis.tiling.geometry import (
    argument,
    gap_guards,
    receive_address,
    send_writes,
)
from asphalt.analysis.tiling.layout import Address, Guard, Layout, Misfit, equal
from asphalt.analysis.tiling.strides import Strides
from asphalt.analysis.tiling.tiled_dimension import loop_ends, tiled_dimension

_ZERO, _ONE = Poly(), Poly.constant(1)


def layout_without_copy(producer: Producer, copy: PackingCopy) -> Layout | Misfit:
    """The geometry of the exchange if the source of its packing copy is sent."""
    exchange = producer.exchange
    arguments = exchange.call.procedure.exchange
    assert arguments is not None
    receive = buffer_of(exchange, arguments.receive)
    count, other = (argument(exchange, a) for a in (arguments.send_count, arguments.receive_count))
    ends = loop_ends(producer)
    leaf = producer.packing.tiled.head
    assert receive is not None
    assert count is not None
    assert other is not None
    assert ends is not None
    if len(producer.packing.loops) > 1:
        reason = f"the loop over {producer.packing.variable} is not the outermost one of its nest"
        return Misfit("strided", reason, leaf)
    writes = send_writes(producer, copy.view)
    found = tiled_dimension(producer, writes, copy.source_shape)
    if isinstance(found, Misfit):
        return found
    tiled, offset = found
    along = _plane_of_block(copy, tiled)
    if along is None:
        reason = (
            f"a plane of {copy.source} is not a plane of each rank's block of {copy.buffer}, which "
            "packs it"
        )
        return Misfit("strided", reason, leaf)
    last = copy.shape.rank - 1
    ranks = [d for d, row in enumerate(copy.factor) if row[last] != _ZERO]
    if len(ranks) > 1:
        return Misfit("strided", f"the ranks are spread over {copy.source}", leaf)
    rank_dimension = ranks[0] if ranks else tiled
    extents = tuple(extent for extent in copy.shape.extent[:last] if extent is not None)
    sign, constant = copy.factor[tiled][along], copy.constant[tiled]
    planes = [constant + sign * end for end in _ends(copy, along)]
    low, high = planes if sign == _ONE else planes[::-1]
    guards: tuple[Guard, ...] = (
        *equal(product(extents), count),
        *equal(count, other),
        *equal(copy.ranges[last].first, copy.shape.lower[last]),
        *equal(ends[0] + offset, low),
        *equal(ends[1] + offset, high),
    )
    for number, extent in enumerate(extents):
        lower = copy.shape.lower[number]
        guards += equal(copy.ranges[number].first, lower)
        guards += equal(copy.ranges[number].last, lower + extent - _ONE)
    if any((guard.left - guard.right).value for guard in guards):
        reason = f"the loop does not run over exactly the planes of {copy.source} that are packed"
        return Misfit("strided", reason, leaf)
    first = tuple(
        constant + _sum(row[q] * copy.shape.lower[q] for q in range(last + 1))
        for constant, row in zip(copy.constant, copy.factor, strict=True)
    )
    block = copy.factor[rank_dimension][last]
    send = Address(copy.source, first, tiled, sign, rank_dimension, block)
    dealt = copy.ranges[last].last - copy.ranges[last].first + _ONE
    strides = Strides(extents, along, tuple(copy.apart(q) for q in range(last + 1)), dealt)
    if any(abs(apart.value or 0) > _LARGEST for apart in strides.source or ()):
        return Misfit("strided", f"elements of {copy.source} are too far apart", leaf)
    layout = Layout(
        TileShape.EVERY_BLOCK,
        tiled,
        offset,
        strides.elements,
        strides.elements.expression(),
        extents[along],
        send,
        send,
        guards,
        strides=strides,
    )
    return replace(
        layout,
        receive=receive_address(receive),
        guards=(*guards, *gap_guards(exchange, copy.view.buffer, receive)),
        count=count,
    )


_LARGEST = 2**31 - 1  # of default integers


def _ends(copy: PackingCopy, dimension: int) -> tuple[Poly, Poly]:
    """The first and the last subscript of a dimension of the send buffer."""
    lower, extent = copy.shape.lower[dimension], copy.shape.extent[dimension]
    assert extent is not None
    return lower, lower + extent - _ONE


def _plane_of_block(copy: PackingCopy, tiled: int) -> int | None:
    """The dimension of the send buffer that follows a dimension of the source, forwards or
    backwards, alone."""
    row = copy.factor[tiled]
    found = [q for q, factor in enumerate(row) if factor != _ZERO]
    if len(found) != 1 or found[0] == len(row) - 1:
        return None
    (along,) = found
    others = [r[along] for d, r in enumerate(copy.factor) if d != tiled]
    if any(factor != _ZERO for factor in others) or row[along].value not in (1, -1):
        return None
    return along


def _sum(polys: Iterable[Poly]) -> Poly:
    total = Poly()
    for poly in polys:
        total += poly
    return total
