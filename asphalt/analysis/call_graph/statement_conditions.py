"""The position of each statement of a unit, and the conditions that control it.

A condition is an expression that a branch, a loop or a jump tests.  Statements are numbered in
source order.  ``STOP`` and ``ERROR STOP`` do not count as jumps: a rank that stops reaches no other
call, so that a collective operation that the others enter fails before the transformation as well
as after it.  A jump to statements that only end the program is like ``STOP``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from asphalt.analysis.names.openmp_sentinels import hidden_statements, may_jump
from asphalt.analysis.names.parallel_loops import threaded_leaves
from asphalt.ir.expr import AltReturn, Arg, Expr, Keyword, OpaqueExpr, Section
from asphalt.ir.records import record
from asphalt.ir.source import Span
from asphalt.ir.stmt import (
    IO,
    ArmHead,
    Call,
    DoHead,
    Guarded,
    Jump,
    JumpKind,
    Opaque,
    What,
)
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, Unit, leaves


@record
class Condition:
    """The tested expressions; ``exprs`` empty: the condition is unknown."""

    exprs: tuple[Arg, ...]
    position: int
    span: Span | None


@record
class ConditionedStatement:
    """An executable statement.

    ``what``: what it does; for a one-line IF its action, whose condition is among ``conditions``.
    ``plain``: it is a node of the unit's body, and executed whenever control reaches it.
    ``loops``: positions of the heads of the enclosing loops, with those of their last statements.
    ``lists``: numbers of the enclosing statement lists, outermost first.  ``threaded``: several
    threads may execute it.
    """

    what: What
    leaf: Leaf
    position: int
    plain: bool
    conditions: tuple[Condition, ...]
    loops: tuple[tuple[int, int], ...]
    lists: tuple[int, ...] = ()
    threaded: bool = False


@record
class _Jump:
    """A transfer of control.  It controls the statements from ``first`` to ``last``."""

    first: int
    last: int
    conditions: tuple[Condition, ...]


class UnitFlow:
    """The statements of one unit's body, in source order."""

    def __init__(self, unit: Unit, only_ends: Callable[[Iterable[What]], bool]) -> None:
        """``only_ends``: whether some last statements only end the program."""
        self._only_ends = only_ends
        self.statements: list[ConditionedStatement] = []
        self._labels: dict[int, int] = {}
        self._position = 0
        self._top = 0
        self._by_leaf: dict[int, ConditionedStatement] = {}
        self._loop_names: dict[str, tuple[int, int]] = {}
        self._list_count = 0
        self._lists: tuple[int, ...] = ()
        self._threaded = threaded_leaves(unit)
        self._hidden(tuple(leaf for node in unit.spec for leaf in leaves(node)), (), ())
        for self._top, node in enumerate(unit.body):
            self._node(node, (), (), plain=True)
        self._top = len(unit.body)
        closing = (unit.contains, unit.end)
        self._hidden(tuple(leaf for leaf in closing if leaf is not None), (), ())
        self.has_gotos = any(_labels_of(s.what) or may_jump(s.what) for s in self.statements)
        self._jumps = [jump for s in self.statements for jump in self._jumps_of(s)]
        self._conditions: dict[int, tuple[Condition, ...]] = {}

    def at(self, leaf: Leaf) -> ConditionedStatement | None:
        """The statement of a leaf (its action, if it is a one-line IF)."""
        found = self._by_leaf.get(id(leaf))
        if found is None and leaf.span is not None:
            found = next((s for s in self.statements if s.leaf.span == leaf.span), None)
        return found

    def conditions(self, statement: ConditionedStatement) -> tuple[Condition, ...]:
        """All conditions that control whether, and how often, one call reaches a statement."""
        known = self._conditions.get(statement.position)
        if known is None:
            found = (*statement.conditions, *self._of_jumps(statement.position))
            known = self._conditions[statement.position] = tuple(dict.fromkeys(found))
        return known

    def of_iterations(self, head: ConditionedStatement) -> tuple[Condition, ...]:
        """The conditions that control how often a loop is repeated, beside those that control its
        head: its own ones, and those of jumps.  ``head``: of a loop."""
        first = head.position + 1
        if first >= len(self.statements):
            return ()
        # the condition of a one-line IF controls its action alone
        around = (c for c in self.statements[first].conditions if c.position < first)
        found = dict.fromkeys((*around, *self._of_jumps(first)))
        return tuple(one for one in found if one not in head.conditions)

    def _of_jumps(self, position: int) -> Iterator[Condition]:
        for jump in self._jumps:
            if jump.first <= position <= jump.last:
                yield from jump.conditions

    def may_come_back_to(self, statement: ConditionedStatement) -> bool:
        """Whether a jump backwards, or one to an unknown place, may repeat a statement.

        A jump forwards repeats nothing.
        """
        for other in self.statements:
            if may_jump(other.what):
                return True
            if isinstance(other.what, Jump) and other.what.kind is JumpKind.ASSIGNED_GOTO:
                return True
            for label in _labels_of(other.what):
                target = self._labels.get(label)
                if target is None or target <= statement.position <= other.position:
                    return True
        return False

    def _leaf(
        self,
        leaf: Leaf,
        conditions: tuple[Condition, ...],
        loops: tuple[tuple[int, int], ...],
        plain: bool,
    ) -> None:
        self._hidden((leaf,), conditions, loops)
        if leaf.label is not None:
            self._labels[leaf.label] = self._position
        what = leaf.what
        if isinstance(what, Guarded):
            tested = Condition((what.condition,), self._position, leaf.span)
            conditions, what, plain = (*conditions, tested), what.action, False
        self._by_leaf[id(leaf)] = self._append(what, leaf, plain, conditions, loops)

    def _hidden(
        self,
        before: tuple[Leaf, ...],
        conditions: tuple[Condition, ...],
        loops: tuple[tuple[int, int], ...],
    ) -> None:
        """What stands in lines that only some compilations execute, before some statements."""
        for leaf in before:
            for hidden in hidden_statements(leaf):
                self._append(hidden, leaf, False, conditions, loops)

    def _append(
        self,
        what: What,
        leaf: Leaf,
        plain: bool,
        conditions: tuple[Condition, ...],
        loops: tuple[tuple[int, int], ...],
    ) -> ConditionedStatement:
        threaded = id(leaf) in self._threaded
        found = ConditionedStatement(
            what, leaf, self._position, plain, conditions, loops, self._lists, threaded
        )
        self.statements.append(found)
        self._position += 1
        return found

    @contextmanager
    def _list(self) -> Iterator[None]:
        """The statements of one more statement list."""
        outer = self._lists
        self._list_count += 1
        self._lists = (*outer, self._list_count)
        yield
        self._lists = outer

    def _node(
        self,
        node: Node,
        conditions: tuple[Condition, ...],
        loops: tuple[tuple[int, int], ...],
        plain: bool = False,
    ) -> None:
        match node:
            case Leaf():
                self._leaf(node, conditions, loops, plain)
            case Do(head=head, body=body, end=end):
                start = self._position + _hidden_count(head)
                extent = (start, start + _size((*body, *((end,) if end is not None else ()))))
                if head.name is not None:
                    self._loop_names[head.name.lower()] = extent
                self._leaf(head, conditions, loops, False)
                tested = Condition(_tested(head.what), start, head.span)
                inside = (*conditions, tested) if _is_tested(head.what) else conditions
                with self._list():
                    for child in body:
                        self._node(child, inside, (*loops, extent))
                if end is not None:
                    self._leaf(end, inside, (*loops, extent), False)
            case Branch(arms=arms, end=end):
                inside = conditions
                for arm in arms:
                    tests = self._position + _hidden_count(arm.head)
                    tested = Condition(_tested(arm.head.what), tests, arm.head.span)
                    if _is_tested(arm.head.what):
                        inside = (*inside, tested)
                    self._leaf(arm.head, conditions, loops, False)
                    with self._list():
                        for child in arm.body:
                            self._node(child, inside, loops)
                self._leaf(end, conditions, loops, False)
            case Block(head=head, body=body, end=end):
                self._leaf(head, conditions, loops, False)
                with self._list():
                    for child in body:
                        self._node(child, conditions, loops)
                self._leaf(end, conditions, loops, False)
            case Unit():
                pass

    def _jumps_of(self, statement: ConditionedStatement) -> Iterable[_Jump]:
        at, last = statement.position, self._position
        conditions = statement.conditions
        what = statement.what
        if isinstance(what, Jump):
            conditions = (*conditions, *_own_condition(what, statement))
            if what.kind in (JumpKind.CYCLE, JumpKind.EXIT):
                extent = self._loop_of(what, statement)
                yield _Jump(*(extent or (0, last)), conditions)
            elif what.kind is JumpKind.RETURN:
                # In a loop, leaving also decides over what stands before it there.
                first = min((loop[0] for loop in statement.loops), default=at)
                yield _Jump(first + 1, last, conditions)
            elif what.kind is JumpKind.ASSIGNED_GOTO and not what.labels:
                yield _Jump(0, last, (Condition((), at, statement.leaf.span),))
        if may_jump(what):
            yield _Jump(0, last, (Condition((), at, statement.leaf.span),))
        for label in _labels_of(what):
            target = self._labels.get(label)
            unseen = () if isinstance(what, Jump) else (Condition((), at, statement.leaf.span),)
            if target is None:
                yield _Jump(0, last, (*conditions, *unseen))
            elif target > at:
                if isinstance(what, Jump) and self._only_ends(
                    s.what for s in self.statements[target:]
                ):
                    continue
                yield _Jump(at + 1, target - 1, (*conditions, *unseen))
            else:
                yield _Jump(target, at, (*conditions, *unseen))

    def _loop_of(self, jump: Jump, statement: ConditionedStatement) -> tuple[int, int] | None:
        if jump.construct is not None:
            return self._loop_names.get(jump.construct.lower())
        return statement.loops[-1] if statement.loops else None


def _size(nodes: Iterable[Node]) -> int:
    return sum(1 + _hidden_count(leaf) for node in nodes for leaf in leaves(node))


def _hidden_count(leaf: Leaf) -> int:
    return sum(1 for _ in hidden_statements(leaf))


def _is_tested(what: What) -> bool:
    return not isinstance(what, DoHead) or what.kind != "forever"


def _tested(what: What) -> tuple[Arg, ...]:
    match what:
        case DoHead(kind="count", first=first, last=last, step=step):
            return tuple(part for part in (first, last, step) if part is not None)
        case DoHead(condition=condition) if condition is not None:
            return (condition,)
        case ArmHead(kind="else" | "case_default" | "class_default" | "elsewhere", exprs=exprs):
            return exprs or (_ALWAYS,)
        case ArmHead(exprs=exprs):
            return exprs
        case Opaque(code=code, names=names):
            return (OpaqueExpr(code, names),)
        case _:
            return ()


_ALWAYS = OpaqueExpr("", frozenset())  # a condition that holds on every rank


def _own_condition(jump: Jump, statement: ConditionedStatement) -> tuple[Condition, ...]:
    if not jump.exprs or jump.kind is JumpKind.RETURN:
        return ()
    return (Condition(jump.exprs, statement.position, statement.leaf.span),)


def _labels_of(what: What) -> tuple[int, ...]:
    match what:
        case Jump(labels=labels) | IO(labels=labels):
            return labels
        case Call(args=args):
            return tuple(arg.label for arg in args if isinstance(arg, AltReturn))
        case _:
            return ()


def expressions(condition: Condition) -> tuple[Expr, ...]:
    """The expressions of a condition, case ranges and selectors included."""
    found: list[Expr] = []
    for part in condition.exprs:
        match part:
            case Section(lower=lower, upper=upper):
                found += [bound for bound in (lower, upper) if bound is not None]
            case Keyword(value=value):
                found.append(value)
            case AltReturn():
                pass
            case _:
                found.append(part)
    return tuple(found)
