"""What a tile sends: how the tiled loop walks through the blocks of the exchange.

The send buffer of MPI_ALLTOALL is a sequence of blocks of ``count`` elements, one a rank.  The
tiled loop runs over one dimension of the buffer; with ``unit`` elements a step of that dimension
(its stride), the loop either walks inside every block at once (*every block*: the next dimension is
the rank) or through the blocks one after the other (*slab*).  Sizes are compared as polynomials;
what is not equal up to algebra becomes a run-time guard.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from asphalt.analysis.access import Access
from asphalt.analysis.algebra import Poly
from asphalt.analysis.buffers import Buffer, View, buffer_of, views, writes_in
from asphalt.analysis.contiguity import contiguity
from asphalt.analysis.exchange import Exchange
from asphalt.analysis.nest import Producer
from asphalt.analysis.per_rank import Uneven
from asphalt.analysis.regions import loop_variable
from asphalt.analysis.schedule import Shape as Pattern
from asphalt.analysis.shapes import Shape, shape_of
from asphalt.analysis.strides import Strides, part_of_block
from asphalt.analysis.window import Gaps, Window
from asphalt.ir.expr import Component, Expr, Lit, Op, Ref, Section, names_in
from asphalt.ir.tree import Leaf


@dataclass(frozen=True, slots=True)
class Guard:
    """A relation that the run checks before it tiles: ``left relation right``."""

    left: Poly
    relation: str  # == or <=
    right: Poly


@dataclass(frozen=True, slots=True)
class Divides:
    """The run checks that ``unit`` divides ``count`` and that ``count/unit`` is positive."""

    count: Poly
    unit: Poly


@dataclass(frozen=True, slots=True)
class Contiguous:
    """The run checks that an array has no gaps; each rank knows that of its own array alone."""

    array: Ref | Component


@dataclass(frozen=True, slots=True)
class Address:
    """The first element of a piece: that of the buffer, plus the position inside the block times
    ``tile_factor`` in one dimension, plus the rank times ``block_factor`` in one (maybe the same).

    ``tail``: the subscripts of the dimensions behind those of the buffer (``buffers.View``);
    ``room``: steps of the last dimension of ``fixed`` that the buffer has, where others follow.
    """

    buffer: str
    fixed: tuple[Poly, ...]
    tile_dimension: int
    tile_factor: Poly
    block_dimension: int
    block_factor: Poly
    tail: tuple[Poly, ...] = ()
    room: Poly | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """The geometry of one tiled exchange.

    ``unit``: elements that one iteration adds to one block (or slab); ``plane``: the same as the
    source states it.  ``block``: steps of the dimension in one block.  ``offset``: the subscript
    of the tiled dimension is loop variable + ``offset``.
    ``dimension``: that dimension of the send buffer.  ``stated``: sizes as the source writes them.
    ``uneven``: the counts and displacements, where blocks differ in length (then ``block`` and the
    places inside of the buffers say nothing).
    ``window``: which planes a tile sends, where they are not those of its iterations.  ``apart``:
    why pieces cannot land in the receive buffer; only ``receive.buffer`` counts then.
    ``strides``: how a tile's part lies in a block where it is not one contiguous run.  ``count``:
    elements that the call sends to each rank, where blocks are equally long.
    """

    pattern: Pattern
    dimension: int
    offset: Poly
    unit: Poly
    plane: Expr
    block: Poly
    send: Address
    receive: Address
    guards: tuple[Guard | Divides | Contiguous, ...]
    stated: tuple[tuple[Poly, Expr], ...] = ()
    window: Window | None = None
    apart: str | None = None
    uneven: Uneven | None = None
    strides: Strides | None = None
    count: Poly = field(default_factory=Poly)

    @property
    def description(self) -> str:
        """The pattern for people."""
        pattern = self.pattern if self.strides is None else Pattern.STRIDED
        return f"{pattern.value}{'' if self.uneven is None else ', uneven'}"

    @property
    def step(self) -> Poly:
        """Elements of a block between neighbours in the tiled dimension."""
        return self.unit if self.strides is None else self.strides.step


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why there is no layout: a reason for people, and the statement that shows it."""

    kind: str  # subscripts | strided | blocks | shape
    reason: str
    leaf: Leaf


_ZERO, _ONE = Poly.constant(0), Poly.constant(1)


def send_writes(producer: Producer, view: View) -> tuple[Access, ...]:
    """The accesses of the packing phase that write the send buffer, as the view sees them."""
    storage = producer.exchange.names.storage(view.buffer.name)
    accesses = producer.phase_accesses(producer.packing)
    writes = (a for a in accesses if a.writes and a.touches(storage))
    refined = (producer.region.refined(access) for access in writes)
    return writes_in(view, refined, storage, producer.region)


def send_view(producer: Producer, layout: Layout) -> View:
    """The view of the send buffer that a layout is made for, or of what is sent in its place."""
    if producer.copy is not None:
        return producer.copy.view
    return next(v for v in _send_views(producer) if v.tail == layout.send.tail)


def _send_views(producer: Producer) -> list[View]:
    """The views of the send buffer that all writes of the packing phase agree with, that with the
    longest tail first; if they agree with none, that with all dimensions."""
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
    return agreeing[::-1] or found[:1]


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
    """The geometry of the exchange where the send buffer is seen in one way."""
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
        layout = _slab(producer, send, shape, dimension, offset, unit, count)
    else:
        layout = _every_block(producer, send, shape, dimension, offset, unit, count)
    if isinstance(layout, Misfit):
        return layout
    layout = replace(layout, send=replace(layout.send, tail=view.tail, room=view.room))
    if shape_of(receive.name, exchange.scope, exchange.values, exchange.leaf) is None:
        return Misfit("shape", f"the shape of {receive.spelled} is not known", exchange.leaf)
    strided = layout.strides is not None
    across = _crossed(producer, view) if strided else None
    if across is not None:
        return Misfit("strided", across, producer.packing.tiled.head)
    landing = _landing(exchange, receive, layout, count, shape.stated and not strided)
    apart = f"pieces do not line up with the dimensions of {receive.spelled}"
    if landing is None and strided:
        return Misfit("strided", apart, exchange.leaf)
    target, more = landing or (Address(receive.name, receive.origin or (), 0, _ZERO, 0, _ZERO), ())
    stated = [(layout.unit, layout.plane)]
    written = _written_here(producer, arguments.send_count)
    if written is not None:
        stated.append((count, written))
    return replace(
        layout,
        receive=target,
        guards=(*guards, *layout.guards, *more, *gap_guards(exchange, send, receive)),
        stated=tuple(stated),
        apart=apart if landing is None else None,
        count=count,
    )


def gap_guards(exchange: Exchange, *buffers: Buffer) -> tuple[Contiguous, ...]:
    """The checks that buffers have no gaps, where that is not proved."""
    return tuple(
        Contiguous(buffer.array)
        for buffer in buffers
        if contiguity(buffer.name, exchange.scope).unknown
    )


def _landing(
    exchange: Exchange, receive: Buffer, layout: Layout, count: Poly, stated: bool
) -> tuple[Address, tuple[Guard, ...]] | None:
    """Where pieces land, in the first view of the receive buffer that they fit; None: in none.

    ``stated``: the source states the shape of the send buffer.
    """
    for view in views(exchange, receive, exchange.leaf):
        found = receive_address(receive, view.shape, layout, count)
        if found is None:
            continue
        address, guards = found
        if guards and stated and view.shape.stated:
            continue  # what the source states differs: that it is equal is not likely
        begins = tuple(guard for pair in view.equal for guard in equal(*pair))
        return replace(address, tail=view.tail, room=view.room), (*begins, *guards)
    return None


def _written_here(producer: Producer, argument: str | None) -> Expr | None:
    """An argument as it is written, if it has the same value at the entry of the nest."""
    exchange = producer.exchange
    actual = exchange.call.args.get(argument or "")
    changing = producer.footprint.written()
    if actual is None or any(exchange.names.storage(n) in changing for n in names_in(actual)):
        return None
    return actual


def argument(exchange: Exchange, name: str | None) -> Poly | None:
    actual = exchange.call.args.get(name or "")
    return None if actual is None else exchange.values.polynomial(actual, exchange.leaf)


def tiled_dimension(
    producer: Producer, writes: Iterable[Access], shape: Shape
) -> tuple[int, Poly] | Misfit:
    """The dimension that the tiled loop walks through, and subscript minus loop variable."""
    variable = Ref(producer.packing.variable, producer.packing.variable)
    misfit: Misfit | None = None
    for write in writes:
        if write.subscripts is None or len(write.subscripts) != shape.rank:
            reason = "the send buffer is defined as a whole, or through another shape"
            return Misfit("subscripts", reason, write.leaf)
        for dimension, subscript in enumerate(write.subscripts):
            if isinstance(subscript, Section):
                continue
            value = producer.region.value(subscript, write.loops)
            if value is None:
                continue
            offset = value - Poly.atom(variable)
            if not offset.coefficients(variable).keys() - {0} and not _varies(offset, write):
                return dimension, offset
        reason = (
            f"no subscript of the send buffer is {variable.name} plus something that does not "
            "change in the nest"
        )
        misfit = misfit or Misfit("subscripts", reason, write.leaf)
    return misfit or Misfit(
        "subscripts", "nothing in the nest writes the send buffer", producer.packing.nest.head
    )


def _varies(poly: Poly, write: Access) -> bool:
    variables = {loop_variable(loop) for loop in write.loops}
    return any(isinstance(atom, Ref) and atom.name in variables for atom in poly.atoms)


def loop_ends(producer: Producer) -> tuple[Poly, Poly] | None:
    """The lowest and the highest value of the tiled loop's variable."""
    first = producer.region.value(producer.first, ())
    last = producer.region.value(producer.last, ())
    if first is None or last is None:
        return None
    return (first, last) if producer.direction > 0 else (last, first)


def gaps(producer: Producer, shape: Shape, dimension: int, offset: Poly) -> Gaps | None:
    """The planes of a dimension that the tiled loop leaves out, in the order of the loop."""
    ends = loop_ends(producer)
    if ends is None:
        return None
    extent, lower = shape.extent[dimension], shape.lower[dimension]
    low = ends[0] + offset - lower
    high = None if extent is None else lower + extent - _ONE - ends[1] - offset
    if producer.direction > 0:
        return Gaps(low, high)
    return None if high is None else Gaps(high, low)


def equal(left: Poly, right: Poly) -> tuple[Guard, ...]:
    """Nothing where two sizes are equal up to algebra, else the guard that they are."""
    return () if left == right else (Guard(left, "==", right),)


def _every_block(
    producer: Producer,
    send: Buffer,
    shape: Shape,
    dimension: int,
    offset: Poly,
    unit: Poly,
    count: Poly,
) -> Layout | Misfit:
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
    if shape.stated and _numbers_differ(shape.stride(last) * dealt, count):
        reason = (
            f"a block is {_text(count)} elements, but dimensions 1 to {last} of "
            f"{send.spelled} are {_text(shape.stride(last))}"
        )
        return Misfit("blocks", reason, leaf)
    guards = (
        *equal(shape.stride(last) * dealt, count),
        *(() if left_out.known else exactly(producer, shape, dimension, offset)),
    )
    window = Window(left_out.before) if left_out.known else None
    address = Address(send.name, shape.lower, dimension, _ONE, last, dealt)
    strides = part_of_block((*shape.extent[:last], dealt), dimension)
    if strides is not None:
        if window is not None:
            reason = f"the loop over {producer.packing.variable} leaves out planes of strided runs"
            return Misfit("strided", reason, leaf)
        unit = strides.elements
    plane = (shape.stated_stride(dimension) if strides is None else None) or unit.expression()
    return Layout(
        Pattern.EVERY_BLOCK,
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


def exactly(producer: Producer, shape: Shape, dimension: int, offset: Poly) -> tuple[Guard, ...]:
    """The guards that the tiled loop runs over exactly the planes of a dimension."""
    ends, extent = loop_ends(producer), shape.extent[dimension]
    assert ends is not None
    assert extent is not None
    lower = shape.lower[dimension]
    return (
        *equal(ends[0] + offset, lower),
        *equal(ends[1] + offset, lower + extent - _ONE),
    )


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


def _slab(
    producer: Producer,
    send: Buffer,
    shape: Shape,
    dimension: int,
    offset: Poly,
    unit: Poly,
    count: Poly,
) -> Layout | Misfit:
    ends = loop_ends(producer)
    assert ends is not None
    block = count.divided_by(unit)
    left_out = gaps(producer, shape, dimension, offset)
    window: Window | None = None
    guards: tuple[Guard | Divides, ...] = ()
    if left_out is not None and left_out.known:
        window = Window(left_out.before)
    else:
        guards = equal(ends[0] + offset, shape.lower[dimension])
    if block is None:
        if _numbers_differ(unit, count) and count.value is not None and unit.value is not None:
            leaf = producer.packing.tiled.head
            reason = (
                f"a block of {_text(count)} elements is not a number of planes of {_text(unit)}"
            )
            return Misfit("blocks", reason, leaf)
        block = _quotient(count, unit)
        guards = (*guards, Divides(count, unit))
    address = Address(send.name, shape.lower, dimension, _ONE, dimension, block)
    plane = shape.stated_stride(dimension) or unit.expression()
    return Layout(
        Pattern.SLAB,
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
    """The quotient of two sizes where the divisor may be 0 (then the guard does not hold)."""
    divisor = Ref("max", "max", (Lit("integer", "1"), b.expression()))
    return Poly.atom(Op("/", (a.expression(), divisor)))


def _numbers_differ(a: Poly, b: Poly) -> bool:
    return (a - b).value not in (0, None)


def _text(poly: Poly) -> str:
    """A size for people."""
    return " + ".join(_term(m, c) for m, c in sorted(poly.terms, key=repr)) or "0"


def _term(monomial: tuple[Expr, ...], coefficient: int) -> str:
    names = [atom.name if isinstance(atom, Ref) else "(...)" for atom in monomial]
    factors = ([str(coefficient)] if coefficient != 1 or not names else []) + names
    return "*".join(factors)


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
    if layout.pattern is Pattern.EVERY_BLOCK and shape.rank == len(layout.send.fixed):
        dimension = layout.dimension
        inside = layout.strides is not None
        dealt = layout.send.block_factor
        if _numbers_differ(shape.stride(dimension), layout.step):
            return None
        guards = (
            *equal(shape.stride(dimension), layout.step),
            *(equal(shape.stride(dimension + 1), layout.step * layout.block) if inside else ()),
            *equal(shape.stride(last) * dealt, count),
        )
        return Address(receive.name, shape.lower, dimension, _ONE, last, dealt), guards
    if layout.pattern is Pattern.SLAB and shape.rank == len(layout.send.fixed):
        if _numbers_differ(shape.stride(last), layout.unit):
            return None
        guards = equal(shape.stride(last), layout.unit)
        return Address(receive.name, shape.lower, last, _ONE, last, layout.block), guards
    return None


def _inside(receive: Buffer, shape: Shape, layout: Layout, count: Poly) -> Address | None:
    """The steps of the tiled dimension as whole steps of one that holds all of them."""
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
