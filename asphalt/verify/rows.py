"""The results of comparisons."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum

from asphalt.ir.records import record
from asphalt.verify.compare import Difference
from asphalt.verify.stacks import Stack


class ResultKind(StrEnum):
    """The result of a comparison, or of a run of the original alone."""

    EQUAL = "equal"
    NOT_TILED = "not-tiled"
    """Equal, but no exchange was tiled: the original calls were compared with themselves."""
    DIFFERS = "differs"
    HANGS = "hangs"
    RACES = "races"
    """A run with checks has findings."""
    UNSTABLE = "unstable"
    """Two runs of the original differ at the same place."""
    ORIGINAL_FAILS = "original-fails"
    ORIGINAL_HANGS = "original-hangs"
    NOT_BUILT = "not-built"
    SAME_PROGRAM = "same-program"
    """Both builds made the same program."""
    CLEAN = "clean"
    """The original alone, with checks, has no findings."""
    ENDS = "ends"
    """The original alone ends although no send completes before its receive is posted."""


COMPARED = frozenset(
    {ResultKind.EQUAL, ResultKind.NOT_TILED, ResultKind.DIFFERS, ResultKind.HANGS, ResultKind.RACES}
)
"""The results of comparing the original with the transformed program."""
_PASSED = frozenset({ResultKind.EQUAL, ResultKind.NOT_TILED, ResultKind.CLEAN, ResultKind.ENDS})


@record
class ComparisonRow:
    """A comparison.

    ``tile`` None: the original alone.  ``depth`` None: the D of the settings.  ``ranks`` None: a
    build.  ``difference`` None: equal.  ``findings``: errors in the run of the transformed program.
    ``stacks``: of hanging ranks.  ``mpi`` None: the default.  ``tiled``: whether any exchange was.
    ``notes`` are printed once for all rows.
    """

    tile: int | None
    depth: int | None
    ranks: int | None
    kind: ResultKind
    difference: Difference | None = None
    notes: tuple[str, ...] = field(default=())
    mpi: str | None = None
    findings: tuple[str, ...] = field(default=())
    stacks: tuple[Stack, ...] = field(default=())
    tiled: bool | None = None

    @property
    def passed(self) -> bool:
        """Whether there is nothing wrong."""
        return self.kind in _PASSED


def kind_of(difference: Difference | None, findings: bool, tiled: bool) -> ResultKind:
    """The result of a comparison whose original succeeded."""
    if difference is not None:
        return ResultKind.HANGS if difference.hang else ResultKind.DIFFERS
    if findings:
        return ResultKind.RACES
    return ResultKind.EQUAL if tiled else ResultKind.NOT_TILED


@record
class Checked:
    """The results of all setups.

    ``failures``: what could not be run, which the user can correct; ``remarks``: what was left out
    because an MPI does not support it.
    """

    rows: tuple[ComparisonRow, ...]
    failures: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """1: a difference, a hang or a finding; 2: something could not be run, as the original that
        fails."""
        kinds = {row.kind for row in self.rows if not row.passed}
        if kinds - {ResultKind.ORIGINAL_FAILS}:
            return 1
        return 2 if kinds or self.failures else 0
