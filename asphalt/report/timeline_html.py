"""Timelines as a page for a browser, in which you can zoom, move and point at a bar.

The page holds its data and script, and loads nothing.
"""

from __future__ import annotations

import html
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from asphalt.output.atomic import write_atomically
from asphalt.report.timeline_data import (
    COLOURS,
    SOME_UNDERWAY,
    SOME_UNDERWAY_NAME,
    UNDERWAY,
    Drawing,
    Version,
    remark,
    shown,
)
from asphalt.simulation.timeline import Doing, means

_BINS = 2000
_DIGITS = 10  # of seconds, after the point
_KINDS = tuple(Doing)


def write_timelines(drawing: Drawing, path: Path) -> None:
    """Write the page."""
    template = files("asphalt.report").joinpath("timeline.html").read_text("utf-8")
    data = json.dumps(_data(drawing), separators=(",", ":"))
    # "</script>" in a name would end the script
    page = template.replace("__TITLE__", html.escape(drawing.title)).replace(
        "__DATA__", data.replace("</", "<\\/")
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, page.encode("utf-8"), 0o644)


def _data(drawing: Drawing) -> dict[str, Any]:
    calls: dict[str, int] = {"": 0}
    versions = [_version(version, drawing, calls) for version in drawing.versions]
    legend = [(doing.value, COLOURS[doing]) for doing in _KINDS]
    moving = drawing.most_underway > 0
    if moving:
        legend.append((SOME_UNDERWAY_NAME, SOME_UNDERWAY))
        legend.append((drawing.underway_name, UNDERWAY))
    return {
        "title": drawing.title,
        "remark": remark(drawing),
        "caption": drawing.caption,
        "seconds": drawing.seconds,
        "moving": moving,
        "legend": legend,
        "calls": list(calls),
        "versions": versions,
    }


def _version(version: Version, drawing: Drawing, calls: dict[str, int]) -> dict[str, Any]:
    lanes = []
    full = drawing.most_underway
    for lane in shown(version.timeline.lanes):
        intervals = [
            (
                round(one.start, _DIGITS),
                round(one.end, _DIGITS),
                _KINDS.index(one.doing),
                calls.setdefault(one.call, len(calls)),
            )
            for one in lane.intervals
        ]
        amounts: list[float] = []
        if full > 0:  # the script draws shares of it
            amounts = [
                round(mean / full, 3) for mean in means(lane.underway, drawing.seconds, _BINS)
            ]
        lanes.append({"rank": lane.rank, "intervals": intervals, "underway": amounts})
    return {
        "title": version.headline,
        "summary": version.summary,
        "most": full,
        "seconds": version.timeline.seconds,
        "lanes": lanes,
    }
