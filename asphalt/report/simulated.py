"""What ``asphalt simulate`` tells: tables, sentences, JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.table import Table

from asphalt.report.timeline_data import time_text
from asphalt.simulation.platforms import NETWORKS
from asphalt.simulation.study import Study


def platforms_table() -> Table:
    """The built-in platforms."""
    table = Table("platform", "network", "bandwidth", "latency", "eager below")
    for network in NETWORKS:
        table.add_row(
            network.name,
            network.title,
            f"{network.bandwidth / 1e9:.3g} GB/s",
            time_text(network.one_way(0)),
            f"{network.eager // 1024} KiB",
        )
    return table


def studies_table(studies: Sequence[tuple[str, Study]]) -> Table:
    """One row a study; each comes with the platform's title."""
    table = Table(
        "platform",
        "ranks",
        "original",
        "transformed",
        "speed-up",
        "computation\nalone",
        "communication\nalone",
        "exposed,\noriginal",
        "exposed,\ntransformed",
        "overlap\nefficiency",
        "output",
    )
    for platform, found in studies:
        before, after = found.exposed
        table.add_row(
            platform,
            str(found.ranks),
            time_text(found.original),
            _or(found.transformed),
            "-" if found.speed_up is None else f"{found.speed_up:.3f}",
            time_text(found.computation),
            time_text(found.communication),
            _signed(before),
            "-" if after is None else _signed(after),
            "-" if found.efficiency is None else f"{found.efficiency:.3f}",
            _output(found),
        )
    return table


def study_lines(studies: Iterable[tuple[str, Study]]) -> Iterator[str]:
    """How the efficiency was found, and how outputs differ."""
    for platform, found in studies:
        where = f"{platform}, {found.ranks} ranks"
        if found.transformed is not None:
            yield f"{where}: {_ground(found)}"
        if found.difference is not None:
            yield f"{where}: the outputs differ: {found.difference.message}"


def _ground(found: Study) -> str:
    known = found.hideable
    if known is None:
        return (
            "which computation comes before the exchanges cannot be told (the ranks do not all "
            "take part equally often), so the efficiency counts all of it as able to hide "
            "communication"
        )
    exchanges = "1 exchange" if known.exchanges == 1 else f"{known.exchanges} exchanges"
    if known.seconds <= 0:
        return f"there is nothing to hide: no computation before, or no time in, {exchanges}"
    return (
        f"{time_text(known.seconds)} could be hidden: {exchanges} of "
        f"{time_text(known.communication)}, with {time_text(known.computation)} of computation "
        "since the ranks last waited for each other"
    )


def study_json(platform: str, found: Study, pictures: Sequence[str]) -> dict[str, Any]:
    """A study as JSON; times in seconds."""
    known = found.hideable
    before, after = found.exposed
    return {
        "platform": platform,
        "ranks": found.ranks,
        "original": found.original,
        "transformed": found.transformed,
        "speed_up": found.speed_up,
        "computation": found.computation,
        "communication": found.communication,
        "exposed_original": before,
        "exposed_transformed": after,
        "hideable": found.to_hide,
        "hideable_known": known is not None,
        "overlap_efficiency": found.efficiency,
        "difference": None if found.difference is None else found.difference.message,
        "pictures": list(pictures),
    }


def _output(found: Study) -> str:
    if found.transformed is None:
        return "-"
    return "equal" if found.difference is None else "[red]differs[/red]"


def _or(seconds: float | None) -> str:
    return "-" if seconds is None else time_text(seconds)


def _signed(seconds: float) -> str:
    return time_text(seconds) if seconds >= 0 else f"-{time_text(-seconds)}"
