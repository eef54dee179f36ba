"""The operations of expressions and assignments, each with the loop that repeats it.

What does not change in a loop is counted outside of it, as compilers move it there; affine
subscripts cost nothing (they become increments of addresses); an element that was just read or
written is not read again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from asphalt.analysis.algebra import folded, folded_expr, poly
from asphalt.analysis.constants import constant
from asphalt.analysis.costs import FAMILY, Counts, total
from asphalt.analysis.costs_trips import Trips, extents
from asphalt.analysis.costs_types import (
    REDUCTIONS,
    SCALAR_RESULT,
    Surroundings,
    base_of,
    is_array,
    is_intrinsic_function,
    is_user_function,
    is_valued_as_array,
    wider,
)
from asphalt.analysis.intrinsics import is_inquiry
from asphalt.ir.expr import (
    Arg,
    Component,
    Expr,
    Keyword,
    Lit,
    Op,
    OpaqueExpr,
    Ref,
    Section,
    children,
    names_in,
)

_RELATIONS = frozenset({"==", "/=", "<", "<=", ">", ">="})
_LOGICAL = frozenset({".and.", ".or.", ".not.", ".eqv.", ".neqv."})
_CHEAP = frozenset({"abs", "iabs", "dabs", "conjg", "aimag", "dimag", "transfer", "present"})


@dataclass(frozen=True, slots=True)
class LoopAround:
    """A loop around a statement: its variable ('' for none) and all names that change in it."""

    variable: str
    varying: frozenset[str]


@dataclass(frozen=True, slots=True)
class Piece:
    """Operations that are done ``trips`` times for each turn of the loop number ``level`` (0:
    outside of all loops)."""

    level: int
    counts: Counts
    trips: tuple[Trips, ...] = ()


@dataclass
class Counter:
    """Counts operations below some loops.

    ``floor``: what is invariant is not moved out of the loops up to this number.  ``unknown``: what
    could not be counted.
    """

    around: Surroundings
    loops: tuple[LoopAround, ...]
    floor: int = 0
    pieces: list[Piece] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    _available: set[Arg] = field(default_factory=set)
    _elements: tuple[tuple[Trips, ...], ...] = ()

    @property
    def depth(self) -> int:
        """The number of the innermost loop."""
        return len(self.loops) + len(self._elements)

    def add(self, level: int, **counts: float) -> None:
        """Notes operations that change with the loop number ``level``."""
        self._note(level, Counts.of(**counts))

    def _note(self, level: int, counts: Counts) -> None:
        if not counts:
            return
        level = max(level, self.floor)
        if level <= len(self.loops):
            self.pieces.append(Piece(level, counts))
            return
        inner = self._elements[: level - len(self.loops)]
        self.pieces.append(Piece(len(self.loops), counts, tuple(t for ts in inner for t in ts)))

    def forget(self) -> None:
        """Control comes together: which elements are in registers is not known."""
        self._available.clear()

    def changed(self, name: str) -> None:
        """A variable has another value now."""
        self._available = {known for known in self._available if name not in names_in(known)}

    # statements

    def assign(self, target: Expr, value: Expr) -> None:
        """An assignment."""
        if is_valued_as_array(target, self.around):
            self._array_assign(target, value)
            return
        level = self.value(value)
        self._converted(value, base_of(target, self.around), level)
        self._store(target)

    def _array_assign(self, target: Expr, value: Expr) -> None:
        own = None if self._may_be_allocated(target) else extents(target, self.around)
        sizes = own if own is not None else extents(value, self.around) or None
        if sizes is None:
            self.unknown.append("an array statement whose extents cannot be told")
            return
        opaque = isinstance(value, OpaqueExpr)
        self._elements = (*self._elements, sizes)
        level = self.value(value)
        self._converted(value, base_of(target, self.around), level)
        if opaque:
            self.unknown.append("what the elements of an array constructor cost")
        self._note(self.depth, self._reference(target, "store", self.depth))
        self._note(self.depth, Counts.of(loop=1))
        self._elements = self._elements[:-1]
        self.add(len(self.loops), loop_entry=1)
        for name in names_in(target):
            self.changed(name)

    def _may_be_allocated(self, target: Expr) -> bool:
        """Whether the assignment may give the target another shape (F2018 10.2.1.3)."""
        if not isinstance(target, Ref) or target.args is not None:
            return isinstance(target, Component) and target.args is None
        symbol = self.around.symbol(target.name)
        return symbol is None or "allocatable" in symbol.attrs

    def _store(self, target: Expr) -> None:
        if isinstance(target, Ref | Component) and _listed(target):
            level = self._subscripts(target)
            self._note(level, self._reference(target, "store", level))
            for name in _roots(target):
                self.changed(name)
            self._available.add(folded(target))
        else:
            for name in _roots(target):
                self.changed(name)

    def condition(self, expr: Expr, ends: bool = False) -> None:
        """A decision; ``ends``: one that ends a loop, so that it is another one once alone."""
        level = self.value(expr)
        on_data = not ends and level == self.depth and self._is_on_data(expr)
        if on_data:
            self.add(level, branch_on_data=1)
        else:
            self.add(level, branch=1)

    def _is_on_data(self, expr: Arg) -> bool:
        """Whether a comparison of values from arrays decides."""
        if isinstance(expr, Op) and expr.op in _RELATIONS:
            bases = [base_of(operand, self.around) for operand in expr.operands]
            return wider(tuple(bases)) == "real" and any(
                self._holds_element(operand) for operand in expr.operands
            )
        return any(self._is_on_data(child) for child in children(expr))

    def _holds_element(self, expr: Arg) -> bool:
        if isinstance(expr, Ref | Component) and _listed(expr):
            return is_array(expr, self.around) and self._level_of(names_in(expr)) > 0
        return any(self._holds_element(child) for child in children(expr))

    # expressions

    def value(self, expr: Arg) -> int:
        """Counts an expression; the number of the innermost loop that it changes in."""
        match expr:
            case Lit() | OpaqueExpr():
                return 0
            case Keyword(value=inner):
                return self.value(inner)
            case Section():
                return max((self.value(part) for part in children(expr)), default=0)
            case Ref(args=None) | Component(args=None):
                return self._whole(expr)
            case Ref(name=name, args=tuple(args)) if is_intrinsic_function(expr, self.around):
                return self._intrinsic(name, args)
            case Ref() | Component() if is_user_function(expr, self.around):
                for arg in expr.args or ():
                    self.value(arg)
                self.add(self.depth, call=1)
                return self.depth
            case Ref() | Component():
                return self._element(expr)
            case Op(op="()", operands=(inner,)):
                return self.value(inner)
            case Op(op="**", operands=(a, b)):
                return self._power(a, b)
            case Op():
                return self._operation(expr)
        return 0

    def _level_of(self, names: Iterable[str]) -> int:
        wanted = frozenset(names)
        for number in range(len(self.loops), 0, -1):
            if wanted & self.loops[number - 1].varying:
                return number
        return 0

    def _whole(self, expr: Ref | Component) -> int:
        if isinstance(expr, Ref) and expr.name in self.around.selectors:
            return self.value(self.around.selectors[expr.name])
        if self._elements and is_valued_as_array(expr, self.around):
            self.add(self.depth, load=1)
            return self.depth
        return self._level_of(names_in(expr))

    def _element(self, expr: Ref | Component) -> int:
        if not is_array(expr, self.around):
            return max((self.value(arg) for arg in expr.args or ()), default=0)
        if is_valued_as_array(expr, self.around):
            self._subscripts(expr)
            self._note(self.depth, self._reference(expr, "load", self.depth))
            return self.depth
        level = max(self._subscripts(expr), self._level_of(_roots(expr)))
        key = folded(expr)
        if key not in self._available:
            self._available.add(key)
            self._note(level, self._reference(expr, "load", level))
        return level

    def _subscripts(self, expr: Ref | Component) -> int:
        level = self._subscripts(expr.base) if _inner(expr) else 0  # type: ignore[union-attr,arg-type]
        return max((level, *(self._subscript(arg) for arg in expr.args or ())))

    def _subscript(self, arg: Arg) -> int:
        """Counts what does not become an increment of an address."""
        match arg:
            case Section():
                return max((self._subscript(part) for part in children(arg)), default=0)
            case Op(op="+" | "-" | "()", operands=operands):
                return max(self._subscript(operand) for operand in operands)
            case Op(op="*", operands=(a, b)):
                one, other = self._subscript(a), self._subscript(b)
                if one == other and one > 0:
                    self.add(one, integer=1)
                return max(one, other)
        return self.value(arg)

    def _reference(self, expr: Expr, kind: str, level: int) -> Counts:
        """A load or store by the distance between two turns of the loop that it changes in."""
        number = 2 if base_of(expr, self.around) == "complex" else 1
        args = expr.args if isinstance(expr, Ref | Component) else None
        if args is None:
            return Counts.from_mapping({kind: number})
        if level > len(self.loops):  # by elements
            near = isinstance(args[0], Section) and args[0].stride is None
            return Counts.from_mapping({kind if near else f"{kind}_far": number})
        if level == 0:
            return Counts.from_mapping({kind: number})
        loop = self.loops[level - 1]
        others = loop.varying - {loop.variable}
        if any(names_in(arg) & others or self._holds_element(arg) for arg in args):
            return Counts.from_mapping({f"{kind}_indexed": number})
        variable = Ref(loop.variable, loop.variable)
        if any(loop.variable in names_in(arg) for arg in args[1:]):
            return Counts.from_mapping({f"{kind}_far": number})
        first = args[0]
        if isinstance(first, Section | Keyword):
            return Counts.from_mapping({kind: number})
        steps = poly(first).coefficients(variable)  # type: ignore[arg-type]
        coefficient = steps[1].value if set(steps) <= {0, 1} and 1 in steps else None
        near = coefficient in (1, -1) and not _inner(expr)
        return Counts.from_mapping({kind if near else f"{kind}_far": number})

    def _operation(self, expr: Op) -> int:
        levels = [self.value(operand) for operand in expr.operands]
        level = max(levels)
        bases = [base_of(operand, self.around) for operand in expr.operands]
        base = wider(tuple(bases))
        if expr.op in _LOGICAL:
            self.add(level, integer=1)
            return level
        if expr.op == "//":
            self.add(level, integer=2)
            return level
        for operand, own, its in zip(expr.operands, bases, levels, strict=True):
            if own == "integer" and base in ("real", "complex") and not self._is_constant(operand):
                self.add(its, convert=1)
        self._note(level, self._operator(expr, base, bases))
        return level

    def _operator(self, expr: Op, base: str, bases: list[str]) -> Counts:
        op = expr.op
        if base in ("integer", "logical"):
            return self._integer_operator(expr)
        double = base == "complex"
        both = double and all(b == "complex" for b in bases)
        if op in _RELATIONS:
            return Counts.of(add=2 if double else 1)
        if op in ("+", "-"):
            return Counts.of(add=2 if both or (double and len(bases) == 1) else 1)
        if op == "*":
            return Counts.of(multiply=4, add=2) if both else Counts.of(multiply=2 if double else 1)
        if op == "/":
            if self._is_constant(expr.operands[-1]) and self._is_power_of_two(expr.operands[-1]):
                return Counts.of(multiply=2 if double else 1)
            if bases[-1] == "complex":
                return Counts.of(divide=3, multiply=3, add=3)
            return Counts.of(divide=2 if double else 1)
        return Counts.of(call=1)  # a defined operator

    def _integer_operator(self, expr: Op) -> Counts:
        if expr.op != "/":
            return Counts.of(integer=1)
        known = constant(expr.operands[-1], self.around.scope)
        if known is None:
            return Counts.of(integer_divide=1)
        return Counts.of(integer=2 if self._is_power_of_two(expr.operands[-1]) else 4)

    def _is_constant(self, expr: Expr) -> bool:
        if isinstance(expr, Lit):
            return True
        if isinstance(expr, Op):
            return all(self._is_constant(operand) for operand in expr.operands)
        symbol = self.around.symbol(expr.name) if isinstance(expr, Ref) and not expr.args else None
        return symbol is not None and symbol.is_parameter

    def _is_power_of_two(self, expr: Expr) -> bool:
        number = constant(expr, self.around.scope)
        if number is None and isinstance(expr, Lit) and expr.kind == "real":
            text = expr.text.lower().split("_")[0].replace("d", "e")
            try:
                value = float(text)
            except ValueError:
                return False
            number = int(value) if value == int(value) else None
        return number is not None and number > 0 and number & (number - 1) == 0

    def _power(self, a: Expr, b: Expr) -> int:
        level = max(self.value(a), self.value(b))
        base, exponent = base_of(a, self.around), base_of(b, self.around)
        times = 4 if base == "complex" else 1
        if exponent != "integer":
            self.add(level, power=times)
            return level
        known = constant(b, self.around.scope)
        if known is None:
            if constant(a, self.around.scope) == -1:
                self.add(level, integer=3)
            elif base == "integer":
                self.add(level, integer=12)
            else:
                self.add(level, multiply=6 * times, integer=8)
            return level
        size = abs(known)
        products = max(0, size.bit_length() - 1 + size.bit_count() - 1)
        if base == "integer":
            self.add(level, integer=products)
        else:
            self.add(level, multiply=products * times, divide=1 if known < 0 else 0)
        return level

    def _intrinsic(self, name: str, args: tuple[Arg, ...]) -> int:
        if is_inquiry(name) or name in ("present", "associated", "allocated"):
            return self._level_of(names_in(Ref(name, name, args)) - {name})
        if name == "matmul":
            return self._matmul(args)
        if (name in REDUCTIONS or name in SCALAR_RESULT) and args:
            return self._reduction(name, args)
        levels = [self.value(arg) for arg in args]
        level = max(levels, default=0)
        base = base_of(Ref(name, name, args), self.around)
        given = wider(tuple(base_of(arg, self.around) for arg in args)) if args else base
        self._note(level, _function(name, base, given, self._all_constant(args), len(args)))
        return level

    def _all_constant(self, args: tuple[Arg, ...]) -> bool:
        return len(args) > 1 and constant(args[1], self.around.scope) is not None

    def _reduction(self, name: str, args: tuple[Arg, ...]) -> int:
        sizes = extents(args[0], self.around)
        outer = self.depth if self._elements else self._level_of(names_in(args[0]))
        if not sizes:
            self.unknown.append(f"{name}: the extents of its argument cannot be told")
            return outer
        kept, self._elements = self._elements, (sizes,)
        arrays = args[:2] if name in ("dot_product", "merge") else args[:1]
        for arg in arrays:
            self.value(arg)
        real = base_of(args[0], self.around) in ("real", "complex")
        if name == "dot_product" or name == "norm2":
            self.add(self.depth, multiply=1, add=1, loop=1)
        elif name == "product":
            self._note(self.depth, Counts.of(multiply=1, loop=1) if real else Counts.of(integer=1))
        else:
            self._note(self.depth, Counts.of(add=1, loop=1) if real else Counts.of(integer=1))
        self._elements = kept
        self.add(len(self.loops), loop_entry=1)
        return outer

    def _matmul(self, args: tuple[Arg, ...]) -> int:
        left, right = extents(args[0], self.around), extents(args[1], self.around)
        columns: tuple[Trips, ...] | None = None
        match args[1]:
            case Ref(args=None) as matrix:
                symbol = self.around.symbol(matrix.name)
                rank = len(symbol.dims) if symbol is not None and symbol.dims is not None else 0
                two = Lit("integer", "2")
                columns = (Trips(Ref("size", "size", (matrix, two))),) if rank == 2 else ()
            case _ if right is not None:
                columns = right[1:]
        if not left or columns is None:
            self.unknown.append("matmul: the extents of its arguments cannot be told")
            return self.depth
        kept, self._elements = self._elements, ((*left, *columns),)
        self._note(self.depth, Counts.of(multiply=1, add=1, load=2, loop=0.25))
        self._elements = kept
        return self.depth

    def _converted(self, value: Expr, base: str, level: int) -> None:
        own = base_of(value, self.around)
        kinds = {own, base}
        if "integer" in kinds and kinds & {"real", "complex"} and not self._is_constant(value):
            self.add(level, convert=1)


def _function(name: str, base: str, given: str, constant_divisor: bool, number: int) -> Counts:
    """What an intrinsic function costs beside its arguments."""
    double = given == "complex" or base == "complex"
    if name in FAMILY:
        return Counts.from_mapping({FAMILY[name]: 2 if double else 1})
    if name in ("sqrt", "dsqrt", "csqrt", "cdsqrt", "zsqrt"):
        return Counts.of(sqrt=3, add=3) if double else Counts.of(sqrt=1)
    if name in ("abs", "cabs", "cdabs", "zabs") and given == "complex":
        return Counts.of(sqrt=1, multiply=2, add=1)
    if name in ("mod", "modulo", "amod", "dmod"):
        if base == "integer":
            return Counts.of(integer=5) if constant_divisor else Counts.of(integer_divide=1)
        return Counts.of(divide=1, multiply=1, add=2)
    if name in ("max", "min", "merge", "dim", "sign", "amax1", "amin1", "dmax1", "dmin1"):
        each = max(1, number - 1)
        return Counts.of(integer=each) if base == "integer" else Counts.of(add=each)
    if name in ("real", "dble", "float", "cmplx", "dcmplx", "dfloat", "sngl"):
        return Counts.of(convert=1) if given == "integer" else Counts()
    if name in ("int", "nint", "floor", "ceiling", "idint", "ifix", "aint", "anint", "idnint"):
        return Counts.of(convert=1) if given == "real" else Counts()
    if name in _CHEAP:
        return Counts()
    return Counts.of(integer=1) if base in ("integer", "logical") else Counts.of(add=1)


def _listed(expr: Expr) -> bool:
    match expr:
        case Ref(args=tuple()):
            return True
        case Component(base=base, args=args):
            return args is not None or _listed(base)
    return False


def _inner(expr: Expr) -> bool:
    """Whether an element stands before the last component."""
    return isinstance(expr, Component) and _listed(expr.base)


def _roots(expr: Arg) -> frozenset[str]:
    """The name of the variable that a designator is a part of."""
    while isinstance(expr, Component):
        expr = expr.base
    return frozenset({expr.name}) if isinstance(expr, Ref) else frozenset()


__all__ = ["Counter", "LoopAround", "Piece", "folded_expr", "total"]
