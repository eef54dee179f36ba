"""Timelines as a page of their own that a browser shows: zoom, move, point at a bar.

Nothing is loaded from anywhere: data and script are in the page.
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
    SENDING,
    SENDING_NAME,
    Drawing,
    Version,
    remark,
    shown,
)
from asphalt.simulation.timeline import Doing, mean_rates

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
    if drawing.has_sending:
        legend.append((SENDING_NAME, SENDING))
    return {
        "title": drawing.title,
        "remark": remark(drawing),
        "seconds": drawing.seconds,
        "bandwidth": drawing.bandwidth if drawing.has_sending else None,
        "legend": legend,
        "calls": list(calls),
        "versions": versions,
    }


def _version(version: Version, drawing: Drawing, calls: dict[str, int]) -> dict[str, Any]:
    lanes = []
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
        rates: list[float] = []
        if drawing.has_sending and drawing.bandwidth is not None:
            means = mean_rates(lane.sending, drawing.seconds, _BINS)
            rates = [round(mean / drawing.bandwidth, 3) for mean in means]
        lanes.append({"rank": lane.rank, "intervals": intervals, "rates": rates})
    return {"name": version.name, "seconds": version.timeline.seconds, "lanes": lanes}
