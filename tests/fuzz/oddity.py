"""One thing that may make prepushing illegal, as statements around an exchange."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Lines = tuple[str, ...]


@dataclass(frozen=True)
class Oddity:
    """Statements for places around an exchange, as templates (``Names.known``).

    ``wants``: choices that the exchange must have.  ``homes``: where it may stand; empty: anywhere.
    ``unchecked``: a subscript leaves its dimension, so that no build may check bounds.
    ``real``: SMPI does not have it, so that it is not drawn at random.
    ``other``: the nest and the call are repeated there, behind ``other`` in the text.
    """

    stays: bool
    wants: Mapping[str, object] = field(default_factory=dict)
    homes: Lines = ()
    declare: Lines = ()
    open: Lines = ()
    ahead: Lines = ()
    nest: tuple[Lines, Lines] = ((), ())
    each: Lines = ()
    inside: Lines = ()
    end: Lines = ()
    between: Lines = ()
    around_call: tuple[Lines, Lines] = ((), ())
    call: Lines = ()
    behind: Lines = ()
    close: Lines = ()
    other: Lines = ()
    units: Lines = ()
    contained: Lines = ()
    subscript: str = ""
    bounds: str = ""
    unchecked: bool = False
    gaps: bool = False
    twice: bool = False
    known: bool = False
    real: bool = False


BLOCK = {"shape": "block", "uneven": ""}
PLAIN_LOOPS = {"inner": "loops", "condition": "", "late": 0}


def call_with(send: str, comm: str = "MPI_COMM_WORLD", buffer: str = "{s}") -> Lines:
    """The call with other counts and types, or another communicator."""
    return (f"call MPI_Alltoall({buffer}, {send}, {{r}}, {send}, {comm}, ierr)",)
