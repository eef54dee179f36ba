"""Trip counts as expressions: iterations of loops, elements of arrays."""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.cost.types import (
    REDUCTIONS,
    Surroundings,
    base_of,
    dims_of,
    is_intrinsic_function,
    is_user_function,
    is_valued_as_array,
)
from asphalt.analysis.names.constants import constant
from asphalt.analysis.names.designators import may_be_function
from asphalt.analysis.names.symbol import Origin, Symbol
from asphalt.analysis.symbolic.polynomials import folded_expr, poly
from asphalt.ir.expr import (
    Arg,
    Component,
    Expr,
    Keyword,
    Lit,
    Op,
    Ref,
    Section,
    children,
    names_in,
    walk,
)
from asphalt.ir.records import record
from asphalt.ir.stmt import DoHead

_ONE = Lit("integer", "1")
_WRITTEN_WITH = ("max", "real", "size", "lbound", "ubound")
_HARMLESS = frozenset({"size", "min", "max", "abs", "int", "iand", "lbound", "ubound", "mod"})


@record
class TripCount:
    """A number of executions: ``count``, an integer expression, or none if that is negative or less
    than ``least``."""

    count: Expr
    least: int = 0

    @property
    def value(self) -> int | None:
        """The number if it is constant."""
        known = poly(self.count).value
        return None if known is None else self.of(known)

    def of(self, count: int) -> int:
        """The number for a value of ``count``."""
        return count if count >= max(0, self.least) else 0

    @property
    def names(self) -> frozenset[str]:
        """The names that it depends on; ``name()`` if it depends on a shape only."""
        return frozenset(_dependences(self.count))


def _dependences(expr: Arg) -> Iterator[str]:
    match expr:
        case Ref(name="size" | "lbound" | "ubound", args=(array, *rest)):
            yield from (f"{name}()" for name in names_in(array))
            for arg in rest:
                yield from _dependences(arg)
        case Ref(name=name):
            yield name
    if not (isinstance(expr, Ref) and expr.name in ("size", "lbound", "ubound")):
        for part in children(expr):
            yield from _dependences(part)


def loop_trips(head: DoHead, around: Surroundings) -> TripCount | None:
    """The number of iterations of a counted loop (F2018 11.1.7.4.3).

    None: it is not one, or its bounds are not integers.
    """
    if head.kind != "count" or head.first is None or head.last is None:
        return None
    bounds = (head.first, head.last, *(() if head.step is None else (head.step,)))
    if any(base_of(bound, around) != "integer" for bound in bounds):
        return None
    return triplet_trips(head.first, head.last, head.step, around)


def triplet_trips(first: Expr, last: Expr, step: Expr | None, around: Surroundings) -> TripCount:
    """The number of values first, first + step ... up to last."""
    size = 1 if step is None else constant(step, around.scope)
    if size == 1:
        return TripCount(_simple(Op("+", (Op("-", (last, Op("()", (first,)))), _ONE))))
    if size == -1:
        return TripCount(_simple(Op("+", (Op("-", (first, Op("()", (last,)))), _ONE))))
    assert step is not None
    way = _simple(Op("-", (last, Op("()", (first,)))))
    return TripCount(Op("/", (_simple(Op("+", (way, Op("()", (step,))))), parenthesised(step))))


def extents(expr: Arg, around: Surroundings) -> tuple[TripCount, ...] | None:
    """The extents of an array expression, or one for its whole size; None: unknown.

    () for a scalar.
    """
    if not is_valued_as_array(expr, around):
        return ()
    match expr:
        case Keyword(value=value):
            return extents(value, around)
        case Ref(name=name, args=None) if name in around.selectors:
            return extents(around.selectors[name], around)
        case Ref(args=None) | Component(args=None):
            return (TripCount(Ref("size", "size", (expr,))),)
        case Ref(name=name, args=tuple(args)) if is_intrinsic_function(expr, around):
            return _function_extents(name, args, around)
        case Ref(args=tuple(args)) | Component(args=tuple(args)):
            return _section_extents(expr, args, around)
        case Op(operands=operands):
            candidates = [
                extents(operand, around)
                for operand in operands
                if is_valued_as_array(operand, around)
            ]
            return next((found for found in candidates if found is not None), None)
    return None


def _function_extents(
    name: str, args: tuple[Arg, ...], around: Surroundings
) -> tuple[TripCount, ...] | None:
    if name == "matmul" and len(args) == 2:
        left, right = extents(args[0], around), extents(args[1], around)
        if left is None or right is None or len(left) != len(right):
            return None
        return None
    if name in REDUCTIONS or name in ("transpose", "reshape", "pack"):
        return extents(args[0], around)
    if name in ("spread", "unpack", "shape"):
        return None
    candidates = [extents(arg, around) for arg in args if is_valued_as_array(arg, around)]
    return next((found for found in candidates if found is not None), None)


def _section_extents(
    expr: Ref | Component, args: tuple[Arg, ...], around: Surroundings
) -> tuple[TripCount, ...] | None:
    bare: Expr
    match expr:
        case Ref(name=name, spelled=spelled):
            bare = Ref(name, spelled)
        case Component(base=base, name=name, spelled=spelled):
            bare = Component(base, name, spelled)
            if is_valued_as_array(base, around):
                return extents(base, around)
    found: list[TripCount] = []
    dims = dims_of(expr, around)
    for number, arg in enumerate(args):
        if not isinstance(arg, Section):
            inner = extents(arg, around)
            if inner is None:
                return None
            found += inner
            continue
        dim = dims[number] if dims is not None and number < len(dims) else None
        place = Lit("integer", str(number + 1))
        if arg.lower is None and arg.upper is None and arg.stride is None:
            if dim is not None and dim.kind == "assumed_size":
                return None
            found.append(TripCount(Ref("size", "size", (bare, place))))
            continue
        ends = (_end("lbound", bare, place, dim), _end("ubound", bare, place, dim))
        back = arg.stride is not None and (constant(arg.stride, around.scope) or 0) < 0
        first, last = (ends[1], ends[0]) if back else ends
        lower = arg.lower or first
        upper = arg.upper or last
        if lower is None or upper is None:
            return None
        found.append(triplet_trips(lower, upper, arg.stride, around))
    return tuple(found)


def _end(function: str, bare: Expr, place: Expr, dim: object) -> Expr | None:
    kind = getattr(dim, "kind", None)
    if function == "ubound" and kind == "assumed_size":
        return None
    if function == "lbound" and kind in ("explicit", "assumed_shape", "assumed_size"):
        lower = getattr(dim, "lower", None)
        if lower is None:
            return _ONE
    return Ref(function, function, (bare, place))


def is_harmless(trips: TripCount, around: Surroundings) -> bool:
    """Whether it may be computed where the program does not compute it: nothing in it can fail."""
    return all(_cannot_fail(part, around) for part in walk(trips.count))


def is_repeatable(trips: TripCount, around: Surroundings) -> bool:
    """Whether computing it again has no effect: it references no function of the program."""
    return not any(
        is_user_function(part, around)
        or not isinstance(part, Lit | Ref | Component | Op | Section)
        or (isinstance(part, Component) and may_be_function(part, around.scope))
        for part in walk(trips.count)
    )


def _cannot_fail(part: Arg, around: Surroundings) -> bool:
    match part:
        case Lit():
            return True
        case Ref(name=name, args=None):
            symbol = around.symbol(name)
            return symbol is not None and "optional" not in symbol.attrs
        case Ref(name="mod", args=(_, Lit())):
            return True
        case Ref(name=name, args=tuple()):
            return name in _HARMLESS and name != "mod" and is_intrinsic_function(part, around)
        case Op(op="/", operands=(_, Lit() as divisor)):
            return divisor.integer != 0
        case Op(op="/", operands=(_, Ref(args=None) as divisor)):
            return bool(constant(divisor, around.scope))
        case Op(op=op):
            return op in ("+", "-", "*", "()")
    return False


def as_expression(trips: tuple[TripCount, ...]) -> Iterator[Expr]:
    """The factors as expressions of type ``real(8)``."""
    for one in trips:
        known = one.value
        if known is not None:
            yield Lit("real", f"{known}.0_8")
            continue
        if one.least > 0:
            number = _as_real(one.count)
            more = Op("-", (number, Lit("real", f"{one.least}.0_8")))
            yield _not_negative(Ref("sign", "sign", (number, more)))
        else:
            yield _real(one.count)


def _as_real(count: Expr) -> Expr:
    """A product, factor by factor, so that it cannot overflow."""
    if isinstance(count, Op) and count.op == "*":
        return Op("*", tuple(_as_real(factor) for factor in count.operands))
    return _real(count)


def _real(count: Expr) -> Expr:
    number = Ref("real", "real", (count, Lit("integer", "8")))
    return number if isinstance(count, Ref) and count.name == "size" else _not_negative(number)


def _not_negative(number: Expr) -> Expr:
    return Ref("max", "max", (Lit("real", "0.0_8"), number))


def product(trips: tuple[TripCount, ...], least: int) -> TripCount:
    """The trip count of nested loops, none if it is less than ``least``."""
    first, *others = (one.count for one in trips)
    for other in others:
        first = Op("*", (parenthesised(first), parenthesised(other)))
    return TripCount(first, least)


def _simple(expr: Expr) -> Expr:
    return poly(expr).expression()


def parenthesised(expr: Expr) -> Expr:
    """An expression as an operand: in parentheses unless it is a literal or a reference."""
    return expr if isinstance(expr, Lit | Ref) else Op("()", (expr,))


def usable(around: Surroundings, names: tuple[str, ...] = _WRITTEN_WITH) -> bool:
    """Whether the intrinsic functions of trip counts have their usual meaning here."""
    for name in names:
        symbol = around.scope.resolve(name)
        hidden = isinstance(symbol, Symbol) and symbol.origin is not Origin.INTRINSIC
        if hidden or name in around.scope.shadowed:
            return False
    return True


__all__ = [
    "TripCount",
    "as_expression",
    "extents",
    "folded_expr",
    "is_harmless",
    "is_repeatable",
    "loop_trips",
    "parenthesised",
    "product",
    "triplet_trips",
    "usable",
]
