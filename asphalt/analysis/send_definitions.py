"""Which definitions of the send buffer an exchange sends: those in the nest, and those before it.

The nest that ``one_producer.definer`` finds need not be the only definition that reaches the call:
what was there before stays where the nest leaves elements alone, or has no iterations.  That part
is final before the nest.
"""

from __future__ import annotations

from dataclasses import dataclass

from asphalt.analysis.control_flow import ENTRY
from asphalt.analysis.exchange import Exchange
from asphalt.analysis.private import covers_whole
from asphalt.analysis.reaching import Definition
from asphalt.ir.tree import Do


@dataclass(frozen=True, slots=True)
class SendDefinitions:
    """The definitions of a send buffer that reach its call, seen from one nest.

    ``inside``: those in the nest.  ``before``: those that reach the nest (the point ENTRY: the
    value from before the procedure was entered); whether any of their elements is left at the call
    is for regions to say.  ``covered``: the nest certainly defines every element, so that nothing
    of ``before`` is sent.  ``elsewhere``: those that reach the call on a way past the nest, or from
    behind it.
    """

    storage: str
    inside: tuple[Definition, ...]
    before: tuple[Definition, ...]
    covered: bool
    elsewhere: tuple[Definition, ...]

    @property
    def left(self) -> tuple[Definition, ...]:
        """The definitions before the nest of which something may be sent."""
        return () if self.covered else self.before


def send_definitions(exchange: Exchange, storage: str, nest: Do) -> SendDefinitions:
    """The definitions of ``storage`` that reach the call of an exchange."""
    reaching = exchange.reaching
    points = reaching.graph.inside(nest)
    first = reaching.graph.of(nest.head)[0]
    before = reaching.at(first, storage)
    at_call = reaching.at(exchange.point, storage)
    inside = tuple(d for d in at_call if d.point in points)
    others = tuple(d for d in at_call if d.point not in points and d not in before)
    covered = covers_whole(exchange)(nest, storage)
    return SendDefinitions(storage, inside, before, covered, others)


def from_before_the_unit(definitions: SendDefinitions) -> bool:
    """Whether something may be sent that the procedure was entered with."""
    return any(definition.point == ENTRY for definition in definitions.left)
