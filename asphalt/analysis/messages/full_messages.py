"""Receives that certainly define as many elements as their count.

A message may be shorter than the count of its receive, and one from MPI_PROC_NULL changes nothing
(MPI-4.0 sections 3.2.4 and 3.10): the buffer keeps its contents.  All processes run one program, so
that its sends are all the messages. asphalt compares those with the receive's tag, by counts that
are the same on all ranks.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from asphalt.analysis.call_graph.datatype_variables import datatype_of
from asphalt.analysis.memory.forward_substitution import constants_in
from asphalt.analysis.messages.null_receives import may_name_null_process
from asphalt.analysis.messages.wildcards import is_wildcard
from asphalt.analysis.mpi.call import MpiCall, mpi_call
from asphalt.analysis.mpi.library_effects import Store, library_row
from asphalt.analysis.mpi.mentions import mpi_mentions
from asphalt.analysis.mpi.procedures import table
from asphalt.analysis.mpi.runtime_module import RUNTIME_CALLS, RUNTIME_SEGMENTS
from asphalt.analysis.names.constants import constant, is_size
from asphalt.analysis.names.references import passed_on
from asphalt.analysis.names.scopes import Scope, Scopes
from asphalt.ir.expr import Expr, Ref
from asphalt.ir.records import record
from asphalt.ir.source import Span
from asphalt.ir.stmt import Call, Opaque, Raw
from asphalt.ir.tree import leaves


@record
class _Sent:
    """A send of the program, as its unit spells it."""

    tag: Expr
    count: Expr
    type: Expr
    scope: Scope
    span: Span | None


class FullMessages:
    """The messages of the program of a scope."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.plain = Scopes(scope.program)  # with the values of named constants

    def fills(self, call: MpiCall, *, from_a_rank: bool = False) -> bool:
        """Whether a receive of the unit certainly gets as many elements as its count.

        ``from_a_rank``: if its source is not MPI_PROC_NULL.
        """
        return self.why_not(call, from_a_rank=from_a_rank) is None

    def why_not(
        self, call: MpiCall, *, from_a_rank: bool = False
    ) -> tuple[str, Span | None] | None:
        """Why a receive may get fewer elements, and the send of such a message; None: it does
        not."""
        exchange = call.procedure.exchange
        if exchange is None or exchange.source is None:
            return "it is not a receive with a count", None
        if self._sends is None:
            return "some sends of the program are unknown", None
        names = (exchange.receive_count, exchange.receive_type)
        count, datatype = (call.args.get(name or "") for name in names)
        tag = self._tag(call, -1)
        if count is None or datatype is None or tag is None:
            return "its count is unknown", None
        if self._may_receive_nothing and not from_a_rank:
            return "its source may be MPI_PROC_NULL", None
        here = self.plain.of(self.scope.located)
        for sent in self._sends:
            if self._tags_differ(tag, here, sent):
                continue
            if not _same_type(datatype, here, sent.type, sent.scope):
                return "a message may have another type", sent.span
            if not _same_count(count, here, sent.count, sent.scope):
                return "a message may be shorter", sent.span
        return None

    @staticmethod
    def _tag(call: MpiCall, which: int) -> Expr | None:
        tags = [p.name for p in call.procedure.parameters if p.kind == "TAG"]
        return call.args.get(tags[which]) if tags else None

    def _tags_differ(self, tag: Expr, here: Scope, sent: _Sent) -> bool:
        if is_wildcard(tag, here):
            return False
        mine, theirs = constant(tag, here), constant(sent.tag, sent.scope)
        return mine is not None and theirs is not None and mine != theirs

    @cached_property
    def _may_receive_nothing(self) -> bool:
        """Whether the program may receive from MPI_PROC_NULL."""
        return may_name_null_process(self.scope.scopes)

    @cached_property
    def _sends(self) -> tuple[_Sent, ...] | None:
        """All sends of the program; None: some are unknown."""
        program = self.scope.program
        if not program.main_programs():
            return None
        called = {mention.operation for mention in mpi_mentions(self.scope.scopes)}
        names = {name: operation for operation in called for name in (operation, f"p{operation}")}
        names |= {name: own.operation for name, own in RUNTIME_CALLS.items()}
        names |= dict.fromkeys(RUNTIME_SEGMENTS, "mpi_isend")
        found: list[_Sent] = []
        for name, operation in sorted(names.items()):
            procedure = table().get(operation)
            if procedure is None:
                return None
            row = library_row(procedure)
            if all(a.store is not Store.OUTGOING for a in (*row.accesses, *row.prepared)):
                continue
            for sent in self._of(name):
                if sent is None:
                    return None
                found.append(sent)
        return tuple(found)

    def _of(self, name: str) -> Iterator[_Sent | None]:
        """The sends by one name; None: one of them is ambiguous."""
        for located in self.scope.program.mentions(name):
            scope = self.plain.of(located)
            if passed_on(located, name):
                yield None
            for leaf in (leaf for node in located.unit.body for leaf in leaves(node)):
                what = leaf.action
                if isinstance(what, Raw | Opaque) and name in what.code.lower():
                    yield None
                if not isinstance(what, Call) or not isinstance(what.procedure, Ref):
                    continue
                call = mpi_call(what, scope)
                if call is None:
                    if what.procedure.name == name:
                        yield None
                    continue
                row = library_row(call.procedure)
                if any(a.store is Store.OUTGOING for a in (*row.accesses, *row.prepared)):
                    yield self._sent(call, scope, leaf.span)

    def _sent(self, call: MpiCall, scope: Scope, span: Span | None) -> _Sent | None:
        exchange = call.procedure.exchange
        if exchange is None:
            return None
        names = (exchange.send_count, exchange.send_type)
        count, datatype = (call.args.get(name or "") for name in names)
        tag = self._tag(call, 0)
        if tag is None or count is None or datatype is None:
            return None
        return _Sent(tag, count, datatype, scope, span)


def _same_type(one: Expr, here: Scope, other: Expr, there: Scope) -> bool:
    mine, theirs = datatype_of(one, here), datatype_of(other, there)
    return mine is not None and mine == theirs


def _same_count(one: Expr, here: Scope, other: Expr, there: Scope) -> bool:
    """Whether two counts are equal for all values of named constants, which all ranks have in
    common."""
    open_here, open_there = _open(here), _open(there)
    mine, theirs = constants_in(one, open_here), constants_in(other, open_there)
    if mine != theirs:
        return False
    return all(_same_constant(atom, open_here, open_there) for atom in mine.atoms)


def _open(scope: Scope) -> Scope:
    """The scope in which the values of named constants are unknown."""
    return Scopes(scope.program, any_sizes=True).of(scope.located)


def _same_constant(atom: Expr, here: Scope, there: Scope) -> bool:
    if not is_size(atom, here) or not is_size(atom, there) or not isinstance(atom, Ref):
        return False
    mine, theirs = here.lookup(atom.name), there.lookup(atom.name)
    return mine is not None and theirs is not None and mine.text == theirs.text
