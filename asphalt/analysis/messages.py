"""The messages of one unit: each send and each receive that a call starts, and where it ends.

The rules are those of Danalis et al., ICS 2009, section 4: a call that starts a transfer uses or
defines its buffer until the call that completes it, which knows the buffer by its request
(``whichbuf``); messages with the same source, tag and communicator do not overtake each other
(MPI-4.0 section 3.5).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

from asphalt.analysis.access import ALIASED, Access, Mode, Subscript
from asphalt.analysis.algebra import Poly
from asphalt.analysis.constants import element_bytes
from asphalt.analysis.contiguity import reference_contiguity
from asphalt.analysis.kinds import storage_of
from asphalt.analysis.matching import Match, Matched, matching
from asphalt.analysis.mpi_call import MpiCall, mpi_call, mpi_constant, predefined_type
from asphalt.analysis.mpi_library import (
    Quantity,
    Store,
    Transfer,
    Until,
    library_row,
    needs_the_receive,
)
from asphalt.analysis.mpi_table import Timing
from asphalt.analysis.objects import designator_name, symbol_named
from asphalt.analysis.paths import path_witness
from asphalt.analysis.regions import loop_variable
from asphalt.analysis.request_operations import Operation, operations
from asphalt.analysis.shapes import Shape, shape_of
from asphalt.analysis.symbols import Origin
from asphalt.analysis.unit_facts import UnitFacts
from asphalt.ir.expr import AltReturn, Expr, Keyword, Ref, Section, names_in
from asphalt.ir.stmt import Assign, Call, Guarded, What
from asphalt.ir.tree import Do, Leaf, Node, leaves

_ONE = Poly.constant(1)


class Way(Enum):
    """Which way a message goes."""

    OUT = "sends"
    IN = "receives"


class Part(Enum):
    """What a call does in the life of a transfer (MPI-4.0 section 2.4)."""

    START = "starts"  # returns whatever other processes do
    COMPLETE = "completes"  # returns when an operation started before is complete
    BOTH = "starts and completes"
    OTHER = "does something else"  # nothing may change places with it
    NOTHING = "asks"  # a local question


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a message is known by: the other rank, the tag, the communicator."""

    way: Way
    peer: Expr
    tag: Expr
    communicator: Expr


def called(what: What) -> Call | None:
    """The call that a statement is, or makes under a one-line IF."""
    if isinstance(what, Guarded):
        what = what.action
    return what if isinstance(what, Call) else None


def part_of(call: MpiCall) -> Part:
    """What a call does in the life of transfers."""
    row = library_row(call.procedure)
    if row.quiet:
        return Part.NOTHING
    stores = {access.store for access in row.accesses}
    done = row.completion
    if done is not None and stores <= {Store.REQUEST}:
        all_of_them = done.certain and done.quantity is Quantity.ALL
        return Part.COMPLETE if all_of_them else Part.OTHER
    if needs_the_receive(call.procedure):
        return Part.OTHER
    only_messages = stores <= {Store.INCOMING, Store.OUTGOING, Store.REQUEST, Store.OBJECT}
    handles = [a for a in row.accesses if a.store is Store.OBJECT]
    if not only_messages or any(a.writes for a in handles) or not row.transfers:
        return Part.OTHER
    if not stores & {Store.INCOMING, Store.OUTGOING}:
        return Part.OTHER
    match call.procedure.timing:
        case Timing.NONBLOCKING if all(t.until is Until.COMPLETION for t in row.transfers):
            return Part.START
        case Timing.BLOCKING:
            return Part.BOTH
    return Part.OTHER


def envelopes_of(call: MpiCall) -> tuple[Envelope, ...] | None:
    """What the messages of a call are known by; None: not all of it is given."""
    found: list[Envelope] = []
    for access in library_row(call.procedure).accesses:
        if access.store in (Store.INCOMING, Store.OUTGOING):
            given = [call.args.get(name or "") for name in access.subscripts]
            peer, tag, communicator = given
            if peer is None or tag is None or communicator is None:
                return None
            way = Way.IN if access.store is Store.INCOMING else Way.OUT
            found.append(Envelope(way, peer, tag, communicator))
    return tuple(found)


class Messages:
    """The transfers of a unit."""

    def __init__(self, facts: UnitFacts) -> None:
        self.facts = facts

    def call(self, leaf: Leaf) -> MpiCall | None:
        """The MPI call that a statement makes."""
        call = called(leaf.what)
        return None if call is None else mpi_call(call, self.facts.scope)

    def own_calls(self) -> Iterator[tuple[Leaf, MpiCall]]:
        """All MPI calls of the unit, without those of procedures that it contains."""
        for node in self.facts.unit.body:
            yield from self.calls(node)

    def calls(self, node: Node) -> Iterator[tuple[Leaf, MpiCall]]:
        """All MPI calls in a statement or construct."""
        for leaf in leaves(node):
            call = self.call(leaf)
            if call is not None:
                yield leaf, call

    @cached_property
    def matches(self) -> tuple[Match, ...]:
        """Which call completes which."""
        return matching(self.facts.scope, self.facts.values, self.facts.reaching)

    @cached_property
    def _starts(self) -> dict[int, list[Matched]]:
        found: dict[int, list[Matched]] = {}
        for match in self.matches:
            if isinstance(match, Matched) and not match.is_blocking:
                for partner in match.partners:
                    found.setdefault(id(partner), []).append(match)
        return found

    @cached_property
    def _unknown(self) -> bool:
        return any(
            not isinstance(match, Matched) and part_of(match.call) is not Part.BOTH
            for match in self.matches
        )

    @cached_property
    def _requests(self) -> dict[int, Operation]:
        found = operations(self.facts.reaching, self.facts.scope, self.facts.values)
        return {id(operation.leaf): operation for operation in found}

    def _is_own(self, leaf: Leaf) -> bool:
        """Whether all requests that a completion may have are of calls that start operations in
        this unit: of a local variable that nothing else gives a value."""
        operation = self._requests.get(id(leaf))
        if operation is None or operation.root is None:
            return False
        symbol = self.facts.scope.lookup(operation.root)
        if symbol is None or symbol.origin is not Origin.LOCAL or symbol.equivalenced:
            return False
        kept = "save" in symbol.attrs and self.facts.unit.kind != "program"
        if kept or symbol.attrs & {"pointer", "target", "dummy"}:
            return False
        depth = len(self.facts.located.chain)
        mentions = self.facts.scope.program.mentions(symbol.name)
        if any(self.facts.unit in (*o.chain[:depth],) and len(o.chain) > depth for o in mentions):
            return False
        return all(
            definition.leaf is None
            or id(definition.leaf) in self._requests
            or self._is_null(definition.leaf)
            for definition in self.facts.reaching.definitions(operation.root)
        )

    def _is_null(self, leaf: Leaf) -> bool:
        """Whether a statement only says that there is no operation."""
        what = leaf.what.action if isinstance(leaf.what, Guarded) else leaf.what
        if not isinstance(what, Assign) or not isinstance(what.value, Ref):
            return False
        return mpi_constant(what.value, self.facts.scope) == "mpi_request_null"

    def completion(self, leaf: Leaf) -> tuple[Leaf, ...] | None:
        """The calls that complete what a call starts; None: not known."""
        for match in self.matches:
            if match.leaf is leaf:
                return match.partners if isinstance(match, Matched) else None
        return None

    def completed_by(self, leaf: Leaf) -> tuple[Matched, ...] | None:
        """What a completion may complete; None: not known."""
        if self._unknown or not self._is_own(leaf):
            return None
        return tuple(self._starts.get(id(leaf), ()))

    def pending(self, leaf: Leaf) -> tuple[Access, ...] | None:
        """The accesses to buffers of what a completion completes; None: not known."""
        started = self.completed_by(leaf)
        if started is None:
            return None
        found: list[Access] = []
        for match in started:
            buffers = self.buffers(match.leaf, match.call)
            if buffers is None or part_of(match.call) is not Part.START:
                return None
            kept = self._kept_between(match.leaf, leaf)
            for access in buffers:
                names = {n for s in access.subscripts or () for n in names_in(s)}
                same = all(n in kept or not self.facts.values.written_in_unit(n) for n in names)
                found.append(
                    replace(access, leaf=leaf, subscripts=access.subscripts if same else None)
                )
        return tuple(found)

    def _kept_between(self, start: Leaf, end: Leaf) -> frozenset[str]:
        """The variables of the loops around both statements, which nothing else may change, where
        the operation is complete before the next iteration."""
        graph = self.facts.reaching.graph
        points = graph.action(start), graph.action(end)
        if points[0] is None or points[1] is None:
            return frozenset()
        both = [loop for loop in graph.points[points[0]].around if isinstance(loop, Do)]
        kept: set[str] = set()
        for loop in both:
            name = loop_variable(loop)
            if name is None or all(loop is not o for o in graph.points[points[1]].around):
                continue
            if path_witness(graph, [points[0]], graph.of(loop.head), {points[1]}) is None:
                kept.add(name)
        return frozenset(kept)

    def buffers(self, leaf: Leaf, call: MpiCall) -> tuple[Access, ...] | None:
        """The accesses of a call to its buffers, with the elements that the count allows; None:
        a buffer is no variable."""
        found: list[Access] = []
        for transfer in library_row(call.procedure).transfers:
            actual = call.args.get(transfer.argument)
            if (
                not isinstance(actual, Ref)
                or actual.name in self._twice(call)
                or mpi_constant(actual, self.facts.scope) is not None
            ):
                return None
            storage = storage_of(actual.name, self.facts.scope)
            section = None
            if storage != ALIASED:
                section = self._section(actual, call, leaf)
            if section is None and not self._within(actual, call, leaf):
                for other in self._beside(actual.name):
                    found += _accesses(transfer, storage_of(other, self.facts.scope), None, leaf)
            found += _accesses(transfer, storage, section, leaf)
        return tuple(found)

    def _within(self, actual: Ref, call: MpiCall, leaf: Leaf) -> bool:
        """Whether a call certainly accesses nothing beyond the end of a variable."""
        scope, values = self.facts.scope, self.facts.values
        symbol = scope.lookup(actual.name)
        counts = [a for p, a in call.bound() if p.is_count]
        types = [a for p, a in call.bound() if p.kind == "DATATYPE"]
        if symbol is None or len(counts) != 1 or len(types) != 1:
            return False
        known = predefined_type(types[0], scope)
        if known is None or known.bytes is None or known.bytes != element_bytes(symbol, scope):
            return False
        count = values.polynomial(counts[0], leaf)
        if symbol.dims is None:
            return count == _ONE
        shape = shape_of(actual.name, scope, values, leaf)
        if shape is None or actual.args is not None:
            return False
        size = _ONE
        for extent in shape.extent:
            if extent is None:
                return False
            size = size * extent
        room = (size - count).value
        return room is not None and room >= 0

    def _beside(self, name: str) -> frozenset[str]:
        """The other variables of a common block: programs pass the first of several, with a count
        that reaches over all of them."""
        symbol = self.facts.scope.lookup(name)
        if symbol is None or symbol.common_block is None:
            return frozenset()
        block = symbol.common_block
        return frozenset(self.facts.scope.declared.commons.get(block, ())) - {symbol.name}

    def _twice(self, call: MpiCall) -> frozenset[str]:
        """The variables that stand in more than one argument of a call."""
        seen: set[str] = set()
        twice: set[str] = set()
        for _, actual in call.bound():
            names = names_in(actual)
            twice |= seen & names
            seen |= names
        return frozenset(twice)

    def _section(self, actual: Ref, call: MpiCall, leaf: Leaf) -> tuple[Subscript, ...] | None:
        """The section of an array that a buffer covers at most; None: all of it, or not known.

        From an element on, MPI accesses ``count`` elements of the datatype, which are elements of
        the array where both are equally long.  What a triplet names is passed as it is, but a count
        may reach beyond it.
        """
        scope, values = self.facts.scope, self.facts.values
        counts = [a for p, a in call.bound() if p.is_count]
        types = [a for p, a in call.bound() if p.kind == "DATATYPE"]
        name = designator_name(actual)
        symbol = None if name is None else symbol_named(name, scope)
        if actual.args is None or len(counts) != 1 or len(types) != 1 or symbol is None:
            return None
        if not reference_contiguity(actual, scope).yes:
            return None
        known = predefined_type(types[0], scope)
        if known is None or known.bytes is None or known.bytes != element_bytes(symbol, scope):
            return None
        shape = shape_of(name or "", scope, values, leaf)
        if shape is None or shape.rank != len(actual.args):
            return None
        first: list[Poly] = []
        for argument, lower in zip(actual.args, shape.lower, strict=True):
            match argument:
                case Section(lower=start, stride=None):
                    first.append(lower if start is None else values.polynomial(start, leaf))
                case Section() | Keyword() | AltReturn():
                    return None
                case _:
                    first.append(values.polynomial(argument, leaf))
        return _covered(tuple(first), values.polynomial(counts[0], leaf), shape)


def _accesses(
    transfer: Transfer, storage: str, section: tuple[Subscript, ...] | None, leaf: Leaf
) -> list[Access]:
    found: list[Access] = []
    if transfer.reads:
        found.append(Access(storage, Mode.READ, section, leaf))
    if transfer.writes:
        found.append(Access(storage, Mode.MAYBE_WRITE, section, leaf))
    return found


def _covered(first: tuple[Poly, ...], count: Poly, shape: Shape) -> tuple[Subscript, ...] | None:
    """The section that ``count`` elements cover from the element ``first`` on; None: not known."""
    rest = count
    colon = Section(None, None, None)
    for number, start in enumerate(first):
        extent, lower = shape.extent[number], shape.lower[number]
        single = tuple(f.expression() for f in first[number:])
        if rest == _ONE:
            return (*(colon,) * number, *single)
        if extent is None:
            return None
        if start == lower and rest == extent:
            return (*(colon,) * (number + 1), *single[1:])
        if _fits(start, rest, lower, extent):
            last = (start + rest - _ONE).expression()
            return (*(colon,) * number, Section(single[0], last, None), *single[1:])
        if start != lower:
            return None
        quotient = rest.divided_by(extent)
        if quotient is None:
            return None
        rest = quotient
    return None


def _fits(first: Poly, count: Poly, lower: Poly, extent: Poly) -> bool:
    """Whether so many elements from one on certainly stay within a dimension."""
    room = (lower + extent - first - count).value
    begins = (first - lower).value
    return room is not None and room >= 0 and begins is not None and begins >= 0
