"""The shapes of arrays as polynomials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from asphalt.analysis.memory.accesses import ALIASED
from asphalt.analysis.memory.called_shapes import Allocated, Change, dims_of, shape_change
from asphalt.analysis.memory.module_arrays import (
    ModuleAllocation,
    allocations,
    component_allocations,
    constant_dims,
    is_constant,
    is_settled,
    shaped_here_alone,
    with_numbers,
)
from asphalt.analysis.memory.reallocation import (
    arrays_of_value,
    is_never_before,
    may_reallocate,
    moved_arrays,
)
from asphalt.analysis.memory.storage import storage_of
from asphalt.analysis.names.designators import (
    designator,
    designator_name,
    designators_in,
    symbol_named,
)
from asphalt.analysis.names.host_association import named_inside
from asphalt.analysis.names.scopes import Origin, Scope, Symbol, constant
from asphalt.analysis.symbolic.polynomials import Poly, product
from asphalt.ir.expr import (
    AltReturn,
    Arg,
    Component,
    Expr,
    Keyword,
    Lit,
    Op,
    Ref,
    Section,
)
from asphalt.ir.records import record
from asphalt.ir.stmt import Allocation, Call, Dim
from asphalt.ir.tree import Leaf

if TYPE_CHECKING:
    from asphalt.analysis.memory.forward_substitution import Values

_ONE = Lit("integer", "1")


@record
class Shape:
    """Lower bounds and extents, one a dimension; an assumed-size last extent is None.

    ``stated``: the extents are those that the source states; else they are inquiries (``size(a,
    1)``) whose values are known at run time only.  ``source``: the extents as written, if they can
    be written in the unit itself.
    """

    lower: tuple[Poly, ...]
    extent: tuple[Poly | None, ...]
    stated: bool
    source: tuple[Expr | None, ...] = ()

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.lower)

    def leading(self, number: int) -> Shape:
        """The shape of the first dimensions alone."""
        return Shape(self.lower[:number], self.extent[:number], self.stated, self.source[:number])

    def stride(self, dimension: int) -> Poly:
        """The number of elements between neighbours in a dimension (counted from 0).

        ``stride(rank)`` is the size of the array, if the last extent is known.
        """
        extents = self.extent[:dimension]
        return product(extent for extent in extents if extent is not None)

    def stated_stride(self, dimension: int) -> Expr | None:
        """The stride as a product of extents that the source states; None: it is not such a
        product."""
        factors = self.source[:dimension]
        if len(factors) < dimension or None in factors:
            return None
        result: Expr = _ONE
        for factor in factors:
            assert factor is not None
            result = factor if result == _ONE else Op("*", (result, factor))
        return result


def shape_of(name: str, scope: Scope, values: Values, at: Leaf) -> Shape | None:
    """The shape of an array of the unit at the statement ``at``; None: it is not an array with
    known bounds.

    ``name`` may be the designator of a component (``plan%send``).
    """
    symbol = symbol_named(name, scope)
    if symbol is None or not symbol.dims:
        return None
    if any(dim.kind == "assumed_rank" for dim in symbol.dims):
        return None
    stated = _stated_dims(name, symbol, scope, values, at)
    if stated is not None:
        lower = tuple(values.polynomial(dim.lower or _ONE, at) for dim in stated)
        extent = tuple(_extent(dim, values, at) for dim in stated)
        own = symbol.home is scope
        source = tuple(d.upper if d.lower is None and own else None for d in stated)
        return Shape(lower, extent, True, source)
    return Shape(
        tuple(_lower(symbol, name, d, dim, values, at) for d, dim in enumerate(symbol.dims)),
        tuple(
            None if dim.kind == "assumed_size" else _inquiry("size", symbol, name, d, dim)
            for d, dim in enumerate(symbol.dims)
        ),
        False,
    )


def _extent(dim: Dim, values: Values, at: Leaf) -> Poly | None:
    if dim.upper is None:
        return None
    lower = values.polynomial(dim.lower or _ONE, at)
    return values.polynomial(dim.upper, at) - lower + Poly.constant(1)


def _lower(symbol: Symbol, name: str, dimension: int, dim: Dim, values: Values, at: Leaf) -> Poly:
    """A lower bound: the one that is known, or the inquiry for it."""
    if dim.kind == "assumed_shape" and dim.lower is not None and symbol.origin is Origin.DUMMY:
        here = symbol.home is values.scope and not is_constant(dim.lower, symbol.home)
        if here and _still_holds((dim.lower,), values):
            return values.polynomial(dim.lower, at)
    module = symbol.origin is Origin.MODULE and "%" not in name
    if dim.kind == "deferred" and module and not values.changed_unseen(name):
        known = _always_begins(symbol, dimension, values.scope)
        if known is not None:
            return Poly.constant(known)
    return _inquiry("lbound", symbol, name, dimension, dim)


def _inquiry(function: str, symbol: Symbol, name: str, dimension: int, dim: Dim) -> Poly:
    if function == "lbound" and dim.kind in ("assumed_shape", "assumed_size", "explicit"):
        # stated even where the extent is not; the default is 1
        if dim.lower is None:
            return Poly.constant(1)
        value = constant(dim.lower, symbol.home) if isinstance(symbol.home, Scope) else None
        if value is not None:
            return Poly.constant(value)
    number = Lit("integer", str(dimension + 1))
    return Poly.atom(Ref(function, function, (designator(name), number)))


def _stated_dims(
    name: str,
    symbol: Symbol,
    scope: Scope,
    values: Values,
    at: Leaf,
    kept: frozenset[str] = frozenset(),
) -> tuple[Dim, ...] | None:
    """The dimensions that the source states and that still hold at ``at``.

    ``kept``: allocatables that keep their shape at all assignments before ``at``.
    """
    assert symbol.dims is not None
    if any(dim.kind == "deferred" for dim in symbol.dims):
        return _allocated_dims(name, symbol, scope, values, at, kept)
    if any(dim.kind == "assumed_shape" for dim in symbol.dims):
        return None
    bounds = [b for dim in symbol.dims for b in (dim.lower, dim.upper) if b is not None]
    if all(is_constant(bound, symbol.home) for bound in bounds):
        return constant_dims(symbol.dims, symbol.home, scope)
    if symbol.home is not scope or symbol.origin not in (Origin.DUMMY, Origin.LOCAL):
        return None
    return symbol.dims if _still_holds(bounds, values) else None


def _still_holds(bounds: Sequence[Expr], values: Values) -> bool:
    """Whether bounds, which are evaluated on entry, would have the same values later: nothing
    changes their variables."""
    names = {n for bound in bounds for n in designators_in(bound)}
    return not any(values.written_in_unit(n) for n in names if is_variable(n, values.scope))


def is_variable(name: str, scope: Scope) -> bool:
    """Whether the value of a name, or a designator, may change: it is neither a constant nor an
    intrinsic."""
    symbol = scope.lookup(name)
    return symbol is None or symbol.origin not in (Origin.INTRINSIC, Origin.PARAMETER)


def _allocated_dims(
    name: str, symbol: Symbol, scope: Scope, values: Values, at: Leaf, kept: frozenset[str]
) -> tuple[Dim, ...] | None:
    """The bounds of the only ALLOCATE of an array, if they still hold.

    The array is local, or belongs to a module and nothing else can change its shape.
    """
    root = name.split("%")[0]
    storage = storage_of(name, scope)
    if storage == ALIASED or root in values.renamed:
        return None
    if symbol.origin is Origin.MODULE and name == root:
        if values.changed_unseen(name):
            return None
        fixed = _always_allocated(symbol, scope, values)
        if fixed is not None:
            return fixed
        if not shaped_here_alone(symbol, scope):
            return None
    elif symbol.origin is Origin.MODULE:
        return None if values.changed_unseen(root) else _always_allocated(symbol, scope, values)
    elif symbol.origin is not Origin.LOCAL or symbol.attrs & {"pointer", "save"}:
        return None
    if named_inside(root, scope):
        return None
    writes = values.writes_of(storage)
    found = {id(w.leaf): w.leaf for w in writes}.values()
    changes = {id(leaf): _change(name, leaf, scope) for leaf in found}
    made = [leaf for leaf in found if isinstance(changes[id(leaf)], Allocated | Allocation)]
    if not made and name not in kept:
        return _only_moved(name, tuple(found), scope, values, kept)
    if len(made) != 1 or not values.executed_before(made[0], at):
        return None
    (allocation,) = made
    change = changes[id(allocation)]
    if isinstance(change, Allocated):
        given = (change.bounds, *((change.own,) if change.own is not None else ()))
        kept_bounds = (one for one in given if values.stays_as_left(one, allocation))
        dims = next(map(dims_of, kept_bounds), None)
    else:
        dims = _dims_of_allocation(name, len(symbol.dims or ()), allocation, scope, values)
    if dims is None or name in kept:
        return dims
    removed = [
        leaf
        for leaf in found
        if changes[id(leaf)] is Change.REMOVES
        and not (is_never_before(allocation, leaf, values) and not _may_fail(change))
    ]
    for leaf in found:
        if changes[id(leaf)] is not Change.UNKNOWN:
            continue
        if not any(w.subscripts is None for w in writes if w.leaf is leaf):
            continue
        if not may_reallocate(name, leaf, scope):
            continue
        if moved_arrays(leaf, scope) is not None:
            if not _moves_bounds(leaf, dims, scope, values, kept | {name}):
                return None
            continue
        if is_never_before(allocation, leaf, values) and not _may_fail(change):
            continue
        ordered = values.executed_before(allocation, leaf) and all(
            is_never_before(one, leaf, values) for one in removed
        )
        if not ordered or not _gives_extents(name, leaf, dims, scope, values, kept | {name}):
            return None
    return dims


def _change(name: str, leaf: Leaf, scope: Scope) -> Change | Allocated | Allocation:
    """What a statement that writes an array, or something it is part of, does to its shape."""
    what, action, moved = leaf.what, leaf.action, moved_arrays(leaf, scope)
    if moved is not None and moved[0] == name:
        return Change.REMOVES
    if isinstance(what, Allocation):
        return what if what.kind == "allocate" else Change.REMOVES
    if not isinstance(action, Call):
        return Change.UNKNOWN
    change = shape_change(action, name, scope)
    return change if what is action or isinstance(change, Change) else Change.UNKNOWN


def _may_fail(change: Change | Allocated | Allocation) -> bool:
    """Whether the program goes on where an array is allocated already."""
    if isinstance(change, Allocation):
        return any(option.name == "stat" for option in change.options)
    return not isinstance(change, Allocated) or change.may_fail


def _gives_extents(
    name: str, leaf: Leaf, dims: tuple[Dim, ...], scope: Scope, values: Values, kept: frozenset[str]
) -> bool:
    """Whether a statement that defines a whole allocatable gives it the extents of ``dims``.

    Of several allocatables that are assigned to each other, none is the first to change its shape
    if each has the extents of the others when it is allocated: ``kept`` are those of which that is
    being shown.
    """
    arrays = arrays_of_value(name, leaf, scope)
    if arrays is None:
        return False
    own = tuple(_extent(dim, values, leaf) for dim in dims)
    for other in arrays:
        symbol = symbol_named(other, scope)
        assert symbol is not None
        theirs = _stated_dims(other, symbol, scope, values, leaf, kept)
        if theirs is None or tuple(_extent(dim, values, leaf) for dim in theirs) != own:
            return False
    return None not in own


def _only_moved(
    name: str, found: Sequence[Leaf], scope: Scope, values: Values, kept: frozenset[str]
) -> tuple[Dim, ...] | None:
    """The bounds of an array that gets its allocation from others alone, by MOVE_ALLOC, if these
    have the same bounds; ``found``: what may write it."""
    moves: list[tuple[Leaf, str]] = []
    for leaf in found:
        moved = moved_arrays(leaf, scope)
        if moved is not None and moved[1] == name:
            moves.append((leaf, moved[0]))
        elif moved is None and may_reallocate(name, leaf, scope):
            return None
    if not moves:
        return None
    leaf, other = moves[0]
    symbol = symbol_named(other, scope)
    assert symbol is not None
    dims = _stated_dims(other, symbol, scope, values, leaf, kept | {name})
    if dims is None:
        return None
    more = (_moves_bounds(one, dims, scope, values, kept | {name}) for one, _ in moves[1:])
    return dims if all(more) else None


def _moves_bounds(
    leaf: Leaf, dims: tuple[Dim, ...], scope: Scope, values: Values, kept: frozenset[str]
) -> bool:
    """Whether the array that MOVE_ALLOC takes from has the bounds of ``dims``, as ``kept`` have
    (``_gives_extents``)."""
    moved = moved_arrays(leaf, scope)
    symbol = None if moved is None else symbol_named(moved[0], scope)
    if moved is None or symbol is None:
        return False
    theirs = _stated_dims(moved[0], symbol, scope, values, leaf, kept)
    return theirs is not None and _bounds(theirs, values, leaf) == _bounds(dims, values, leaf)


def _bounds(dims: tuple[Dim, ...], values: Values, at: Leaf) -> list[tuple[Poly, Poly | None]]:
    """The lower bounds and extents."""
    return [(values.polynomial(dim.lower or _ONE, at), _extent(dim, values, at)) for dim in dims]


def _dims_of_allocation(
    name: str, rank: int, allocation: Leaf, scope: Scope, values: Values
) -> tuple[Dim, ...] | None:
    """The bounds that an ALLOCATE gives to an array, if they are values that never change later."""
    assert isinstance(allocation.what, Allocation)
    for item in allocation.what.objects:
        if not isinstance(item, Ref | Component) or designator_name(item) != name:
            continue
        if item.args is None:
            return _dims_of_source(rank, allocation, scope, values)
        dims = tuple(_allocated(arg) for arg in item.args)
        names = {n for arg in item.args for n in designators_in(arg)}
        variables = [n for n in names if is_variable(n, scope)]
        if values.unchanged_until(variables, allocation):
            return tuple(d for d in dims if d is not None) if None not in dims else None
    return None


def _always_allocated(symbol: Symbol, scope: Scope, values: Values) -> tuple[Dim, ...] | None:
    """The bounds of the only ALLOCATE of a module array in the program, where they are constants or
    keep their values from then on."""
    part = "%" in symbol.name
    found = component_allocations(symbol.name, scope) if part else allocations(symbol, scope)
    if found is None or len(found) != 1:
        return None
    (one,) = found
    other = None if one.other is None else _bounds_of(one.other, scope, values)
    return _bounds_of(one, scope, values) or other


def _bounds_of(one: ModuleAllocation, scope: Scope, values: Values) -> tuple[Dim, ...] | None:
    """The bounds that an ALLOCATE gives to an array, if they are the same ever after."""
    dims = tuple(dim for arg in one.bounds if (dim := _allocated(arg)) is not None)
    bounds = [b for dim in dims for b in (dim.lower, dim.upper) if b is not None]
    if not dims or len(dims) != len(one.bounds):
        return None
    if all(is_constant(b, one.scope) for b in bounds):
        return constant_dims(dims, one.scope, scope)
    if not all(is_settled(b, one, scope, values.changed_unseen) for b in bounds):
        return None
    return tuple(
        Dim(dim.kind, with_numbers(dim.lower, one.scope), with_numbers(dim.upper, one.scope))
        for dim in dims
    )


def _always_begins(symbol: Symbol, dimension: int, scope: Scope) -> int | None:
    """The lower bound that every ALLOCATE of a module array gives to a dimension."""
    lowers: set[int | None] = set()
    for one in allocations(symbol, scope) or ():
        dim = _allocated(one.bounds[dimension]) if dimension < len(one.bounds) else None
        if dim is None:
            return None
        lowers.add(1 if dim.lower is None else constant(dim.lower, one.scope))
    return lowers.pop() if len(lowers) == 1 else None


def _dims_of_source(
    rank: int, allocation: Leaf, scope: Scope, values: Values
) -> tuple[Dim, ...] | None:
    """The bounds that ALLOCATE takes from the whole array of SOURCE= or MOLD= (F2018 9.7.1.2), if
    they still hold."""
    assert isinstance(allocation.what, Allocation)
    for option in allocation.what.options:
        if option.name in ("source", "mold") and isinstance(option.value, Ref):
            name = option.value.name
            symbol = symbol_named(name, scope)
            if option.value.args is None and symbol is not None and len(symbol.dims or ()) == rank:
                return _stated_dims(name, symbol, scope, values, allocation)
    return None


def _allocated(arg: Arg) -> Dim | None:
    match arg:
        case Section(lower=lower, upper=upper):
            return Dim("explicit", lower, upper)
        case Keyword() | AltReturn():
            return None
    return Dim("explicit", None, arg)
