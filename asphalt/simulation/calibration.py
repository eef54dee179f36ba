"""Calibration: the time of each class of operations, from loops that are timed on this machine.

Each loop of ``data/calibration.f90`` gives an equation: its counts times the seconds of their
classes are the time that was measured.  The seconds are the non-negative least-squares solution of
all equations, each divided by its time, so that relative errors count.  Latencies follow in the
same way from the loops that wait for one result after the other, and the time of a line that the
cache has lost from loops over an array that does not fit into it, or not into its sets.  What the
first touch of a page takes is measured as such.  (The PGAS paper, section 6.1, measures operations
that loops are then made of in the same spirit.)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

from asphalt.analysis.algebra import poly
from asphalt.analysis.costs import CLASSES, UNKNOWN, Cache, Counts
from asphalt.analysis.costs_trips import Trips
from asphalt.analysis.symbols import Scope, Scopes
from asphalt.errors import UsageError
from asphalt.frontend.tree import load_tree
from asphalt.ir.expr import Expr, Lit, Op, Ref
from asphalt.ir.program import Located
from asphalt.ir.source import Form
from asphalt.running.process import run
from asphalt.settings import Settings
from asphalt.simulation.cache import own_cache
from asphalt.simulation.machine import LATENCIES, Machine
from asphalt.transforms.charge import Charger, Costs
from asphalt.transforms.charge_edit import Charge, together

LENGTH, SIDE, ROWS, COLUMNS, CROSSED = 1000, 31, 64, 33000, 128
_BOUNDS = {
    **{"n": LENGTH, "side": SIDE, "four": 4, "two": 2},
    **{"rows": ROWS, "columns": COLUMNS, "crossed": CROSSED},
}
_DATA = Path(__file__).resolve().parent.parent / "data"
_FILES = ("calibration.f90", "arguments.inc", "plane.inc")
_LINE = re.compile(r"^(\w+)\s+(\S+)$", re.MULTILINE)
_TIMEOUT = 300.0
_AT_ONCE = 5  # repeats that one run does
_PAGE = "first_touch"  # which is timed by itself, as no loop
_ROUNDS = 10  # until it is known what each loop takes longest for
_WINDOWS = tuple(round(10 ** (-9 + step / 20), 11) for step in range(61))
"""Windows that are tried: from one nanosecond to one microsecond."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of the calibration and its time in seconds.

    ``fitted``: what the machine file says about it.
    """

    name: str
    measured: float
    fitted: float = 0.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """A machine, and how well it explains the loops that it was made from."""

    machine: Machine
    loops: tuple[Loop, ...]


def calibrate(
    compiler: str,
    flags: Sequence[str],
    name: str,
    repeats: int = 50,
    advance: Callable[[], None] = lambda: None,
) -> Calibration:
    """Times the loops with a compiler and its flags, and fits a machine to them.

    ``advance`` is called after each of ``steps(repeats)`` steps.  Raises ``UsageError`` if scipy
    is not there, or if a loop does not compile or run.
    """
    if find_spec("scipy") is None:  # told before anything is timed
        raise UsageError("calibration needs scipy; get it with 'pip install asphalt[calibrate]'")
    times = measure(compiler, flags, repeats, advance)
    page = times.pop(_PAGE)
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
        seconds[kind] = _beside(kind, own, times, Costs(seconds, latency, window), cache)
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


def steps(repeats: int) -> int:
    """How many steps a calibration has: it compiles, times in several runs, and fits."""
    return len(_portions(repeats)) + 2


def measure(
    compiler: str,
    flags: Sequence[str],
    repeats: int,
    advance: Callable[[], None] = lambda: None,
) -> dict[str, float]:
    """The processor time of each loop in seconds, and of the first touch of a page: the least of
    some repeats."""
    times: dict[str, float] = {}
    with TemporaryDirectory(prefix="asphalt-calibrate-") as folder:
        place = Path(folder)
        for file in _FILES:
            (place / file).write_bytes((_DATA / file).read_bytes())
        names = re.findall(
            r"^  subroutine (\w+)", (place / _FILES[0]).read_text(encoding="ascii"), re.MULTILINE
        )
        (place / "driver.f90").write_text(_driver(names), encoding="ascii")
        command = [compiler, *flags, "-o", "calibration", _FILES[0], "driver.f90"]
        _checked(command, place)
        advance()
        for portion in _portions(repeats):
            text = _checked([str(place / "calibration"), str(portion)], place)
            for name, seconds in _LINE.findall(text):
                times[name] = min(float(seconds), times.get(name, inf))
            advance()
    return times


def _portions(repeats: int) -> list[int]:
    """The repeats of each run of the program."""
    return [min(_AT_ONCE, repeats - done) for done in range(0, repeats, _AT_ONCE)]


def _checked(command: list[str], place: Path) -> str:
    done = run(command, place, _TIMEOUT)
    if done.status != 0:
        messages = done.stderr.decode(errors="replace").strip()[-1000:]
        raise UsageError(f"calibration: {' '.join(command)}: failed: {messages}")
    return done.stdout.decode()


def _driver(names: Iterable[str]) -> str:
    """The main program that times all loops as often as its argument says; they are called through
    pointers, so that none is compiled into it."""
    calls = "\n".join(f"  call timed('{name}', {name})" for name in names)
    return _DRIVER.format(calls=calls, length=LENGTH, side=SIDE, pages=_PAGE)


_DRIVER = """\
program drive
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use calibration
  implicit none
  integer, parameter :: n = {length}
  real(real64) :: a(n), b(n), c(n), d(n)
  integer :: k(n), l(n), i, j, m
  complex(real64) :: z(n), w(n)
  real(real64) :: best(200), pages
  integer :: times(200), number, round, repeats
  character(20) :: word
  call get_command_argument(1, word)
  read (word, *) repeats
  do round = 0, repeats  ! each loop in turn, so that a busy moment spoils no loop
    number = 0
{calls}
    if (round == 0) pages = first_touch()
    pages = min(pages, first_touch())
  end do
  print '(a, 1x, es13.6)', '{pages}', pages
contains
  subroutine prepare()
    integer(int64) :: state
    state = 12345
    do i = 1, n
      state = mod(1103515245_int64*state + 12345, 2147483648_int64)
      b(i) = 0.5_real64 + state/2147483648.0_real64
      state = mod(1103515245_int64*state + 12345, 2147483648_int64)
      c(i) = 0.5_real64 + state/2147483648.0_real64
      state = mod(1103515245_int64*state + 12345, 2147483648_int64)
      d(i) = 16*(state/2147483648.0_real64 - 0.5_real64)
      l(i) = i
    end do
    do i = n, 2, -1
      state = mod(1103515245_int64*state + 12345, 2147483648_int64)
      j = 1 + int(state/8, kind(i))/(268435456/i + 1)
      m = l(i); l(i) = l(j); l(j) = m
    end do
    a = 1; k = 1; k(1) = 4; k(2) = 2
    z = cmplx(b, c, real64); w = cmplx(c, b, real64)
  end subroutine prepare

  subroutine timed(name, work)
    character(*), intent(in) :: name
    external :: work
    real(real64) :: began, ended
    integer :: turn

    number = number + 1
    if (round == 0) then
      call prepare()
      times(number) = 1
      do
        call cpu_time(began)
        do turn = 1, times(number)
          call work(n, {side}, a, b, c, d, k, l, z, w)
        end do
        call cpu_time(ended)
        best(number) = (ended - began)/times(number)
        if (ended - began > 1e-3_real64) exit
        times(number) = 2*times(number)
      end do
    else
      call prepare()
      call work(n, {side}, a, b, c, d, k, l, z, w)
      call cpu_time(began)
      do turn = 1, times(number)
        call work(n, {side}, a, b, c, d, k, l, z, w)
      end do
      call cpu_time(ended)
      best(number) = min(best(number), (ended - began)/times(number))
    end if
    if (round == repeats) print '(a, 1x, es13.6)', name, best(number)
  end subroutine timed
end program drive

subroutine touch(x, value)
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  real(real64), intent(inout) :: x(:,:)
  real(real64), intent(in) :: value

  x(1, :) = value
end subroutine touch

subroutine asphalt_called(x)
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  real(real64), intent(inout) :: x

  x = x + 1
end subroutine asphalt_called
"""


@dataclass(frozen=True, slots=True)
class _Unit:
    """A procedure of ``calibration.f90`` that holds a loop."""

    located: Located
    scope: Scope

    def charges(self, costs: Costs) -> tuple[Charge, ...]:
        """What it is charged."""
        charger = Charger(self.scope, costs, lambda call, scope: False, Form.FREE, "\n")
        return charger.estimate(self.located.unit.body)


def _units() -> dict[str, _Unit]:
    tree = load_tree((_DATA / _FILES[0],), Settings(cache=False, jobs=1))
    try:
        scopes = Scopes(tree)
        units = tree.units_of(str(_DATA / _FILES[0]))
        return {located.unit.name: _Unit(located, scopes.of(located)) for located in units}
    finally:
        tree.close()


def _counts(unit: _Unit, cache: Cache = UNKNOWN) -> dict[str, float]:
    """The operations of a loop by class."""
    found: dict[str, float] = {}
    for charge in unit.charges(Costs({}, {}, 0.0, cache)):
        times = _times(charge.trips)
        for name, number in charge.counts.entries:
            found[name] = found.get(name, 0.0) + times * number
    return found


def _chain(unit: _Unit) -> dict[str, float]:
    """The results by class that a loop waits for, one after the other."""
    found = {}
    for name in LATENCIES:
        charges = unit.charges(Costs({}, {name: 1.0}))
        found[name] = sum(charge.waiting * _times(charge.trips) for charge in charges)
    return {name: number for name, number in found.items() if number}


def _time(unit: _Unit, costs: Costs) -> float:
    """What a machine with these costs is charged for a loop, in seconds."""
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
    """The window, in seconds of operations, that explains the times of loops best."""

    def error(window: float) -> float:
        costs = Costs(seconds, latency, window)
        return sum((_time(unit, costs) / times[name] - 1) ** 2 for name, unit in loops.items())

    return min(_WINDOWS, key=error)


def _beside(
    kind: str, loops: Mapping[str, _Unit], times: Mapping[str, float], costs: Costs, cache: Cache
) -> float:
    """Seconds of what a cache has lost, a line or a conflict: what loops take beside all else,
    least squares of relative errors; 0 where they lose none."""
    found = weight = 0.0
    for name, unit in loops.items():
        lines = _counts(unit, cache).get(kind, 0.0) / times[name]
        found += lines * (1 - _time(unit, costs) / times[name])
        weight += lines * lines
    return max(0.0, found / weight) if weight else 0.0


def _times(trips: tuple[Trips, ...]) -> float:
    product = 1.0
    for one in trips:
        value = poly(one.count, _known).value
        assert value is not None, one
        product *= one.of(value)
    return product


def _known(expr: Expr) -> Expr | None:
    """What is known here of the bounds of loops, and of the extents of the arrays in plane.inc."""
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
    """Seconds of each class, where what is done beside each other takes as long as the longest."""
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
    """Non-negative seconds of each class that explain the times best."""
    import numpy
    from scipy.optimize import nnls

    matrix = numpy.array([[row.get(c, 0.0) / times[n] for c in classes] for n, row in rows.items()])
    solution, _ = nnls(matrix, numpy.ones(len(rows)))
    return {name: float(value) for name, value in zip(classes, solution, strict=True)}
