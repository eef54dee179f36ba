"""One record a site: what every output format is made from."""

from __future__ import annotations

from dataclasses import dataclass

FINDING = "finding"
"""The verdict on an error in the use of MPI that is proved."""


@dataclass(frozen=True, slots=True)
class MarkReport:
    """A place in the source that a verdict rests on, and what it is to the exchange.

    Lines and columns count from 1, columns in bytes; the last character is included.  ``role``:
    exchange, producer, definition, use, offending or path.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class GainReport:
    """The seconds that one execution of a procedure takes less on a network, estimated."""

    network: str
    seconds: float


@dataclass(frozen=True, slots=True)
class StepReport:
    """One step by which a procedure was transformed.

    ``transformation``: as ``--passes`` names it.  ``does``: what was done, in a clause; its lines
    are those of the source as it was given.  ``because``: why it was allowed.
    ``gained``: what it gained; below zero where later steps need it.
    """

    transformation: str
    does: str
    because: tuple[str, ...]
    gained: tuple[GainReport, ...] = ()


@dataclass(frozen=True, slots=True)
class SiteReport:
    """What is known about one site.

    ``assumptions``: what the proof rests on, by name; ``accepted``: those of them that the user or
    a directive accepts.

    ``verdict``: applied, proved, assumed, refused or skipped; or a finding: an error of the program
    in its messages or requests, which is no exchange to be overlapped.  ``line`` counts from 1 and
    is that of the call.  ``steps``: all that was done to the procedure; ``overlaps``: the loops and
    calls that stand in the window of the transfer now, by their first lines; ``ended``: the rule
    that ended the steps, None where there are none.  ``tile`` and
    ``depth`` are iterations and tiles (None where nothing is tiled).
    """

    id: str
    file: str
    line: int
    operation: str
    unit: str
    verdict: str
    code: str | None = None
    message: str = ""
    witness: str | None = None
    passes: tuple[str, ...] = ()
    tile: int | None = None
    depth: int | None = None
    backend: str | None = None
    assumptions: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    marks: tuple[MarkReport, ...] = ()
    steps: tuple[StepReport, ...] = ()
    overlaps: tuple[str, ...] = ()
    ended: str | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """A file, or a part of one, that could not be used; ``line`` None: the whole file.

    A ``note`` kept nothing from being analysed: it says what the analysis did without.
    """

    file: str
    line: int | None
    message: str
    note: bool = False
