"""Code motion: starts move up, waits move down, and computation moves between them.

Before::

    call asphalt_irecv(north, ..., asphalt_request_1)
    call asphalt_wait(asphalt_request_1, north)
    do k = 1, nz                                      ! does not touch ``north``
      ...
    end do

After::

    call asphalt_irecv(north, ..., asphalt_request_1)
    do k = 1, nz
      ...
    end do
    call asphalt_wait(asphalt_request_1, north)

Each move is a chain of exchanges of neighbouring statements that ``commutation`` proves
independent.  The start moves up; the wait moves down; and computation beyond a statement that
neither can pass moves into the window itself, from below the wait or from above the start (Danalis
et al., ICS 2009, section 5, "overlap window expansion", footnote 3).  A move is a step only if the
window gets more work by it: a loop, a call, or a statement for whole arrays (``array_work``).
Statements remain in their statement list, so that each is executed as often as before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from asphalt.analysis.data_flow.passed_readings import reads_a_clock
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.messages.messages import Messages, Stage, stage_of
from asphalt.analysis.mpi.call import MpiCall
from asphalt.analysis.mpi.library_effects import receives
from asphalt.config.assumptions import TIMERS
from asphalt.config.passes import Pass
from asphalt.ir.expr import names_in
from asphalt.ir.records import record
from asphalt.ir.tree import Do, Leaf, Node, Unit, leaves
from asphalt.transforms.motion.comments_in_place import with_comments_in_place
from asphalt.transforms.motion.hoisting import Run
from asphalt.transforms.motion.schedules import Move, Schedule, in_separate_lists
from asphalt.transforms.motion.windows import (
    OverlapWindow,
    in_window,
    is_beside_taken,
    is_given,
    is_work,
    partial_windows,
    paths_of,
    takes_time,
    windows_of,
)
from asphalt.transforms.rewriting.checked_sizes import can_check, with_checked_sizes
from asphalt.transforms.rewriting.comments import assumptions, in_front
from asphalt.transforms.rewriting.edit import lists_in, rewrite_list
from asphalt.transforms.rewriting.make import maker_at
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation

MOST_MOVES = 500
"""In one list; more is a defect, not a program."""


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """The schedules of the lists of a unit, each of which fills windows of transfers."""
    return tuple(schedules(facts))


def schedules(facts: UnitFacts) -> Iterator[Schedule]:
    """These schedules, found one by one: most of the work for the second one is in vain once the
    first one is made."""
    messages = facts.once(Messages)
    order = facts.once(Independence.of)
    for path, siblings in lists_in(facts.unit.body):
        moves: list[Move] = []
        while len(moves) < MOST_MOVES:
            move = next(_Window.moves(siblings, path, messages, order), None)
            if move is None:
                break
            moves.append(move)
            siblings = move.moved(siblings)
        if moves:
            first = moves[0]
            yield Schedule(first.line, first.does, first.evidence, tuple(moves))


def busy_requests(facts: UnitFacts) -> frozenset[str]:
    """The variables of requests whose transfers have work in their windows."""
    messages = facts.once(Messages)
    order = facts.once(Independence.of)
    return frozenset(
        name
        for path, siblings in lists_in(facts.unit.body)
        for window, call in _Window.all(siblings, path, messages, order)
        if window.has_work()
        if "request" in call.args
        for name in names_in(call.args["request"])
    )


def hidden_work(facts: UnitFacts) -> int:
    """How many loops, calls and array statements stand between starts and completions; one in
    several windows counts for each of them."""
    messages = facts.once(Messages)
    order = facts.once(Independence.of)
    return sum(
        _Window(siblings, path, w, messages, order).amount()
        for path, siblings in lists_in(facts.unit.body)
        for w in windows_of(siblings, messages)
    )


def apply(facts: UnitFacts, step: Step) -> Unit:
    """The unit with the statements of a list in another order.  If moves need sizes, the unit does
    not compile with others."""
    assert isinstance(step, Schedule)

    def change(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        nodes = with_comments_in_place(nodes, step.moves, facts.scope)
        for move in step.moves:
            if move.assumed:
                marked = _with_comments(nodes[move.origin], move.assumed, facts)
                nodes = (*nodes[: move.origin], marked, *nodes[move.origin + 1 :])
            nodes = move.moved(nodes)
        return nodes

    body = rewrite_list(facts.unit.body, (*step.path, 0), change)
    sizes = frozenset[str]().union(*(move.sizes for move in step.moves))
    return with_checked_sizes(replace(facts.unit, body=body), sizes, facts)


def _with_comments(node: Node, assumed: tuple[str, ...], facts: UnitFacts) -> Node:
    """A statement with the assumptions that its move rests on, as comments in front of it."""
    new = maker_at(_head(node), facts.located.form, facts.eol)
    told = [entry.text.strip() for entry in _head(node).lead]
    comments = (new.comment(text) for text in assumptions(assumed))
    return in_front(node, tuple(entry for entry in comments if entry.text.strip() not in told))


@record
class _Window:
    """A window of a list."""

    siblings: tuple[Node, ...]
    path: tuple[int, ...]
    window: OverlapWindow
    messages: Messages
    order: Independence

    @property
    def first(self) -> int:
        """Where the start is."""
        return self.window.first

    @property
    def last(self) -> int:
        """Where the completion is."""
        return self.window.last

    @classmethod
    def moves(
        cls,
        siblings: tuple[Node, ...],
        path: tuple[int, ...],
        messages: Messages,
        order: Independence,
    ) -> Iterator[Move]:
        """The moves for all windows of a list, the last window first, and then for those that it
        only begins or ends."""
        for window, _ in cls.all(siblings, path, messages, order):
            yield from window._found()
        for part in partial_windows(siblings, messages):
            yield from cls(siblings, path, part, messages, order)._outwards()

    @classmethod
    def all(
        cls,
        siblings: tuple[Node, ...],
        path: tuple[int, ...],
        messages: Messages,
        order: Independence,
    ) -> Iterator[tuple[_Window, MpiCall]]:
        """The windows of a list, the last one first, each with the call that opens it."""
        for window in windows_of(siblings, messages):
            yield cls(siblings, path, window, messages, order), window.call

    def amount(self) -> int:
        """How many loops, calls and array statements stand behind the start and in front of the
        first completion, on any path."""
        start = self.window.start
        ends = {id(leaf) for leaf in self.messages.completion(start) or ()}
        found = 0
        for number, node in enumerate(self.siblings[self.first : self.last + 1]):
            posting = self.messages.only_starts(node, computing=True)
            for path in paths_of(node):
                behind = number > 0
                for leaf in path:
                    if id(leaf) in ends:
                        break
                    found += behind and not posting and self._is_work(leaf)
                    behind = behind or leaf is start
        return found

    def has_work(self) -> bool:
        """Whether work stands in the window."""
        return self.work() > 0

    def work(self) -> int:
        """How many loops, calls and array statements stand in the window."""
        inside = in_window(self.siblings, self.window, self.messages)
        return sum(
            takes_time(leaf, self.messages)
            for node in inside
            if self._is_work(node)
            for leaf in leaves(node)
        )

    def _found(self) -> Iterator[Move]:
        """The wait down, then the start up, then work from beyond."""
        down, sizes = self._reach(self.last, +1)
        if down != self.last:
            yield self._move(self.last, down, "the wait of", "goes behind", sizes)
            return
        up, sizes = self._reach(self.first, -1)
        if up != self.first and not self._is_work(self.siblings[self.first]):
            yield self._move(self.first, up, "the start of", "goes before", sizes)
            return
        yield from self._from_behind()
        yield from self._from_before()

    def _outwards(self) -> Iterator[Move]:
        """The wait down, or the start up, whichever is in the list."""
        if self.first < 0:
            down, sizes = self._reach(self.last, +1)
            if down != self.last:
                yield self._move(self.last, down, "the wait of", "goes behind", sizes)
            return
        up, sizes = self._reach(self.first, -1)
        if up != self.first:
            yield self._move(self.first, up, "the start of", "goes before", sizes)

    def _reach(self, origin: int, direction: int) -> tuple[int, frozenset[str]]:
        """How far a statement can go past work, and the named constants that have to be positive
        for that; beyond the last work it does not go."""
        reached, here = origin, origin
        needed: frozenset[str] = frozenset()
        sizes: frozenset[str] = frozenset()
        while 0 <= here + direction < len(self.siblings):
            other = self.siblings[here + direction]
            if direction > 0 and is_beside_taken(other):
                break
            if region := self.order.place.threads.threads.region_of(other):
                if not self._passes(origin, region, here, direction):
                    break
                here += direction * len(region)
                reached, needed = here, sizes
                continue
            pair = (self.siblings[origin], other)
            more = self._sizes_for(*pair[::direction])
            if more is None:
                break
            sizes |= more
            here += direction
            if self._is_work(other) and (direction < 0 or not self._ends_another(other)):
                reached, needed = here, sizes
        return reached, needed

    def _passes(self, origin: int, region: tuple[Do, ...], here: int, direction: int) -> bool:
        """Whether a call can go past all loops of a parallel region, the first or last of which is
        the next statement."""
        moved = self.siblings[origin]
        begin = here + 1 if direction > 0 else here - len(region)
        there = self.siblings[max(begin, 0) : begin + len(region)]
        if not isinstance(moved, Leaf) or [id(n) for n in there] != [id(n) for n in region]:
            return False
        pairs = ((moved, loop) if direction > 0 else (loop, moved) for loop in region)
        return all(self.order.why_not_outside(*pair) is None for pair in pairs)

    def _sizes_for(self, first: Node, second: Node) -> frozenset[str] | None:
        if self.order.why_not(first, second) is None:
            return frozenset()
        return self.order.sizes_for(first, second) if can_check(self.order.facts) else None

    def _ends_another(self, node: Node) -> bool:
        """Whether a statement waits for what was started before it: two of them would pass each
        other again and again, and the work in one is taken from the window of the other."""
        inside = {id(leaf) for leaf, _ in self.messages.calls(node)}
        return any(
            stage_of(call) is Stage.COMPLETE
            and any(id(m.leaf) not in inside for m in self.messages.completed_by(leaf) or ())
            for leaf, call in self.messages.calls(node)
        )

    def _from_behind(self) -> Iterator[Move]:
        """Work that stands behind the wait, with something between that the wait cannot pass."""
        run = Run((self.siblings[self.last],), self.order.facts)
        does = "goes into the window of"
        for origin in range(self.last + 1, len(self.siblings)):
            node = self.siblings[origin]
            if self._is_work(node) and not any(self.messages.calls(node)) and not is_given(node):
                sizes = self._past(run.nodes, node)
                if sizes is not None:
                    yield self._move(origin, self.last, "the work of", does, sizes)
                    return
                if self._may_pass(run, node):
                    ahead = run.needed(node)
                    rest = [one for n, one in enumerate(run.nodes) if n not in ahead]
                    if ahead and self._past(rest, node) is not None:
                        yield self._move(self.last + ahead[0], self.last, "the statement of", does)
                        return
            run.nodes.append(node)

    def _may_pass(self, run: Run, node: Node) -> bool:
        """Whether a statement can go before a run if those that may go before it do so first."""
        return all(
            run.may_go(number) or self._sizes_for(run.nodes[number], node) is not None
            for number in reversed(range(len(run.nodes)))
        )

    def _past(self, run: Sequence[Node], node: Node) -> frozenset[str] | None:
        """The named constants that have to be positive for a statement to go before a run; None:
        it may not go there."""
        sizes: frozenset[str] = frozenset()
        for passed in reversed(run):
            more = self._sizes_for(passed, node)
            if more is None:
                return None
            sizes |= more
        return sizes

    def _from_before(self) -> Iterator[Move]:
        """Work that stands before the start, with something between that the start cannot pass.

        Out of a window it does not go, so the only waits that it passes are those for sends which
        start behind it.
        """
        sent: set[int] = set()
        for origin in reversed(range(self.first)):
            node = self.siblings[origin]
            sent -= {id(leaf) for leaf, _ in self.messages.calls(node)}
            awaited = self._awaited_sends(node)
            if awaited is None:
                return
            sent |= awaited
            if sent or not self._is_work(node) or any(self.messages.calls(node)):
                continue
            sizes: frozenset[str] | None = frozenset()
            for passed in self.siblings[origin + 1 : self.first + 1]:
                more = self._sizes_for(node, passed)
                sizes = None if sizes is None or more is None else sizes | more
                if sizes is None:
                    break
            if sizes is not None:
                does = "goes into the window of"
                yield self._move(origin, self.first, "the work of", does, sizes)
                return

    def _awaited_sends(self, node: Node) -> set[int] | None:
        """The starts of sends that a statement completes; None: it completes anything else."""
        found: set[int] = set()
        for leaf, call in self.messages.calls(node):
            stage = stage_of(call)
            if stage in (Stage.START, Stage.NOTHING):
                continue
            started = self.messages.completed_by(leaf) if stage is Stage.COMPLETE else None
            if not started or any(receives(one.call.procedure) for one in started):
                return None
            found |= {id(one.leaf) for one in started}
        return found

    def _is_work(self, node: Node) -> bool:
        return is_work(node, self.messages)

    def _move(
        self,
        origin: int,
        target: int,
        what: str,
        does: str,
        sizes: frozenset[str] = frozenset(),
    ) -> Move:
        moved, passed = self.siblings[origin], self.siblings[target]
        places = [self.order.facts.at(_head(node)) for node in (moved, passed)]
        evidence = "all statements on the way are independent of it"
        if sizes:
            evidence += f" where {', '.join(sorted(sizes))} > 0, which compilers check"
        clocks = measured(self.siblings, origin, target, self.order.facts)
        return Move(
            line_of(_head(moved)),
            f"{what} {places[0]} {does} {places[1]}{clocks and f', {clocks}'}",
            (evidence,),
            self.path,
            origin,
            target,
            sizes,
            assumed=(TIMERS.word,) if clocks else (),
        )


def measured(siblings: Sequence[Node], origin: int, target: int, facts: UnitFacts) -> str:
    """Between which readings of a clock a statement of a list stands when it has moved, if it
    passes some or reads a clock itself; '': neither."""
    first, last = min(origin, target), max(origin, target)
    if not any(reads_a_clock(node, facts) for node in siblings[first : last + 1]):
        return ""
    rest = [*siblings[:origin], *siblings[origin + 1 :]]
    before = [n for n in reversed(rest[:target]) if reads_a_clock(n, facts)]
    behind = [n for n in rest[target:] if reads_a_clock(n, facts)]
    readings = [facts.at(_head(found[0])) for found in (before, behind) if found]
    if before and behind:
        return f"between the readings of a clock in {readings[0]} and {readings[1]}"
    where = "behind" if before else "before"
    return f"{where} the reading of a clock in {readings[0]}" if readings else "with its clock"


def _head(node: Node) -> Leaf:
    return next(iter(leaves(node)))


TRANSFORMATION = Transformation(
    "code motion",
    Pass.MOTION,
    Phase.WINDOWS,
    "Starts move up, waits move down, and computation moves between them.",
    schedules,
    apply,
    in_place=True,
    together=in_separate_lists,
)
