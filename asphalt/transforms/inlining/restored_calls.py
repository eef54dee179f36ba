"""Calls of inlined procedures whose statements stayed as they were.

Before (``limit`` was inlined beside ``exchange``, and only the statements of that one have moved)::

    ! asphalt: limit of kernels.f90 stands here
    do j = 1, ny
      dt = min(dt, step(j))
    end do

After::

    call limit(dt)

The search inlines what might be of use, and finds out later what was.  This is done once, when all
steps are: a procedure is called again where its statements stand next to each other, in their
order, each as inlining has written it.  The two are the same there, as they were where the
procedure was inlined, unless the call passes a copy, which is written back over what a message in
progress may have brought (F2018 15.5.2.4), or evaluates what the statements do not name
(``call_values``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.inlining.codes import RefusedError
from asphalt.analysis.inlining.plan import Inlining
from asphalt.ir.expr import root_name
from asphalt.ir.mapped import NotMappedError, mapped_what
from asphalt.ir.records import record
from asphalt.ir.source import TriviaKind
from asphalt.ir.stmt import ArmHead, Assign, Call, Guarded
from asphalt.ir.tree import Branch, Leaf, Node, Unit, leaves
from asphalt.transforms.inlining.call_values import CallValues
from asphalt.transforms.inlining.inlined_statements import Came, Origin, given_call
from asphalt.transforms.inlining.phase_variables import memory_of
from asphalt.transforms.inlining.split_phase_arguments import check_copy
from asphalt.transforms.rewriting.edit import lists_in, rewrite_list
from asphalt.transforms.rewriting.make import maker_at, var

_OWN_LINES = (TriviaKind.BLANK, TriviaKind.COMMENT)


@record
class Restored:
    """A unit in which procedures are called again.

    ``plans``: of the inlining that is undone; ``lines``: the line of the unit before that each new
    statement is about, by identity; ``calls``: the lines of the calls in the given unit, with the
    file and the name of the procedure.
    """

    unit: Unit
    plans: tuple[Inlining, ...]
    lines: Mapping[int, int]
    calls: frozenset[tuple[int, str, str]]


@record
class _Whole:
    """The nodes from ``begin`` to before ``end`` of the list at ``path``, which a call stands for:
    ``given``, as it stood in the unit before all steps."""

    plan: Inlining
    given: Leaf
    path: tuple[int, ...]
    begin: int
    end: int


def restored(facts: UnitFacts, given: UnitFacts, came: Origin) -> Restored | None:
    """The unit with calls of the procedures whose statements stayed as they were; None: there are
    none.  ``given``: the unit before all steps; ``came``: where statements of the unit came from.
    """
    found = tuple(_Search(facts, given, came).wholes())
    if not found:
        return None
    body, lists, lines = facts.unit.body, dict(lists_in(facts.unit.body)), dict[int, int]()
    for one in sorted(found, key=lambda one: (one.path, one.begin), reverse=True):
        first = next(leaves(lists[one.path][one.begin]))
        leaf = _call(one, first, facts)
        lines[id(leaf)] = line_of(first)
        body = rewrite_list(body, (*one.path, 0), partial(_replaced, one, leaf))
    plans = tuple(one.plan for one in found)
    calls = ((line_of(o.given), o.plan.callee.path, o.plan.callee.unit.name) for o in found)
    return Restored(replace(facts.unit, body=body), plans, lines, frozenset(calls))


def _replaced(whole: _Whole, leaf: Leaf, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    return (*nodes[: whole.begin], leaf, *nodes[whole.end :])


def _call(whole: _Whole, first: Leaf, facts: UnitFacts) -> Leaf:
    """The call, as it was written, as far in as the statements that it stands for."""
    make = maker_at(first, facts.located.form, facts.eol)
    return replace(whole.given, span=None, head=make.leaf(whole.given.what).head, shift=0)


class _Search:
    """The inlined calls of one unit whose statements stayed as they were."""

    def __init__(self, facts: UnitFacts, given: UnitFacts, came: Origin) -> None:
        self.facts = facts
        self.given = given
        self.found = {id(leaf): came(leaf) for node in facts.unit.body for leaf in leaves(node)}
        plans = (one.plan for one in self.found.values() if one is not None)
        self.number = Counter(id(plan) for plan in plans if plan is not None)

    def wholes(self) -> Iterator[_Whole]:
        """The nodes that calls can stand for."""
        for path, siblings in lists_in(self.facts.unit.body):
            at = 0
            while at < len(siblings):
                one, end = self._came(siblings[at]), at + 1
                if one is None or one.plan is None:
                    at = end
                    continue
                while end < len(siblings) and self._is_of(siblings[end], one.plan):
                    end += 1
                whole = self._whole(one, path, siblings, at, end)
                if whole is not None:
                    yield whole
                at = end

    def _came(self, node: Node) -> Came | None:
        """Where a node came from; None: not all of it from one place."""
        own = [self.found[id(leaf)] for leaf in leaves(node)]
        first = own[0]
        if first is None or any(one is None or one.plan is not first.plan for one in own):
            return None
        return first

    def _is_of(self, node: Node, plan: Inlining) -> bool:
        one = self._came(node)
        return one is not None and one.plan is plan

    def _whole(
        self, came: Came, path: tuple[int, ...], siblings: tuple[Node, ...], begin: int, end: int
    ) -> _Whole | None:
        plan = came.plan
        assert plan is not None
        own = [leaf for node in siblings[begin:end] for leaf in leaves(node)]
        begin -= len(plan.before)
        ahead = [leaf for node in siblings[max(begin, 0) : end] for leaf in leaves(node)]
        ahead = ahead[: len(ahead) - len(own)]
        if begin < 0 or len(own) != self.number[id(plan)] or not _is_as_written(own, plan):
            return None
        if [leaf.what for leaf in ahead] != [
            Assign(var(name), value) for name, value in plan.before
        ]:
            return None
        leaf = self._given_leaf(came.line, plan)
        if leaf is None or not _has_no_other_lines((*ahead, *own), leaf, plan):
            return None
        names = frozenset(new.lower() for new, _ in plan.needed.variables)
        if memory_of(self.facts.unit.body, names):
            return None
        if not self._passes_the_same(leaf, plan, (*ahead, *own)):
            return None
        if isinstance(leaf.what, Call):
            return _Whole(plan, leaf, path, begin, end)
        return self._guarded(plan, leaf, path, siblings, begin, end)

    def _guarded(
        self,
        plan: Inlining,
        leaf: Leaf,
        path: tuple[int, ...],
        siblings: tuple[Node, ...],
        begin: int,
        end: int,
    ) -> _Whole | None:
        """What stands for a call in an IF statement: the construct that it has become."""
        assert isinstance(leaf.what, Guarded)
        if begin != 0 or end != len(siblings) or len(path) < 2:
            return None
        lists = dict(lists_in(self.facts.unit.body))
        outer, number = path[:-2], path[-2]
        around = lists[outer][number] if outer in lists else None
        if not isinstance(around, Branch) or around.kind != "if" or len(around.arms) != 1:
            return None
        head = around.arms[0].head
        if head.what != ArmHead("if", (leaf.what.condition,)) or head.name is not None:
            return None
        if not _has_no_other_lines((head, around.end), leaf, plan):
            return None
        return _Whole(plan, leaf, outer, number, number + 1)

    def _given_leaf(self, line: int, plan: Inlining) -> Leaf | None:
        """The call in the given unit."""
        leaf = given_call(self.given.unit, line, plan)
        if leaf is None:
            return None
        if leaf.frozen or leaf.macros or leaf.joined or leaf.label is not None:
            return None
        if ";" in leaf.trail.split("!")[0] or any(e.kind not in _OWN_LINES for e in leaf.lead):
            return None
        return leaf

    def _passes_the_same(self, leaf: Leaf, plan: Inlining, own: Sequence[Leaf]) -> bool:
        """Whether the call passes what it passed, and no copies, and makes nothing undefined that a
        message in progress brings; ``own``: the statements in whose place it stands."""
        found = self._values.bound(leaf)
        if found is None:
            return False
        scope, bound = found
        for dummy, actual in bound.items():
            symbol, root = scope.lookup(dummy), root_name(actual)
            if symbol is None:
                return False
            lent = root is not None and self._is_lent(self.facts.names.storage(root))
            if lent and symbol.intent == "out":
                return False
            try:
                check_copy(dummy, symbol, actual, self.given.scope, pending=lent)
            except RefusedError:
                return False
        computed = {value for _, value in plan.before}
        direct = {dummy: actual for dummy, actual in bound.items() if actual not in computed}
        return self._values.are_the_same(leaf, direct, scope, own)

    @cached_property
    def _values(self) -> CallValues:
        return CallValues(self.facts, self.given, self.found)

    def _is_lent(self, storage: str) -> bool:
        """Whether MPI may access a storage behind a call of the unit that names it."""
        return self.facts.reaching.accesses.is_lent(storage) or storage in self._values.passed


def _has_no_other_lines(own: Iterable[Leaf], given: Leaf, plan: Inlining) -> bool:
    """Whether in front of statements are only comments of the procedure, of the call, and
    asphalt's."""
    theirs = {e.text for node in plan.body for leaf in leaves(node) for e in leaf.lead}
    known = {_told(text) for text in (*theirs, *(e.text for e in given.lead), given.trail)}
    return all(
        entry.kind in _OWN_LINES and (_told(entry.text) in known or _is_ours(entry.text))
        for leaf in own
        for entry in leaf.lead
    )


def _told(comment: str) -> str:
    return comment.strip().lstrip("!cC*").strip()


def _is_ours(comment: str) -> bool:
    return _told(comment).startswith("asphalt:") or not comment.strip()


def _is_as_written(own: list[Leaf], plan: Inlining) -> bool:
    """Whether statements are those that inlining has written."""
    given = [leaf for node in plan.body for leaf in leaves(node)]
    if len(own) != len(given):
        return False
    for leaf, one in zip(own, given, strict=True):
        try:
            what = mapped_what(one.what, plan.change, lambda n: plan.labels.get(n, n))
        except NotMappedError:
            return False
        if leaf.what != what or (leaf.label is None) != (one.label is None):
            return False
    return True
