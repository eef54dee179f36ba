"""What replaces a name of an inlined procedure in its caller."""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.inlining.codes import ARGUMENT, RefusedError
from asphalt.analysis.symbolic.polynomials import Poly, folded
from asphalt.ir.expr import AltReturn, Arg, Component, Expr, Keyword, Lit, Op, Ref, Section, num
from asphalt.ir.records import record


@record
class Renamed:
    """Another name of the same entity."""

    spelled: str

    def of(self, ref: Ref) -> Expr:
        """The replacement of a reference."""
        return replace(ref, name=self.spelled.lower(), spelled=self.spelled)


@record
class Standing:
    """A scalar expression: a constant, or an element or component that remains the same object."""

    expr: Expr

    def of(self, ref: Ref) -> Expr:
        """The replacement of a reference."""
        if ref.args is not None:
            raise RefusedError(ARGUMENT, f"{ref.spelled} has a list of arguments")
        return self.expr


@record
class Present:
    """An inquiry whose answer is known: ``present(x)`` of an optional argument; ``given``: what the
    dummies have become, folded."""

    given: frozenset[Expr]

    def of(self, ref: Ref) -> Expr | None:
        """The replacement of a reference."""
        match ref.args:
            case (actual,) if folded(actual) in self.given:
                return Lit("logical", ".true.")
        return None


@record
class Shifted:
    """An array whose subscripts are moved: subscript i of the dummy is i + ``shifts``, and ``tail``
    follows; ``bare`` stands for the array without subscripts."""

    bare: Ref | Component
    shifts: tuple[Poly, ...]
    tail: tuple[Expr, ...]

    def of(self, ref: Ref) -> Expr:
        """The replacement of a reference."""
        if ref.args is None:
            return self.bare
        if len(ref.args) != len(self.shifts):
            raise RefusedError(ARGUMENT, f"{ref.spelled} has another number of subscripts")
        moved = tuple(_moved(a, s) for a, s in zip(ref.args, self.shifts, strict=True))
        return replace(self.bare, args=(*moved, *self.tail))


@record
class Flattened:
    """An array of rank one that stands for one of more dimensions: the subscripts of an element
    count from ``start``; ``lower``: the lower bounds of the dummy, ``extents``: of all dimensions
    but the last."""

    spelled: str
    start: Poly
    lower: tuple[Poly, ...]
    extents: tuple[Poly, ...]

    def of(self, ref: Ref) -> Expr:
        """The replacement of a reference."""
        bare = replace(ref, name=self.spelled.lower(), spelled=self.spelled)
        if ref.args is None:
            return bare
        if len(ref.args) != len(self.lower):
            raise RefusedError(ARGUMENT, f"{ref.spelled} has another number of subscripts")
        begins = (self.start, *(Poly() for _ in self.extents))
        counted: list[Expr] = []
        for arg, begin, lower in zip(ref.args, begins, self.lower, strict=True):
            if isinstance(arg, Section | Keyword | AltReturn):
                raise RefusedError(ARGUMENT, f"a section of {ref.spelled} is used")
            counted.append(plus(arg, begin - lower))
        index = counted.pop()
        for own, extent in zip(reversed(counted), reversed(self.extents), strict=True):
            index = _added(own, _times(extent, index))
        return replace(bare, args=(index,))


Replacement = Renamed | Standing | Shifted | Flattened | Present


def _moved(arg: Arg, shift: Poly) -> Arg:
    if shift == Poly():
        return arg
    match arg:
        case Section(lower=lower, upper=upper, stride=stride):
            low = None if lower is None else plus(lower, shift)
            high = None if upper is None else plus(upper, shift)
            return Section(low, high, stride)
        case Keyword() | AltReturn():
            raise RefusedError(ARGUMENT, "an array has a keyword among its subscripts")
    return plus(arg, shift)


def plus(expr: Expr, shift: Poly) -> Expr:
    """``expr + shift``; constants are folded where the rest of the text stays as it is."""
    if shift == Poly():
        return expr
    value = shift.value
    if value is None:
        return Op("+", (expr, _closed(shift.expression())))
    match expr:
        case Lit() if expr.integer is not None and "_" not in expr.text:
            return num(expr.integer + value)
        case Op(op="+" | "-" as op, operands=(left, Lit() as right)) if (
            right.integer is not None and "_" not in right.text
        ):
            return _sum(left, value + (right.integer if op == "+" else -right.integer))
    return _sum(expr, value)


def _sum(left: Expr, value: int) -> Expr:
    if value == 0:
        return left
    return Op("+" if value > 0 else "-", (left, Lit("integer", str(abs(value)))))


def _added(one: Expr, other: Expr) -> Expr:
    """The sum of two expressions, without a 0."""
    if isinstance(one, Lit) and one.integer == 0:
        return other
    return Op("+", (one, other))


def _times(factor: Poly, expr: Expr) -> Expr:
    """``factor * expr``."""
    if factor == Poly.constant(1):
        return expr
    return Op("*", (_closed(factor.expression()), _closed(expr)))


def _closed(expr: Expr) -> Expr:
    return expr if isinstance(expr, Ref | Lit | Component) else Op("()", (expr,))
