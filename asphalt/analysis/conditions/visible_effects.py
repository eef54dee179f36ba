"""Condition 7: nothing before the call has an effect that others can see."""

from __future__ import annotations

from asphalt.analysis.call_graph.missing_sources import MissingSource, why_unknown
from asphalt.analysis.data_flow.clock_values import why_observed
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.exchange.producer import Producer
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.memory.accesses import Effect, EffectKind, Footprint
from asphalt.analysis.memory.rma_windows import may_be_window_memory
from asphalt.analysis.names.openmp_sentinels import conditional_statements, sentinel_of
from asphalt.analysis.names.references import references
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.verdicts.verdict import Answer, Code, Holds, Refused
from asphalt.config.assumptions import TIMERS
from asphalt.ir.stmt import Opaque
from asphalt.ir.tree import Leaf, leaves

IO_CODE = Code(
    "ASP701",
    "input or output between the entry of the producer and the call",
    "The program reads or writes a file or the terminal in the part that would be overlapped: "
    "other ranks may rely on what was done before the exchange, and printed timings would change.",
    "Move the statement in front of the nest or behind the call.",
    7,
)
MPI_CODE = Code(
    "ASP702",
    "another MPI call between the entry of the producer and the call",
    "The nest, or a statement between it and the exchange, calls MPI for more than an inquiry "
    "(MPI_COMM_RANK, MPI_TYPE_SIZE ...): ranks may rely on the order of this call and the "
    "exchange.  Or it reads a clock, and the reading may decide what the program does.",
    "Move the call in front of the nest or behind the exchange.  Readings of a clock that are only "
    "stored and written may be accepted with `--assume timers`.",
    7,
)
UNKNOWN = Code(
    "ASP703",
    "a call with unknown effects",
    "The nest calls a procedure whose source is not among the given files, a procedure pointer, a "
    "type-bound procedure or an intrinsic with hidden state: it might do anything, even the "
    "exchange.",
    "Give asphalt the source of the procedure; or, if it accesses nothing but its arguments, "
    "accept that with `--assume pure:NAME` or a directive `!$asphalt assume(pure: NAME)`.",
    7,
)
STOP = Code(
    "ASP704",
    "the program may stop in the producer",
    "A STOP between the entry of the nest and the call would leave other ranks waiting for tiles.",
    "Test before the nest or behind the exchange.",
    7,
)
DIRECTIVE = Code(
    "ASP705",
    "an OpenMP or OpenACC directive",
    "The nest or the call is in a parallel region, or contains one: MPI calls must not move into "
    "it, and the iterations of a worksharing loop are not executed in order.  Or a statement "
    "behind `!$` stands in the nest or between nest and call, or the procedure has one that "
    "asphalt does not understand.",
    "There is no remedy yet: the exchange is not transformed.",
    7,
)
NOT_UNDERSTOOD = Code(
    "ASP706",
    "a statement that asphalt does not understand",
    "A statement of the nest, or between it and the call, is not understood, so that it might do "
    "anything.",
    "Rewrite the statement in standard Fortran.",
    7,
)
STATE = Code(
    "ASP707",
    "a procedure called in the nest changes more than its arguments",
    "A procedure that the nest calls changes module, COMMON or saved variables, or variables of "
    "its host.",
    "Pass these variables as arguments.",
    7,
)
ALLOCATION = Code(
    "ASP708",
    "memory is allocated or pointers change in the producer",
    "An ALLOCATE, DEALLOCATE or pointer assignment stands between the entry of the nest and the "
    "call.",
    "Allocate before the nest, and deallocate behind the call.",
    7,
)
WINDOW = Code(
    "ASP709",
    "the producer uses memory that other ranks may access through a window",
    "The program has RMA windows (MPI_WIN_CREATE, MPI_WIN_ALLOCATE ...).  The nest, or a "
    "statement between it and the exchange, uses a variable that may be window memory: it is "
    "passed to a window, or it is a dummy argument, a pointer or a module variable, which might "
    "be.  A rank that has its tiles may get or put there before this statement is executed, "
    "although the statement stands in front of the exchange.",
    "Use such variables before the nest or behind the exchange; make variables that are not "
    "window memory local to the procedure.",
    7,
)

CODES = (IO_CODE, MPI_CODE, UNKNOWN, STOP, DIRECTIVE, NOT_UNDERSTOOD, STATE, ALLOCATION, WINDOW)
_BY_KIND = {
    EffectKind.IO: IO_CODE,
    EffectKind.MPI: MPI_CODE,
    EffectKind.STOP: STOP,
    EffectKind.UNKNOWN_CALL: UNKNOWN,
    EffectKind.SYSTEM: UNKNOWN,
    EffectKind.OPAQUE: NOT_UNDERSTOOD,
    EffectKind.STATE: STATE,
    EffectKind.ALLOCATION: ALLOCATION,
    EffectKind.POINTER: ALLOCATION,
}


def check(producer: Producer) -> Answer:
    """Whether the region only assigns to variables, and has no directives."""
    effects = producer.exchange.effects
    refused = refused_for(producer.footprint, producer.exchange.scope, effects)
    if refused is not None:
        return refused
    directives = check_directives(producer.exchange, producer.start)
    if isinstance(directives, Refused):
        return directives
    window = _check_windows(producer)
    if isinstance(window, Refused):
        return window
    clocks = any(effect.kind is EffectKind.CLOCK for effect in producer.footprint.effects)
    assumed = (TIMERS.word,) if clocks else ()
    return Holds("from the nest to the call only variables are assigned", assumed)


def _check_windows(producer: Producer) -> Answer:
    """Whether the region accesses no memory that other ranks may access through a window."""
    for access in producer.footprint.accesses:
        if may_be_window_memory(access.storage, producer.exchange.scope):
            span, name = access.leaf.span, access.named or access.object.split("::")[-1]
            line = span.first if span is not None else 0
            message = f"line {line} accesses {name}, which other ranks may access through a window"
            return Refused(WINDOW, message, span)
    return Holds("no window memory")


def refused_for(footprint: Footprint, scope: Scope, effects: Effects) -> Refused | None:
    """The refusal for the first effect in a footprint that is not an assignment, nor a reading of a
    clock that may change."""
    for effect in footprint.effects:
        if effect.kind is EffectKind.CLOCK:
            why = why_observed(effect.detail, effects)
            if why is not None:
                message = f"no tile can be sent before {effect.described}: {why}"
                return Refused(MPI_CODE, message, effect.leaf.span)
        code = _BY_KIND.get(effect.kind)
        if code is not None:
            message = f"no tile can be sent before {effect.described}"
            lifted, unseen = _lifted_by(effect), _unseen(effect, scope)
            if unseen is None:
                return Refused(code, message, effect.leaf.span, lifted_by=lifted)
            message = f"{message}: {unseen.why}"
            return Refused(code, message, effect.leaf.span, lifted_by=lifted, unseen=unseen.module)
    return None


def _unseen(effect: Effect, scope: Scope) -> MissingSource | None:
    """Why the procedure that the statement itself names has unknown effects."""
    here = any(True for _ in references(effect.leaf.what, effect.detail))
    if effect.kind is not EffectKind.UNKNOWN_CALL or not here:
        return None
    return why_unknown(effect.detail, scope)


def _lifted_by(effect: Effect) -> str | None:
    """The assumption that the procedure is pure, if that would lift the refusal."""
    named = effect.detail.isidentifier() and effect.detail == effect.detail.lower()
    return f"pure:{effect.detail}" if effect.kind is EffectKind.UNKNOWN_CALL and named else None


def check_understood(exchange: Exchange) -> Answer:
    """Whether asphalt understands every statement of the procedure."""
    unit = exchange.scope.unit
    for node in (*unit.spec, *unit.body):
        for leaf in leaves(node):
            if isinstance(leaf.what, Opaque):
                line = leaf.span.first if leaf.span is not None else 0
                message = f"asphalt does not understand line {line}: {leaf.what.reason}"
                return Refused(NOT_UNDERSTOOD, message, leaf.span)
    return Holds("every statement is understood")


def check_directives(exchange: Exchange, start: int) -> Answer:
    """Whether no directive stands between the sibling ``start`` and the call, or opens a region
    around them."""
    for leaf, text in conditional_statements(exchange.unit):
        message = f"asphalt does not analyse lines for OpenMP alone: {text}"
        return Refused(DIRECTIVE, message, leaf.span)
    for around in exchange.place.around:
        head = getattr(around, "head", None)
        for trivia in head.lead if isinstance(head, Leaf) else ():
            sentinel = sentinel_of(trivia)
            if sentinel is not None and not sentinel.lower().startswith("end"):
                message = f"the exchange is in a construct with the directive {sentinel}"
                return Refused(DIRECTIVE, message, head.span if head is not None else None)
    for leaf in (leaf for node in exchange.written[1:] for leaf in leaves(node)):
        found = [s for s in map(sentinel_of, leaf.lead) if s is not None]
        if found:
            return Refused(DIRECTIVE, f"line {leaf.line} has the directive {found[0]}", leaf.span)
    nodes = exchange.place.siblings[start : exchange.place.position + 1]
    for leaf in (leaf for node in nodes for leaf in leaves(node)):
        if leaf.is_hidden:
            message = f"line {leaf.line} is for OpenMP alone: {leaf.body}"
            return Refused(DIRECTIVE, message, leaf.span)
    inside = {id(leaf) for node in nodes for leaf in leaves(node)}
    regions: tuple[str, ...] = ()
    for node in exchange.scope.unit.body:
        for leaf in leaves(node):
            for trivia in leaf.lead:
                sentinel = sentinel_of(trivia)
                if sentinel is None:
                    continue
                if id(leaf) in inside:
                    message = f"line {leaf.line} has the directive {sentinel}"
                    return Refused(DIRECTIVE, message, leaf.span)
                regions = _after(sentinel, regions)
            if id(leaf) in inside and regions:
                message = f"the exchange is in the region of {regions[-1]}"
                return Refused(DIRECTIVE, message, leaf.span)
    return Holds("no directives")


_REGIONS = (
    "parallel", "task", "single", "master", "masked", "critical", "sections", "target", "teams",
    "ordered", "workshare", "taskgroup", "data", "kernels", "serial", "host_data",
)  # fmt: skip


def _after(sentinel: str, regions: tuple[str, ...]) -> tuple[str, ...]:
    """The regions that may still be open after a directive."""
    words = sentinel.lower().split("(")[0].split()
    if not words or "do" in words or "loop" in words:
        return regions  # it ends with its loop
    if words[0].startswith("end"):
        name = words[0].removeprefix("end") or "".join(words[1:2])
        for number in reversed(range(len(regions))):
            if _name(regions[number]) == name:
                return (*regions[:number], *regions[number + 1 :])
        return regions
    return (*regions, sentinel) if words[0] in _REGIONS else regions


def _name(sentinel: str) -> str:
    return sentinel.lower().split("(")[0].split()[0]
