"""What the clock needs to know of a call of MPI: bytes, tags, and what it starts or completes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from asphalt.analysis.call_graph.datatype_variables import datatype_of
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.memory.derived_datatypes import type_map
from asphalt.analysis.memory.forward_substitution import constants_in
from asphalt.analysis.messages.messages import Envelope, Messages, Stage, stage_of
from asphalt.analysis.mpi.call import MpiCall
from asphalt.analysis.names.symbol import Origin
from asphalt.analysis.requests.matching import Matched
from asphalt.gain.amounts import amount, typical
from asphalt.gain.blocks import BlockCall, block_call
from asphalt.gain.called_units import CalledUnits
from asphalt.gain.lengths import elements
from asphalt.gain.priced_transfers import Letter, PricedTransfer
from asphalt.gain.sizes import Sizes
from asphalt.ir.expr import Component, Expr, Op, Ref
from asphalt.ir.tree import Leaf, Node

_MOVING = frozenset({"BUFFER", "REQUEST", "MESSAGE", "WINDOW", "FILE"})
"""Arguments of procedures that move data, or complete what does."""


@dataclass
class Transfers:
    """The calls of units, each looked at once.  ``matched``: the messages of one of the units, with
    what is known for any sizes: what each completion completes is not worked out again.
    ``copied``: a blocking send that counts as if it left from a copy of its buffer.
    ``sizes``: the values of variables.  ``talking``: whether messages start or end in statements,
    by the identity of these; ``called``: the procedures that they call, None: none that is known.
    ``units``: the procedures that are the same in all texts of the unit.
    """

    matched: Messages | None = None
    copied: Leaf | None = None
    sizes: Sizes = field(default_factory=Sizes)
    units: CalledUnits = field(default_factory=CalledUnits)
    talking: dict[int, tuple[Node, bool]] = field(default_factory=dict)
    called: dict[int, tuple[Leaf, UnitFacts | None]] = field(default_factory=dict)
    _transfers: dict[int, tuple[Leaf, PricedTransfer | None]] = field(default_factory=dict)
    _blocks: dict[int, tuple[Leaf, BlockCall | None]] = field(default_factory=dict)

    def of(self, leaf: Leaf, facts: UnitFacts) -> PricedTransfer | None:
        """The transfer of the MPI call in a statement of a unit; None: there is none."""
        found = self._transfers.get(id(leaf))
        if found is None:
            made = self._kept(leaf, facts) if self.units.has(facts) else self._of(leaf, facts)
            found = self._transfers[id(leaf)] = leaf, made
        return found[1]

    def _of(self, leaf: Leaf, facts: UnitFacts) -> PricedTransfer | None:
        call = facts.once(Messages).call(leaf)
        made = None if call is None else _transfer(leaf, call, facts, self)
        return replace(made, copied=True) if made is not None and leaf is self.copied else made

    def _kept(self, leaf: Leaf, facts: UnitFacts) -> PricedTransfer | None:
        return self.units.transfers.of(leaf, lambda: self._of(leaf, facts))

    def block(self, leaf: Leaf) -> BlockCall | None:
        """The call of a statement for an operation that was decomposed; None: it has none."""
        found = self._blocks.get(id(leaf))
        if found is None:
            found = self._blocks[id(leaf)] = leaf, block_call(leaf)
        return found[1]


def bytes_of(
    count: Expr | None, datatype: Expr | None, leaf: Leaf, facts: UnitFacts, sizes: Sizes
) -> float:
    """The bytes of so many elements; None: not known."""
    number = typical(1)
    if count is not None:
        number = amount(sizes.in_numbers(count, facts.scope), facts.scope).value
    return _bytes(number, datatype, leaf, facts, sizes)


def _bytes(
    number: float, datatype: Expr | None, leaf: Leaf, facts: UnitFacts, sizes: Sizes
) -> float:
    plain = None if datatype is None else datatype_of(datatype, facts.scope)
    if datatype is None or plain is not None:
        return number * (8 if plain is None or plain.bytes is None else plain.bytes)
    made = type_map(datatype, leaf, facts.scope, facts.values)
    if made is None:
        return number * 8
    bytes_ = 8 if made.element.bytes is None else made.element.bytes
    elements_ = sizes.in_numbers(made.elements.expression(), facts.scope)
    return number * amount(elements_, facts.scope).value * bytes_


def _transfer(leaf: Leaf, call: MpiCall, facts: UnitFacts, transfers: Transfers) -> PricedTransfer:
    matched = transfers.matched
    part = Stage.NOTHING if _is_of_handles(call) else stage_of(call)
    exchange = call.procedure.exchange
    messages = facts.once(Messages)
    started: tuple[Matched, ...] | None = ()
    if part is Stage.COMPLETE:
        started = None if matched is None else matched.completed_by(leaf)
        started = messages.completed_by(leaf) if started is None else started
    from_queue = call.queue is not None and part is not Stage.START
    envelopes = () if from_queue else messages.envelopes(call) or ()
    requests = [(p, a) for p, a in call.bound() if p.kind == "REQUEST"]
    return PricedTransfer(
        id(leaf),
        part,
        _size(leaf, call, facts, transfers),
        tuple(Letter(one.way, _tag(one, leaf, facts)) for one in envelopes),
        None if call.queue is None else repr(call.queue).lower(),
        call.binding == "runtime",
        exchange is not None and exchange.send == exchange.receive,
        _root(requests[0][1], facts) if requests else None,
        any(p.array for p, _ in requests),
        None if started is None else tuple(id(one.leaf) for one in started),
    )


def _is_of_handles(call: MpiCall) -> bool:
    """Whether a call is local and only makes, asks or frees objects: nobody waits for anybody."""
    kinds = {parameter.kind for parameter in call.procedure.parameters}
    return call.procedure.local and kinds.isdisjoint(_MOVING)


def _size(leaf: Leaf, call: MpiCall, facts: UnitFacts, transfers: Transfers) -> float:
    matched, sizes = transfers.matched, transfers.sizes
    counts = [a for p, a in call.bound() if p.is_count and not p.array]
    types = [None if p.array else a for p, a in call.bound() if p.kind == "DATATYPE"]
    if not types:
        return 0.0
    # of the same unit; what was found out for any sizes is known
    flow = facts if matched is None or matched.facts.unit is not facts.unit else matched.facts
    number = typical(1)
    if counts:
        number = elements(counts[0], leaf, call, facts, sizes, flow).value
    return _bytes(number, types[0], leaf, facts, sizes)


def _tag(envelope: Envelope, leaf: Leaf, facts: UnitFacts) -> str:
    value = constants_in(envelope.tag, facts.scope).value
    if value is None and isinstance(envelope.tag, Ref | Op):
        value = facts.values.polynomial(envelope.tag, leaf).value
    return str(value) if value is not None else repr(envelope.tag).lower()


def _root(request: object, facts: UnitFacts) -> str | None:
    """The variable that a request is, or is an element of; None: it has another name elsewhere."""
    while isinstance(request, Component):
        request = request.base
    if not isinstance(request, Ref):
        return None
    symbol = facts.scope.lookup(request.name)
    dummy = symbol is not None and symbol.origin is Origin.DUMMY
    return None if dummy else request.name
