"""The MPI calls of one unit that start, prepare, complete or free operations with a request."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from asphalt.analysis.data_flow.reaching_definitions import ReachingDefinitions
from asphalt.analysis.memory.accesses import ALIASED
from asphalt.analysis.memory.forward_substitution import Values
from asphalt.analysis.memory.shapes import Shape, shape_of
from asphalt.analysis.memory.storage import component_storage, storage_of
from asphalt.analysis.mpi.call import MpiCall, mpi_call
from asphalt.analysis.mpi.library_effects import Quantity, library_row
from asphalt.analysis.mpi.procedures import Direction, MpiProcedure, Timing
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import AltReturn, Arg, Component, Expr, Keyword, Lit, Op, Ref, Section, num
from asphalt.ir.records import record
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Do, Leaf


class Does(Enum):
    """The effect of a call on its request."""

    START = "starts"  # a new operation, with a new request
    PREPARE = "prepares"  # a persistent operation
    RUN = "starts again"  # a prepared operation
    COMPLETE = "completes"
    RELEASE = "releases"  # the operation ends by itself, nobody waits for it


@record
class Operation:
    """A call with its requests.

    ``storage``: of the variable that holds them (with the path of a component); None: it may have
    other names.  ``first``: the subscript of the first request in an array of rank one, or its
    place in the order of elements; None: a scalar, or (``scalar`` False) unknown elements.
    ``count``: how many; None: one.  ``certain``: a completion is complete on return;
    ``quantity``: of how many of its requests.
    """

    point: int
    leaf: Leaf
    call: MpiCall
    does: Does
    storage: str | None
    first: Expr | None
    scalar: bool
    count: Expr | None
    certain: bool = True
    quantity: Quantity = Quantity.ALL
    loops: tuple[Do, ...] = ()

    @property
    def line(self) -> int:
        """The line of the call."""
        return self.leaf.line

    @property
    def root(self) -> str | None:
        """The storage of the whole variable, without the path of a component."""
        return None if self.storage is None else self.storage.split("%")[0]


def operations(
    reaching: ReachingDefinitions, scope: Scope, values: Values
) -> tuple[Operation, ...]:
    """All calls of a unit with requests, in source order."""
    return tuple(_operations(reaching, scope, values))


def _operations(reaching: ReachingDefinitions, scope: Scope, values: Values) -> Iterator[Operation]:
    for point in reaching.graph.points:
        if not isinstance(point.what, Call) or point.leaf is None:
            continue
        if point.number in reaching.graph.dead:
            continue
        call = mpi_call(point.what, scope)
        does = None if call is None else _does(call.procedure)
        if call is None or does is None:
            continue
        name = _request(call.procedure)
        actual = call.args.get(name)
        if actual is None:
            continue
        storage = _storage(actual, scope)
        scalar, first = _first(actual, scope, values, point.leaf)
        completion = library_row(call.procedure).completion
        loops = tuple(node for node in point.around if isinstance(node, Do))
        yield Operation(
            point.number, point.leaf, call, does, storage, first, scalar,
            _count(call, scope, values, point.leaf),
            certain=completion is None or completion.certain,
            quantity=Quantity.ALL if completion is None else completion.quantity,
            loops=loops,
        )  # fmt: skip


def deals_with_requests(procedure: MpiProcedure) -> bool:
    """Whether a procedure starts, prepares, completes or frees operations with requests."""
    return _does(procedure) is not None


def _request(procedure: MpiProcedure) -> str:
    return next(p.name for p in procedure.parameters if p.kind == "REQUEST")


def _does(procedure: MpiProcedure) -> Does | None:
    requests = [p for p in procedure.parameters if p.kind == "REQUEST"]
    if not requests:
        return None
    given = requests[0].direction
    if library_row(procedure).completion is not None:
        return Does.COMPLETE
    match procedure.timing:
        case Timing.NONBLOCKING if given is Direction.OUT:
            return Does.START
        case Timing.PERSISTENT if given is Direction.OUT:
            return Does.PREPARE
        case Timing.STARTING if given is Direction.INOUT:
            return Does.RUN
        case Timing.COMPLETING if given is Direction.INOUT:
            return Does.RELEASE
    return None


def _count(call: MpiCall, scope: Scope, values: Values, at: Leaf) -> Expr | None:
    """How many requests a call has; None: one."""
    for parameter, actual in call.bound():
        if parameter.kind.startswith("ARRAY_LENGTH") and parameter.used:
            return _size(actual, scope, values, at) or actual
    return None


def _size(count: Expr, scope: Scope, values: Values, at: Leaf) -> Expr | None:
    """The value of ``size(r)`` if the shape of ``r`` is constant; None: it is something else."""
    match count:
        case Ref(name="size", args=(Ref(name=name, args=None),)):
            symbol, shape = scope.lookup("size"), shape_of(name, scope, values, at)
        case _:
            return None
    if symbol is None or symbol.origin is not Origin.INTRINSIC or shape is None:
        return None
    size = 1
    for extent in shape.extent:
        if extent is None or extent.value is None:
            return None
        size *= extent.value
    return num(size)


def _storage(actual: Expr, scope: Scope) -> str | None:
    match actual:
        case Ref(name=name) if name not in scope.shadowed:
            storage = storage_of(name, scope)
            return None if storage == ALIASED else storage
        case Component():
            found = component_storage(actual, scope)
            return None if found is None or found.startswith(ALIASED) else found
    return None


def _first(actual: Expr, scope: Scope, values: Values, at: Leaf) -> tuple[bool, Expr | None]:
    """Whether the requests are a scalar variable; else the subscript of the first, or in an array
    of a higher rank its place in the order of elements."""
    args: tuple[Arg, ...] | None = None
    rank: int | None = None
    lower: Expr | None = None
    match actual:
        case Ref(name=name, args=args):
            symbol = scope.lookup(name)
            if symbol is not None and name not in scope.shadowed:
                rank = 0 if symbol.dims is None else len(symbol.dims)
            shape = shape_of(name, scope, values, at)
            if shape is not None and shape.rank > 1:
                return False, _place(args, shape)
            if shape is not None and shape.rank == 1:
                lower = shape.lower[0].expression()
        case Component(args=args):
            rank = None if args is None else len(args)
            if args is None:
                return False, None
        case _:
            return False, None
    if args is None:
        return rank == 0, lower
    if rank != 1 or len(args) != 1:
        return False, None
    match args[0]:
        case Section(lower=given, stride=None):
            return False, given or lower
        case Section() | Keyword():
            return False, None
        case Ref() | Component() as subscript:
            return False, subscript
    subscript_or_other = args[0]
    return False, subscript_or_other if not hasattr(subscript_or_other, "label") else None


def _place(args: tuple[Arg, ...] | None, shape: Shape) -> Expr | None:
    """The place, from 1 on, of the first element of a designator in the order of the elements of an
    array (F2018 9.5.3.2); None: it depends on extents that are not constant, or the designator is
    no contiguous section."""
    place: Expr = Lit("integer", "1")
    size, whole = 1, True
    for number, arg in enumerate(args or ()):
        lower = shape.lower[number]
        match arg:
            case Keyword() | AltReturn():
                return None
            case Section(lower=None, upper=None, stride=None) if whole:
                pass
            case Section(lower=first, stride=None) if whole:
                whole = False
                place = _beyond(place, first, lower, size)
            case Section():
                return None
            case _:
                whole = False
                place = _beyond(place, arg, lower, size)
        extent = shape.extent[number]
        if number + 1 < shape.rank:
            if extent is None or extent.value is None:
                return None
            size *= extent.value
    return place


def _beyond(place: Expr, subscript: Expr | None, lower: Poly, size: int) -> Expr:
    """A place that is moved by the distance of a subscript from the lower bound of its
    dimension."""
    if subscript is None:
        return place
    distance = Op("-", (Op("()", (subscript,)), lower.expression()))
    return Op("+", (place, Op("*", (num(size), Op("()", (distance,))))))
