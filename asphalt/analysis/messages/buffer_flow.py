"""Array regions of a message buffer, transfers included.

In ``array_flow`` an MPI call may change and read all of its buffer.  Here a receive that fills its
count defines exactly these elements, and a send reads no others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from asphalt.analysis.call_graph.datatype_variables import datatype_of
from asphalt.analysis.data_flow.temporaries import is_local
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.effects.array_flow import ArrayFlow, Flow, elements_of
from asphalt.analysis.memory.accesses import (
    CalledAccess,
    CallEffect,
    Mode,
    NameSemantics,
    RefinedNames,
    Subscript,
)
from asphalt.analysis.memory.contiguity import reference_contiguity
from asphalt.analysis.memory.invariant_frame import Frame, Standpoint
from asphalt.analysis.memory.shapes import Shape, shape_of
from asphalt.analysis.memory.storage import storage_of
from asphalt.analysis.messages.full_messages import FullMessages
from asphalt.analysis.messages.guarded_reads import guarded_reads
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.mpi.call import MpiCall
from asphalt.analysis.mpi.library_effects import BufferEffect, library_row
from asphalt.analysis.names.constants import element_bytes
from asphalt.analysis.symbolic.index_sets import Elements
from asphalt.analysis.symbolic.isl import UndecidedError
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import AltReturn, Keyword, Ref, Section
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Leaf, Node, leaves

_ONE = Poly.constant(1)


class BufferFlow:
    """The array ``name`` of a unit, which has no other name."""

    def __init__(self, facts: UnitFacts, messages: Messages, full: FullMessages, name: str) -> None:
        self.facts = facts
        self.messages = messages
        self.full = full
        self.name = name
        self.storage = storage_of(name, facts.scope)
        guarded = guarded_reads(facts, messages, name) if is_local(name, facts) else None
        self.is_read_from_ranks = guarded is not None
        self._transfers = self._effects()
        if guarded and not all(self._reads_what_comes(nodes) for nodes in guarded):
            self.is_read_from_ranks = False
            self._transfers = self._effects()

    def _effects(self) -> dict[int, CallEffect]:
        """The known effects of calls that transfer messages from or to the array."""
        calls = {id(leaf.call): (leaf, call) for leaf, call in self.messages.own_calls()}
        return {
            key: found
            for key, (leaf, call) in calls.items()
            if (found := self._effect(leaf, call)) is not None
        }

    def _reads_what_comes(self, nodes: tuple[Node, ...]) -> bool:
        """Whether the statements after a receive (the first node) read only what it defines."""
        changing = frozenset[str]().union(*(self.facts.footprint(n).written() for n in nodes))
        at = next(leaves(nodes[0]))
        found = self.of(nodes, changing, at)
        return found is not None and self._inside(found.exposed, changing, at).is_empty()

    def needs_no_value(self, nodes: tuple[Node, ...]) -> bool:
        """Whether the statements of a list read only elements that they have defined before."""
        first = next((leaf for node in nodes for leaf in leaves(node)), None)
        shape = None if first is None else self._shape(first)
        if first is None or shape is None:
            return first is None
        found = self._in(nodes, self.facts.values.footprint.written(), shape)
        return found.exposed.is_empty()

    def of(self, nodes: tuple[Node, ...], changing: frozenset[str], at: Leaf) -> Flow | None:
        """The regions of the statements of a list while the storages ``changing`` may be written.

        ``at``: where its shape is evaluated.  None: it has none.
        """
        shape = self._shape(at)
        return None if shape is None else self._in(nodes, changing, shape)

    def stored(
        self, nodes: tuple[Node, ...], changing: frozenset[str], at: Leaf
    ) -> Elements | None:
        """A superset of the elements that statements define (see ``of``)."""
        found = self.of(nodes, changing, at)
        return None if found is None else self._inside(found.maybe, changing, at)

    def _inside(self, found: Elements, changing: frozenset[str], at: Leaf) -> Elements:
        """The intersection of some elements with those of the array."""
        shape = self._shape(at)
        if shape is None:
            return found
        here = Standpoint(Frame(self.facts.values, changing), at, ())
        try:
            return found.intersection(
                elements_of((Section(None, None, None),) * shape.rank, here, shape)
            )
        except UndecidedError:
            return found

    def moves(self, call: Call) -> bool:
        """Whether a call transfers a fully known message from or to the array."""
        return id(call) in self._transfers

    def _in(self, nodes: tuple[Node, ...], changing: frozenset[str], shape: Shape) -> Flow:
        frame = Frame(self.facts.values, changing)
        return ArrayFlow(self.storage, shape.rank, self._names, frame, shape).of(nodes)

    @property
    def _names(self) -> NameSemantics:
        return _NamesWithTransfers(self.facts.names, self._transfers)

    def _shape(self, at: Leaf) -> Shape | None:
        return shape_of(self.name, self.facts.scope, self.facts.values, at)

    def _effect(self, leaf: Leaf, call: MpiCall) -> CallEffect | None:
        """The effect of a call that transfers a message from or to the array; None: the usual
        one."""
        action = leaf.call
        actuals = [(t, call.args.get(t.argument)) for t in library_row(call.procedure).transfers]
        own = [(t, a) for t, a in actuals if isinstance(a, Ref) and a.name == self.name]
        if action is None or len(own) != 1:
            return None
        transfer, actual = own[0]
        assert isinstance(actual, Ref)
        section = self._section(transfer, actual, leaf, call)
        if section is None:
            return None
        usual = self.facts.names.call(action)
        rest = tuple(r for r in usual.accesses if r.storage != self.storage)
        mode = Mode.READ if transfer.reads else Mode.WRITE
        return replace(usual, accesses=(*rest, CalledAccess(self.storage, mode, section)))

    def _section(
        self, transfer: BufferEffect, actual: Ref, leaf: Leaf, call: MpiCall
    ) -> tuple[Subscript, ...] | None:
        """Exactly the elements that are transferred; None: unknown."""
        exchange = call.procedure.exchange
        symbol, shape = self.facts.scope.lookup(self.name), self._shape(leaf)
        if exchange is None or symbol is None or shape is None:
            return None
        if transfer.writes:
            if transfer.reads or not self.full.fills(call, from_a_rank=self.is_read_from_ranks):
                return None
            names = (exchange.receive_count, exchange.receive_type)
        else:
            names = (exchange.send_count, exchange.send_type)
        count, datatype = (call.args.get(name or "") for name in names)
        known = None if datatype is None else datatype_of(datatype, self.facts.scope)
        if count is None or known is None or known.bytes is None:
            return None
        if known.bytes != element_bytes(symbol, self.facts.scope):
            return None
        first = self._first(actual, shape, leaf)
        if first is None:
            return None
        return _run(first, self.facts.values.polynomial(count, leaf), shape, transfer.writes)

    def _first(self, actual: Ref, shape: Shape, leaf: Leaf) -> tuple[Poly, ...] | None:
        if not reference_contiguity(actual, self.facts.scope).yes:
            return None
        if actual.args is None:
            return shape.lower
        first: list[Poly] = []
        for argument, lower in zip(actual.args, shape.lower, strict=True):
            match argument:
                case Section(lower=start, stride=None):
                    given = lower if start is None else self.facts.values.polynomial(start, leaf)
                    first.append(given)
                case Section() | Keyword() | AltReturn():
                    return None
                case _:
                    first.append(self.facts.values.polynomial(argument, leaf))
        return tuple(first)


class _NamesWithTransfers(RefinedNames):
    """The names of a unit, with known effects of some calls, by the identity of the call."""

    def __init__(self, names: NameSemantics, transfers: Mapping[int, CallEffect]) -> None:
        super().__init__(names)
        self._transfers = transfers

    def call(self, call: Call) -> CallEffect:
        return self._transfers.get(id(call)) or self.names.call(call)


def _run(
    first: tuple[Poly, ...], count: Poly, shape: Shape, writes: bool
) -> tuple[Subscript, ...] | None:
    """The section of ``count`` consecutive elements from ``first`` on, none of them beyond the
    array.

    If they are written, a subset is sufficient.
    """
    rest = count
    colon = Section(None, None, None)
    for number, start in enumerate(first):
        lower, extent = shape.lower[number], shape.extent[number]
        single = tuple(f.expression() for f in first[number:])
        if rest == _ONE:
            return (*(colon,) * number, *single)
        last = number == len(first) - 1
        quotient = None if extent is None or start != lower else rest.divided_by(extent)
        if last or quotient is None:
            if not last and not writes:
                return None
            end = (start + rest - _ONE).expression()
            return (*(colon,) * number, Section(single[0], end, None), *single[1:])
        rest = quotient
    return None
