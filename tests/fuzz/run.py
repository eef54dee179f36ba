"""``make fuzz``: generate programs, transform, build and run them, and keep what fails."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from asphalt.config.errors import UsageError
from asphalt.frontend.source_tree.workers import shared_workers
from asphalt.running.mpi import MPICH, MPIS, OPENMPI, Mpi
from fuzz.batch import header_of
from fuzz.checking import Failure, Setting, failures, smallest
from fuzz.hazards import HAZARDS
from fuzz.statistics import Statistics
from fuzz.strategy import numbered_program
from fuzz.transformation import Case, must_stay, transformed

BATCH = 60
_WARMING = 30  # programs that meet most shapes of schedules
_OPTIMISED = 16  # every so manieth batch is compiled with -O2
_BINDINGS = ("use mpi_f08", "", "")  # of programs for MPIs that have a module mpi_f08


@dataclass(frozen=True)
class Task:
    """The programs ``first`` to ``first + count - 1`` of a stream, and how they are run.

    ``near``: the hazard that they are under; empty: any or none.
    """

    seed: int
    first: int
    count: int
    setting: Setting
    keep: Path | None = None
    near: str = ""


@dataclass
class Outcome:
    """What came of a task."""

    statistics: Statistics = field(default_factory=Statistics)
    failures: list[Failure] = field(default_factory=list)


def program_of(task: Task, number: int) -> Case:
    """Case ``number`` of a task's stream, transformed."""
    binding = "" if task.setting.mpi.simulated else _BINDINGS[number % len(_BINDINGS)]
    program = numbered_program(task.seed, number, binding, task.near)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        return transformed(program, f"c{number}", Path(folder), task.setting.bits)


def perform(task: Task) -> Outcome:
    """Transform, build and run the programs of a task."""
    outcome = Outcome()
    cases = [program_of(task, number) for number in range(task.first, task.first + task.count)]
    for case in cases:
        outcome.statistics.add(case, must_stay(case.program))
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        for failure in failures(cases, task.setting, Path(folder)):
            small = smallest(failure, task.setting, Path(folder)) if failure.ours else failure
            outcome.failures.append(small)
            if task.keep is not None:
                keep(small, task, task.keep)
    return outcome


def keep(failure: Failure, task: Task, folder: Path) -> Path:
    """Write a reproducer: the text before and after, K and D, and what goes wrong."""
    case = failure.case
    place = folder / f"{failure.kind.replace(' ', '_')[:20]}_{task.seed}_{case.tag}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    source = Path(case.source.name)
    (place / source.name).write_text(case.source.text)
    (place / f"{source.stem}_transformed{source.suffix}").write_text(case.after)
    (place / "asphalt_params.inc").write_text(header_of([case]))
    about = {
        "kind": failure.kind,
        "detail": failure.detail,
        "seed": task.seed,
        "program": case.tag,
        "level": task.setting.level,
        "mpi": task.setting.mpi.name,
        "choices": dataclasses.asdict(case.program),
        "verdicts": case.verdicts,
    }
    (place / "failure.json").write_text(json.dumps(about, indent=2) + "\n")
    return place


def tasks(
    seed: int, first: int, count: int, mpi: Mpi, real: bool, folder: Path, near: str = ""
) -> Iterator[Task]:
    """Batches; with ``real``, every tenth runs on Open MPI or MPICH instead of SMPI."""
    for number, start in enumerate(range(first, first + count, BATCH)):
        chosen = (MPICH, OPENMPI)[number // 10 % 2] if real and number % 10 == 9 else mpi
        level = "-O2" if number % _OPTIMISED == 7 else "-O0"
        size = min(BATCH, first + count - start)
        yield Task(seed, start, size, Setting(level, chosen), folder, near)


@click.command()
@click.option("--count", default=1000, show_default=True, help="Programs to try.")
@click.option("--seed", default=1, show_default=True, help="The stream of programs.")
@click.option("--first", default=0, show_default=True, help="The first program of the stream.")
@click.option("--jobs", default=2, show_default=True, help="Batches at the same time.")
@click.option(
    "--mpi", "mpi_name", default="smpi", type=click.Choice([mpi.name for mpi in MPIS]),
    show_default=True,
)  # fmt: skip
@click.option("--real/--no-real", default=True, help="Every tenth batch on a real MPI.")
@click.option("--near", default="", help="The condition that all programs come close to.")
@click.option("--output", default="build/fuzz", type=click.Path(path_type=Path))
def main(
    count: int,
    seed: int,
    first: int,
    jobs: int,
    mpi_name: str,
    real: bool,
    near: str,
    output: Path,
) -> None:
    """Try random programs; exit code 1 if one fails, with a reproducer in build/fuzz."""
    console = Console()
    mpi = next(mpi for mpi in MPIS if mpi.name == mpi_name)
    try:
        for needed in (mpi, *((MPICH, OPENMPI) if real else ())):
            needed.require()
    except UsageError as error:
        console.print(str(error), style="red", markup=False)
        sys.exit(2)
    hazard = next((name for name in HAZARDS if near and name.startswith(near)), "")
    if near and not hazard:
        console.print(f"no condition {near}; there are: {', '.join(HAZARDS)}", markup=False)
        sys.exit(2)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
        tempfile.tempdir = scratch  # also that of the processes that are forked
        todo = list(tasks(seed, first, count, mpi, real, output, hazard))
        total = _all(todo, jobs, console, output / f"statistics_{seed}_{first}.json")
        tempfile.tempdir = None
    seconds = time.monotonic() - started
    console.print(total.statistics.table())
    kinds = dict(Counter(failure.kind for failure in total.failures)) or "none"
    console.print(f"{total.statistics.programs} programs in {seconds:.0f} s, failures: {kinds}")
    sys.exit(1 if total.failures else 0)


def _all(todo: list[Task], jobs: int, console: Console, record: Path) -> Outcome:
    """Perform all tasks, and tell what is done; ``record`` gets the counts after every one."""
    record.parent.mkdir(parents=True, exist_ok=True)
    total, count = Outcome(), sum(task.count for task in todo)
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    _prepare(todo[0].seed)
    context = multiprocessing.get_context("fork")
    with Progress(*columns, console=console) as progress, context.Pool(jobs) as pool:
        bar = progress.add_task("programs", total=count)
        for outcome in pool.imap_unordered(perform, todo):
            total.statistics += outcome.statistics
            total.failures += outcome.failures
            for failure in outcome.failures:
                progress.console.print(_words(failure), markup=False)
            kinds = Counter(failure.kind for failure in total.failures)
            row = total.statistics.row() | {"failures": dict(kinds)}
            record.write_text(json.dumps(row, indent=1) + "\n")
            progress.advance(bar, outcome.statistics.programs)
            if not console.is_terminal:
                done, bad = total.statistics.programs, len(total.failures)
                print(f"{done} of {count} programs, {bad} failures", flush=True)
    return total


def _prepare(seed: int) -> None:
    """Fill asphalt's caches once, for all processes that are forked."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        for number in range(_WARMING):
            transformed(numbered_program(seed, number), f"c{number}", Path(folder))
    shared_workers(1).close()  # its threads must not be forked


def _words(failure: Failure) -> str:
    program = failure.case.program
    odd = [exchange.odd for exchange in program.exchanges if exchange.odd]
    return f"{failure.case.tag}: {failure.kind} {odd}\n{failure.detail[:600]}"


if __name__ == "__main__":
    main()
