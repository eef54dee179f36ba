"""Runs simulated measurements, two at once: simulated times do not depend on the load."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from bench.lab.case import Case, Simulated, Tiling
from bench.lab.measure import Parts, Simulator, check_results, kernel_name
from bench.lab.run import LabError
from bench.lab.sweep import CHOSEN, Run, Sweep, measure, runs_of, sweep_of

AT_ONCE = 2
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Job:
    """One measurement: a kernel on a number of ranks, the versions beside the original."""

    case: Case
    what: Simulated
    versions: tuple[str, ...]

    @property
    def runs(self) -> tuple[Run, ...]:
        """The measurements beside the parts of the original."""
        return runs_of(self.what, self.versions)

    @property
    def checks(self) -> tuple[Run, ...]:
        """The comparisons at small sizes, if the measured runs have no results.

        The transformed version, with one K and D and with K = 0; others run on fewer ranks.
        """
        if not self.what.shares_memory or not self.what.tilings:
            return ()
        wanted = (self.what.tilings[-1], CHOSEN)
        return tuple(r for r in self.runs if r.version == "transformed" and r.tiling in wanted)


@dataclass(frozen=True, slots=True)
class Done:
    """The results of the jobs: the sweeps in their order, and the failures."""

    sweeps: tuple[Sweep, ...]
    failures: tuple[str, ...]


def simulate(
    jobs: Sequence[Job], simulator: Simulator, advance: Callable[[], None], at_once: int = AT_ONCE
) -> Done:
    """Run all jobs; a failure is reported, and does not stop the others."""
    with ThreadPoolExecutor(at_once) as pool:
        pending: dict[int, list[tuple[Run | None, Future[object]]]] = {}
        # the most ranks take longest, so they start first
        for number in sorted(range(len(jobs)), key=lambda n: -jobs[n].what.ranks):
            job = jobs[number]
            tasks: list[tuple[Run | None, Callable[[], object]]] = [(None, _parts(job, simulator))]
            tasks += [(run, _time(job, run, simulator)) for run in job.runs]
            tasks += [(None, _check(job, run)) for run in job.checks]
            pending[number] = [(run, pool.submit(advancing(task, advance))) for run, task in tasks]
        sweeps: list[Sweep] = []
        failures: list[str] = []
        try:
            for number, job in enumerate(jobs):
                sweep, wrong = _collect(job, simulator.platform.title, pending[number])
                failures += wrong
                if sweep is not None:
                    sweeps.append(sweep)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return Done(tuple(sweeps), tuple(dict.fromkeys(failures)))


def count(jobs: Iterable[Job]) -> int:
    """The number of calls of ``advance``."""
    return sum(1 + len(job.runs) + len(job.checks) for job in jobs)


def _parts(job: Job, simulator: Simulator) -> Callable[[], object]:
    return lambda: simulator.parts(job.case, job.what)[0]


def _time(job: Job, run: Run, simulator: Simulator) -> Callable[[], object]:
    return lambda: measure(job.case, job.what, run, simulator)


def _check(job: Job, run: Run) -> Callable[[], object]:
    return lambda: check_results(job.case, job.what, run.version, run.asked)


def advancing(task: Callable[[], T], advance: Callable[[], None]) -> Callable[[], T]:
    """The task, followed by ``advance`` even if it fails."""

    def both() -> T:
        try:
            return task()
        finally:
            advance()

    return both


def _collect(
    job: Job, platform: str, pending: list[tuple[Run | None, Future[object]]]
) -> tuple[Sweep | None, list[str]]:
    parts: Parts | None = None
    seconds: dict[str, dict[Tiling | None, float]] = {version: {} for version in job.versions}
    failures = []
    for run, future in pending:
        try:
            result = future.result()
        except LabError as error:
            where = f"{kernel_name(job.case.name, job.what.variant)}, {job.what.ranks} ranks"
            failures.append(f"{where}: {error}")
            continue
        if run is not None:
            assert isinstance(result, float)
            seconds[run.version][run.tiling] = result
        elif isinstance(result, Parts):
            parts = result
    known = {version: times for version, times in seconds.items() if times}
    sweep = None if parts is None else sweep_of(job.case, job.what, platform, parts, known)
    return sweep, failures
