"""Operations that the program starts itself: what stops their waits and starts.

The wait would move down and the start up, past computation that is independent of them
(``code_motion``).  The answer names the first statement on either way that they cannot move past,
and why.  If that is a nest, it also says what keeps the nest from being split into a part that
needs the message and one that does not (``splitting``, ``peeling``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from asphalt.analysis.conditions.point_to_point import NOTHING_BESIDE, verdict
from asphalt.analysis.data_flow.unit import UnitFacts, with_places
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.messages.messages import Messages, Stage, stage_of
from asphalt.analysis.requests.matching import OUTLIVES, Match, Matched
from asphalt.analysis.verdicts.verdict import Code, Refused
from asphalt.config.passes import Pass
from asphalt.ir.records import record
from asphalt.ir.tree import Branch, Do, Leaf, Node, leaves
from asphalt.optimiser.empty_windows import (
    Stop,
    conflict,
    is_beside_the_point,
    is_called,
    told_of,
)
from asphalt.optimiser.overlapped_work import work_texts
from asphalt.transforms.loops import peeling, splitting
from asphalt.transforms.motion.windows import OverlapWindow, in_window, is_work, windows_of
from asphalt.transforms.rewriting.checked_sizes import can_check
from asphalt.transforms.rewriting.edit import lists_in


@record
class OwnStart:
    """A call of the program that starts an operation, with the calls that complete it.

    ``code`` and ``why``, clauses: what keeps more work from its window.  ``stops``: the statements
    that its wait and its start cannot move past.  ``could``: work that nothing keeps from
    overlapping.  ``leaves_unit``: its wait, on its way down, comes to the end of the unit.
    ``outlives``: the operation may go on when the procedure returns.
    ``overlaps``: the work in its window as it is.  ``below``: of ``why``, what stops its wait.
    """

    start: Leaf
    operation: str
    ends: tuple[Leaf, ...]
    code: Code
    why: tuple[str, ...] = ()
    stops: tuple[Stop, ...] = ()
    could: Node | None = None
    leaves_unit: bool = False
    outlives: bool = False
    overlaps: tuple[str, ...] = ()
    below: tuple[str, ...] = ()


def own_starts(facts: UnitFacts, windows: OwnWindows) -> Iterator[OwnStart]:
    """All operations of a unit that are not complete when the call returns, in source order."""
    for match in facts.once(Messages).matches:
        call = match.call
        starts = stage_of(call) is Stage.START and call.binding != "runtime"
        if starts and not (isinstance(match, Matched) and match.is_blocking):
            yield windows.of(match)


class OwnWindows:
    """The obstacles of the operations of one unit.  ``passes``: those that are asked for."""

    def __init__(self, facts: UnitFacts, passes: Collection[str]) -> None:
        self.facts = facts
        self.messages = facts.once(Messages)
        self.order = facts.once(Independence.of)
        self.passes = passes
        self.is_called = is_called(facts)
        self._windows = {
            id(window.start): (siblings, window)
            for _, siblings in lists_in(facts.unit.body)
            for window in windows_of(siblings, self.messages)
        }
        self._around = {
            id(node): inner
            for _, siblings in lists_in(facts.unit.body)
            for inner in siblings
            for node in _inside(inner)
        }
        modules = {Pass.SPLITTING: splitting, Pass.PEELING: peeling}
        dividing = [module for name, module in modules.items() if name in passes]
        self._whole = {
            found.span: found
            for module in dividing
            for found in facts.once(module.check)
            if isinstance(found, Refused)
        }

    def of(self, match: Match) -> OwnStart:
        """Find what keeps more work from the window of an operation."""
        start, operation = match.leaf, match.call.procedure.spelled
        if not isinstance(match, Matched):
            told = verdict(match)
            lost = (self._given(told.message),)
            outlives = match.reason == OUTLIVES
            return OwnStart(start, operation, (), told.code, lost, outlives=outlives)
        ends = match.partners
        if id(start) in self._windows:
            siblings, window = self._windows[id(start)]
            inside: tuple[Node, ...] = ()
        elif (found := self._over_iterations(match)) is not None:
            siblings, window = found
            inside = (*siblings[window.first + 1 :], *siblings[: window.last])
        else:
            where = " and ".join(self.facts.at(end) for end in ends)
            why = f"it is completed elsewhere, in {where}"
            return OwnStart(start, operation, ends, NOTHING_BESIDE, (why,))
        inside += in_window(siblings, window, self.messages)
        overlaps = tuple(work_texts(inside, self.messages))
        one = OwnStart(start, operation, ends, NOTHING_BESIDE, overlaps=overlaps)
        return self._with_ways(one, siblings, window)

    def _over_iterations(self, match: Matched) -> tuple[tuple[Node, ...], OverlapWindow] | None:
        """The list of a loop in which one iteration starts an operation and the next one completes
        it, with the places of the two."""
        for _, siblings in lists_in(self.facts.unit.body):
            places = {id(leaf): n for n, node in enumerate(siblings) for leaf in leaves(node)}
            first = places.get(id(match.leaf))
            last = max((places.get(id(end), -1) for end in match.partners), default=-1)
            if first is not None and 0 <= last < first:
                return siblings, OverlapWindow(first, last, match.call, match.leaf)
        return None

    def _with_ways(
        self, one: OwnStart, siblings: tuple[Node, ...], window: OverlapWindow
    ) -> OwnStart:
        behind = self._way_down(siblings, window.last)
        if isinstance(behind, Stop):
            behind = self._with_other_operation(behind, one.start, siblings[window.last])
        before = self._way(siblings, window.first, forwards=False)
        work = next((way for way in (behind, before) if isinstance(way, Do | Branch | Leaf)), None)
        if work is not None and Pass.MOTION in self.passes:
            return replace(one, could=work)
        if work is not None:
            why = f"{self.named(work)} might be overlapped with --passes {Pass.MOTION}"
            return replace(one, why=(why,))
        code = one.code
        stops: list[Stop] = []
        told: dict[str, tuple[str, ...]] = {}
        for way, where in ((behind, "below"), (before, "above")):
            if not isinstance(way, Stop):
                continue
            stops.append(way)
            whole = self._whole.get(way.span) if way.meets else None
            if whole is None or is_beside_the_point(whole, way):
                told[where] = (f"{where}, {way.why}",)
                continue
            first, *more = told_of(way, whole)
            told[where] = (f"{where}, {first}", *more)
            code = whole.code if code is NOTHING_BESIDE else code
        ended = self._end_of(siblings) if behind is None else ()
        return replace(
            one,
            code=code,
            why=(*ended, *(clause for clauses in told.values() for clause in clauses)),
            below=told.get("below", ()),
            stops=tuple(stops),
            leaves_unit=behind is None and siblings is self.facts.unit.body,
        )

    def kept_below(self, start: Leaf, is_own: Callable[[Node], bool]) -> str | None:
        """What keeps the first work behind the wait for an operation from moving above the wait,
        in whole or in part, in a clause; None: nothing is known to.

        ``is_own``: whether a statement is asked about.
        """
        siblings, window = self._windows.get(id(start), ((), None))
        if window is None:
            return None
        behind = range(window.last + 1, len(siblings))
        found = (n for n in behind if is_work(siblings[n], self.messages) and is_own(siblings[n]))
        place = next(found, None)
        if place is None:
            return None
        work = siblings[place]
        bound = self.order.place.stays_outside(work)
        if bound is not None:
            return f"{self.named(work)} does not move: {self._given(bound)}"
        for other in filter(is_own, reversed(siblings[window.last : place])):
            stop = self._stop(work, other, forwards=False)
            if stop is not None and stop.fixed:
                where = self.facts.at(stop.head)
                return f"{self.named(work)} does not move above {where}: {stop.why}"
        whole = self._whole.get(_head(work).span)
        return None if whole is None else whole.message

    def _with_other_operation(self, stop: Stop, start: Leaf, wait: Node) -> Stop:
        """What stops a wait, with the operation whose buffer that meets, if it is another one than
        the operation asked about: one MPI_Waitall completes both."""
        mine, theirs = self.order.accesses(wait), self.order.accesses(stop.node)
        if stop.fixed or mine is None or theirs is None:
            return stop
        found = self.order.conflict(wait, stop.node, mine, theirs)
        for leaf, call in self.messages.calls(wait) if found is not None else ():
            met = [
                match
                for match in self.messages.completed_by(leaf) or ()
                for buffer in self.messages.touched(match.leaf, match.call) or ()
                if found is not None and buffer.meets(found[0])
            ]
            if met and all(match.leaf is not start for match in met):
                other, name = met[0], call.procedure.spelled
                which = f"{other.call.procedure.spelled} in {self.facts.at(other.leaf)}"
                why = f"{stop.why}, of the {which}: one {name} completes both"
                return replace(stop, why=why)
        return stop

    def named(self, node: Node) -> str:
        """A statement or loop, for people: ``the loop of line 12``."""
        where = self.facts.at(_head(node))
        return f"the loop of {where}" if isinstance(node, Do) else where

    def _way_down(self, siblings: tuple[Node, ...], last: int) -> Stop | Node | None:
        """What stops a wait on its way down to the end of an arm, where it stands in a branch, or
        else to the end of a list."""
        branch = siblings[last]
        for arm in branch.arms if isinstance(branch, Branch) else ():
            for place, node in enumerate(arm.body):
                if isinstance(node, Leaf) and self._is_completion(node):
                    stop = self._way(arm.body, place, forwards=True)
                    if isinstance(stop, Stop):
                        return stop
        return self._way(siblings, last, forwards=True)

    def _end_of(self, siblings: tuple[Node, ...]) -> list[str]:
        """What ends the statement list of the wait."""
        if siblings is self.facts.unit.body:
            return []
        around = self._around.get(id(siblings[0]))
        if around is None:
            return []
        what = "the loop around it" if isinstance(around, Do) else "the branch around it"
        return [f"{what} ({self.facts.at(_head(around))}) has no more computation below"]

    def _way(
        self, siblings: tuple[Node, ...], origin: int, *, forwards: bool
    ) -> Stop | Node | None:
        """What stops the wait on its way down, or the start on its way up; or the first work that
        it may pass; None: the list ends.  Work that it cannot pass takes precedence over another
        message that stops it before, such as the next wait for those of one MPI_Waitall."""
        node = siblings[origin]
        if not forwards and is_work(node, self.messages):
            return None
        others = siblings[origin + 1 :] if forwards else siblings[:origin][::-1]
        if not any(is_work(other, self.messages) for other in others):
            return None
        stopped: Stop | None = None
        for other in others:
            stop = self._stop(node, other, forwards)
            if stop is not None and not self._is_message(other):
                return stop
            if stop is not None:
                stopped = stopped or stop
            elif is_work(other, self.messages) and not any(self.messages.calls(other)):
                return stopped or other
        return stopped

    def _is_completion(self, leaf: Leaf) -> bool:
        return any(stage_of(call) is Stage.COMPLETE for _, call in self.messages.calls(leaf))

    def _is_message(self, node: Node) -> bool:
        """Whether a statement starts or completes transfers, and does nothing else."""
        return isinstance(node, Leaf) and any(
            stage_of(call) in (Stage.START, Stage.COMPLETE) for _, call in self.messages.calls(node)
        )

    def _stop(self, node: Node, other: Node, forwards: bool) -> Stop | None:
        """Why a wait or start may not pass a statement, or a parallel region that a loop is in;
        None: it may."""
        region = self.order.place.threads.threads.region_of(other)
        stops = (self._stop_at(node, one, forwards) for one in region or (other,))
        return next((stop for stop in stops if stop is not None), None)

    def _stop_at(self, node: Node, other: Node, forwards: bool) -> Stop | None:
        """Why a wait or start may not pass a statement, whatever else is in its region."""
        why = self._why_not(node, other, forwards)
        if why is None:
            return None
        fixed = self._why_fixed(node, other, forwards) is not None
        mine, theirs = self.order.accesses(node), self.order.accesses(other)
        if not fixed or mine is None or theirs is None:
            return Stop(other, why, fixed=fixed, meets=not fixed)
        pair = (node, other) if forwards else (other, node)
        both = (mine, theirs) if forwards else (theirs, mine)
        return Stop(other, why, fixed=True, meets=self.order.conflict(*pair, *both) is not None)

    def _why_fixed(self, node: Node, other: Node, forwards: bool) -> str | None:
        """Why two statements keep their order, whatever they access."""
        for one in (other, node):
            bound = self.order.place.stays_outside(one)
            if bound is not None:
                return self._given(bound if one is other else f"it cannot move: {bound}")
        why = self.order.calls.why_not(*((node, other) if forwards else (other, node)))
        return None if why is None else self._given(why)

    def _why_not(self, node: Node, other: Node, forwards: bool) -> str | None:
        """The reason of ``_stop_at``."""
        pair = (node, other) if forwards else (other, node)
        if self.order.why_not_outside(*pair) is None:
            return None
        if can_check(self.facts) and self.order.sizes_for(*pair) is not None:
            return None
        fixed = self._why_fixed(node, other, forwards)
        if fixed is not None:
            return fixed
        mine, theirs = self.order.accesses(node), self.order.accesses(other)
        if mine is None or theirs is None:
            which = self.facts.at(_head(node if mine is None else other))
            return f"it is not known which operations {which} completes"
        found = self.order.conflict(*pair, *((mine, theirs) if forwards else (theirs, mine)))
        if found is None:
            return self._given(self.order.why_not_outside(*pair) or "")
        own, access = found if forwards else found[::-1]
        if any(leaf is access.leaf for leaf, _ in self.messages.calls(other)):
            name = access.spelled
            return f"{self.facts.at(access.leaf)} is a transfer of {name}, too"
        return conflict(access, own, self.facts)

    def _given(self, message: str) -> str:
        """The message with the lines of the user's source."""
        return with_places(message, self.facts.at)


def _inside(node: Node) -> Iterator[Node]:
    """The statements of the lists of a construct."""
    if isinstance(node, Leaf):
        return
    if isinstance(node, Branch):
        for arm in node.arms:
            yield from arm.body
    else:
        yield from node.body


def _head(node: Node) -> Leaf:
    return next(iter(leaves(node)))
