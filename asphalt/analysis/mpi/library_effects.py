"""What MPI procedures do inside of the library: effects that no argument shows.

Danalis et al., ICS 2009, table 2, sees the library as arrays: ``inMsg`` and ``outMsg`` hold the
messages by peer, tag and communicator, ``whichbuf`` the buffers by request.  Two calls may change
places only if they are independent in these arrays, too.  The paper has five rows; here is one for
every procedure of the standard, with the arrays that the others need.  Where the paper lets a send
that is in progress define its buffer, it is only read (MPI-2.2 and later, section 3.7.2; the paper
relaxes it in the same way).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache

from asphalt.analysis.mpi import library_effect_rows as rows
from asphalt.analysis.mpi.procedures import MpiProcedure, Parameter, Timing
from asphalt.analysis.mpi.standard_facts import FactRow
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


@dataclass(frozen=True, slots=True)
class LibraryAccess:
    """An access to an element of a store.

    ``subscripts`` are names of arguments of the call; None: any.  An access that ``writes`` and
    does not read puts something new there.
    """

    store: Store
    subscripts: tuple[str | None, ...]
    reads: bool
    writes: bool


class Until(Enum):
    """How long the library may access a buffer (MPI-4.0 sections 2.4, 3.7, 12.3, 14.4)."""

    RETURN = "the call returns"
    COMPLETION = "its request is completed"
    FREE = "its persistent request is freed"
    EPOCH = "the access to the window is completed"
    END = "the split operation is ended"
    DETACH = "it is taken back"


@dataclass(frozen=True, slots=True)
class BufferEffect:
    """What the library does with the elements of a buffer argument, and until when."""

    argument: str
    reads: bool
    writes: bool
    until: Until


class Quantity(Enum):
    """How many of the operations that a call is given it completes."""

    ALL = "all"
    ANY = "one of them"
    SOME = "some of them"


@dataclass(frozen=True, slots=True)
class Completion:
    """The operations that a call completes (MPI-4.0 sections 3.7.3-3.7.5).

    ``argument``: of its requests.  ``certain``: on return they are complete; otherwise a flag says
    whether they are.
    """

    argument: str
    quantity: Quantity
    certain: bool


@dataclass(frozen=True, slots=True)
class LibraryRow:
    """One row of the table.

    ``accesses``: what the call does to the stores.  ``prepared``: what the operation that it
    prepares will do whenever it is started.  ``transfers``: its buffers.  ``ends_access``: the
    accesses to its window are complete on return.  ``quiet``: it is local, and all that it does in
    the library is to ask about objects: it may change places with any call that leaves its
    arguments alone.
    """

    accesses: tuple[LibraryAccess, ...]
    prepared: tuple[LibraryAccess, ...]
    transfers: tuple[BufferEffect, ...]
    completion: Completion | None
    ends_access: bool

    quiet: bool


_COMPLETIONS = {
    "wait": Quantity.ALL,
    "waitall": Quantity.ALL,
    "waitany": Quantity.ANY,
    "waitsome": Quantity.SOME,
    "test": Quantity.ALL,
    "testall": Quantity.ALL,
    "testany": Quantity.ANY,
    "testsome": Quantity.SOME,
}
HANDLES = words("COMMUNICATOR GROUP DATATYPE INFO WINDOW FILE ERRHANDLER OPERATION SESSION KEYVAL")
_BY_KIND = {
    "REQUEST": Store.REQUEST,
    "MESSAGE": Store.MATCHED,
    "FILE": Store.FILE,
    "WINDOW": Store.WINDOW,
}


@cache
def library_row(procedure: MpiProcedure) -> LibraryRow:
    """The row of a procedure: derived from its arguments and the rows of ``mpi_library_rows``."""
    short = procedure.name.removeprefix("mpi_")
    messages = tuple(_messages(procedure, short))
    prepares = procedure.timing is Timing.PERSISTENT
    collective = tuple(_collective(procedure))
    now = () if prepares else messages
    accesses = (*now, *collective, *_by_handle(procedure, short), *_environment(short))
    transfers = tuple(_transfers(procedure, short))
    asks = all(a.store is Store.OBJECT and not a.writes for a in accesses)
    returns = all(t.until is Until.RETURN for t in transfers)
    return LibraryRow(
        accesses,
        (*messages, *collective) if prepares else (),
        transfers,
        _completion(procedure, short),
        _in(rows.ENDING_ACCESS, short),
        quiet=procedure.local and procedure.timing is Timing.BLOCKING and asks and returns,
    )


def needs_the_receive(procedure: MpiProcedure) -> bool:
    """Whether a send is only right if its receive has been posted before (ready mode)."""
    return _in(rows.READY, procedure.name.removeprefix("mpi_"))


def tells_of_the_receive(procedure: MpiProcedure) -> bool:
    """Whether a send is complete only when its receive has begun (synchronous mode)."""
    return _in(rows.SYNCHRONOUS, procedure.name.removeprefix("mpi_"))


def receives(procedure: MpiProcedure) -> bool:
    """Whether a procedure starts a receive."""
    return any(access.store is Store.INCOMING for access in library_row(procedure).accesses)


def probes(procedure: MpiProcedure) -> bool:
    """Whether a call looks at messages that it does not receive."""
    return _in(rows.PROBING, procedure.name.removeprefix("mpi_"))


def _in(table: tuple[FactRow, ...], short: str) -> bool:
    return any(short in row.names for row in table)


def _of_kind(procedure: MpiProcedure, *kinds: str) -> list[Parameter]:
    return [p for p in procedure.parameters if p.kind in kinds]


def _messages(procedure: MpiProcedure, short: str) -> Iterator[LibraryAccess]:
    if _in(rows.RUNNING_PREPARED, short):
        # which operation it is, the request knows
        yield LibraryAccess(Store.OUTGOING, (None, None, None), reads=False, writes=True)
        yield LibraryAccess(Store.INCOMING, (None, None, None), reads=True, writes=True)
        yield LibraryAccess(Store.COLLECTIVE, (None,), reads=True, writes=True)
    named = {p.name for p in procedure.parameters}
    tags = [p.name for p in _of_kind(procedure, "TAG")]
    communicators = [p.name for p in _of_kind(procedure, "COMMUNICATOR")]
    comm = communicators[0] if communicators else None
    if _in(rows.SENDING, short):
        where = ("dest", tags[0], comm)
        yield LibraryAccess(Store.OUTGOING, where, reads=False, writes=True)
    if _in((*rows.RECEIVING, *rows.PROBING), short):
        assert "source" in named
        taken = not _in(rows.PROBING, short)
        yield LibraryAccess(Store.INCOMING, ("source", tags[-1], comm), reads=True, writes=taken)


def _collective(procedure: MpiProcedure) -> Iterator[LibraryAccess]:
    """All processes of a communicator enter its collective operations in one order (6.14)."""
    if not procedure.collective:
        return
    used: list[str | None] = [p.name for p in _of_kind(procedure, "COMMUNICATOR") if p.used]
    for name in used or [None]:
        yield LibraryAccess(Store.COLLECTIVE, (name,), reads=True, writes=True)


def _by_handle(procedure: MpiProcedure, short: str) -> Iterator[LibraryAccess]:
    changing = _in(rows.CHANGING_OBJECT, short)
    for p in procedure.parameters:
        store = _BY_KIND.get(p.kind)
        if store is Store.WINDOW and not _in(rows.WINDOW, short):
            store = None
        if store is not None:
            # operations on one request, message, file or window are in order, whatever they do
            yield LibraryAccess(store, (p.name,), reads=p.used, writes=True)
        elif p.kind in HANDLES:
            yield LibraryAccess(
                Store.OBJECT, (p.name,), reads=p.used, writes=p.defined or (changing and p.used)
            )


def _environment(short: str) -> Iterator[LibraryAccess]:
    if _in(rows.ENVIRONMENT, short):
        yield LibraryAccess(Store.ENVIRONMENT, (), reads=True, writes=True)


def _transfers(procedure: MpiProcedure, short: str) -> Iterator[BufferEffect]:
    if _in(rows.ADDRESS_ONLY, short):
        return
    until = _until(procedure, short)
    for p in _of_kind(procedure, "BUFFER"):
        yield BufferEffect(p.name, p.used, p.defined, until)


def _until(procedure: MpiProcedure, short: str) -> Until:
    match procedure.timing:
        case Timing.PERSISTENT:
            return Until.FREE
        case Timing.NONBLOCKING if any(p.kind == "REQUEST" for p in procedure.parameters):
            return Until.COMPLETION
        case Timing.NONBLOCKING if short.endswith("_begin"):
            return Until.END
        case Timing.NONBLOCKING if _in(rows.WINDOW, short) and short != "win_attach":
            return Until.EPOCH
        case Timing.NONBLOCKING:
            return Until.DETACH
    return Until.RETURN


def _completion(procedure: MpiProcedure, short: str) -> Completion | None:
    quantity = _COMPLETIONS.get(short)
    if quantity is None:
        return None
    (requests,) = _of_kind(procedure, "REQUEST")
    return Completion(requests.name, quantity, certain=short.startswith("wait"))
