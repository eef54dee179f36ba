"""Draws the slowdown by communication over the tile size, as in Danalis et al. (2007), figs. 4-7.

The vertical axis is the time of the program divided by that of its computation alone.  The dashed
line is the original, which has no tiles.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from asphalt.ir.records import record

_MARKERS = ("s", "o", "^", "v", "D", "P", "X", "*")
# of Okabe and Ito, distinct for all kinds of colour vision
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")


@record
class Slowdown:
    """Times in seconds: of the original, of computation alone, and for each (K, D).

    K = 0: chosen at run time.
    """

    title: str
    original: float
    computation: float
    seconds: Mapping[tuple[int, int], float]


def draw_slowdown(found: Slowdown, path: Path) -> None:
    """Write a PNG with a curve over K for each D."""
    figure = Figure(figsize=(6.8, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.axhline(
        found.original / found.computation, color="black", ls="--", lw=1.2, label="original"
    )
    axes.axhline(1.0, color="0.6", lw=0.8, label="computation alone")
    for number, depth in enumerate(sorted({depth for _, depth in found.seconds})):
        tiles = sorted(tile for tile, other in found.seconds if other == depth and tile > 0)
        colour = _COLOURS[number % len(_COLOURS)]
        if tiles:
            ratios = [found.seconds[tile, depth] / found.computation for tile in tiles]
            axes.plot(
                tiles,
                ratios,
                color=colour,
                marker=_MARKERS[number % len(_MARKERS)],
                ms=7 - min(number, 3),
                lw=1.2,
                label=f"transformed, D = {depth}",
            )
        if (0, depth) in found.seconds:
            axes.axhline(
                found.seconds[0, depth] / found.computation,
                color=colour,
                ls=":",
                lw=1.2,
                label=f"transformed, K chosen on entry, D = {depth}",
            )
    every = sorted({tile for tile, _ in found.seconds if tile > 0})
    if every:
        axes.set_xscale("log", base=2)
        axes.set_xticks(every, [str(tile) for tile in every])
        axes.minorticks_off()
    axes.set_xlabel("tile size K (iterations a tile)")
    axes.set_ylabel("time / time of computation alone")
    axes.set_title(found.title, fontsize=10)
    axes.grid(axis="y", color="0.9", lw=0.6)
    axes.legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150, metadata={"Software": None})
