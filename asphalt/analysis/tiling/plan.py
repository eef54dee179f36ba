"""A plan: all decisions about one site, before any code is emitted."""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.exchange.producer import Producer
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.tiling.layout import Layout
from asphalt.analysis.uniformity.uniformity import Uniform
from asphalt.ir.expr import Ref
from asphalt.ir.records import record

GRAIN = 16
TAG = 0
"""The tag of all messages of an exchange: those of a pair keep their order."""


@record
class Plan:
    """How one exchange is prepushed.

    ``proved``: the inputs of the decision at the entry, each proved uniform; None: the ranks agree
    by a reduction.  ``evidence``: one sentence a condition, in their order.  ``clone``: why pieces
    land in a clone of the receive buffer; None: they land in the buffer itself.  ``sizes``: the
    named constants whose present values the proof needs, and which the run checks.  ``alone``: no
    other message of the program can match one of its messages on any communicator.
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
        """Whether the decision at the entry is certainly the same on all ranks."""
        return self.proved is not None

    @property
    def private(self) -> Plan:
        """The plan with a private communicator, for sources that may change without another
        analysis: nothing would check then that no other message matches.

        An open-coded exchange keeps its communicator.
        """
        return self if self.exchange.open_coded is not None else replace(self, alone=False)

    @property
    def grain(self) -> int:
        """A chosen K is a multiple of this.

        Where the tiled loop is innermost, a compiler may vectorise it, and tiles should be whole
        numbers of vectors.  Where threads share its iterations, each of them should get some.
        """
        phases = self.producer.phases
        return GRAIN if any(phase.innermost or phase.threaded for phase in phases) else 1
