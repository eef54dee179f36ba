"""Compares a program under several setups, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from asphalt.config.errors import UsageError
from asphalt.project import Project
from asphalt.verify.check import ComparisonSetup, alone, check
from asphalt.verify.files import never_written
from asphalt.verify.race import NEEDS_REAL_MPI
from asphalt.verify.rendezvous import prove_rendezvous
from asphalt.verify.rows import Checked, ComparisonRow
from asphalt.verify.setups import CannotError, Setup, require_places


class ProgressListener(Protocol):
    """A listener to the progress of comparisons."""

    def say(self, message: str) -> None:
        """A piece of work begins."""

    def advance(self, count: int = 1) -> None:
        """``count`` more comparisons are done."""


def check_all(
    project: Project,
    trial: ComparisonSetup,
    setups: Sequence[Setup],
    work: Path,
    progress: ProgressListener,
) -> Checked:
    """Compare under each setup; a setup with a name has a directory of its own below ``work``.

    A failure of one of several setups is reported, and the others go on.  Raises ``UsageError`` if
    all fail.
    """
    rows: list[ComparisonRow] = []
    failures: list[str] = []
    remarks: list[str] = []
    seen: set[str] = set()
    for setup in setups:
        folder = work if setup.name is None else work / setup.name
        folder.mkdir(exist_ok=True)
        try:
            require_places(setup, trial.commands.build, trial.commands.run)
            if setup.rendezvous:
                progress.say("testing whether sends wait")
                prove_rendezvous(setup)
            for row in check(project, trial, setup, folder, progress.say, seen):
                rows.append(row)
                progress.advance(len(trial.ranks) if row.ranks is None else 1)
            if trial.race and setup.simulated:
                (remarks if setup.optional else failures).append(NEEDS_REAL_MPI)
        except CannotError as error:
            if not setup.optional:
                failures.append(str(error))
            else:
                remarks.append(f"{error}; {setup.name} is left out")
        except UsageError as error:
            failures.append(str(error))
    if not rows:
        raise UsageError("; ".join((*failures, *remarks)))
    failures += never_written(trial.outputs, seen)
    return Checked(tuple(rows), tuple(failures), tuple(remarks))


def comparisons(trial: ComparisonSetup, setups: Sequence[Setup]) -> int:
    """The number of rows that ``check_all`` returns if all builds succeed."""
    by_itself = sum(alone(trial, setup) for setup in setups)
    return len(trial.ranks) * (len(setups) * len(trial.choices) + by_itself)
