"""Results on the terminal: a table and a figure for each kernel, and the targets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import plotext
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from bench.lab.build import VERSIONS
from bench.lab.rows import Row
from bench.lab.speed import Speed
from bench.lab.tables import cell, milliseconds
from bench.lab.targets import Target, best_of

HEADER = ("platform", "ranks", "version", "K, D", "ms", "ratio", "overlap")
WIDTH, HEIGHT = 90, 15


def kernel_table(kernel: str, rows: Sequence[Row]) -> Table:
    """The versions of a kernel with their best K and D, and with K = 0."""
    shown = Table(title=kernel, box=SIMPLE_HEAD, pad_edge=False, title_justify="left")
    for number, column in enumerate(HEADER):
        shown.add_column(column, justify="left" if number in (0, 2) else "right", no_wrap=True)
    last = None
    for row in summary(rows):
        place = (row.platform, str(row.ranks))
        shown.add_row(
            *(place if place != last else ("", "")),
            row.version,
            row.tiling,
            milliseconds(row.seconds),
            cell(row.ratio, 3),
            cell(row.overlap_efficiency, 3),
        )
        last = place
    return shown


def summary(rows: Sequence[Row]) -> list[Row]:
    """For each platform and number of ranks: every version at its best, and K = 0."""
    found: list[Row] = []
    for kernel, platform, ranks in dict.fromkeys((r.kernel, r.platform, r.ranks) for r in rows):
        best = [best_of(rows, version, ranks, platform, kernel) for version in VERSIONS]
        found += [row for row in best if row is not None]
        found += [
            row
            for row in rows
            if row.tile == 0 and (row.kernel, row.platform, row.ranks) == (kernel, platform, ranks)
        ]
    return found


def kernel_figure(kernel: str, rows: Sequence[Row]) -> Text:
    """The ratio of each version over the number of ranks, on the platform with most of them."""
    lines = curves(rows)
    if not lines:
        return Text()
    ranks = sorted({n for _, values in lines for n in values})
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.plot_size(WIDTH, HEIGHT)
    for marker, (label, values) in zip("-ox+*", lines, strict=False):
        at = [ranks.index(n) + 1 for n in values]
        heights = list(values.values())
        if len(at) == 1:
            plotext.scatter(at, heights, label=label, marker=marker)
        else:
            plotext.plot(at, heights, label=label, marker=marker)
    plotext.xticks(range(1, len(ranks) + 1), [str(n) for n in ranks])
    plotext.xlim(0.8, len(ranks) + 0.2)
    plotext.ylim(0, max(1.1, *(max(values.values()) for _, values in lines)))
    plotext.xlabel("ranks")
    plotext.title(f"{kernel}: time / time of the original")
    return Text.from_ansi(plotext.build())


def curves(rows: Sequence[Row]) -> list[tuple[str, dict[int, float]]]:
    """For each version its ratio by ranks: with its best K and D, and with K = 0."""
    if not rows:
        return []
    by_platform: dict[str, set[int]] = {}
    for row in rows:
        by_platform.setdefault(row.platform, set()).add(row.ranks)
    platform = max(by_platform, key=lambda name: len(by_platform[name]))
    here = [row for row in summary(rows) if row.platform == platform]
    found: dict[str, dict[int, float]] = {}
    for row in here:
        label = f"{row.version}, K chosen" if row.tile == 0 else row.version
        found.setdefault(label, {})[row.ranks] = row.ratio
    return list(found.items())


def speed_table(speeds: Iterable[Speed]) -> Table:
    """The speed of asphalt itself."""
    shown = Table(title="asphalt itself", box=SIMPLE_HEAD, pad_edge=False, title_justify="left")
    for column in ("what", "files", "sites", "MB", "seconds", "MB/s", "peak MB"):
        shown.add_column(column, justify="left" if column == "what" else "right")
    for speed in speeds:
        shown.add_row(
            speed.what,
            str(speed.files),
            str(speed.sites),
            cell(speed.size / 1e6, 2),
            cell(speed.seconds, 3),
            cell(speed.mb_s, 1),
            cell(speed.peak_mb, 0),
        )
    return shown


def target_table(found: Iterable[Target]) -> Table:
    """All targets with the measured values."""
    shown = Table(title="targets", box=SIMPLE_HEAD, pad_edge=False, title_justify="left")
    for column in ("", "demand", "found"):
        shown.add_column(column, overflow="fold")
    styles = {True: "green", False: "red", None: "yellow"}
    for target in found:
        shown.add_row(Text(target.word, styles[target.met]), target.demand, target.found)
    return shown
