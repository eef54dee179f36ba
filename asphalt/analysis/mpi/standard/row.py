"""The columns of the table of MPI procedures.

A procedure whose row lacks a fact is taken not to have it.  The facts are chosen so that this is
the conservative answer.
"""

from __future__ import annotations

from enum import Enum
from typing import NewType

from asphalt.ir.records import record


class Timing(Enum):
    """When the operation of a call is complete (MPI-4.0 section 2.4)."""

    BLOCKING = "blocking"  # on return
    NONBLOCKING = "nonblocking"  # after a later call
    PERSISTENT = "persistent"  # the call only prepares an operation
    STARTING = "starting"  # the call starts a prepared operation
    COMPLETING = "completing"  # the call may complete operations started before


BLOCKING, NONBLOCKING, PERSISTENT, STARTING, COMPLETING = Timing


class Until(Enum):
    """How long the library may access a buffer (MPI-4.0 sections 2.4, 3.7, 12.3, 14.4)."""

    RETURN = "the call returns"
    COMPLETION = "its request is completed"
    FREE = "its persistent request is freed"
    EPOCH = "the access to the window is completed"
    END = "the split operation is ended"
    DETACH = "it is taken back"


class Quantity(Enum):
    """How many of the operations that a call is given it completes."""

    ALL = "all"
    ANY = "one of them"
    SOME = "some of them"


Fact = NewType("Fact", str)
"""Something that is true of a procedure; the constants below are all there are."""

# Who takes part, and what the results depend on.
COLLECTIVE = Fact("all processes of the group of the communicator, window or file call it (2.4)")
LOCAL = Fact("it returns without any other process having to do anything (2.4)")
CONNECTS = Fact("processes of another program may take part (7.4, 7.6, 11.8-11.10)")
MAKES_INTERCOMMUNICATOR = Fact(
    "the new communicator has a local and a remote group (7.6, 11.8-11.10)"
)
RANK_DEPENDENT = Fact("it gives different values to different ranks")
FUNCTIONAL = Fact("its results follow from its arguments alone")
BROADCASTS = Fact("all ranks get what one rank has: their own values before the call do not matter")

# Messages: the envelope is the rank, tag and communicator that the call names.
SENDS = Fact("a message leaves, with the first tag")
RECEIVES = Fact("a message is taken out of the incoming ones, with the last tag")
PROBES = Fact("it looks at a message and does not take it (3.8.1)")
READY_MODE = Fact("it is only right if the receive has been posted before (3.4)")
SYNCHRONOUS_MODE = Fact("it is complete only when its receive has begun (3.4)")
STARTS_PREPARED = Fact("prepared operations start; which, the request alone knows (3.9)")
COUNTS_BLOCK = Fact(
    "the count is that of one rank's block, of which a buffer has one for each rank"
)
WAITS = Fact("on return the operations are complete; otherwise a flag says whether they are")

# State of the library.
ACCESSES_WINDOW = Fact("it accesses the window, or opens or closes an epoch of it")
ENDS_ACCESS = Fact("accesses of the calling process to the window are complete on return (12.5)")
CHANGES_OBJECT = Fact("it changes the object of a handle that is an argument for reading only")
FREES_COMMUNICATOR = Fact("the communicator ends (7.4.3, 11.10.4)")
USES_ENVIRONMENT = Fact("it changes, or depends on, state of the process that no handle names")
ADDRESS_ONLY = Fact("it takes the address or the size of a buffer; it accesses no element")
QUERIES = Fact("its results follow from its arguments and from constants of the library")

# The life of the program.
INITIALIZES = Fact("every MPI program calls it: whoever defines it implements MPI (11.2.1)")
FINALIZES = Fact("all operations are complete before (11.2.2)")
ABORTS = Fact("the program ends: no operation that was started has to be completed (11.4.2)")


@record
class DataMovement:
    """An operation that moves buffers between processes: the names of its dummy arguments.

    ``family``: ``alltoall`` (equal blocks), ``alltoallv``, ``alltoallw``, ``send``, ``recv``,
    ``sendrecv``; other collectives are in no family yet.  None: it has no such argument.
    """

    family: str
    send: str | None = None
    send_count: str | None = None
    send_type: str | None = None
    receive: str | None = None
    receive_count: str | None = None
    receive_type: str | None = None
    destination: str | None = None
    source: str | None = None
    send_displacements: str | None = None
    receive_displacements: str | None = None


@record
class Row:
    """The facts of one procedure in the standard.

    ``name``: as in the standard.  ``section``: of MPI-4.0, unless it names another version.
    ``completes``: how many of the operations of its requests.
    ``until``: how long the library may access its buffers; None: it follows from ``timing``.
    ``moves``: the buffers that it moves between processes.
    ``written_later``: an argument that apis.json calls ``in`` but through which the library may
    write later (a buffer given for good, or prepared to receive into).
    ``same_on_all``: arguments that get the same value on all ranks of the communicator.
    ``same_group``: the arguments (old, new) of two communicators of the same group;
    ``part_of_group``: the new one has ranks of the old one, perhaps not all.
    ``mpi_1_arguments``: (name, kind, direction) of a procedure that MPI-3.0 removed.
    """

    name: str
    section: str
    timing: Timing
    facts: frozenset[Fact]
    completes: Quantity | None = None
    until: Until | None = None
    moves: DataMovement | None = None
    written_later: str | None = None
    same_on_all: tuple[str, ...] = ()
    same_group: tuple[str, str] | None = None
    part_of_group: tuple[str, str] | None = None
    mpi_1_arguments: tuple[tuple[str, str, str], ...] = ()


def row(
    name: str,
    section: str,
    timing: Timing,
    *facts: Fact,
    completes: Quantity | None = None,
    until: Until | None = None,
    moves: DataMovement | None = None,
    written_later: str | None = None,
    same_on_all: tuple[str, ...] = (),
    same_group: tuple[str, str] | None = None,
    part_of_group: tuple[str, str] | None = None,
    mpi_1_arguments: tuple[tuple[str, str, str], ...] = (),
) -> Row:
    """A row of the table; see ``Row``."""
    return Row(
        name,
        section,
        timing,
        frozenset(facts),
        completes,
        until,
        moves,
        written_later,
        same_on_all,
        same_group,
        part_of_group,
        mpi_1_arguments,
    )
