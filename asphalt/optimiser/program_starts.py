"""The operations that the program starts itself and that overlap with no more work, and why.

For a unit that has been optimised, the reasons are what stops its waits and starts in the new text,
what keeps that statement from being split, and the steps with it that were tried and not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from itertools import islice

from asphalt.analysis.conditions.point_to_point import NOTHING_BESIDE, UNKNOWN, UNMATCHED
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.messages.messages import Messages, Stage, stage_of
from asphalt.analysis.verdicts.verdict import Role
from asphalt.analysis_manager.analyses import Analyses
from asphalt.config.passes import Pass
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.tree import Leaf
from asphalt.optimiser.acceptance import key_of
from asphalt.optimiser.blocking import NOT_MOVED, calls_that_stay
from asphalt.optimiser.caller_windows import CallerWindow, at_callers
from asphalt.optimiser.empty_windows import only_copies
from asphalt.optimiser.options import Options
from asphalt.optimiser.origins import SourceLine
from asphalt.optimiser.outcome import Optimised, Staying, Tried
from asphalt.optimiser.program_windows import OwnStart, OwnWindows, own_starts
from asphalt.optimiser.unchanged_units import why_doubted, why_unchanged
from asphalt.optimiser.unit_state import Workshop
from asphalt.transforms.tiling import segmentation

_MOST = 2  # steps that were tried in vain with a nest and are told
_NOTHING = Tried()
_NO_MORE = "no more computation to overlap"
_NO_WORK = "no computation to overlap"


def staying(shop: Workshop, found: Optimised) -> tuple[Staying, ...]:
    """The program's own operations of a unit in the workshop, with what became of the unit; (): the
    options do not ask to move work."""
    if not shop.options.asks_for(Pass.MOTION):
        return ()
    tree = shop.tree_of(found)
    overlapped = {(one.path, one.line, one.operation) for one in found.transfers}

    def place(leaf: Leaf) -> SourceLine:
        return shop.given(shop.place(tree, line_of(leaf)))

    def calls(beside_work: bool) -> tuple[str, ...]:
        located, accepted = shop.located(shop.first), shop.options.accepted
        return calls_that_stay(shop.analyses, located, accepted, beside_work=beside_work)

    def doubt() -> str | None:
        known = found.content is not None
        return None if known else why_doubted(shop.first, shop.path, shop.chain)

    asked = _Asked(shop.facts(tree), shop.passes, place, calls, Tried(found.dropped), doubt=doubt)
    return tuple(
        one
        for one in asked.staying()
        if (one.place.path, one.place.line, one.operation) not in overlapped
    )


def staying_in(
    analyses: Analyses, located: Located, options: Options, tried: Tried = _NOTHING
) -> Iterator[Staying]:
    """All operations that a unit of a tree starts itself, as if the optimiser left the unit alone,
    or did so because of a doubt that it has ``tried``.

    With ``motion``, each comes with what stops its wait and its start; otherwise with what keeps
    its message from being cut, if ``pipelining`` asks for that.
    """
    moves, cuts = options.asks_for(Pass.MOTION), options.asks_for(Pass.NONBLOCKING, Pass.PIPELINING)
    if not moves and not cuts:
        return
    effects, uniformity = analyses.under(options.accepted).of(any_sizes=True)
    eol = analyses.tree.file(located.path).eol
    facts = UnitFacts(located, effects, eol, uniformity, options.accepted)

    def place(leaf: Leaf) -> SourceLine:
        return SourceLine(located.path, line_of(leaf))

    def calls(beside_work: bool) -> tuple[str, ...]:
        return calls_that_stay(analyses, located, options.accepted, beside_work=beside_work)

    def doubt() -> str | None:
        return why_doubted(analyses.tree, *key_of(located))

    unchanged = options.fault_in(located) or tried.doubt
    unchanged = unchanged or why_unchanged(analyses, *key_of(located), facts.scope)
    if moves:

        def callers(leaf: Leaf) -> CallerWindow:
            inlines = options.asks_for(Pass.INLINE)
            return at_callers(analyses, located, place(leaf), options.accepted, inlines=inlines)

        asked = _Asked(
            facts,
            options.passes,
            place,
            calls,
            unchanged=unchanged,
            doubt=doubt,
            callers=callers,
        )
        yield from asked.staying()
    elif unchanged is None:
        yield from _whole_messages(facts, place)


def _whole_messages(facts: UnitFacts, place: Callable[[Leaf], SourceLine]) -> Iterator[Staying]:
    """The messages that a unit starts itself and that would be cut but for one thing."""
    whole = {one.span: one for one in reversed(segmentation.refusals(facts))}
    for leaf, call in facts.once(Messages).own_calls():
        starts = stage_of(call) is Stage.START and call.binding != "runtime"
        one = whole.get(leaf.span) if starts else None
        if one is not None:
            marks = tuple(
                (SourceLine(mark.span.file, mark.span.first), mark.role, mark.text)
                for mark in one.marks
            )
            yield Staying(
                place(leaf),
                call.procedure.spelled,
                one.code,
                f"{_NO_MORE}; {one.message}",
                marks or ((place(leaf), "offending", one.message),),
                one.witness,
            )


@record
class _Asked:
    """A unit whose own operations are asked about.

    ``place``: where a statement stands in the user's source.  ``calls``: why the procedure is not
    inlined at its calls; only at those with computation beside them, if that is asked.  ``tried``:
    what was tried in vain.  ``unchanged``: why the unit is not changed.  ``doubt``: why it is not
    clear what the unit means; asked where that is what stands in the way.
    """

    facts: UnitFacts
    passes: Collection[str]
    place: Callable[[Leaf], SourceLine]
    calls: Callable[[bool], tuple[str, ...]]
    tried: Tried = _NOTHING
    unchanged: str | None = None
    doubt: Callable[[], str | None] = lambda: None
    callers: Callable[[Leaf], CallerWindow] | None = None

    def staying(self) -> Iterator[Staying]:
        """All that the unit starts itself, each as if nothing overlapped with it."""
        windows = OwnWindows(self.facts, self.passes)
        for one in own_starts(self.facts, windows):
            if one.outlives and self.callers is None:
                continue
            unchanged = self.unchanged
            if unchanged is None and one.could is not None:
                unchanged = self.doubt()
            around = None
            if one.outlives and self.callers is not None and unchanged is None:
                around = self.callers(one.start)
                one = replace(one, why=around.why)
                if around.completed:
                    one = replace(one, code=NOTHING_BESIDE)
            full = one.overlaps or (around is not None and around.overlaps)
            message = _NO_MORE if full else _NO_WORK
            if unchanged is not None:
                message = f"its procedure is not transformed: {unchanged}"
            elif reasons := list(self._reasons(one, windows)):
                told = "; ".join(reasons)
                message = told if one.code in (UNMATCHED, UNKNOWN) else f"{message}: {told}"
            marks: list[tuple[SourceLine, Role, str]] = [
                (self.place(stop.head), "offending", stop.why) for stop in one.stops
            ]
            marks += [(self.place(end), "path", "completes it") for end in one.ends]
            if around is not None:
                marks += [(stop, "offending", why) for stop, why in around.stops]
                marks += [(end, "path", "completes it") for end in around.ends]
            yield Staying(self.place(one.start), one.operation, one.code, message, tuple(marks))

    def _reasons(self, one: OwnStart, windows: OwnWindows) -> Iterator[str]:
        """What keeps more work from the overlap window, each in a clause."""
        if one.could is not None:
            ending = self.tried.ending
            why = NOT_MOVED if ending is None else f"could be overlapped, but {ending.numbers}"
            yield f"{windows.named(one.could)} {why}"
            return
        if one.leaves_unit and windows.is_called:
            yield f"{self.facts.unit.name} contains none below"
        yield from one.why
        copies = bool(one.stops) and all(only_copies(stop.node) for stop in one.stops)
        if (one.leaves_unit or (copies and windows.is_called)) and Pass.INLINE in self.passes:
            yield from self.calls(not one.leaves_unit)
        for head in dict.fromkeys(self.place(stop.head) for stop in one.stops):
            yield from islice(self.tried.about(head), _MOST)
