"""Index-set splitting of nests into their interior and their edges.

The edges are the first and last iterations that access what other statements access
(``edge_iterations``), so that the interior can move past these statements.  The iterations may be
executed in any order (``permutable_loops``), and each is executed once, however few there are: of a
loop from ``a`` to ``b``, whose first ``m`` and last ``n`` iterations are edges, the interior is
from ``a+m`` to ``b-n``, the edges are from ``a`` to ``min(a+m-1, b)`` and from ``max(b-n+1, a+m)``
to ``b``.  The nests are perfect, or have loops for rows of temporaries at the end
(``dependence.row_loops``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import replace

from asphalt.analysis.data_flow.accepted_assumptions import is_accepted_at
from asphalt.analysis.data_flow.same_statements import NestQuestion
from asphalt.analysis.data_flow.unit import UnitFacts, line_of, with_places
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.dependence.permutable_loops import effect_of, region_of, why_ordered
from asphalt.analysis.dependence.row_loops import RowLoop, Rows, product_for_sums, rows_of
from asphalt.analysis.dependence.vector_rounding import why_other_digits
from asphalt.analysis.exchange.producer import tilable_loops
from asphalt.analysis.memory.accesses import Access
from asphalt.analysis.memory.affine_guards import extremes
from asphalt.analysis.memory.regions import Region, loop_variable
from asphalt.analysis.memory.shapes import shape_of
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.names.constants import type_bytes
from asphalt.analysis.names.designators import designators_in, symbol_named
from asphalt.analysis.names.scopes import Origin
from asphalt.analysis.tiling.edge_iterations import (
    WIDEST,
    EdgeCounts,
    LoopRange,
    ends_of,
    range_of,
)
from asphalt.analysis.verdicts.splitting_codes import DIGITS, LONG, ORDER, SHAPE, STATEMENT
from asphalt.analysis.verdicts.verdict import Code, Refused
from asphalt.config.assumptions import BITS, Assumption
from asphalt.ir.expr import Lit, Ref, walk
from asphalt.ir.records import record
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Do, Leaf, Node, Unit, leaves
from asphalt.transforms.loops.parts_of_nest import edges, interior, why_not_repeated
from asphalt.transforms.motion.hoisting import hoistable
from asphalt.transforms.motion.windows import OverlapWindow, windows_of
from asphalt.transforms.rewriting.comments import assumptions
from asphalt.transforms.rewriting.edit import lists_in, rewrite_list
from asphalt.transforms.rewriting.guarded_nests import around, nest_in
from asphalt.transforms.rewriting.step import Found, Step, Trial

Run = tuple[Node, ...]
Choices = Callable[[Run, tuple[OverlapWindow, ...], int], list[Run]]
MOST_STATEMENTS = 40
"""Of a nest that is written several times, the heads and ends of loops included."""


@record
class DividedNest(Trial):
    """The nest at ``position`` of the list that ``path`` leads to; ``ends``: the iterations that
    are not in the interior, for each of its perfectly nested loops down to the last one that is
    divided; ``rows``: the row loops in front of that one."""

    path: tuple[int, ...]
    position: int
    ends: tuple[EdgeCounts, ...]
    rows: Rows | None = None


def nests(facts: UnitFacts, choices: Choices) -> tuple[Found, ...]:
    """The splits of a unit, and what keeps nests from being split.  ``choices``: the runs of
    statements that the interior of a nest at a position of a list with such windows would have to
    pass.  Short statements that can go before a run do so, too, and need not be passed."""
    messages = facts.once(Messages)
    order = facts.once(Independence.of)
    found: list[Found] = []
    for path, siblings in lists_in(facts.unit.body):
        windows = tuple(windows_of(siblings, messages))
        for position, node in enumerate(siblings):
            nest = nest_in(node, facts)
            if nest is None or any(messages.calls(node)):
                continue
            one = Nest(facts, order, nest, node, path, position).divided(
                choices(siblings, windows, position)
            )
            found += () if one is None else (one,)
    return tuple(found)


def in_parts(facts: UnitFacts, step: Step, comment: str, interior_first: bool) -> Unit:
    """The unit with one nest written as its interior, with a comment, and its edges."""
    assert isinstance(step, DividedNest)

    def change(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        node = nodes[step.position]
        nest = nest_in(node, facts)
        assert nest is not None
        comments = (comment, *assumptions(step.assumed))
        inside = interior(nest, step.ends, comments, facts, step.rows)
        outside = edges(nest, step.ends, facts, step.rows)
        parts = around(node, (inside, *outside) if interior_first else (*outside, inside))
        return (*nodes[: step.position], *parts, *nodes[step.position + 1 :])

    return replace(facts.unit, body=rewrite_list(facts.unit.body, (*step.path, 0), change))


@record
class Nest:
    """The nest at ``position`` of the list that ``path`` leads to; ``whole``: with its condition,
    if it has one."""

    facts: UnitFacts
    order: Independence
    nest: Do
    whole: Node
    path: tuple[int, ...]
    position: int

    def divided(self, choices: Iterable[tuple[Node, ...]]) -> Found | None:
        """The split whose interior can pass the first of these runs of statements before or behind
        the nest that any interior can pass; or what keeps it from passing the first run; None:
        there is nothing to split, or no need."""
        *_, chain = ((), *tilable_loops(self.nest))
        if not chain or any(is_edge(loop, self.facts) for loop in chain):
            return None
        refused: Refused | None = None
        for run in choices:
            passed, hoisted = self._parted(run)
            if any(self.order.place.bound(node) is not None for node in passed):
                continue
            if all(self._is_free(node) for node in passed):
                break  # all of it can be moved
            outcome = self._split(chain, passed, hoisted)
            if isinstance(outcome, Step):
                return outcome
            refused = refused or outcome
        return refused

    def _parted(self, run: Run) -> tuple[Run, Run]:
        """A run of statements that the interior has to pass, and those that go before it."""
        if self._in_order(run[0])[0] is self.whole:
            return run, ()
        ahead = hoistable(run, self.facts)
        stay = tuple(node for n, node in enumerate(run) if n not in ahead)
        return stay, tuple(run[n] for n in ahead)

    def _is_free(self, node: Node) -> bool:
        """Whether the nest and a statement may change places."""
        return self.order.why_not(*self._in_order(node)) is None

    def _in_order(self, node: Node) -> tuple[Node, Node]:
        """The nest and a statement before or behind it, the first one first."""
        first, second = sorted((node, self.whole), key=lambda one: line_of(next(leaves(one))))
        return first, second

    def _split(self, chain: tuple[Do, ...], passed: Run, hoisted: Run) -> DividedNest | Refused:
        once = self.why_once()
        if once is not None:
            return once
        ends = self._ends(chain, passed, hoisted)
        if ends is None or not any(ends):
            rows = rows_of(chain, self.facts)
            if rows is not None and not is_edge(rows.last, self.facts):
                ends = self._ends((*chain, rows.last), passed, hoisted, rows)
                if ends is not None and any(ends):
                    return self.with_ends((*chain, rows.last), ends, rows=rows)
            unknown = self._without_bounds(passed)
            return self._refused(
                SHAPE,
                "which part of it needs a message is not known, "
                + (
                    "or is not at the ends of its loops"
                    if unknown is None
                    else f"for the bounds of {unknown} are not"
                ),
            )
        return self.with_ends(chain, ends)

    def with_ends(
        self,
        chain: tuple[Do, ...],
        ends: tuple[EdgeCounts, ...],
        most: int = MOST_STATEMENTS,
        rows: Rows | None = None,
    ) -> DividedNest | Refused:
        """The split of the perfectly nested loops of ``chain`` at these ends, of which one is not
        empty, wherever the interior goes then; ``most``: the most statements of the nest.
        ``rows``: if the last one of the chain is behind row loops."""
        cut = [number for number, own in enumerate(ends) if own]
        ends, outer = ends[: cut[-1] + 1], chain[: cut[-1] + 1]
        divided = tuple(chain[n] for n in cut)
        rows = rows if len(outer) == len(chain) else None
        forbidden = self._forbidden(outer, divided, most, rows)
        if forbidden is not None:
            return forbidden
        product = None if rows is None else product_for_sums(rows, self.facts.scope)
        if product is not None:
            return self._refused(
                DIGITS,
                f"a product of {self.facts.at(product)} may be rounded at once with a sum where a "
                "part has few iterations",
            )
        body = outer[-1].body
        for row in () if rows is None else rows.loops:
            body = (*row.loop.body, *body)
        digits = why_other_digits(divided, body, self.facts, region_of(self.nest, self.facts))
        if digits is None:
            return self._step(outer, ends, (), rows)
        if is_accepted_at(BITS, self.nest.head, self.facts):
            return self._step(outer, ends, (BITS.word,), rows)
        return self._refused(DIGITS, f"its innermost loop evaluates {digits}", BITS)

    def why_once(self) -> Refused | None:
        """Why the nest cannot be written several times, for some of its iterations each."""
        stays = self.order.place.undivided(self.whole)
        stays = self._unrepeatable() if stays is None else with_places(stays, self.facts.at)
        return None if stays is None else self._refused(STATEMENT, stays)

    def _ends(
        self, chain: tuple[Do, ...], passed: Run, hoisted: Run, rows: Rows | None = None
    ) -> tuple[EdgeCounts, ...] | None:
        """The ends of the loops that meet the statements to be passed; ``hoisted``: statements
        among these that go before them; ``rows``: if the last loop is behind row loops."""
        mine = self.facts.footprint(self.nest).accesses
        writing = tuple(access for access in mine if access.writes)
        done = (access for node in hoisted for access in self.facts.footprint(node).accesses)
        changing = [*writing, *(access for access in done if access.writes)]
        passed_over: set[tuple[int, str]] = set()
        own, written = {access.storage for access in mine}, {access.storage for access in writing}
        meeting: list[list[Access]] = []
        for number, node in enumerate(passed):
            theirs = self.order.accesses(node)
            if theirs is None:
                return None
            changing += (access for access in theirs if access.writes)
            meeting.append([one for one in theirs if one.storage in own])
            whole = {one.storage for one in meeting[-1] if not one.path
                     and (one.storage in written or one.writes)}  # fmt: skip
            passed_over.update(
                (number, name) for name in whole if self.order.is_temporary(name, node, self.nest)
            )
        first = self._in_order(passed[0])[0]
        same, behind = self.facts.same, first is not self.whole
        question: NestQuestion | None = None
        if same is not None and rows is None:
            over = frozenset(passed_over)
            question = same.nest(self.nest, passed, hoisted, len(chain), behind, over)
            if question is not None and question in same.known.ends:
                known = same.known.ends[question]
                return None if known is None else tuple(EdgeCounts(*one) for one in known)
        pairs = list(_pairs(mine, meeting, passed_over))
        ends = self._of_pairs(chain, pairs, next(leaves(first)), changing, rows)
        if same is not None and question is not None:
            counts = None if ends is None else tuple((one.first, one.last) for one in ends)
            same.known.ends[question] = counts
        return ends

    def _of_pairs(
        self,
        chain: tuple[Do, ...],
        pairs: list[tuple[Access, Access]],
        start: Leaf,
        changing: list[Access],
        rows: Rows | None,
    ) -> tuple[EdgeCounts, ...] | None:
        """The ends of the loops that have all iterations in which the second access of a pair meets
        the first one; ``changing``: what is written from ``start`` on."""
        limits = self.order.limits.at(start)
        changed = frozenset(access.storage for access in changing)
        region = Region(self.facts.values, start, changed, tuple(changing), limits)
        *outer, last = [range_of(loop, region) for loop in chain]
        ends: tuple[EdgeCounts, ...] | None = (EdgeCounts(),) * len(chain)
        for row in () if rows is None else rows.loops:
            own = range_of(row.loop, region)
            rowwise = [pair for pair in pairs if row.loop in pair[1].loops]
            pairs = [pair for pair in pairs if row.loop not in pair[1].loops]
            loops = (*chain[:-1], row.loop)
            found = ends_of(region, rowwise, _variables(loops), [*outer, own])
            ends = _with_row(ends, found, own, last, row)
        found = ends_of(region, pairs, _variables(chain), [*outer, last])
        return None if found is None or ends is None else tuple(map(_widest, found, ends))

    def _without_bounds(self, passed: tuple[Node, ...]) -> str | None:
        """An array that the nest shares with a message whose last element is not known, for the
        bounds of the array are not."""
        mine = self.facts.footprint(self.nest).accesses
        for one in (one for node in passed for one in self.order.accesses(node) or ()):
            if not one.is_open or not any(one.meets(other) for other in mine):
                continue
            shape = shape_of(one.object, self.facts.scope, self.facts.values, one.leaf)
            if shape is not None and not shape.stated:
                return one.spelled
        return None

    def _forbidden(
        self, outer: tuple[Do, ...], divided: tuple[Do, ...], most: int, rows: Rows | None
    ) -> Refused | None:
        """Why the iterations may not be divided."""
        number = sum(1 for _ in leaves(self.nest))
        if number > most:
            return self._refused(LONG, f"it has {number} statements")
        apart = frozenset[str]() if rows is None else rows.arrays
        ordered = why_ordered(outer, divided, self.facts, apart)
        if ordered is not None:
            return self._refused(ORDER, ordered)
        others = () if rows is None else (row.loop for row in rows.loops)
        if not all(has_plain_bounds(loop, self.facts) for loop in (*divided, *others)):
            return self._refused(SHAPE, "the bounds of its loops are not default integers")
        return None

    def _unrepeatable(self) -> str | None:
        """Why the statements cannot be written a second time."""
        named = why_not_repeated(self.nest, self.facts)
        if named is not None:
            return named
        effect = effect_of(self.nest, self.facts)
        if effect is not None:
            return f"{self.facts.at(effect.leaf)}: {effect.kind.value} ({effect.detail})"
        return None

    def _step(
        self,
        outer: tuple[Do, ...],
        ends: tuple[EdgeCounts, ...],
        assumed: tuple[str, ...],
        rows: Rows | None,
    ) -> DividedNest:
        divided = (loop for loop, own in zip(outer, ends, strict=True) if own)
        names = " and ".join(str(loop_variable(loop)) for loop in divided)
        return DividedNest(
            line_of(self.nest.head),
            f"the nest of {self.facts.at(self.nest.head)} is split into its interior and its edges "
            f"in {names}",
            (
                "no iteration needs what another one computes",
                f"only the first or last iterations over {names} access what is in progress",
            ),
            tuple(leaf.body or "" for leaf in leaves(self.nest)),
            self.path,
            self.position,
            ends,
            rows,
            assumed=assumed,
        )

    def _refused(self, code: Code, reason: str, lifted_by: Assumption | None = None) -> Refused:
        where = self.facts.at(self.nest.head)
        message = f"the nest of {where} is not split into interior and edges: {reason}"
        lifted = None if lifted_by is None else lifted_by.word
        return Refused(code, message, self.nest.head.span, lifted_by=lifted)


def _pairs(
    mine: Iterable[Access], meeting: Iterable[Iterable[Access]], over: Container[tuple[int, str]]
) -> Iterator[tuple[Access, Access]]:
    """The accesses of statements, one after the other, that may conflict with some of a nest, each
    with one of these; ``over``: where that does not matter, the number of the statement and the
    storage."""
    to_storage = defaultdict[str, list[Access]](list)
    for access in mine:
        to_storage[access.storage].append(access)
    for number, accesses in enumerate(meeting):
        for one in accesses:
            if not one.path and (number, one.storage) in over:
                continue
            for two in to_storage[one.storage]:
                if (one.writes or two.writes) and one.meets(two):
                    yield one, two


def _variables(loops: Iterable[Do]) -> tuple[str, ...]:
    return tuple(str(loop_variable(loop)) for loop in loops)


def _widest(one: EdgeCounts, other: EdgeCounts) -> EdgeCounts:
    return EdgeCounts(max(one.first, other.first), max(one.last, other.last))


def _with_row(
    ends: tuple[EdgeCounts, ...] | None,
    found: tuple[EdgeCounts, ...] | None,
    own: LoopRange | None,
    last: LoopRange | None,
    row: RowLoop,
) -> tuple[EdgeCounts, ...] | None:
    """The ends of loops with those that a row loop has: an iteration of the last loop is at an end
    if it needs one that is.  ``own``, ``last``: the ranges of the two."""
    if ends is None or found is None or own is None or last is None:
        return None
    before = (own.first - last.first).value
    behind = (last.last - own.last).value
    if before is None or behind is None:
        return None
    *outer, inner = found
    first = inner.first and max(0, inner.first + before - row.least)
    greatest = inner.last and max(0, inner.last + behind + row.greatest)
    return tuple(map(_widest, ends, (*outer, EdgeCounts(first, greatest))))


def is_edge(loop: Do, facts: UnitFacts) -> bool:
    """Whether a loop leaves iterations out, or has few; edges are not split again."""
    head = loop.head.what
    if not isinstance(head, DoHead) or head.step is not None:
        return True
    least, greatest = extremes(head.first, ">="), extremes(head.last, "<=")
    few = WIDEST if len(least) > 1 or len(greatest) > 1 else 2
    distances = (
        (facts.values.constants(last) - facts.values.constants(first)).value
        for last in greatest
        for first in least
    )
    return any(distance is not None and distance < few for distance in distances)


def has_plain_bounds(loop: Do, facts: UnitFacts) -> bool:
    """Whether the bounds are integers of the default kind, and MIN and MAX are the intrinsics."""
    head = loop.head.what
    assert isinstance(head, DoHead)
    for name in ("max", "min"):
        symbol = facts.scope.lookup(name)
        if symbol is not None and symbol.origin is not Origin.INTRINSIC:
            return False
    for bound in (head.var, head.first, head.last):
        for name in designators_in(bound) if bound is not None else ():
            symbol = symbol_named(name, facts.scope)
            if "%" not in name and (symbol is None or symbol.origin is Origin.INTRINSIC):
                continue
            if symbol is None:
                return False
            if type_bytes(symbol.type, facts.scope) != 4:
                return False
        if bound is not None and any(isinstance(p, Lit) and "_" in p.text for p in walk(bound)):
            return False
    symbol = facts.scope.lookup(head.var.name) if isinstance(head.var, Ref) else None
    return symbol is not None and symbol.type is not None and symbol.type.base == "integer"
