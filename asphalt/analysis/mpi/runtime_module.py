"""The procedures of asphalt's run-time modules that are MPI operations under another name.

asphalt analyses the code that it wrote like any other: these calls have the effects of the MPI
procedures.
"""

from __future__ import annotations

from collections.abc import Mapping

from asphalt.analysis.mpi.procedures import table
from asphalt.config.runtime import runtime_modules
from asphalt.ir.records import record

RUNTIME_MODULES = frozenset(runtime_modules())
"""The names of the modules.  Their sources say which names each offers (``config.runtime``)."""

QUEUE = "queue"
IN_PLACE = "asphalt_in_place"
"""The variable that stands for MPI_IN_PLACE."""


@record
class RuntimeCall:
    """``operation``: the MPI procedure (folded); ``dummies``: the names of its arguments in the
    order of the run-time procedure, '' for one that MPI does not have, QUEUE for a variable that
    holds messages in progress."""

    operation: str
    dummies: tuple[str, ...]


RUNTIME_SEGMENTS = frozenset(
    {"asphalt_receive_segments", "asphalt_send_segment", "asphalt_send_segments"}
)
"""The procedures that start several messages, whose tags are not told."""

RUNTIME_FUNCTIONS = frozenset({"asphalt_segment"})
"""The pure functions that tiled code calls."""

MOST_BUFFERS = 12
"""The buffers of one wait for several transfers."""

_SEND = ("buf", "count", "datatype", "dest", "tag", "comm", "request", "")
_REPLACE = (
    "buf", "count", "datatype", "dest", "sendtag", "source", "recvtag", "comm", "request",
)  # fmt: skip
_RECEIVE = ("buf", "count", "datatype", "source", "tag", "comm", "request", "")

_COLLECTIVES = {
    "asphalt_ibcast": "mpi_ibcast",
    "asphalt_ireduce": "mpi_ireduce",
    "asphalt_iallreduce": "mpi_iallreduce",
    "asphalt_igather": "mpi_igather",
    "asphalt_igatherv": "mpi_igatherv",
    "asphalt_iscatter": "mpi_iscatter",
    "asphalt_iscatterv": "mpi_iscatterv",
    "asphalt_iallgather": "mpi_iallgather",
    "asphalt_iallgatherv": "mpi_iallgatherv",
    "asphalt_ialltoall": "mpi_ialltoall",
    "asphalt_ialltoallv": "mpi_ialltoallv",
    "asphalt_ialltoallw": "mpi_ialltoallw",
    "asphalt_iscan": "mpi_iscan",
    "asphalt_iexscan": "mpi_iexscan",
    "asphalt_ireduce_scatter": "mpi_ireduce_scatter",
    "asphalt_ireduce_scatter_block": "mpi_ireduce_scatter_block",
}
"""The collective operations that the run-time modules can start."""


def _collective(operation: str) -> RuntimeCall:
    dummies = (p.name for p in table()[operation].parameters if p.kind != "ERROR_CODE")
    return RuntimeCall(operation, tuple(dummies))


RUNTIME_CALLS: Mapping[str, RuntimeCall] = {
    "asphalt_isend": RuntimeCall("mpi_isend", _SEND),
    "asphalt_issend": RuntimeCall("mpi_issend", _SEND),
    "asphalt_irecv": RuntimeCall("mpi_irecv", _RECEIVE),
    "asphalt_persistent_isend": RuntimeCall("mpi_isend", _SEND),
    "asphalt_persistent_irecv": RuntimeCall("mpi_irecv", _RECEIVE),
    "asphalt_isendrecv_replace": RuntimeCall("mpi_isendrecv_replace", _REPLACE),
    "asphalt_wait": RuntimeCall("mpi_wait", ("request", "", "status")),
    "asphalt_wait_f08": RuntimeCall("mpi_wait", ("request", "", "status")),
    "asphalt_wait_both": RuntimeCall("mpi_wait", ("request", "", "")),
    "asphalt_wait_all": RuntimeCall(
        "mpi_waitall", ("count", "array_of_requests", *("",) * MOST_BUFFERS)
    ),
    "asphalt_sync": RuntimeCall("mpi_f_sync_reg", ("buf",)),
    **{name: _collective(operation) for name, operation in _COLLECTIVES.items()},
    # a receive into a buffer of the queue, and what puts the first of them into the user's buffer:
    # as blocking as a receive, for the queue starts those later that it has no memory for yet
    "asphalt_post": RuntimeCall(
        "mpi_irecv", (QUEUE, "count", "datatype", "source", "tag", "comm", "")
    ),
    "asphalt_send": RuntimeCall(
        "mpi_send", ("buf", "count", "datatype", "dest", "tag", "comm", "")
    ),
    "asphalt_take": RuntimeCall("mpi_recv", (QUEUE, "buf", "status")),
    "asphalt_take_f08": RuntimeCall("mpi_recv", (QUEUE, "buf", "status")),
}
