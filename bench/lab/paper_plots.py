"""Draws the measurements of ``papers`` in the manner of the papers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.lab.papers import LinkSweep, Timed
from bench.lab.speed import Speed

TOO_HIGH = 1.5  # times the original: higher points, of small tiles, get an inset
DOTS = 110
Spread = Mapping[int, Sequence[float]]


def save(figure: Figure, path: Path) -> Path:
    """Writes the picture."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=DOTS, metadata={"Software": None})
    plt.close(figure)
    return path


def draw_slowdown(timed: Timed, path: Path) -> Path:
    """Time divided by computation time over K; boxes: the fastest run, bars: to the median.

    The second axis is the data that a tile sends to each rank.
    """
    panel = timed.panel
    unit = panel.computation
    figure, axes = plt.subplots(figsize=(6.0, 3.8), layout="constrained")
    times = timed.curve("transformed", panel.tilings[0][1])
    heights = {k: [value / unit for value in values] for k, values in sorted(times.items())}
    original = median(timed.of("original")) / unit
    shown = {k: v for k, v in heights.items() if min(v) <= TOO_HIGH * original}
    hidden = {k: v for k, v in heights.items() if k not in shown}
    axes.axhline(original, color="tab:blue", ls="-.", label="original (MPI_ALLTOALL)")
    axes.axhline(1.0, color="0.6", lw=0.8, label="computation alone")
    _boxes(axes, shown, "transformed, D = 2")
    axes.set_xlabel("tile size K (planes)")
    axes.set_ylabel("slowdown by communication")
    axes.set_ylim(0.95, None)
    axes.set_title(panel.title, fontsize=9)
    axes.legend(fontsize=8, loc="best")
    above = axes.secondary_xaxis("top", functions=_scaled(panel.message / 1024))
    above.set_xlabel("data of a tile for each rank (KiB)", fontsize=8)
    above.tick_params(labelsize=8)
    if hidden:
        inset = axes.inset_axes((0.3, 0.55, 0.3, 0.38))
        inset.axhline(original, color="tab:blue", ls="-.")
        _boxes(inset, hidden, "")
        inset.tick_params(labelsize=7)
        inset.set_xticks(list(hidden))
    return save(figure, path)


def _scaled(factor: float) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """A scale of another unit, and back."""
    return lambda value: factor * value, lambda value: value / factor


def _boxes(axes: Axes, heights: Spread, label: str) -> None:
    """The smallest of several times as a box, with a bar up to their median."""
    at = list(heights)
    least = [min(heights[k]) for k in at]
    up = [median(heights[k]) - min(heights[k]) for k in at]
    axes.errorbar(
        at,
        least,
        yerr=([0.0] * len(at), up),
        fmt="s-",
        color="black",
        ms=4,
        lw=0.7,
        capsize=2,
        label=label or None,
    )


def _curve(axes: Axes, times: Spread, label: str, **style: Any) -> None:
    """The medians of several times in ms, with bars from the fastest to the slowest."""
    middle = [median(values) for values in times.values()]
    spread = [
        [1e3 * (at - min(values)) for at, values in zip(middle, times.values(), strict=True)],
        [1e3 * (max(values) - at) for at, values in zip(middle, times.values(), strict=True)],
    ]
    heights = [1e3 * at for at in middle]
    axes.errorbar(list(times), heights, yerr=spread, lw=1, capsize=2, label=label, **style)


def draw_times(timed: Timed, depth: int, path: Path) -> Path:
    """Times over K of the versions at one D."""
    panel = timed.panel
    figure, axes = plt.subplots(figsize=(6.0, 3.6), layout="constrained")
    axes.axhline(1e3 * median(timed.of("original")), color="tab:green", ls="--", label="original")
    for version, colour, marker in (("hand", "0.5", "x"), ("transformed", "tab:blue", "o")):
        label = f"{version}, D = {depth}"
        _curve(axes, timed.curve(version, depth), label, fmt=marker + "-", color=colour, ms=5)
    axes.axhline(1e3 * panel.computation, color="tab:cyan", label="computation alone")
    _finish(axes, sorted(timed.curve("transformed", depth)), "time (ms)", panel.title)
    return save(figure, path)


def draw_depths(several: Sequence[Timed], path: Path) -> Path:
    """Times over K at every D, a picture for each number of ranks."""
    figure, grid = plt.subplots(1, len(several), figsize=(8.6, 3.6), layout="constrained")
    for axes, timed in zip(grid, several, strict=True):
        panel = timed.panel
        original = 1e3 * median(timed.of("original"))
        axes.axhline(original, color="black", ls="--", label="original")
        for number, depth in enumerate(sorted({d for _, d in panel.tilings})):
            curve = timed.curve("transformed", depth)
            _curve(axes, curve, f"D = {depth}", fmt="so^v"[number] + "-", ms=4)
        axes.axhline(1e3 * panel.computation, color="tab:cyan", label="computation alone")
        tiles = sorted({k for k, _ in panel.tilings})
        _finish(axes, tiles, "time (ms)", f"{panel.ranks} ranks")
    return save(figure, path)


def draw_best(several: Sequence[Timed], path: Path) -> Path:
    """The best time of every version, divided by the original's."""
    figure, axes = plt.subplots(figsize=(6.0, 3.4), layout="constrained")
    versions = ("original", "ialltoall", "hand", "transformed")
    width = 0.8 / len(versions)
    for number, version in enumerate(versions):
        heights = [timed.best(version)[1] / median(timed.of("original")) for timed in several]
        at = [place + (number - 1.5) * width for place in range(len(several))]
        bars = axes.bar(at, heights, width, label=version)
        labels = [_at(timed.best(version)[0]) for timed in several]
        axes.bar_label(bars, labels, fontsize=6)
    axes.set_xticks(
        range(len(several)), [f"{t.panel.ranks} ranks\n{t.panel.planes} planes" for t in several]
    )
    axes.set_ylabel("time / original's")
    axes.set_ylim(0, 1.25)
    axes.legend(fontsize=8, ncols=4, loc="upper center")
    return save(figure, path)


def _at(tiling: tuple[int, int] | None) -> str:
    return "" if tiling is None else f"K={tiling[0]}\nD={tiling[1]}"


def draw_link(sweeps: Sequence[LinkSweep], path: Path) -> Path:
    """Times over K of two real ranks: the fastest run, with a bar up to the median."""
    figure, grid = plt.subplots(
        1, len(sweeps), figsize=(4.4 * len(sweeps), 3.6), layout="constrained", squeeze=False
    )
    for axes, sweep in zip(grid[0], sweeps, strict=True):
        axes.axhline(1e3 * median(sweep.original), color="tab:blue", ls="-.", label="original")
        _boxes(
            axes,
            {k: [1e3 * value for value in values] for k, values in sweep.transformed.items()},
            f"transformed, D = {sweep.depth}",
        )
        alone = 1e3 * median(sweep.alone)
        axes.axhline(alone, color="tab:cyan", label="original without the link")
        _finish(axes, sorted(sweep.transformed), "time (ms)", sweep.title)
    return save(figure, path)


def draw_speed(speeds: Sequence[Speed], path: Path) -> Path:
    """How the commands and the stages grow with the tree and with the number of sites."""
    figure, grid = plt.subplots(1, 2, figsize=(8.6, 3.8), layout="constrained")
    for axes, series in zip(grid, ("files", "sites"), strict=True):
        here = [speed for speed in speeds if speed.series == series]
        for number, what in enumerate(dict.fromkeys(speed.what for speed in here)):
            one = [speed for speed in here if speed.what == what]
            at = [speed.files if series == "files" else speed.sites for speed in one]
            style = "-" if "," in what else "--"
            seconds = [max(1e-3, speed.seconds) for speed in one]
            axes.plot(at, seconds, style, marker="so^vDx+*"[number], lw=1, ms=4, label=what)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(f"number of {series}")
        axes.set_ylabel("seconds")
    grid[0].legend(fontsize=7)
    return save(figure, path)


def _finish(axes: Axes, tiles: Sequence[int], what: str, title: str) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(tiles, [str(tile) for tile in tiles])
    axes.set_xlabel("tile size K")
    axes.set_ylabel(what)
    axes.set_ylim(bottom=0)
    axes.set_title(title, fontsize=9)
    axes.legend(fontsize=7)
