"""Condition 11: nothing else of the program can be taken for the messages."""

from __future__ import annotations

from dataclasses import dataclass

from asphalt.analysis.conditions.open_coded import check_alone
from asphalt.analysis.exchange.site import Exchange, calls_in
from asphalt.analysis.exchange.tag_clashes import why_others
from asphalt.analysis.tiling.plan import TAG
from asphalt.analysis.verdicts.verdict import Code, Holds, Refused
from asphalt.ir.expr import Ref

INTER = Code(
    "ASP1101",
    "the communicator is an intercommunicator",
    "MPI_ALLTOALL on an intercommunicator exchanges with the other group, and asphalt cannot make "
    "a private duplicate with the same numbering of ranks.",
    "There is no remedy yet.",
    11,
)

CODES = (INTER,)
LOOKED_THROUGH = 2_000_000
"""Bytes of source up to which all of a program is read to leave out the duplicate."""
_MAKERS = ("mpi_intercomm_create", "mpi_comm_get_parent", "mpi_comm_spawn", "mpi_comm_accept")


@dataclass(frozen=True, slots=True)
class Own:
    """``alone``: nothing else of the program can meet the messages, wherever they travel."""

    alone: bool
    holds: Holds


def check(exchange: Exchange) -> Own | Refused:
    """Whether nothing else can be taken for the messages.

    They travel on a private duplicate of the communicator, unless none other of the program could
    meet them on it: a duplicate takes two collective operations to make.  What is known of an
    intercommunicator only by running, the run-time library finds out before anything is decided
    (MPI_Comm_test_inter gives the same answer on all ranks).
    """
    comm = exchange.call.args["comm"]
    if isinstance(comm, Ref):
        for leaf, call, _, _ in calls_in(exchange.located, exchange.scope):
            if call.operation in _MAKERS and comm.name in {
                a.name for a in call.defined(exchange.scope) if isinstance(a, Ref)
            }:
                message = f"{comm.spelled} is an intercommunicator"
                return Refused(INTER, message, leaf.span or exchange.span)
    if exchange.open_coded is not None:
        answer = check_alone(exchange)
        return answer if isinstance(answer, Refused) else Own(True, answer)
    small = exchange.effects.scopes.program.extent() <= LOOKED_THROUGH
    if small and why_others(exchange, TAG) is None:
        return Own(True, Holds(f"no other message of the program can have the tag {TAG}"))
    return Own(False, Holds("the messages travel on a private duplicate of the communicator"))
