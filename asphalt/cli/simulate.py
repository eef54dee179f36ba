"""``asphalt simulate``: what the transformation would gain on a cluster that is simulated."""

from __future__ import annotations

import json
import os
import shlex
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from asphalt.cli.numbers import RANKS, Numbers, numbers
from asphalt.cli.options import (
    PATHS,
    CommonOptions,
    assume_option,
    common_options,
    depth_option,
    tile_option,
)
from asphalt.cli.session import Output, note, open_project
from asphalt.errors import InputError, UsageError
from asphalt.limits import DEPTH, TILE
from asphalt.output.atomic import write_atomically
from asphalt.project import DEFAULT_DEPTH, Project
from asphalt.report.simulated import (
    platforms_table,
    studies_table,
    study_json,
    study_lines,
    sweep_json,
    sweep_lines,
    sweep_table,
)
from asphalt.report.timeline_data import Drawing, Version
from asphalt.report.timeline_html import write_timelines
from asphalt.running.mpi import SMPI
from asphalt.simulation.choose import DEFAULT, chosen
from asphalt.simulation.described import Described, host_speed
from asphalt.simulation.machine import load_machine
from asphalt.simulation.platforms import Network
from asphalt.simulation.runs import Program, SimulationError, Simulator
from asphalt.simulation.study import Builder, Study, study
from asphalt.simulation.sweep import Sweep, Tiling, sweep
from asphalt.transforms.charge import NotCharged
from asphalt.verify.builds import Commands
from asphalt.verify.files import outputs

SUBJECTS = {"tile": {"tile"}, "depth": {"depth"}, "tile,depth": {"tile", "depth"}}
_SEVERAL = 5  # remarks that are told one by one
_FLOPS = "smpi_execute_flops"
_RESULTS = "simulation.json"
_NO_MATPLOTLIB = (
    "pictures (PNG) are left out: there is no matplotlib; 'pip install asphalt[pictures]' gets it"
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is simulated, and where the results go."""

    name: str
    platforms: tuple[Network | Described, ...]
    speed: float
    ranks: Numbers
    timeout: float
    workers: int
    ignore: tuple[str, ...]
    directory: Path


def _list_platforms(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        Output(highlight=False, soft_wrap=True).print(platforms_table())
        ctx.exit()


@click.command()
@click.argument("paths", nargs=-1, required=True, type=PATHS, metavar="PATH...")
@click.option(
    "--build",
    "build_line",
    metavar="COMMAND",
    help="How to build, e.g. 'make FC={fc}'; it runs in the mirrored tree. {fc} {f77} {cc}: "
    "SMPI's compilers.",
)
@click.option(
    "--compile",
    "compile_line",
    metavar="COMMAND",
    help="Or a line that compiles all.  [default: {fc} FLAGS {sources} -o {exe}]",
)
@click.option("--flags", default="-O2", show_default=True, help="Flags of the default line.")
@click.option("--exe", metavar="FILE", help="The program below the tree, if the build has others.")
@click.option("--arguments", default="", metavar="TEXT", help="What the program is called with.")
@click.option(
    "--np",
    "--ranks",
    "ranks",
    callback=numbers(RANKS),
    default="16",
    show_default=True,
    metavar="N,...",
    help="Numbers of ranks, each on a node of its own.",
)
@click.option(
    "--platform",
    "platform_names",
    multiple=True,
    default=(DEFAULT,),
    show_default=True,
    metavar="NAME|FILE.xml",
    help="The cluster: a built-in one, or SimGrid's description of yours.",
)
@click.option(
    "--list-platforms",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_platforms,
    help="Show the built-in clusters.",
)
@click.option(
    "--overhead",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="With FILE.xml: the processor's time for each message at either end.  [default: 1e-06]",
)
@click.option(
    "--test",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="With FILE.xml: the time of an MPI_Test.  [default: 1e-07]",
)
@click.option(
    "--machine", type=PATHS, metavar="FILE", help="What operations cost (else a usual machine)."
)
@tile_option
@depth_option
@click.option(
    "--sweep",
    "subject",
    type=click.Choice(list(SUBJECTS)),
    help="Try many K, D or both, and draw how communication slows the program down.",
)
@click.option(
    "--tiles",
    callback=numbers(TILE),
    default="1,2,4,8",
    show_default=True,
    metavar="K,...",
    help="K of a sweep.",
)
@click.option(
    "--depths",
    callback=numbers(DEPTH),
    default="1,2,4",
    show_default=True,
    metavar="D,...",
    help="D of a sweep.",
)
@click.option(
    "--ignore", multiple=True, metavar="REGEX", help="Do not compare lines with this in them."
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=600.0,
    show_default=True,
    metavar="SECONDS",
    help="What takes longer on this machine is stopped.",
)
@click.option(
    "-o",
    "--output",
    "directory",
    type=PATHS,
    default=Path("asphalt-simulation"),
    show_default=True,
    metavar="DIR",
    help="Where pictures and results go.",
)
@common_options
@assume_option
def simulate(
    paths: tuple[Path, ...],
    build_line: str | None,
    compile_line: str | None,
    flags: str,
    exe: str | None,
    arguments: str,
    ranks: Numbers,
    platform_names: tuple[str, ...],
    overhead: float | None,
    test: float | None,
    machine: Path | None,
    tile: int | None,
    depth: int | None,
    subject: str | None,
    tiles: Numbers,
    depths: Numbers,
    ignore: tuple[str, ...],
    timeout: float,
    directory: Path,
    common: CommonOptions,
    assume: tuple[str, ...],
) -> int:
    """Simulate original and transformed on a cluster: times, what is hidden, timelines.

    Computation costs what a machine file says, messages what the platform says; nothing is timed,
    so that every run gives the same digits.  Exits with 1 if outputs differ or a run fails.
    """
    if build_line is not None and compile_line is not None:
        raise UsageError("--build and --compile: give one of them")
    SMPI.require()
    platforms = tuple(chosen(name, overhead, test) for name in dict.fromkeys(platform_names))
    for platform in platforms:
        platform.xml(max(ranks), 1.0)  # refuses what has too few hosts before anything is built
    costs = load_machine(machine)
    _warn_of_speeds(platforms, costs.speed)
    project = open_project(paths, common, assume)
    _refuse_f08(project)
    charges_itself = project.mentions(_FLOPS)
    if charges_itself:
        note(f"the program calls {_FLOPS}: it charges its computation itself, nothing is added")
    line = build_line or compile_line or f"{{fc}} {flags} {{sources}} -o {{exe}}"
    wanted = Wanted(
        _name(paths),
        platforms,
        costs.speed,
        ranks,
        timeout,
        common.jobs or os.cpu_count() or 1,
        ignore,
        directory,
    )
    with tempfile.TemporaryDirectory(prefix="asphalt-simulate-") as work:
        builder = Builder(
            paths,
            Commands(line, "{launcher} -np {ranks} {exe}", timeout, exe),
            tuple(shlex.split(arguments)),
            None if charges_itself else costs,
            project.settings,
            Path(work),
        )
        if subject is not None:
            choices = _choices(SUBJECTS[subject], tiles, depths, tile, depth)
            return _sweep(project, builder, wanted, choices, common)
        return _study(project, builder, wanted, tile, depth, common)


def _study(
    project: Project,
    builder: Builder,
    wanted: Wanted,
    tile: int | None,
    depth: int | None,
    common: CommonOptions,
) -> int:
    changes = project.transform(tile, depth, trial=tile is not None or depth is not None)
    operations = {site.operation.lower() for change in changes for site in change.sites}
    if not changes:
        note("nothing is transformed here: the original is simulated alone")
    total = (2 if changes else 1) + len(wanted.platforms) * len(wanted.ranks) * (
        4 if changes else 3
    )
    found: list[tuple[Network | Described, Study]] = []
    failed = False
    with _progress(total) as advance:
        original, not_charged = builder.build("original", ())
        advance()
        transformed = None
        if changes:
            transformed, _ = builder.build("transformed", changes)
            advance()
        for platform, count in product(wanted.platforms, wanted.ranks):
            simulator = Simulator(platform, wanted.speed, wanted.timeout)
            try:
                one = study(
                    simulator,
                    original,
                    transformed,
                    count,
                    operations,
                    outputs((), wanted.ignore).standard,
                    wanted.workers,
                    advance,
                )
            except SimulationError as error:
                note(f"{platform.title}: {error}")
                failed = True
                continue
            found.append((platform, one))
    _tell_not_charged(not_charged)
    rows = [study_json(platform.name, one, _draw(platform, one, wanted)) for platform, one in found]
    data = {"version": 1, "program": wanted.name, "runs": rows}
    _keep(wanted.directory, data)
    for platform in wanted.platforms:
        here = [one for other, one in found if other is platform]
        if here:
            lines = study_lines(platform.title, here)
            _show(common, studies_table(platform.title, here), lines)
    if common.format == "json":
        print(json.dumps(data, indent=2))
    note(f"{_RESULTS} and timelines are in {wanted.directory}")
    return int(failed or any(one.difference for _, one in found))


def _sweep(
    project: Project,
    builder: Builder,
    wanted: Wanted,
    choices: Sequence[Tiling],
    common: CommonOptions,
) -> int:
    if not project.transform():
        raise UsageError("nothing is transformed here, so that there is nothing to sweep")
    settings = len(wanted.platforms) * len(wanted.ranks)
    total = 1 + len(choices) + settings * (2 + len(choices))
    found: list[tuple[Network | Described, Sweep]] = []
    failed = False
    with _progress(total) as advance:
        original, not_charged = builder.build("original", ())
        advance()
        programs: dict[Tiling, Program] = {}
        for tiling in choices:
            changes = project.transform(*tiling, trial=True)
            name = f"K={tiling[0]} D={tiling[1]}".replace(" ", "-")
            programs[tiling], _ = builder.build(name, changes)
            advance()
        for platform, count in product(wanted.platforms, wanted.ranks):
            simulator = Simulator(platform, wanted.speed, wanted.timeout)
            likeness = outputs((), wanted.ignore).standard
            try:
                one = sweep(simulator, original, programs, count, likeness, wanted.workers, advance)
            except SimulationError as error:
                note(f"{platform.title}: {error}")
                failed = True
                continue
            found.append((platform, one))
    _tell_not_charged(not_charged)
    rows = [
        sweep_json(platform.name, one, _draw_sweep(platform, one, wanted))
        for platform, one in found
    ]
    data = {"version": 1, "program": wanted.name, "sweeps": rows}
    _keep(wanted.directory, data)
    for platform, one in found:
        table = sweep_table(platform.title, one)
        _show(common, table, sweep_lines(platform.title, one))
    if common.format == "json":
        print(json.dumps(data, indent=2))
    note(f"{_RESULTS} and the curves are in {wanted.directory}")
    return int(failed or any(one.differences or one.failures for _, one in found))


def _choices(
    subject: set[str], tiles: Numbers, depths: Numbers, tile: int | None, depth: int | None
) -> tuple[Tiling, ...]:
    """The K and D of a sweep; what is not swept has the value that is asked for."""
    across = tiles if "tile" in subject else (0 if tile is None else tile,)
    down = depths if "depth" in subject else (DEFAULT_DEPTH if depth is None else depth,)
    return tuple(product(across, down))


def _draw(platform: Network | Described, found: Study, wanted: Wanted) -> tuple[str, ...]:
    """Write the timelines of a study; the names of the files."""
    nodes = "1 rank" if found.ranks == 1 else f"{found.ranks} ranks"
    drawing = Drawing(
        f"{wanted.name}: {nodes}, {platform.title}",
        tuple(
            Version(name, timeline)
            for name, timeline in zip(("original", "transformed"), found.timelines, strict=False)
        ),
    )
    stem = f"timeline-{platform.name}-{found.ranks}"
    write_timelines(drawing, wanted.directory / f"{stem}.html")
    if find_spec("matplotlib") is None:
        note(_NO_MATPLOTLIB)
        return (f"{stem}.html",)
    from asphalt.report.timeline_png import draw_timelines

    draw_timelines(drawing, wanted.directory / f"{stem}.png")
    return f"{stem}.html", f"{stem}.png"


def _draw_sweep(platform: Network | Described, found: Sweep, wanted: Wanted) -> tuple[str, ...]:
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
        console = Output(highlight=False, soft_wrap=True, emoji=False)
        console.print(table)
        for line in lines:
            console.print(line, markup=False)


def _tell_not_charged(found: Sequence[NotCharged]) -> None:
    for one in found[:_SEVERAL]:
        note(f"{one.file}:{one.line}: takes no simulated time: {one.message}")
    if len(found) > _SEVERAL:
        note(f"{len(found) - _SEVERAL} more places take no simulated time")


def _refuse_f08(project: Project) -> None:
    used = project.uses_of("mpi_f08")
    if used:
        raise InputError(
            *used[0], "uses the module mpi_f08, which SMPI does not have; it has mpi and mpif.h"
        )


def _warn_of_speeds(platforms: Sequence[Network | Described], speed: float) -> None:
    for platform in platforms:
        if isinstance(platform, Described):
            theirs = host_speed(platform)
            if theirs is not None and theirs != speed:
                note(
                    f"the hosts of {platform.path} have {theirs:.4g} flop/s: computation takes "
                    f"{speed / theirs:.4g} times as long as on the machine of the costs"
                )


def _name(paths: Sequence[Path]) -> str:
    first = paths[0].absolute()
    return first.name if first.is_dir() else first.stem


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    """A bar on stderr; what it gives is called after each step."""
    columns = (
        TextColumn("simulating"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("simulating", total=total)
        yield lambda: bar.advance(task)
