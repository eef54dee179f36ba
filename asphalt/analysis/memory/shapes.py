"""The shapes of arrays as polynomials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from asphalt.analysis.memory.accesses import NameKind
from asphalt.analysis.memory.module_arrays import shaped_here_alone
from asphalt.analysis.memory.storage import name_kind, storage_of
from asphalt.analysis.names.constants import is_size
from asphalt.analysis.names.designators import designator, designator_name, symbol_named
from asphalt.analysis.names.host_association import named_inside
from asphalt.analysis.names.resolve import procedure_named
from asphalt.analysis.names.scopes import Origin, Scope, Symbol, constant
from asphalt.analysis.names.symbol import NameLookup
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
    argument_value,
    names_in,
    walk,
)
from asphalt.ir.stmt import IO, Allocation, Assign, Call, Dim, Guarded, UnitHead
from asphalt.ir.tree import Leaf

if TYPE_CHECKING:
    from asphalt.analysis.memory.forward_substitution import Values

_ONE = Lit("integer", "1")
_ELEMENTAL = frozenset(
    {"abs", "aimag", "ceiling", "cmplx", "cos", "dble", "dim", "epsilon", "exp", "floor", "huge",
     "int", "max", "min", "mod", "modulo", "nint", "real", "sign", "sin", "size", "sqrt", "tiny"}
)  # fmt: skip
_ARRAYS = frozenset({"coshape", "shape", "spread", "transfer"})
_BOUNDS = frozenset({"lbound", "lcobound", "ubound", "ucobound"})


@dataclass(frozen=True, slots=True)
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
        tuple(_inquiry("lbound", symbol, name, d, dim) for d, dim in enumerate(symbol.dims)),
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
    name: str, symbol: Symbol, scope: Scope, values: Values, at: Leaf
) -> tuple[Dim, ...] | None:
    """The dimensions that the source states and that still hold at ``at``."""
    assert symbol.dims is not None
    if any(dim.kind == "deferred" for dim in symbol.dims):
        return _allocated_dims(name, symbol, scope, values, at)
    if any(dim.kind == "assumed_shape" for dim in symbol.dims):
        return None
    bounds = [b for dim in symbol.dims for b in (dim.lower, dim.upper) if b is not None]
    if all(_is_constant(bound, symbol) for bound in bounds):
        if symbol.home is scope or all(means_the_same(b, symbol.home, scope) for b in bounds):
            return symbol.dims
        return _evaluated(symbol.dims, symbol.home)
    if symbol.home is not scope or symbol.origin not in (Origin.DUMMY, Origin.LOCAL):
        return None
    # evaluated on entry: the same later only if nothing changes them
    names = {n for bound in bounds for n in names_in(bound)}
    if any(values.written_in_unit(n) for n in names if is_variable(n, scope)):
        return None
    return symbol.dims


def is_variable(name: str, scope: Scope) -> bool:
    """Whether the value of a name may change: it is neither a constant nor an intrinsic."""
    symbol = scope.lookup(name)
    return symbol is None or symbol.origin not in (Origin.INTRINSIC, Origin.PARAMETER)


def _is_constant(bound: Expr, symbol: Symbol) -> bool:
    home = symbol.home
    if not isinstance(home, Scope):
        return False
    parts = [part for part in walk(bound) if isinstance(part, Ref)]
    return constant(bound, home) is not None or all(is_size(part, home) for part in parts)


def means_the_same(expr: Expr, home: NameLookup | None, scope: Scope) -> bool:
    """Whether the named constants of an expression of ``home`` have the same names in ``scope``.

    Asked where values of sizes do not matter; otherwise they are evaluated.
    """
    if home is None or not scope.any_sizes:
        return False
    pairs = [(home.lookup(name), scope.lookup(name)) for name in names_in(expr)]
    return all(
        there is not None
        and here is not None
        and (there.name, there.owner, there.origin) == (here.name, here.owner, Origin.PARAMETER)
        for there, here in pairs
    )


def _evaluated(dims: tuple[Dim, ...], home: NameLookup | None) -> tuple[Dim, ...] | None:
    """Dimensions with numbers for constant bounds; None: some are unknown."""
    assert isinstance(home, Scope)
    bounds = [b for dim in dims for b in (dim.lower, dim.upper) if b is not None]
    if any(constant(bound, home) is None for bound in bounds):
        return None

    def literal(bound: Expr | None) -> Expr | None:
        return None if bound is None else Lit("integer", str(constant(bound, home)))

    return tuple(Dim(dim.kind, literal(dim.lower), literal(dim.upper)) for dim in dims)


def _allocated_dims(
    name: str, symbol: Symbol, scope: Scope, values: Values, at: Leaf
) -> tuple[Dim, ...] | None:
    """The bounds of the only ALLOCATE of an array, if they still hold.

    The array is local, or belongs to a module and nothing else can change its shape.
    """
    root = name.split("%")[0]
    storage = name
    if symbol.origin is Origin.MODULE and name == root:
        if values.changed_unseen(name) or not shaped_here_alone(symbol, scope):
            return None
        storage = storage_of(name, scope)
    elif symbol.origin is not Origin.LOCAL or symbol.attrs & {"pointer", "save"}:
        return None
    if named_inside(root, scope):
        return None
    writes = values.writes_of(storage)
    allocations = []
    for leaf in {id(w.leaf): w.leaf for w in writes}.values():
        if isinstance(leaf.what, Allocation):
            if leaf.what.kind == "allocate":
                allocations.append(leaf)
        elif any(w.subscripts is None for w in writes if w.leaf is leaf) and (
            name != root or _may_reallocate(name, leaf, scope)
        ):
            return None
    if len(allocations) != 1:
        return None
    allocation = allocations[0]
    assert isinstance(allocation.what, Allocation)
    if not values.executed_before(allocation, at):
        return None
    for item in allocation.what.objects:
        if not isinstance(item, Ref | Component) or designator_name(item) != name:
            continue
        if item.args is None:
            return _dims_of_source(len(symbol.dims or ()), allocation, scope, values)
        dims = tuple(_allocated(arg) for arg in item.args)
        names = {n for arg in item.args for n in names_in(arg)}
        variables = [n for n in names if is_variable(n, scope)]
        if values.unchanged_until(variables, allocation):
            return tuple(d for d in dims if d is not None) if None not in dims else None
    return None


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


def is_scalar(expr: Arg, scope: Scope) -> bool:
    """Whether an expression certainly has rank 0."""
    match expr:
        case Lit():
            return True
        case Op(operands=operands):
            return all(is_scalar(operand, scope) for operand in operands)
        case Ref(name=name, args=args):
            symbol = scope.lookup(name)
            if symbol is None or (args is None and symbol.dims is not None):
                return False
            kind = name_kind(name, args is not None, scope)
            if kind not in (NameKind.VARIABLE, NameKind.CONSTANT) and name not in _ELEMENTAL:
                return False
            return all(is_scalar(arg, scope) for arg in args or ())
    return False


def gives_array(expr: Arg, scope: Scope) -> bool:
    """Whether an expression references a function whose result may be an array although no argument
    is.

    The result of a function without an explicit interface is a scalar (F2018 15.4.2.2).
    """
    if not isinstance(expr, Ref) or expr.args is None:
        return False
    match name_kind(expr.name, True, scope):
        case NameKind.VARIABLE | NameKind.CONSTANT:
            return False
        case NameKind.INQUIRY | NameKind.PURE_FUNCTION:
            given = [a for a in expr.args if not (isinstance(a, Keyword) and a.name == "kind")]
            return expr.name in _ARRAYS or (expr.name in _BOUNDS and len(given) == 1)
    symbol = scope.lookup(expr.name)
    if symbol is None:
        return True
    located = procedure_named(Ref(expr.name, expr.spelled), scope)
    head = None if located is None else located.unit.head
    if located is None or head is None or not isinstance(head.what, UnitHead):
        implicit = symbol.origin is Origin.LOCAL or "external" in symbol.attrs
        return not implicit or "procedure" in symbol.attrs
    result = scope.scopes.of(located).lookup(head.what.result or located.unit.name)
    return result is None or result.dims is not None


def _may_reallocate(array: str, leaf: Leaf, scope: Scope) -> bool:
    """Whether a statement that defines a whole allocatable may change its bounds.

    Intrinsic assignment of an array may (F2018 10.2.1.3), and so may a procedure with an
    allocatable dummy; MPI procedures have none.
    """
    what = leaf.what
    if isinstance(what, Guarded):
        what = what.action
    match what:
        case Assign(value=value) if is_scalar(value, scope):
            return False
        case Call(args=args) if not any(_is_whole(arg, array) for arg in args):
            return False  # an element or a section is not allocatable
        case Call(procedure=Ref(name=name) as procedure):
            symbol = scope.lookup(name)
            if symbol is not None and symbol.origin is Origin.MPI:
                return False
            located = procedure_named(procedure, scope)
            head = None if located is None else located.unit.head
            if located is None or head is None or not isinstance(head.what, UnitHead):
                return True
            callee = scope.scopes.of(located)
            dummies = [callee.lookup(dummy) for dummy in head.what.args]
            return any(d is None or "allocatable" in d.attrs for d in dummies)
        case IO():
            return False
    return True


def _is_whole(arg: Arg, array: str) -> bool:
    """Whether an argument is, or may be, a whole array."""
    value = argument_value(arg)
    if isinstance(value, Ref) and value.name == array:
        return value.args is None
    return array in names_in(value) and not isinstance(value, Ref)


def _allocated(arg: Arg) -> Dim | None:
    match arg:
        case Section(lower=lower, upper=upper):
            return Dim("explicit", lower, upper)
        case Keyword() | AltReturn():
            return None
    return Dim("explicit", None, arg)
