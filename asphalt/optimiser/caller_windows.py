"""Operations that a procedure starts and its callers complete: what stops the calls there.

The statement of the caller that completes the operation would move down, and the call that starts
it up, past computation that is independent of both (``called_motion``).  The answer is for the
first caller that completes the operation.  It names the first statement on either way that they
cannot move past, and why.  Of procedures that complete their operations themselves and were inlined
in vain, the answer is what keeps the work behind the call where it is.
"""

from __future__ import annotations

from functools import partial

from asphalt.analysis.call_graph.call_sites import CallingContext, CallSites, UnitKey
from asphalt.analysis.data_flow.unit import UnitFacts, line_of, with_places
from asphalt.analysis.dependence.called_order import CalledOrder
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.messages.messages import Messages, Stage, stage_of
from asphalt.analysis.messages.unclear_requests import Unclear, why_unclear
from asphalt.analysis_manager.analyses import Analyses
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.tree import Leaf, Node, leaves
from asphalt.optimiser.acceptance import unit_at
from asphalt.optimiser.blocking import NOT_MOVED, calls_that_stay
from asphalt.optimiser.empty_windows import Stop
from asphalt.optimiser.origins import SourceLine
from asphalt.optimiser.outcome import InlinedCall, Optimised, StoppedAtCall
from asphalt.optimiser.overlap import Overlap
from asphalt.optimiser.phases import PHASES
from asphalt.optimiser.program_windows import OwnWindows
from asphalt.optimiser.unit_state import UnitState, Workshop
from asphalt.transforms.motion import called_motion
from asphalt.transforms.motion.called_motion import CalledWindow
from asphalt.transforms.motion.windows import is_work
from asphalt.transforms.rewriting.edit import lists_in
from asphalt.transforms.rewriting.step import Phase

_DEEP = 3  # callers of callers

_Window = tuple[tuple[Node, ...], CalledWindow]


@record
class CallerWindow:
    """What is known of an operation where its procedure is called.

    ``why``: what keeps computation from overlapping there, a clause each.  ``completed``: whether a
    caller is known that completes it; ``overlaps``: with computation in between.  ``stops`` and
    ``ends``: the places of the statements that stop the calls, with the reasons, and of those that
    complete the operation.
    """

    why: tuple[str, ...]
    completed: bool = False
    overlaps: bool = False
    stops: tuple[tuple[SourceLine, str], ...] = ()
    ends: tuple[SourceLine, ...] = ()


@record
class _Callers:
    """The callers of a procedure with a start at a place of a tree."""

    analyses: Analyses
    accepted: frozenset[str]
    start: SourceLine
    inlines: bool

    def of(self, located: Located, depth: int) -> CallerWindow:
        """What stops the calls in the first caller that completes the operation."""
        effects, _ = self.analyses.under(self.accepted).of(any_sizes=True)
        sites = effects.scopes.once(CallSites)
        callers = sites.callers(sites.of(located))
        if isinstance(callers, str):
            return CallerWindow((f"what completes it is not known: {callers}",))
        contexts = {site.context.key: site.context for site in callers}
        told: list[CallerWindow] = []
        for context in contexts.values():
            facts = effects.once(_Facts).of(context, self)
            numbers = [s.statement.leaf for s in callers if s.context is context]
            found = self._in(facts, numbers, len(callers), depth)
            if found.completed:
                return found
            told.append(found)
        return told[0]

    def _in(self, facts: UnitFacts, calls: list[Leaf], number: int, depth: int) -> CallerWindow:
        """The same for one caller and its calls, the first of which may be to be told."""
        order, messages = facts.once(CalledOrder), facts.once(Messages)
        windows = [
            (siblings, window)
            for _, siblings in lists_in(facts.unit.body)
            for window in called_motion.windows_in(siblings, order)
            if (window.started.path, window.started.line) == (self.start.path, self.start.line)
        ]
        starting = [one for one in windows if one[1].first >= 0]
        ending = [one for one in windows if one[1].last < len(one[0])]
        where = f"called in {self._at(facts, calls[0])}"
        if number > 1:
            where += f" (and in {number - 1} more place{'s' * (number > 2)})"
        if not ending:
            return self._open(facts, calls[0], where, order, depth)
        siblings, window = ending[0]
        ends = [leaf for leaf in leaves(siblings[window.last]) if order.requests.completes(leaf)]
        where += f", completed in {' and '.join(self._at(facts, end) for end in ends)}"
        behind = self._first_way(ending, order, messages, forwards=True)
        before = self._first_way(starting, order, messages, forwards=False)
        free = next(
            (w for w in (behind, before) if w is not None and not isinstance(w, Stop)), None
        )
        places = tuple(self._place(facts, end) for end in ends)
        around = [one for one in ending if one[1].first >= 0] or ending
        full = any(called_motion.work_in(*one, messages, order.requests) for one in around)
        if free is not None:
            why = f"{where}: {self._at(facts, _head(free))} {NOT_MOVED}"
            return CallerWindow((why,), True, full, (), places)
        told: list[str] = []
        stops: list[tuple[SourceLine, str]] = []
        for way, which in ((behind, "below"), (before, "above")):
            if isinstance(way, Stop):
                why = self._given(facts, way.why)
                told.append(f"{which}, {why}")
                stops.append((self._place(facts, way.head), why))
        name = facts.unit.name
        if behind is None and self.inlines and name:
            told += calls_that_stay(self.analyses, facts.located, self.accepted)
        if not told:
            told.append(f"{name or 'the main program'} contains none beside it")
        return CallerWindow((f"{where}: {told[0]}", *told[1:]), True, full, tuple(stops), places)

    def _open(
        self, facts: UnitFacts, call: Leaf, where: str, order: CalledOrder, depth: int
    ) -> CallerWindow:
        """What is known where a caller does not complete the operation in one of its statements."""
        unclear = self._unclear(facts, call, order)
        if unclear is not None:
            place = SourceLine(unclear.path, unclear.line)
            return CallerWindow((f"{where}: {self._named(place)} {unclear.why}",))
        if depth > 1 and facts.unit.kind != "program":
            return self.of(facts.located, depth - 1)
        name = facts.unit.name or "the main program"
        return CallerWindow((f"{where}: no statement of {name} is known to complete it",))

    @staticmethod
    def _unclear(facts: UnitFacts, call: Leaf, order: CalledOrder) -> Unclear | None:
        """Why it is not known what a call starts, or what comes behind it that may complete it;
        None: it is known."""
        if order.requests.of(call) is None:
            return why_unclear(call, order.requests)
        for _, siblings in lists_in(facts.unit.body):
            own = [n for n, node in enumerate(siblings) if any(x is call for x in leaves(node))]
            for node in siblings[own[0] + 1 :] if own else ():
                reasons = (why_unclear(leaf, order.requests) for leaf in leaves(node))
                found = next(filter(None, reasons), None)
                if found is not None:
                    return found
        return None

    def _first_way(
        self, windows: list[_Window], order: CalledOrder, messages: Messages, *, forwards: bool
    ) -> Stop | Node | None:
        """What ``_way`` finds in the innermost list with computation on the way."""
        ways = (self._way(one, order, messages, forwards=forwards) for one in windows)
        return next((way for way in ways if way is not None), None)

    def _way(
        self, where: _Window, order: CalledOrder, messages: Messages, *, forwards: bool
    ) -> Stop | Node | None:
        """What stops the completion on its way down, or the start on its way up; or the first work
        that it may pass; None: there is none."""
        siblings, window = where
        origin = window.last if forwards else window.first
        others = siblings[origin + 1 :] if forwards else siblings[:origin][::-1]
        if not any(is_work(other, messages) for other in others):
            return None
        stopped: Stop | None = None
        for other in others:
            why = order.why_not(siblings[origin], other, window.started.buffers)
            done = order.requests.of(other) if isinstance(other, Leaf) else None
            if why is not None and (done is None or not done.requests):
                return Stop(other, why)
            if why is not None:  # another message, such as the next wait
                stopped = stopped or Stop(other, why)
            elif is_work(other, messages):
                return stopped or other
        return stopped

    @staticmethod
    def _place(facts: UnitFacts, where: Leaf | int) -> SourceLine:
        line = where if isinstance(where, int) else line_of(where)
        return SourceLine(facts.located.path, line)

    def _at(self, facts: UnitFacts, where: Leaf | int) -> str:
        return self._named(self._place(facts, where))

    def _named(self, place: SourceLine) -> str:
        return (
            f"line {place.line}" if place.path == self.start.path else f"{place.path}:{place.line}"
        )

    def _given(self, facts: UnitFacts, message: str) -> str:
        """A message with the places of its lines."""
        return with_places(message, partial(self._at, facts))


class _Facts:
    """The facts of callers, each made once."""

    def __init__(self, effects: Effects) -> None:
        self.effects = effects
        self._found: dict[tuple[UnitKey, frozenset[str]], UnitFacts] = {}

    def of(self, context: CallingContext, asked: _Callers) -> UnitFacts:
        """The facts of one unit."""
        key = context.key, asked.accepted
        if key not in self._found:
            _, uniformity = asked.analyses.under(asked.accepted).of(any_sizes=True)
            located = context.scope.located
            eol = asked.analyses.tree.file(located.path).eol
            self._found[key] = UnitFacts(located, self.effects, eol, uniformity, asked.accepted)
        return self._found[key]


def _head(node: Node) -> Leaf:
    return next(iter(leaves(node)))


def at_callers(
    analyses: Analyses,
    located: Located,
    start: SourceLine,
    accepted: frozenset[str],
    *,
    inlines: bool,
) -> CallerWindow:
    """What stops the calls of a procedure, ``located`` in the tree of ``analyses``, around an
    operation that it starts at a place of this tree, and that outlives it."""
    return _Callers(analyses, accepted, start, inlines).of(located, _DEEP)


def stopped_at_calls(shop: Workshop, found: Optimised) -> tuple[StoppedAtCall, ...]:
    """The transfers of procedures that were inlined in a unit in vain, each with what keeps the
    work behind the call from overlapping with it.  ``found``: what became of the unit."""
    tried = [one for one in found.dropped if one.calls]
    if not tried or any(step.call for step in found.steps):
        return ()
    calls = {(call.path, call.unit): call for one in tried for call in one.calls}
    prepared = shop.closure(UnitState(shop.tree, ()), PHASES[Phase.PREPARATION])
    tree = Overlap(shop).split(prepared, frozenset())[0].tree
    facts = shop.facts(tree)
    windows = OwnWindows(facts, shop.passes)

    places = {call.place for call in calls.values()}  # what inlining makes stands for them

    def call_of(node: Node) -> InlinedCall | None:
        place = shop.place(tree, line_of(_head(node)))
        unit = unit_at(shop.first, place)
        return None if unit is None else calls.get((place.path, unit.unit.name))

    def is_own(node: Node) -> bool:
        place = shop.given(shop.place(tree, line_of(_head(node))))
        return call_of(node) is None and place not in places

    stopped: list[StoppedAtCall] = []
    for match in facts.once(Messages).matches:
        call = call_of(match.leaf) if stage_of(match.call) is Stage.START else None
        if call is not None:
            why = windows.kept_below(match.leaf, is_own)
            place = shop.given(shop.place(tree, line_of(match.leaf)))
            if why is not None:
                stopped.append(StoppedAtCall(place, call, why, facts.located.path))
    return tuple(stopped)
