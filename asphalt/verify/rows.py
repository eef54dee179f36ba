"""What one comparison came to, and all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from asphalt.verify.compare import Difference
from asphalt.verify.stacks import Stack


class ResultKind(StrEnum):
    """What became of a comparison, or of a run of the original by itself."""

    EQUAL = "equal"
    NOT_TILED = "not-tiled"
    """Equal, but no exchange was tiled: the original calls were compared with themselves."""
    DIFFERS = "differs"
    HANGS = "hangs"
    RACES = "races"
    """A setup that watches found something."""
    UNSTABLE = "unstable"
    """The original differs from itself where it was compared."""
    ORIGINAL_FAILS = "original-fails"
    ORIGINAL_HANGS = "original-hangs"
    NOT_BUILT = "not-built"
    SAME_PROGRAM = "same-program"
    """The build made the same program twice."""
    CLEAN = "clean"
    """The original by itself, watched, and nothing found."""
    ENDS = "ends"
    """The original by itself, where no send ends before its receive."""


COMPARED = frozenset(
    {ResultKind.EQUAL, ResultKind.NOT_TILED, ResultKind.DIFFERS, ResultKind.HANGS, ResultKind.RACES}
)
"""Where original and transformed program were compared."""
_PASSED = frozenset({ResultKind.EQUAL, ResultKind.NOT_TILED, ResultKind.CLEAN, ResultKind.ENDS})


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One comparison; ``depth`` None: as the settings say.  ``ranks`` None: a build.

    ``tile`` None: the original by itself.

    ``difference`` None: equal.  ``findings`` is what a setup found wrong with the transformed
    program's run, ``stacks`` where ranks stood that hung, ``mpi`` None the default, ``tiled``
    whether any exchange was.  ``notes`` are told once for all rows.
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
    """What a comparison came to whose original is in order."""
    if difference is not None:
        return ResultKind.HANGS if difference.hang else ResultKind.DIFFERS
    if findings:
        return ResultKind.RACES
    return ResultKind.EQUAL if tiled else ResultKind.NOT_TILED


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of all setups: comparisons, what could not be tried, what was left out on purpose.

    ``failures`` are mistakes that a user can mend; ``remarks`` what an MPI cannot do.
    """

    rows: tuple[ComparisonRow, ...]
    failures: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """1: something is wrong, or nothing could be said; 2: something could not be tried."""
        if not all(row.passed for row in self.rows):
            return 1
        return 2 if self.failures else 0


def counted_ranks(number: int) -> str:
    """A number of ranks as text."""
    return f"{number} rank" if number == 1 else f"{number} ranks"
