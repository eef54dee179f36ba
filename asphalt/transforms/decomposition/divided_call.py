"""Collective operations whose blocks a loop fills before the call, or uses behind it, one by one.

These are all operations with a buffer that has one block for each rank, and MPI_BCAST, whose blocks
are the planes of its buffer.  The blocks of MPI_ALLTOALLW have displacements in bytes and datatypes
of their own, so that only the run knows where they are.  There loops fill and use planes of the
buffers, and the runtime finds out which blocks touch a plane.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.memory.accesses import Access, Mode
from asphalt.analysis.memory.storage import storage_of
from asphalt.analysis.mpi.call import MpiCall
from asphalt.analysis.names.constants import type_bytes
from asphalt.analysis.names.scopes import Origin
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.analysis.tiling.block_loops import Worker, touching, worker_in
from asphalt.analysis.tiling.rank_blocks import RankBlocks, planes_of, rank_blocks
from asphalt.analysis.verdicts.block_codes import BESIDE, BLOCKS, LOOP, ORDER, Obstacle
from asphalt.ir.expr import ArrayConstructor, Expr, Ref, names_in
from asphalt.ir.records import record
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Leaf, Node, leaves
from asphalt.transforms.motion.windows import takes_time
from asphalt.transforms.rewriting.make import fn, num, size

_SEND, _RECEIVE = "sendbuf", "recvbuf"
_BITS = "storage_size"


@record
class _Cut:
    """A buffer with a block for each rank: the arguments that tell them.  ``planes``: what is
    filled and used are its planes."""

    buffer: str
    count: str
    datatype: str
    displs: str | None = None
    planes: bool = False


_OUT = _Cut(_SEND, "sendcount", "sendtype")
_IN = _Cut(_RECEIVE, "recvcount", "recvtype")
_IN_V = _Cut(_RECEIVE, "recvcounts", "recvtype", "displs")
_OUT_W = _Cut(_SEND, "sendcounts", "sendtypes", "sdispls", planes=True)
_IN_W = _Cut(_RECEIVE, "recvcounts", "recvtypes", "rdispls", planes=True)
# what a rank has received it sends on
_SAME = _Cut("buffer", "count", "datatype", planes=True)

OPERATIONS: Mapping[str, tuple[_Cut | None, _Cut | None]] = {
    "mpi_alltoall": (_OUT, _IN),
    # blocks that are sent may overlap (MPI-4.0 section 6.8)
    "mpi_alltoallv": (None, _Cut(_RECEIVE, "recvcounts", "recvtype", "rdispls")),
    "mpi_alltoallw": (_OUT_W, _IN_W),
    "mpi_allgather": (None, _IN),
    "mpi_allgatherv": (None, _IN_V),
    "mpi_gather": (None, _IN),
    "mpi_gatherv": (None, _IN_V),
    "mpi_scatter": (_OUT, None),
    "mpi_scatterv": (_Cut(_SEND, "sendcounts", "sendtype", "displs"), None),
    "mpi_bcast": (_SAME, _SAME),
}
"""The buffers that a loop may fill, and use, block by block.

This is no fact of the procedures, but what this transformation can do with them: which of their
buffers it cuts, and whether into the blocks of the ranks or into planes.
"""

_RECEIVES_LATER = (OPERATIONS["mpi_alltoall"],)
"""Of which operations the receives may start where the call stood, later than the sends."""


@record
class Divided:
    """The loops over the blocks of an operation, each with its position among the siblings of the
    call.

    ``end``: the position behind which the operation is completed.  ``planes``: the arguments of the
    run-time procedure with the sizes of planes, where these take the place of blocks.  ``late``:
    what stands in front of the call reads the buffer for what is received, so that no receive may
    start before.
    """

    producer: tuple[int, Worker] | None
    consumer: tuple[int, Worker] | None
    end: int
    planes: tuple[Expr, ...] = ()
    late: bool = False

    @property
    def workers(self) -> tuple[Worker, ...]:
        """Both loops."""
        return tuple(found[1] for found in (self.producer, self.consumer) if found is not None)


class DividedCall:
    """A collective operation at ``position`` of a statement list.

    Its start is in front of the loop that fills the blocks, its end behind the loop that uses
    them.  In between nothing communicates, has a visible side effect, or accesses what the
    operation accesses, except the blocks of these loops.
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

    def found(self, *, beside: bool = False) -> Divided | Obstacle | None:
        """The loops over its blocks, or why there is none; None: it has no blocks.  ``beside``: no
        loop is needed if other work stands behind the call."""
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
        if _OUT_W in cuts and not self._is_intrinsic(_BITS):
            return Obstacle(BLOCKS, f"{_BITS} is not an intrinsic function here", leaf)
        # the start, with the sizes of both, is in front of the loop that fills the one
        behind = self._blocks(into, leaf) if into is not None and into.planes else None
        names = behind.names if isinstance(behind, RankBlocks) else frozenset()
        producer = self._loop(leaf, accesses, out, -1, names)
        late = isinstance(producer, Obstacle) and cuts in _RECEIVES_LATER
        if late:
            producer = self._loop(leaf, accesses, out, -1, names, self.storage(_RECEIVE))
        consumer = self._loop(leaf, accesses, into, +1)
        end = consumer[0] if not isinstance(consumer, Obstacle) else self._free_until(accesses)
        if (
            isinstance(producer, Obstacle)
            and isinstance(consumer, Obstacle)
            and not (beside and end > self.position)
        ):
            return producer if into is None else consumer
        fills = None if isinstance(producer, Obstacle) else producer
        uses = None if isinstance(consumer, Obstacle) else consumer
        if out is into is _SAME:
            planes: tuple[Expr, ...] = self._plane(_SAME, leaf)[:1]
        elif out is _OUT_W:
            none = (_listed(num(0)), num(0))
            planes = self._plane(_OUT_W, leaf) if fills is not None else none
            planes += self._plane(_IN_W, leaf) if uses is not None else none
        else:
            planes = ()
        return Divided(fills, uses, end, planes, late and fills is not None)

    def _plane(self, cut: _Cut, leaf: Leaf) -> tuple[Expr, ...]:
        """The sizes of the dimensions of a plane of a buffer that has planes, whose product may be
        no default integer, and the bits of an element."""
        buffer = self.call.args[cut.buffer]
        found = planes_of(buffer, self._datatype(cut), leaf, self.facts)
        assert isinstance(buffer, Ref)
        assert not isinstance(found, str)
        array = Ref(buffer.name, buffer.spelled)
        return _listed(*(size(one, self.facts.scope) for one in found[1])), fn(_BITS, array)

    def _datatype(self, cut: _Cut) -> Expr | None:
        """The one that is known to be that of the elements; None: each rank has its own."""
        return None if cut.displs is not None and cut.planes else self.call.args[cut.datatype]

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

    def _blocks(self, cut: _Cut, leaf: Leaf) -> RankBlocks | str:
        """The blocks of a buffer, or why they are not known."""
        args = self.call.args
        if cut.planes:
            planes = planes_of(args[cut.buffer], self._datatype(cut), leaf, self.facts)
            if isinstance(planes, str):
                return planes
            if all(self._is_default(one) for one in planes[1]):
                return planes[0]
            return "the size of a plane is not a default integer"
        displs = None if cut.displs is None else args[cut.displs]
        return rank_blocks(
            args[cut.buffer], args[cut.count], args[cut.datatype], displs, leaf, self.facts
        )

    def _is_intrinsic(self, function: str) -> bool:
        symbol = self.facts.scope.lookup(function)
        return symbol is None or symbol.origin is Origin.INTRINSIC

    def _is_default(self, number: Poly) -> bool:
        """Whether a size is an integer of the default kind."""
        for atom in number.atoms:
            if isinstance(atom, Ref) and atom.name == "size" and self._is_intrinsic("size"):
                continue
            for name in names_in(atom):
                symbol = self.facts.scope.lookup(name)
                if symbol is None or symbol.origin is Origin.INTRINSIC:
                    continue
                if type_bytes(symbol.type, self.facts.scope) != 4:
                    return False
        return True

    def _loop(
        self,
        leaf: Leaf,
        accesses: tuple[Access, ...],
        cut: _Cut | None,
        direction: int,
        names: frozenset[str] = frozenset(),
        read: str | None = None,
    ) -> tuple[int, Worker] | Obstacle:
        """The nearest loop on one side of the call that works on the blocks of a buffer;
        ``names``: of other variables that stay as they are until then; ``read``: a buffer that may
        be read until then."""
        if cut is None:
            return Obstacle(BLOCKS, "its blocks are not divided", leaf)
        blocks = self._blocks(cut, leaf)
        if isinstance(blocks, str):
            return Obstacle(BLOCKS, blocks, leaf)
        names |= blocks.names
        others = tuple(a for a in accesses if a.storage != blocks.storage)
        here = self.position + direction
        while 0 <= here < len(self.siblings):
            node = self.siblings[here]
            uses = touching(node, blocks.storage, self.facts, writes=direction < 0)
            reason = self._why_not_beside(node, others if uses else accesses, names, read)
            if reason is not None:
                return Obstacle(BESIDE, reason, next(leaves(node)))
            if uses and cut is _SAME and direction > 0:
                changed = touching(node, blocks.storage, self.facts, writes=True)
                if changed:
                    message = f"{self.facts.at(changed[0].leaf)} changes what is sent on"
                    return Obstacle(BESIDE, message, changed[0].leaf)
            if uses:
                fixed = self._why_not_changed(uses)
                if fixed is not None:
                    return Obstacle(BESIDE, fixed, next(leaves(node)))
                worker = worker_in(node, blocks, uses, not self.rooted, self.facts)
                if direction < 0 and isinstance(worker, Obstacle) and worker.code is ORDER:
                    worker = worker_in(node, blocks, uses, False, self.facts)  # in its own order
                return worker if isinstance(worker, Obstacle) else (here, worker)
            here += direction
        return Obstacle(LOOP, "no loop fills or uses its blocks one by one", leaf)

    def _why_not_changed(self, uses: tuple[Access, ...]) -> str | None:
        """Why the outermost loop around accesses cannot get a call in its iterations: several
        threads would execute it, or its lines are not its own."""
        threads = self.order.place.threads.threads
        for loop in {id(a.loops[0]): a.loops[0] for a in uses if a.loops}.values():
            line = self.facts.at(loop.head)
            if any(one.loop is loop for one in threads.loops) or threads.around(loop) is not None:
                return f"several threads share the iterations of the loop of {line}"
            if any(leaf.frozen or leaf.is_hidden for leaf in (loop.head, loop.end) if leaf):
                return f"the text of {line} comes from a macro, an included file or OpenMP alone"
        return None

    def _why_not_beside(
        self,
        node: Node,
        accesses: Iterable[Access],
        names: Iterable[str] = (),
        read: str | None = None,
    ) -> str | None:
        """Why a statement or construct may not stand between the start and the end; ``read``: a
        buffer that it may read."""
        line = self.facts.at(next(leaves(node)))
        call = next((call for _, call in self.order.messages.calls(node)), None)
        if call is not None:
            return f"the {call.procedure.spelled} in {line}"
        stays = self.order.place.stays(node)
        if stays is not None:
            return stays
        named = self.order.place.threads.accesses(node)
        mine = (*self.facts.footprint(node).accesses, *named)
        for a in accesses:
            for b in mine:
                if read is not None and a.storage == b.storage == read and not b.writes:
                    continue
                if (a.writes or b.writes) and b.mode is not Mode.INQUIRE and a.meets(b):
                    does = "changes" if b.writes else "reads"
                    name = b.spelled
                    return f"{line} {does} {name}, which is in use until the operation ends"
        written = {b.storage for b in mine if b.writes}
        for name in sorted(names):
            if storage_of(name, self.facts.scope) in written:
                return f"{line} changes {name}"
        return None

    def _free_until(self, accesses: tuple[Access, ...]) -> int:
        """The position of the last work behind the call that may be done before the end."""
        end = self.position
        for here in range(self.position + 1, len(self.siblings)):
            node = self.siblings[here]
            if self._why_not_beside(node, accesses) is not None:
                break
            if any(takes_time(leaf, self.order.messages) for leaf in leaves(node)):
                end = here
        return end


def _listed(*values: Expr) -> Expr:
    """An array constructor."""
    return ArrayConstructor(values)
