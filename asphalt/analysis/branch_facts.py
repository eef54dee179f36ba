"""Branches that test again what is already known: ``if (c) a`` ... ``if (c) b``.

At a statement under a condition the condition held when it was tested.  A later branch that tests
the same expression goes the same way as long as nothing in the expression has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from asphalt.analysis.access import EffectKind, NameKind
from asphalt.analysis.algebra import folded
from asphalt.analysis.control_flow import ControlFlow, Point, Role
from asphalt.analysis.reaching import ReachingDefinitions
from asphalt.ir.expr import Arg, Expr, Op, OpaqueExpr, Ref, Section, walk
from asphalt.ir.stmt import ArmHead, Guarded
from asphalt.ir.tree import Leaf

_TRUE, _FALSE = "the condition is true", "the condition is false"


@dataclass(frozen=True, slots=True)
class _Fact:
    """``condition`` was ``held`` at ``point``."""

    condition: Arg
    held: bool
    point: int


class BranchFacts:
    """What is known about the branches of one unit, seen from one of its points.

    ``changed_by``: the storages that a call which completes operations of MPI may change as
    buffers of theirs; None: not known, so that it may change whatever MPI has ever been given.
    """

    def __init__(
        self,
        reaching: ReachingDefinitions,
        changed_by: Callable[[Leaf], frozenset[str] | None] | None = None,
    ) -> None:
        self.reaching = reaching
        self.graph: ControlFlow = reaching.graph
        self.changed_by = changed_by or (lambda leaf: None)

    def pruned(self, point: int) -> ControlFlow:
        """The graph without the ways that contradict what held at a point.

        It holds for ways that begin there.
        """
        facts = [fact for fact in self._facts(point) if self._is_plain(fact.condition)]
        if not facts:
            return self.graph
        successors = list(self.graph.successors)
        for other in self.graph.points:
            tested = _tested(other)
            if tested is None or other.number == point:
                continue
            condition, positive = _positive(tested)
            for fact in facts:
                if fact.condition != condition or not self._stays(fact, other.number):
                    continue
                wrong = _FALSE if fact.held == positive else _TRUE
                successors[other.number] = tuple(
                    target
                    for target in successors[other.number]
                    if self.graph.taken.get((other.number, target)) != wrong
                )
        return replace(self.graph, successors=tuple(successors))

    def excluded_before(self, point: int) -> frozenset[tuple[int, int]]:
        """The edges that no way to a point takes when it leaves their beginning for the last time:
        they contradict what a later branch tests, which every way to the point passes."""
        found: set[tuple[int, int]] = set()
        facts = [fact for fact in self._facts(point) if self._is_plain(fact.condition)]
        for other in self.graph.points if facts else ():
            tested = _tested(other)
            if tested is None:
                continue
            condition, positive = _positive(tested)
            for fact in facts:
                later = self._is_passed_between(fact.point, other.number, point)
                if fact.condition == condition and later and self._stays_since(other.number, fact):
                    wrong = _FALSE if fact.held == positive else _TRUE
                    found |= {
                        (other.number, target)
                        for target in self.graph.successors[other.number]
                        if self.graph.taken.get((other.number, target)) == wrong
                    }
        return frozenset(found)

    def held(self, point: int) -> Iterator[tuple[Arg, bool]]:
        """The conditions (folded, without negations) that hold at a point, or do not."""
        for fact in self._facts(point):
            if self._is_plain(fact.condition) and self._stays(fact, point):
                yield fact.condition, fact.held

    def _facts(self, point: int) -> Iterator[_Fact]:
        """The conditions of the branches that every way to the point has taken in one direction."""
        dominators = self.reaching.dominance.dominators
        for other in self.graph.points:
            tested = _tested(other)
            if tested is None or not dominators.dominates(other.number, point):
                continue
            sides = {
                self.graph.taken.get((other.number, target)): target
                for target in self.graph.successors[other.number]
            }
            for said, target in sides.items():
                only = self.graph.predecessors[target] == (other.number,)
                if said in (_TRUE, _FALSE) and only and dominators.dominates(target, point):
                    condition, positive = _positive(tested)
                    yield _Fact(condition, (said == _TRUE) == positive, other.number)

    def _is_plain(self, condition: Arg) -> bool:
        """Whether a condition is made of variables and intrinsic functions alone."""
        names = self.reaching.accesses.names
        for part in walk(condition):
            if isinstance(part, OpaqueExpr):
                return False
            if isinstance(part, Op) and not names.own_operation(part):
                return False
            if isinstance(part, Ref):
                kind = names.kind(part.name, part.args is not None)
                if kind not in (NameKind.VARIABLE, NameKind.CONSTANT, NameKind.PURE_FUNCTION):
                    return False
        return True

    def _stays(self, fact: _Fact, later: int) -> bool:
        """Whether nothing in a condition changes between two tests of it."""
        graph = self.graph
        between = _closure(graph.successors, fact.point) & _closure(graph.predecessors, later)
        return self._unchanged(fact.point, between)

    def _is_passed_between(self, middle: int, start: int, end: int) -> bool:
        """Whether every way from one point to another passes a third one in between."""
        return middle == end or end not in _closure(self.graph.successors, start, middle)

    def _stays_since(self, test: int, fact: _Fact) -> bool:
        """Whether nothing in a condition changes from the last time that it is tested there."""
        if test == fact.point:
            return False
        graph = self.graph
        behind = _closure(graph.successors, test, test)
        return self._unchanged(test, behind & _closure(graph.predecessors, fact.point, test))

    def _unchanged(self, test: int, between: Iterable[int]) -> bool:
        """Whether nothing in the condition that a point tests changes at others."""
        accesses = self.reaching.accesses
        used = {a.storage for a in accesses.footprint(test).accesses}
        for point in between:
            done = accesses.at(point)
            if done.everything or any(storage in done.defined for storage in used):
                return False
            if done.exposed and any(accesses.is_exposed(storage) for storage in used):
                changed = self._changed_at(point)
                if changed is None or changed & used:
                    return False
        return True

    def _changed_at(self, point: int) -> frozenset[str] | None:
        """What a point may change elsewhere, where it is a completion and nothing besides; None:
        not known."""
        leaf = self.graph.points[point].leaf
        effects = self.reaching.accesses.footprint(point).effects
        if leaf is None or any(effect.kind is not EffectKind.MPI for effect in effects):
            return None
        return self.changed_by(leaf)


def _tested(point: Point) -> Expr | None:
    what = point.what
    match what:
        case Guarded(condition=condition) if point.role is Role.TEST:
            return condition
        case ArmHead(kind="if" | "else_if", exprs=(condition,)) if not isinstance(
            condition, Section
        ):
            return condition if isinstance(condition, Expr) else None
    return None


def _positive(condition: Expr) -> tuple[Arg, bool]:
    """A condition without its negations, and whether there was an even number of them."""
    held = True
    while isinstance(condition, Op) and condition.op in (".not.", "()"):
        held = held != (condition.op == ".not.")
        condition = condition.operands[0]
    return folded(condition), held


def _closure(
    edges: tuple[tuple[int, ...], ...], start: int, without: int | None = None
) -> set[int]:
    """The points that edges lead to, not past ``without``."""
    seen: set[int] = set()
    work = [start]
    while work:
        for target in edges[work.pop()]:
            if target not in seen and target != without:
                seen.add(target)
                work.append(target)
    return seen
