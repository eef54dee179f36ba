"""Regions: sets of index tuples of one array, with union, difference, projection and image."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import lru_cache

import islpy as isl

from asphalt.analysis.symbolic.affine import Affine, Parameters
from asphalt.analysis.symbolic.isl import (
    REMEMBERED,
    UndecidedError,
    fresh_context,
    parameter_names,
    text_of,
)
from asphalt.analysis.symbolic.polynomials import Monomial, Poly
from asphalt.ir.records import record


@record
class Elements:
    """A set of index tuples of an array of ``rank`` dimensions (``e0``, ``e1`` ... in ``text``).

    ``parameters`` maps the parameters in ``text`` to their meaning.  ``exact`` False: the set is an
    over- or under-approximation; its maker says which.
    """

    rank: int
    text: str
    parameters: Parameters = ()
    exact: bool = True

    @staticmethod
    def all(rank: int, *, exact: bool = True) -> Elements:
        """Every element of the array."""
        return Elements(rank, f"{{ [{_tuple(rank)}] }}", (), exact)

    @staticmethod
    def none(rank: int, *, exact: bool = True) -> Elements:
        """No element."""
        return Elements(rank, f"{{ [{_tuple(rank)}] : 1 = 0 }}", (), exact)

    @staticmethod
    def where(
        rank: int, constraints: Iterable[str], affine: Affine, *, exact: bool = True
    ) -> Elements:
        """The elements for which constraints over ``e0``, ``e1`` ... and parameters hold."""
        body = " and ".join(constraints) or "1 = 1"
        head = f"[{', '.join(affine.parameters)}] -> " if affine.parameters else ""
        text = f"{head}{{ [{_tuple(rank)}] : {body} }}"
        return Elements(rank, text, tuple(sorted(affine.parameters.items())), exact)

    @property
    def is_all(self) -> bool:
        """Whether it is certainly every element."""
        return Elements.all(self.rank).is_subset(self)

    def union(self, other: Elements) -> Elements:
        """The elements of both; raises UndecidedError."""
        exact = self.exact and other.exact
        if self.text == other.text:
            return replace(self, exact=exact)
        return self._combined(other, _Operation.UNION, exact)

    def minus(self, other: Elements) -> Elements:
        """The elements that ``other`` does not have; raises UndecidedError."""
        return self._combined(other, _Operation.DIFFERENCE, self.exact and other.exact)

    def intersection(self, other: Elements) -> Elements:
        """The common elements; raises UndecidedError."""
        return self._combined(other, _Operation.INTERSECTION, self.exact and other.exact)

    def _combined(self, other: Elements, operation: _Operation, exact: bool) -> Elements:
        meaning = {**dict(self.parameters), **dict(other.parameters)}
        return self._of(_combination(self.text, other.text, operation), meaning, exact)

    def _of(
        self, found: tuple[str, tuple[str, ...]], meaning: Mapping[str, Monomial], exact: bool
    ) -> Elements:
        """A set of the same rank, of its text and its parameters."""
        text, used = found
        return Elements(self.rank, text, tuple(sorted((n, meaning[n]) for n in used)), exact)

    def restricted(self, constraints: Iterable[str], affine: Affine) -> Elements:
        """The elements for which constraints over indices and parameters hold, too."""
        return self.intersection(Elements.where(self.rank, constraints, affine))

    def project(self, monomials: Iterable[Monomial]) -> Elements:
        """The elements for any value of some parameters; raises UndecidedError."""
        gone = set(monomials)
        names = tuple(name for name, meaning in self.parameters if meaning in gone)
        if not names:
            return self
        return self._of(_projected(self.text, names), dict(self.parameters), self.exact)

    def renamed(self, before: Monomial, after: Monomial) -> Elements:
        """The set with one parameter replaced by another, which must not occur in it yet."""
        affine = Affine()
        old, new = affine.name(before), affine.name(after)
        parameters = tuple(
            sorted(
                (new, after) if name == old else (name, meaning)
                for name, meaning in self.parameters
            )
        )
        return replace(self, text=self.text.replace(old, new), parameters=parameters)

    def image(
        self,
        rank: int,
        relation: Iterable[str],
        values: Mapping[Monomial, Poly | None],
        affine: Affine,
        *,
        exact: bool,
    ) -> Elements | None:
        """The elements ``e0``, ``e1`` ... of another array that ``relation`` relates to elements
        ``d0``, ``d1`` ... of this one, with ``values`` for the parameters.

        A parameter without (affine) value may have any: None where ``exact`` forbids that.  Raises
        UndecidedError.
        """
        meaning, known = dict(self.parameters), True
        equal: list[str] = []
        for number, (name, involved) in enumerate(_parameters(self.text)):
            value = values.get(meaning[name])
            known = known and value is not None
            text = None if value is None else affine.text(value)
            if text is not None:
                equal.append(f"q{number} = {text}")
            elif exact and involved:
                return None
        body = " and ".join([*relation, *equal]) or "1 = 1"
        found = _image(self.text, self.rank, rank, tuple(affine.parameters), body)
        return replace(self, rank=rank)._of(found, affine.parameters, self.exact and known)

    def parts(self) -> tuple[Elements, ...]:
        """Sets without gaps whose union is this one; raises UndecidedError."""
        return tuple(
            replace(self, text=text, parameters=tuple(p for p in self.parameters if p[0] in used))
            for text, used in _parts(self.text)
        )

    def is_empty(self) -> bool:
        """Whether there is certainly no element, whatever the parameters are."""
        return _is_empty(self.text)

    def is_subset(self, other: Elements) -> bool:
        """Whether ``other`` certainly has all these elements."""
        return _is_subset(self.text, other.text)

    def is_there_where(self, other: Elements) -> bool:
        """Whether there certainly is an element for all values of the parameters for which
        ``other`` has one."""
        context = fresh_context()
        try:
            mine, theirs = (isl.Set(one.text, context).params() for one in (self, other))
            return bool(theirs.is_subset(mine))
        except isl.Error:
            return False

    def box(self) -> tuple[tuple[Poly | None, Poly | None], ...]:
        """The least and the greatest index in each dimension, where they are one polynomial each
        (for sets that are not empty)."""
        meaning = dict(self.parameters)
        ends = [
            None if end is None else Poly.of({(meaning[n] if n else ()): c for n, c in end})
            for end in _ends(self.text, self.rank)
        ]
        return tuple(zip(ends[::2], ends[1::2], strict=True))

    def within(
        self, limits: Sequence[tuple[int, int]], values: Mapping[Monomial, int]
    ) -> frozenset[tuple[int, ...]]:
        """The elements between limits of each index for given values of the parameters."""
        made = isl.Set(self.text, fresh_context())
        for name, meaning in self.parameters:
            position = made.find_dim_by_name(isl.dim_type.param, name)
            if position >= 0:
                made = made.fix_val(isl.dim_type.param, position, isl.Val(values[meaning]))
        for dimension, (low, high) in enumerate(limits):
            made = made.lower_bound_val(isl.dim_type.set, dimension, isl.Val(low))
            made = made.upper_bound_val(isl.dim_type.set, dimension, isl.Val(high))
        found: list[tuple[int, ...]] = []

        def add(point: isl.Point) -> None:
            coordinates = (
                point.get_coordinate_val(isl.dim_type.set, dimension).to_python()
                for dimension in range(self.rank)
            )
            found.append(tuple(int(c) for c in coordinates))

        made.project_out(isl.dim_type.param, 0, made.dim(isl.dim_type.param)).foreach_point(add)
        return frozenset(found)


class _Operation(Enum):
    """An operation on two sets."""

    UNION = "union"
    DIFFERENCE = "subtract"
    INTERSECTION = "intersect"


@lru_cache(maxsize=REMEMBERED)
def _combination(one: str, other: str, operation: _Operation) -> tuple[str, tuple[str, ...]]:
    """Text and parameters of a set made of two; raises UndecidedError."""
    context = fresh_context()
    try:
        made = isl.Set(one, context), isl.Set(other, context)
        return text_of(getattr(made[0], operation.value)(made[1]))
    except isl.Error as error:
        raise UndecidedError(str(error)) from error


@lru_cache(maxsize=REMEMBERED)
def _is_empty(text: str) -> bool:
    try:
        return bool(isl.Set(text, fresh_context()).is_empty())
    except isl.Error:
        return False


@lru_cache(maxsize=REMEMBERED)
def _is_subset(one: str, other: str) -> bool:
    context = fresh_context()
    try:
        return bool(isl.Set(one, context).is_subset(isl.Set(other, context)))
    except isl.Error:
        return False


@lru_cache(maxsize=REMEMBERED)
def _parts(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Texts and parameters of sets without gaps that make up one; raises UndecidedError."""
    try:
        found = isl.Set(text, fresh_context()).coalesce().get_basic_sets()
        parts = [isl.Set.from_basic_set(basic) for basic in found]
        return tuple(map(text_of, parts))
    except isl.Error as error:
        raise UndecidedError(str(error)) from error


def _tuple(rank: int) -> str:
    return ", ".join(f"e{number}" for number in range(rank))


_Factors = tuple[tuple[str, int], ...]
"""The terms of an affine expression: parameters, or '' for the constant, with coefficients."""


@lru_cache(maxsize=REMEMBERED)
def _ends(text: str, rank: int) -> tuple[_Factors | None, ...]:
    """The least and the greatest index of each dimension, where they are affine."""
    ends: list[_Factors | None] = []
    try:
        made = isl.Set(text, fresh_context())
        for dimension in range(rank):
            ends += (_single(made, dimension, upper=upper) for upper in (False, True))
    except isl.Error:
        return (None, None) * rank
    return tuple(ends)


def _single(made: isl.Set, dimension: int, *, upper: bool) -> _Factors | None:
    """The least or greatest index of a dimension, where it is one affine expression."""
    bounded = made.dim_has_upper_bound if upper else made.dim_has_lower_bound
    if not bounded(isl.dim_type.set, dimension):
        return None
    ends = made.dim_max(dimension) if upper else made.dim_min(dimension)
    pieces = ends.get_pieces()
    if len(pieces) != 1:
        return None
    _, affine = pieces[0]
    if affine.dim(isl.dim_type.div) or affine.get_denominator_val().to_python() != 1:
        return None
    found = [("", int(affine.get_constant_val().to_python()))]
    for number, name in enumerate(parameter_names(made)):
        value = affine.get_coefficient_val(isl.dim_type.param, number).to_python()
        found.append((name, int(value)))
    return tuple(found)


@lru_cache(maxsize=REMEMBERED)
def _projected(text: str, names: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Text and parameters of a set for any value of some parameters; raises UndecidedError."""
    try:
        made = isl.Set(text, fresh_context())
        for name in names:
            position = made.find_dim_by_name(isl.dim_type.param, name)
            if position >= 0:
                made = made.project_out(isl.dim_type.param, position, 1)
        return text_of(made)
    except isl.Error as error:
        raise UndecidedError(str(error)) from error


@lru_cache(maxsize=REMEMBERED)
def _parameters(text: str) -> tuple[tuple[str, bool], ...]:
    """The parameters of a set, each with whether it matters; raises UndecidedError."""
    try:
        made = isl.Set(text, fresh_context())
        return tuple(
            (name, made.involves_dims(isl.dim_type.param, number, 1))
            for number, name in enumerate(parameter_names(made))
        )
    except isl.Error as error:
        raise UndecidedError(str(error)) from error


@lru_cache(maxsize=REMEMBERED)
def _image(
    text: str, rank: int, other: int, parameters: tuple[str, ...], body: str
) -> tuple[str, tuple[str, ...]]:
    """Text and parameters of the elements, with ``other`` indices, to which ``body`` relates those
    of a set, whose own parameters are ``q0``, ``q1`` ... there; raises UndecidedError."""
    try:
        made = isl.Set(text, fresh_context())
        own = [f"q{number}" for number, _ in enumerate(parameter_names(made))]
        for number, name in enumerate(own):
            made = made.set_dim_name(isl.dim_type.param, number, name)
        inside = ", ".join([*own, *parameters])
        domain = ", ".join(f"d{number}" for number in range(rank))
        mapped = isl.Map(
            f"[{inside}] -> {{ [{domain}] -> [{_tuple(other)}] : {body} }}", made.get_ctx()
        )
        found = mapped.intersect_domain(made).range()
        for name in own:
            position = found.find_dim_by_name(isl.dim_type.param, name)
            if position >= 0:
                found = found.project_out(isl.dim_type.param, position, 1)
        return text_of(found)
    except isl.Error as error:
        raise UndecidedError(str(error)) from error
