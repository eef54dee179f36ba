"""``asphalt calibrate``: measures the cost of computation on this machine."""

from __future__ import annotations

import os
import platform
import shlex
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from asphalt.cli.command import Command
from asphalt.cli.options import PATHS
from asphalt.cli.progress import progress
from asphalt.cli.session import note
from asphalt.config.errors import UsageError
from asphalt.machine.machine_file import machine_text
from asphalt.output.atomic import write_atomically
from asphalt.simulation.calibration import Calibration
from asphalt.simulation.calibration import calibrate as calibrated
from asphalt.simulation.calibration_runs import steps


@click.command(cls=Command)
@click.option("-o", "--output", type=PATHS, metavar="FILE.toml", help="Write the machine file.")
@click.option(
    "--fc", default="gfortran", show_default=True, metavar="COMMAND", help="The Fortran compiler."
)
@click.option(
    "--flags", default="-O2", show_default=True, metavar="FLAGS", help="The flags of the compiler."
)
@click.option("--name", metavar="NAME", help="The name of the machine (else its host name).")
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="How often each loop is timed.",
)
def calibrate(output: Path | None, fc: str, flags: str, name: str | None, repeats: int) -> int:
    """Time small loops on this machine and fit the cost of each class of operations to them.

    asphalt measures processor time and takes the minimum of all repeats, so that other work on the
    machine does little harm.  Compile your programs with the same flags.
    """
    if output is not None:
        _refuse_unwritable(output)
    own = name or platform.node() or "this machine"
    note(f"timing small loops, {repeats} times each; 50 times take about a minute")
    with progress("timing", steps(repeats)) as advance:
        found = calibrated(fc, shlex.split(flags), own, repeats, advance)
    _show(found)
    if output is not None:
        write_atomically(output, machine_text(found.machine).encode(), 0o644)
        note(f"machine file written to {output}")
    return 0


def _refuse_unwritable(file: Path) -> None:
    """Raise ``UsageError`` before the timing begins if the machine file cannot be written."""
    place = next(folder for folder in file.absolute().parents if folder.exists())
    if file.is_dir() or not place.is_dir() or not os.access(place, os.W_OK):
        raise UsageError(
            f"--output {file}: cannot be written; choose a directory that you may write to"
        )


def _show(found: Calibration) -> None:
    console = Console()
    costs = Table(title="Nanoseconds of an operation", title_justify="left")
    for heading, side in (("class", "left"), ("busy", "right"), ("until its result", "right")):
        costs.add_column(heading, justify=side)  # type: ignore[arg-type]
    for kind, seconds in found.machine.seconds.items():
        wait = found.machine.latency.get(kind)
        costs.add_row(kind, f"{seconds * 1e9:.2f}", "" if wait is None else f"{wait * 1e9:.2f}")
    console.print(costs)
    loops = Table(title="The loops that were timed", title_justify="left")
    for heading, side in (("loop", "left"), ("ns", "right"), ("fit", "right"), ("off", "right")):
        loops.add_column(heading, justify=side)  # type: ignore[arg-type]
    for loop in found.loops:
        off = loop.fitted / loop.measured - 1
        loops.add_row(
            loop.name, f"{loop.measured * 1e9:.0f}", f"{loop.fitted * 1e9:.0f}", f"{off:+.0%}"
        )
    console.print(loops)
