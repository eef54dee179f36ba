"""Why transfers of a unit remain blocking or whole."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from asphalt.analysis.conditions.point_to_point import NOTHING_BESIDE
from asphalt.analysis.conditions.site import SKIP
from asphalt.analysis.data_flow.error_codes import ErrorCodes
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.loop_exits import loops_in
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.names.generic_names import generic_names
from asphalt.analysis.verdicts.block_codes import COPIES, DECIDED, PLACE
from asphalt.analysis.verdicts.pipelining_codes import PARTS
from asphalt.analysis.verdicts.splitting_codes import ORDER
from asphalt.analysis.verdicts.verdict import Mark, Refused
from asphalt.analysis_manager.analyses import Analyses
from asphalt.config.passes import Pass
from asphalt.ir.program import Located
from asphalt.ir.source import Span
from asphalt.ir.tree import Do, Leaf, Node, leaves
from asphalt.optimiser.acceptance import key_of
from asphalt.optimiser.empty_windows import (
    EmptyWindow,
    EmptyWindows,
    Stop,
    is_beside_the_point,
    only_copies,
    told_of,
)
from asphalt.optimiser.options import Options
from asphalt.optimiser.origins import SourceLine
from asphalt.optimiser.outcome import Tried
from asphalt.optimiser.unchanged_units import why_doubted, why_unchanged
from asphalt.transforms.buffers import receive_queues, redundant_stores
from asphalt.transforms.decomposition import decomposition
from asphalt.transforms.inlining import inline
from asphalt.transforms.motion.windows import is_work
from asphalt.transforms.nonblocking import nonblocking
from asphalt.transforms.nonblocking.rules import is_read
from asphalt.transforms.rewriting.edit import lists_in
from asphalt.transforms.tiling import pipelining, segmentation

_POSTED = "the receives of its loop are not posted before the loop: "
NOT_MOVED = "could be overlapped, but does not move there with the statements around it"


def kept_blocking(
    analyses: Analyses, located: Located, options: Options
) -> tuple[tuple[Refused, str], ...]:
    """The blocking transfers and collective operations of a unit that cannot be made non-blocking,
    each with the refusal and its MPI procedure.

    If only an assumption keeps an operation from that, the refusal names the assumption; if
    something else would remain, it says what.  An error in the calls of the unit comes first: no
    proof holds before it is mended.
    """
    accepted = options.accepted
    kept = _refused(analyses, located, accepted)
    fault = options.fault_in(located)
    if fault is not None:
        return tuple(
            (found if found.code is SKIP else _not_transformed(found.span, fault), spelled)
            for found, spelled in kept.values()
        )
    lifted = {word for found, _ in kept.values() for word in found.all_lifting}
    if lifted:
        still = _refused(analyses, located, accepted | lifted)
        kept = {span: still.get(span, found) for span, found in kept.items()}
    return tuple(kept.values())


def _refused(
    analyses: Analyses, located: Located, accepted: frozenset[str]
) -> dict[Span | None, tuple[Refused, str]]:
    """The refused operations under some assumptions, by their place."""
    return {
        found.span: (found, spelled)
        for found, spelled in _judged(_facts(analyses, located, accepted))
        if isinstance(found, Refused)
    }


def not_overlapped(
    analyses: Analyses,
    located: Located,
    overlapped: Collection[int],
    options: Options,
    tried: Tried,
) -> tuple[tuple[Refused, str, tuple[str, ...]], ...]:
    """The blocking operations that could be non-blocking, but remain as they are: all but those of
    the lines ``overlapped``.  Each comes with its MPI procedure and the assumptions that it would
    rest on.

    The refusal says, as far as that is known: what stands in the way of its wait and its start;
    what keeps its message whole, its receive in a loop or its procedure at the call, where a pass
    that is asked for could change that; and what was ``tried`` for the unit in vain.
    """
    facts = _facts(analyses, located, options.accepted)
    idle = [
        (found, spelled)
        for found, spelled in _judged(facts)
        if isinstance(found, nonblocking.Split) and found.line not in overlapped
    ]
    if not idle:
        return ()
    unchanged = options.fault_in(located) or tried.doubt
    unchanged = unchanged or why_unchanged(analyses, *key_of(located), facts.scope)
    if unchanged is not None:
        return tuple(
            (_not_transformed(found.leaf.span, unchanged), spelled, found.assumed)
            for found, spelled in idle
        )
    stay: list[Refused] = []
    if options.asks_for(Pass.PIPELINING):
        stay += segmentation.refusals(facts)
        stay += pipelining.refusals(facts)
    divided = decomposition.refusals(facts) if options.asks_for(Pass.DECOMPOSITION) else ()
    if options.asks_for(Pass.EXPANSION):
        stay += receive_queues.refusals(facts, options.clone_limit)
    more = {one.span: one for one in stay}
    blocks = {one.span: one for one in divided}
    windows = EmptyWindows(facts)
    inlines = options.asks_for(Pass.INLINE)
    calls = calls_that_stay(analyses, located, options.accepted) if inlines else ()
    beside: tuple[str, ...] = ()
    if calls:
        beside = calls_that_stay(analyses, located, options.accepted, beside_work=True)

    def refusal(found: nonblocking.Split) -> Refused:
        window = windows.of(found)
        if window.free is not None:
            doubt = why_doubted(analyses.tree, *key_of(located))
            if doubt is not None:
                return _not_transformed(found.leaf.span, doubt)
        span = found.leaf.span
        whole = more.get(span)
        if found.not_whole is not None or any(_may_use_blocks(s) for _, s in window.ways):
            whole = whole or blocks.get(span)
        return _idle(found, window, whole, calls if window.is_open else beside, options, tried)

    return tuple((refusal(found), spelled, found.assumed) for found, spelled in idle)


def _not_transformed(span: Span | None, why: str) -> Refused:
    return Refused(NOTHING_BESIDE, f"its procedure is not transformed: {why}", span)


def reads_codes(analyses: Analyses, located: Located) -> bool:
    """Whether the error code of an MPI call of a unit may be read, so that it matters whether an
    error handler returns."""
    facts = _facts(analyses, located, frozenset())
    codes = facts.once(ErrorCodes)
    return codes.lifted_by is not None and any(
        call.error is not None and codes.is_code_of(call) and is_read(call.error, leaf, facts)
        for leaf, call in facts.once(Messages).own_calls()
    )


def kept_whole(
    analyses: Analyses, located: Located, accepted: frozenset[str] = frozenset()
) -> tuple[Refused, ...]:
    """The reasons why messages are not cut although a nest stands beside their send or receive: one
    refusal for each call."""
    return segmentation.refusals(_facts(analyses, located, accepted))


def _idle(
    found: nonblocking.Split,
    window: EmptyWindow,
    more: Refused | None,
    calls: tuple[str, ...],
    options: Options,
    tried: Tried,
) -> Refused:
    """The refusal of a transfer without computation to overlap, and what might give it some."""
    if found.not_whole is not None:
        message = f"it could be decomposed, but not made non-blocking: {found.not_whole}"
        if more is None:
            return Refused(NOTHING_BESIDE, message, found.leaf.span)
        return replace(more, message=f"{message}; {more.message}")
    nests = _whole_nests(window, tried)
    code = next((whole.code for whole in nests.values()), NOTHING_BESIDE)
    if more is not None and more.code is PARTS:
        # a nest that needs the whole message, and is no wave, has more to do with it than tiles;
        # and parts of it would travel beside copies; a scalar has none
        basic = code not in (NOTHING_BESIDE, ORDER)
        scalar = any(True for _ in window.ways) and not any(s.meets for _, s in window.ways)
        if basic or scalar or window.free is not None or _only_copied(window, tried):
            more = None
    nests = nests if more is None else {}
    told: list[str] = []
    for where, stop in window.ways:
        whole = nests.get(where)
        clauses = (stop.why,) if whole is None else told_of(stop, whole)
        told += (f"{where}, {clauses[0]}", *clauses[1:], *_about(stop, tried))
    told += calls if window.is_open or _only_copies_stop(window) else ()
    if window.free is not None:
        told.append(_could(window.free, options, tried))
    if not told and window.alone_in is not None:
        told = [f"{window.alone_in} contains none"]
    message = "no computation to overlap"
    message += f": {'; '.join(told)}" if told else " that is worth it"
    marks = tuple(
        Mark(stop.span, "offending", stop.why) for _, stop in window.ways if stop.span is not None
    )
    if more is None:
        return Refused(code, message, found.leaf.span, marks=marks)
    if not any(clause.endswith(more.message) for clause in told):
        what = _POSTED if more.code in (DECIDED, PLACE, COPIES) else ""
        message = f"{message}; {what}{more.message}"
    return replace(more, message=message, marks=(*more.marks, *marks))


def _whole_nests(window: EmptyWindow, tried: Tried) -> dict[str, Refused]:
    """Why nests that need a message are not divided, below and above."""
    found: dict[str, Refused] = {}
    for where, stop in window.ways:
        whole = None if stop.span is None else tried.whole.get(_place(stop.span))
        if whole is not None and stop.meets and not is_beside_the_point(whole, stop):
            found[where] = whole
    return found


def _only_copied(window: EmptyWindow, tried: Tried) -> bool:
    """Whether a nest that needs a message only fills or empties a buffer, and has no interior."""
    for _, stop in window.ways:
        whole = None if stop.span is None else tried.whole.get(_place(stop.span))
        if whole is not None and stop.meets and is_beside_the_point(whole, stop):
            return True
    return False


def _only_copies_stop(window: EmptyWindow) -> bool:
    """Whether nothing but copies to and from buffers stops a transfer, so that computation can only
    stand around the calls of its procedure."""
    return any(True for _ in window.ways) and all(only_copies(s.node) for _, s in window.ways)


def _may_use_blocks(stop: Stop) -> bool:
    """Whether a loop accesses a buffer, which it may do block by block."""
    return stop.meets and any(True for _ in loops_in(stop.node))


def _about(stop: Stop, tried: Tried) -> Iterator[str]:
    """The steps with what stops a transfer that were tried and not kept."""
    return iter(()) if stop.span is None else tried.about(_place(stop.span))


def _place(span: Span) -> SourceLine:
    return SourceLine(span.file, span.first)


def _could(free: Node, options: Options, tried: Tried) -> str:
    """Why computation that nothing keeps from overlapping does not overlap."""
    where = f"line {line_of(next(leaves(free)))}"
    what = f"the loop of {where}" if isinstance(free, Do) else where
    lacking = [name for name in (Pass.FISSION, Pass.MOTION) if not options.asks_for(name)]
    if lacking:
        return f"{what} might be overlapped with --passes {','.join(lacking)}"
    if tried.ending is not None:
        return f"{what} could be overlapped, but {tried.ending.numbers}"
    return f"{what} {NOT_MOVED}"


def calls_that_stay(
    analyses: Analyses,
    located: Located,
    accepted: frozenset[str],
    *,
    beside_work: bool = False,
) -> tuple[str, ...]:
    """Why a procedure is not inlined: the reason at the first of its calls that has one;
    ``beside_work``: at the first one that stands in a list with computation."""
    name = located.unit.name
    names = (name, *generic_names(located)) if located.unit.kind == "subroutine" else ()
    for caller in (caller for one in names for caller in analyses.tree.mentions(one)):
        if caller.unit is located.unit or caller.unit.kind == "module":
            continue
        if caller.is_unread:
            return (f"{caller.path} names {name} in text that is not analysed",)
        facts = _facts(analyses, caller, accepted)
        for refused in inline.refusals(facts, located):
            if beside_work and not _is_beside_work(facts, refused.span):
                continue
            where = "" if refused.span is None else f"{refused.span.file}:{refused.span.first}: "
            return (f"{where}{refused.message}",)
    return ()


def _is_beside_work(facts: UnitFacts, span: Span | None) -> bool:
    """Whether there is computation beside a call, in its statement list."""
    messages = facts.once(Messages)
    for _, siblings in lists_in(facts.unit.body):
        others = [node for node in siblings if not isinstance(node, Leaf) or node.span != span]
        if len(others) < len(siblings):
            return any(is_work(node, messages) for node in others)
    return False


def kept_stores(analyses: Analyses, located: Located) -> tuple[tuple[Refused, str], ...]:
    """The stores to receive buffers of a unit that cannot be dropped, with the MPI procedure that
    receives."""
    return redundant_stores.refusals(_facts(analyses, located, frozenset()))


def _judged(facts: UnitFacts) -> Iterator[tuple[nonblocking.Split | Refused, str]]:
    """All blocking operations, each with its MPI procedure."""
    messages = facts.once(Messages)
    spelled = {leaf.span: call.procedure.spelled for leaf, call in messages.own_calls()}
    for found in facts.once(nonblocking.splits):
        span = found.span if isinstance(found, Refused) else found.leaf.span
        yield found, spelled.get(span, "")


def _facts(analyses: Analyses, located: Located, accepted: frozenset[str]) -> UnitFacts:
    effects, uniformity = analyses.under(accepted).of(any_sizes=True)
    eol = analyses.tree.file(located.path).eol
    return UnitFacts(located, effects, eol, uniformity, accepted)
