"""All sends of a program, to show that a receive matches none of them.

This needs a closed program (``whole_program``) whose sends are all in the analysed text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial

from asphalt.analysis.call_graph.datatype_variables import datatype_of
from asphalt.analysis.data_flow.branch_correlation import BranchFacts
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.messages.null_receives import may_get_nothing
from asphalt.analysis.messages.self_messages import rank_variables
from asphalt.analysis.mpi.call import MpiCall, PredefinedType, mpi_constant
from asphalt.analysis.mpi.library_effects import LibraryAccess, Store, library_row
from asphalt.analysis.mpi.procedures import MpiProcedure, procedure, table
from asphalt.ir.expr import Expr, Op, Ref
from asphalt.ir.program import MpiMention, Program
from asphalt.ir.records import record
from asphalt.ir.source import Span
from asphalt.ir.tree import Leaf


@record
class Ranks:
    """``only``: the one rank that may execute it; None: any except ``never``."""

    only: int | None = None
    never: frozenset[int] = frozenset()

    def has(self, rank: int) -> bool:
        """Whether a rank may be one of them."""
        return rank not in self.never and self.only in (None, rank)


def executing_ranks(facts: UnitFacts, leaf: Leaf, call: MpiCall) -> Ranks:
    """The ranks that may execute a transfer with a predefined communicator."""
    point = facts.reaching.graph.action(leaf)
    if point is None:
        return Ranks()
    only: int | None = None
    never: set[int] = set()
    names = list(rank_variables(facts, facts.once(Messages).own_calls(), call, point))
    own = [facts.values.polynomial(Ref(name, name), leaf) for name in names]
    for condition, held in facts.once(_branch_facts).held(point) if own else ():
        if not isinstance(condition, Op) or condition.op not in ("==", "/="):
            continue
        operands = [part for part in condition.operands if isinstance(part, Expr)]
        sides = [facts.values.polynomial(part, leaf) for part in operands]
        rank = next((side.value for side in sides if side not in own), None)
        if rank is None or not any(side in own for side in sides):
            continue
        if held is (condition.op == "=="):
            only = rank
        else:
            never.add(rank)
    return Ranks(only, frozenset(never))


def _branch_facts(facts: UnitFacts) -> BranchFacts:
    return BranchFacts(facts.reaching)


_COMPARED = frozenset({"integer", "real", "complex", "logical", "character"})
"""The families of datatypes that are never alike."""


@record
class Sent:
    """A message that a call sends or receives, as far as it is known in any execution.

    ``tag``, ``count``, ``peer`` None: unknown, or any.  ``type``, ``communicator`` None: not a
    predefined one.  ``ranks``: those that may execute the call.
    """

    span: Span
    tag: int | None
    count: int | None
    type: PredefinedType | None
    peer: int | None
    communicator: str | None
    ranks: Callable[[], Ranks]

    def goes_elsewhere(self, send: Sent) -> bool:
        """Whether no message of ``send`` has this source, or this destination.

        Ranks are those of the communicator of each call; a message of another communicator does not
        match, either (MPI-4.0 section 3.2.3).
        """
        both = {self.communicator, send.communicator}
        if len(both) == 2 and None not in both:
            return True
        to_others = send.peer is not None and not self.ranks().has(send.peer)
        return to_others or (self.peer is not None and not send.ranks().has(self.peer))

    def why_not(self, send: Sent) -> str | None:
        """Why this receive matches no message of ``send``; None: it may match one."""
        mine, other = self.type, send.type
        if mine is None or other is None:
            return None
        if {mine.family, other.family} <= _COMPARED and not mine.may_match(other):
            return f"what is sent is {other.name.upper()}"
        if mine.name == other.name and self.count is not None and send.count is not None:
            return f"{send.count} are sent" if send.count > self.count else None
        return None

    @property
    def described(self) -> str:
        """The messages that can be received."""
        if self.type is None:
            return "it receives anything"
        many = "" if self.count is None else f"{self.count} of "
        return f"it receives {many}{self.type.name.upper()}"


@cache
def operations(store: Store) -> frozenset[str]:
    """The folded names of all procedures that send, or receive."""
    return frozenset(name for name, row in table().items() if _access(row, store) is not None)


def all_sends(units: Iterable[UnitFacts], effects: Effects) -> tuple[Sent, ...] | None:
    """All sends in a source tree; None: some are not understood.

    ``units``: those that call a procedure of ``operations(Store.OUTGOING)``.
    """
    mentions = [
        mention
        for mention in effects.scopes.program.mpi_calls()
        if _operation(mention) in operations(Store.OUTGOING)
    ]
    if not all(mention.live for mention in mentions):
        return None
    found: dict[tuple[str, int], list[Sent]] = {}
    for facts in units:
        for leaf, call in Messages(facts).own_calls():
            send = _message(facts, leaf, call, Store.OUTGOING)
            if send is not None:
                found.setdefault((send.span.file, send.span.first), []).append(send)
    there: Counter[tuple[str, int]] = Counter()
    for mention in mentions:
        line = mention.path, mention.line
        there[line] += 1
        if there[line] > len(found.get(line, ())):
            return None
    return tuple(send for sends in found.values() for send in sends)


def may_receive(program: Program) -> bool:
    """Whether a program has a call that receives a message."""
    names = {_operation(mention) for mention in program.mpi_calls()}
    return not names.isdisjoint(operations(Store.INCOMING))


def receives(facts: UnitFacts, messages: Messages) -> Iterator[tuple[Leaf, Sent]]:
    """The messages that a unit receives, except those that need not arrive."""
    for leaf, call in messages.own_calls():
        message = _message(facts, leaf, call, Store.INCOMING)
        if message is None or "source" not in call.args:
            continue
        if not may_get_nothing(facts, leaf, call):
            yield leaf, message


def _access(row: MpiProcedure, store: Store) -> LibraryAccess | None:
    """The access of a procedure, or of the operation that it prepares, to a message with a given
    tag."""
    known = library_row(row)
    for access in (*known.accesses, *known.prepared):
        if access.store is store and access.writes and access.subscripts[1] is not None:
            return access
    return None


def _message(facts: UnitFacts, leaf: Leaf, call: MpiCall, store: Store) -> Sent | None:
    access = _access(call.procedure, store)
    if access is None or leaf.span is None:
        return None
    tag = call.args.get(access.subscripts[1] or "")
    exchange = call.procedure.exchange
    names: tuple[str | None, str | None] = (None, None)
    if exchange is not None and store is Store.OUTGOING:
        names = exchange.send_count, exchange.send_type
    elif exchange is not None:
        names = exchange.receive_count, exchange.receive_type
    count, kind = (call.args.get(name or "") for name in names)
    peer, _, communicator = (call.args.get(name or "") for name in access.subscripts)
    return Sent(
        leaf.span,
        _not_negative(tag, facts, leaf),
        None if count is None else facts.values.polynomial(count, leaf).value,
        None if kind is None else datatype_of(kind, facts.scope),
        _not_negative(peer, facts, leaf),
        None if communicator is None else mpi_constant(communicator, facts.scope),
        cache(partial(executing_ranks, facts, leaf, call)),
    )


def _not_negative(expr: Expr | None, facts: UnitFacts, leaf: Leaf) -> int | None:
    """The value of a rank or a tag, if it is known and not a wildcard."""
    value = None if expr is None else facts.values.polynomial(expr, leaf).value
    return None if value is None or value < 0 else value


def _operation(mention: MpiMention) -> str:
    found = procedure(mention.operation)
    return mention.operation if found is None else found.name
