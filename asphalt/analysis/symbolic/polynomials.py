"""Integer expressions as polynomials, to compare sizes up to algebra.

A polynomial is a sum of integer multiples of products of *atoms*; an atom is any integer
expression that is not a sum, difference or product (a variable, a quotient, a function value).
Fortran's integer division truncates (F2018 10.1.5.2.2), so a quotient stays an atom unless it is
exact as a polynomial.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from asphalt.ir.expr import (
    Arg,
    ArrayConstructor,
    Component,
    Expr,
    ImpliedDo,
    Keyword,
    Lit,
    Op,
    Ref,
    Section,
)
from asphalt.ir.records import record

Monomial = tuple[Expr, ...]  # sorted by text, an atom as often as its power
Substitution = Callable[[Expr], Expr | None]


def folded(expr: Arg) -> Arg:
    """The expression with every name in lower case, so that equal expressions compare equal."""
    match expr:
        case Ref(name=name, spelled=spelled, args=None):
            return expr if spelled == name else Ref(name, name)
        case Ref(name=name, args=tuple(args)):
            return Ref(name, name, tuple([folded(a) for a in args]))
        case Component(base=base, name=name, args=args):
            inner = folded_expr(base)
            return Component(
                inner, name, name, None if args is None else tuple(folded(a) for a in args)
            )
        case Op(op="()", operands=(inner,)):
            return folded(inner)
        case Op(op=op, operands=operands):
            return Op(op, tuple(folded_expr(o) for o in operands))
        case Section(lower=lower, upper=upper, stride=stride):
            parts = (None if p is None else folded_expr(p) for p in (lower, upper, stride))
            return Section(*parts)
        case Keyword(name=name, value=value):
            return Keyword(name, name, folded_expr(value))
        case ArrayConstructor(values=values):
            return replace(expr, values=tuple(folded_expr(value) for value in values))
        case ImpliedDo(values=values, variable=variable, first=first, last=last, step=step):
            return ImpliedDo(
                tuple(folded_expr(value) for value in values),
                Ref(variable.name, variable.name),
                folded_expr(first),
                folded_expr(last),
                None if step is None else folded_expr(step),
            )
        case Lit(kind=kind, text=text):
            small = text if kind == "character" else text.lower()
            return expr if small == text else Lit(kind, small)
    return expr


def folded_expr(expr: Expr) -> Expr:
    """``folded`` for what is not an argument form."""
    if isinstance(expr, Ref) and expr.args is None:
        return expr if expr.spelled == expr.name else Ref(expr.name, expr.name)
    return _folded_whole(expr)


@lru_cache(maxsize=16384)
def _folded_whole(expr: Expr) -> Expr:
    result = folded(expr)
    assert not isinstance(result, Section | Keyword)
    assert not hasattr(result, "label")
    return result


def _key(atom: Expr) -> str:
    return repr(atom)


def _sorted_atoms(atoms: Monomial) -> Monomial:
    return atoms if len(atoms) < 2 else tuple(sorted(atoms, key=_key))


@record
class Poly:
    """A polynomial with integer coefficients; equal polynomials compare equal."""

    terms: frozenset[tuple[Monomial, int]] = frozenset()

    @staticmethod
    def of(terms: Mapping[Monomial, int]) -> Poly:
        """The polynomial with these coefficients; zeros are dropped."""
        return Poly(frozenset([term for term in terms.items() if term[1]]))

    @staticmethod
    @lru_cache(maxsize=1024)
    def constant(value: int) -> Poly:
        """The constant polynomial."""
        return Poly.of({(): value})

    @staticmethod
    def atom(expr: Expr) -> Poly:
        """The polynomial that is one (folded) atom."""
        return Poly(frozenset((((expr,), 1),)))

    @property
    def value(self) -> int | None:
        """The value of a constant polynomial, else None."""
        if len(self.terms) > 1:
            return None
        for monomial, coefficient in self.terms:
            return None if monomial else coefficient
        return 0

    @property
    def atoms(self) -> frozenset[Expr]:
        """All atoms that occur."""
        return frozenset(atom for monomial, _ in self.terms for atom in monomial)

    def __add__(self, other: Poly) -> Poly:
        if not other.terms or not self.terms:
            return self if self.terms else other
        terms = dict(self.terms)
        for monomial, coefficient in other.terms:
            terms[monomial] = terms.get(monomial, 0) + coefficient
        return Poly.of(terms)

    def __neg__(self) -> Poly:
        return Poly(frozenset((m, -c) for m, c in self.terms))

    def __sub__(self, other: Poly) -> Poly:
        if not other.terms:
            return self
        terms = dict(self.terms)
        for monomial, coefficient in other.terms:
            terms[monomial] = terms.get(monomial, 0) - coefficient
        return Poly.of(terms)

    @property
    def in_order(self) -> tuple[tuple[Monomial, int], ...]:
        """The terms in an order that their text gives."""
        return _in_order(self.terms)

    def __mul__(self, other: Poly) -> Poly:
        terms: dict[Monomial, int] = {}
        for m1, c1 in self.terms:
            for m2, c2 in other.terms:
                product = _sorted_atoms((*m1, *m2))
                terms[product] = terms.get(product, 0) + c1 * c2
        return Poly.of(terms)

    def divided_by(self, divisor: Poly) -> Poly | None:
        """The polynomial q with ``self == q * divisor``, or None (multivariate long division)."""
        if not divisor.terms:
            return None
        lead, lead_coefficient = _leading(divisor)
        rest, quotient = self, Poly()
        while rest.terms:
            monomial, coefficient = _leading(rest)
            factor = _without(monomial, lead)
            if factor is None or coefficient % lead_coefficient:
                return None
            step = Poly.of({factor: coefficient // lead_coefficient})
            quotient, rest = quotient + step, rest - step * divisor
        return quotient

    def coefficients(self, of: Expr) -> Mapping[int, Poly]:
        """The polynomial by powers of one atom."""
        powers: dict[int, Poly] = {}
        for monomial, coefficient in self.terms:
            power = monomial.count(of)
            rest = tuple(atom for atom in monomial if atom != of)
            powers[power] = powers.get(power, Poly()) + Poly.of({rest: coefficient})
        return powers

    def __str__(self) -> str:
        """The polynomial for people, the constant behind the rest."""
        text = ""
        for monomial, coefficient in sorted(self.terms, key=_order):
            names = [atom.name if isinstance(atom, Ref) else "(...)" for atom in monomial]
            number = abs(coefficient)
            factors = ([str(number)] if number != 1 or not names else []) + names
            sign = "-" if coefficient < 0 else "+"
            text += f" {sign} " + "*".join(factors)
        return text.removeprefix(" + ").replace(" - ", "-", text.startswith(" - ")) or "0"

    def expression(self) -> Expr:
        """A Fortran expression with this value."""
        positive: list[Expr] = []
        negative: list[Expr] = []
        for monomial, coefficient in sorted(self.terms, key=_order):
            (positive if coefficient > 0 else negative).append(_product(monomial, abs(coefficient)))
        total = positive[0] if positive else Lit("integer", "0")
        if not positive and negative:
            total = Op("-", (negative.pop(0),))
        for term in positive[1:]:
            total = Op("+", (total, term))
        for term in negative:
            total = Op("-", (total, term))
        return total


@lru_cache(maxsize=16384)
def _in_order(terms: frozenset[tuple[Monomial, int]]) -> tuple[tuple[Monomial, int], ...]:
    return tuple(sorted(terms, key=repr))


def _order(term: tuple[Monomial, int]) -> tuple[int, tuple[str, ...]]:
    return (-len(term[0]), tuple(_key(atom) for atom in term[0]))


def _leading(poly: Poly) -> tuple[Monomial, int]:
    return min(poly.terms, key=_order)


def _without(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    rest = list(monomial)
    for atom in divisor:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def _product(monomial: Monomial, coefficient: int) -> Expr:
    factors: list[Expr] = [*monomial]
    if coefficient != 1 or not factors:
        factors.insert(0, Lit("integer", str(coefficient)))
    result = factors[0]
    for factor in factors[1:]:
        result = Op("*", (result, factor))
    return result


def product(polys: Iterable[Poly]) -> Poly:
    """The product of some polynomials; 1 for none."""
    result = Poly.constant(1)
    for poly in polys:
        result = result * poly
    return result


def _itself(_: Expr) -> Expr | None:
    """No expression is known to be equal to anything."""
    return None


def poly(expr: Expr, substitute: Substitution = _itself, depth: int = 16) -> Poly:
    """The value of an integer expression as a polynomial.

    ``substitute`` gives, for a (folded) variable or function reference, an expression that is
    known to be equal to it, or None; it is applied again to what it gives, at most ``depth`` deep.
    """
    return _converted(folded_expr(expr), substitute, depth)


def _converted(part: Expr, substitute: Substitution, left: int) -> Poly:
    """The value of a folded expression, with what is known applied ``left`` deep."""
    match part:
        case Lit() if part.integer is not None:
            return Poly.constant(part.integer)
        case Op(op="()" | "+", operands=(inner,)):
            return _converted(inner, substitute, left)
        case Op(op="-", operands=(inner,)):
            return -_converted(inner, substitute, left)
        case Op(op="+", operands=(a, b)):
            return _converted(a, substitute, left) + _converted(b, substitute, left)
        case Op(op="-", operands=(a, b)):
            return _converted(a, substitute, left) - _converted(b, substitute, left)
        case Op(op="*", operands=(a, b)):
            return _converted(a, substitute, left) * _converted(b, substitute, left)
        case Op(op="/", operands=(a, b)):
            dividend = _converted(a, substitute, left)
            return _quotient(dividend, _converted(b, substitute, left))
        case Op(op="**", operands=(a, Lit() as power)) if power.integer is not None:
            return product([_converted(a, substitute, left)] * power.integer)
        case Ref() | Component():
            known = substitute(part) if left else None
            if known is not None:
                return _converted(folded_expr(known), substitute, left - 1)
    return Poly.atom(_canonical(part, substitute, left))


def _canonical(part: Expr, substitute: Substitution, left: int) -> Expr:
    """An atom with its arguments in one form."""
    match part:
        case Ref(name=name, spelled=spelled, args=tuple(args)):
            return Ref(name, spelled, tuple([_argument(a, substitute, left) for a in args]))
        case Component(args=tuple(args)):
            return replace(part, args=tuple([_argument(a, substitute, left) for a in args]))
    return part


def _argument(arg: Arg, substitute: Substitution, left: int) -> Arg:
    match arg:
        case Ref(args=None):
            known = substitute(arg) if left else None
            return arg if known is None else _converted(arg, substitute, left).expression()
        case Op(op="+" | "-" | "*" | "/" | "()"):
            return _converted(arg, substitute, left).expression()
    return arg


def _quotient(a: Poly, b: Poly) -> Poly:
    if a.value is not None and b.value:
        magnitude = abs(a.value) // abs(b.value)
        return Poly.constant(magnitude if (a.value < 0) == (b.value < 0) else -magnitude)
    exact = a.divided_by(b)
    # x*n/n is x whatever n is, as long as the division is defined at all
    if exact is not None:
        return exact
    return Poly.atom(Op("/", (a.expression(), b.expression())))
