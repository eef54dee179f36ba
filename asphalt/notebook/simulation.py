"""Simulated runs of a plan: times, a timeline, and curves over K and D."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from asphalt import project as core
from asphalt.config.passes import Pass
from asphalt.diagnostics.change import Change
from asphalt.machine.choose import chosen
from asphalt.machine.machine import load_machine
from asphalt.machine.platform_files import Described
from asphalt.machine.platforms import Network
from asphalt.notebook.html import picture, table
from asphalt.report.simulated import study_rows
from asphalt.report.slowdown import Slowdown, draw_slowdown
from asphalt.report.timeline_data import Drawing, Version, time_text
from asphalt.report.timeline_png import draw_timelines
from asphalt.running.mpi import SMPI, rank_count
from asphalt.simulation.runs import Simulator
from asphalt.simulation.study import Builder, Study, study
from asphalt.simulation.sweep import Sweep, Tiling, sweep
from asphalt.verify.builds import Commands

_CHARGES_ITSELF = "smpi_execute_flops"
_COMPILES = "{fc} -O2 {sources} -o {exe}"


@dataclass(frozen=True)
class Simulated:
    """Both versions on one cluster; all times in simulated seconds.  A notebook shows a table and
    the timeline.

    ``study``: with the times of computation and of communication alone, too.
    """

    title: str
    study: Study

    @property
    def original(self) -> float:
        """The time of the original program."""
        return self.study.original

    @property
    def transformed(self) -> float | None:
        """The time of the transformed program; None: nothing was transformed."""
        return self.study.transformed

    @property
    def equal(self) -> bool:
        """Whether both versions print the same."""
        return self.study.difference is None

    def timeline(self) -> bytes:
        """A picture (PNG) of what each rank does when, the original above the transformed."""
        names = ("original", "transformed")
        found = zip(names, self.study.timelines, strict=False)
        drawing = Drawing(self.title, tuple(Version(name, one) for name, one in found))
        with tempfile.TemporaryDirectory(prefix="asphalt-timeline-") as folder:
            path = Path(folder) / "timeline.png"
            draw_timelines(drawing, path)
            return path.read_bytes()

    def __repr__(self) -> str:
        after = "nothing transformed"
        if self.transformed is not None:
            after = time_text(self.transformed)
        return f"<Simulated: {self.title}: {time_text(self.original)} to {after}>"

    def _repr_html_(self) -> str:
        rows = study_rows(self.study)
        return table((self.title, rank_count(self.study.ranks)), rows, (1,)) + picture(
            self.timeline(), f"Timeline: {self.title}"
        )


@dataclass(frozen=True)
class Swept:
    """Simulated times for several K and D.  A notebook shows the curves.

    ``sweep``: simulated seconds of each, of the original, and of its computation alone.
    """

    title: str
    sweep: Sweep

    @property
    def seconds(self) -> Mapping[Tiling, float]:
        """The time for each (K, D); K = 0: chosen at run time."""
        return self.sweep.seconds

    @property
    def best(self) -> Tiling | None:
        """The (K, D) of the shortest time; None: no run succeeded."""
        return min(self.seconds, key=lambda one: (self.seconds[one], one), default=None)

    def curve(self) -> bytes:
        """A picture (PNG): time divided by that of the computation alone, over K."""
        found = self.sweep
        curves = Slowdown(self.title, found.original, found.computation, found.seconds)
        with tempfile.TemporaryDirectory(prefix="asphalt-curve-") as folder:
            path = Path(folder) / "curve.png"
            draw_slowdown(curves, path)
            return path.read_bytes()

    def __repr__(self) -> str:
        return f"<Swept: {self.title}: {len(self.seconds)} times, best at K, D = {self.best}>"

    def _repr_html_(self) -> str:
        rows = [
            ("on entry" if tile == 0 else str(tile), str(depth), time_text(seconds))
            for (tile, depth), seconds in sorted(self.seconds.items())
        ]
        rows.append(("original", "", time_text(self.sweep.original)))
        return picture(self.curve(), f"Slowdown: {self.title}") + table(
            ("K", "D", "time"), rows, (0, 1, 2)
        )


def simulated(
    project: core.Project,
    changes: Sequence[Change],
    ranks: int,
    platform: str,
    build: str | None,
    arguments: str,
    timeout: float,
) -> Simulated:
    """Simulate the original program and one with these changes."""
    sites = [site for change in changes for site in change.sites]
    tiled = bool(sites) and all(Pass.PREPUSH in site.passes for site in sites)
    operations = {site.operation.lower() for site in sites} if tiled else ()
    with _simulator(project, platform, build, arguments, timeout) as (network, simulator, builder):
        original, _ = builder.build("original", ())
        transformed = builder.build("transformed", changes)[0] if changes else None
        found = study(simulator, original, transformed, ranks, operations, _workers(), lambda: None)
    return Simulated(f"{rank_count(ranks)}, {network.title}", found)


def swept(
    project: core.Project,
    plans: Mapping[Tiling, Sequence[Change]],
    ranks: int,
    platform: str,
    build: str | None,
    arguments: str,
    timeout: float,
) -> Swept:
    """Simulate the original program and those with these changes."""
    with _simulator(project, platform, build, arguments, timeout) as (network, simulator, builder):
        original, _ = builder.build("original", ())
        programs = {
            tiling: builder.build(f"K={tiling[0]}-D={tiling[1]}", changes)[0]
            for tiling, changes in plans.items()
        }
        found = sweep(simulator, original, programs, ranks, _workers(), lambda: None)
    return Swept(f"{rank_count(ranks)}, {network.title}", found)


def _workers() -> int:
    return os.cpu_count() or 1


@contextmanager
def _simulator(
    project: core.Project, platform: str, build: str | None, arguments: str, timeout: float
) -> Iterator[tuple[Network | Described, Simulator, Builder]]:
    SMPI.require()
    (network,) = chosen((platform,))
    costs = load_machine()
    itself = project.mentions(_CHARGES_ITSELF)
    with tempfile.TemporaryDirectory(prefix="asphalt-simulate-") as work:
        builder = Builder(
            project.roots,
            Commands(build or _COMPILES, "{launcher} -np {ranks} {exe}", timeout),
            tuple(shlex.split(arguments)),
            None if itself else costs,
            project.settings,
            Path(work),
        )
        yield network, Simulator(network, costs.speed, timeout), builder
