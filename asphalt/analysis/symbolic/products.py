"""Products of a variable and a parameter in affine problems, as variables of their own.

A subscript ``nb*r + j`` is not affine where ``nb`` is a parameter.  With a variable ``t`` for
``nb*r`` it is, and where ``nb >= 1`` much is known of ``t``: each constraint between variables that
have such a product holds for the products, multiplied by ``nb``; and two products differ by at
least ``nb`` if their variables differ.  With ``1 <= j <= nb``, the subscript is then that of an
array of the shape ``(nb, *)`` (delinearisation).  Leaving out that ``t`` is a product makes sets
larger, as leaving out the constraint would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from math import gcd

from asphalt.analysis.symbolic.polynomials import Monomial, Poly
from asphalt.ir.expr import Expr
from asphalt.ir.records import record

_ONE = Poly.constant(1)
_PAIRS = 4  # of products whose order is asked for; each triples the number of cases


@record
class Constraint:
    """``sum(coefficient*variable) + rest relation 0``."""

    coefficients: tuple[tuple[str, int], ...]
    rest: Poly
    relation: str


@dataclass(slots=True)
class Products:
    """The products of one problem, by variable and unit (the factor that is a polynomial of
    parameters), and the constraints between variables alone."""

    names: dict[tuple[str, Poly], str] = field(default_factory=dict)
    constraints: list[Constraint] = field(default_factory=list)

    def name(self, variable: str, unit: Poly) -> str:
        """The variable for the product of a variable and a unit (see ``primitive``)."""
        return self.names.setdefault((variable, unit), f"t{len(self.names)}")

    def texts(self, text: Callable[[Poly], str]) -> Iterator[str]:
        """What is known of the products; ``text`` writes a polynomial of parameters."""
        units = tuple(dict.fromkeys(unit for _, unit in self.names))
        for unit in units:
            known = " and ".join((f"{text(unit)} >= 1", *self._known(unit, text)))
            yield f"(({known}) or {text(unit)} <= 0)"
        for unit in units:
            for factor in self._factors(unit, units):
                other = unit.divided_by(factor)
                if other is None or other.value is not None:
                    continue
                one, two, both = text(factor), text(other), text(unit)
                yield f"({one} <= 0 or {two} <= 0 or ({both} >= {one} and {both} >= {two}))"

    def _factors(self, unit: Poly, units: tuple[Poly, ...]) -> list[Poly]:
        """Units and atoms that may divide a unit."""
        found = [other for other in units if other != unit]
        if len(unit.terms) == 1:
            found += [Poly.atom(atom) for atom in sorted(unit.atoms, key=repr)]
        return list(dict.fromkeys(found))

    def _known(self, unit: Poly, text: Callable[[Poly], str]) -> Iterator[str]:
        """Facts about the products with a unit that is positive."""
        mine = {variable: name for (variable, own), name in self.names.items() if own == unit}
        ordered: set[frozenset[str]] = set()
        for constraint in self.constraints:
            variables = frozenset(name for name, _ in constraint.coefficients)
            if not variables or not variables <= mine.keys() or constraint.relation == "!=":
                continue
            ordered.add(variables)
            relation, rest = constraint.relation, constraint.rest
            if relation in ("<", ">"):
                rest = rest + (_ONE if relation == "<" else -_ONE)
                relation += "="
            parts = [f"{number}*{mine[name]}" for name, number in constraint.coefficients]
            yield f"{' + '.join(parts)} + {text(rest * unit)} {relation} 0"
        pairs = [p for p in combinations(sorted(mine), 2) if frozenset(p) not in ordered]
        for one, two in pairs[:_PAIRS]:
            first, second, step = mine[one], mine[two], text(unit)
            yield (
                f"(({one} < {two} and {first} + {step} <= {second}) or "
                f"({one} = {two} and {first} = {second}) or "
                f"({one} > {two} and {second} + {step} <= {first}))"
            )

    def hold(self, values: Mapping[str, int], value: Callable[[Poly], int]) -> bool:
        """Whether in a solution the products are products."""
        return all(
            values[name] == values[variable] * value(unit)
            for (variable, unit), name in self.names.items()
        )


def split(poly: Poly, bound: Mapping[Expr, str]) -> tuple[dict[Expr, Poly], Poly] | None:
    """The coefficients of the atoms in ``bound``, and the rest; None: it is not linear in them."""
    coefficients: dict[Expr, dict[Monomial, int]] = {}
    rest: dict[Monomial, int] = {}
    for monomial, number in poly.in_order:
        inside = [atom for atom in monomial if atom in bound]
        if len(inside) > 1:
            return None
        if not inside:
            rest[monomial] = number
            continue
        left = list(monomial)
        left.remove(inside[0])
        coefficients.setdefault(inside[0], {})[tuple(left)] = number
    return {atom: Poly.of(terms) for atom, terms in coefficients.items()}, Poly.of(rest)


def primitive(unit: Poly) -> tuple[int, Poly]:
    """A polynomial as an integer times one whose coefficients have no common divisor, and whose
    first one is positive."""
    value = unit.value
    if value is not None:
        return value, _ONE
    ordered = unit.in_order
    common = gcd(*(number for _, number in ordered))
    if ordered[0][1] < 0:
        common = -common
    return common, Poly.of({monomial: number // common for monomial, number in ordered})
