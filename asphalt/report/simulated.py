"""The results of ``asphalt simulate`` as tables, sentences and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from asphalt.machine.platforms import NETWORKS
from asphalt.report.timeline_data import time_text
from asphalt.running.mpi import rank_count
from asphalt.simulation.study import Study
from asphalt.simulation.sweep import Sweep, Tiling

_ALIKE = 2  # ranks with which a link carries a whole buffer once in any way
_SHORTER = ", because more and shorter messages cost more than they hide; try "
_FEWER_TILES = "a larger --tile, --tile 0 (chosen on entry), or --sweep tile,depth"
_OTHER_TILES = "another K with --tile, or --sweep tile,depth"


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


def studies_table(platform: str, studies: Sequence[Study]) -> Table:
    """The results on one platform, a column for each number of ranks."""
    table = Table(platform, *(rank_count(found.ranks) for found in studies))
    for title, cell in _ROWS:
        table.add_row(title, *(cell(found) for found in studies))
    return table


def study_rows(found: Study) -> list[tuple[str, str]]:
    """The results of one study: what each is, and its value."""
    return [(title, Text.from_markup(cell(found)).plain) for title, cell in _ROWS]


def study_lines(
    platform: str, studies: Iterable[Study], *, on_entry: bool = False
) -> Iterator[str]:
    """How the efficiency was computed, and how outputs differ.

    ``on_entry``: K = 0 was simulated, which is chosen on entry to each exchange.
    """
    for found in studies:
        where = f"{platform}, {rank_count(found.ranks)}"
        if found.transformed is not None:
            yield f"{where}: {_ground(found)}"
        if found.transformed is not None and found.tiled is False:
            yield f"{where}: {_not_tiled(found.transformed - found.original, on_entry=on_entry)}"
        elif found.transformed is not None and (found.efficiency or 0.0) < 0:
            lost = time_text(found.transformed - found.original)
            other = _OTHER_TILES if on_entry else _FEWER_TILES
            yield (
                f"{where}: a negative overlap efficiency means a loss: the transformed program "
                f"takes {lost} longer" + (_SHORTER + other if found.hideable is not None else "")
            )
            if found.whole_buffers and found.ranks > _ALIKE:
                yield f"{where}: {_of_smpi(found.whole_buffers)}"
        if found.difference is not None:
            yield f"{where}: the outputs differ: {found.difference.message}"


def _not_tiled(difference: float, *, on_entry: bool) -> str:
    """Why a program that can tile its exchanges made the original calls; ``difference``: seconds
    that it takes longer."""
    why = (
        "K = 0 chose the original calls on entry, because tiles would cost more than they hide, or "
        "a condition that is tested at run time does not hold; --sweep tile,depth simulates tiles"
        if on_entry
        else "it made the original calls, because a condition that is tested at run time does not "
        "hold"
    )
    took = (
        f"; the {time_text(difference)} that it takes longer are the choice's own"
        if difference > 0
        else ""
    )
    return f"no exchange was tiled: {why}{took}"


def _of_smpi(operations: Sequence[str]) -> str:
    names = " and ".join(filter(None, (", ".join(operations[:-1]), operations[-1])))
    verb = "send" if len(operations) > 1 else "sends"
    return (
        f"this loss may be the simulator's alone: its {names} {verb} the whole buffer over a link "
        "once for each rank, which MPI libraries do not; compare the times of both versions on the "
        "cluster"
    )


def _ground(found: Study) -> str:
    known = found.hideable
    if known is None:
        return (
            f"{time_text(found.to_hide)} could be hidden: the time of the original beyond its "
            "computation alone"
        )
    exchanges = "1 exchange" if known.exchanges == 1 else f"{known.exchanges} exchanges"
    if known.seconds <= 0:
        return f"no communication can be hidden: no computation before, or no time in, {exchanges}"
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
        "tiled": found.tiled,
        "difference": None if found.difference is None else found.difference.message,
        "pictures": list(pictures),
    }


def _output(found: Study) -> str:
    if found.transformed is None:
        return "-"
    return "equal" if found.difference is None else "[red]differs[/red]"


def _efficiency(found: Study) -> str:
    return "not tiled" if found.tiled is False else _ratio(found.efficiency)


def _or(seconds: float | None) -> str:
    return "-" if seconds is None else time_text(seconds)


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


_ROWS: tuple[tuple[str, Callable[[Study], str]], ...] = (
    ("original", lambda found: time_text(found.original)),
    ("transformed", lambda found: _or(found.transformed)),
    ("speed-up", lambda found: _ratio(found.speed_up)),
    ("computation alone", lambda found: time_text(found.computation)),
    ("communication alone", lambda found: time_text(found.communication)),
    ("exposed communication, original", lambda found: time_text(found.exposed[0])),
    ("exposed communication, transformed", lambda found: _or(found.exposed[1])),
    ("could be hidden", lambda found: time_text(found.to_hide)),
    ("overlap efficiency", _efficiency),
    ("output", _output),
)


def sweep_table(platform: str, found: Sweep) -> Table:
    """A row for each K, a column for each D: the time, and its ratio to computation alone."""
    depths = sorted({depth for _, depth in (*found.seconds, *found.failures)})
    table = Table("K", *(f"D = {depth}" for depth in depths))
    table.title = f"{platform}, {rank_count(found.ranks)}: time (divided by computation alone)"
    for tile in sorted({tile for tile, _ in (*found.seconds, *found.failures)}):
        cells = [_cell(found, (tile, depth)) for depth in depths]
        table.add_row("on entry" if tile == 0 else str(tile), *cells)
    return table


def sweep_lines(platform: str, found: Sweep) -> Iterator[str]:
    """The original, the best K and D, and what failed."""
    where = f"{platform}, {rank_count(found.ranks)}"
    slowdown = found.original / found.computation
    yield (
        f"{where}: original {time_text(found.original)} ({slowdown:.3f}), "
        f"computation alone {time_text(found.computation)}"
    )
    if found.best_tiled is not None:
        seconds = found.seconds[found.best_tiled]
        best = f"{_timed(found, found.best_tiled)}, {_against(found.original, seconds)}"
        lost = "the original is fastest: the best tiled run is"
        yield f"{where}: {lost if seconds >= found.original else 'best'} {best}"
    if found.best_on_entry is not None:
        seconds = found.seconds[found.best_on_entry]
        usual = f"{_timed(found, found.best_on_entry)}, {_against(found.original, seconds)}"
        yield f"{where}: with K chosen on entry (the default): {usual}"
    for what, messages in (("output differs", found.differences), ("failed", found.failures)):
        for (tile, depth), message in messages.items():
            yield f"{where}, K = {tile}, D = {depth}: {what}: {message}"


def _timed(found: Sweep, tiling: Tiling) -> str:
    seconds, (tile, depth) = found.seconds[tiling], tiling
    return f"{time_text(seconds)} ({seconds / found.computation:.3f}) at K = {tile}, D = {depth}"


def _against(original: float, seconds: float) -> str:
    """How a time compares with the original's."""
    if round(seconds / original, 3) == 1:
        return "as long as the original"
    if seconds > original:
        return f"{seconds / original:.3f} times as long as the original"
    return f"{original / seconds:.3f} times faster than the original"


def sweep_json(platform: str, found: Sweep, pictures: Sequence[str]) -> dict[str, Any]:
    """A sweep as JSON; times in seconds."""
    return {
        "platform": platform,
        "ranks": found.ranks,
        "original": found.original,
        "computation": found.computation,
        "transformed": [
            {
                "tile": tile,
                "depth": depth,
                "seconds": seconds,
                "slowdown": seconds / found.computation if found.computation else None,
                "difference": found.differences.get((tile, depth)),
            }
            for (tile, depth), seconds in found.seconds.items()
        ],
        "failures": [
            {"tile": tile, "depth": depth, "message": message}
            for (tile, depth), message in found.failures.items()
        ],
        "pictures": list(pictures),
    }


def _cell(found: Sweep, tiling: tuple[int, int]) -> str:
    if tiling not in found.seconds:
        return "failed" if tiling in found.failures else ""
    seconds = found.seconds[tiling]
    text = f"{time_text(seconds)} ({seconds / found.computation:.3f})"
    return f"[red]{text}[/red]" if tiling in found.differences else text
