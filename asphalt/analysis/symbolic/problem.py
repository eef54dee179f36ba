"""Conjunctions of affine constraints over integer variables and symbolic parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import islpy as isl

from asphalt.analysis.symbolic.affine import Affine
from asphalt.analysis.symbolic.index_sets import Elements
from asphalt.analysis.symbolic.isl import (
    REMEMBERED,
    UndecidedError,
    fresh_context,
    parameter_names,
    text_of,
)
from asphalt.analysis.symbolic.polynomials import Monomial, Poly
from asphalt.analysis.symbolic.products import Constraint, Products, primitive, split
from asphalt.ir.expr import Expr
from asphalt.ir.records import record

_ONE = Poly.constant(1)


@dataclass(slots=True)
class AffineProblem:
    """Affine constraints over named integer variables.

    Variables are named freely by the caller; atoms of polynomials that are not variables become
    parameters.  Products of a variable and parameters become variables of their own (``products``).
    A constraint that is not affine even so is left out by ``add``, which says so.  Both make the
    set larger, which is sound wherever an empty set is what proves something.
    """

    variables: dict[str, str] = field(default_factory=dict)
    _parameters: dict[Expr | str, str] = field(default_factory=dict)
    _meanings: list[Monomial] = field(default_factory=list)
    _constraints: list[str] = field(default_factory=list)
    _preferred: list[str] = field(default_factory=list)
    _members: list[tuple[tuple[str, ...], Elements, dict[str, str]]] = field(default_factory=list)
    _products: Products = field(default_factory=Products)

    def variable(self, name: str) -> str:
        """Declare a variable; gives the name it has inside (isl reserves some words)."""
        return self.variables.setdefault(name, f"v{len(self.variables)}")

    def affine(self, poly: Poly, bound: Mapping[Expr, str]) -> str | None:
        """The polynomial as isl text, with the atoms in ``bound`` as variables.

        A product without bound atoms is a parameter of its own.  None: not affine.
        """
        found = split(poly, bound)
        return None if found is None else self._text(*found, bound)

    def _text(
        self, coefficients: Mapping[Expr, Poly], rest: Poly, bound: Mapping[Expr, str]
    ) -> str:
        parts = [self._invariant(rest)]
        for atom, factor in coefficients.items():
            variable = self.variable(bound[atom])
            number, unit = primitive(factor)
            name = variable if unit == _ONE else self._products.name(variable, unit)
            parts.append(f"{number}*{name}")
        return " + ".join(parts)

    def _invariant(self, poly: Poly) -> str:
        """The text of a polynomial of parameters."""
        parts = ["0"]
        for monomial, coefficient in poly.in_order:
            factor = f"*{self._parameter(monomial)}" if monomial else ""
            parts.append(f"{coefficient}{factor}")
        return " + ".join(parts)

    def _value(self, poly: Poly, values: Mapping[str, int]) -> int:
        """The value of a polynomial of parameters in a solution."""
        return sum(
            number * (values[self._parameter(monomial)] if monomial else 1)
            for monomial, number in poly.terms
        )

    def _parameter(self, monomial: Monomial) -> str:
        key: Expr | str = monomial[0] if len(monomial) == 1 else repr(monomial)
        if key not in self._parameters:
            self._parameters[key] = f"p{len(self._parameters)}"
            self._meanings.append(monomial)
            self._preferred.append(f"1 <= {self._parameters[key]} <= 6")
        return self._parameters[key]

    def add(self, left: Poly, relation: str, right: Poly, bound: Mapping[Expr, str]) -> bool:
        """Add ``left relation right`` (``= < <= > >=``); False: not affine, left out."""
        found = split(left - right, bound)
        if found is None:
            return False
        coefficients, rest = found
        self._constraints.append(f"{self._text(coefficients, rest, bound)} {relation} 0")
        numbers = [(bound[atom], factor.value) for atom, factor in coefficients.items()]
        known = [(self.variable(name), value) for name, value in numbers if value is not None]
        if len(known) == len(numbers):
            self._products.constraints.append(Constraint(tuple(known), rest, relation))
        return True

    def stride(self, distance: Poly, step: int, bound: Mapping[Expr, str]) -> bool:
        """Add that a step divides ``distance``; False: not affine, left out."""
        text = self.affine(distance, bound)
        if text is None:
            return False
        if abs(step) > 1:
            self._constraints.append(f"({text}) mod {abs(step)} = 0")
        return True

    def compare(self, left: str, relation: str, right: str, offset: int = 0) -> None:
        """Add ``left relation right + offset`` between two variables."""
        one, other = self.variable(left), self.variable(right)
        self._constraints.append(f"{one} {relation} {other} + {offset}")
        if one != other:
            away = Constraint(((one, 1), (other, -1)), Poly.constant(-offset), relation)
            self._products.constraints.append(away)

    def member(self, names: Sequence[str], elements: Elements, bound: Mapping[Expr, str]) -> None:
        """Add that the variables ``names`` are an element of a region.

        A parameter of the region that is not affine in the problem may have any value.
        """
        indices = tuple(self.variable(name) for name in names)
        arguments: dict[str, str] = {}
        for name, meaning in elements.parameters:
            text = self.affine(Poly.of({meaning: 1}), bound)
            if text is not None:
                arguments[name] = text
        self._members.append((indices, elements, arguments))

    def sample(self) -> dict[str, int] | None:
        """A solution (values of the variables), or None if there is none.

        Small parameters are preferred, for the reader's sake.  Raises UndecidedError, also where
        something solves the constraints only because products are not known to be products.
        """
        constraints = self._all()
        solution = self._solve([*constraints, *self._preferred])
        return solution if solution is not None else self._solve(constraints)

    def _all(self) -> list[str]:
        return [*self._constraints, *self._products.texts(self._invariant)]

    def values_of(self, names: Sequence[str]) -> Elements:
        """The values that some variables have in all solutions; raises UndecidedError."""
        wanted = tuple(self.variable(name) for name in names)
        affine = Affine()
        constraints = tuple(self._all())
        meanings = tuple(affine.name(monomial) for monomial in self._meanings)
        text, used = _values(self._unknowns(), constraints, self._regions(), meanings, wanted)
        parameters = tuple(sorted((name, affine.parameters[name]) for name in used))
        return Elements(len(names), text, parameters)

    def _solve(self, constraints: Sequence[str]) -> dict[str, int] | None:
        point = _sample(self._unknowns(), tuple(constraints), self._regions())
        if point is None:
            return None
        values = dict(zip(self._unknowns(), point, strict=True))
        if not self._products.hold(values, lambda unit: self._value(unit, values)):
            raise UndecidedError("a product is not one in the solution")
        return {name: values[inside] for name, inside in self.variables.items()}

    def _unknowns(self) -> tuple[str, ...]:
        products = self._products.names.values()
        return (*self._parameters.values(), *self.variables.values(), *products)

    def _regions(self) -> tuple[_Member, ...]:
        return tuple(
            _Member(indices, elements.rank, elements.text, tuple(arguments.items()))
            for indices, elements, arguments in self._members
        )


@record
class _Member:
    """Variables that are an element of a region, with arguments for its parameters."""

    indices: tuple[str, ...]
    rank: int
    text: str
    arguments: tuple[tuple[str, str], ...]


def _solutions(
    unknowns: tuple[str, ...],
    constraints: tuple[str, ...],
    members: tuple[_Member, ...],
    context: isl.Context,
) -> isl.Set:
    body = " and ".join(constraints) or "1 = 1"
    found = isl.Set(f"{{ [{', '.join(unknowns)}] : {body} }}", context)
    for member in members:
        arguments = dict(member.arguments)
        region = _over_arguments(member, arguments, context)
        values = ", ".join((*member.indices, *arguments.values()))
        place = isl.Map(f"{{ [{', '.join(unknowns)}] -> [{values}] }}", context)
        found = found.intersect(place.intersect_range(region).domain())
    return found


@lru_cache(maxsize=REMEMBERED)
def _sample(
    unknowns: tuple[str, ...], constraints: tuple[str, ...], members: tuple[_Member, ...]
) -> tuple[int, ...] | None:
    """A solution, the values of the unknowns in order; None: there is none.

    Cached: a program that is transformed step by step asks the same questions again.
    """
    try:
        found = _solutions(unknowns, constraints, members, fresh_context())
        if found.is_empty():
            return None
        point = found.sample_point()
        return tuple(
            int(point.get_coordinate_val(isl.dim_type.set, i).to_python())
            for i, _ in enumerate(unknowns)
        )
    except isl.Error as error:
        raise UndecidedError(str(error)) from error


@lru_cache(maxsize=REMEMBERED)
def _values(
    unknowns: tuple[str, ...],
    constraints: tuple[str, ...],
    members: tuple[_Member, ...],
    meanings: tuple[str, ...],
    wanted: tuple[str, ...],
) -> tuple[str, tuple[str, ...]]:
    """The values of some unknowns in all solutions as a text, and the names of its parameters:
    of the first unknowns, which ``meanings`` names; raises UndecidedError."""
    context = fresh_context()
    try:
        found = _solutions(unknowns, constraints, members, context)
        found = found.move_dims(isl.dim_type.param, 0, isl.dim_type.set, 0, len(meanings))
        for number, name in enumerate(meanings):
            found = found.set_dim_name(isl.dim_type.param, number, name)
        variables = ", ".join(unknowns[len(meanings) :])
        place = isl.Map(
            f"[{', '.join(meanings)}] -> {{ [{variables}] -> [{', '.join(wanted)}] }}", context
        )
        made = place.intersect_domain(found).range().coalesce()
        return text_of(made)
    except isl.Error as error:
        raise UndecidedError(str(error)) from error


def _over_arguments(
    elements: _Member, arguments: Mapping[str, str], context: isl.Context
) -> isl.Set:
    """A region as a set of indices followed by the parameters that have arguments, in order."""
    made = isl.Set(elements.text, context)
    for name in parameter_names(made):
        if name not in arguments:
            position = made.find_dim_by_name(isl.dim_type.param, name)
            made = made.project_out(isl.dim_type.param, position, 1)
    for number, name in enumerate(arguments):
        position = made.find_dim_by_name(isl.dim_type.param, name)
        end = elements.rank + number
        if position < 0:
            made = made.insert_dims(isl.dim_type.set, end, 1)
        else:
            made = made.move_dims(isl.dim_type.set, end, isl.dim_type.param, position, 1)
    return made.reset_tuple_id() if made.has_tuple_id() else made
