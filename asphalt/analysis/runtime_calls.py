"""The procedures of asphalt's own run-time module that are MPI operations under another name.

Code that asphalt wrote is read like any other: what these calls do is what the MPI procedures do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MODULE = "asphalt_rt"


@dataclass(frozen=True, slots=True)
class RuntimeCall:
    """``operation``: the MPI procedure (folded); ``dummies``: the names of its arguments in the
    order of the run-time procedure, '' for one that MPI does not have."""

    operation: str
    dummies: tuple[str, ...]


_SEND = ("buf", "count", "datatype", "dest", "tag", "comm", "request", "")
_RECEIVE = ("buf", "count", "datatype", "source", "tag", "comm", "request", "")

RUNTIME_CALLS: Mapping[str, RuntimeCall] = {
    "asphalt_isend": RuntimeCall("mpi_isend", _SEND),
    "asphalt_issend": RuntimeCall("mpi_issend", _SEND),
    "asphalt_irecv": RuntimeCall("mpi_irecv", _RECEIVE),
    "asphalt_wait": RuntimeCall("mpi_wait", ("request", "", "status")),
}
