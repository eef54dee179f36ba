"""The options that say what decides which steps for transfers are kept: a model, or simulations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from asphalt.cli.build_options import Building, build_options
from asphalt.cli.numbers import RANKS as RANKS_LIMITS
from asphalt.cli.numbers import Numbers, numbers_option
from asphalt.cli.options import PATHS
from asphalt.cli.simulated_program import FLAGS, RANKS, SECONDS, builder_of, warn_of_speeds
from asphalt.config.errors import UsageError
from asphalt.config.passes import TRANSFERS
from asphalt.machine.choose import DEFAULT, chosen
from asphalt.machine.machine import load_machine
from asphalt.project import Judges, Project
from asphalt.running.mpi import SMPI
from asphalt.simulation.judge import SimulatedTimes
from asphalt.simulation.runs import Simulator

MODEL, SIMULATION = "model", "simulation"


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """What the user said about judging; None and () where nothing was given."""

    by: str
    building: Building
    flags: str | None
    arguments: str | None
    ranks: Numbers | None
    platforms: tuple[str, ...]
    machine: Path | None
    timeout: float | None

    @contextmanager
    def judges(self, project: Project, paths: tuple[Path, ...]) -> Iterator[Judges | None]:
        """What judges the steps; None: the usual model.

        Raises ``UsageError`` where there is nothing to be judged or no SMPI, and for options that
        only a simulation has.
        """
        if self.by == MODEL:
            self._refuse_options()
            yield None
            return
        if not set(project.settings.passes) & set(TRANSFERS):
            raise UsageError(
                f"--judge {SIMULATION}: no step is judged without passes for transfers; ask for "
                "them, with --passes transfers, say"
            )
        SMPI.require()
        ranks = self.ranks or (int(RANKS),)
        platforms = chosen(self.platforms or (DEFAULT,))
        for platform in platforms:
            platform.xml(max(ranks), 1.0)  # refuses what has too few hosts before anything is built
        costs = load_machine(self.machine)
        warn_of_speeds(platforms, costs.speed)
        seconds = SECONDS if self.timeout is None else self.timeout
        simulators = [Simulator(platform, costs.speed, seconds) for platform in platforms]
        given = FLAGS if self.flags is None else self.flags, self.arguments or ""
        with builder_of(project, paths, self.building, *given, seconds, costs) as builder:
            times = SimulatedTimes(builder, simulators, ranks, project.content)
            with Console(stderr=True).status("simulating steps"):
                yield times.beside

    def _refuse_options(self) -> None:
        given = {
            "--build": self.building.build,
            "--compile": self.building.compile,
            "--exe": self.building.executable,
            "--flags": self.flags,
            "--arguments": self.arguments,
            "--np": self.ranks,
            "--platform": self.platforms or None,
            "--machine": self.machine,
            "--timeout": self.timeout,
        }
        for name, value in given.items():
            if value is not None:
                raise UsageError(f"{name} is for --judge {SIMULATION}; without it, nothing is run")


def judge_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of judging, as one argument ``judging``."""

    @wraps(command)
    def with_judging(
        *args: Any,
        judge: str,
        building: Building,
        judge_flags: str | None,
        judge_arguments: str | None,
        judge_ranks: Numbers | None,
        judge_platforms: tuple[str, ...],
        judge_machine: Path | None,
        judge_timeout: float | None,
        **kwargs: Any,
    ) -> Any:
        judging = JudgeOptions(
            judge,
            building,
            judge_flags,
            judge_arguments,
            judge_ranks,
            judge_platforms,
            judge_machine,
            judge_timeout,
        )
        return command(*args, judging=judging, **kwargs)

    for option in reversed(_OPTIONS):
        with_judging = option(with_judging)
    return with_judging


_OPTIONS = (
    click.option(
        "--judge",
        type=click.Choice((MODEL, SIMULATION)),
        default=MODEL,
        show_default=True,
        help="What decides which steps for transfers are kept; a simulation builds and runs the "
        "program with each of them (the options below are for that).",
    ),
    build_options(f"{{fc}} {FLAGS} {{sources}} -o {{exe}}"),
    click.option("--flags", "judge_flags", help=f"Flags of the default line (else {FLAGS})."),
    click.option(
        "--arguments", "judge_arguments", metavar="TEXT", help="What the program is called with."
    ),
    numbers_option(
        "--np",
        "--ranks",
        "judge_ranks",
        limits=RANKS_LIMITS,
        metavar="N,...",
        help=f"Numbers of ranks that are simulated (else {RANKS}).",
    ),
    click.option(
        "--platform",
        "judge_platforms",
        multiple=True,
        metavar="NAME|FILE.xml",
        help=f"Clusters that are simulated, as 'asphalt simulate' has them (else {DEFAULT}).",
    ),
    click.option(
        "--machine",
        "judge_machine",
        type=PATHS,
        metavar="FILE",
        help="What operations cost (else a usual machine).",
    ),
    click.option(
        "--timeout",
        "judge_timeout",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help=f"A build or run that takes longer is stopped (else {SECONDS:g}).",
    ),
)
