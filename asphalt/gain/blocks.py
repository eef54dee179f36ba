"""Collective operations that were decomposed: what their calls of the runtime do.

All blocks together are taken to need the time of the whole operation.  Each iteration of a loop
around messages has to wait for its part of that time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from asphalt.analysis.mpi.procedures import table
from asphalt.gain.amounts import PEERS
from asphalt.ir.expr import AltReturn, Arg, Expr, Keyword, Ref, Section
from asphalt.ir.records import record
from asphalt.ir.tree import Leaf

_PREFIX = "asphalt_"
_START = "_blocks"


class BlockStep(Enum):
    """The role of a call."""

    START = "starts it"
    SEND = "sends a block"
    REST = "sends what is left"
    AWAIT = "waits for a block"
    FINISH = "completes it"


_STEPS = {
    "asphalt_send_block": BlockStep.SEND,
    "asphalt_send_blocks": BlockStep.REST,
    "asphalt_await_block": BlockStep.AWAIT,
    "asphalt_finish_blocks": BlockStep.FINISH,
}


@record
class BlockCall:
    """A call for a decomposed operation.  ``variable``: of the operation.  For a start, ``count``
    and ``datatype`` of a block, None where ranks have different ones, and whether blocks are filled
    ``later``."""

    step: BlockStep
    variable: str
    count: Expr | None = None
    datatype: Expr | None = None
    later: bool = False


def block_call(leaf: Leaf) -> BlockCall | None:
    """The call of a statement for an operation that was decomposed; None: it has none."""
    call = leaf.call
    if call is None or not isinstance(call.procedure, Ref):
        return None
    name = call.procedure.name
    step = _STEPS.get(name)
    if step is not None:
        return BlockCall(step, _name(call.args[0]))
    if not (name.startswith(_PREFIX) and name.endswith(_START)):
        return None
    operation = table().get(f"mpi_{name.removeprefix(_PREFIX).removesuffix(_START)}")
    if operation is None:
        return None
    given = [a for a in call.args if not isinstance(a, Keyword)]
    own = [p for p in operation.parameters if p.kind != "ERROR_CODE"]
    bound = list(zip(own, given, strict=False))
    counts = [a for p, a in bound if p.is_count and not p.array]
    types = [a for p, a in bound if p.kind == "DATATYPE"]
    later = len(given) < len(call.args)
    if not counts or not types:
        return BlockCall(BlockStep.START, _name(given[-1]), later=later)
    return BlockCall(BlockStep.START, _name(given[-1]), _value(counts[0]), _value(types[0]), later)


def _value(arg: Arg) -> Expr | None:
    return None if isinstance(arg, AltReturn | Keyword | Section) else arg


def _name(arg: Arg) -> str:
    return arg.name if isinstance(arg, Ref) else ""


@dataclass
class BlocksInFlight:
    """An operation in progress: ``time`` is its duration in seconds, from ``posted`` on, or in
    parts from when they are sent; ``there``: when the parts have arrived."""

    posted: float
    time: float
    there: list[float] = field(default_factory=list)
    taken: int = 0

    @staticmethod
    def started(now: float, time: float, *, later: bool) -> BlocksInFlight:
        """An operation that starts now; if blocks are filled ``later``, nothing is sent yet."""
        blocks = BlocksInFlight(now, time)
        return blocks if later else blocks.sent(now, PEERS)

    def sent(self, now: float, number: int = 1) -> BlocksInFlight:
        """The operation after some more blocks are sent."""
        there = list(self.there)
        for _ in range(min(number, PEERS - len(there))):
            there.append(max(now, there[-1] if there else now) + self.time / PEERS)
        return BlocksInFlight(self.posted, self.time, there, self.taken)

    def awaited(self) -> tuple[BlocksInFlight, float]:
        """The operation after one more block is taken, and when that has arrived."""
        taken = self.taken + 1
        there = self.there[min(taken, len(self.there)) - 1] if self.there else self.posted
        return BlocksInFlight(self.posted, self.time, self.there, taken), there

    @property
    def end(self) -> float:
        """When all blocks have arrived."""
        return max(self.there, default=self.posted)
