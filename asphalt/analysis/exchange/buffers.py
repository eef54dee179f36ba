"""The buffers of an exchange: the array, its first element, and its shape.

A buffer argument passes an address (MPI-4.0 section 2.5.7): ``s``, ``s(1,1,2)``, ``work(1,1,1,k)``
and ``work(:,:,:,k)`` are buffers that begin at some element.  A view of ``work(:,:,:,k)`` has the
leading dimensions only; the *tail* is the subscripts of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.memory.accesses import ALIASED, Access
from asphalt.analysis.memory.ranks import is_scalar
from asphalt.analysis.memory.regions import Region
from asphalt.analysis.memory.shapes import Shape, shape_of
from asphalt.analysis.names.designators import designator_name, spelled_designator, symbol_named
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.analysis.symbolic.flat_indices import FlatDimensions
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Component, Expr, Lit, Ref, Section
from asphalt.ir.records import record
from asphalt.ir.tree import Leaf

_ONE = Poly.constant(1)
_STRIDE_ONE = Lit("integer", "1")


@record
class Buffer:
    """A buffer argument.

    ``name``: the folded designator of the array (``s``, ``plan%send``); ``array``: as the call
    writes it, without subscripts.  ``origin``: the subscripts of its first element; None: the array
    is passed from its own first element on.
    """

    name: str
    array: Ref | Component
    origin: tuple[Poly, ...] | None = None

    @property
    def spelled(self) -> str:
        """The designator as reports spell it."""
        return spelled_designator(self.array)


@record
class FlatShape:
    """The shape of an array whose last dimension runs through several ones (``flat_views``)."""

    array: Shape
    dimensions: FlatDimensions


@record
class View:
    """A buffer under a shape: some leading dimensions, from the first element on.

    ``tail``: the subscripts of the other dimensions.  ``room``: steps of the last dimension of the
    shape that belong to the buffer; None: it ends where the array ends.  ``equal``: pairs of
    subscripts and lower bounds; it is this view if they are equal.  ``flat``: the
    shape of the array, if the last dimensions of ``shape`` are one dimension of it.
    """

    buffer: Buffer
    shape: Shape
    tail: tuple[Poly, ...] = ()
    equal: tuple[tuple[Poly, Poly], ...] = ()
    flat: FlatShape | None = None

    @property
    def room(self) -> Poly | None:
        """The extent of the view in its last dimension."""
        return self.shape.extent[-1] if self.tail else None


def is_static(array: Expr, scope: Scope) -> bool:
    """Whether an array lives as long as the program, at one address: a variable of a module, in
    COMMON, of the main program, or with SAVE, that is neither allocated nor pointed to."""
    if not isinstance(array, Ref):
        return False
    symbol = scope.lookup(array.name)
    if symbol is None or symbol.attrs & {"allocatable", "pointer", "dummy"}:
        return False
    if symbol.origin in (Origin.MODULE, Origin.COMMON):
        return True
    if symbol.origin not in (Origin.LOCAL, Origin.HOST):
        return False
    if "save" in symbol.attrs:
        return True
    declaring: Scope | None = scope
    while declaring is not None and array.name not in declaring.declared.symbols:
        declaring = declaring.host
    return declaring is not None and declaring.unit.kind == "program"


def buffer_of(exchange: Exchange, argument: str | None) -> Buffer | None:
    """The array that a buffer argument passes; None: it is no array, or may have gaps."""
    actual = exchange.call.args.get(argument or "")
    name = None if actual is None else designator_name(actual)
    if name is None or not isinstance(actual, Ref | Component):
        return None
    array = replace(actual, args=None)
    if isinstance(actual, Component) and symbol_named(name, exchange.scope) is None:
        return None
    if actual.args is None or all(a == Section(None, None, None) for a in actual.args):
        return Buffer(name, array)
    shape = shape_of(name, exchange.scope, exchange.values, exchange.leaf)
    if shape is None or shape.rank != len(actual.args):
        return None
    origin = _origin(actual.args, shape, exchange)
    if origin is None:
        return None
    # s(:,:,1) is a part of s even where it begins with the first element
    part = isinstance(actual.args[0], Section)
    return Buffer(name, array, None if origin == shape.lower and not part else origin)


def _origin(args: tuple[object, ...], shape: Shape, exchange: Exchange) -> tuple[Poly, ...] | None:
    """The first element of a contiguous reference; None: there may be gaps.

    A section has none if every dimension before the last one with a triplet is whole, and the
    dimensions behind it have one subscript each.
    """
    origin: list[Poly] = []
    closed = False  # a dimension that is not whole came before
    for arg, lower, extent in zip(args, shape.lower, shape.extent, strict=True):
        match arg:
            case Section(lower=first, upper=last, stride=stride):
                if closed or stride not in (None, _STRIDE_ONE):
                    return None
                start = lower if first is None else exchange.values.polynomial(first, exchange.leaf)
                end = None if last is None else exchange.values.polynomial(last, exchange.leaf)
                whole = start == lower and (
                    end is None or (extent is not None and end == lower + extent - _ONE)
                )
                closed = not whole
            case Ref() | Component() | Lit() as subscript:
                if not _is_subscript(subscript, exchange):
                    return None
                start, closed = exchange.values.polynomial(subscript, exchange.leaf), True
            case _ if is_scalar(arg, exchange.scope):  # type: ignore[arg-type]
                start, closed = exchange.values.polynomial(arg, exchange.leaf), True  # type: ignore[arg-type]
            case _:
                return None
        origin.append(start)
    return tuple(origin)


def _is_subscript(subscript: Expr, exchange: Exchange) -> bool:
    """Whether a subscript is a scalar (a vector subscript would gather elements)."""
    if isinstance(subscript, Component):
        name = designator_name(subscript)
        symbol = None if name is None else symbol_named(name, exchange.scope)
        return symbol is not None and (symbol.dims is None or subscript.args is not None)
    return is_scalar(subscript, exchange.scope)


def views(exchange: Exchange, buffer: Buffer, at: Leaf) -> Iterator[View]:
    """The views of a buffer, that with the most dimensions first."""
    shape = shape_of(buffer.name, exchange.scope, exchange.values, at)
    if shape is None:
        return
    origin = buffer.origin or shape.lower
    for rank in range(shape.rank, 0, -1):
        if rank < shape.rank and buffer.origin is None:
            return
        pairs = zip(origin[: rank - 1], shape.lower, strict=False)
        open_pairs = tuple((first, lower) for first, lower in pairs if first != lower)
        if not any((first - lower).value is not None for first, lower in open_pairs):
            yield View(buffer, _part(shape, origin, rank), origin[rank:], open_pairs)


def _part(shape: Shape, origin: tuple[Poly, ...], rank: int) -> Shape:
    if rank == shape.rank and origin == shape.lower:
        return shape
    last = shape.extent[rank - 1]
    cut = origin[rank - 1] - shape.lower[rank - 1]
    extent = (*shape.extent[: rank - 1], None if last is None else last - cut)
    source = shape.source[:rank] if cut.value == 0 else (*shape.source[: rank - 1], None)
    return Shape(origin[:rank], extent, shape.stated, source if shape.source else ())


def writes_in(
    view: View, accesses: Iterable[Access], storage: str, region: Region
) -> tuple[Access, ...]:
    """The accesses that write the buffer, with their subscripts in the view.

    Subscripts are None where the access is to an unknown part of the array, or where it is not
    proved that it stays in the view.
    """
    return tuple(
        replace(a, subscripts=_within(view, a, storage, region))
        for a in accesses
        if a.writes and a.touches(storage)
    )


def _within(
    view: View, access: Access, storage: str, region: Region
) -> tuple[Expr | Section, ...] | None:
    rank = view.shape.rank
    subscripts = access.subscripts
    if storage == ALIASED and access.named == view.buffer.name:
        subscripts = access.inside
    elif access.object != storage:
        return None
    if subscripts is None or len(subscripts) != rank + len(view.tail):
        return None
    for subscript, fixed in zip(subscripts[rank:], view.tail, strict=True):
        if isinstance(subscript, Section) or region.value(subscript, access.loops) != fixed:
            return None
    return subscripts[:rank]
