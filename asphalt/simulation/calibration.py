"""Calibration: the time of each class of operations, from loops that are timed on this machine.

Each loop of ``data/calibration.f90`` gives an equation: its counts times the seconds of their
classes are the measured time.  The seconds are the non-negative least-squares solution of all
equations, each divided by its time, so that relative errors count.  Latencies follow in the same
way from loops in which each operation waits for the result of the one before.  The time of a cache
miss follows from loops over an array that exceeds the cache, or its sets.  The first touch of a
page is measured directly.  (The PGAS paper, section 6.1, also measures the operations that loops
consist of.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec

from asphalt.analysis.cost.classes import CLASSES, UNKNOWN, CoreCache, Counts
from asphalt.analysis.cost.trip_counts import TripCount
from asphalt.analysis.names.scopes import Scope, Scopes
from asphalt.analysis.symbolic.polynomials import poly
from asphalt.config.errors import UsageError
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.ir.expr import Expr, Lit, Op, Ref
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.source import Form
from asphalt.machine.core_caches import own_cache
from asphalt.machine.machine import LATENCIES, Machine
from asphalt.running.parts import pip_line
from asphalt.simulation.calibration_runs import (
    COLUMNS,
    CROSSED,
    DATA,
    FILES,
    LENGTH,
    PAGE,
    ROWS,
    SIDE,
    measure,
)
from asphalt.transforms.charging.edit import Charge, together
from asphalt.transforms.charging.program import Charger, Costs

_BOUNDS = {
    **{"n": LENGTH, "side": SIDE, "four": 4, "two": 2},
    **{"rows": ROWS, "columns": COLUMNS, "crossed": CROSSED},
}
_ROUNDS = 10  # until the longest resource of each loop is known
_WINDOWS = tuple(round(10 ** (-9 + step / 20), 11) for step in range(61))
"""Windows that are tried: from one nanosecond to one microsecond."""


@record
class Loop:
    """A loop of the calibration and its measured time in seconds.

    ``fitted``: its time by the machine file.
    """

    name: str
    measured: float
    fitted: float = 0.0


@record
class Calibration:
    """A machine, and how well it explains the loops that it was fitted to."""

    machine: Machine
    loops: tuple[Loop, ...]


def calibrate(
    compiler: str,
    flags: Sequence[str],
    name: str,
    repeats: int = 50,
    advance: Callable[[], None] = lambda: None,
) -> Calibration:
    """Time the loops with a compiler and its flags, and fit a machine to them.

    ``advance`` is called after each of ``steps(repeats)`` steps.  Raises ``UsageError`` if scipy
    is missing, or if a loop does not compile or run.
    """
    if find_spec("scipy") is None:  # before anything is timed
        raise UsageError(f"calibration needs scipy; get it with {pip_line('calibrate')}")
    times = measure(compiler, flags, repeats, advance)
    page = times.pop(PAGE)
    units = {name: unit for name, unit in _units().items() if name in times}
    busy = {n: _counts(u) for n, u in units.items() if n.startswith("busy_")}
    waits = {n: _chain(u) for n, u in units.items() if n.startswith("wait_")}
    seconds = _longest(busy, times)
    latency = _fitted(waits, times, LATENCIES)
    long = {n: u for n, u in units.items() if n.startswith(("busy_", "window_"))}
    window = _window(long, times, seconds, latency)
    cache = own_cache()
    lost: dict[str, _Unit] = {}
    for kind in ("line", "conflict"):
        own = {n: u for n, u in units.items() if n.startswith(f"{kind}_")}
        seconds[kind] = _miss_time(kind, own, times, Costs(seconds, latency, window), cache)
        lost |= own
    seconds["page"] = page
    machine = Machine(name, compiler, tuple(flags), seconds, latency, window, cache)
    costs = Costs(seconds, latency, window, cache)
    loops = [Loop(n, times[n], _time(u, costs)) for n, u in (*long.items(), *lost.items())]
    loops += [
        Loop(n, times[n], sum(latency[c] * k for c, k in counts.items()))
        for n, counts in waits.items()
    ]
    advance()
    return Calibration(machine, tuple(loops))


@record
class _Unit:
    """A procedure of ``calibration.f90`` that holds a loop."""

    located: Located
    scope: Scope

    def charges(self, costs: Costs) -> tuple[Charge, ...]:
        """The charges of the loop."""
        charger = Charger(self.scope, costs, lambda call, scope: False, Form.FREE, "\n")
        return charger.estimate(self.located.unit.body)


def _units() -> dict[str, _Unit]:
    tree = load_tree((DATA / FILES[0],), Settings(cache=False, jobs=1))
    try:
        scopes = Scopes(tree)
        units = tree.units_of(str(DATA / FILES[0]))
        return {located.unit.name: _Unit(located, scopes.of(located)) for located in units}
    finally:
        tree.close()


def _counts(unit: _Unit, cache: CoreCache = UNKNOWN) -> dict[str, float]:
    """The operations of a loop by class."""
    found: dict[str, float] = {}
    for charge in unit.charges(Costs({}, {}, 0.0, cache)):
        times = _times(charge.trips)
        for name, number in charge.counts.entries:
            found[name] = found.get(name, 0.0) + times * number
    return found


def _chain(unit: _Unit) -> dict[str, float]:
    """The number of results by class that a loop waits for, one after the other."""
    found = {}
    for name in LATENCIES:
        charges = unit.charges(Costs({}, {name: 1.0}))
        found[name] = sum(charge.waiting * _times(charge.trips) for charge in charges)
    return {name: number for name, number in found.items() if number}


def _time(unit: _Unit, costs: Costs) -> float:
    """The charge for a loop on a machine with these costs, in seconds."""
    return sum(
        (charge.counts.seconds(costs.seconds) + charge.waiting) * _times(charge.trips)
        for charge in together(unit.charges(costs))
    )


def _window(
    loops: Mapping[str, _Unit],
    times: Mapping[str, float],
    seconds: Mapping[str, float],
    latency: Mapping[str, float],
) -> float:
    """The window, in seconds of operations, that best explains the times of loops."""

    def error(window: float) -> float:
        costs = Costs(seconds, latency, window)
        return sum((_time(unit, costs) / times[name] - 1) ** 2 for name, unit in loops.items())

    return min(_WINDOWS, key=error)


def _miss_time(
    kind: str,
    loops: Mapping[str, _Unit],
    times: Mapping[str, float],
    costs: Costs,
    cache: CoreCache,
) -> float:
    """Seconds of a cache miss, by capacity or by conflict: the time of loops beyond all else.

    Least squares of relative errors; 0 if the loops have no such miss.
    """
    found = weight = 0.0
    for name, unit in loops.items():
        lines = _counts(unit, cache).get(kind, 0.0) / times[name]
        found += lines * (1 - _time(unit, costs) / times[name])
        weight += lines * lines
    return max(0.0, found / weight) if weight else 0.0


def _times(trips: tuple[TripCount, ...]) -> float:
    product = 1.0
    for one in trips:
        value = poly(one.count, _known).value
        assert value is not None, one
        product *= one.of(value)
    return product


def _known(expr: Expr) -> Expr | None:
    """The known value of a bound of a loop, or of an extent of the arrays in plane.inc."""
    match expr:
        case Ref(name=name, args=None) if name in _BOUNDS:
            return Lit("integer", str(_BOUNDS[name]))
        case Ref(name="size"):
            return Lit("integer", str(SIDE))
        case Ref(
            name="min" | "iand" as name, args=(Lit() | Op() | Ref() as a, Lit() | Op() | Ref() as b)
        ):
            one, other = poly(a, _known).value, poly(b, _known).value
            assert one is not None, a
            assert other is not None, b
            return Lit("integer", str(min(one, other) if name == "min" else one & other))
    return None


def _longest(
    rows: Mapping[str, Mapping[str, float]], times: Mapping[str, float]
) -> dict[str, float]:
    """Seconds of each class; operations that overlap take as long as the longest."""
    parts = {name: Counts.from_mapping(row).parts() for name, row in rows.items()}
    longest = {name: next(filter(None, reversed(own))) for name, own in parts.items()}
    for _ in range(_ROUNDS):
        known = {name: dict(part.entries) for name, part in longest.items()}
        seconds = _fitted(known, times, CLASSES)
        before = longest
        longest = {n: max(own, key=lambda part: part.time(seconds)) for n, own in parts.items()}
        if longest == before:
            break
    return seconds


def _fitted(
    rows: Mapping[str, Mapping[str, float]], times: Mapping[str, float], classes: Sequence[str]
) -> dict[str, float]:
    """The non-negative seconds of each class that best explain the times."""
    import numpy
    from scipy.optimize import nnls

    matrix = numpy.array([[row.get(c, 0.0) / times[n] for c in classes] for n, row in rows.items()])
    solution, _ = nnls(matrix, numpy.ones(len(rows)))
    return {name: float(value) for name, value in zip(classes, solution, strict=True)}
