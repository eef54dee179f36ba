"""The order of MPI calls, whatever data they access.

Danalis et al., ICS 2009, section 4: the effects in the library (table 2).  Beyond the paper: a
completion never moves before a start that precedes it, so that whatever another rank waits for
still happens before this rank waits itself.  A program that cannot deadlock under any buffering
remains such a program.

What the procedures of MPI that a program names may see is asked once for all of its texts: a step
executes what was executed, so that none adds a probe, a wildcard, a window, or a send in ready or
buffered mode.  A number that stands for any source or tag may be in an argument, and is seen once
the call is inlined: so the receives of the unit are looked at in each text.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.memory.rma_windows import frees_sends
from asphalt.analysis.messages.messages import Envelope, Messages, Stage, Way, stage_of
from asphalt.analysis.messages.named_anywhere import first_named
from asphalt.analysis.messages.polling import (
    buffered_send,
    has_synchronous_sends,
    polling,
)
from asphalt.analysis.messages.shared_memory import may_share_memory
from asphalt.analysis.messages.wildcards import (
    takes_any_source,
    takes_any_source_by_number,
    takes_any_tag,
    takes_any_tag_by_number,
)
from asphalt.analysis.mpi.call import MpiCall, mpi_constant
from asphalt.analysis.mpi.library_effects import (
    Store,
    connects,
    is_barrier,
    is_ready_mode,
    library_row,
    receives,
)
from asphalt.analysis.mpi.mentions import unknown_operation
from asphalt.analysis.mpi.procedures import MpiProcedure
from asphalt.ir.expr import Expr
from asphalt.ir.program import Program
from asphalt.ir.tree import Node

_WILDCARDS = frozenset({"mpi_any_source", "mpi_any_tag"})
_ANY_SOURCE = "the program has MPI_ANY_SOURCE, so that the order of starts on ranks may matter"


@dataclass(eq=False)
class MessageOrder:
    """Answers for one unit."""

    facts: UnitFacts
    messages: Messages

    def why_not(self, first: Node, second: Node) -> str | None:
        """Why the MPI calls of two statements cannot be reordered; None: they can."""
        for leaf, one in self.messages.calls(first):
            for other_leaf, other in self.messages.calls(second):
                reason = self._calls(one, other)
                if reason is not None:
                    return f"lines {line_of(leaf)} and {line_of(other_leaf)}: {reason}"
        return None

    def _calls(self, one: MpiCall, other: MpiCall) -> str | None:
        before, after = self._stage(one), self._stage(other)
        if Stage.NOTHING in (before, after):
            return None
        if Stage.OTHER in (before, after):
            return f"{one.procedure.spelled} and {other.procedure.spelled} cannot be reordered"
        if one.procedure.collective and other.procedure.collective:
            return "collective operations cannot be reordered"
        if self._ready is not None and receives(one.procedure) and Stage.COMPLETE is not after:
            return self._ready
        if before in (Stage.START, Stage.BOTH) and after in (Stage.COMPLETE, Stage.BOTH):
            return "a wait cannot move before a start that another rank may wait for"
        if after in (Stage.START, Stage.BOTH) and before in (Stage.COMPLETE, Stage.BOTH):
            reason = self.why_not_earlier(other)
            if reason is not None:
                return reason
        return self.overtaking(one, other)

    def _stage(self, call: MpiCall) -> Stage:
        """The stages that decide: a barrier is passed like another collective operation, where
        nothing but messages orders what ranks do."""
        return Stage.BOTH if self.is_passed(call) else stage_of(call)

    def is_passed(self, call: MpiCall) -> bool:
        """Whether a call is a barrier that computation may pass: ranks share no memory and no
        files, so that all they know of each other comes with messages.

        What stays in its place to a barrier whatever the program is: output, the reading of clocks,
        and calls of procedures that are not seen.
        """
        if not is_barrier(call.procedure):
            return False
        return self.earlier_sends is None and not self.facts.effects.once_for_all_texts(
            _shares_memory
        )

    def overtaking(self, one: MpiCall, other: MpiCall) -> str | None:
        """Why the messages of two calls, which may have the same envelope, cannot be reordered."""
        if Stage.COMPLETE in (stage_of(one), stage_of(other)):
            return None
        mine, theirs = self.messages.envelopes(one), self.messages.envelopes(other)
        if mine is None or theirs is None:
            return "a message with an unknown envelope"
        for a in mine:
            for b in theirs:
                if a.way is b.way and not self._differ(a, b):
                    return "two messages that may have the same rank, tag and communicator"
        return None

    def _differ(self, a: Envelope, b: Envelope) -> bool:
        """Whether two messages of the same direction certainly differ in rank or tag.

        A wildcard equals anything, and two communicators may be the same.  A receive with any tag
        takes the message that was sent first.
        """
        compared = [(a.peer, b.peer)]
        if a.way is Way.IN or not self._takes_any_tag:
            compared.append((a.tag, b.tag))
        for one, other in compared:
            if self.wildcard(one) or self.wildcard(other):
                continue
            mine, theirs = (self.facts.values.constants(e).value for e in (one, other))
            if mine is not None and theirs is not None and mine != theirs:
                return True
        return False

    def wildcard(self, expr: Expr) -> bool:
        """Whether a rank or a tag may be a wildcard."""
        constant = mpi_constant(expr, self.facts.scope)
        if constant is not None:
            return constant in _WILDCARDS
        value = self.facts.values.constants(expr).value
        return value is not None and value < 0

    @cached_property
    def _takes_any_tag(self) -> bool:
        found = self.facts.effects.once_for_all_texts(_takes_any_tag)
        return found or takes_any_tag_by_number(self.facts.scope_of_these_sizes)

    @property
    def _ready(self) -> str | None:
        """Whether a send of the program needs its receive to be posted (MPI-4.0 section 3.4)."""
        return self.facts.effects.once_for_all_texts(_sends_ready)

    def why_not_earlier(self, start: MpiCall) -> str | None:
        """Why it may matter that a call starts its operation before others are complete that
        precede it; None: it does not."""
        stores = _stores(start.procedure)
        posts = Store.INCOMING in stores and Store.OUTGOING not in stores
        return self.depends_on_time if posts else self.earlier_sends

    @property
    def earlier_sends(self) -> str | None:
        """Why it may matter that operations which are not only receives start earlier than others
        are complete."""
        return self.depends_on_time or self.facts.effects.once_for_all_texts(_sees_sends)

    @cached_property
    def depends_on_time(self) -> str | None:
        """Why the order in which *different* ranks start operations may matter.

        If every receive names its source, the order of the sends of each rank and of the receives
        of each rank alone decide which message a receive gets.  Where the program may see how far
        operations are, ``earlier_sends`` says more.
        """
        reason = self.facts.effects.once_for_all_texts(_depends_on_time)
        if reason is None and takes_any_source_by_number(self.facts.scope_of_these_sizes):
            reason = _ANY_SOURCE
        if reason is None and frees_sends(self.facts.scope):
            return "a message may show that a send whose request is freed is complete"
        return reason


def _depends_on_time(effects: Effects) -> str | None:
    program = effects.scopes.program
    if has_synchronous_sends(program):
        polled = _polled(program)
        if polled is not None:
            return polled
    if takes_any_source(program):
        return _ANY_SOURCE
    ready = effects.once(_sends_ready)
    if ready is not None:
        return ready
    unknown = unknown_operation(effects.scopes)
    if unknown is not None:
        return f"{unknown} is unknown"
    connecting = first_named(program, connects)
    if connecting is not None:
        return f"the program that {connecting} connects may depend on it"
    sharing = first_named(program, _shares)
    return None if sharing is None else f"ranks share memory or files ({sharing})"


def _sees_sends(effects: Effects) -> str | None:
    """Why a program may see that an operation is complete earlier (``polling``), or a buffer of it
    has no room for a message yet (``buffered_send``)."""
    program = effects.scopes.program
    polled = _polled(program)
    if polled is not None:
        return polled
    sent = buffered_send(program)
    return None if sent is None else f"{sent} needs room that a receive may have to make"


def _polled(program: Program) -> str | None:
    polled = polling(program)
    return None if polled is None else f"{polled} may tell that it is complete earlier"


def _sends_ready(effects: Effects) -> str | None:
    sent = first_named(effects.scopes.program, is_ready_mode)
    return None if sent is None else f"{sent} needs its receive to be posted"


def _takes_any_tag(effects: Effects) -> bool:
    return takes_any_tag(effects.scopes.program)


def _shares_memory(effects: Effects) -> bool:
    return may_share_memory(effects.scopes.program)


def _shares(procedure: MpiProcedure) -> bool:
    """Whether a procedure accesses memory or files that ranks share."""
    return bool(_stores(procedure) & {Store.WINDOW, Store.FILE})


def _stores(procedure: MpiProcedure) -> frozenset[Store]:
    """What of the library a procedure accesses."""
    return frozenset(access.store for access in library_row(procedure).accesses)
