"""Arguments with one integer for each rank: the counts and displacements of MPI_ALLTOALLV."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.memory.ranks import is_scalar
from asphalt.analysis.memory.shapes import shape_of
from asphalt.analysis.names.designators import designator_name, symbol_named
from asphalt.analysis.names.scopes import Scope, Symbol, constant
from asphalt.analysis.symbolic.polynomials import Poly, folded_expr
from asphalt.ir.expr import AltReturn, Arg, Component, Expr, Keyword, Lit, Ref, Section
from asphalt.ir.records import record

PEER = Ref("asphalt_peer", "asphalt_peer")
"""The rank that a count or displacement is about."""


@record
class PerRank:
    """The integer for rank p (from 0) is the element ``name(lower + p, *rest)``.

    ``actual``: the argument as the call writes it.
    """

    actual: Ref | Component
    lower: Poly
    rest: tuple[Expr, ...] = ()

    def of(self, rank: Expr) -> Ref | Component:
        """The element that belongs to a rank."""
        subscript = (self.lower + Poly.atom(rank)).expression()
        return replace(self.actual, args=(subscript, *self.rest))


@record
class Uneven:
    """The blocks of an MPI_ALLTOALLV (MPI-4.0 section 6.8), counted in elements.

    ``spread``: from the beginning of a block to that of the next, where the tiled loop fills all
    blocks at once; None: they lie one behind the other, and it fills one after the other.
    """

    send_counts: PerRank
    send_displacements: PerRank
    receive_counts: PerRank
    receive_displacements: PerRank
    spread: Poly | None = None

    @property
    def lists(self) -> tuple[PerRank, ...]:
        """All four, in the order of the call."""
        return (
            self.send_counts,
            self.send_displacements,
            self.receive_counts,
            self.receive_displacements,
        )


def per_rank(exchange: Exchange, argument: str | None) -> PerRank | None:
    """An argument that is an array, or a run of its first dimension; None for other arguments."""
    actual = exchange.call.args.get(argument or "")
    if not isinstance(actual, Ref | Component):
        return None
    lowers = _lower_bounds(actual, exchange)
    if lowers is None:
        return None
    if actual.args is None:
        return PerRank(actual, lowers[0]) if len(lowers) == 1 else None
    if len(actual.args) != len(lowers):
        return None
    first, *rest = actual.args
    fixed = _subscripts(rest, exchange)
    if fixed is None:
        return None
    match first:
        case Section(lower=None, stride=None | Lit("integer", "1")):
            return PerRank(actual, lowers[0], fixed)
        case Section(lower=lower, stride=None | Lit("integer", "1")) if lower is not None:
            return PerRank(actual, exchange.values.polynomial(lower, exchange.leaf), fixed)
        case Section() | Keyword() | AltReturn():
            return None
    if rest or not is_scalar(first, exchange.scope):
        return None  # a sequence that begins inside of an array may run on in the next column
    if _may_have_gaps(_symbol(actual, exchange)):
        return None  # what follows in memory is no element then, and it is none that may be passed
    return PerRank(actual, exchange.values.polynomial(first, exchange.leaf))


def _symbol(array: Ref | Component, exchange: Exchange) -> Symbol | None:
    name = designator_name(array)
    return None if name is None else symbol_named(name, exchange.scope)


def _may_have_gaps(symbol: Symbol | None) -> bool:
    """Whether an array is a pointer, or of an assumed shape (Fortran 2018, 15.5.2.4)."""
    if symbol is None:
        return True
    dims = symbol.dims or ()
    return "pointer" in symbol.attrs or any(dim.kind == "assumed_shape" for dim in dims)


def uneven_blocks(exchange: Exchange) -> Uneven | str:
    """The counts and displacements of a call, without ``spread``; else the argument that is no
    array whose elements could be named."""
    if exchange.open_coded is not None:
        return exchange.open_coded.uneven
    arguments = exchange.call.procedure.exchange
    assert arguments is not None
    found: list[PerRank] = []
    for argument in (
        arguments.send_count,
        arguments.send_displacements,
        arguments.receive_count,
        arguments.receive_displacements,
    ):
        elements = per_rank(exchange, argument)
        if elements is None:
            return argument or ""
        found.append(elements)
    return Uneven(found[0], found[1], found[2], found[3])


def _lower_bounds(array: Ref | Component, exchange: Exchange) -> tuple[Poly, ...] | None:
    """The lower bounds of an integer array; None: it is not one."""
    symbol = _symbol(array, exchange)
    if symbol is None or symbol.type is None or symbol.type.base != "integer":
        return None
    if isinstance(array, Ref):
        shape = shape_of(array.name, exchange.scope, exchange.values, exchange.leaf)
        return None if shape is None else shape.lower
    if not symbol.dims or symbol.type.kind is not None:
        return None
    return tuple(_lower_of(array, symbol, number) for number in range(len(symbol.dims)))


def _lower_of(array: Component, symbol: Symbol, number: int) -> Poly:
    """A lower bound of a component: that in its type, or LBOUND of it."""
    assert symbol.dims is not None
    dim = symbol.dims[number]
    if dim.kind == "explicit":
        if dim.lower is None:
            return Poly.constant(1)
        value = constant(dim.lower, symbol.home) if isinstance(symbol.home, Scope) else None
        if value is not None:
            return Poly.constant(value)
    whole = folded_expr(replace(array, args=None))
    return Poly.atom(Ref("lbound", "lbound", (whole, Lit("integer", str(number + 1)))))


def _subscripts(args: Iterable[Arg], exchange: Exchange) -> tuple[Expr, ...] | None:
    """The arguments if all of them are scalar subscripts."""
    found: list[Expr] = []
    for arg in args:
        if isinstance(arg, Section | Keyword | AltReturn) or not is_scalar(arg, exchange.scope):
            return None
        found.append(arg)
    return tuple(found)
