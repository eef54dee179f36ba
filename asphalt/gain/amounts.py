"""How often and how much: numbers that depend on sizes which only the run knows.

A size that is not known counts as an *extent*, and so does a known one that is no small number.  A
line has ``FIRST`` points, and each further extent multiplies that by ``FURTHER``: a plane has
4,000, a box 16,000, which is about what a rank has of a field that many ranks share; all extents of
one field are taken to be equal.  A loop around messages is taken to run over the other ranks of a
small group, or over steps: it has ``PEERS`` iterations.
"""

from __future__ import annotations

import math
import operator
import zlib
from collections.abc import Callable, Mapping
from dataclasses import field

from asphalt.analysis.cost.trip_counts import TripCount
from asphalt.analysis.memory.forward_substitution import constants_in
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.symbolic.polynomials import folded
from asphalt.ir.expr import Arg, Expr, Lit, Op, Ref
from asphalt.ir.records import record

FIRST = 1000.0
FURTHER = 4.0
PEERS = 4
_SMALL = 16  # no extent of a field


def typical(extents: int) -> float:
    """The number of points of a field with so many extents."""
    return FIRST * FURTHER ** (extents - 1) if extents else 1.0


@record
class Extents:
    """How many extents are multiplied with each other: the unknown ones, and all."""

    unknown: int = 0
    all: int = 0

    @property
    def value(self) -> float:
        """The product that the unknown ones are taken to have."""
        return float(typical(self.all) ** (self.unknown / self.all)) if self.all else 1.0


@record
class Amount:
    """A sum of products: the factor, by the extents."""

    terms: Mapping[Extents, float] = field(default_factory=dict)

    @staticmethod
    def of(number: float, unknown: int = 0) -> Amount:
        """A known number, times so many unknown extents."""
        return Amount({Extents(unknown, unknown + (number >= _SMALL)): number})

    def __add__(self, other: Amount) -> Amount:
        terms = dict(self.terms)
        for extents, number in other.terms.items():
            terms[extents] = terms.get(extents, 0.0) + number
        return Amount(terms)

    def __mul__(self, other: Amount) -> Amount:
        terms: dict[Extents, float] = {}
        for a, x in self.terms.items():
            for b, y in other.terms.items():
                both = Extents(a.unknown + b.unknown, a.all + b.all)
                terms[both] = terms.get(both, 0.0) + x * y
        return Amount(terms)

    @property
    def is_at_ends(self) -> bool:
        """Whether it is a few points at the ends of an extent."""
        return self.terms.keys() == {Extents(0, 1)} and self.value < _SMALL

    def of_one_field(self) -> Amount:
        """The same amount where all of its parts belong to one field: they have all its extents,
        known ones or not."""
        most = max((extents.all for extents in self.terms), default=0)
        terms: dict[Extents, float] = {}
        for extents, number in self.terms.items():
            whole = Extents(extents.unknown, most)
            terms[whole] = terms.get(whole, 0.0) + number
        return Amount(terms)

    @property
    def value(self) -> float:
        """The number that it is taken to be."""
        return sum(number * extents.value for extents, number in self.terms.items())


def amount(expr: Expr, scope: Scope) -> Amount:
    """The amount that an integer expression is taken to be, at least zero.

    How it grows with unknown sizes shows how many extents it has.
    """
    value = constants_in(expr, scope).value
    if value is not None:
        return Amount.of(float(max(0, value)))
    much, more = _evaluated(expr, scope, lambda _: _LONG), _evaluated(expr, scope, _twice)
    if min(much, more) < 2:
        if _evaluated(expr, scope, _different) == much:
            return _at_ends(max(0.0, much))
        return Amount.of(1.0, 1)  # a difference of two that are not known: it has its own size
    unknown = min(_MOST, max(0, round(math.log2(more / much))))
    return Amount.of(much / _LONG**unknown, unknown) if unknown else _at_ends(much)


def _at_ends(number: float) -> Amount:
    """An amount that does not depend on the unknown size in it: a few points at the ends of one
    extent of a field."""
    return Amount({Extents(0, 1): number})


def iterations(trips: TripCount | None, scope: Scope) -> Amount:
    """How many iterations a loop is taken to have; None: it has no trip count."""
    return Amount.of(1.0, 1) if trips is None else amount(trips.count, scope)


def known(trips: TripCount | None, scope: Scope) -> int | None:
    """How many iterations a loop has, if that is known."""
    value = None if trips is None else constants_in(trips.count, scope).value
    return None if value is None else max(0, value)


def _evaluated(expr: Arg, scope: Scope, each: Callable[[Arg], float]) -> float:
    """The value of an expression in which each unknown is ``each``."""
    match expr:
        case Lit():
            return float(expr.integer or 0)
        case Ref(name="size", args=(Ref(name=name, args=None),)):
            symbol = scope.lookup(name)
            rank = len((symbol.dims if symbol is not None else None) or (1,))
            return float(each(expr) ** rank)
        case Ref(name=name, args=tuple(args)) if name in _FUNCTIONS and args:
            return float(_FUNCTIONS[name](*(_evaluated(arg, scope, each) for arg in args)))
        case Op(op="()" | "+", operands=(operand,)):
            return _evaluated(operand, scope, each)
        case Op(op="-", operands=(operand,)):
            return -_evaluated(operand, scope, each)
        case Op(op=op, operands=(left, right)) if op in _OPERATORS:
            return _OPERATORS[op](_evaluated(left, scope, each), _evaluated(right, scope, each))
        case Ref(args=None):
            value = constants_in(expr, scope).value
            return each(expr) if value is None else float(value)
    return each(expr)


def _twice(expr: Arg) -> float:
    return 2 * _LONG


def _different(expr: Arg) -> float:
    """A value that another expression has not."""
    return _LONG * (1 + zlib.crc32(repr(folded(expr)).encode()) / 2**32)


def _quotient(dividend: float, divisor: float) -> float:
    return dividend / divisor if divisor else dividend


_LONG = 2.0**20
_MOST = 4  # extents
_OPERATORS: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _quotient,
}
_FUNCTIONS: Mapping[str, Callable[..., float]] = {"max": max, "min": min, "abs": abs}
