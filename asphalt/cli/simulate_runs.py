"""The two modes of ``asphalt simulate``: one K and D with timelines, or many with curves."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

from rich.table import Table

from asphalt.cli.numbers import Numbers
from asphalt.cli.options import (
    CommonOptions,
)
from asphalt.cli.progress import progress
from asphalt.cli.session import PipeConsole, note
from asphalt.config.errors import UsageError
from asphalt.config.passes import Pass
from asphalt.diagnostics.model import SiteReport
from asphalt.ir.records import record
from asphalt.machine.platform_files import Described
from asphalt.machine.platforms import Network
from asphalt.output.atomic import write_atomically
from asphalt.project import Project
from asphalt.report.simulated import (
    studies_table,
    study_json,
    study_lines,
    sweep_json,
    sweep_lines,
    sweep_table,
)
from asphalt.report.timeline_data import Drawing, Version
from asphalt.report.timeline_html import write_timelines
from asphalt.running.parts import pip_line
from asphalt.simulation.runs import BuiltProgram, SimulationError, Simulator
from asphalt.simulation.study import Builder, Study, study
from asphalt.simulation.sweep import Sweep, Tiling, sweep
from asphalt.transforms.charging.program import NotCharged
from asphalt.verify.files import Outputs, never_written

_SEVERAL = 5  # remarks that are printed one by one
_RESULTS = "simulation.json"
_NO_MATPLOTLIB = (
    f"pictures (PNG) are left out: no matplotlib here; get it with {pip_line('pictures')}"
)


@record
class SimulationRequest:
    """A request to simulate, and where the results go."""

    name: str
    platforms: tuple[Network | Described, ...]
    speed: float
    ranks: Numbers
    timeout: float
    workers: int
    compared: Outputs
    directory: Path


def run_study(
    project: Project,
    builder: Builder,
    wanted: SimulationRequest,
    tile: int | None,
    depth: int | None,
    common: CommonOptions,
) -> int:
    """Simulate both versions, draw timelines, and print the results; returns the exit code."""
    changes = project.transform(tile, depth, trial=tile is not None or depth is not None)
    sites = [site for change in changes for site in change.sites]
    tiled = bool(sites) and all(Pass.PREPUSH in site.passes for site in sites)
    on_entry = bool(sites) and all(site.tile == 0 for site in sites)
    operations = {site.operation.lower() for site in sites} if tiled else ()
    if not changes:
        note("nothing is transformed: the original is simulated alone")
    total = (2 if changes else 1) + len(wanted.platforms) * len(wanted.ranks) * (
        4 if changes else 3
    )
    found: list[tuple[Network | Described, Study]] = []
    failures: list[str] = []
    with progress("simulating", total) as advance:
        original, not_charged = builder.build("original", ())
        advance()
        transformed = None
        if changes:
            transformed, _ = builder.build("transformed", changes)
            advance()
        for platform, count in product(wanted.platforms, wanted.ranks):
            simulator = Simulator(platform, wanted.speed, wanted.timeout, wanted.compared)
            try:
                one = study(
                    simulator, original, transformed, count, operations, wanted.workers, advance
                )
            except SimulationError as error:
                failures.append(f"{platform.title}: {error}")
                note(failures[-1])
                continue
            found.append((platform, one))
    _note_not_charged(not_charged)
    rows = [
        study_json(platform.name, one, _draw(platform, one, wanted, _tilings(sites), tiled=tiled))
        for platform, one in found
    ]
    data = {"version": 1, "program": wanted.name, "runs": rows, "failures": failures}
    _keep(wanted.directory, data)
    for platform in wanted.platforms:
        here = [one for other, one in found if other is platform]
        if here:
            lines = study_lines(platform.title, here, on_entry=on_entry)
            _show(common, studies_table(platform.title, here), lines)
    if common.format == "json":
        print(json.dumps(data, indent=2))
    _note_results(wanted.directory, rows, "timelines")
    wrong = bool(failures) or any(one.difference for _, one in found)
    return _exit_code(wrong, wanted.compared, [one.written for _, one in found])


def run_sweep(
    project: Project,
    builder: Builder,
    wanted: SimulationRequest,
    choices: Sequence[Tiling],
    common: CommonOptions,
) -> int:
    """Simulate every K and D of ``choices``, draw curves, print results; returns the exit code."""
    if not project.transform():
        raise UsageError("nothing is transformed, so there is nothing to sweep")
    settings = len(wanted.platforms) * len(wanted.ranks)
    total = 1 + len(choices) + settings * (2 + len(choices))
    found: list[tuple[Network | Described, Sweep]] = []
    failures: list[str] = []
    with progress("simulating", total) as advance:
        original, not_charged = builder.build("original", ())
        advance()
        programs: dict[Tiling, BuiltProgram] = {}
        for tiling in choices:
            changes = project.transform(*tiling, trial=True)
            name = f"K={tiling[0]} D={tiling[1]}".replace(" ", "-")
            programs[tiling], _ = builder.build(name, changes)
            advance()
        for platform, count in product(wanted.platforms, wanted.ranks):
            simulator = Simulator(platform, wanted.speed, wanted.timeout, wanted.compared)
            try:
                one = sweep(simulator, original, programs, count, wanted.workers, advance)
            except SimulationError as error:
                failures.append(f"{platform.title}: {error}")
                note(failures[-1])
                continue
            found.append((platform, one))
    _note_not_charged(not_charged)
    rows = [
        sweep_json(platform.name, one, _draw_sweep(platform, one, wanted))
        for platform, one in found
    ]
    data = {"version": 1, "program": wanted.name, "sweeps": rows, "failures": failures}
    _keep(wanted.directory, data)
    for platform, one in found:
        table = sweep_table(platform.title, one)
        _show(common, table, sweep_lines(platform.title, one))
    if common.format == "json":
        print(json.dumps(data, indent=2))
    _note_results(wanted.directory, rows, "curves")
    wrong = bool(failures) or any(one.differences or one.failures for _, one in found)
    return _exit_code(wrong, wanted.compared, [one.written for _, one in found])


def _note_results(directory: Path, rows: Sequence[Mapping[str, Any]], pictures: str) -> None:
    """Note where the results and pictures are, or why there are none."""
    if not rows:
        note(f"no run succeeded, so there are no {pictures}; {directory / _RESULTS} says why")
    elif any(row["pictures"] for row in rows):
        note(f"{_RESULTS} and {pictures} are in {directory}")
    else:
        note(f"{_RESULTS} is in {directory}")


def _exit_code(wrong: bool, compared: Outputs, seen: Iterable[frozenset[str]]) -> int:
    """1: a run failed or outputs differ; 2: no run wrote a file that was to be compared."""
    patterns = list(seen)
    missing = never_written(compared, frozenset().union(*patterns)) if patterns else []
    for message in missing:
        note(message)
    return 1 if wrong else 2 if missing else 0


def _tilings(sites: Iterable[SiteReport]) -> str:
    """K and D of all sites that have them, if they are equal, as the end of a title."""
    chosen = {(site.tile, site.depth) for site in sites if site.tile is not None}
    if len(chosen) != 1:
        return ""
    ((tile, depth),) = chosen
    in_flight = "" if depth is None else f", D = {depth}"
    return f" (K {'chosen on entry' if tile == 0 else f'= {tile}'}{in_flight})"


def _draw(
    platform: Network | Described,
    found: Study,
    wanted: SimulationRequest,
    tilings: str,
    *,
    tiled: bool,
) -> tuple[str, ...]:
    """Write the timelines of a study; returns the names of the files."""
    names = ("original", f"transformed{tilings}")
    nodes = "1 rank" if found.ranks == 1 else f"{found.ranks} ranks"
    drawing = Drawing(
        f"{wanted.name}: {nodes}, {platform.title}",
        tuple(
            Version(name, timeline) for name, timeline in zip(names, found.timelines, strict=False)
        ),
        tiled,
    )
    stem = f"timeline-{platform.name}-{found.ranks}"
    write_timelines(drawing, wanted.directory / f"{stem}.html")
    if find_spec("matplotlib") is None:
        note(_NO_MATPLOTLIB)
        return (f"{stem}.html",)
    from asphalt.report.timeline_png import draw_timelines

    draw_timelines(drawing, wanted.directory / f"{stem}.png")
    return f"{stem}.html", f"{stem}.png"


def _draw_sweep(
    platform: Network | Described, found: Sweep, wanted: SimulationRequest
) -> tuple[str, ...]:
    if find_spec("matplotlib") is None:
        note(_NO_MATPLOTLIB)
        return ()
    from asphalt.report.slowdown import Slowdown, draw_slowdown

    name = f"slowdown-{platform.name}-{found.ranks}.png"
    title = f"{wanted.name}: {found.ranks} ranks, {platform.title}"
    curves = Slowdown(title, found.original, found.computation, found.seconds)
    draw_slowdown(curves, wanted.directory / name)
    return (name,)


def _keep(directory: Path, data: dict[str, Any]) -> None:
    text = json.dumps(data, indent=2) + "\n"
    write_atomically(directory / _RESULTS, text.encode("utf-8"), 0o644)


def _show(common: CommonOptions, table: Table, lines: Iterable[str]) -> None:
    if common.format != "json":
        console = PipeConsole(highlight=False, soft_wrap=True, emoji=False)
        console.print(table)
        for line in lines:
            console.print(line, markup=False)


def _note_not_charged(found: Sequence[NotCharged]) -> None:
    for one in found[:_SEVERAL]:
        note(f"{one.file}:{one.line}: takes no simulated time: {one.message}")
    if len(found) > _SEVERAL:
        note(f"{len(found) - _SEVERAL} more places take no simulated time")
