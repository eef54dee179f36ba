"""The order that MPI calls keep among themselves, whatever data they touch.

Danalis et al., ICS 2009, section 4: the effects in the library (table 2).  Beyond the paper:
nothing that completes a transfer comes before something that starts one and stood in front of it,
so that whatever another rank waits for still happens before this rank waits itself; a program that
cannot deadlock under any buffering stays so.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.messages.messages import Envelope, Messages, Stage, Way, part_of
from asphalt.analysis.messages.wildcards import takes_any_source, takes_any_tag
from asphalt.analysis.mpi.call import MpiCall, mpi_constant
from asphalt.analysis.mpi.library_effects import Store, is_ready_mode, library_row, receives
from asphalt.analysis.mpi.procedures import table
from asphalt.ir.expr import Expr
from asphalt.ir.tree import Node

_WILDCARDS = frozenset({"mpi_any_source", "mpi_any_tag"})


@dataclass(eq=False)
class MessageOrder:
    """Answers for one unit."""

    facts: UnitFacts
    messages: Messages

    def why_not(self, first: Node, second: Node) -> str | None:
        """Why the MPI calls of two statements keep their order; None: they need not."""
        for leaf, one in self.messages.calls(first):
            for other_leaf, other in self.messages.calls(second):
                reason = self._calls(one, other)
                if reason is not None:
                    return f"lines {line_of(leaf)} and {line_of(other_leaf)}: {reason}"
        return None

    def _calls(self, one: MpiCall, other: MpiCall) -> str | None:
        before, after = part_of(one), part_of(other)
        if Stage.NOTHING in (before, after):
            return None
        if Stage.OTHER in (before, after):
            return f"{one.procedure.spelled} and {other.procedure.spelled} keep their order"
        if one.procedure.collective and other.procedure.collective:
            return "collective operations keep their order"
        if self._ready is not None and receives(one.procedure) and Stage.COMPLETE is not after:
            return self._ready
        if before in (Stage.START, Stage.BOTH) and after in (Stage.COMPLETE, Stage.BOTH):
            return "a wait before something that another rank may wait for"
        if after in (Stage.START, Stage.BOTH) and before in (Stage.COMPLETE, Stage.BOTH):
            reason = self.depends_on_time
            if reason is not None:
                return reason
        return self.overtaking(one, other)

    def overtaking(self, one: MpiCall, other: MpiCall) -> str | None:
        """Whether messages of both may have one envelope, so that they must not change places."""
        if Stage.COMPLETE in (part_of(one), part_of(other)):
            return None
        mine, theirs = self.messages.envelopes(one), self.messages.envelopes(other)
        if mine is None or theirs is None:
            return "a message whose envelope is not known"
        for a in mine:
            for b in theirs:
                if a.way is b.way and not self._differ(a, b):
                    return "two messages that may be known by the same rank, tag and communicator"
        return None

    def _differ(self, a: Envelope, b: Envelope) -> bool:
        """Whether two messages of one way certainly differ in rank or tag.

        Wildcards are equal to anything, and other communicators may be the same one.  Where a
        receive takes any tag, it takes what was sent first.
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
        """Whether a rank or a tag may be one that stands for all."""
        constant = mpi_constant(expr, self.facts.scope)
        if constant is not None:
            return constant in _WILDCARDS
        value = self.facts.values.constants(expr).value
        return value is not None and value < 0

    @cached_property
    def _takes_any_tag(self) -> bool:
        return takes_any_tag(self.facts.scope.program)

    @cached_property
    def _ready(self) -> str | None:
        """Whether a send of the program is only right behind its receive (MPI-4.0 section 3.4)."""
        for mention in self.facts.scope.program.mpi_calls():
            procedure = table().get(mention.operation)
            if procedure is not None and is_ready_mode(procedure):
                return f"{procedure.spelled} relies on a receive that was started before"
        return None

    @cached_property
    def depends_on_time(self) -> str | None:
        """Why the order in which operations of *different* ranks are started may matter.

        Where every receive names its source, which message a receive gets follows from the order
        of the sends of each rank and of the receives of each rank alone.
        """
        program = self.facts.scope.program
        if takes_any_source(program):
            return "the program receives from any source, so that orders between ranks may matter"
        if self._ready is not None:
            return self._ready
        for mention in program.mpi_calls():
            procedure = table().get(mention.operation.removeprefix("p"))
            procedure = procedure or table().get(mention.operation)
            if procedure is None:
                return f"{mention.operation} is not known"
            stores = {access.store for access in library_row(procedure).accesses}
            if stores & {Store.WINDOW, Store.FILE}:
                return f"ranks share memory or files ({procedure.spelled})"
        return None
