"""Paths from a point of a loop to what the same iteration passes, or the next one:

    do stage = 1, n
      if (stage /= 1) call MPI_Irecv(..., other, ierr)
      ...
      if (stage /= 1) call MPI_Wait(other, status, ierr)
      if (stage /= 1) call MPI_Wait(request, status, ierr)
      ...
      if (stage /= n) call MPI_Isend(..., request, ierr)
    end do

A condition is what it was until the next iteration.  An iteration that is not the last is followed
by another, which is not the first.  So what every iteration but the first passes is passed behind
what every iteration but the last executes.

A condition may be kept in a variable that takes constants in the same iteration:

    last = 0
    if (stage == n) last = 1
    ...
    if (last == 0) call MPI_Isend(..., request, ierr)

Where it has one of the values it can have, control came by the definitions of this value, and by
the branches that lead there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property, partial

from asphalt.analysis.control_flow.graph import STOP, ControlFlow
from asphalt.analysis.control_flow.paths import closure, path_witness
from asphalt.analysis.data_flow.branch_correlation import BranchFacts, Fact, outcome
from asphalt.analysis.data_flow.reaching_definitions import Definition
from asphalt.analysis.memory.forward_substitution import COMPARISONS, constants_in, is_integer
from asphalt.analysis.symbolic.polynomials import Poly, folded_expr
from asphalt.ir.expr import Arg, Expr, Lit, Op, Ref, walk
from asphalt.ir.records import record
from asphalt.ir.stmt import Assign, DoHead
from asphalt.ir.tree import Do
from asphalt.support.three_valued import truth

_ONE = Poly.constant(1)


def possible_paths(
    facts: BranchFacts,
    graph: ControlFlow,
    point: int,
    loops: tuple[Do, ...],
    passed: AbstractSet[int],
) -> ControlFlow:
    """The graph without edges that no path from a point to one of ``passed`` takes, as its loops
    tell.

    It is valid for paths that begin at the point and end where they come to one of ``passed``.
    ``graph``: the possible paths from the point.  ``loops``: those around it, outermost first.
    """
    for loop in reversed(loops):
        found = _in_one_iteration(facts, graph, point, loop, passed)
        if found is None:
            iterations = _Iterations.of(facts, loop)
            if iterations is not None and iterations.is_not_last(point):
                found = iterations.without_exit(graph, point, passed)
        if found is not None:
            return found
    return graph


def _in_one_iteration(
    facts: BranchFacts, graph: ControlFlow, point: int, loop: Do, passed: AbstractSet[int]
) -> ControlFlow | None:
    """The graph without the edges that contradict what held at a point in an iteration of a loop,
    if every path from there passes one of ``passed`` before the iteration ends."""
    head = frozenset(facts.graph.of(loop.head))
    if not head:
        return None
    step = max(head)
    inside = facts.graph.inside(loop) - head
    ends = frozenset(range(len(graph.points))) - inside - {STOP}
    if path_witness(graph, [point], ends, passed) is None:
        return None  # known already
    found = graph
    for fact in facts.held_in_iteration(point, step):
        for one in (fact, *_implied(facts, fact, step, inside)):
            found = _without(found, one, facts, step, inside)
    return found if path_witness(found, [point], ends, passed) is None else None


def _without(
    graph: ControlFlow, fact: Fact, facts: BranchFacts, step: int, inside: frozenset[int]
) -> ControlFlow:
    """The graph without the edges in a loop that contradict a fact in the same iteration."""
    successors = list(graph.successors)
    for test, condition, positive in facts.tests:
        if test not in inside:
            continue
        for target in graph.successors[test]:
            is_true = outcome(graph, test, target)
            if is_true is None:
                continue
            other = Fact(condition, is_true == positive, test, target)
            if condition == fact.condition:
                wrong = other.held != fact.held and facts.stays_between(fact, test, step)
            else:
                wrong = any(
                    one.condition == fact.condition
                    and one.held != fact.held
                    and facts.stays_between(fact, one.point, step)
                    and facts.stays_between(one, fact.point, step)
                    for one in _implied(facts, other, step, inside)
                )
            if wrong:
                successors[test] = tuple(n for n in successors[test] if n != target)
    return replace(graph, successors=tuple(successors))


def _implied(facts: BranchFacts, fact: Fact, step: int, inside: frozenset[int]) -> tuple[Fact, ...]:
    """The outcomes of branches without which control does not come to a test with its outcome in
    an iteration: where the test asks for the value of a variable, for one of its definitions.

    ``step`` begins an iteration, which ``inside`` consists of.
    """
    key = fact.point, fact.held, step
    if key not in facts.implied:
        facts.implied[key] = tuple(_found_implied(facts, fact, step, inside))
    return facts.implied[key]


def _found_implied(
    facts: BranchFacts, fact: Fact, step: int, inside: frozenset[int]
) -> Iterator[Fact]:
    excluded = _excluded_definitions(facts, fact)
    if not excluded:
        return
    (storage,) = {definition.storage for definition in excluded}
    paths = _LastDefinition(
        facts.graph,
        step,
        frozenset(d.point for d in facts.reaching.definitions(storage)),
        frozenset(d.point for d in excluded),
        (fact.point, False),
    )
    for test, condition, positive in facts.tests:
        if test not in inside or test == fact.point or not facts.is_plain(condition):
            continue
        for target in facts.graph.successors[test]:
            is_true = outcome(facts.graph, test, target)
            if is_true is not None and paths.take(test, target):
                yield Fact(condition, is_true == positive, test, target)


def _excluded_definitions(facts: BranchFacts, fact: Fact) -> tuple[Definition, ...]:
    """The definitions of the one variable in a condition with whose values it has another outcome
    than at its test."""
    reaching = facts.reaching
    variables = {
        part.name
        for part in walk(fact.condition)
        if isinstance(part, Ref) and _constant(facts, part) is None
    }
    storages = {a.storage for a in reaching.accesses.footprint(fact.point).accesses}
    if len(variables) != 1 or len(storages) != 1 or not facts.is_plain(fact.condition):
        return ()
    (name,), (storage,) = variables, storages
    return tuple(
        definition
        for definition in reaching.at(fact.point, storage)
        if definition.sure
        and definition.leaf is not None
        and truth(fact.condition, partial(_outcome_with, facts, name, definition))
        == (not fact.held)
    )


def _outcome_with(
    facts: BranchFacts, name: str, definition: Definition, condition: Arg
) -> bool | None:
    """The value of a comparison or of a logical variable behind a definition of a variable."""
    what = facts.graph.points[definition.point].what
    if not isinstance(what, Assign) or what.pointer or not _is_named(what.target, name):
        return None
    value = what.value
    match condition:
        case Lit(kind="logical", text=text):
            return text.lower().startswith(".true")
        case Ref(args=None) if isinstance(value, Lit) and value.kind == "logical":
            return value.text.lower().startswith(".true")
        case Op(op=op, operands=(one, other)) if op in COMPARISONS:
            if all(is_integer(o, facts.reaching.scope) for o in (one, other)):
                left = _constant(facts, value if _is_named(one, name) else one)
                right = _constant(facts, value if _is_named(other, name) else other)
                if left is not None and right is not None:
                    return COMPARISONS[op](left - right)
    return None


def _is_named(expr: Expr, name: str) -> bool:
    return isinstance(expr, Ref) and expr.name == name and expr.args is None


def _constant(facts: BranchFacts, expr: Expr) -> int | None:
    """The value of an integer expression of constants; None: it is none."""
    return _value(facts, expr).value if is_integer(expr, facts.reaching.scope) else None


_State = tuple[int, bool]
"""A point, and whether one of the excluded definitions was the last one on the path to it."""


@dataclass(frozen=True)
class _LastDefinition:
    """The paths of one iteration to a point on which none of the ``excluded`` definitions of a
    variable is the last one."""

    graph: ControlFlow
    step: int
    definitions: frozenset[int]
    excluded: frozenset[int]
    end: _State

    def take(self, test: int, target: int) -> bool:
        """Whether each of them passes a test, and goes to ``target`` from there the last time."""
        passing = [state for state in ((test, False), (test, True)) if state in self._from_step]
        others = [new for state in passing for new in self._behind(state) if new[0] != target]
        if self.end not in self._from_step and all(there != self.step for there, _ in others):
            return True  # no path of an iteration leads there
        return not self._leads_to_end([*self._first, *others], (test, target))

    @cached_property
    def _first(self) -> tuple[_State, ...]:
        return tuple(self._behind((self.step, False)))

    @cached_property
    def _from_step(self) -> frozenset[_State]:
        """The states in an iteration."""
        found = {*self._first}
        work = list(found)
        while work:
            for new in self._behind(work.pop()):
                if new not in found and new[0] != self.step:
                    found.add(new)
                    work.append(new)
        return frozenset(found)

    @cached_property
    def _to_end(self) -> frozenset[_State]:
        """The states from which a path of the same iteration leads to the end, and the end."""
        found, work = {self.end}, [self.end]
        while work:
            state = work.pop()
            for new in self._before(state) if state[0] != self.step else ():
                if new not in found:
                    found.add(new)
                    work.append(new)
        return frozenset(found)

    def _before(self, state: _State) -> Iterator[_State]:
        there, last = state
        for here in self.graph.predecessors[there]:
            if here not in self.definitions:
                yield here, last
            elif (here in self.excluded) == last:
                yield here, False
                yield here, True

    def _behind(self, state: _State) -> list[_State]:
        here, last = state
        if here in self.definitions:
            last = here in self.excluded
        return [(there, last) for there in self.graph.successors[here]]

    def _leads_to_end(self, starts: Iterable[_State], without: tuple[int, int]) -> bool:
        """Whether a path leads from one of some states to the end, without an edge, in the same
        iteration."""
        within = self._to_end
        found = within.intersection(starts)
        if self.end in found:
            return True
        seen, work = set(found), list(found)
        while work:
            state = work.pop()
            for new in self._behind(state):
                if new not in within or new in seen or (state[0], new[0]) == without:
                    continue
                if new == self.end and new[0] != self.step:
                    return True
                if new[0] != self.step:
                    seen.add(new)
                    work.append(new)
        return False


@record
class _Iterations:
    """The iterations of a counted loop whose bounds and variable nothing in its body changes.

    ``behind_first``: how many iterations are before one, and ``before_last``: how many are behind.
    """

    facts: BranchFacts
    initial: int
    step: int
    inside: frozenset[int]
    used: frozenset[str]
    behind_first: Poly
    before_last: Poly

    @staticmethod
    def of(facts: BranchFacts, loop: Do) -> _Iterations | None:
        """The iterations of a loop with a step of 1 or -1."""
        head, points = loop.head.what, facts.graph.of(loop.head)
        if not isinstance(head, DoHead) or head.kind != "count" or len(points) != 2:
            return None
        if not isinstance(head.var, Ref) or head.first is None or head.last is None:
            return None
        ends = head.first, head.last
        if not all(is_integer(e, facts.reaching.scope) for e in (head.var, *ends)):
            return None
        step = _ONE if head.step is None else _value(facts, head.step)
        if step.value not in (1, -1) or not all(map(facts.is_plain, ends)):
            return None
        initial, test = points
        inside = facts.graph.inside(loop) - {*points}
        accesses = facts.reaching.accesses.footprint(initial).accesses
        used = frozenset(access.storage for access in accesses)
        if not facts.unchanged(used, inside):
            return None
        variable, first, last = (_value(facts, e) for e in (head.var, *ends))
        behind, before = step * (variable - first), step * (last - variable)
        return _Iterations(facts, initial, test, inside, used, behind, before)

    def is_not_last(self, point: int) -> bool:
        """Whether the last iteration does not execute a point."""
        return any(
            fact.point in self.inside
            and any(_is_positive(relation, self.before_last) for relation in self._relations(fact))
            for fact in self.facts.taken_since(self.step, point)
        )

    def without_exit(
        self, graph: ControlFlow, point: int, passed: AbstractSet[int]
    ) -> ControlFlow | None:
        """The graph without the way out of the loop; None: an iteration that follows may pass none
        of ``passed``, or the loop may begin anew before."""
        body = [n for n in graph.successors[self.step] if n in self.inside]
        if len(body) != 1 or path_witness(graph, [point], {self.initial}, {*passed, self.step}):
            return None
        if not passed & {*body}:
            later = self._in_later_iterations(graph, frozenset())
            ends = frozenset(range(len(graph.points))) - self.inside - {STOP}
            if path_witness(later, body, ends, passed) is not None:
                return None
        now = closure(graph.successors, [point], self.step)
        found = self._in_later_iterations(graph, now)
        successors = list(found.successors)
        successors[self.step] = tuple(body)
        return replace(found, successors=tuple(successors))

    def _in_later_iterations(self, graph: ControlFlow, but: AbstractSet[int]) -> ControlFlow:
        """The graph without the edges that only the first iteration takes; ``but``: those of these
        points stay."""
        successors = list(graph.successors)
        for test, condition, positive in self.facts.tests:
            if test not in self.inside or test in but:
                continue
            for target in graph.successors[test]:
                is_true = outcome(graph, test, target)
                if is_true is None:
                    continue
                fact = Fact(condition, is_true == positive, test, target)
                if any(_is_zero(r, self.behind_first) for r in self._relations(fact)):
                    successors[test] = tuple(n for n in successors[test] if n != target)
        return replace(graph, successors=tuple(successors))

    def _relations(self, fact: Fact) -> Iterator[_Relation]:
        """What a fact says, where it may be about the variable and the bounds of the loop, and what
        it implies."""
        for one in (fact, *_implied(self.facts, fact, self.step, self.inside)):
            accesses = self.facts.reaching.accesses.footprint(one.point).accesses
            if not self.used.isdisjoint(access.storage for access in accesses):
                yield from _relations(self.facts, one.condition, one.held)


_OPPOSITE = {"==": "/=", "/=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_Relation = tuple[str, Poly]
"""``==``, ``/=`` or ``<=``, and an integer that has it to zero."""


def _relations(facts: BranchFacts, condition: Arg, held: bool) -> Iterator[_Relation]:
    """The comparisons that are true where a condition is ``held``."""
    match condition:
        case Op(op="()", operands=(inside,)):
            yield from _relations(facts, inside, held)
        case Op(op=".not.", operands=(denied,)):
            yield from _relations(facts, denied, not held)
        case Op(op=".and." | ".or." as op, operands=parts) if held == (op == ".and."):
            for part in parts:
                yield from _relations(facts, part, held)
        case Op(op=op, operands=(left, right)) if op in _OPPOSITE:
            distance = _value(facts, left) - _value(facts, right)
            match op if held else _OPPOSITE[op]:
                case "<":
                    yield "<=", distance + _ONE
                case "<=":
                    yield "<=", distance
                case ">":
                    yield "<=", _ONE - distance
                case ">=":
                    yield "<=", -distance
                case equal:
                    yield equal, distance


def _is_zero(relation: _Relation, number: Poly) -> bool:
    """Whether a relation says that a number, which is never negative, is zero."""
    sign, distance = relation
    if sign == "==":
        return distance in (number, -number)
    more = (distance - number).value
    return sign == "<=" and more is not None and more >= 0


def _is_positive(relation: _Relation, number: Poly) -> bool:
    """Whether a relation says that a number, which is never negative, is not zero."""
    sign, distance = relation
    if sign == "/=":
        return distance in (number, -number)
    more = (distance + number).value
    return sign == "<=" and more is not None and more >= 1


def _value(facts: BranchFacts, expr: Expr) -> Poly:
    return constants_in(folded_expr(expr), facts.reaching.scope)
