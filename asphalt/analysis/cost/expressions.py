"""The operations of expressions and assignments, each with the loop that repeats it.

Invariant expressions count outside of the loop, where compilers move them; affine subscripts cost
nothing (they become increments of addresses); an element that was just read or written is in a
register.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from asphalt.analysis.cost.arrays import assign_array, matmul, reduction
from asphalt.analysis.cost.calls import is_inlined
from asphalt.analysis.cost.classes import Counts, total
from asphalt.analysis.cost.operators import RELATIONS, function, is_constant, operator, power
from asphalt.analysis.cost.references import (
    EnclosingLoop,
    holds_element,
    inner,
    level_of,
    listed,
    reference,
    roots,
)
from asphalt.analysis.cost.trip_counts import TripCount
from asphalt.analysis.cost.types import (
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
from asphalt.analysis.names.constants import constant
from asphalt.analysis.names.intrinsics import is_inquiry
from asphalt.analysis.symbolic.polynomials import folded, folded_expr
from asphalt.ir.expr import (
    Arg,
    ArrayConstructor,
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
from asphalt.ir.records import record

_LOGICAL = frozenset({".and.", ".or.", ".not.", ".eqv.", ".neqv."})


@record
class CountedPiece:
    """Operations that are executed ``trips`` times in each iteration of the loop number ``level``
    (0: outside of all loops)."""

    level: int
    counts: Counts
    trips: tuple[TripCount, ...] = ()


@dataclass
class OperationCounter:
    """Counts operations in loops.

    ``floor``: invariant expressions do not leave the loops up to this number.  ``unknown``: what
    has no known count.  ``elements``: the extents of the enclosing array operations.
    """

    around: Surroundings
    loops: tuple[EnclosingLoop, ...]
    floor: int = 0
    pieces: list[CountedPiece] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    _available: set[Arg] = field(default_factory=set)
    elements: tuple[tuple[TripCount, ...], ...] = ()

    @property
    def depth(self) -> int:
        """The number of the innermost loop."""
        return len(self.loops) + len(self.elements)

    def add(self, level: int, **counts: float) -> None:
        """Add operations that change with the loop number ``level``."""
        self.note(level, Counts.of(**counts))

    def note(self, level: int, counts: Counts) -> None:
        """Add counts that change with the loop number ``level``."""
        if not counts:
            return
        level = max(level, self.floor)
        if level <= len(self.loops):
            self.pieces.append(CountedPiece(level, counts))
            return
        inner = self.elements[: level - len(self.loops)]
        self.pieces.append(
            CountedPiece(len(self.loops), counts, tuple(t for ts in inner for t in ts))
        )

    def forget(self) -> None:
        """Forget the elements in registers, at a join of control flow."""
        self._available.clear()

    def changed(self, name: str) -> None:
        """Forget what depends on a variable, which is redefined."""
        self._available = {known for known in self._available if name not in names_in(known)}

    # statements

    def assign(self, target: Expr, value: Expr) -> None:
        """Count an assignment."""
        if is_valued_as_array(target, self.around):
            assign_array(self, target, value)
            return
        level = self.value(value)
        self.converted(value, base_of(target, self.around), level)
        self._store(target)

    def _store(self, target: Expr) -> None:
        if isinstance(target, Ref | Component) and listed(target):
            level = self._subscripts(target)
            self.note(level, self.reference(target, "store", level))
            for name in roots(target):
                self.changed(name)
            self._available.add(folded(target))
        else:
            for name in roots(target):
                self.changed(name)

    def condition(self, expr: Expr, ends: bool = False) -> None:
        """Count a branch; ``ends``: the exit of a loop, whose direction changes once only."""
        level = self.value(expr)
        on_data = not ends and level == self.depth and self._is_on_data(expr)
        if on_data:
            self.add(level, branch_on_data=1)
        else:
            self.add(level, branch=1)

    def _is_on_data(self, expr: Arg) -> bool:
        """Whether a comparison is one of array values."""
        if isinstance(expr, Op) and expr.op in RELATIONS:
            bases = [base_of(operand, self.around) for operand in expr.operands]
            return wider(tuple(bases)) == "real" and any(
                holds_element(operand, self.loops, self.around) for operand in expr.operands
            )
        return any(self._is_on_data(child) for child in children(expr))

    # expressions

    def value(self, expr: Arg) -> int:
        """Count an expression; returns the number of the innermost loop in which it changes."""
        match expr:
            case Lit() | OpaqueExpr() | ArrayConstructor():
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
                self.called(expr)
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

    def called(self, procedure: Expr) -> None:
        """Count the call of a procedure of the program."""
        if not is_inlined(procedure, self.around.scope):
            self.add(self.depth, call=1)

    def level_of(self, names: Iterable[str]) -> int:
        """The number of the innermost loop in which one of some names changes; 0: in none."""
        return level_of(names, self.loops)

    def reference(self, expr: Expr, kind: str, level: int) -> Counts:
        """Count a load or store; ``kind``: ``load`` or ``store``."""
        return reference(expr, kind, level, self.loops, self.around)

    def _whole(self, expr: Ref | Component) -> int:
        if isinstance(expr, Ref) and expr.name in self.around.selectors:
            return self.value(self.around.selectors[expr.name])
        if self.elements and is_valued_as_array(expr, self.around):
            self.add(self.depth, load=1)
            return self.depth
        return self.level_of(names_in(expr))

    def _element(self, expr: Ref | Component) -> int:
        if not is_array(expr, self.around):
            return max((self.value(arg) for arg in expr.args or ()), default=0)
        if is_valued_as_array(expr, self.around):
            self._subscripts(expr)
            self.note(self.depth, self.reference(expr, "load", self.depth))
            return self.depth
        level = max(self._subscripts(expr), self.level_of(roots(expr)))
        key = folded(expr)
        if key not in self._available:
            self._available.add(key)
            self.note(level, self.reference(expr, "load", level))
        return level

    def _subscripts(self, expr: Ref | Component) -> int:
        level = self._subscripts(expr.base) if inner(expr) else 0  # type: ignore[union-attr,arg-type]
        return max((level, *(self._subscript(arg) for arg in expr.args or ())))

    def _subscript(self, arg: Arg) -> int:
        """Count the part of a subscript that is not an increment of an address."""
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
            if (
                own == "integer"
                and base in ("real", "complex")
                and not is_constant(operand, self.around)
            ):
                self.add(its, convert=1)
        self.note(level, operator(expr, base, bases, self.around))
        return level

    def _power(self, a: Expr, b: Expr) -> int:
        level = max(self.value(a), self.value(b))
        self.note(level, power(a, b, self.around))
        return level

    def _intrinsic(self, name: str, args: tuple[Arg, ...]) -> int:
        if is_inquiry(name) or name in ("present", "associated", "allocated"):
            return self.level_of(names_in(Ref(name, name, args)) - {name})
        if name == "matmul":
            return matmul(self, args)
        if (name in REDUCTIONS or name in SCALAR_RESULT) and args:
            return reduction(self, name, args)
        levels = [self.value(arg) for arg in args]
        level = max(levels, default=0)
        base = base_of(Ref(name, name, args), self.around)
        given = wider(tuple(base_of(arg, self.around) for arg in args)) if args else base
        self.note(level, function(name, base, given, self._all_constant(args), len(args)))
        return level

    def _all_constant(self, args: tuple[Arg, ...]) -> bool:
        return len(args) > 1 and constant(args[1], self.around.scope) is not None

    def converted(self, value: Expr, base: str, level: int) -> None:
        """Count the conversion of a value to the type ``base``."""
        own = base_of(value, self.around)
        kinds = {own, base}
        if (
            "integer" in kinds
            and kinds & {"real", "complex"}
            and not is_constant(value, self.around)
        ):
            self.add(level, convert=1)


__all__ = ["CountedPiece", "EnclosingLoop", "OperationCounter", "folded_expr", "total"]
