"""The transfers of a unit that stay blocking, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from asphalt.analysis.conditions.point_to_point import NOTHING_BESIDE
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.inlining.runtime_names import clashing_name
from asphalt.analysis.messages.messages import Messages, Stage, part_of
from asphalt.analysis.verdicts.pipelining_codes import PARTS
from asphalt.analysis.verdicts.splitting_codes import ORDER
from asphalt.analysis.verdicts.verdict import Code, Mark, Refused
from asphalt.analysis_manager.analyses import Analyses
from asphalt.config.passes import Pass
from asphalt.ir.program import Located
from asphalt.ir.source import Span
from asphalt.ir.tree import Do, Node, leaves
from asphalt.optimiser.empty_windows import EmptyWindow, EmptyWindows
from asphalt.optimiser.origins import SourceLine
from asphalt.optimiser.outcome import Tried
from asphalt.optimiser.second_reader import disagreement
from asphalt.transforms.buffers import receive_queues, redundant_stores
from asphalt.transforms.decomposition import decomposition
from asphalt.transforms.inlining import inline
from asphalt.transforms.nonblocking import nonblocking
from asphalt.transforms.tiling import pipelining, segmentation

_NO_MORE = "no more work comes beside it"
NOT_BROUGHT = "could by itself, but is not brought there with what stands around it"


def kept_blocking(
    analyses: Analyses, located: Located, accepted: frozenset[str] = frozenset()
) -> tuple[tuple[Refused, str], ...]:
    """The blocking transfers and collective operations of a unit that cannot be made non-blocking,
    with the procedure.

    What an assumption alone keeps from it is told with that; what would stay nevertheless, why.
    """
    kept = _refused(analyses, located, accepted)
    lifted = {found.lifted_by for found, _ in kept.values() if found.lifted_by is not None}
    if lifted:
        still = _refused(analyses, located, accepted | lifted)
        kept = {span: still.get(span, found) for span, found in kept.items()}
    return tuple(kept.values())


def _refused(
    analyses: Analyses, located: Located, accepted: frozenset[str]
) -> dict[Span | None, tuple[Refused, str]]:
    """Those that are refused under some assumptions, by where they stand."""
    return {
        found.span: (found, spelled)
        for found, spelled in _judged(_facts(analyses, located, accepted))
        if isinstance(found, Refused)
    }


def nothing_beside(
    analyses: Analyses,
    located: Located,
    overlapped: Collection[int],
    accepted: frozenset[str] = frozenset(),
    passes: Collection[str] = (),
    clone_limit: int | None = None,
    untouched: str | None = None,
    tried: Tried | None = None,
) -> tuple[tuple[Refused, str, tuple[str, ...]], ...]:
    """Those that could be, but stay as they are: all but the ones of the lines ``overlapped``.

    Each with what keeps its window empty, as far as one thing does; and with what keeps it whole,
    or in its loop, or its procedure at its call, where one of the ``passes`` would change that.
    And with the assumptions that it would rest on.  ``untouched``: why nothing of the unit is
    changed.  ``tried``: what was tried for it in vain.  Behind them, the messages that the program
    starts itself, with what keeps them whole.
    """
    facts = _facts(analyses, located, accepted)
    idle = [
        (found, spelled)
        for found, spelled in _judged(facts)
        if isinstance(found, nonblocking.Split) and found.line not in overlapped
    ]
    segments = segmentation.refusals(facts) if Pass.PIPELINING in passes else ()
    own = _own_that_stay(facts, segments, overlapped)
    if not idle and not own:
        return ()
    chain = tuple(unit.name for unit in located.chain)
    untouched = untouched or disagreement(analyses.tree, located.path, chain)
    untouched = untouched or clashing_name(facts.scope)
    if untouched is not None:
        message = f"it could be non-blocking, but nothing of its procedure is changed: {untouched}"
        return tuple(
            (Refused(NOTHING_BESIDE, message, found.leaf.span), spelled, found.assumed)
            for found, spelled in idle
        )
    stay: list[Refused] = []
    if Pass.PIPELINING in passes:
        stay += segments
        stay += pipelining.refusals(facts)
    if Pass.DECOMPOSITION in passes:
        stay += decomposition.refusals(facts)
    if Pass.EXPANSION in passes:
        stay += receive_queues.refusals(facts, clone_limit)
    more = {one.span: one for one in stay}
    windows = EmptyWindows(facts)
    calls = calls_that_stay(analyses, located, accepted) if Pass.INLINE in passes else ()
    blocking = tuple(
        (
            _idle(
                found,
                windows.of(found),
                more.get(found.leaf.span),
                calls,
                passes,
                tried or Tried(),
            ),
            spelled,
            found.assumed,
        )
        for found, spelled in idle
    )
    return (*blocking, *own)


def kept_whole(
    analyses: Analyses, located: Located, accepted: frozenset[str] = frozenset()
) -> tuple[Refused, ...]:
    """What keeps a message whole beside whose send or receive a nest stands, one for each call."""
    return segmentation.refusals(_facts(analyses, located, accepted))


def _own_that_stay(
    facts: UnitFacts, segments: Collection[Refused], overlapped: Collection[int]
) -> tuple[tuple[Refused, str, tuple[str, ...]], ...]:
    """The messages that the program starts itself, and that no more work comes beside; one for each
    start that could be several."""
    started = {
        leaf.span: call.procedure.spelled
        for leaf, call in facts.once(Messages).own_calls()
        if call.binding != "runtime"
        and part_of(call) is Stage.START
        and line_of(leaf) not in overlapped
    }
    told = {one.span: one for one in reversed(tuple(segments)) if one.span in started}
    return tuple(
        (replace(one, message=f"{_NO_MORE}; {one.message}"), started[span], ())
        for span, one in told.items()
    )


def _idle(
    found: nonblocking.Split,
    window: EmptyWindow,
    more: Refused | None,
    calls: tuple[str, ...],
    passes: Collection[str],
    tried: Tried,
) -> Refused:
    """The refusal of a transfer that no work comes beside, with what would have brought some."""
    if found.not_whole is not None:
        message = f"it could become messages, but not one operation: {found.not_whole}"
        if more is None:
            return Refused(NOTHING_BESIDE, message, found.leaf.span)
        return replace(more, message=f"{message}; {more.message}")
    message = "it could be non-blocking, but no work comes beside it"
    told = [why for why in (window.why, *calls) if why is not None]
    code, why = _of_nests(window, tried)
    told += why
    if window.beside is not None:
        told.append(_could(window.beside, passes, tried))
    if not told and window.alone_in is not None:
        told = [f"no work stands in {window.alone_in}"]
    message += f": {'; '.join(told)}" if told else " that is worth it"
    marks = tuple(
        Mark(stop.span, "offending", stop.why)
        for stop in (window.behind, window.before)
        if stop is not None and stop.span is not None
    )
    if more is None:
        return Refused(code, message, found.leaf.span, marks=marks)
    # a nest that needs the whole message, and is no wave, has more to do with it than tiles
    basic = bool(why) and code is not ORDER
    if more.code is PARTS and (basic or window.beside is not None):
        more = replace(more, code=code)
    return replace(more, message=f"{message}; {more.message}", marks=(*more.marks, *marks))


def _of_nests(window: EmptyWindow, tried: Tried) -> tuple[Code, list[str]]:
    """What keeps the statements that stop a transfer from being divided, where they are nests, and
    what was tried with them; with the code for it."""
    code, told = NOTHING_BESIDE, []
    for stop in (window.behind, window.before):
        if stop is None or stop.span is None:
            continue
        place = SourceLine(stop.span.file, stop.span.first)
        whole = tried.whole.get(place)
        if whole is not None:
            told.append(whole.message)
            code = whole.code if code is NOTHING_BESIDE else code
        told += tried.about(place)
    return code, told


def _could(beside: Node, passes: Collection[str], tried: Tried) -> str:
    """Why work that nothing keeps from coming beside a transfer does not."""
    where = f"line {line_of(next(leaves(beside)))}"
    what = f"the loop of {where}" if isinstance(beside, Do) else where
    lacking = [name for name in (Pass.FISSION, Pass.MOTION) if name not in passes]
    if lacking:
        return f"with --passes {','.join(lacking)}, {what} might"
    if tried.ending is not None:
        return f"{what} could, but {tried.ending.numbers}"
    return f"{what} {NOT_BROUGHT}"


def calls_that_stay(
    analyses: Analyses, located: Located, accepted: frozenset[str]
) -> tuple[str, ...]:
    """Why a procedure does not come to the places of its calls: of the first that says why."""
    name = located.unit.name
    for caller in analyses.tree.mentions(name) if located.unit.kind == "subroutine" else ():
        if caller.unit is located.unit or caller.unit.kind == "module":
            continue
        for refused in inline.refusals(_facts(analyses, caller, accepted), located):
            where = "" if refused.span is None else f"{refused.span.file}:{refused.span.first}: "
            return (f"{where}{refused.message}",)
    return ()


def kept_stores(analyses: Analyses, located: Located) -> tuple[tuple[Refused, str], ...]:
    """The stores to receive buffers of a unit that stay, with the procedure that receives."""
    return redundant_stores.refusals(_facts(analyses, located, frozenset()))


def _judged(facts: UnitFacts) -> Iterator[tuple[nonblocking.Split | Refused, str]]:
    """All of them, each with the procedure."""
    messages = facts.once(Messages)
    spelled = {leaf.span: call.procedure.spelled for leaf, call in messages.own_calls()}
    for found in facts.once(nonblocking.splits):
        span = found.span if isinstance(found, Refused) else found.leaf.span
        yield found, spelled.get(span, "")


def _facts(analyses: Analyses, located: Located, accepted: frozenset[str]) -> UnitFacts:
    effects, uniformity = analyses.of(any_sizes=True)
    eol = analyses.tree.file(located.path).eol
    return UnitFacts(located, effects, eol, uniformity, accepted)
