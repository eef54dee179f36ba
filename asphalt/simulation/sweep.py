"""One program at many K and D on one platform and number of ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from asphalt.simulation.runs import Part, Program, Simulation, SimulationError, Simulator
from asphalt.verify.compare import Likeness, text_difference

Tiling = tuple[int, int]
"""K and D; K = 0: chosen on entry."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """Simulated times in seconds: of the original, of its computation alone, and of the transformed
    program for each K and D.  ``differences``: how an output differs from the original's;
    ``failures``: why there is no time."""

    ranks: int
    original: float
    computation: float
    seconds: Mapping[Tiling, float]
    differences: Mapping[Tiling, str]
    failures: Mapping[Tiling, str]

    @property
    def best(self) -> Tiling | None:
        """The K and D of the shortest time."""
        return min(self.seconds, key=lambda one: (self.seconds[one], one), default=None)


def sweep(
    simulator: Simulator,
    original: Program,
    transformed: Mapping[Tiling, Program],
    ranks: int,
    likeness: Likeness,
    workers: int,
    advance: Callable[[], None],
) -> Sweep:
    """Simulate every program; ``advance`` is called when a run has ended.

    Raises ``SimulationError`` if the original cannot be run.
    """

    def one(task: tuple[Program, Part]) -> Simulation | SimulationError:
        try:
            found: Simulation | SimulationError = simulator.run(task[0], ranks, task[1])
        except SimulationError as error:
            found = error
        advance()
        return found

    tasks = [(original, Part.WHOLE), (original, Part.COMPUTATION)]
    tasks += [(program, Part.WHOLE) for program in transformed.values()]
    with ThreadPoolExecutor(workers) as pool:
        whole, computation, *rest = pool.map(one, tasks)
    for found in (whole, computation):
        if isinstance(found, SimulationError):
            raise SimulationError(f"the original on {ranks} ranks: {found}")
    assert isinstance(whole, Simulation)
    assert isinstance(computation, Simulation)
    seconds: dict[Tiling, float] = {}
    differences: dict[Tiling, str] = {}
    failures: dict[Tiling, str] = {}
    for tiling, run in zip(transformed, rest, strict=True):
        if isinstance(run, SimulationError):
            failures[tiling] = str(run)
            continue
        seconds[tiling] = run.seconds
        difference = text_difference(whole.stdout, run.stdout, likeness)
        if difference is not None:
            differences[tiling] = difference.message
    return Sweep(ranks, whole.seconds, computation.seconds, seconds, differences, failures)
