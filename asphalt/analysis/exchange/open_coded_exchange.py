"""Open-coded exchanges: loops of sends and receives, and the wait.

    do turn = 1, ranks - 1                                   call MPI_Alltoallv(s, counts, ...)
      p = modulo(me - turn, ranks)
      call MPI_Irecv(r(from(p)), n(p), ...)
    end do                                            -->    with counts(p) = m(p) etc., which the
    do turn = 1, ranks - 1                                   run computes where it enters, and asks
      p = modulo(me + turn, ranks)                           each partner about
      call MPI_Isend(s(to(p)), m(p), ...)
    end do
    call MPI_Waitall(...)

Such a group of statements does what MPI_ALLTOALLV does (MPI-4.0 section 6.8 defines it by these
messages) if each rank gets one message from every other one, all are complete at its end, and
nothing else of it is used.  The conditions analyse a unit in which one such call replaces the
group.  The emitted code keeps the statements, for runs that do not tile.
"""

from __future__ import annotations

from asphalt.analysis.exchange.per_rank import PerRank, Uneven
from asphalt.analysis.symbolic.polynomials import Poly
from asphalt.ir.expr import Expr, Ref
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.source import Span
from asphalt.ir.tree import Leaf, Node


@record
class NotAnExchange:
    """Why a group is not known to be an exchange.

    ``kind``: peers (not one message with each rank), ends (a message is not complete at the end of
    the group, or its variables are used later), between (a statement is not part of the exchange).
    """

    kind: str
    reason: str
    span: Span | None


@record
class BlockExtents:
    """The blocks, as expressions over ``PEER``; counts and displacements in elements.

    Without one of the guards, there is no message, and its count is not evaluated.  ``ranks``: the
    size of the communicator, ``own``: the number of the rank itself, both as the loops use them
    (``own`` None: they do not); the run checks them.  ``tag``: of the messages.
    """

    ranks: Expr
    own: Expr | None
    send_count: Expr
    send_guards: tuple[Expr, ...]
    send_displacement: Expr
    receive_count: Expr
    receive_guards: tuple[Expr, ...]
    receive_displacement: Expr
    tag: Expr

    @property
    def written(self) -> tuple[Expr, ...]:
        """All expressions."""
        own = () if self.own is None else (self.own,)
        return (
            self.ranks,
            *own,
            self.send_count,
            *self.send_guards,
            self.send_displacement,
            self.receive_count,
            *self.receive_guards,
            self.receive_displacement,
        )


@record
class OpenCoded:
    """An open-coded exchange: its statements, in the unit as it is in its file, and its blocks.

    ``located``: the unit; ``nodes``: the statements; ``anchor``: their first call.  Either
    ``blocks`` or ``fault`` is set.
    """

    located: Located
    nodes: tuple[Node, ...]
    anchor: Leaf
    operation: str
    blocks: BlockExtents | None = None
    fault: NotAnExchange | None = None
    tag: int | None = None

    @property
    def uneven(self) -> Uneven:
        """The counts and displacements, in arrays that the run fills."""
        names = ("send_counts", "send_displs", "receive_counts", "receive_displs")
        lists = [PerRank(Ref(f"asphalt_{n}", f"asphalt_{n}"), Poly()) for n in names]
        return Uneven(lists[0], lists[1], lists[2], lists[3])
