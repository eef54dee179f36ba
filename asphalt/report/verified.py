"""What ``verify`` found, as a table and lines for people, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from rich.table import Table

from asphalt.verify.check import Row
from asphalt.verify.stacks import rendered

_MOST_IN_TABLE = 60  # characters of a difference that the table shows; all of it stands below


def verified_json(rows: Sequence[Row], failures: Sequence[str]) -> str:
    """The comparisons as JSON, version 1; ``failures``: what could not be tried."""
    runs = [asdict(row) for row in rows]
    return json.dumps({"version": 1, "runs": runs, "failures": list(failures)}, indent=2)


def verified_table(rows: Sequence[Row]) -> Table:
    """A line for each comparison, the MPI where it was chosen."""
    named = any(row.mpi is not None for row in rows)
    wrong = any(not row.passed for row in rows)
    columns = (*(("MPI",) if named else ()), "K", "D", "ranks", "result")
    table = Table(*columns, *(("what",) if wrong else ()))
    for row in rows:
        cells = [row.mpi or ""] if named else []
        original = row.tile is None
        cells += [
            _or(row.tile, "original"),
            "" if original else _or(row.depth, "default"),
            _or(row.ranks, "-"),
            _result(row),
        ]
        table.add_row(*cells, *((_short(row),) if wrong else ()))
    return table


def verified_lines(rows: Sequence[Row]) -> Iterator[str]:
    """What differs in each comparison, with the stacks of ranks that hang, and what is known."""
    for row in rows:
        if row.difference is not None:
            yield f"{_name(row)}: {row.difference.message}"
        for finding in row.findings:
            yield f"{_name(row)}: {finding}"
        for line in rendered(row.stacks):
            yield f"    {line}"
    yield from dict.fromkeys(text for row in rows for text in row.notes)


def verified_summary(rows: Sequence[Row]) -> str:
    """How many comparisons there were, and how many failed."""
    different = sum(not row.passed for row in rows)
    count = "1 comparison" if len(rows) == 1 else f"{len(rows)} comparisons"
    return f"{count}, {f'{different} different' if different else 'all equal'}"


def _result(row: Row) -> str:
    if row.passed:
        return "equal, not tiled" if row.tiled is False else "equal"
    if row.difference is None:
        return "[red]equal, but[/red]"
    if row.difference.hang:
        return "[red]hangs[/red]"
    return "[red]not run[/red]" if row.ranks is None else "[red]differs[/red]"


def _short(row: Row) -> str:
    texts = [row.difference.message] if row.difference is not None else []
    text = "; ".join((*texts, *row.findings))
    text = text if len(text) <= _MOST_IN_TABLE else text[:_MOST_IN_TABLE] + "..."
    return text.replace("[", "\\[")


def _name(row: Row) -> str:
    name = f"K={row.tile} D={_or(row.depth, 'default')}"
    if row.tile is None:
        name = "the original itself"
    if row.mpi is not None:
        name = f"{row.mpi}, {name}"
    if row.ranks is None:
        return name
    return f"{name}, {'1 rank' if row.ranks == 1 else f'{row.ranks} ranks'}"


def _or(value: int | None, otherwise: str) -> str:
    return otherwise if value is None else str(value)
