"""Reductions of all ranks that can be one, of an array.

MPI_ALLREDUCE combines each element by itself (MPI-4.0 section 6.9.1), so that two with one
operation and type are one of both arrays.  What combines in any order gives the same bits then:
integers, logical operations, MIN and MAX.  Of floating-point sums and products libraries change the
order with the length, which the assumption ``bits`` accepts.  Operations of the user may look at
all elements at once, and MAXLOC and MINLOC have pairs: they stay as they are.
"""

from __future__ import annotations

from asphalt.analysis.data_flow.accepted_assumptions import is_accepted_at
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.memory.accesses import EffectKind
from asphalt.analysis.messages.collectives import (
    is_predefined_reduction,
    together,
    why_other_digits,
)
from asphalt.analysis.messages.messages import Messages, Stage, stage_of
from asphalt.analysis.mpi.call import MpiCall, mpi_constant
from asphalt.analysis.mpi.procedures import procedure
from asphalt.analysis.repetition.combined_exchanges import IN, OUT, CombinedExchanges, Member
from asphalt.analysis.repetition.packed_parts import PackedPart, packed_part
from asphalt.config.assumptions import BITS
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Leaf, Node

_REDUCTION = "mpi_allreduce"
_OF_PAIRS = frozenset({"mpi_maxloc", "mpi_minloc"})
_SAME = ("op", "datatype", "comm")


class CombinedReductions(CombinedExchanges):
    """The groups of reductions of one unit."""

    def _is_passed(self, node: Node) -> bool:
        """Whether a statement may change places with reductions, but for its data: it is one of
        them, or does nothing but compute."""
        if self.order.place.fixed(node) is not None:
            return False
        for leaf, call in self.order.messages.calls(node):
            own = leaf is node and call.procedure.name == _REDUCTION
            if not own and stage_of(call) is not Stage.NOTHING:
                return False
        return all(
            effect.kind is EffectKind.MPI and self.order.messages.call(effect.leaf) is not None
            for effect in self.facts.footprint(node).effects
        )

    def _member(self, position: int, node: Node) -> Member | str:
        """A reduction that can be one of several; or why it cannot."""
        facts = self.facts
        if not isinstance(node, Leaf) or not isinstance(node.what, Call):
            return "it is no call"
        call = facts.once(Messages).call(node)
        if call is None or call.procedure.name != _REDUCTION or call.binding == "runtime":
            return "it is no MPI_ALLREDUCE"
        if not is_predefined_reduction(facts, call):
            return "its operation is not known to be one of MPI"
        if mpi_constant(call.args["op"], facts.scope) in _OF_PAIRS:
            return "its elements are pairs"
        known = together(facts, call)
        if known.why_not is not None:
            return known.why_not
        digits = why_other_digits(facts, call)
        if digits is not None and not is_accepted_at(BITS, node, facts):
            return digits
        parts = self._parts(node, call)
        if isinstance(parts, str):
            return parts
        sent, received = parts
        if any(part.elements.name.startswith((OUT, IN)) for part in parts):
            return "it is combined already"
        if sent.key != received.key or sent.count != received.count:
            return "its buffers differ"
        if call.error is not None and self.is_read(call.error, node):
            return "its error code is read"
        given = tuple(call.args[name] for name in _SAME)
        return Member(position, node, call, sent, received, (_REDUCTION, *given, sent.key))

    def _parts(self, node: Leaf, call: MpiCall) -> tuple[PackedPart, PackedPart] | str:
        """What it reads and what it writes, or why that cannot be copied."""
        found: list[PackedPart] = []
        in_place = call.in_place(self.facts.scope)
        for side, name in (
            ("mpi_send", "recvbuf" if in_place else "sendbuf"),
            ("mpi_recv", "recvbuf"),
        ):
            row = procedure(side)
            assert row is not None
            args = {"buf": call.args[name], "count": call.args["count"]}
            args["datatype"] = call.args["datatype"]
            part = packed_part(node, MpiCall(side, args, call.binding, None, row), self.facts)
            if isinstance(part, str):
                return part
            found.append(part)
        return found[0], found[1]

    def _assumed(self, member: Member) -> tuple[str, ...]:
        known = together(self.facts, member.call)
        digits = why_other_digits(self.facts, member.call)
        return (*known.assumed, *(() if digits is None else (BITS.word,)))

    def _differ(self, one: Member, other: Member) -> bool:
        return False

    def _may_meet(self, one: Member, other: Member) -> bool:
        return True

    def _are_ordered(self, first: Member, last: Member) -> bool:
        """No: all that is ordered by the first is ordered by the last, which stands behind it with
        nothing in between that is seen."""
        return False


def groups_of(facts: UnitFacts) -> tuple[CombinedExchanges, ...]:
    """The searches for groups in a unit: of messages, and of reductions."""
    return facts.once(CombinedExchanges), facts.once(CombinedReductions)
