"""Integer sets: the one place where isl is used.

A *problem* is a conjunction of affine constraints over integer variables and symbolic parameters;
``sample`` answers whether it has a solution.  *Elements* are a set of index tuples of one array,
described over symbolic parameters: a region as a value, with union, difference, projection and
image.  What isl cannot decide within its budget is ``UndecidedError``, which every caller must
treat as "not proved".
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache, lru_cache

import islpy as isl

from asphalt.analysis.algebra import Monomial, Poly
from asphalt.ir.expr import Expr, Ref

_BUDGET = 200_000  # isl operations for one question
_LARGEST = 24  # basic sets in one region
_REMEMBERED = 20_000  # answers

Parameters = tuple[tuple[str, Monomial], ...]


class UndecidedError(Exception):
    """isl ran out of its budget: nothing is proved."""


@cache
def _shared_context() -> isl.Context:
    """One context: those that islpy makes are never quite freed."""
    return isl.Context()


def _context() -> isl.Context:
    """Where isl works on one question, with its budget anew."""
    context = _shared_context()
    context.reset_operations()
    context.set_max_operations(_BUDGET)
    return context


@dataclass(slots=True)
class Affine:
    """Turns polynomials into isl text over named parameters, and remembers what they mean.

    ``varying`` are the variables of loops: a product with one of them is not affine.  The name of a
    parameter follows from its meaning, so that parameters of different sets are the same if they
    mean the same.
    """

    varying: frozenset[str] = frozenset()
    parameters: dict[str, Monomial] = field(default_factory=dict)

    def text(self, poly: Poly) -> str | None:
        """The polynomial as isl text; None: not affine."""
        parts = ["0"]
        for monomial, coefficient in sorted(poly.terms, key=repr):
            if not monomial:
                parts.append(str(coefficient))
                continue
            if len(monomial) > 1 and any(self._varies(atom) for atom in monomial):
                return None
            parts.append(f"{coefficient}*{self.name(monomial)}")
        return " + ".join(parts)

    def _varies(self, atom: Expr) -> bool:
        return isinstance(atom, Ref) and atom.args is None and atom.name in self.varying

    def name(self, monomial: Monomial) -> str:
        """The name of the parameter that stands for a product of atoms."""
        name = "p" + hashlib.blake2b(repr(monomial).encode(), digest_size=8).hexdigest()
        self.parameters[name] = monomial
        return name


@dataclass(frozen=True, slots=True)
class Elements:
    """A set of index tuples of an array of ``rank`` dimensions (``e0``, ``e1`` ... in ``text``).

    ``parameters`` says what the parameters in ``text`` stand for.  ``exact``: the set is what it
    describes; else it has more than that, or less: who made it says which.
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
        text, used = _combination(self.text, other.text, operation)
        meaning = {**dict(self.parameters), **dict(other.parameters)}
        parameters = tuple(sorted((name, meaning[name]) for name in used))
        return Elements(self.rank, text, parameters, exact)

    def _made(
        self, made: isl.Set, meaning: Mapping[str, Monomial], exact: bool, rank: int | None = None
    ) -> Elements:
        text, used = _text_of(made)
        parameters = tuple(sorted((name, meaning[name]) for name in used))
        return Elements(self.rank if rank is None else rank, text, parameters, exact)

    def restricted(self, constraints: Iterable[str], affine: Affine) -> Elements:
        """Those elements for which constraints over indices and parameters hold, too."""
        return self.intersection(Elements.where(self.rank, constraints, affine))

    def project(self, monomials: Iterable[Monomial]) -> Elements:
        """The elements for any value of some parameters; raises UndecidedError."""
        gone = set(monomials)
        names = [name for name, meaning in self.parameters if meaning in gone]
        if not names:
            return self
        try:
            made = isl.Set(self.text, _context())
            for name in names:
                position = made.find_dim_by_name(isl.dim_type.param, name)
                if position >= 0:
                    made = made.project_out(isl.dim_type.param, position, 1)
            return self._made(made, dict(self.parameters), self.exact)
        except isl.Error as error:
            raise UndecidedError(str(error)) from error

    def renamed(self, before: Monomial, after: Monomial) -> Elements:
        """The same with one parameter standing for something else, which must not occur yet."""
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
        try:
            made = isl.Set(self.text, _context())
            equal: list[str] = []
            names = _parameter_names(made)
            meaning = dict(self.parameters)
            for number, name in enumerate(names):
                made = made.set_dim_name(isl.dim_type.param, number, f"q{number}")
                value = values.get(meaning[name])
                text = None if value is None else affine.text(value)
                if text is not None:
                    equal.append(f"q{number} = {text}")
                elif exact and made.involves_dims(isl.dim_type.param, number, 1):
                    return None
            inside = ", ".join(
                [*(f"q{number}" for number in range(len(names))), *affine.parameters]
            )
            domain = ", ".join(f"d{number}" for number in range(self.rank))
            body = " and ".join([*relation, *equal]) or "1 = 1"
            mapped = isl.Map(
                f"[{inside}] -> {{ [{domain}] -> [{_tuple(rank)}] : {body} }}", made.get_ctx()
            )
            found = mapped.intersect_domain(made).range()
            known = all(values.get(meaning[name]) is not None for name in names)
            for number in range(len(names)):
                position = found.find_dim_by_name(isl.dim_type.param, f"q{number}")
                if position >= 0:
                    found = found.project_out(isl.dim_type.param, position, 1)
            return self._made(found, affine.parameters, self.exact and known, rank)
        except isl.Error as error:
            raise UndecidedError(str(error)) from error

    def parts(self) -> tuple[Elements, ...]:
        """Sets that make up this one, each without gaps; raises UndecidedError."""
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

    def box(self) -> tuple[tuple[Poly | None, Poly | None], ...]:
        """The least and the greatest index in each dimension, where they are one polynomial each
        (for sets that are not empty)."""
        context = _context()
        meaning = dict(self.parameters)
        ends: list[tuple[Poly | None, Poly | None]] = []
        try:
            made = isl.Set(self.text, context)
            for dimension in range(self.rank):
                ends.append(
                    (
                        _single(made, dimension, meaning, upper=False),
                        _single(made, dimension, meaning, upper=True),
                    )
                )
        except isl.Error:
            return ((None, None),) * self.rank
        return tuple(ends)

    def within(
        self, limits: Sequence[tuple[int, int]], values: Mapping[Monomial, int]
    ) -> frozenset[tuple[int, ...]]:
        """The elements between limits of each index when the parameters have these values."""
        made = isl.Set(self.text, _context())
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
    """What becomes of two sets."""

    UNION = "union"
    DIFFERENCE = "subtract"
    INTERSECTION = "intersect"


@lru_cache(maxsize=_REMEMBERED)
def _combination(one: str, other: str, operation: _Operation) -> tuple[str, tuple[str, ...]]:
    """Text and parameters of a set made of two; raises UndecidedError."""
    context = _context()
    try:
        made = isl.Set(one, context), isl.Set(other, context)
        return _text_of(getattr(made[0], operation.value)(made[1]))
    except isl.Error as error:
        raise UndecidedError(str(error)) from error


def _text_of(made: isl.Set) -> tuple[str, tuple[str, ...]]:
    """A set as text, and its parameters; raises UndecidedError."""
    made = made.coalesce()
    if made.n_basic_set() > _LARGEST:
        raise UndecidedError("the region has too many parts")
    return str(made), tuple(_parameter_names(made))


@lru_cache(maxsize=_REMEMBERED)
def _is_empty(text: str) -> bool:
    try:
        return bool(isl.Set(text, _context()).is_empty())
    except isl.Error:
        return False


@lru_cache(maxsize=_REMEMBERED)
def _is_subset(one: str, other: str) -> bool:
    context = _context()
    try:
        return bool(isl.Set(one, context).is_subset(isl.Set(other, context)))
    except isl.Error:
        return False


def _parameter_names(made: isl.Set) -> list[str]:
    return [name or "" for name in made.get_var_names(isl.dim_type.param)]


def _tuple(rank: int) -> str:
    return ", ".join(f"e{number}" for number in range(rank))


def _single(
    made: isl.Set, dimension: int, meaning: Mapping[str, Monomial], *, upper: bool
) -> Poly | None:
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
    total = Poly.constant(int(affine.get_constant_val().to_python()))
    for number, name in enumerate(_parameter_names(made)):
        coefficient = int(affine.get_coefficient_val(isl.dim_type.param, number).to_python())
        total = total + Poly.of({meaning[name]: coefficient})
    return total


@dataclass(slots=True)
class Problem:
    """Affine constraints over named integer variables.

    Variables are named freely by the caller; atoms of polynomials that are not variables become
    parameters.  A constraint that is not affine is left out by ``add``, which says so: leaving out
    makes the set larger, which is sound wherever an empty set is what proves something.
    """

    variables: dict[str, str] = field(default_factory=dict)
    _parameters: dict[Expr | str, str] = field(default_factory=dict)
    _meanings: list[Monomial] = field(default_factory=list)
    _constraints: list[str] = field(default_factory=list)
    _preferred: list[str] = field(default_factory=list)
    _members: list[tuple[tuple[str, ...], Elements, dict[str, str]]] = field(default_factory=list)

    def variable(self, name: str) -> str:
        """Declare a variable; gives the name it has inside (isl reserves some words)."""
        return self.variables.setdefault(name, f"v{len(self.variables)}")

    def affine(self, poly: Poly, bound: Mapping[Expr, str]) -> str | None:
        """The polynomial as isl text, with the atoms in ``bound`` as variables.

        A product without bound atoms is a parameter of its own.  None: not affine.
        """
        parts = ["0"]
        for monomial, coefficient in sorted(poly.terms, key=repr):
            inside = [atom for atom in monomial if atom in bound]
            if not monomial:
                parts.append(str(coefficient))
            elif not inside:
                parts.append(f"{coefficient}*{self._parameter(monomial)}")
            elif len(monomial) == 1:
                parts.append(f"{coefficient}*{self.variable(bound[monomial[0]])}")
            else:
                return None
        return " + ".join(parts)

    def _parameter(self, monomial: Monomial) -> str:
        key: Expr | str = monomial[0] if len(monomial) == 1 else repr(monomial)
        if key not in self._parameters:
            self._parameters[key] = f"p{len(self._parameters)}"
            self._meanings.append(monomial)
            self._preferred.append(f"1 <= {self._parameters[key]} <= 6")
        return self._parameters[key]

    def add(self, left: Poly, relation: str, right: Poly, bound: Mapping[Expr, str]) -> bool:
        """Add ``left relation right`` (``= < <= > >=``); False: not affine, left out."""
        text = self.affine(left - right, bound)
        if text is None:
            return False
        self._constraints.append(f"{text} {relation} 0")
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
        self._constraints.append(
            f"{self.variable(left)} {relation} {self.variable(right)} + {offset}"
        )

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

        Small parameters are preferred, for the reader's sake.  Raises UndecidedError.
        """
        solution = self._solve([*self._constraints, *self._preferred])
        return solution if solution is not None else self._solve(self._constraints)

    def values_of(self, names: Sequence[str]) -> Elements:
        """The values that some variables have in all solutions; raises UndecidedError."""
        wanted = tuple(self.variable(name) for name in names)
        affine = Affine()
        meanings = tuple(affine.name(monomial) for monomial in self._meanings)
        text, used = _values(
            self._unknowns(), tuple(self._constraints), self._regions(), meanings, wanted
        )
        parameters = tuple(sorted((name, affine.parameters[name]) for name in used))
        return Elements(len(names), text, parameters)

    def _solve(self, constraints: Sequence[str]) -> dict[str, int] | None:
        point = _sample(self._unknowns(), tuple(constraints), self._regions())
        if point is None:
            return None
        values = dict(zip(self._unknowns(), point, strict=True))
        return {name: values[inside] for name, inside in self.variables.items()}

    def _unknowns(self) -> tuple[str, ...]:
        return (*self._parameters.values(), *self.variables.values())

    def _regions(self) -> tuple[_Member, ...]:
        return tuple(
            _Member(indices, elements.rank, elements.text, tuple(arguments.items()))
            for indices, elements, arguments in self._members
        )


@dataclass(frozen=True, slots=True)
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


@lru_cache(maxsize=_REMEMBERED)
def _sample(
    unknowns: tuple[str, ...], constraints: tuple[str, ...], members: tuple[_Member, ...]
) -> tuple[int, ...] | None:
    """A solution, the values of the unknowns in order; None: there is none.

    The same question comes again and again where one program is transformed step by step.
    """
    try:
        found = _solutions(unknowns, constraints, members, _context())
        if found.is_empty():
            return None
        point = found.sample_point()
        return tuple(
            int(point.get_coordinate_val(isl.dim_type.set, i).to_python())
            for i, _ in enumerate(unknowns)
        )
    except isl.Error as error:
        raise UndecidedError(str(error)) from error


@lru_cache(maxsize=_REMEMBERED)
def _parts(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Texts and parameters of sets without gaps that make up one; raises UndecidedError."""
    try:
        found = isl.Set(text, _context()).coalesce().get_basic_sets()
        parts = [isl.Set.from_basic_set(basic) for basic in found]
        return tuple(map(_text_of, parts))
    except isl.Error as error:
        raise UndecidedError(str(error)) from error


@lru_cache(maxsize=_REMEMBERED)
def _values(
    unknowns: tuple[str, ...],
    constraints: tuple[str, ...],
    members: tuple[_Member, ...],
    meanings: tuple[str, ...],
    wanted: tuple[str, ...],
) -> tuple[str, tuple[str, ...]]:
    """The values of some unknowns in all solutions as a text, and the names of its parameters:
    of the first unknowns, which ``meanings`` names; raises UndecidedError."""
    context = _context()
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
        return _text_of(made)
    except isl.Error as error:
        raise UndecidedError(str(error)) from error


def _over_arguments(
    elements: _Member, arguments: Mapping[str, str], context: isl.Context
) -> isl.Set:
    """A region as a set of indices followed by the parameters that have arguments, in order."""
    made = isl.Set(elements.text, context)
    for name in _parameter_names(made):
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
