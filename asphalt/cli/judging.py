"""The options for judging steps for transfers: by the cost model, or by simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import click

from asphalt.cli.build_options import Building, build_options
from asphalt.cli.numbers import RANKS as RANKS_LIMITS
from asphalt.cli.numbers import Numbers, numbers_option
from asphalt.cli.options import PATHS
from asphalt.cli.simulated_program import FLAGS, RANKS, SECONDS, builder_of, warn_of_speeds
from asphalt.config.errors import UsageError
from asphalt.config.passes import OF_TRANSFERS
from asphalt.ir.records import record
from asphalt.machine.choose import DEFAULT, chosen
from asphalt.machine.machine import load_machine
from asphalt.project import Judges, Project
from asphalt.running.mpi import SMPI
from asphalt.simulation.judge import SimulatedTimes
from asphalt.simulation.runs import Simulator

MODEL, SIMULATION = "model", "simulation"


@record
class JudgeOptions:
    """The values of the judging options; None and () for options that are not given."""

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
        """The judges of the steps; None: the cost model.

        Raises ``UsageError`` if no passes for transfers are chosen, if SMPI is missing, and for
        options of the simulation without a simulation.
        """
        if self.by == MODEL:
            self._refuse_options()
            yield None
            return
        if not set(project.settings.passes) & set(OF_TRANSFERS):
            raise UsageError(
                f"--judge {SIMULATION}: only steps for transfers are judged; choose passes for "
                "them, e.g. --passes transfers"
            )
        SMPI.require()
        ranks = self.ranks or (int(RANKS),)
        platforms = chosen(self.platforms or (DEFAULT,))
        for platform in platforms:
            platform.xml(max(ranks), 1.0)  # refuses a platform with too few hosts early
        costs = load_machine(self.machine)
        warn_of_speeds(platforms, costs.speed)
        seconds = SECONDS if self.timeout is None else self.timeout
        simulators = [Simulator(platform, costs.speed, seconds) for platform in platforms]
        given = FLAGS if self.flags is None else self.flags, self.arguments or ""
        with builder_of(project, paths, self.building, *given, seconds, costs) as builder:
            times = SimulatedTimes(builder, simulators, ranks, project.content)
            yield times.with_changes

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
                raise UsageError(f"{name} needs --judge {SIMULATION}: without it, no program runs")


def judge_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the judging options to a command, which gets them as one argument ``judging``."""

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
        help="How to decide which steps for transfers are kept. A simulation builds and runs the "
        "program with each step (the options below are for that).",
    ),
    build_options(f"{{fc}} {FLAGS} {{sources}} -o {{exe}}"),
    click.option("--flags", "judge_flags", help=f"Flags of the default command (else {FLAGS})."),
    click.option(
        "--arguments", "judge_arguments", metavar="TEXT", help="The arguments of the program."
    ),
    numbers_option(
        "--np",
        "--ranks",
        "judge_ranks",
        limits=RANKS_LIMITS,
        metavar="N,...",
        help=f"Numbers of ranks to simulate (else {RANKS}).",
    ),
    click.option(
        "--platform",
        "judge_platforms",
        multiple=True,
        metavar="NAME|FILE.xml",
        help=f"Clusters to simulate, as for 'asphalt simulate' (else {DEFAULT}).",
    ),
    click.option(
        "--machine",
        "judge_machine",
        type=PATHS,
        metavar="FILE",
        help="Machine file: the costs of operations (else a typical machine).",
    ),
    click.option(
        "--timeout",
        "judge_timeout",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help=f"Time limit of each build and run (else {SECONDS:g}).",
    ),
)
