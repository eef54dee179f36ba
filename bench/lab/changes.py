"""Compares results with the last committed ones."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bench.lab.case import ROOT
from bench.lab.rows import Row, from_json

WORTH_A_MARK = 0.02
"""The relative change of a time that is marked."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A row, and its committed time in seconds; None: the row is new."""

    row: Row
    before: float | None

    @property
    def change(self) -> float | None:
        """The relative change of the time: 0.01 is 1 % slower."""
        return None if self.before is None else self.row.seconds / self.before - 1

    @property
    def mark(self) -> str:
        """``slower`` or ``faster`` for a large change, ``new``, or nothing."""
        if self.change is None:
            return "new"
        if abs(self.change) <= WORTH_A_MARK:
            return ""
        return "slower" if self.change > 0 else "faster"


def committed(name: str) -> tuple[Row, ...]:
    """The rows of a results file as last committed; none without such a file."""
    done = subprocess.run(
        ["git", "show", f"HEAD:bench/results/{name}"], cwd=ROOT, capture_output=True, check=False
    )
    if done.returncode != 0:
        return ()
    try:
        return from_json(done.stdout.decode("utf-8"))
    except ValueError:
        return ()  # a file of another form


def compare(rows: Iterable[Row], before: Iterable[Row]) -> tuple[Compared, ...]:
    """Each row with its committed time."""
    known: Mapping[object, float] = {row.key: row.seconds for row in before}
    return tuple(Compared(row, known.get(row.key)) for row in rows)


def gone(rows: Iterable[Row], before: Iterable[Row]) -> tuple[Row, ...]:
    """The committed rows that are not measured any more."""
    measured = {row.key for row in rows}
    return tuple(row for row in before if row.key not in measured)
