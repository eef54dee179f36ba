"""What a transformation would gain: both versions simulated, their times taken apart, compared."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from asphalt.errors import UsageError
from asphalt.output.write import write_tree
from asphalt.project import Change
from asphalt.running.mpi import SMPI
from asphalt.simulation.hideable import Hideable, hideable
from asphalt.simulation.runs import Part, Program, Simulation, SimulationError, Simulator
from asphalt.simulation.timeline import Timeline
from asphalt.verify.builds import Built, Commands, build
from asphalt.verify.compare import Difference, Likeness, text_difference
from asphalt.verify.setups import setups

Charge = Callable[[Path, Path], None]
"""Mirrors a tree into another directory with the cost of its computation charged."""


@dataclass(frozen=True, slots=True)
class Builder:
    """How versions are built: the trees, the command, and what charges computation.

    ``charge`` None: the program charges its computation itself.
    """

    paths: tuple[Path, ...]
    commands: Commands
    arguments: tuple[str, ...]
    charge: Charge | None
    work: Path

    def build(self, name: str, changes: Sequence[Change]) -> Program:
        """Build one version; raises ``UsageError`` with the compiler's first error."""
        paths = self.paths
        if self.charge is not None:
            mirrored, charged = self.work / f"{name}-source", self.work / f"{name}-charged"
            write_tree(paths, changes, mirrored)
            self.charge(mirrored, charged)
            paths, changes = (charged,), ()
        ((setup,), _) = setups([SMPI.name])
        built = build(paths, changes, self.work / name, self.commands, setup, keep=False)
        if not isinstance(built, Built):
            raise UsageError(f"the {name} program does not build: {built}")
        return Program(built.directory, built.executable, self.arguments)


@dataclass(frozen=True, slots=True)
class Study:
    """One program on one platform and number of ranks; all times in simulated seconds.

    ``transformed`` None: nothing was transformed.  ``computation`` and ``communication`` are those
    of the original, each alone.  ``difference``: how the outputs of both versions differ.
    """

    ranks: int
    original: float
    transformed: float | None
    computation: float
    communication: float
    hideable: Hideable | None
    difference: Difference | None
    timelines: tuple[Timeline, ...]

    @property
    def exposed(self) -> tuple[float, float | None]:
        """What is left of communication in either version: its time beyond computation alone."""
        after = None if self.transformed is None else self.transformed - self.computation
        return self.original - self.computation, after

    @property
    def to_hide(self) -> float:
        """The seconds that can be hidden at best."""
        if self.hideable is not None:
            return self.hideable.seconds
        return self.original - max(self.computation, self.communication)

    @property
    def efficiency(self) -> float | None:
        """The part of what can be hidden that is; None where nothing can, or nothing was tried."""
        if self.transformed is None or self.to_hide <= 0:
            return None
        return (self.original - self.transformed) / self.to_hide

    @property
    def speed_up(self) -> float | None:
        """How many times faster the transformed program is."""
        return None if self.transformed is None else self.original / self.transformed


def study(
    simulator: Simulator,
    original: Program,
    transformed: Program | None,
    ranks: int,
    operations: Collection[str],
    likeness: Likeness,
    workers: int,
    advance: Callable[[], None],
) -> Study:
    """Simulate both versions, and the original's computation and communication alone.

    ``operations``: the MPI procedures that were transformed, in lower case.  ``likeness``: when
    both versions' outputs count as equal.  ``advance`` is called when a run has ended.  Raises
    ``SimulationError`` if one fails.
    """

    def one(task: tuple[str, Program, Part, bool]) -> Simulation:
        name, program, part, trace = task
        try:
            found = simulator.run(program, ranks, part, trace)
        except SimulationError as error:
            raise SimulationError(f"{name} on {ranks} ranks: {error}") from None
        advance()
        return found

    tasks = [
        ("the original", original, Part.WHOLE, True),
        ("the original's computation alone", original, Part.COMPUTATION, False),
        ("the original's communication alone", original, Part.COMMUNICATION, False),
    ]
    if transformed is not None:
        tasks.append(("the transformed program", transformed, Part.WHOLE, True))
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
        hideable(timelines[0], operations) if timelines else None,
        None if after is None else text_difference(whole.stdout, after.stdout, likeness),
        timelines,
    )
