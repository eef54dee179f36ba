"""Loop fission: the statements of a nest that a message concerns get a nest of their own.

Before::

    call asphalt_wait(asphalt_request_1, r)
    do i = 1, n
      a(i) = a(i) + r(n + 1 - i)
      b(i) = sqrt(c(i))
    end do

After::

    call asphalt_wait(asphalt_request_1, r)
    do i = 1, n
      b(i) = sqrt(c(i))
    end do
    do i = 1, n
      a(i) = a(i) + r(n + 1 - i)
    end do

The nest of the other statements can then move into the overlap window.  In front of a start, the
nest that defines what is sent comes first, and the other one can move below the start (Danalis et
al., ICS 2009, section 5, "loop fission"; figure 1, a to d).  The statements of an iteration keep
their order within each nest; ``statement_order`` proves that neither nest needs what the other one
would compute too late.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asphalt.analysis.data_flow.accepted_assumptions import is_accepted_at
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.dependence.permutable_loops import effect_of
from asphalt.analysis.dependence.statement_order import StatementOrder
from asphalt.analysis.memory.accesses import Access
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.verdicts.splitting_codes import DIGITS
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.config.assumptions import BITS
from asphalt.config.passes import Pass
from asphalt.ir.records import record
from asphalt.ir.tree import Do, Leaf, Node, Unit, leaves
from asphalt.transforms.loops.index_set_splitting import Run
from asphalt.transforms.loops.parts_of_nest import marked, unlabelled, why_not_repeated
from asphalt.transforms.loops.peeling import to_starts
from asphalt.transforms.loops.splitting import from_waits
from asphalt.transforms.motion.windows import OverlapWindow, windows_of
from asphalt.transforms.rewriting.comments import assumptions
from asphalt.transforms.rewriting.edit import lists_in, rewrite_list
from asphalt.transforms.rewriting.guarded_nests import around, nest_in, plain
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation, Trial

_FREE = "asphalt: the statements of the nest that meet nothing under way"
_UNSENT = "asphalt: the statements of the nest that no message needs"


@record
class SplitNest(Trial):
    """The nest at ``position`` of the list that ``path`` leads to becomes two; ``group``: the
    numbers of the statements (``StatementOrder``) that no message concerns, whose nest is the first
    one or the second."""

    path: tuple[int, ...]
    position: int
    group: frozenset[int]
    first: bool


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """The nests of a unit that can become two so that one of them can move into the window of a
    transfer."""
    messages = facts.once(Messages)
    found: list[Found] = []
    for path, siblings in lists_in(facts.unit.body):
        windows = tuple(windows_of(siblings, messages))
        for position, node in enumerate(siblings):
            nest = nest_in(node, facts) if windows else None
            if nest is None or any(messages.calls(node)):
                continue
            one = next(_Nest(facts, nest, node, path, position).split(siblings, windows), None)
            found += () if one is None else (one,)
    return tuple(found)


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with one nest written as two."""
    assert isinstance(step, SplitNest)

    def change(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        node = nodes[step.position]
        nest = nest_in(node, facts)
        assert nest is not None
        parts = StatementOrder(nest, facts).parts
        free = {id(leaf) for n in step.group for leaf in leaves(parts[n].node)}
        rest = {id(leaf) for part in parts for leaf in leaves(part.node)} - free
        comments = (_FREE if step.first else _UNSENT, *assumptions(step.assumed))
        one, two = (free, rest) if step.first else (rest, free)
        whole = unlabelled(nest)
        assert isinstance(whole, Do)
        front, behind = _only(whole, one), _only(_repeated(whole, one, facts.eol), two)
        if step.first:
            front = marked(front, comments, facts)
        else:
            behind = marked(behind, comments, facts)
        return (
            *nodes[: step.position],
            *around(node, (front, behind)),
            *nodes[step.position + 1 :],
        )

    return replace(facts.unit, body=rewrite_list(facts.unit.body, (*step.path, 0), change))


@record
class _Nest:
    """The nest at ``position`` of the list that ``path`` leads to; ``whole``: with its condition,
    if it has one."""

    facts: UnitFacts
    nest: Do
    whole: Node
    path: tuple[int, ...]
    position: int

    @property
    def order(self) -> Independence:
        """Of the unit."""
        return self.facts.once(Independence.of)

    def split(self, siblings: Run, windows: tuple[OverlapWindow, ...]) -> Iterator[Found]:
        """The statements that can be split off, to move above a wait or below a start."""
        runs = (
            *((run, True) for run in from_waits(siblings, windows, self.position)),
            *((run, False) for run in to_starts(siblings, windows, self.position)),
        )
        if not runs or not self._can_be_split():
            return
        parts = StatementOrder(self.nest, self.facts)
        if not parts.can_be_parted:
            return
        known: dict[tuple[int, int], bool] = {}
        for run, first in runs:
            if any(self.order.place.bound(node) is not None for node in run):
                continue
            if all(self._is_free(node, first) for node in run):
                continue  # all of it can be moved
            free = (n for n in range(len(parts.parts)) if self._passes(parts, n, run, first, known))
            group = parts.separable(frozenset(free), first=first)
            if group:
                yield self._found(parts, group, first)

    def _can_be_split(self) -> bool:
        return (
            self.order.place.bound(self.whole) is None
            and why_not_repeated(self.nest, self.facts) is None
            and effect_of(self.nest, self.facts) is None
        )

    def _is_free(self, node: Node, first: bool) -> bool:
        """Whether the nest and a statement may change places; ``first``: it stands before it."""
        pair = (node, self.whole) if first else (self.whole, node)
        return self.order.why_not(*pair) is None

    def _passes(
        self,
        parts: StatementOrder,
        number: int,
        run: Run,
        first: bool,
        known: dict[tuple[int, int], bool],
    ) -> bool:
        """Whether a part, in a nest of its own, may change places with some statements; ``known``:
        gets whether it may with each, by their identity."""
        mine = parts.accesses(parts.parts[number])
        for node in run:
            key = number, id(node)
            if key not in known:
                theirs = self.order.accesses(node)
                known[key] = theirs is not None and not self._meets(mine, node, theirs, first)
            if not known[key]:
                return False
        return True

    def _meets(
        self, mine: tuple[Access, ...], node: Node, theirs: tuple[Access, ...], first: bool
    ) -> bool:
        if first:
            return self.order.may_meet(node, self.whole, theirs, mine)
        return self.order.may_meet(self.whole, node, mine, theirs)

    def _found(self, parts: StatementOrder, group: frozenset[int], first: bool) -> Found:
        where = self.facts.at(self.nest.head)
        rest = frozenset(range(len(parts.parts))) - group
        digits = parts.inexact(group) or parts.inexact(rest)
        if digits is not None and not is_accepted_at(BITS, self.nest.head, self.facts):
            message = (
                f"the nest of {where} is not split: without some of its statements, its innermost "
                f"loop, which evaluates {digits}, may be vectorised otherwise"
            )
            return Refused(DIGITS, message, self.nest.head.span, lifted_by=BITS.word)
        lines = ", ".join(dict.fromkeys(self.facts.at(_head(parts, n)) for n in sorted(group)))
        side = "before" if first else "behind"
        return SplitNest(
            line_of(self.nest.head),
            f"the nest of {where} becomes two: that of {lines} {side} the rest",
            ("no statement needs what the other nest now does later",),
            (side, *(leaf.body or "" for leaf in leaves(self.nest))),
            self.path,
            self.position,
            group,
            first,
            assumed=() if digits is None else (BITS.word,),
        )


def _head(parts: StatementOrder, number: int) -> Leaf:
    return next(leaves(parts.parts[number].node))


def _only(nest: Do, kept: set[int]) -> Do:
    """A nest with some of its statements, known by their lines, and the loops around them."""
    body: list[Node] = []
    for child in nest.body:
        inside = [id(leaf) in kept for leaf in leaves(child)]
        if all(inside):
            body.append(child)
        elif any(inside):
            assert isinstance(child, Do)
            body.append(_only(child, kept))
    return replace(nest, body=tuple(body))


def _repeated(nest: Do, there: set[int], eol: str) -> Do:
    """A nest as it is written again: comments at loops that are there already are not repeated."""
    if not any(id(leaf) in there for leaf in leaves(nest)):
        return nest
    body = tuple(_repeated(n, there, eol) if isinstance(n, Do) else n for n in nest.body)
    head = replace(nest.head, lead=(), trail=plain(nest.head.trail))
    end = None if nest.end is None else replace(nest.end, lead=(), trail=plain(nest.end.trail))
    return Do(head, body, end)


TRANSFORMATION = Transformation(
    "loop fission",
    Pass.FISSION,
    Phase.DIVISION,
    "The statements of a nest that a message concerns get a nest of their own.",
    check,
    apply,
    in_place=True,
)
