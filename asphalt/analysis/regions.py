"""Which elements the accesses of loop nests touch, as questions to integer sets.

Every question asks for a *violation*; sets are over-approximated (a bound or a subscript that is
not affine is left out), so "no violation" is a proof and "a violation" is only a reason to refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from asphalt.analysis.access import Access
from asphalt.analysis.algebra import Poly
from asphalt.analysis.intrinsics import is_inquiry
from asphalt.analysis.kinds import storage_of
from asphalt.analysis.sets import Problem, UndecidedError
from asphalt.analysis.values import Values
from asphalt.ir.expr import Component, Expr, Lit, OpaqueExpr, Ref, Section, walk
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Do, Leaf

_ONE = Lit("integer", "1")


@dataclass(frozen=True, slots=True)
class Violation:
    """A concrete counterexample: values of the loop variables by name, or none that isl found."""

    point: Mapping[str, int] | None


def loop_variable(loop: Do) -> str | None:
    """The folded variable of a counted DO loop."""
    head = loop.head.what
    if isinstance(head, DoHead) and head.kind == "count" and isinstance(head.var, Ref):
        return head.var.name
    return None


@dataclass(frozen=True, slots=True)
class Region:
    """The nests that are looked at together.

    ``start`` is the first statement of them; ``changing`` are the storages that they may write.
    """

    values: Values
    start: Leaf
    changing: frozenset[str]

    def value(self, expr: Expr, loops: tuple[Do, ...]) -> Poly | None:
        """The value of an expression inside ``loops``: a polynomial over their variables and
        over what does not change in the region; None if something in it changes otherwise."""
        variables = {loop_variable(loop) for loop in loops}
        poly = self.values.polynomial(expr, self.start)
        scope = self.values.scope
        for atom in poly.atoms:
            if isinstance(atom, Ref) and atom.args is None and atom.name in variables:
                continue
            for part in walk(atom):
                if isinstance(part, OpaqueExpr | Component):
                    return None
                if not isinstance(part, Ref):
                    continue
                if part.name in variables or storage_of(part.name, scope) in self.changing:
                    return None
                symbol = scope.lookup(part.name)
                whole = part.args is None and symbol is not None and symbol.dims is not None
                if whole and not _is_inquiry_argument(atom, part):
                    return None
        return poly

    def _enter(self, problem: Problem, access: Access, suffix: str) -> dict[Expr, str]:
        """Declare the loop variables of an access and bound them; gives atom -> variable."""
        bound: dict[Expr, str] = {}
        for depth, loop in enumerate(access.loops):
            head = loop.head.what
            name = loop_variable(loop)
            if name is None or not isinstance(head, DoHead):
                continue
            outer = access.loops[:depth]
            atom = Ref(name, name)
            step = None if head.step is None else self.value(head.step, ())
            direction = 1 if head.step is None else (step.value if step is not None else None)
            bounds = (
                (head.first, ">=" if (direction or 0) > 0 else "<="),
                (head.last, "<=" if (direction or 0) > 0 else ">="),
            )
            bound[atom] = f"{name}{suffix}"
            problem.variable(bound[atom])
            if not direction:
                continue
            for limit, relation in bounds:
                poly = None if limit is None else self.value(limit, outer)
                if poly is not None:
                    problem.add(Poly.atom(atom), relation, poly, bound)
        return bound

    def _element(
        self, problem: Problem, access: Access, bound: Mapping[Expr, str], names: tuple[str, ...]
    ) -> None:
        """Constrain the element variables ``names`` to what the access touches."""
        if access.subscripts is None or len(access.subscripts) != len(names):
            return
        for subscript, name in zip(access.subscripts, names, strict=True):
            atom = Ref(f"element {name}", name)
            both = {**bound, atom: name}
            problem.variable(name)
            limits: tuple[tuple[Expr | None, str], ...] = ((_scalar(subscript), "="),)
            if isinstance(subscript, Section):
                limits = ((subscript.lower, ">="), (subscript.upper, "<="))
                if subscript.stride is not None and subscript.stride != _ONE:
                    limits = ()
            for limit, relation in limits:
                poly = None if limit is None else self.value(limit, access.loops)
                if poly is not None:
                    problem.add(Poly.atom(atom), relation, poly, both)

    def write_elsewhere(
        self, write: Access, tiled: Do, dimension: int, offset: Poly, relation: str
    ) -> Violation | None:
        """An iteration of ``tiled`` that writes an element which another iteration sends.

        ``relation`` (``<`` or ``>``) says how the variable of the writing iteration lies to that of
        the sending one.

        Element ``e`` is sent with the iteration in which the loop variable is
        ``e(dimension) - offset``.
        """
        problem = Problem()
        bound = self._enter(problem, write, "")
        rank = 0 if write.subscripts is None else len(write.subscripts)
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
        problem.compare(variable, relation, "sent with")
        return _answer(problem)

    def out_of_bounds(
        self, access: Access, dimension: int, lower: Poly, upper: Poly
    ) -> Violation | None:
        """An iteration in which a subscript lies outside of its dimension."""
        assert access.subscripts is not None
        subscript = access.subscripts[dimension]
        for relation, limit in (("<", lower), (">", upper)):
            for side in _sides(subscript, relation):
                problem = Problem()
                bound = self._enter(problem, access, "")
                poly = self.value(side, access.loops)
                if poly is None or not problem.add(poly, relation, limit, bound):
                    return Violation(None)
                violation = _answer(problem)
                if violation is not None:
                    return violation
        return None

    def conflict(
        self,
        first: Access,
        second: Access,
        order: Callable[[Problem, Mapping[str, str], Mapping[str, str]], None],
    ) -> Violation | None:
        """An element that both access, in iterations for which ``order`` holds.

        ``order`` adds constraints between the loop variables of the two accesses; it gets, for
        each, the variables of the problem by loop variable.
        """
        problem = Problem()
        one = self._enter(problem, first, " then")
        two = self._enter(problem, second, " later")
        ranks = [len(a.subscripts) for a in (first, second) if a.subscripts is not None]
        if first.path == second.path and len(ranks) == 2 and ranks[0] == ranks[1]:
            names = tuple(f"subscript {i + 1}" for i in range(ranks[0]))
            self._element(problem, first, one, names)
            self._element(problem, second, two, names)
        order(problem, _by_name(one), _by_name(two))
        return _answer(problem)


def _by_name(bound: Mapping[Expr, str]) -> dict[str, str]:
    return {atom.name: name for atom, name in bound.items() if isinstance(atom, Ref)}


def _scalar(subscript: Expr | Section) -> Expr | None:
    return None if isinstance(subscript, Section) else subscript


def _sides(subscript: Expr | Section, relation: str) -> tuple[Expr, ...]:
    """What of a subscript may lie below (``<``) or above (``>``) its dimension: not an open end
    of a section, which is the bound of the dimension itself."""
    if not isinstance(subscript, Section):
        return (subscript,)
    ends: tuple[Expr | None, ...] = (subscript.lower, subscript.upper)
    if subscript.stride is None:  # with a stride it may run downwards
        ends = ends[:1] if relation == "<" else ends[1:]
    return tuple(end for end in ends if end is not None)


def _is_inquiry_argument(atom: Expr, part: Ref) -> bool:
    """Whether ``part`` is what ``size(...)`` or another inquiry asks about in ``atom``."""
    return any(
        isinstance(outer, Ref) and is_inquiry(outer.name) and part in (outer.args or ())
        for outer in walk(atom)
    )


def _answer(problem: Problem) -> Violation | None:
    try:
        point = problem.sample()
    except UndecidedError:
        return Violation(None)
    return None if point is None else Violation(point)
