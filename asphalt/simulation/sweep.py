"""Simulates one program with many K and D, on one platform and number of ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from asphalt.ir.records import record
from asphalt.simulation.runs import (
    BuiltProgram,
    Simulation,
    SimulationError,
    Simulator,
    TimedPart,
    output_difference,
)

Tiling = tuple[int, int]
"""K and D; K = 0: chosen at run time."""


@record
class Sweep:
    """Simulated seconds of the original, of its computation alone, and for each K and D.

    ``differences``: how an output differs from the original's; ``failures``: why there is no time;
    ``written``: the patterns of compared files that a run wrote.
    """

    ranks: int
    original: float
    computation: float
    seconds: Mapping[Tiling, float]
    differences: Mapping[Tiling, str]
    failures: Mapping[Tiling, str]
    written: frozenset[str] = frozenset()

    @property
    def best_tiled(self) -> Tiling | None:
        """The K and D of the shortest time with a K that is given and the original's output."""
        return self._best(lambda tile: tile > 0)

    @property
    def best_on_entry(self) -> Tiling | None:
        """The D of the shortest time with K chosen at run time and the original's output."""
        return self._best(lambda tile: tile == 0)

    def _best(self, wanted: Callable[[int], bool]) -> Tiling | None:
        right = (one for one in self.seconds if wanted(one[0]) and one not in self.differences)
        return min(right, key=lambda one: (self.seconds[one], one), default=None)


def sweep(
    simulator: Simulator,
    original: BuiltProgram,
    transformed: Mapping[Tiling, BuiltProgram],
    ranks: int,
    workers: int,
    advance: Callable[[], None],
) -> Sweep:
    """Simulate every program; ``advance`` is called when a run has ended.

    Raises ``SimulationError`` if the original cannot be run.
    """

    def one(task: tuple[BuiltProgram, TimedPart]) -> Simulation | SimulationError:
        try:
            found: Simulation | SimulationError = simulator.run(task[0], ranks, task[1])
        except SimulationError as error:
            found = error
        advance()
        return found

    tasks = [(original, TimedPart.WHOLE), (original, TimedPart.COMPUTATION)]
    tasks += [(program, TimedPart.WHOLE) for program in transformed.values()]
    with ThreadPoolExecutor(workers) as pool:
        whole, computation, *rest = pool.map(one, tasks)
    for found in (whole, computation):
        if isinstance(found, SimulationError):
            raise SimulationError(f"the original on {ranks} ranks: {found}")
    assert isinstance(whole, Simulation)
    assert isinstance(computation, Simulation)
    seen = whole.written
    seconds: dict[Tiling, float] = {}
    differences: dict[Tiling, str] = {}
    failures: dict[Tiling, str] = {}
    for tiling, run in zip(transformed, rest, strict=True):
        if isinstance(run, SimulationError):
            failures[tiling] = str(run)
            continue
        seconds[tiling] = run.seconds
        seen |= run.written
        difference = output_difference(whole, run, simulator.compared)
        if difference is not None:
            differences[tiling] = difference.message
    return Sweep(ranks, whole.seconds, computation.seconds, seconds, differences, failures, seen)
