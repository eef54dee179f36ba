"""The records of sites, steps and problems, from which every output format is made."""

from __future__ import annotations

from asphalt.analysis.verdicts.verdict import Cause
from asphalt.ir.records import record

FINDING = "finding"
"""The verdict on an error in the use of MPI that is proved."""
_STORE = "store before "


def store_before(operation: str) -> str:
    """The operation in a report on what is stored before a receive, e.g. ``store
    before MPI_Recv``."""
    return f"{_STORE}{operation}"


@record
class MarkReport:
    """A place in the source that a verdict rests on, and its role for the exchange.

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


@record
class GainReport:
    """The estimated time in seconds that one execution of a procedure saves on a network."""

    network: str
    seconds: float


@record
class PriceReport:
    """The estimated time in seconds of one execution of a procedure on a network, before a step and
    with it."""

    network: str
    before: float
    tried: float


@record
class StepReport:
    """A step by which a procedure was transformed.

    ``transformation``: as ``--passes`` names it.  ``does``: what was done, in a clause; its lines
    are those of the source as it was given.  ``because``: why it was allowed.
    ``gained``: what it gained; below zero where later steps need it.  ``file`` and ``line``: of the
    statement that it is about.
    """

    transformation: str
    does: str
    because: tuple[str, ...]
    file: str
    line: int
    gained: tuple[GainReport, ...] = ()


@record
class DroppedReport:
    """A step, or several that belong together, that was tried for a procedure and dropped.

    ``transformation``: by name, or several.  ``does``, ``file`` and ``line`` as those of a step.
    ``why`` it was dropped.  ``prices``: the prices of the cost model; (): it was not
    asked, or it only compared two texts that have other prices in the end.
    """

    transformation: str
    does: str
    file: str
    line: int
    why: str
    prices: tuple[PriceReport, ...] = ()


@record
class ProcedureReport:
    """The search for one procedure with transfers: the steps that were kept, those that were
    dropped, and the rule that ended it.

    ``changed``: whether the procedure was transformed.  ``first`` and ``last``: its lines in the
    source as it was given.
    """

    file: str
    unit: str
    changed: bool
    steps: tuple[StepReport, ...]
    dropped: tuple[DroppedReport, ...]
    ended: str
    first: int
    last: int


@record
class SiteReport:
    """The report on one site.

    ``cause``: what of its refusal lies elsewhere in the program, and may refuse other sites alike.

    ``assumptions``: those that the proof rests on, by name; ``accepted``: those of them that the
    user or a directive accepts.

    ``verdict``: applied, proved, assumed, refused or skipped; or finding: an error of the program
    in its messages or requests.  ``line`` counts from 1 and is that of the call, or of the storing
    statement (``is_store``).  ``steps``: the steps for the procedure; ``dropped``: those that were
    tried and dropped; ``overlaps``: the loops, calls and array statements now in the window of the
    transfer, by their first lines; ``ended``: the rule that ended the search (None: no search).
    ``tile`` and ``depth``: iterations and tiles (None if nothing is tiled).
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
    dropped: tuple[DroppedReport, ...] = ()
    overlaps: tuple[str, ...] = ()
    ended: str | None = None
    cause: Cause | None = None

    @property
    def is_store(self) -> bool:
        """Whether it is about what is stored before a receive."""
        return self.operation.startswith(_STORE)


@record
class ProblemReport:
    """A file, or a part of one, that could not be used; ``line`` None: the whole file.

    A ``note`` prevented no analysis: it names what the analysis did without, or a procedure that is
    not transformed because nothing calls it any more.
    """

    file: str
    line: int | None
    message: str
    note: bool = False
