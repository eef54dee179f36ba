"""Condition 11: no other message of the program can match the emitted ones."""

from __future__ import annotations

from asphalt.analysis.conditions.open_coded import check_alone
from asphalt.analysis.exchange.site import Exchange, calls_in
from asphalt.analysis.exchange.tag_clashes import why_others
from asphalt.analysis.mpi.standard.row import MAKES_INTERCOMMUNICATOR
from asphalt.analysis.tiling.plan import TAG
from asphalt.analysis.verdicts.verdict import Code, Holds, Refused
from asphalt.ir.expr import Ref
from asphalt.ir.records import record

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
"""Bytes of source up to which asphalt reads a whole program to avoid the duplicate."""


@record
class Own:
    """``alone``: no other message of the program can match these, on any communicator."""

    alone: bool
    holds: Holds


def check(exchange: Exchange) -> Own | Refused:
    """Whether no other message can match these.

    They travel on a private duplicate of the communicator, which takes two collective operations to
    make, unless no other message of the program could match them on the communicator itself.  An
    intercommunicator that only the run can recognise is found by the run-time library before it
    decides (MPI_Comm_test_inter gives the same answer on all ranks).
    """
    comm = exchange.call.args["comm"]
    if isinstance(comm, Ref):
        for leaf, call, _, _ in calls_in(exchange.located, exchange.scope):
            if MAKES_INTERCOMMUNICATOR in call.procedure.facts and comm.name in {
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
