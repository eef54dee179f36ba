"""Where the statements of a transformed file come from: lines of the user's source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache
from types import MappingProxyType
from weakref import WeakKeyDictionary

from asphalt.analysis.inlining.plan import Inlining
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.records import record
from asphalt.ir.source import Span
from asphalt.ir.tree import File, Unit, leaves
from asphalt.transforms.rewriting.comments import STANDS_HERE
from asphalt.transforms.rewriting.step import Step

_NONE: Mapping[int, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True, order=True)
class SourceLine:
    """A line of a file as it was given."""

    path: str
    line: int


Places = Callable[[SourceLine], SourceLine]
"""The places in the user's source of those in a tree."""


def itself(place: SourceLine) -> SourceLine:
    """The place."""
    return place


@record
class OfProcedure:
    """A statement that came from a procedure which was inlined: how it was, the line of the
    statement in the procedure, and that of the call in the user's source."""

    plan: Inlining
    line: int
    call: SourceLine | None


@record
class _Made:
    """How a tree was made: from the tree ``before``, with statements that stood at ``spans``, or in
    a new statement's place, at the line of ``before`` that its step was about.  ``plans``: of the
    procedures that were inlined; ``bodies``: the number of that which a statement came from."""

    before: Tree
    spans: tuple[Span | int, ...]
    plans: tuple[Inlining, ...] = ()
    bodies: tuple[int | None, ...] = ()


class Origins:
    """The origins of the statements of one file, ``path``, in the trees that steps have made."""

    def __init__(self, tree: Tree, path: str) -> None:
        self._given = tree
        self._path = path
        self._made: WeakKeyDictionary[Tree, _Made] = WeakKeyDictionary()
        self._known: WeakKeyDictionary[Tree, dict[tuple[int, bool], SourceLine | None]] = (
            WeakKeyDictionary()
        )
        self._numbers: WeakKeyDictionary[Tree, dict[int, int]] = WeakKeyDictionary()

    def note(
        self,
        tree: Tree,
        before: Tree,
        line: int,
        file: File,
        lines: Mapping[int, int] = _NONE,
        plans: Sequence[Inlining] = (),
    ) -> None:
        """Record that a step about a line of ``before`` made ``tree``, from the syntax tree
        ``file``: statements that have not changed, or came from elsewhere, still have their spans
        there.  ``lines``: those that other new statements are about, by identity; ``plans``: of the
        procedures that it has inlined, in source order."""
        if tree is not self._given and tree is not before and tree not in self._made:
            spans = (leaf.span or lines.get(id(leaf), line) for leaf in leaves(file))
            self._made[tree] = _Made(before, tuple(spans), tuple(plans), _bodies(file, plans))

    def procedure(self, tree: Tree, line: int) -> OfProcedure | None:
        """The inlined procedure that the statement in a line of a tree came from, or was made for;
        of one that was inlined into another one, that one.  None: it came from none."""
        while tree is not self._given:
            made = self._made.get(tree)
            number = None if made is None else self._number(tree, line)
            if made is None or number is None or number >= len(made.spans):
                return None
            span = made.spans[number]
            body = made.bodies[number] if made.bodies else None
            if body is not None and isinstance(span, Span):
                plan = made.plans[body]
                outer = self.procedure(made.before, plan.call.line)
                call = self.place(made.before, plan.call.line)
                return outer or OfProcedure(plan, span.first, call)
            if isinstance(span, Span) and span.file != self._path:
                return None
            line, tree = span.first if isinstance(span, Span) else span, made.before
        return None

    def place(self, tree: Tree, line: int) -> SourceLine | None:
        """Where the statement in a line of a tree stood in the user's source; None: it is new."""
        return self._traced(tree, line, new=False)

    def about(self, tree: Tree, line: int) -> SourceLine | None:
        """Where the statement in a line of a tree stood; for a new one, where the statement stood
        that its step was about."""
        return self._traced(tree, line, new=True)

    def _traced(self, tree: Tree, line: int, new: bool) -> SourceLine | None:
        passed: list[tuple[dict[tuple[int, bool], SourceLine | None], int]] = []
        path, found = self._path, None
        while True:
            if tree is self._given or path != self._path:  # which statements are only added to
                found = SourceLine(path, self._given_line(tree, path, line))
                break
            known = self._known.setdefault(tree, {})
            if (line, new) in known:
                found = known[line, new]
                break
            passed.append((known, line))
            made = self._made.get(tree)
            number = None if made is None else self._number(tree, line)
            if made is None or number is None or number >= len(made.spans):
                break
            span = made.spans[number]
            if isinstance(span, Span):
                path, line = span.file, span.first
            elif new:
                line = span
            else:
                break
            tree = made.before
        for known, one in passed:
            known[one, new] = found
        return found

    def _given_line(self, tree: Tree, path: str, line: int) -> int:
        """The line of the given text of a file that a line of it in a tree was."""
        given, now = (one.content(path) for one in (self._given, tree))
        return line if given == now else given_lines(given, now)[line - 1]

    def _number(self, tree: Tree, line: int) -> int | None:
        """The number, among the statements of a tree, of the first one in a line."""
        if tree not in self._numbers:
            numbers: dict[int, int] = {}
            for number, leaf in enumerate(leaves(tree.file(self._path))):
                if leaf.span is not None:
                    numbers.setdefault(leaf.span.first, number)
            self._numbers[tree] = numbers
        return self._numbers[tree].get(line)


def _bodies(file: File, plans: Sequence[Inlining]) -> tuple[int | None, ...]:
    """For each statement of a file, the number of the procedure that it came from in the step that
    has inlined them: a comment tells where the body of each begins."""
    if not plans:
        return ()
    theirs = {
        (leaf.span.file, leaf.span.first)
        for plan in plans
        for leaf in leaves(plan.callee.unit)
        if leaf.span is not None
    }
    found: list[int | None] = []
    current = -1
    for leaf in leaves(file):
        came = leaf.span is not None and (leaf.span.file, leaf.span.first) in theirs
        begins = any(entry.text.rstrip().endswith(STANDS_HERE) for entry in leaf.lead)
        current += begins and (came or leaf.span is None)
        found.append(current if came and current >= 0 else None)
    return tuple(found) if current == len(plans) - 1 else ()


@lru_cache(maxsize=8)
def given_lines(given: bytes, now: bytes) -> tuple[int, ...]:
    """For each line of a text, the line of the given text that it is, or that precedes it; lines
    are numbered from 1."""
    one, other = given.splitlines(), now.splitlines()
    found = [0] * len(other)
    for block in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks():
        for number in range(block.size):
            found[block.b + number] = block.a + number + 1
    last = 1
    for number, line in enumerate(found):
        last = found[number] = line or last
    return tuple(found)


def through(tree: Tree, made_of: Tree, given: Places) -> Places:
    """The places in the user's source of those in a tree that is made of another one; ``given``:
    of those in that one."""

    def place(one: SourceLine) -> SourceLine:
        before, after = made_of.content(one.path), tree.content(one.path)
        line = one.line if before == after else given_lines(before, after)[one.line - 1]
        return given(replace(one, line=line))

    return given if tree is made_of else place


def new_lines(units: Sequence[Unit], steps: Sequence[Step]) -> dict[int, int]:
    """For the statements that steps have made, by identity, the line that the step was about;
    ``units``: the unit before the steps and after each of them, all of which the caller keeps."""
    lines: dict[int, int] = {id(leaf): 0 for leaf in leaves(units[0])}
    for step, unit in zip(steps, units[1:], strict=True):
        for leaf in leaves(unit):
            lines.setdefault(id(leaf), step.line)
    return lines
