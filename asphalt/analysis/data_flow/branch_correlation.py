"""Correlated branches, which test a condition again: ``if (c) a`` ...  ``if (c) b``.

At a statement under a condition the condition held when it was tested.  A later branch that tests
the same expression takes the same direction as long as nothing in the expression has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from copy import copy
from dataclasses import replace

from asphalt.analysis.control_flow.graph import ControlFlow, Point, PointRole
from asphalt.analysis.control_flow.paths import closure, path_witness
from asphalt.analysis.data_flow.reaching_definitions import ReachingDefinitions
from asphalt.analysis.memory.accesses import EffectKind, NameKind
from asphalt.analysis.memory.forward_substitution import is_integer
from asphalt.analysis.symbolic.polynomials import folded
from asphalt.ir.expr import Arg, Expr, Op, Ref, Section, Unstructured, walk
from asphalt.ir.records import record
from asphalt.ir.stmt import ArmHead, Guarded
from asphalt.ir.tree import Leaf

_TRUE, _FALSE = "the condition is true", "the condition is false"
_OUTCOMES = {_TRUE: True, _FALSE: False}


def outcome(graph: ControlFlow, test: int, target: int) -> bool | None:
    """What a condition is where control goes from its test to a point; None: it tests none."""
    return _OUTCOMES.get(graph.edge_labels.get((test, target), ""))


@record
class Fact:
    """``condition`` (folded, without negations) was ``held`` at ``point``, which took the branch to
    ``side``."""

    condition: Arg
    held: bool
    point: int
    side: int


class BranchFacts:
    """Known conditions of the branches of one unit, at each of its points.

    ``changed_by``: the storages that a call which completes MPI operations may change as their
    buffers; None: unknown, so that it may change any variable whose address MPI has.  ``tests``:
    the points that test a condition (folded, without negations), and whether it was tested as it
    stands or negated.
    """

    def __init__(
        self,
        reaching: ReachingDefinitions,
        changed_by: Callable[[Leaf], frozenset[str] | None] | None = None,
    ) -> None:
        self.reaching = reaching
        self.graph: ControlFlow = reaching.graph
        self.changed_by = changed_by or (lambda leaf: None)
        self.tests = [
            (point.number, *_positive(condition, reaching))
            for point in self.graph.points
            if (condition := _tested(point)) is not None
        ]
        self._ahead: dict[tuple[int, int | None], frozenset[int]] = {}
        self._behind: dict[tuple[int, int | None], frozenset[int]] = {}
        self._plain: dict[int, tuple[Fact, ...]] = {}
        # what a condition with its outcome in an iteration tells about others (iteration_paths)
        self.implied: dict[tuple[int, bool, int], tuple[Fact, ...]] = {}
        self._forget()

    def _forget(self) -> None:
        """Discard what is known about unchanged conditions."""
        self._changes: dict[int, frozenset[str] | None] = {}
        self._staying: dict[tuple[int, int], bool] = {}
        self._staying_since: dict[tuple[int, int], bool] = {}

    def knowing(self, changed_by: Callable[[Leaf], frozenset[str] | None]) -> BranchFacts:
        """The facts with another ``changed_by``; both share the paths between points."""
        other = copy(self)
        other.changed_by = changed_by
        other._forget()
        return other

    def pruned(self, point: int) -> ControlFlow:
        """The graph without the edges that contradict what held at a point.

        It is valid for paths that begin there.
        """
        facts = self._facts(point)
        if not facts:
            return self.graph
        successors = list(self.graph.successors)
        for other, condition, positive in self.tests:
            if other == point:
                continue
            for fact in facts:
                if fact.condition != condition or not self._stays(fact, other):
                    continue
                wrong = _FALSE if fact.held == positive else _TRUE
                successors[other] = tuple(
                    target
                    for target in successors[other]
                    if self.graph.edge_labels.get((other, target)) != wrong
                )
        return replace(self.graph, successors=tuple(successors))

    def excluded_before(self, point: int) -> frozenset[tuple[int, int]]:
        """The edges that no path to a point takes when it leaves their source for the last time:
        they contradict the test of a later branch which every path to the point passes."""
        found: set[tuple[int, int]] = set()
        facts = self._facts(point)
        for other, condition, positive in self.tests:
            for fact in facts:
                if fact.condition != condition:
                    continue
                later = self._is_passed_between(fact.point, other, point)
                if later and self._stays_since(other, fact):
                    wrong = _FALSE if fact.held == positive else _TRUE
                    found |= {
                        (other, target)
                        for target in self.graph.successors[other]
                        if self.graph.edge_labels.get((other, target)) == wrong
                    }
        return frozenset(found)

    def held(self, point: int) -> Iterator[tuple[Arg, bool]]:
        """The conditions (folded, without negations) that hold, or do not hold, at a point."""
        for fact in self._facts(point):
            if self._stays(fact, point):
                yield fact.condition, fact.held

    def _facts(self, point: int) -> tuple[Fact, ...]:
        """The plain conditions among those that are ``taken``."""
        if point not in self._plain:
            found = self.taken(point)
            self._plain[point] = tuple(fact for fact in found if self.is_plain(fact.condition))
        return self._plain[point]

    def taken(self, point: int) -> Iterator[Fact]:
        """The conditions, plain or not, of the branches that every path to a point has taken in one
        direction."""
        dominators = self.reaching.dominance.dominators
        for other, condition, positive in self.tests:
            if not dominators.dominates(other, point):
                continue
            sides = {
                self.graph.edge_labels.get((other, target)): target
                for target in self.graph.successors[other]
            }
            for said, target in sides.items():
                only = self.graph.predecessors[target] == (other,)
                if said in (_TRUE, _FALSE) and only and dominators.dominates(target, point):
                    yield Fact(condition, (said == _TRUE) == positive, other, target)

    def taken_since(self, start: int, point: int) -> Iterator[Fact]:
        """Those of the branches that every path from ``start`` to a point takes, after it has
        passed ``start`` for the last time; every path to the point does."""
        if not self.reaching.dominance.dominators.dominates(start, point):
            return
        for fact in self.taken(point):
            side = {fact.side}
            if fact.side == point or path_witness(self.graph, [start], {point}, side) is None:
                yield fact

    def held_in_iteration(self, point: int, step: int) -> Iterator[Fact]:
        """The plain conditions of these branches that are unchanged at the point; ``step`` begins
        an iteration."""
        for fact in self.taken_since(step, point):
            if self.is_plain(fact.condition) and self.stays_between(fact, point, step):
                yield fact

    def stays_between(self, fact: Fact, later: int, step: int) -> bool:
        """Whether nothing in a condition changes between two tests of it in one iteration, which
        ``step`` begins."""
        return self._unchanged(fact.point, self.between(fact.point, later, step))

    def is_plain(self, condition: Arg) -> bool:
        """Whether a condition consists of variables and intrinsic functions only."""
        names = self.reaching.accesses.names
        for part in walk(condition):
            if isinstance(part, Unstructured):
                return False
            if isinstance(part, Op) and not names.is_intrinsic_operation(part):
                return False
            if isinstance(part, Ref):
                kind = names.kind(part.name, part.args is not None)
                if kind not in (NameKind.VARIABLE, NameKind.CONSTANT, NameKind.PURE_FUNCTION):
                    return False
        return True

    def _stays(self, fact: Fact, later: int) -> bool:
        """Whether nothing in a condition changes between two tests of it."""
        key = fact.point, later
        if key not in self._staying:
            between = self.between(fact.point, later)
            self._staying[key] = self._unchanged(fact.point, between)
        return self._staying[key]

    def _reached(self, point: int, without: int | None = None) -> frozenset[int]:
        """The points reachable from a point without passing ``without``."""
        key = point, without
        if key not in self._ahead:
            self._ahead[key] = closure(self.graph.successors, (point,), without)
        return self._ahead[key]

    def _reaching(self, point: int, without: int | None = None) -> frozenset[int]:
        """The points from which a point is reachable without passing ``without``."""
        key = point, without
        if key not in self._behind:
            self._behind[key] = closure(self.graph.predecessors, (point,), without)
        return self._behind[key]

    def _is_passed_between(self, middle: int, start: int, end: int) -> bool:
        """Whether every path from one point to another passes a third one in between."""
        return middle == end or end not in self._reached(start, middle)

    def _stays_since(self, test: int, fact: Fact) -> bool:
        """Whether nothing in a condition changes after the last test of it there."""
        if test == fact.point:
            return False
        key = test, fact.point
        if key not in self._staying_since:
            between = self.between(test, fact.point, test)
            self._staying_since[key] = self._unchanged(test, between)
        return self._staying_since[key]

    def between(self, first: int, last: int, without: int | None = None) -> frozenset[int]:
        """The points on the paths from one point to another that do not pass ``without``."""
        return self._reached(first, without) & self._reaching(last, without)

    def _unchanged(self, test: int, between: AbstractSet[int]) -> bool:
        """Whether none of some points changes anything in the condition that a point tests."""
        used = {a.storage for a in self.reaching.accesses.footprint(test).accesses}
        return self.unchanged(used, between)

    def unchanged(self, used: AbstractSet[str], between: AbstractSet[int]) -> bool:
        """Whether none of these points changes a storage of ``used``."""
        accesses = self.reaching.accesses
        if not accesses.everywhere.isdisjoint(between):
            return False
        if not all(accesses.defining(storage).isdisjoint(between) for storage in used):
            return False
        if any(accesses.is_exposed(storage) for storage in used):
            for point in accesses.exposing & between:
                changed = self._changed_at(point)
                if changed is None or changed & used:
                    return False
        return True

    def _changed_at(self, point: int) -> frozenset[str] | None:
        """The other storages that a point may change if it is a completion and nothing else; None:
        unknown."""
        if point not in self._changes:
            self._changes[point] = self._changed_elsewhere(point)
        return self._changes[point]

    def _changed_elsewhere(self, point: int) -> frozenset[str] | None:
        leaf = self.graph.points[point].leaf
        effects = self.reaching.accesses.footprint(point).effects
        if leaf is None or any(effect.kind is not EffectKind.MPI for effect in effects):
            return None
        return self.changed_by(leaf)


def _tested(point: Point) -> Expr | None:
    what = point.what
    match what:
        case Guarded(condition=condition) if point.role is PointRole.TEST:
            return condition
        case ArmHead(kind="if" | "else_if", exprs=(condition,)) if not isinstance(
            condition, Section
        ):
            return condition if isinstance(condition, Expr) else None
    return None


def _positive(condition: Expr, reaching: ReachingDefinitions) -> tuple[Arg, bool]:
    """A condition without its negations, and whether there was an even number of them.

    ``x /= y`` is the negation of ``x == y``, and of integers ``i >= j`` that of ``i < j``.
    """
    held = True
    while isinstance(condition, Op):
        denied, same = False, reaching.accesses.names.is_intrinsic_operation(condition)
        match condition:
            case Op(op=".not." | "()" as op, operands=(written,)):
                denied, same = op == ".not.", True
            case Op(op="/=", operands=operands):
                written, denied = Op("==", operands), True
            case Op(op=">" | ">=" as op, operands=(left, right)):
                written = Op("<" if op == ">" else "<=", (right, left))
            case Op(op="<=", operands=(left, right)):  # of numbers that are no NaN
                written, denied = Op("<", (right, left)), True
                same = all(is_integer(one, reaching.scope) for one in (left, right))
            case _:
                break
        if not same:
            break
        condition, held = written, held != denied
    return folded(condition), held
