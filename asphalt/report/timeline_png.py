"""Draws timelines as a picture: a lane for each rank, the original above the transformed."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch, StepPatch

from asphalt.report.timeline_data import (
    COLOURS,
    MOST_LANES,
    SOME_UNDERWAY,
    SOME_UNDERWAY_NAME,
    UNDERWAY,
    Drawing,
    Version,
    remark,
    shown,
    unit,
)
from asphalt.simulation.timeline import Doing, Lane, means

_BINS = 1200
_BAR = (0.42, 0.50)  # a lane has height 1: the bar's lower edge, its height
_STRIP = (0.04, 0.34)
_WIDTH = 11.0
_MOST_LABELS = MOST_LANES


def draw_timelines(drawing: Drawing, path: Path) -> None:
    """Write a PNG of the versions above one another, with one time axis."""
    lanes = [len(shown(version.timeline.lanes)) for version in drawing.versions]
    height = sum(0.75 + 0.2 * max(count, 3) for count in lanes) + 1.9
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(drawing.title, fontsize=11)
    grid = figure.subplots(
        len(lanes), 1, sharex=True, squeeze=False, height_ratios=[max(count, 3) for count in lanes]
    )
    size, name = unit(drawing.seconds)
    for version, axes in zip(drawing.versions, grid[:, 0], strict=True):
        _draw(version, axes, size, drawing)
    last = grid[-1, 0]
    last.set_xlabel(f"simulated time ({name})")
    last.set_xlim(0, drawing.seconds / size * 1.005)
    figure.legend(
        handles=_legend(drawing),
        loc="outside lower center",
        ncols=2,
        fontsize=8,
        title=fill(drawing.caption, 140),
        title_fontsize=8.5,
        alignment="left",
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    # no date in the picture, so that the same run gives the same file
    figure.savefig(path, dpi=150, metadata={"Software": None})


def _draw(version: Version, axes: Axes, size: float, drawing: Drawing) -> None:
    lanes = shown(version.timeline.lanes)
    for place, lane in enumerate(lanes):
        _draw_lane(lane, place, axes, size, drawing.seconds, drawing.most_underway)
    axes.set_ylim(len(lanes), 0)
    step = max(1, -(-len(lanes) // _MOST_LABELS))
    places = range(0, len(lanes), step)
    axes.set_yticks([place + 0.5 for place in places], [str(lanes[place].rank) for place in places])
    axes.tick_params(axis="y", length=0, labelsize=8)
    axes.set_ylabel("rank")
    end = version.timeline.seconds / size
    axes.axvline(end, color="0.25", lw=1.0, ls=(0, (4, 2)))
    told, more = version.headline, remark(drawing)
    headline = f"{told}  ({more})" if more else told
    axes.set_title(f"{headline}\n", fontsize=10, loc="left", fontweight="bold")
    summary = axes.annotate(
        version.summary,
        (0, 1),
        (0, 5),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=8.5,
    )
    summary.set_in_layout(False)  # the title has a second line for it
    for edge in ("top", "right", "left"):
        axes.spines[edge].set_visible(False)


def _draw_lane(
    lane: Lane, place: int, axes: Axes, size: float, seconds: float, full: float
) -> None:
    low, tall = _BAR if full > 0 else (0.1, 0.8)
    # the axis points down: the bar is the upper part of the lane
    upper = place + 1 - low - tall
    for doing in Doing:
        spans = [
            (one.start / size, (one.end - one.start) / size)
            for one in lane.intervals
            if one.doing is doing
        ]
        if spans:
            axes.broken_barh(spans, (upper, tall), facecolors=COLOURS[doing], linewidth=0)
    if full <= 0:
        return
    base, most = place + 1 - _STRIP[0], _STRIP[1]
    axes.plot([0, seconds / size], [base, base], color="0.85", lw=0.4, zorder=0)
    amounts = means(lane.underway, seconds, _BINS)
    edges = [number * seconds / _BINS / size for number in range(_BINS + 1)]
    some = [base - most if amount > 0 else base for amount in amounts]
    heights = [base - most * amount / full for amount in amounts]
    for tops, colour in ((some, SOME_UNDERWAY), (heights, UNDERWAY)):
        # axes.stairs would look for the limits of both axes, which are given, at each edge
        axes.add_artist(StepPatch(tops, edges, baseline=base, facecolor=colour, linewidth=0))


def _legend(drawing: Drawing) -> list[Patch]:
    handles = [Patch(facecolor=COLOURS[doing], label=doing.value) for doing in Doing]
    if drawing.most_underway > 0:
        handles.append(Patch(facecolor=SOME_UNDERWAY, label=SOME_UNDERWAY_NAME))
        handles.append(Patch(facecolor=UNDERWAY, label=drawing.underway_name))
    return handles
