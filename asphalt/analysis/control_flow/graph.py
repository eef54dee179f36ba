"""The control-flow graph of one unit.

Its points are statements.  Three statements have two points each, because a path may pass one and
not the other: a one-line IF has its ``TEST`` and its ``ACTION``; a counted DO has ``INITIAL``
(evaluates the bounds and gives the variable its first value, once) and ``STEP`` (the next value,
and whether there is another iteration).  Everything that may happen is an edge: a statement that
was not interpreted may go to every label, leave every construct around it, return and stop.

WHERE and FORALL select elements, not paths: their statements are all executed, ``masked``.
Directives (threads) and statements behind ``!$`` are not represented.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum

from asphalt.ir.expr import AltReturn
from asphalt.ir.records import record
from asphalt.ir.stmt import (
    IO,
    ArmHead,
    Call,
    DoHead,
    Guarded,
    Include,
    Jump,
    JumpKind,
    Opaque,
    Plain,
    Raw,
    What,
)
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, Unit, leaves

ENTRY, EXIT, STOP = 0, 1, 2
"""The points that are no statements: the call of the unit, its return, the end of the program."""


class PointRole(Enum):
    """Which part of its statement a point is."""

    WHOLE = "statement"
    TEST = "condition"  # of a one-line IF
    ACTION = "action"  # of a one-line IF
    INITIAL = "first value"  # of a counted DO
    STEP = "next value"  # of a counted DO
    OUTSIDE = "outside"  # ENTRY, EXIT, STOP


@record
class Point:
    """A node of the graph.

    ``what`` is the statement that it executes (the action itself where ``role`` is ACTION).
    ``masked``: it stands in a WHERE or FORALL construct, and is executed for some elements.
    ``around``: the constructs around it, outermost first.
    """

    number: int
    leaf: Leaf | None
    what: What | None
    role: PointRole
    masked: bool = False
    around: tuple[Node, ...] = ()

    @property
    def line(self) -> int:
        """The line of the statement; 0 where there is none."""
        return 0 if self.leaf is None else self.leaf.line


@record
class ControlFlow:
    """The graph of one unit; points are numbered in source order, after ENTRY, EXIT and STOP.

    ``edge_labels`` describes an edge, for instance ``the condition is false``; an edge to the next
    statement has no entry.  ``dead``: points that are known to be unreachable.
    """

    points: tuple[Point, ...]
    successors: tuple[tuple[int, ...], ...]
    predecessors: tuple[tuple[int, ...], ...]
    edge_labels: Mapping[tuple[int, int], str]
    _by_leaf: Mapping[int, tuple[int, ...]]
    dead: frozenset[int] = frozenset()

    def of(self, leaf: Leaf) -> tuple[int, ...]:
        """The points of a statement, in the order of execution; () for one that is not executed."""
        return self._by_leaf.get(id(leaf), ())

    def action(self, leaf: Leaf) -> int | None:
        """The point where a statement has its effect: the action of a one-line IF, the first value
        of a counted DO."""
        points = self.of(leaf)
        if not points:
            return None
        return points[-1] if self.points[points[-1]].role is PointRole.ACTION else points[0]

    def inside(self, node: Node) -> frozenset[int]:
        """All points of a node and of what it contains."""
        return frozenset(number for leaf in leaves(node) for number in self.of(leaf))


def control_flow(unit: Unit) -> ControlFlow:
    """The graph of a unit's own body (not of the procedures that it contains)."""
    builder = _Builder(unit)
    builder.connect()
    count = len(builder.points)
    successors = tuple(tuple(builder.edges[number]) for number in range(count))
    before: list[list[int]] = [[] for _ in range(count)]
    for number, targets in enumerate(successors):
        for target in targets:
            before[target].append(number)
    return ControlFlow(
        tuple(builder.points),
        successors,
        tuple(tuple(found) for found in before),
        builder.edge_labels,
        builder.by_leaf,
    )


_DECLARING = frozenset({"type", "interface", "enum"})  # blocks that are not executed


def is_executed(node: Node) -> bool:
    """Whether a node of an executable part is executable: a BLOCK holds declarations, too."""
    return not isinstance(node, Unit) and not (isinstance(node, Block) and node.kind in _DECLARING)


@record
class _Open:
    """A construct around a statement: where EXIT goes, and CYCLE if it is a loop."""

    node: Node
    name: str | None
    after: int
    again: tuple[int, ...] = ()


class _Builder:
    """Numbers the statements, then connects them."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.points: list[Point] = [
            Point(number, None, None, PointRole.OUTSIDE) for number in (ENTRY, EXIT, STOP)
        ]
        self.by_leaf: dict[int, tuple[int, ...]] = {}
        self.labels: dict[int, int] = {}
        self.edge_labels: dict[tuple[int, int], str] = {}
        self._terminals: dict[int, list[int]] = {}  # label: heads of the loops that it ends
        self._number(unit.body, (), False)
        self._add(unit.end, (), False)
        self.edges: list[dict[int, None]] = [{} for _ in self.points]

    def _number(self, nodes: tuple[Node, ...], around: tuple[Node, ...], masked: bool) -> None:
        for node in nodes:
            if not is_executed(node):
                continue
            match node:
                case Leaf():
                    self._add(node, around, masked)
                case Do(head=head, body=body, end=end):
                    inside = (*around, node)
                    self._add(head, around, masked)
                    self._number(body, inside, masked)
                    if end is not None:
                        self._add(end, inside, masked)
                case Branch(kind=kind, arms=arms, end=end):
                    inside = (*around, node)
                    for number, arm in enumerate(arms):
                        self._add(arm.head, inside if number else around, masked)
                        self._number(arm.body, inside, masked or kind == "where")
                    self._add(end, inside, masked)
                case Block(kind=kind, head=head, body=body, end=end):
                    inside = (*around, node)
                    self._add(head, around, masked)
                    self._number(body, inside, masked or kind == "forall")
                    self._add(end, inside, masked)

    def _add(self, leaf: Leaf, around: tuple[Node, ...], masked: bool) -> None:
        first = len(self.points)
        roles: tuple[PointRole, ...] = (PointRole.WHOLE,)
        whats: tuple[What, ...] = (leaf.what,)
        match leaf.what:
            case Guarded(kind="if", action=action):
                roles, whats = (PointRole.TEST, PointRole.ACTION), (leaf.what, action)
            case DoHead(kind="count"):
                roles, whats = (PointRole.INITIAL, PointRole.STEP), (leaf.what, leaf.what)
        for offset, (role, what) in enumerate(zip(roles, whats, strict=True)):
            self.points.append(Point(first + offset, leaf, what, role, masked, around))
        self.by_leaf[id(leaf)] = tuple(range(first, len(self.points)))
        if leaf.label is not None:
            self.labels.setdefault(leaf.label, first)

    def _first(self, leaf: Leaf) -> int:
        return self.by_leaf[id(leaf)][0]

    def _edge(self, source: int, target: int, why: str = "") -> None:
        if target in self.edges[source] and self.edge_labels.get((source, target)) != (why or None):
            self.edge_labels.pop((source, target), None)  # two ways to the same place
            return
        self.edges[source][target] = None
        if why:
            self.edge_labels[source, target] = why

    def connect(self) -> None:
        """Add all edges."""
        end = self._first(self.unit.end)
        self._edge(ENTRY, self._entry(self.unit.body, end))
        self._list(self.unit.body, end, ())
        self._leaf(self.unit.end, EXIT, ())
        for point in self.points:
            if isinstance(point.what, Plain) and point.what.keyword == "entry":
                self._edge(ENTRY, point.number, "the ENTRY is called")
        self._shared_terminals()

    def _entry(self, nodes: tuple[Node, ...], follow: int) -> int:
        """Where a statement list begins; an empty one is passed by."""
        for node in nodes:
            if is_executed(node):
                return self._first(next(iter(leaves(node))))
        return follow

    def _list(self, nodes: tuple[Node, ...], follow: int, around: tuple[_Open, ...]) -> None:
        for node in reversed(nodes):
            if not is_executed(node):
                continue
            match node:
                case Leaf():
                    self._leaf(node, follow, around)
                case Do():
                    self._loop(node, follow, around)
                case Branch(kind="where"):
                    self._sequence(node, follow, around)
                case Branch():
                    self._branch(node, follow, around)
                case Block(head=head, body=body, end=end):
                    inside = (*around, _Open(node, _name(head), follow))
                    last = self._first(end)
                    self._leaf(head, self._entry(body, last), around)
                    self._list(body, last, inside)
                    self._leaf(end, follow, around)
            follow = self._first(next(iter(leaves(node))))

    def _loop(self, loop: Do, follow: int, around: tuple[_Open, ...]) -> None:
        head = self.by_leaf[id(loop.head)]
        test = head[-1]
        last = test if loop.end is None else self._first(loop.end)
        again: tuple[int, ...] = (last,)
        if loop.end is None:
            terminal = list(leaves(loop))[-1]
            again = (test, self._first(terminal))
            if terminal.label is not None:
                self._terminals.setdefault(terminal.label, []).append(test)
        inside = (*around, _Open(loop, _name(loop.head), follow, again))
        body = self._entry(loop.body, last)
        what = loop.head.what
        if len(head) == 2:
            self._edge(head[0], test)
        kind = what.kind if isinstance(what, DoHead) else ""
        if kind == "forever":
            self._edge(test, body)
        else:
            yes, no = _LOOP_TAKEN.get(kind, _LOOP_TAKEN["count"])
            self._edge(test, body, yes)
            self._edge(test, follow, no)
        if isinstance(what, Opaque | Raw):
            self._anywhere(test, around)
        self._list(loop.body, last, inside)
        if loop.end is not None:
            self._leaf(loop.end, test, inside)

    def _branch(self, branch: Branch, follow: int, around: tuple[_Open, ...]) -> None:
        last = self._first(branch.end)
        inside = (*around, _Open(branch, _name(branch.arms[0].head), follow))
        arms = branch.arms
        selector = branch.kind == "select"
        for number, arm in enumerate(arms):
            here = self._first(arm.head)
            body = self._entry(arm.body, last)
            what = arm.head.what
            if isinstance(what, Opaque | Raw):
                self._anywhere(here, inside)
            if selector and number == 0:
                if arm.body:
                    self._edge(here, body)
                for case in arms[1:]:
                    self._edge(here, self._first(case.head))
                if not any(_is_default(case.head.what) for case in arms[1:]):
                    self._edge(here, last, "no case is taken")
            elif selector or (isinstance(what, ArmHead) and what.kind == "else"):
                self._edge(here, body)
            else:
                other = self._first(arms[number + 1].head) if number + 1 < len(arms) else last
                self._edge(here, body, "the condition is true")
                self._edge(here, other, "the condition is false")
            self._list(arm.body, last, inside)
        self._leaf(branch.end, follow, around)

    def _sequence(self, branch: Branch, follow: int, around: tuple[_Open, ...]) -> None:
        """A WHERE construct: the statements of all arms are executed, each for its elements."""
        last = self._first(branch.end)
        inside = (*around, _Open(branch, _name(branch.arms[0].head), follow))
        for number, arm in enumerate(branch.arms):
            last_arm = number + 1 == len(branch.arms)
            after = last if last_arm else self._first(branch.arms[number + 1].head)
            self._leaf(arm.head, self._entry(arm.body, after), inside)
            self._list(arm.body, after, inside)
        self._leaf(branch.end, follow, around)

    def _leaf(self, leaf: Leaf, follow: int, around: tuple[_Open, ...]) -> None:
        numbers = self.by_leaf[id(leaf)]
        here = numbers[-1]
        if len(numbers) == 2:
            self._edge(numbers[0], here, "the condition is true")
            self._edge(numbers[0], follow, "the condition is false")
        what = self.points[here].what
        match what:
            case Jump():
                self._jump(what, here, follow, around)
                return
            case IO(labels=labels):
                for label in labels:
                    self._to_label(here, label, around, f"an I/O condition leads to label {label}")
            case Call(args=args):
                for label in (arg.label for arg in args if isinstance(arg, AltReturn)):
                    self._to_label(here, label, around, f"it returns to label {label}")
            case Opaque() | Raw() | Include():
                self._anywhere(here, around)
        self._edge(here, follow)

    def _jump(self, jump: Jump, here: int, follow: int, around: tuple[_Open, ...]) -> None:
        match jump.kind:
            case JumpKind.RETURN:
                self._edge(here, EXIT, "it returns")
            case JumpKind.STOP | JumpKind.ERROR_STOP:
                self._edge(here, STOP, "the program stops")
            case JumpKind.CYCLE | JumpKind.EXIT:
                self._leave(jump, here, around)
            case _:
                labels: tuple[int, ...] = jump.labels
                if jump.kind is JumpKind.ASSIGNED_GOTO and not labels:
                    labels = tuple(self.labels)
                for label in labels:
                    self._to_label(here, label, around, f"it goes to label {label}")
                if jump.kind is JumpKind.COMPUTED_GOTO:
                    self._edge(here, follow, "it goes to none of its labels")

    def _leave(self, jump: Jump, here: int, around: tuple[_Open, ...]) -> None:
        wanted = None if jump.construct is None else jump.construct.lower()
        for construct in reversed(around):
            if not construct.again and (wanted is None or jump.kind is JumpKind.CYCLE):
                continue
            if wanted is not None and construct.name != wanted:
                continue
            if jump.kind is JumpKind.EXIT:
                text = "it leaves the loop" if construct.again else "it leaves the construct"
                self._edge(here, construct.after, text)
            for target in construct.again if jump.kind is JumpKind.CYCLE else ():
                self._edge(here, target, "it goes on with the next iteration")
            return
        self._anywhere(here, around)

    def _to_label(self, here: int, label: int, around: tuple[_Open, ...], why: str) -> None:
        target = self.labels.get(label)
        if target is None:
            self._anywhere(here, around)
        else:
            self._edge(here, target, why)

    def _anywhere(self, here: int, around: tuple[_Open, ...]) -> None:
        why = "it may go anywhere"
        for target in self.labels.values():
            self._edge(here, target, why)
        for construct in around:
            for target in (construct.after, *construct.again):
                self._edge(here, target, why)
        self._edge(here, EXIT, why)
        self._edge(here, STOP, why)

    def _shared_terminals(self) -> None:
        """A statement that ends several loops ends any of them when control comes from outside of
        the innermost, as compilers do it."""
        for label, tests in self._terminals.items():
            target = self.labels.get(label)
            if target is None or len(tests) < 2:
                continue
            innermost = self.points[target].around[-1]
            for source, targets in enumerate(self.edges):
                around = self.points[source].around
                if target in targets and not any(a is innermost for a in around):
                    if any(source == test for test in tests):
                        continue  # the loop itself
                    for test in tests:
                        self._edge(self._last_of(target), test)
                    break

    def _last_of(self, number: int) -> int:
        leaf = self.points[number].leaf
        assert leaf is not None
        return self.by_leaf[id(leaf)][-1]


_LOOP_TAKEN = {
    "count": ("there is another iteration", "there are no more iterations"),
    "concurrent": ("there is another iteration", "there are no more iterations"),
    "while": ("the condition is true", "the condition is false"),
}


def _name(head: Leaf) -> str | None:
    return None if head.name is None else head.name.lower()


def _is_default(what: What) -> bool:
    return isinstance(what, ArmHead) and what.kind.endswith("_default")


def jump_targets(what: What) -> Iterator[int]:
    """The labels that a statement may go to."""
    match what:
        case Guarded(action=action):
            yield from jump_targets(action)
        case Jump(labels=labels) | IO(labels=labels):
            yield from labels
        case Call(args=args):
            yield from (arg.label for arg in args if isinstance(arg, AltReturn))


__all__ = [
    "ENTRY", "EXIT", "STOP", "ControlFlow", "Point", "PointRole", "control_flow",
    "is_executed", "jump_targets",
]  # fmt: skip
