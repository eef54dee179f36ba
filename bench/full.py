"""``make bench`` and ``make bench-quick``: measurements, tables, figures and a page of them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from asphalt.running.mpi import MPICH, OPENMPI, SMPI, Mpi
from bench.lab import steps, steps_page
from bench.lab.build import build_all
from bench.lab.case import ROOT, Case, Link, Simulated, load_cases
from bench.lab.changes import committed, compare, gone
from bench.lab.jobs import AT_ONCE, Job, count, simulate
from bench.lab.later import LATER, Again, later_rows, of_panels, of_sweeps
from bench.lab.link import busy, slow_link
from bench.lab.measure import Series, Simulator, link_recipes, measure_link
from bench.lab.page import page
from bench.lab.paper_page import Figures
from bench.lab.papers import (
    LINK_REPEATS,
    LINK_TILES,
    measure_link_sweep,
    measure_panels,
    runs_of,
    slowdown_panels,
    sweep_panels,
)
from bench.lab.platforms import named
from bench.lab.ratios import PLATFORMS, SHAPES, compare_all
from bench.lab.ratios import SIZES as RATIO_RANKS
from bench.lab.rows import Row, as_json, from_json
from bench.lab.run import LabError
from bench.lab.speed import Speed, measure_speed
from bench.lab.speed import as_json as speeds_as_json
from bench.lab.speed import from_json as speeds_from_json
from bench.lab.step_targets import step_targets
from bench.lab.targets import SLOWER_THAN_HAND, rows_by_kernel, targets
from bench.lab.targets_page import targets_text
from bench.lab.terminal import kernel_figure, kernel_table, speed_table, target_table
from bench.lab.transform import available

RESULTS = ROOT / "bench" / "results"
TARGETS = ROOT / "docs" / "targets.md"
IMAGES = ROOT / "docs" / "images"
QUICK_RESULTS = ROOT / "build" / "bench"
ROW_FILES = ("simulated.json", "link.json", "figures.json", "ratios.json")
PARTS = ("simulated", "link", "tool", "ratios", "figures", "steps")
QUICK_PARTS = ("simulated", "link", "tool")
QUICK_AT_BEST = ("plane_slab", "spectral_transpose", "synthetic_fig3")
QUICK_RANKS = 4
REPEATS = 3
"""Interleaved runs of each version over the link."""


class Bench:
    """One run of the bench: its measurements and failures."""

    def __init__(self, console: Console, quick: bool, kernels: Sequence[str]) -> None:
        self.console = console
        self.quick = quick
        self.kernels = frozenset(kernels)
        self.out = QUICK_RESULTS if quick else RESULTS
        self.lab = "quick" if quick else "bench"
        self.cases = tuple(
            case
            for case in load_cases()
            if (case.name in kernels if kernels else self.lab in case.labs)
        )
        self.failures: list[str] = []
        self.remarks: list[str] = []
        self.written: list[Path] = []

    def run(self, parts: Sequence[str]) -> int:
        """Measure the parts, then show all results; returns 0 unless something failed."""
        began = time.monotonic()
        self.out.mkdir(parents=True, exist_ok=True)
        for part in parts:
            self.console.rule(part, align="left")
            step: Callable[[], None] = getattr(self, f"measure_{part}")
            try:
                step()
            except LabError as error:
                self.fail(str(error))
        self.show()
        for path in self.written:
            self.console.print(f"wrote {path.relative_to(ROOT)}", highlight=False)
        for failure in self.failures:
            self.console.print(f"[red]failed: {failure}", highlight=False)
        self.console.print(f"{time.monotonic() - began:.0f} s, {len(self.failures)} failures")
        return 1 if self.failures else 0

    def fail(self, message: str) -> None:
        """Record and show a failure; the bench goes on."""
        self.failures.append(message)
        self.console.print(f"[red]{message}", highlight=False)

    def remark(self, message: str) -> None:
        """Record and show a remark for readers of the results."""
        self.remarks.append(message)
        self.console.print(f"[yellow]{message}", highlight=False)

    def without(self, mpi: Mpi) -> bool:
        """Whether an MPI is missing; adds a remark if so."""
        if missing := mpi.missing():
            self.remark(
                f"{mpi.title} is not measured: no {', '.join(missing)}; on Debian it comes with "
                f"'apt-get install {' '.join(mpi.packages)}'"
            )
        return bool(missing)

    def versions(self, case: Case | Link) -> tuple[str, ...]:
        """The versions beside the original; of a refused kernel, the transformed one equals it."""
        return tuple(v for v in case.versions if available() or v != "transformed")

    def measure_simulated(self) -> None:
        """Measure every version of every kernel on the simulated cluster."""
        if self.without(SMPI):
            return
        jobs = [
            Job(case, chosen, self.versions(case))
            for case in self.cases
            for what in case.simulated
            for chosen in self.simulated(case, what)
        ]
        platforms = dict.fromkeys(job.what.platform for job in jobs)
        rows: list[Row] = []
        with progress_on(self.console) as progress:
            task = progress.add_task("simulating", total=count(jobs))
            for platform in platforms:
                here = [job for job in jobs if job.what.platform == platform]
                simulator = Simulator(named(platform))
                done = simulate(here, simulator, lambda: progress.advance(task))
                for failure in done.failures:
                    self.fail(failure)
                rows += [row for sweep in done.sweeps for row in sweep.rows()]
                if not self.quick:
                    again = of_sweeps(done.sweeps, simulator.platform, SLOWER_THAN_HAND)
                    rows += self.measured_again(again)
        self.save("simulated.json", self.among_others("simulated.json", rows))

    def simulated(self, case: Case, what: Simulated) -> list[Simulated]:
        """A measurement on all numbers of ranks; if quick, on few, with few K and D."""
        if not self.quick:
            return [what.at(ranks) for ranks in what.all_ranks]
        found = []
        if QUICK_RANKS in what.all_ranks:
            few = what.at(QUICK_RANKS)
            found.append(replace(few, tilings=few.tilings[:3]))
        elif not what.elsewhere:
            found.append(what)
        if case.name in QUICK_AT_BEST and what.variant in ("", "small"):
            found.append(replace(what, tilings=(what.best,), elsewhere=()))
        return found

    def measure_link(self) -> None:
        """Measure two real ranks over the slow link, under two MPIs."""
        found: list[Series] = []
        mpis = [mpi for mpi in (OPENMPI, MPICH) if not self.without(mpi)]
        cases = [(case, link) for case in self.cases if (link := case.over_link(self.lab))]
        with self.console.status("building what goes over the link"):
            recipes = (
                link_recipes(case, link, self.versions(link), mpi).values()
                for mpi in mpis
                for case, link in cases
            )
            build_all(chain.from_iterable(recipes), AT_ONCE)
        with slow_link() as lab, progress_on(self.console) as progress:
            if lab.agent is None:
                self.remark(f"no slow link ({lab.reason}): the two ranks shared memory instead")
            task = progress.add_task("running", total=len(cases) * len(mpis))
            for mpi in mpis:
                for case, link in cases:
                    progress.update(task, description=f"{mpi.title}, {case.name}"[:28])
                    versions = self.versions(link)
                    try:
                        found.append(measure_link(lab, case, link, versions, REPEATS, mpi))
                    except LabError as error:
                        self.fail(f"{case.name}, {mpi.title}: {error}")
                    progress.advance(task)
        if unended := sum(series.unended for series in found):
            self.remark(f"{unended} runs over the link printed their time but did not end")
        if why := busy():
            self.remark(why)
        rows = [row for series in found for row in series.measured().rows()]
        self.save("link.json", self.among_others("link.json", rows))

    def measure_tool(self) -> None:
        """Measure the speed of asphalt itself."""
        if not available():
            self.fail("asphalt apply is missing: its speed is not measured")
            return
        found: list[Speed] = []
        with self.console.status("asphalt itself") as status:
            for speed in measure_speed(self.quick):
                found.append(speed)
                status.update(f"{speed.what}: {speed.files} files, {speed.sites} sites")
        self.console.print(speed_table(found))
        folder = self.out / "tool"
        folder.mkdir(exist_ok=True)
        path = folder / "speed.json"
        path.write_text(speeds_as_json(found), encoding="utf-8")
        self.written.append(path)
        if why := busy():
            self.remark(why)

    def measure_ratios(self) -> None:
        """Measure whether the default loses: all shapes and lengths, on four networks."""
        if self.without(SMPI):
            return
        jobs = [
            (shape, name, ranks) for name in PLATFORMS for shape in SHAPES for ranks in RATIO_RANKS
        ]
        rows: list[Row] = []
        with progress_on(self.console) as progress, ThreadPoolExecutor(AT_ONCE) as pool:
            task = progress.add_task("exchanges of all lengths", total=len(jobs))
            pending = [pool.submit(compare_all, *job, True) for job in jobs]
            for job, future in zip(jobs, pending, strict=True):
                try:
                    rows += [row for compared in future.result() for row in compared.rows()]
                except LabError as error:
                    self.fail(f"{job[0].name}, {job[1]}, {job[2]} ranks: {error}")
                progress.advance(task)
        self.save("ratios.json", rows)

    def measure_figures(self) -> None:
        """Measure for the figures of the papers."""
        rows: list[Row] = []
        figures = Figures(IMAGES)
        if not self.without(SMPI):
            panels = (*slowdown_panels(), *sweep_panels())
            with progress_on(self.console) as progress:
                total = sum(len(runs_of(panel)) for panel in panels)
                task = progress.add_task("simulating figures", total=total)
                figures.timed = measure_panels(panels, lambda: progress.advance(task))
            rows += [row for timed in figures.timed for row in timed.rows()]
            rows += self.measured_again(of_panels(figures.timed, SLOWER_THAN_HAND))
        rows += self.link_figure(figures)
        speeds = self.out / "tool" / "speed.json"
        if speeds.exists():
            figures.speeds = speeds_from_json(speeds.read_text(encoding="utf-8"))
        self.save("figures.json", rows)
        self.written += figures.write(ROOT / "docs" / "figures.md")

    def measured_again(self, again: Iterable[Again]) -> list[Row]:
        """The rows of later exchanges, where a single one was too slow."""
        chosen = list(again)
        with self.console.status(f"{len(chosen)} later exchanges"):
            try:
                return later_rows(chosen)
            except LabError as error:
                self.fail(str(error))
                return []

    def measure_steps(self) -> None:
        """Measure the gain of each transformation of transfers between two ranks."""
        if self.without(SMPI):
            return
        wanted = steps.jobs(self.cases)
        with progress_on(self.console) as progress:
            task = progress.add_task("step by step", total=steps.count(wanted))
            found, failures = steps.measure(wanted, lambda: progress.advance(task))
        for failure in failures:
            self.fail(failure)
        rows = [row for one in found for row in one.rows()]
        self.save("steps.json", self.among_others("steps.json", rows))
        everything = list(steps.measured_before(load_cases(), self.results("steps.json")))
        if found:
            self.written += steps_page.write(everything, ROOT / "docs" / "steps.md", IMAGES)

    def link_figure(self, figures: Figures) -> list[Row]:
        """Times over K on the slow link, if there is one."""
        case = next((c for c in self.cases if c.name == "spectral_transpose"), None)
        mpis = [mpi for mpi in (OPENMPI, MPICH) if not self.without(mpi)]
        rows: list[Row] = []
        if case is None:
            return rows
        with slow_link() as lab, progress_on(self.console) as progress:
            if lab.agent is None:
                self.remark(f"no slow link ({lab.reason}): it is left out of the figures")
                return rows
            total = len(mpis) * LINK_REPEATS * len(LINK_TILES)
            task = progress.add_task("figure of the link", total=total)
            for mpi in mpis:
                try:
                    found = measure_link_sweep(lab, case, mpi, lambda: progress.advance(task))
                except LabError as error:
                    self.fail(f"{case.name}, {mpi.title}: {error}")
                    continue
                figures.link.append(found)
                rows += found.rows(case.name)
        if why := busy():
            self.remark(why)
            figures.remarks.append(why[0].upper() + why[1:])
        return rows

    def save(self, name: str, rows: Sequence[Row]) -> None:
        """Write a results file."""
        if rows:
            path = self.out / name
            path.write_text(as_json(rows), encoding="utf-8")
            self.written.append(path)

    def among_others(self, name: str, rows: Sequence[Row]) -> list[Row]:
        """The rows of a file, with those of the chosen kernels (or all) replaced by these."""
        if not self.kernels or not rows:
            return list(rows)
        known = self.results(name)
        own = [row.kernel.removeprefix(LATER).split("/")[0] in self.kernels for row in known]
        place = own.index(True) if any(own) else len(known)
        others = [(n, row) for n, row in enumerate(known) if not own[n]]
        before = [row for n, row in others if n < place]
        return [*before, *rows, *(row for n, row in others if n > place)]

    def results(self, name: str) -> tuple[Row, ...]:
        """The rows of a results file that this run or an earlier one wrote."""
        path = self.out / name
        return from_json(path.read_text(encoding="utf-8")) if path.exists() else ()

    def show(self) -> None:
        """Show tables, figures and targets, and write the page."""
        rows = [row for name in ROW_FILES for row in self.results(name)]
        before = [row for name in ROW_FILES for row in committed(name)]
        main = [*self.results("simulated.json"), *self.results("link.json")]
        self.console.rule("results", align="left")
        for kernel, group in rows_by_kernel(main).items():
            self.console.print(kernel_table(kernel, group))
            self.console.print(kernel_figure(kernel, group))
        found = (*targets(rows), *step_targets(self.results("steps.json")))
        self.console.print(target_table(found))
        compared = rows_by_kernel(rows)
        path = self.out / "index.html"
        text = page(
            {name: compare(group, before) for name, group in compared.items()},
            () if self.quick else gone(rows, before),
            found,
            self.remarks,
        )
        path.write_text(text, encoding="utf-8")
        self.written.append(path)
        if not self.quick:
            TARGETS.write_text(targets_text(found, rows), encoding="utf-8")
            self.written.append(TARGETS)


def progress_on(console: Console) -> Progress:
    """A progress bar."""
    return Progress(
        TextColumn("{task.description:<28}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
    )


@click.command()
@click.option("--quick", is_flag=True, help="A part of it, in about two minutes.")
@click.option("--part", "parts", multiple=True, type=click.Choice(PARTS), help="This part alone.")
@click.option(
    "--kernel",
    "kernels",
    multiple=True,
    help="Only this kernel; the rows of others are kept.",
)
def main(quick: bool, parts: tuple[str, ...], kernels: tuple[str, ...]) -> None:
    """Measure, and write the results."""
    console = Console(width=max(120, Console().width))
    sys.exit(Bench(console, quick, kernels).run(parts or (QUICK_PARTS if quick else PARTS)))


if __name__ == "__main__":
    main()
