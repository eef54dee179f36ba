"""Condition 11: the messages travel on a communicator of their own."""

from __future__ import annotations

from asphalt.analysis.conditions.open_coded import check_alone
from asphalt.analysis.exchange import Exchange, calls_in
from asphalt.analysis.verdict import Answer, Code, Holds, Refused
from asphalt.ir.expr import Ref

INTER = Code(
    "ASP1101",
    "the communicator connects two groups",
    "On an intercommunicator MPI_ALLTOALL exchanges with the other group; a private duplicate with "
    "the same numbering of ranks cannot be made.",
    "Nothing can be done now.",
    11,
)

CODES = (INTER,)
_MAKERS = ("mpi_intercomm_create", "mpi_comm_get_parent", "mpi_comm_spawn", "mpi_comm_accept")


def check(exchange: Exchange) -> Answer:
    """Whether the communicator is not known to be an intercommunicator.

    What the source does not tell, the run-time library finds out before anything is decided
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
        return check_alone(exchange)
    return Holds("the messages travel on a private duplicate of the communicator")
