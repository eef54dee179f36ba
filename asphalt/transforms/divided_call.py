"""Collective operations whose blocks are filled before the call, or used behind it, one by one.

All operations are meant that have a buffer with one block for each rank, but MPI_ALLTOALLW, whose
blocks have displacements in bytes and datatypes of their own; and MPI_BCAST, whose blocks are the
planes of its buffer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from asphalt.analysis.access import Access, Mode
from asphalt.analysis.algebra import Poly
from asphalt.analysis.block_codes import BESIDE, BLOCKS, LOOP, Obstacle
from asphalt.analysis.divided_loops import Worker, touching, worker_in
from asphalt.analysis.independence import Independence
from asphalt.analysis.kinds import storage_of
from asphalt.analysis.mpi_call import MpiCall
from asphalt.analysis.rank_blocks import RankBlocks, planes_of, rank_blocks
from asphalt.analysis.unit_facts import UnitFacts, line_of
from asphalt.ir.expr import Ref
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Leaf, Node, leaves
from asphalt.transforms.windows import takes_time

_SEND, _RECEIVE = "sendbuf", "recvbuf"


@dataclass(frozen=True, slots=True)
class _Cut:
    """A buffer with a block for each rank: the arguments that tell them.  ``planes``: its blocks
    are its planes, and what a rank has received it sends on."""

    buffer: str
    count: str
    datatype: str
    displs: str | None = None
    planes: bool = False


_OUT = _Cut(_SEND, "sendcount", "sendtype")
_IN = _Cut(_RECEIVE, "recvcount", "recvtype")
_IN_V = _Cut(_RECEIVE, "recvcounts", "recvtype", "displs")
_SAME = _Cut("buffer", "count", "datatype", planes=True)

OPERATIONS: Mapping[str, tuple[_Cut | None, _Cut | None]] = {
    "mpi_alltoall": (_OUT, _IN),
    # blocks that are sent may overlap (MPI-4.0 section 6.8)
    "mpi_alltoallv": (None, _Cut(_RECEIVE, "recvcounts", "recvtype", "rdispls")),
    "mpi_allgather": (None, _IN),
    "mpi_allgatherv": (None, _IN_V),
    "mpi_gather": (None, _IN),
    "mpi_gatherv": (None, _IN_V),
    "mpi_scatter": (_OUT, None),
    "mpi_scatterv": (_Cut(_SEND, "sendcounts", "sendtype", "displs"), None),
    "mpi_bcast": (_SAME, _SAME),
}
"""The buffers that a loop may fill, and use, block by block."""


@dataclass(frozen=True, slots=True)
class Divided:
    """The loops over the blocks of an operation, each with its position among the siblings of the
    call.  ``end``: behind which position the operation is completed.  ``plane``: the elements of a
    block where these are planes."""

    producer: tuple[int, Worker] | None
    consumer: tuple[int, Worker] | None
    end: int
    plane: Poly | None = None

    @property
    def workers(self) -> tuple[Worker, ...]:
        """Both loops."""
        return tuple(found[1] for found in (self.producer, self.consumer) if found is not None)


class DividedCall:
    """A collective operation at ``position`` of a statement list.

    Between its start, which is in front of the loop that fills the blocks, and its end, which is
    behind the loop that uses them, nothing communicates, has an effect that can be seen, or touches
    what the operation touches, but for the blocks of these loops.
    """

    def __init__(
        self,
        facts: UnitFacts,
        order: Independence,
        siblings: tuple[Node, ...],
        position: int,
        call: MpiCall,
    ) -> None:
        self.facts = facts
        self.order = order
        self.siblings = siblings
        self.position = position
        self.call = call
        self.rooted = any(parameter.name == "root" for parameter, _ in call.bound())

    def found(self) -> Divided | Obstacle | None:
        """The loops over its blocks, or why there is none; None: it is no such operation."""
        leaf = self.siblings[self.position]
        cuts = OPERATIONS.get(self.call.procedure.name)
        if cuts is None or not isinstance(leaf, Leaf) or not isinstance(leaf.what, Call):
            return None
        accesses = self._accesses(leaf)
        out, into = cuts
        known = self.storage(_SAME.buffer) is not None
        if out is not into:
            known = self.storage(_SEND) != self.storage(_RECEIVE)
        if accesses is None or not known:
            return Obstacle(BLOCKS, "its buffers are not known", leaf)
        producer = self._loop(leaf, accesses, out, -1)
        consumer = self._loop(leaf, accesses, into, +1)
        if isinstance(producer, Obstacle) and isinstance(consumer, Obstacle):
            return producer if into is None else consumer
        end = consumer[0] if not isinstance(consumer, Obstacle) else self._free_until(accesses)
        return Divided(
            None if isinstance(producer, Obstacle) else producer,
            None if isinstance(consumer, Obstacle) else consumer,
            end,
            self._plane(leaf),
        )

    def _plane(self, leaf: Leaf) -> Poly | None:
        """The elements of a plane of the buffer that all ranks get."""
        if OPERATIONS[self.call.procedure.name] != (_SAME, _SAME):
            return None
        args = self.call.args
        found = planes_of(args[_SAME.buffer], args[_SAME.datatype], leaf, self.facts)
        return None if isinstance(found, str) else found[1]

    def storage(self, argument: str) -> str | None:
        """Where a buffer is."""
        actual = self.call.args.get(argument)
        return storage_of(actual.name, self.facts.scope) if isinstance(actual, Ref) else None

    def _accesses(self, leaf: Leaf) -> tuple[Access, ...] | None:
        """What the call accesses, without its error code."""
        found = self.order.accesses(leaf)
        if found is None:
            return None
        error = self.call.error
        own = storage_of(error.name, self.facts.scope) if isinstance(error, Ref) else None
        return tuple(a for a in found if a.storage != own or not a.writes)

    def _loop(
        self, leaf: Leaf, accesses: tuple[Access, ...], cut: _Cut | None, direction: int
    ) -> tuple[int, Worker] | Obstacle:
        """The nearest loop on one side of the call that works on the blocks of a buffer."""
        if cut is None:
            return Obstacle(BLOCKS, "its blocks are not divided", leaf)
        args = self.call.args
        displs = None if cut.displs is None else args[cut.displs]
        blocks: RankBlocks | str
        if cut.planes:
            planes = planes_of(args[cut.buffer], args[cut.datatype], leaf, self.facts)
            blocks = planes if isinstance(planes, str) else planes[0]
        else:
            blocks = rank_blocks(
                args[cut.buffer], args[cut.count], args[cut.datatype], displs, leaf, self.facts
            )
        if isinstance(blocks, str):
            return Obstacle(BLOCKS, blocks, leaf)
        others = tuple(a for a in accesses if a.storage != blocks.storage)
        here = self.position + direction
        while 0 <= here < len(self.siblings):
            node = self.siblings[here]
            uses = touching(node, blocks.storage, self.facts, writes=direction < 0)
            reason = self._why_not_beside(node, others if uses else accesses, blocks)
            if reason is not None:
                return Obstacle(BESIDE, reason, next(leaves(node)))
            if uses and cut.planes and direction > 0:
                changed = touching(node, blocks.storage, self.facts, writes=True)
                if changed:
                    message = f"line {line_of(changed[0].leaf)}: what is sent on changes"
                    return Obstacle(BESIDE, message, changed[0].leaf)
            if uses:
                worker = worker_in(node, blocks, uses, not self.rooted, self.facts)
                return worker if isinstance(worker, Obstacle) else (here, worker)
            here += direction
        return Obstacle(LOOP, "no loop works on its blocks", leaf)

    def _why_not_beside(
        self, node: Node, accesses: Iterable[Access], blocks: RankBlocks | None
    ) -> str | None:
        """Why a statement or construct may not stand between the start and the end."""
        line = f"line {line_of(next(leaves(node)))}"
        call = next((call for _, call in self.order.messages.calls(node)), None)
        if call is not None:
            return f"{line}: {call.procedure.spelled}"
        stays = self.order.bound(node)
        if stays is not None:
            return stays
        mine = self.facts.footprint(node).accesses
        for a in accesses:
            for b in mine:
                if (a.writes or b.writes) and b.mode is not Mode.INQUIRE and a.meets(b):
                    return f"{line}: {b.object}"
        written = {b.storage for b in mine if b.writes}
        for name in sorted(blocks.names if blocks is not None else ()):
            if storage_of(name, self.facts.scope) in written:
                return f"{line}: {name} changes"
        return None

    def _free_until(self, accesses: tuple[Access, ...]) -> int:
        """The position of the last work behind the call that may be done before the end."""
        end = self.position
        for here in range(self.position + 1, len(self.siblings)):
            node = self.siblings[here]
            if self._why_not_beside(node, accesses, None) is not None:
                break
            if any(takes_time(leaf, self.order.messages) for leaf in leaves(node)):
                end = here
        return end
