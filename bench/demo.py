"""``make demo``: transforms the kernels, checks them, times them, and draws one curve."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from asphalt.running.mpi import MPIS, OPENMPI
from bench.lab.build import Recipe, sources_of
from bench.lab.case import KERNELS, ROOT, Case, load_cases
from bench.lab.checks import Check, build_both, checks_of
from bench.lab.curves import Curve, draw_slowdown
from bench.lab.link import busy, slow_link
from bench.lab.measure import Measured, Simulator, measure_link
from bench.lab.rows import as_json
from bench.lab.run import LabError
from bench.lab.tables import COLUMNS, markdown, row, table
from bench.lab.transform import apply, available, sites

OUT = ROOT / "build" / "demo"
CURVE_KERNEL = "synthetic_fig3"
TILED = ("hand", "transformed")
LINK_REPEATS = 5
T = TypeVar("T")


class Demo:
    """One run of the demo: its results and failures."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.cases = tuple(case for case in load_cases() if "demo" in case.labs)
        self.changed: dict[str, bool] = {}
        self.failures: list[str] = []
        self.measured: list[Measured] = []
        self.written: list[Path] = []

    def run(self) -> int:
        """Run all steps; returns 0 if everything is as expected, else 1."""
        began = time.monotonic()
        self.show_machine()
        self.transform()
        self.check()
        self.simulate()
        self.over_link()
        self.draw()
        self.finish(time.monotonic() - began)
        return 1 if self.failures else 0

    def versions(self, case: Case) -> tuple[str, ...]:
        """The existing versions beside the original."""
        changed = self.changed.get(case.name, False)
        return TILED if changed else TILED[:1]

    def fail(self, message: str) -> None:
        """Record and show a failure; the demo goes on."""
        self.failures.append(message)
        self.console.print(f"[red]{message}", highlight=False)

    def show_machine(self) -> None:
        """Show what the demo does, and where."""
        self.console.rule("asphalt: communication overlaps computation")
        self.console.print(
            f"{len(self.cases)} kernels in {relative(KERNELS)}; {os.cpu_count()} cores; "
            f"build folder {relative(OUT.parent)}"
        )

    def transform(self) -> None:
        """Apply asphalt to every kernel, and compare its verdicts with case.toml."""
        self.console.rule("1. asphalt apply", align="left")
        if not available():
            self.fail("asphalt apply is missing: original and hand-written versions only")
            return
        shown = Table("kernel", "operation", "line", "verdict", "code", "written to")
        for case in self.cases:
            files = sources_of(Recipe(case, "original", OPENMPI))
            try:
                out, found = apply(files), sites(files)
            except LabError as error:
                self.fail(f"{case.name}: {error}")
                continue
            self.changed[case.name] = any(site["verdict"] == "applied" for site in found)
            for site in found:
                shown.add_row(
                    case.name,
                    str(site["operation"]),
                    f"{Path(str(site['file'])).name}:{site['line']}",
                    str(site["verdict"]),
                    str(site["code"] or ""),
                    relative(out),
                )
            expected = sorted((site.operation, site.verdict) for site in case.sites)
            said = sorted((str(s["operation"]).upper(), str(s["verdict"])) for s in found)
            if expected != said:
                self.fail(f"{case.name}: expected {expected}, asphalt says {said}")
        self.console.print(shown)

    def check(self) -> None:
        """Compare the results bit for bit, under all MPIs, on 1 to 4 ranks."""
        self.console.rule("2. results equal, bit for bit", align="left")
        checks = [
            check for case in self.cases for check in checks_of((case,), self.versions(case), MPIS)
        ]
        builds = {(c.case.name, c.version, c.mpi.name): c for c in checks}
        # the originals first, so that no two builds write the same program
        first = {(c.case.name, c.mpi.name): c for c in checks}
        broken: set[tuple[str, str, str]] = set()
        self.parallel(
            "building originals",
            [partial(self.try_build, replace(c, version="original")) for c in first.values()],
        )
        for key, good in zip(
            builds,
            self.parallel(
                "building versions",
                [partial(self.try_build, c) for c in builds.values()],
            ),
            strict=True,
        ):
            if not good:
                broken.add(key)
        runnable = [c for c in checks if (c.case.name, c.version, c.mpi.name) not in broken]
        messages = self.parallel("running", [c.run for c in runnable])
        for message in filter(None, messages):
            self.fail(message)
        equal = sum(message is None for message in messages)
        self.console.print(
            f"{equal} of {len(checks)} comparisons with the original equal: "
            f"{', '.join(t.name for t in MPIS)}; 1, 2, 3 and 4 ranks"
        )

    def try_build(self, check: Check) -> bool:
        """Whether the programs of a check could be built."""
        try:
            build_both(check)
        except LabError as error:
            self.fail(f"{check.case.name}, {check.version}: {error}")
            return False
        return True

    def parallel(self, what: str, jobs: Sequence[Callable[[], T]]) -> list[T]:
        """The results of the jobs, in order, with a bar while they run on two threads."""
        with self.progress() as progress, ThreadPoolExecutor(2) as pool:
            task = progress.add_task(what, total=len(jobs))
            futures = [pool.submit(job) for job in jobs]
            for _ in as_completed(futures):
                progress.advance(task)
            return [future.result() for future in futures]

    def progress(self) -> Progress:
        """A progress bar on this console."""
        return Progress(
            TextColumn("{task.description:<28}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self.console,
        )

    def simulate(self) -> None:
        """Times on the simulated cluster."""
        self.console.rule("3. a simulated cluster, 16 ranks", align="left")
        jobs = [(case, what) for case in self.cases for what in case.simulated if what.tilings]
        with self.progress() as progress:
            task = progress.add_task("simulating", total=len(jobs))
            for case, what in jobs:
                progress.update(task, description=f"simulating {case.name}"[:28])
                try:
                    self.measured.append(
                        Simulator().measure(case, what, self.versions(case), what.best)
                    )
                except LabError as error:
                    self.fail(str(error))
                progress.advance(task)

    def over_link(self) -> None:
        """Times of two real ranks over a slow link."""
        self.console.rule("4. two ranks over a slow link", align="left")
        cases = [(case, link) for case in self.cases if (link := case.over_link("demo"))]
        with slow_link() as lab, self.progress() as progress:
            if lab.agent is None:
                self.console.print(f"[yellow]no slow link: {lab.reason}; shared memory instead")
            task = progress.add_task("running", total=len(cases))
            for case, link in cases:
                progress.update(task, description=f"running {case.name}"[:28])
                try:
                    series = measure_link(lab, case, link, self.versions(case), LINK_REPEATS)
                    self.measured.append(series.measured())
                except LabError as error:
                    self.fail(str(error))
                progress.advance(task)
        if why := busy():
            self.console.print(f"[yellow]{why}")

    def draw(self) -> None:
        """The slowdown against the tile size, simulated."""
        self.console.rule("5. slowdown against tile size", align="left")
        case = next(case for case in self.cases if case.name == CURVE_KERNEL)
        what = case.simulated[0]
        depth = what.best[1]
        versions = self.versions(case)
        simulator = Simulator()
        with self.progress() as progress:
            task = progress.add_task("simulating", total=len(what.tiles) * len(versions))
            try:
                parts, _ = simulator.parts(case, what)
                curves = []
                for version in versions:
                    seconds = {}
                    for tile in what.tiles:
                        run = simulator.version(case, what, version, (tile, depth))
                        seconds[tile] = run.seconds
                        progress.advance(task)
                    curves.append(Curve(f"{version}, D = {depth}", seconds))
            except LabError as error:
                self.fail(str(error))
                return
        path = OUT / "slowdown.png"
        title = f"{case.title}, {what.ranks} ranks, simulated 10 Gb/s cluster"
        draw_slowdown(curves, parts.original, parts.before, title, path)
        self.written.append(path)

    def finish(self, seconds: float) -> None:
        """Show the table, and the written files."""
        self.console.rule("results", align="left")
        self.console.print(table(self.measured, "time of one exchange and what fills it"))
        self.console.print(
            "ratio: version / original, below 1 is faster.  overlap: the part hidden of what can "
            "be hidden;\nover the link, an estimate from a run without the link.",
            style="dim",
        )
        OUT.mkdir(parents=True, exist_ok=True)
        text = OUT / "results.md"
        text.write_text(markdown(COLUMNS, map(row, self.measured)), encoding="utf-8")
        data = OUT / "results.json"
        data.write_text(
            as_json(row for measured in self.measured for row in measured.rows()), encoding="utf-8"
        )
        self.written += [text, data]
        for path in self.written:
            self.console.print(f"wrote {relative(path)}", highlight=False)
        self.console.print(f"{seconds:.0f} s; ", end="")
        if self.failures:
            self.console.print(f"[red]{len(self.failures)} failures")
        else:
            self.console.print("[green]no failures")


def relative(path: Path) -> str:
    """A path relative to the repository."""
    return shlex.quote(str(path.relative_to(ROOT)))


def main(arguments: Iterable[str] = ()) -> int:
    """Run the demo; returns the exit code."""
    del arguments
    return Demo(Console(width=max(120, Console().width))).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
