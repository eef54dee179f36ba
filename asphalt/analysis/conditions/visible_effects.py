"""Condition 7: nothing before the call has an effect that others can see."""

from __future__ import annotations

from asphalt.analysis.call_graph.missing_sources import MissingSource, why_type_unknown, why_unknown
from asphalt.analysis.conditions.error_branches import is_last
from asphalt.analysis.conditions.parallel_producers import (
    DIRECTIVE,
    check_directives,
    check_tiles,
)
from asphalt.analysis.data_flow.clock_values import why_observed
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.exchange.producer import Producer
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.memory.accesses import Effect, EffectKind, Footprint
from asphalt.analysis.memory.rma_windows import may_be_window_memory
from asphalt.analysis.names.references import references
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.verdicts.verdict import Answer, Code, Holds, Refused
from asphalt.config.assumptions import TIMERS
from asphalt.ir.stmt import Opaque
from asphalt.ir.tree import leaves

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
    "A STOP between the entry of the nest and the call would leave other ranks waiting for tiles.  "
    "Not so in a branch for errors, which only writes and ends the program with a code or with "
    "output, in the nest or in a procedure that it calls: MPI ends the other ranks then.",
    "Test before the nest or behind the exchange; or tell what went wrong: `stop 1`.",
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
    for directives in (
        check_directives(producer.exchange, producer.start),
        check_tiles(producer),
    ):
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
            span, name = access.leaf.span, access.spelled
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
        if code is not None and not is_last(effect, scope, effects):
            message = f"no tile can be sent before {effect.described}"
            lifted, unseen = _lifted_by(effect), _unseen(effect, scope)
            if unseen is None:
                return Refused(code, message, effect.leaf.span, lifted_by=lifted)
            message = f"{message}: {unseen.why}"
            return Refused(code, message, effect.leaf.span, lifted_by=lifted, cause=unseen.cause)
    return None


def _unseen(effect: Effect, scope: Scope) -> MissingSource | None:
    """Why the procedure that the statement itself names has unknown effects, or why an operation in
    it may have."""
    if effect.is_operation:
        return why_type_unknown(effect.leaf, scope)
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
