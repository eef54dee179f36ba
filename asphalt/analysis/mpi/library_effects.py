"""What MPI procedures do inside of the library: effects that no argument shows.

Danalis et al., ICS 2009, table 2, models the library as arrays: ``inMsg`` and ``outMsg`` hold the
messages by peer, tag and communicator, ``whichbuf`` the buffers by request.  Two calls may change
places only if they are independent in these arrays, too.  The paper has five rows; this module has
one for every procedure of the standard, with the arrays that the others need.  The paper lets a
send in progress define its buffer; here the send only reads it (MPI-2.2 and later, section 3.7.2;
the paper relaxes it in the same way).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import cache

from asphalt.analysis.mpi.procedures import MpiProcedure, Parameter, Timing
from asphalt.analysis.mpi.standard.row import (
    ACCESSES_WINDOW,
    ADDRESS_ONLY,
    CHANGES_OBJECT,
    CONNECTS,
    ENDS_ACCESS,
    PROBES,
    READY_MODE,
    RECEIVES,
    SENDS,
    STARTS_PREPARED,
    SYNCHRONOUS_MODE,
    USES_ENVIRONMENT,
    WAITS,
)
from asphalt.analysis.mpi.standard.row import Quantity as Quantity
from asphalt.analysis.mpi.standard.row import Until as Until
from asphalt.ir.records import record
from asphalt.support.word_sets import words


class Store(Enum):
    """An array of the library; the comment says what its subscripts are."""

    INCOMING = "messages that come in"  # source, tag, communicator (the paper's inMsg)
    OUTGOING = "messages that go out"  # destination, tag, communicator (the paper's outMsg)
    REQUEST = "operations in progress"  # request (the paper's whichbuf)
    MATCHED = "messages that a probe has taken"  # message
    COLLECTIVE = "the order of collective operations"  # communicator
    WINDOW = "windows"  # window
    FILE = "files"  # file
    OBJECT = "objects behind handles"  # handle
    ENVIRONMENT = "the state of the library"  # none


@record
class LibraryAccess:
    """An access to an element of a store.

    ``subscripts`` are names of arguments of the call; None: any.  An access that ``writes`` and
    does not read puts something new there.
    """

    store: Store
    subscripts: tuple[str | None, ...]
    reads: bool
    writes: bool


@record
class BufferEffect:
    """The library's accesses to the elements of a buffer argument, and their end."""

    argument: str
    reads: bool
    writes: bool
    until: Until


@record
class Completion:
    """The operations that a call completes (MPI-4.0 sections 3.7.3-3.7.5).

    ``argument``: of its requests.  ``certain``: on return they are complete; otherwise a flag says
    whether they are.
    """

    argument: str
    quantity: Quantity
    certain: bool


@record
class LibraryRow:
    """The effects of one procedure within the library.

    ``accesses``: what the call does to the stores.  ``prepared``: what the operation that the call
    prepares does whenever it is started.  ``transfers``: its buffers.  ``ends_access``: the
    accesses to its window are complete on return.  ``quiet``: the call is local, blocking, and only
    reads objects: it may change places with any call that does not define its arguments.
    """

    accesses: tuple[LibraryAccess, ...]
    prepared: tuple[LibraryAccess, ...]
    transfers: tuple[BufferEffect, ...]
    completion: Completion | None
    ends_access: bool
    quiet: bool


HANDLES = words("COMMUNICATOR GROUP DATATYPE INFO WINDOW FILE ERRHANDLER OPERATION SESSION KEYVAL")
_BY_KIND = {
    "REQUEST": Store.REQUEST,
    "MESSAGE": Store.MATCHED,
    "FILE": Store.FILE,
    "WINDOW": Store.WINDOW,
}


_UNTIL = {Timing.PERSISTENT: Until.FREE, Timing.NONBLOCKING: Until.COMPLETION}


@cache
def library_row(procedure: MpiProcedure) -> LibraryRow:
    """The effects of a procedure: derived from its arguments and its row in ``mpi.standard``."""
    messages = tuple(_messages(procedure))
    prepares = procedure.timing is Timing.PERSISTENT
    collective = tuple(_collective(procedure))
    now = () if prepares else messages
    accesses = (*now, *collective, *_by_handle(procedure), *_environment(procedure))
    transfers = tuple(_transfers(procedure))
    asks = all(a.store is Store.OBJECT and not a.writes for a in accesses)
    returns = all(t.until is Until.RETURN for t in transfers)
    return LibraryRow(
        accesses,
        (*messages, *collective) if prepares else (),
        transfers,
        _completion(procedure),
        ENDS_ACCESS in procedure.facts,
        quiet=procedure.local and procedure.timing is Timing.BLOCKING and asks and returns,
    )


def accesses_window(procedure: MpiProcedure) -> bool:
    """Whether a procedure accesses a window, or opens or closes an epoch of it."""
    return ACCESSES_WINDOW in procedure.facts


def is_barrier(procedure: MpiProcedure) -> bool:
    """Whether a procedure does nothing but wait until all processes call it (6.3)."""
    row = library_row(procedure)
    alone = procedure.timing is Timing.BLOCKING and not row.transfers
    stores = {access.store for access in row.accesses}
    changed = any(access.writes for access in row.accesses if access.store is Store.OBJECT)
    return alone and not changed and Store.COLLECTIVE in stores <= {Store.COLLECTIVE, Store.OBJECT}


def is_ready_mode(procedure: MpiProcedure) -> bool:
    """Whether a send is only right if its receive has been posted before (ready mode)."""
    return READY_MODE in procedure.facts


def is_synchronous_mode(procedure: MpiProcedure) -> bool:
    """Whether a send is complete only when its receive has begun (synchronous mode)."""
    return SYNCHRONOUS_MODE in procedure.facts


def receives(procedure: MpiProcedure) -> bool:
    """Whether a procedure starts a receive."""
    return any(access.store is Store.INCOMING for access in library_row(procedure).accesses)


def probes(procedure: MpiProcedure) -> bool:
    """Whether a call looks at messages that it does not receive."""
    return PROBES in procedure.facts


def connects(procedure: MpiProcedure) -> bool:
    """Whether a call makes a communicator with processes of another program, which it may start
    (11.8 to 11.10)."""
    return CONNECTS in procedure.facts


def _of_kind(procedure: MpiProcedure, *kinds: str) -> list[Parameter]:
    return [p for p in procedure.parameters if p.kind in kinds]


def _messages(procedure: MpiProcedure) -> Iterator[LibraryAccess]:
    if STARTS_PREPARED in procedure.facts:
        # which operation it is, the request knows
        yield LibraryAccess(Store.OUTGOING, (None, None, None), reads=False, writes=True)
        yield LibraryAccess(Store.INCOMING, (None, None, None), reads=True, writes=True)
        yield LibraryAccess(Store.COLLECTIVE, (None,), reads=True, writes=True)
    named = {p.name for p in procedure.parameters}
    tags = [p.name for p in _of_kind(procedure, "TAG")]
    communicators = [p.name for p in _of_kind(procedure, "COMMUNICATOR")]
    comm = communicators[0] if communicators else None
    if SENDS in procedure.facts:
        where = ("dest", tags[0], comm)
        yield LibraryAccess(Store.OUTGOING, where, reads=False, writes=True)
    if procedure.facts & {RECEIVES, PROBES}:
        assert "source" in named
        taken = not probes(procedure)
        yield LibraryAccess(Store.INCOMING, ("source", tags[-1], comm), reads=True, writes=taken)


def _collective(procedure: MpiProcedure) -> Iterator[LibraryAccess]:
    """All processes of a communicator enter its collective operations in one order (6.14)."""
    if not procedure.collective:
        return
    used: list[str | None] = [p.name for p in _of_kind(procedure, "COMMUNICATOR") if p.used]
    for name in used or [None]:
        yield LibraryAccess(Store.COLLECTIVE, (name,), reads=True, writes=True)


def _by_handle(procedure: MpiProcedure) -> Iterator[LibraryAccess]:
    changing = CHANGES_OBJECT in procedure.facts
    for p in procedure.parameters:
        store = _BY_KIND.get(p.kind)
        if store is Store.WINDOW and ACCESSES_WINDOW not in procedure.facts:
            store = None
        if store is not None:
            # operations on one request, message, file or window are in order, whatever they do
            yield LibraryAccess(store, (p.name,), reads=p.used, writes=True)
        elif p.kind in HANDLES:
            yield LibraryAccess(
                Store.OBJECT, (p.name,), reads=p.used, writes=p.defined or (changing and p.used)
            )


def _environment(procedure: MpiProcedure) -> Iterator[LibraryAccess]:
    if USES_ENVIRONMENT in procedure.facts:
        yield LibraryAccess(Store.ENVIRONMENT, (), reads=True, writes=True)


def _transfers(procedure: MpiProcedure) -> Iterator[BufferEffect]:
    if ADDRESS_ONLY in procedure.facts:
        return
    until = procedure.row.until or _UNTIL.get(procedure.timing, Until.RETURN)
    for p in _of_kind(procedure, "BUFFER"):
        yield BufferEffect(p.name, p.used, p.defined, until)


def _completion(procedure: MpiProcedure) -> Completion | None:
    if procedure.row.completes is None:
        return None
    (requests,) = _of_kind(procedure, "REQUEST")
    return Completion(requests.name, procedure.row.completes, certain=WAITS in procedure.facts)
