"""A plan: everything that is decided about one site before anything is emitted."""

from __future__ import annotations

from dataclasses import dataclass, replace

from asphalt.analysis.exchange.producer import Producer
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.tiling.layout import Layout
from asphalt.analysis.uniformity.uniformity import Uniform
from asphalt.ir.expr import Ref

INNERMOST_GRAIN = 16
TAG = 0
"""The tag of all messages of an exchange: those of a pair keep their order."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How one exchange is prepushed.

    ``proved``: the inputs of the choice at the entry, each proved uniform; None: the ranks agree
    by a reduction.  ``evidence``: one sentence a condition, in their order.  ``clone``: why pieces
    land in a clone of the receive buffer; None: they land in the buffer itself.  ``sizes``: the
    named constants for whose present values only it is proved, and which the run asks for.
    ``alone``: no other message of the program can meet one of its messages on any communicator.
    """

    producer: Producer
    layout: Layout
    proved: tuple[Uniform, ...] | None
    evidence: tuple[str, ...]
    assumptions: tuple[str, ...] = ()
    clone: str | None = None
    sizes: tuple[tuple[Ref, int], ...] = ()
    alone: bool = False

    @property
    def exchange(self) -> Exchange:
        """The site."""
        return self.producer.exchange

    @property
    def certain(self) -> bool:
        """Whether the choice at the entry is certainly the same on all ranks."""
        return self.proved is not None

    @property
    def kept_apart(self) -> Plan:
        """The plan for sources that may change without being looked at again: what they would have
        to keep to, if the messages were to travel on the program's communicator, nobody checks.

        Where the program sends the messages itself, they stay where they are.
        """
        return self if self.exchange.open_coded is not None else replace(self, alone=False)

    @property
    def grain(self) -> int:
        """A chosen K is a multiple of this.

        Where the tiled loop is innermost, a compiler may vectorise it, and tiles should be whole
        numbers of vectors.
        """
        phases = self.producer.phases
        return INNERMOST_GRAIN if any(phase.innermost for phase in phases) else 1
