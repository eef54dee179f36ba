"""Measurements as tables, for the terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

from bench.lab.measure import Measured

COLUMNS = (
    "kernel",
    "platform",
    "ranks",
    "K, D",
    "original ms",
    "hand ms",
    "asphalt ms",
    "hand ratio",
    "asphalt ratio",
    "hand overlap",
    "asphalt overlap",
)
SHOWN = ("original", "hand", "transformed")
NOTHING = "-"


def row(measured: Measured) -> tuple[str, ...]:
    """One line of the table, with a dash for missing values."""
    known = measured.seconds.keys()
    efficiency = {version: measured.efficiency(version) for version in known}
    return (
        measured.title,
        measured.platform,
        str(measured.ranks),
        NOTHING if measured.tiling is None else f"{measured.tiling[0]}, {measured.tiling[1]}",
        *(milliseconds(measured.seconds.get(v)) for v in SHOWN),
        *(cell(measured.ratio(v) if v in known else None, 2) for v in SHOWN[1:]),
        *(cell(efficiency.get(v), 2) for v in SHOWN[1:]),
    )


def milliseconds(seconds: float | None) -> str:
    """A time in milliseconds, to four digits where it has as many before the point."""
    return cell(None if seconds is None else 1e3 * seconds, 1 if (seconds or 0) < 0.9999 else 0)


def cell(value: float | None, digits: int) -> str:
    """A number, or a dash."""
    return NOTHING if value is None else f"{value:.{digits}f}"


def table(measurements: Iterable[Measured], title: str) -> Table:
    """The table for the terminal."""
    shown = Table(title=title, box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for number, column in enumerate(COLUMNS):
        heading = column if number < 4 else column.replace(" ", "\n")
        shown.add_column(heading, justify="left" if number < 2 else "right", no_wrap=True)
    for measured in measurements:
        shown.add_row(*row(measured))
    return shown


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)
