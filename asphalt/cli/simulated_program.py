"""Builds the program to simulate, for every subcommand that simulates."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from asphalt.cli.build_options import Building
from asphalt.cli.session import note
from asphalt.config.errors import InputError
from asphalt.machine.machine import Machine
from asphalt.machine.platform_files import Described, host_speed
from asphalt.machine.platforms import Network
from asphalt.project import Project
from asphalt.simulation.study import Builder
from asphalt.verify.builds import Commands

FLAGS = "-O2"
RANKS = "16"
SECONDS = 600.0
_FLOPS = "smpi_execute_flops"


@contextmanager
def builder_of(
    project: Project,
    paths: tuple[Path, ...],
    building: Building,
    flags: str,
    arguments: str,
    timeout: float,
    costs: Machine,
) -> Iterator[Builder]:
    """A builder of the versions of a program, in a temporary directory.

    ``timeout``: of a build, in seconds.  Raises ``InputError`` for a program that SMPI cannot run.
    """
    _refuse_f08(project)
    charges_itself = project.mentions(_FLOPS)
    if charges_itself:
        note(f"the program calls {_FLOPS}, so asphalt adds no charges for its computation")
    line = building.line_of(flags, project.settings.defines)
    with tempfile.TemporaryDirectory(prefix="asphalt-simulate-") as work:
        yield Builder(
            paths,
            Commands(line, "{launcher} -np {ranks} {exe}", timeout, building.executable),
            tuple(shlex.split(arguments)),
            None if charges_itself else costs,
            project.settings,
            Path(work),
        )


def _refuse_f08(project: Project) -> None:
    used = project.uses_of("mpi_f08")
    if used:
        raise InputError(
            *used[0],
            "uses the module mpi_f08, which SMPI does not have; it has mpi and mpif.h; "
            "measure the gain by running both versions on the machine itself",
        )


def warn_of_speeds(platforms: Sequence[Network | Described], speed: float) -> None:
    """Note which platforms have hosts of another speed than the machine of the costs."""
    for platform in platforms:
        if isinstance(platform, Described):
            theirs = host_speed(platform)
            if theirs is not None and theirs != speed:
                note(
                    f"the hosts of {platform.path} have {theirs:.4g} flop/s: computation takes "
                    f"{speed / theirs:.4g} times as long as on the machine of the costs"
                )
