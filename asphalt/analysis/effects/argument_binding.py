"""Argument association of one call: expressions of the callee as values of the caller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from asphalt.analysis.effects.actual_extents import extent_passed
from asphalt.analysis.memory.invariant_frame import Standpoint
from asphalt.analysis.memory.ranks import is_scalar
from asphalt.analysis.names.scopes import Origin, Scope, Symbol
from asphalt.analysis.symbolic.polynomials import Monomial, Poly, product
from asphalt.ir.expr import AltReturn, Component, Expr, Keyword, Lit, Op, Ref, Section, names_in
from asphalt.ir.records import record


@record
class Binding:
    """The arguments of one call: actual arguments by the folded names of the dummies.

    ``callee`` None: a library procedure, in which only the dummies have names.  ``constants`` gives
    the value of an expression of the callee with its named constants replaced.
    """

    callee: Scope | None
    constants: Callable[[Expr], Poly]
    bound: Mapping[str, Expr]

    def value(self, monomial: Monomial, here: Standpoint) -> Poly | None:
        """The value of a product on entry to the callee, in terms of the caller."""
        factors = [self._atom(atom, here) for atom in monomial]
        known = [factor for factor in factors if factor is not None]
        return product(known) if len(known) == len(factors) else None

    def polynomial(self, poly: Poly, here: Standpoint) -> Poly | None:
        """A polynomial of values on entry to the callee, in terms of the caller."""
        total = Poly()
        for monomial, coefficient in poly.terms:
            value = self.value(monomial, here)
            if value is None:
                return None
            total = total + value * Poly.constant(coefficient)
        return total

    def _atom(self, atom: Expr, here: Standpoint) -> Poly | None:
        match atom:
            case Ref(name="size", args=(Ref(name=name, args=None), Lit() as dim)) if (
                name in self.bound and dim.integer is not None
            ):
                return extent_passed(self.bound[name], dim.integer - 1, here)
        expr = self._expression(atom, here)
        return None if expr is None else here.value(expr)

    def _expression(self, expr: Expr, here: Standpoint) -> Expr | None:
        """An expression of the callee as one of the caller; None: there is none."""
        match expr:
            case Lit():
                return expr
            case Ref(name=name, args=args):
                if name in self.bound:
                    actual = self.bound[name]
                    scalar = args is None and is_scalar(actual, here.frame.scope)
                    return actual if scalar else None
                parts = []
                for arg in args or ():
                    if isinstance(arg, Section | Keyword | AltReturn):
                        return None
                    part = self._expression(arg, here)
                    if part is None:
                        return None
                    parts.append(part)
                if not self._same_name(name, here.frame.scope):
                    return None
                return Ref(name, name, None if args is None else tuple(parts))
            case Component(base=base, args=None):
                of = self._expression(base, here)
                if not isinstance(of, Ref | Component) or not is_scalar(of, here.frame.scope):
                    return None
                return replace(expr, base=of)
            case Op(op=op, operands=operands):
                inner = [self._expression(operand, here) for operand in operands]
                known = [operand for operand in inner if operand is not None]
                return Op(op, tuple(known)) if len(known) == len(inner) else None
        return None

    def _same_name(self, name: str, caller: Scope) -> bool:
        own = None if self.callee is None else self.callee.lookup(name)
        other = caller.lookup(name)
        if own is None or other is None:
            return False
        if own.origin is Origin.INTRINSIC:
            return other.origin is Origin.INTRINSIC
        if same_constant(own, other):
            return True
        shared = (Origin.MODULE, Origin.HOST, Origin.PARAMETER)
        return own.origin in shared and own.identity == other.identity


def same_constant(one: Symbol, other: Symbol, depth: int = 8) -> bool:
    """Whether one text, in an include file, declares two named constants and all that their values
    depend on: they are equal, whatever the values are."""
    parameters = one.origin is other.origin is Origin.PARAMETER
    if not parameters or one.name != other.name or one.type != other.type or depth == 0:
        return False
    if one.span is None or one.span != other.span or one.initial != other.initial:
        return False
    if one.initial is None or one.home is None or other.home is None:
        return False
    for name in names_in(one.initial):
        inner, same = one.home.lookup(name), other.home.lookup(name)
        if inner is None or same is None:
            return False
        intrinsic = inner.origin is same.origin is Origin.INTRINSIC
        if not intrinsic and not same_constant(inner, same, depth - 1):
            return False
    return True
