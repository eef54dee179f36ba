"""The role of a call of MPI for the clock, and what the program sends or receives there."""

from __future__ import annotations

from asphalt.analysis.messages.messages import Stage, Way
from asphalt.ir.records import record


@record
class Letter:
    """A message as either end knows it.  ``tag``: what its send and its receive have in common."""

    way: Way
    tag: str


@record
class PricedTransfer:
    """The role of a call.

    ``leaf``: the identity of its statement; ``size``: bytes of a message; ``queue``: where its
    messages wait; ``copied``: the runtime copies what is sent; ``one_buffer``: a message
    leaves from the buffer that another one arrives in.  For a completion, ``starts``: the
    identities of the statements whose operations it completes, None: not known; and ``several``:
    whether it is for more than one request.  ``request``: the variable that holds them, None where
    its name says nothing.
    """

    leaf: int
    part: Stage
    size: float
    letters: tuple[Letter, ...]
    queue: str | None
    copied: bool
    one_buffer: bool
    request: str | None
    several: bool
    starts: tuple[int, ...] | None

    def going(self, way: Way) -> tuple[Letter, ...]:
        """The messages in one direction."""
        return tuple(letter for letter in self.letters if letter.way is way)
