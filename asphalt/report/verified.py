"""The results of ``verify``, as a table and lines for people, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from rich.table import Table

from asphalt.running.mpi import rank_count
from asphalt.verify.rows import COMPARED, ComparisonRow, ResultKind
from asphalt.verify.stacks import rendered

_COUNTED = {
    ResultKind.EQUAL: "equal",
    ResultKind.NOT_TILED: "equal but not tiled",
    ResultKind.DIFFERS: "different",
    ResultKind.HANGS: "hanging",
    ResultKind.RACES: "with a race",
    ResultKind.UNSTABLE: "where the original's own output changes",
    ResultKind.ORIGINAL_FAILS: "where the original fails",
    ResultKind.ORIGINAL_HANGS: "where the original hangs",
    ResultKind.NOT_BUILT: "not built",
    ResultKind.SAME_PROGRAM: "where both builds are the same program",
    ResultKind.CLEAN: "clean",
    ResultKind.ENDS: "ending well",
}
_CELLS = {
    **{kind: kind.replace("-", " ") for kind in ResultKind},
    ResultKind.NOT_TILED: "equal, not tiled",
    ResultKind.RACES: "races",
}
_MOST_IN_TABLE = 60  # characters of a difference in the table; the lines below it show all


def verified_json(rows: Sequence[ComparisonRow], failures: Sequence[str]) -> str:
    """The comparisons as JSON, version 1; ``failures``: what could not be run."""
    runs = [asdict(row) for row in rows]
    return json.dumps({"version": 1, "runs": runs, "failures": list(failures)}, indent=2)


def verified_table(rows: Sequence[ComparisonRow]) -> Table:
    """A row for each comparison; with the MPI if the user chose one."""
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


def verified_lines(rows: Sequence[ComparisonRow]) -> Iterator[str]:
    """The differences of each comparison, with the stacks of hanging ranks, and notes."""
    for row in rows:
        if row.difference is not None:
            yield f"{_name(row)}: {row.difference.message}"
        for finding in row.findings:
            yield f"{_name(row)}: {finding}"
        for line in rendered(row.stacks):
            yield f"    {line}"
    yield from dict.fromkeys(text for row in rows for text in row.notes)


def verified_summary(rows: Sequence[ComparisonRow]) -> str:
    """The number of comparisons and their results.

    Runs of the original alone, and runs without a result to compare with, are counted apart.
    """
    parts = (
        _compared([row for row in rows if row.tile is not None and row.kind in COMPARED]),
        _others("not compared", [row for row in rows if row.tile is not None], COMPARED),
        _others("the original alone", [row for row in rows if row.tile is None], frozenset()),
    )
    return "; ".join(filter(None, parts)) or "nothing was run"


def _compared(rows: list[ComparisonRow]) -> str:
    if not rows:
        return ""
    count = "1 comparison" if len(rows) == 1 else f"{len(rows)} comparisons"
    if not all(row.passed for row in rows):
        return f"{count}: {', '.join(_counts(rows))}"
    idle = sum(row.kind is ResultKind.NOT_TILED for row in rows)
    none_tiled = f", {'none' if idle == len(rows) else f'{idle} not'} tiled" if idle else ""
    return f"{count}, all equal{none_tiled}"


def _others(title: str, rows: list[ComparisonRow], left_out: frozenset[ResultKind]) -> str:
    counted = [row for row in rows if row.kind not in left_out]
    return f"{title}: {', '.join(_counts(counted))}" if counted else ""


def _counts(rows: list[ComparisonRow]) -> Iterator[str]:
    for kind, words in _COUNTED.items():
        if count := sum(row.kind is kind for row in rows):
            yield f"{count} {words}"


def _result(row: ComparisonRow) -> str:
    return _CELLS[row.kind] if row.passed else f"[red]{_CELLS[row.kind]}[/red]"


def _short(row: ComparisonRow) -> str:
    texts = [row.difference.message] if row.difference is not None else []
    text = "; ".join((*texts, *row.findings))
    text = text if len(text) <= _MOST_IN_TABLE else text[:_MOST_IN_TABLE] + "..."
    return text.replace("[", "\\[")


def _name(row: ComparisonRow) -> str:
    name = f"K={row.tile} D={_or(row.depth, 'default')}"
    if row.tile is None:
        name = "the original itself"
    if row.mpi is not None:
        name = f"{row.mpi}, {name}"
    if row.ranks is None:
        return name
    return f"{name}, {rank_count(row.ranks)}"


def _or(value: int | None, otherwise: str) -> str:
    return otherwise if value is None else str(value)
