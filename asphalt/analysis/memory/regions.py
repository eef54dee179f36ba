"""Array regions of loop nests, as integer sets.

Every question asks for a *violation*.  Sets are over-approximated (they ignore a bound or subscript
that is not affine), so that "no violation" is a proof, but "a violation" only a reason to refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace

from asphalt.analysis.memory.accesses import Access
from asphalt.analysis.memory.affine_guards import (
    conditions_around,
    extremes,
    greatest_above,
    is_integer,
)
from asphalt.analysis.memory.forward_substitution import Values
from asphalt.analysis.memory.inquiries import in_stated_bounds
from asphalt.analysis.memory.invariant_frame import Frame, Standpoint
from asphalt.analysis.memory.invariant_frame import loop_variable as loop_variable
from asphalt.analysis.memory.iteration_values import written_out
from asphalt.analysis.symbolic.index_sets import Elements
from asphalt.analysis.symbolic.isl import UndecidedError
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.symbolic.problem import AffineProblem
from asphalt.ir.expr import Expr, Lit, Ref, Section, names_in
from asphalt.ir.records import record
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Do, Leaf

_ONE = Lit("integer", "1")


@record
class Violation:
    """A counterexample: the values of the loop variables by name, or none if isl finds none."""

    point: Mapping[str, int] | None


@record
class Region:
    """The nests that are analysed together.

    ``start`` is their first statement; ``changing`` are the storages that they may write.
    ``writes``: these accesses; None: not given, so that nothing is known of components.
    ``limits``: polynomials with others that are known not to exceed them (see
    ``dependence.size_limits``).
    """

    values: Values
    start: Leaf
    changing: frozenset[str]
    writes: tuple[Access, ...] | None = None
    limits: tuple[tuple[Poly, Poly], ...] = ()
    _known: dict[tuple[int, ...], tuple[Expr, tuple[Do, ...], Poly | None]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _written_out: dict[tuple[int, int], tuple[Expr, Leaf, Expr]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _parts: dict[int, tuple[Access, Elements | None]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def with_limits(self, limits: Iterable[tuple[Poly, Poly]]) -> Region:
        """The region with more limits."""
        return replace(self, limits=(*self.limits, *limits))

    def names_in_part(self, access: Access) -> frozenset[str]:
        """The names on which the elements depend that a called procedure accesses, and the bounds
        of their array."""
        if access.part is None:
            return frozenset()
        here = self.here(access.loops)
        touched = access.part.touched(here)
        atoms = [atom for _, meant in touched.parameters for atom in meant]
        shape = None if access.part.passed is None else here.shape(access.part.passed)
        for limit in () if shape is None else (*shape.lower, *shape.extent):
            atoms += () if limit is None else limit.atoms
        return frozenset(name for atom in atoms for name in names_in(atom))

    def value(self, expr: Expr, loops: tuple[Do, ...]) -> Poly | None:
        """The value of an expression inside ``loops``: a polynomial over their variables and over
        what is invariant in the region; None if it contains anything else."""
        key = id(expr), *map(id, loops)
        if key not in self._known:  # what is asked is kept, so that no other gets its identity
            frame = Frame(self.values, self.changing, self.writes)
            self._known[key] = expr, loops, frame.value(expr, self.start, loops)
        return self._known[key][2]

    def value_at(self, expr: Expr, at: Leaf, loops: tuple[Do, ...]) -> Poly | None:
        """The value that an expression has at a statement inside ``loops`` (see ``value``); the
        same iteration may have set variables in it, before the statement."""
        known = self.value(expr, loops)
        if known is not None:
            return known
        key = id(expr), id(at)
        if key not in self._written_out:
            self._written_out[key] = expr, at, written_out(expr, at, self.values)
        return self.value(self._written_out[key][2], loops)

    def here(self, loops: tuple[Do, ...]) -> Standpoint:
        """The start of the region, inside ``loops``."""
        frame = Frame(self.values, self.changing, self.writes)
        return Standpoint(frame, self.start, loops, products=True)

    def _enter(
        self, problem: AffineProblem, access: Access, suffix: str, free: Do | None = None
    ) -> dict[Expr, str]:
        """Declare the loop variables of an access and bound them; return the variable of each atom.

        The variable of the loop ``free`` has no bounds.
        """
        bound: dict[Expr, str] = {}
        for depth, loop in enumerate(access.loops):
            head = loop.head.what
            name = loop_variable(loop)
            if name is None or not isinstance(head, DoHead):
                continue
            outer = access.loops[:depth]
            atom = Ref(name, name)
            step = None if head.step is None else self.value_at(head.step, loop.head, ())
            direction = 1 if head.step is None else (step.value if step is not None else None)
            bounds = (
                (head.first, ">=" if (direction or 0) > 0 else "<="),
                (head.last, "<=" if (direction or 0) > 0 else ">="),
            )
            bound[atom] = f"{name}{suffix}"
            problem.variable(bound[atom])
            if not direction or loop is free:
                continue
            for limit, relation in bounds:
                parts = extremes(limit, relation)
                if relation == "<=":
                    parts += greatest_above(limit, loop.head, self.values)
                for part in parts:
                    poly = self.value_at(part, loop.head, outer)
                    if poly is not None:
                        problem.add(Poly.atom(atom), relation, poly, bound)
            first = None if head.first is None else self.value_at(head.first, loop.head, outer)
            if first is not None:
                problem.stride(Poly.atom(atom) - first, direction, bound)
        for relation, left, right, outer in conditions_around(access):
            if not all(is_integer(side, self.values.scope) for side in (left, right)):
                continue
            one, other = self.value(left, outer), self.value(right, outer)
            if one is not None and other is not None:
                problem.add(one, relation, other, bound)
        return bound

    def _element(
        self,
        problem: AffineProblem,
        access: Access,
        bound: Mapping[Expr, str],
        names: tuple[str, ...],
    ) -> None:
        """Constrain the element variables ``names`` to the region of the access."""
        region = self._touched(access)
        if region is not None and region.rank == len(names):
            problem.member(names, region, bound)
        if access.subscripts is None or len(access.subscripts) != len(names):
            return
        for subscript, name in zip(access.subscripts, names, strict=True):
            atom = Ref(f"element {name}", name)
            both = {**bound, atom: name}
            problem.variable(name)
            limits: tuple[tuple[Expr | None, str], ...] = _scalar(subscript)
            if isinstance(subscript, Section):
                limits = self._section(problem, access, subscript, atom, both)
            for limit, relation in limits:
                poly = None if limit is None else self.value_at(limit, access.leaf, access.loops)
                if poly is not None:
                    poly = in_stated_bounds(poly, access, self.values)
                    problem.add(Poly.atom(atom), relation, poly, both)

    def _section(
        self,
        problem: AffineProblem,
        access: Access,
        section: Section,
        index: Expr,
        bound: Mapping[Expr, str],
    ) -> tuple[tuple[Expr | None, str], ...]:
        """The limits of the index of a section; its stride becomes a constraint of the problem."""
        step = 1
        if section.stride is not None:
            stride = self.value_at(section.stride, access.leaf, access.loops)
            if stride is None or not stride.value:
                return ()
            step = stride.value
        lower = section.lower
        first = None if lower is None else self.value_at(lower, access.leaf, access.loops)
        if first is not None:
            problem.stride(Poly.atom(index) - first, step, bound)
        up, down = (section.lower, section.upper)[:: 1 if step > 0 else -1]
        return ((up, ">="), (down, "<="))

    def refined(self, access: Access) -> Access:
        """An access of a called procedure, with subscripts that cover its region if its limits are
        known."""
        if access.part is None or access.subscripts is not None:
            return access
        region = access.part.touched(self.here(access.loops))
        ends = region.box()
        inside = self._stays_in_bounds(access, region)
        subscripts: list[Expr | Section] = []
        for low, high in ends:
            if low is not None and low == high:
                subscripts.append(low.expression())
            elif low is not None and high is not None:
                subscripts.append(Section(low.expression(), high.expression(), None))
            elif inside:
                subscripts.append(Section(None, None, None))
            else:
                return access
        colon = Section(None, None, None)
        if all(subscript == colon for subscript in subscripts):
            return access
        return replace(access, subscripts=tuple(subscripts))

    def _touched(self, access: Access) -> Elements | None:
        """The region of an access of a called procedure, as far as its indices denote elements."""
        if access.part is None:
            return None
        known = self._parts.get(id(access))
        if known is None:
            region = access.part.touched(self.here(access.loops))
            inside = not region.is_all and self._stays_in_bounds(access, region)
            known = self._parts[id(access)] = access, region if inside else None
        return known[1]

    def _stays_in_bounds(self, access: Access, region: Elements) -> bool:
        """Whether every index is in its dimension (in the last one, not below its lower bound)."""
        assert access.part is not None
        if access.part.passed is None:
            return True
        shape = self.here(access.loops).shape(access.part.passed)
        if shape is None or shape.rank != region.rank:
            return False
        names = tuple(f"subscript {i + 1}" for i in range(region.rank))
        for name, lower, extent in zip(names[:-1], shape.lower, shape.extent, strict=False):
            if extent is None:
                return False
            index = Ref("index", "index")
            upper = lower + extent - Poly.constant(1)
            for relation, limit in (("<", lower), (">", upper)):
                problem = AffineProblem()
                for greater, less in self.limits:
                    problem.add(greater, ">=", less, {})
                bound = {**self._enter(problem, access, ""), index: name}
                problem.member(names, region, bound)
                if not problem.add(Poly.atom(index), relation, limit, bound):
                    return False
                if _answer(problem) is not None:
                    return False
        return True

    def _rank(self, access: Access) -> int | None:
        """The number of indices that are known of an access; None: the whole, or unknown."""
        if access.subscripts is not None:
            return len(access.subscripts)
        region = self._touched(access)
        return None if region is None else region.rank

    def write_elsewhere(
        self,
        write: Access,
        tiled: Do,
        dimension: int,
        offset: Poly,
        relation: str,
        distance: int | None = None,
    ) -> Violation | None:
        """An iteration of ``tiled`` that writes an element which another iteration sends.

        The writing iteration is before (``relation`` is ``<``) or after (``>``) the sending one.
        With a ``distance`` it must be further away than that, and the bounds of ``tiled`` are
        ignored: a distance that depends on the trip count does not count.

        Element ``e`` is sent in the iteration in which the loop variable is ``e(dimension) -
        offset``.
        """
        problem = AffineProblem()
        bound = self._enter(problem, write, "", None if distance is None else tiled)
        rank = self._rank(write) or 0
        names = tuple(f"subscript {i + 1}" for i in range(max(rank, dimension + 1)))
        self._element(problem, write, bound, names)
        variable = loop_variable(tiled)
        assert variable is not None
        element, sender = Ref("element", "element"), Ref("sender", "sender")
        problem.add(
            Poly.atom(element) - offset,
            "=",
            Poly.atom(sender),
            {element: names[dimension], sender: "sent with"},
        )
        away = distance or 0
        problem.compare(variable, relation, "sent with", away if relation == ">" else -away)
        return _answer(problem)

    def out_of_bounds(
        self, access: Access, dimension: int, lower: Poly, upper: Poly
    ) -> Violation | None:
        """An iteration in which a subscript is outside of its dimension."""
        assert access.subscripts is not None
        subscript = access.subscripts[dimension]
        for relation, limit in (("<", lower), (">", upper)):
            for side in _sides(subscript, relation):
                # a MIN is above the limit only if all of its arguments are
                parts = extremes(side, "<=" if relation == ">" else ">=")
                answers = [self._outside(access, part, relation, limit) for part in parts]
                if None not in answers:
                    return answers[0]
        return None

    def _outside(self, access: Access, side: Expr, relation: str, limit: Poly) -> Violation | None:
        problem = AffineProblem()
        bound = self._enter(problem, access, "")
        poly = self.value_at(side, access.leaf, access.loops)
        if poly is None or not problem.add(poly, relation, limit, bound):
            return Violation(None)
        return _answer(problem)

    def conflict(
        self,
        first: Access,
        second: Access,
        order: Callable[[AffineProblem, Mapping[str, str], Mapping[str, str]], None],
    ) -> Violation | None:
        """An element that both accesses touch, in iterations for which ``order`` holds.

        ``order`` adds constraints between the loop variables of the two accesses; its arguments
        give, for each access, the variable of the problem by loop variable.
        """
        problem, one, two = self._meeting(first, second)
        order(problem, one, two)
        return _answer(problem)

    def elements(self, access: Access) -> Elements:
        """A superset of the elements that an access touches; raises UndecidedError."""
        assert access.subscripts is not None
        problem = AffineProblem()
        names = tuple(f"subscript {i + 1}" for i in range(len(access.subscripts)))
        self._element(problem, access, self._enter(problem, access, ""), names)
        return problem.values_of(names)

    def iterations_of_conflicts(
        self, first: Access, second: Access, variables: tuple[str, ...]
    ) -> Elements:
        """A superset of the values of loop variables around ``second`` with which it accesses an
        element that ``first`` accesses in some iteration; raises UndecidedError."""
        problem, _, two = self._meeting(first, second)
        return problem.values_of([two.get(name, name) for name in variables])

    def _meeting(
        self, first: Access, second: Access
    ) -> tuple[AffineProblem, dict[str, str], dict[str, str]]:
        """The problem of a common element of two accesses; for each, the variables by loop
        variable."""
        if first.named is not None and first.named == second.named:
            # one target, or one pointer, which keeps its own: its elements are those of one array
            first, second = (replace(a, subscripts=a.inside) for a in (first, second))
        problem = AffineProblem()
        for greater, less in self.limits:
            problem.add(greater, ">=", less, {})
        one = self._enter(problem, first, " then")
        two = self._enter(problem, second, " later")
        ranks = self._rank(first), self._rank(second)
        if first.path == second.path and ranks[0] is not None and ranks[0] == ranks[1]:
            names = tuple(f"subscript {i + 1}" for i in range(ranks[0]))
            self._element(problem, first, one, names)
            self._element(problem, second, two, names)
        return problem, _by_name(one), _by_name(two)


def _by_name(bound: Mapping[Expr, str]) -> dict[str, str]:
    return {atom.name: name for atom, name in bound.items() if isinstance(atom, Ref)}


def _scalar(subscript: Expr | Section) -> tuple[tuple[Expr, str], ...]:
    """What is known of one element: a MAX is at least each of its arguments, a MIN at most."""
    if isinstance(subscript, Section):
        return ()
    least = [(part, ">=") for part in extremes(subscript, ">=") if part != subscript]
    most = [(part, "<=") for part in extremes(subscript, "<=") if part != subscript]
    return ((subscript, "="), *least, *most)


def _sides(subscript: Expr | Section, relation: str) -> tuple[Expr, ...]:
    """The part of a subscript that may be below (``<``) or above (``>``) its dimension: not an open
    end of a section, which is the bound of the dimension itself."""
    if not isinstance(subscript, Section):
        # a MAX is above the limit if one of its arguments is
        parts = extremes(subscript, ">=" if relation == ">" else "<=")
        return parts[1:] or parts
    ends: tuple[Expr | None, ...] = (subscript.lower, subscript.upper)
    if subscript.stride is None:  # with a stride it may run downwards
        ends = ends[:1] if relation == "<" else ends[1:]
    return tuple(end for end in ends if end is not None)


def _answer(problem: AffineProblem) -> Violation | None:
    try:
        point = problem.sample()
    except UndecidedError:
        return Violation(None)
    return None if point is None else Violation(point)


@record
class Bounds:
    """The bounds of a loop, as polynomials that hold before the region; direction +1 or -1."""

    first: Poly
    last: Poly
    direction: int


def loop_bounds(loop: Do, region: Region) -> Bounds | None:
    """The bounds of a loop with step 1 or -1 if they are invariant in the region."""
    head = loop.head.what
    if not isinstance(head, DoHead) or head.first is None or head.last is None:
        return None
    step = 1
    if head.step is not None:
        value = region.value(head.step, ())
        if value is None or value.value not in (1, -1):
            return None
        step = value.value
    first, last = region.value(head.first, ()), region.value(head.last, ())
    if first is None or last is None:
        return None
    return Bounds(first, last, step)
