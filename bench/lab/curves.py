"""The slowdown against the tile size, in the manner of figures 4 to 7 of Danalis et al. (2007)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt


@dataclass(frozen=True, slots=True)
class Curve:
    """Times in seconds for each tile size; ``label``: the entry in the legend."""

    label: str
    seconds: Mapping[int, float]


def draw_slowdown(
    curves: Sequence[Curve], original: float, computation: float, title: str, path: Path
) -> None:
    """Draws total time divided by computation time (1 + communication overhead) to ``path``.

    The dashed line is the original, which has no tiles; 1 means that communication costs nothing.
    """
    figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    axes.axhline(original / computation, color="black", ls="-.", label="original (MPI_ALLTOALL)")
    axes.axhline(1.0, color="0.6", lw=0.8)
    markers = ("s", "o", "^", "v", "D", "x", "+", "*")
    for number, curve in enumerate(curves):
        tiles = sorted(curve.seconds)
        axes.plot(
            tiles,
            [curve.seconds[tile] / computation for tile in tiles],
            marker=markers[number % len(markers)],
            ms=5 if number else 8,  # the first is visible behind the others
            mfc=None if number else "none",
            lw=1,
            label=curve.label,
        )
    every = sorted({tile for curve in curves for tile in curve.seconds})
    axes.set_xscale("log", base=2)
    axes.set_xticks(every, [str(tile) for tile in every])
    axes.set_xlabel("tile size K (planes)")
    axes.set_ylabel("time / computation time")
    axes.set_ylim(bottom=0.9)
    axes.set_title(title, fontsize=10)
    axes.legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)
