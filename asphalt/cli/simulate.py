"""``asphalt simulate``: what the transformation would gain, on a simulated cluster."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import click

from asphalt.cli.build_options import Building, build_options, copied_paths, tree_option
from asphalt.cli.command import Command
from asphalt.cli.numbers import RANKS as RANKS_LIMITS
from asphalt.cli.numbers import Numbers, numbers_option
from asphalt.cli.options import (
    PATHS,
    CommonOptions,
    any_order_option,
    arguments_option,
    assume_option,
    common_options,
    depth_option,
    ignore_option,
    output_option,
    tile_option,
)
from asphalt.cli.session import PipeConsole, open_project
from asphalt.cli.simulate_runs import SimulationRequest, run_study, run_sweep
from asphalt.cli.simulated_program import FLAGS, RANKS, SECONDS, builder_of, warn_of_speeds
from asphalt.config.limits import DEPTH, TILE
from asphalt.machine.choose import DEFAULT, chosen
from asphalt.machine.machine import load_machine
from asphalt.project import DEFAULT_DEPTH, Project
from asphalt.report.simulated import (
    platforms_table,
)
from asphalt.running.mpi import SMPI
from asphalt.simulation.sweep import Tiling
from asphalt.verify.files import outputs
from asphalt.verify.main_programs import refuse_several_mains

SUBJECTS = {"tile": {"tile"}, "depth": {"depth"}, "tile,depth": {"tile", "depth"}}


def _list_platforms(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        PipeConsole(highlight=False, soft_wrap=True).print(platforms_table())
        ctx.exit()


@click.command(cls=Command)
@click.argument("paths", nargs=-1, required=True, type=PATHS, metavar="PATH...")
@build_options("{fc} FLAGS {sources} -o {exe}")
@tree_option
@click.option("--flags", default=FLAGS, show_default=True, help="Flags of the default command.")
@arguments_option
@numbers_option(
    "--np",
    "--ranks",
    "ranks",
    limits=RANKS_LIMITS,
    default=RANKS,
    metavar="N,...",
    help="Numbers of ranks; each rank has a node of its own.",
)
@click.option(
    "--platform",
    "platform_names",
    multiple=True,
    default=(DEFAULT,),
    show_default=True,
    metavar="NAME|FILE.xml",
    help="The cluster: a built-in one, or a platform file of SimGrid.",
)
@click.option(
    "--list-platforms",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_platforms,
    help="List the built-in clusters.",
)
@click.option(
    "--overhead",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="With FILE.xml: processor time of a message at either end.  [default: 1e-06]",
)
@click.option(
    "--test",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="With FILE.xml: processor time of an MPI_Test.  [default: 1e-07]",
)
@click.option(
    "--machine",
    type=PATHS,
    metavar="FILE",
    help="Machine file: the costs of operations (else a typical machine).",
)
@tile_option
@depth_option
@click.option(
    "--sweep",
    "subject",
    type=click.Choice(list(SUBJECTS)),
    help="Simulate several K, D or both, and draw the slowdown by communication.",
)
@numbers_option("--tiles", limits=TILE, default="1,2,4,8", metavar="K,...", help="K of a sweep.")
@numbers_option("--depths", limits=DEPTH, default="1,2,4", metavar="D,...", help="D of a sweep.")
@output_option
@ignore_option
@any_order_option
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="Time limit of each build and run on this machine.",
)
@click.option(
    "-o",
    "--results",
    "directory",
    type=PATHS,
    default=Path("asphalt-simulation"),
    show_default=True,
    metavar="DIR",
    help="Directory for pictures and results.",
)
@common_options
@assume_option
def simulate(
    paths: tuple[Path, ...],
    building: Building,
    tree: Path | None,
    flags: str,
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
    output_texts: tuple[str, ...],
    ignore: tuple[str, ...],
    any_order: bool,
    timeout: float,
    directory: Path,
    common: CommonOptions,
    assume: tuple[str, ...],
) -> int:
    """Simulate the original and the transformed program: times, hidden communication, timelines.

    The machine file gives the cost of computation, the platform that of messages.  Nothing is
    timed, so that every run gives the same digits.  Exits with 1 if outputs differ or a run fails.
    """
    compared = outputs(output_texts, ignore, any_order)
    copied = copied_paths(paths, tree)
    SMPI.require()
    platforms = chosen(platform_names, overhead, test)
    for platform in platforms:
        platform.xml(max(ranks), 1.0)  # refuses a platform with too few hosts early
    costs = load_machine(machine)
    warn_of_speeds(platforms, costs.speed)
    project = open_project(paths, common, assume)
    refuse_several_mains(project, building.line("{sources}"))
    wanted = SimulationRequest(
        _name(project, paths),
        platforms,
        costs.speed,
        ranks,
        timeout,
        common.jobs or os.cpu_count() or 1,
        compared,
        directory,
    )
    with builder_of(project, copied, building, flags, arguments, timeout, costs) as builder:
        if subject is not None:
            choices = _choices(SUBJECTS[subject], tiles, depths, tile, depth)
            return run_sweep(project, builder, wanted, choices, common)
        return run_study(project, builder, wanted, tile, depth, common)


def _choices(
    subject: set[str], tiles: Numbers, depths: Numbers, tile: int | None, depth: int | None
) -> tuple[Tiling, ...]:
    """The K and D of a sweep; --tile or --depth gives the one that is not swept.

    K = 0, the default, is always among them.
    """
    usual = DEFAULT_DEPTH if depth is None else depth
    across = tiles if "tile" in subject else (0 if tile is None else tile,)
    down = depths if "depth" in subject else (usual,)
    on_entry = () if 0 in across else ((0, usual),)
    return (*on_entry, *product(across, down))


def _name(project: Project, paths: Sequence[Path]) -> str:
    """The name of the main program; unless there is exactly one, of the file or directory."""
    if len(project.main_names) == 1:
        return project.main_names[0]
    first = paths[0].absolute()
    return first.name if first.is_dir() else first.stem
