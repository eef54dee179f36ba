"""Simulates both versions of a program, and compares their times and overlap."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from asphalt.config.errors import UsageError
from asphalt.config.settings import Settings
from asphalt.diagnostics.change import Change
from asphalt.ir.records import record
from asphalt.machine.machine import Machine
from asphalt.output.write import write_tree
from asphalt.running.diagnostics import essence
from asphalt.running.mpi import SMPI
from asphalt.running.process import run
from asphalt.simulation.charged import charge_tree
from asphalt.simulation.hideable import Hideable, hideable
from asphalt.simulation.runs import (
    BuiltProgram,
    Simulation,
    SimulationError,
    Simulator,
    TimedPart,
    output_difference,
)
from asphalt.simulation.timeline import Timeline
from asphalt.simulation.whole_buffers import whole_buffer_operations
from asphalt.transforms.charging.program import NotCharged
from asphalt.verify.builds import Built, Commands, build
from asphalt.verify.compare import Difference
from asphalt.verify.setups import setups


@record
class Builder:
    """Builds versions of a program from its trees, with a machine's costs charged.

    ``machine`` None: the program charges its computation itself.
    """

    paths: tuple[Path, ...]
    commands: Commands
    arguments: tuple[str, ...]
    machine: Machine | None
    settings: Settings
    work: Path

    def build(
        self, name: str, changes: Sequence[Change]
    ) -> tuple[BuiltProgram, tuple[NotCharged, ...]]:
        """Build one version; also returns the computation that takes no simulated time.

        Raises ``UsageError`` with the compiler's first error.
        """
        ((setup,), _) = setups([SMPI.name])
        whole = whole_buffer_operations(changes)
        paths, not_charged = self.paths, tuple[NotCharged, ...]()
        if self.machine is not None:
            mirrored, out = self.work / f"{name}-source", self.work / f"{name}-charged"
            write_tree(paths, changes, mirrored)
            charged = charge_tree(mirrored, out, self.machine, self.settings)
            paths, changes = (out,), ()
            setup = replace(setup, link=(str(self._runtime(charged.runtime)),))
            not_charged = tuple(
                replace(one, file=str(Path(one.file).relative_to(mirrored)))
                for one in charged.not_charged
            )
        built = build(paths, changes, self.work / name, self.commands, setup, keep=False)
        if not isinstance(built, Built):
            raise UsageError(f"the {name} program does not build: {built}")
        program = BuiltProgram(built.directory, built.executable, self.arguments, whole)
        return program, not_charged

    def _runtime(self, source: Path) -> Path:
        """A library of the charging runtime, for builds that do not compile all sources."""
        library = self.work / "libasphalt_charge.a"
        member = self.work / "asphalt_charge.o"
        for command in (
            [SMPI.fixed, "-O2", "-c", str(source), "-o", str(member)],
            ["ar", "rcs", str(library), str(member)],
        ):
            outcome = run(command, self.work, 60.0)
            if outcome.status != 0:
                stderr = outcome.stderr.decode("utf-8", "backslashreplace")
                raise UsageError(f"'{' '.join(command)}' fails here: {essence(stderr)}")
        return library


@record
class Study:
    """A program on one platform and number of ranks; all times in simulated seconds.

    ``transformed`` None: nothing was transformed.  ``computation`` and ``communication`` are those
    of the original, each alone.  ``difference``: how the outputs of both versions differ;
    ``written``: the patterns of compared files that a run wrote.  ``tiled``: whether the
    transformed program, which can choose, tiled any of its exchanges; None: it has no choice.
    """

    ranks: int
    original: float
    transformed: float | None
    computation: float
    communication: float
    hideable: Hideable | None
    difference: Difference | None
    timelines: tuple[Timeline, ...]
    written: frozenset[str] = frozenset()
    whole_buffers: tuple[str, ...] = ()
    tiled: bool | None = None

    @property
    def exposed(self) -> tuple[float, float | None]:
        """The exposed communication of each version: its time beyond computation alone."""
        after = None if self.transformed is None else self.transformed - self.computation
        return self.original - self.computation, after

    @property
    def to_hide(self) -> float:
        """The seconds that can be hidden at best.

        Of exchanges that leave in tiles, what their producers can hide.  Else all the time beyond
        the computation: messages overlap with computation behind them and with each other, too, so
        that the communication alone, one call after the other, bounds nothing.
        """
        return self.exposed[0] if self.hideable is None else self.hideable.seconds

    @property
    def efficiency(self) -> float | None:
        """The part hidden of what can be hidden; None if nothing can be, or was tried."""
        if self.transformed is None or self.to_hide <= 0:
            return None
        return (self.original - self.transformed) / self.to_hide

    @property
    def speed_up(self) -> float | None:
        """How many times faster the transformed program is."""
        return None if self.transformed is None else self.original / self.transformed


def study(
    simulator: Simulator,
    original: BuiltProgram,
    transformed: BuiltProgram | None,
    ranks: int,
    operations: Collection[str],
    workers: int,
    advance: Callable[[], None],
) -> Study:
    """Simulate both versions, and the original's computation and communication alone.

    ``operations``: the MPI procedures whose exchanges leave in tiles, in lower case; none if
    anything else was transformed.  ``advance`` is called when a run has ended.  Raises
    ``SimulationError`` if one fails.
    """

    def one(task: tuple[str, BuiltProgram, TimedPart, bool]) -> Simulation:
        name, program, part, trace = task
        try:
            found = simulator.run(program, ranks, part, trace)
        except SimulationError as error:
            raise SimulationError(f"{name} on {ranks} ranks: {error}") from None
        advance()
        return found

    tasks = [
        ("the original", original, TimedPart.WHOLE, True),
        ("the original's computation alone", original, TimedPart.COMPUTATION, False),
        ("the original's communication alone", original, TimedPart.COMMUNICATION, False),
    ]
    if transformed is not None:
        tasks.append(("the transformed program", transformed, TimedPart.WHOLE, True))
    with ThreadPoolExecutor(workers) as pool:
        whole, computation, communication, *rest = pool.map(one, tasks)
    after = rest[0] if rest else None
    timelines = tuple(run.timeline for run in (whole, after) if run is not None and run.timeline)
    return Study(
        ranks,
        whole.seconds,
        None if after is None else after.seconds,
        computation.seconds,
        communication.seconds,
        hideable(timelines[0], operations) if timelines and operations else None,
        None if after is None else output_difference(whole, after, simulator.compared),
        timelines,
        whole.written | (frozenset() if after is None else after.written),
        () if transformed is None else transformed.whole_buffers,
        after.tiled if after is not None and operations else None,
    )
