"""How many elements a message has whose count is a variable of unknown value.

The name of a count does not say how many extents it has.  The message is as long as the one that it
matches, where that is known; or as what fills its buffer, or is read from it:

    k = 0
    do j = 1, n2
      do i = 1, n1
        k = k + 1
        row(k) = r(i, j)                                ! n1*n2 elements, as many as the loops give
      end do
    end do
    call MPI_Send(row, k, ...)
"""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.cost.trip_counts import loop_trips
from asphalt.analysis.cost.types import Surroundings
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.dependence.loop_counters import with_values
from asphalt.analysis.memory.accesses import ALIASED, Access
from asphalt.analysis.memory.regions import loop_variable
from asphalt.analysis.messages.messages import Messages, Way
from asphalt.analysis.mpi.call import MpiCall
from asphalt.gain.amounts import Amount, amount, iterations
from asphalt.gain.sizes import Sizes
from asphalt.ir.expr import Component, Expr, Ref, Section, names_in, root_name
from asphalt.ir.stmt import DoHead
from asphalt.ir.tree import Do, Leaf, leaves

_UNKNOWN = Amount.of(1.0, 1)


def elements(
    count: Expr,
    leaf: Leaf,
    call: MpiCall,
    facts: UnitFacts,
    sizes: Sizes,
    flow: UnitFacts | None = None,
) -> Amount:
    """The elements that a message of a call is taken to have.  ``flow``: the unit as it was
    analysed for any sizes, whose counters are known; None: it was not."""
    count = sizes.in_numbers(with_values(count, leaf, flow or facts), facts.scope)
    own = amount(count, facts.scope)
    if not _is_open(count, own):
        return own
    ways = {one.way for one in facts.once(Messages).envelopes(call) or ()}
    if len(ways) != 1:
        return own
    matched = _sent(call, facts, sizes) if ways == {Way.IN} else None
    found = matched or _accessed(leaf, call, facts, sizes, writes=ways == {Way.OUT})
    return own if found is None else found


def _is_open(count: Expr, own: Amount) -> bool:
    """Whether a count is a variable of which nothing is known."""
    return isinstance(count, Ref | Component) and own == _UNKNOWN


def _sent(receive: MpiCall, facts: UnitFacts, sizes: Sizes) -> Amount | None:
    """The length of the one message of the unit that a receive may match by its tag; None: there
    are several, or it is not known."""
    messages = facts.once(Messages)
    (wanted,) = messages.envelopes(receive) or (None,)
    if wanted is None:
        return None
    found: list[Amount] = []
    for leaf, call in messages.own_calls():
        sent = [one for one in messages.envelopes(call) or () if one.way is Way.OUT]
        if len(sent) != 1 or facts.values.polynomial(sent[0].tag, leaf) != facts.values.polynomial(
            wanted.tag, leaf
        ):
            continue
        counts = [a for p, a in call.bound() if p.is_count and not p.array]
        if not counts:
            return None
        count = sizes.in_numbers(with_values(counts[0], leaf, facts), facts.scope)
        own = amount(count, facts.scope)
        if _is_open(count, own):
            known = _accessed(leaf, call, facts, sizes, writes=True)
            if known is None:
                return None
            own = known
        found.append(own)
    return found[0] if found and all(one == found[0] for one in found) else None


def _accessed(
    leaf: Leaf, call: MpiCall, facts: UnitFacts, sizes: Sizes, writes: bool
) -> Amount | None:
    """How many elements of the buffer of a message the unit fills, or reads; None: not known."""
    wanted = "sendbuf" if "sendbuf" in call.args and writes else "recvbuf"
    buffer = call.args.get(wanted, call.args.get("buf"))
    name = None if buffer is None else root_name(buffer)
    symbol = None if name is None else facts.scope.lookup(name)
    if name is None or symbol is None or symbol.dims is None or len(symbol.dims) != 1:
        return None  # of a field, a message may have any part
    storage = facts.names.storage(name)
    own = [a for a in facts.values.footprint.accesses if a.storage == storage and not a.path]
    if storage == ALIASED or buffer is None or isinstance(buffer, Component):
        return None
    parts = [a for a in own if a.writes == writes and a.leaf is not leaf and a.subscripts]
    alike = {(_named(one), tuple(map(id, one.loops))): one for one in parts if not _is_section(one)}
    found = (_length(one, leaf, facts, sizes) for one in alike.values())
    lengths = [length for length in found if length is not None]
    return max(lengths, key=lambda length: length.value, default=None)


def _length(access: Access, leaf: Leaf, facts: UnitFacts, sizes: Sizes) -> Amount | None:
    """How many elements the loops around an access, but not around the message, lead to; None: none
    does."""
    found: Amount | None = None
    named = _named(access)
    counters = named - {loop_variable(loop) for loop in access.loops}
    for loop in access.loops:
        head = loop.head.what
        if any(other is leaf for other in leaves(loop)) or not isinstance(head, DoHead):
            continue
        if loop_variable(loop) in named or counters.intersection(_counted(loop, facts)):
            trips = sizes.trips(loop_trips(head, Surroundings(facts.scope)), facts.scope)
            times = iterations(trips, facts.scope)
            found = times if found is None else found * times
    return found


def _is_section(access: Access) -> bool:
    return any(isinstance(subscript, Section) for subscript in access.subscripts or ())


def _named(access: Access) -> frozenset[str]:
    """The names in the subscripts of an access."""
    return frozenset(name for subscript in access.subscripts or () for name in names_in(subscript))


def _counted(loop: Do, facts: UnitFacts) -> Iterator[str]:
    """The variables that the statements of a loop define."""
    for node in loop.body:
        yield from facts.written(node)
