"""``make bench``: all measurements, into bench/results."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from asphalt.running.mpi import OPENMPI
from bench.lab.build import VERSIONS, Recipe, sources_of
from bench.lab.case import ROOT, Case, load_cases
from bench.lab.curves import Curve, draw_slowdown
from bench.lab.link import busy, slow_link
from bench.lab.measure import Measured, measure_link
from bench.lab.run import LabError
from bench.lab.speed import Speed, measure_speed
from bench.lab.sweep import Sweep, run_sweep
from bench.lab.tables import COLUMNS, as_json, cell, markdown, measured_json, row, table
from bench.lab.transform import available, sites

RESULTS = ROOT / "bench" / "results"
LINK_REPEATS = 7


def versions_of(case: Case) -> tuple[str, ...]:
    """The versions beside the original; the transformed one where asphalt changes the kernel."""
    if not available():
        return VERSIONS[1:2]
    found = sites(sources_of(Recipe(case, "original", OPENMPI)))
    changed = any(site["verdict"] == "applied" for site in found)
    return VERSIONS[1:] if changed else VERSIONS[1:2]


def sweeps(console: Console, cases: tuple[Case, ...]) -> list[Sweep]:
    """Every K and D of every kernel on the simulated cluster."""
    jobs = [(case, what, versions_of(case)) for case in cases for what in case.simulated]
    total = sum(len(w.tiles) * len(w.depths) * len(v) for _, w, v in jobs)
    done = []
    with progress_on(console) as progress:
        task = progress.add_task("simulating", total=total)
        for case, what, versions in jobs:
            progress.update(task, description=f"simulating {case.name}"[:28])
            done.append(run_sweep(case, what, versions, lambda: progress.advance(task)))
    return done


def over_link(console: Console, cases: tuple[Case, ...]) -> tuple[list[Measured], str]:
    """Medians of two ranks over the slow link, and what speaks against believing them."""
    jobs = [case for case in cases if case.link is not None]
    done = []
    with slow_link() as lab, progress_on(console) as progress:
        if lab.agent is None:
            console.print(f"[yellow]no slow link: {lab.reason}; shared memory instead")
        task = progress.add_task("running", total=len(jobs))
        for case in jobs:
            assert case.link is not None
            progress.update(task, description=f"running {case.name}"[:28])
            done.append(measure_link(lab, case, versions_of(case), case.link.best, LINK_REPEATS))
            progress.advance(task)
    why = "; ".join(filter(None, (lab.reason, busy())))
    if why:
        console.print(f"[yellow]{why}")
    return done, why


def progress_on(console: Console) -> Progress:
    """A progress bar."""
    return Progress(
        TextColumn("{task.description:<28}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
    )


def sweep_table(sweep: Sweep) -> str:
    """Efficiency of every K and D as Markdown, one line a K, and the gap to the hand version."""
    versions = tuple(sweep.seconds)
    header = ["K"]
    header += [f"{version}, D = {depth}" for version in versions for depth in sweep.what.depths]
    rows = []
    for tile in sweep.what.tiles:
        line = [str(tile)]
        for version in versions:
            for depth in sweep.what.depths:
                seconds = sweep.seconds[version][(tile, depth)]
                line.append(f"{1e3 * seconds:.1f} ms, {sweep.parts.efficiency(seconds):.3f}")
        rows.append(line)
    parts = sweep.parts
    text = f"### {sweep.title}\n\n"
    text += (
        f"{sweep.what.ranks} ranks. Original {1e3 * parts.original:.1f} ms: computation before "
        f"the exchange {1e3 * parts.before:.1f} ms, communication "
        f"{1e3 * parts.communication:.1f} ms, computation after it {1e3 * parts.after:.1f} ms; "
        f"floor {1e3 * parts.floor:.1f} ms. Time and overlap efficiency:\n\n"
    )
    text += markdown(header, rows) + "\n"
    for version in versions:
        tile, depth = sweep.best(version)
        seconds = sweep.seconds[version][(tile, depth)]
        text += (
            f"- {version}: best at K = {tile}, D = {depth}: {1e3 * seconds:.1f} ms, "
            f"efficiency {parts.efficiency(seconds):.3f}\n"
        )
    if widest := sweep.widest_gap():
        (tile, depth), gap = widest
        text += (
            f"- transformed against hand at the same K and D: at most {100 * gap:+.2f} % "
            f"(K = {tile}, D = {depth})\n"
        )
    if sweep.automatic is not None:
        text += (
            f"- transformed with K = 0, chosen on entry: {1e3 * sweep.automatic:.1f} ms, "
            f"efficiency {parts.efficiency(sweep.automatic):.3f}\n"
        )
    return text + "\n"


def draw(sweep: Sweep) -> Path:
    """The curve of one sweep."""
    version = "transformed" if "transformed" in sweep.seconds else "hand"
    curves = [
        Curve(
            f"{version}, D = {depth}",
            {tile: sweep.seconds[version][(tile, depth)] for tile in sweep.what.tiles},
        )
        for depth in sweep.what.depths
    ]
    name = "-".join(filter(None, (sweep.case.name, sweep.what.variant)))
    path = RESULTS / f"slowdown-{name}.png"
    title = f"{sweep.title}, {sweep.what.ranks} ranks, simulated 10 Gb/s cluster"
    draw_slowdown(curves, sweep.parts.original, sweep.parts.before, title, path)
    return path


def speed_text(speed: Speed) -> str:
    """The speed of asphalt itself as Markdown."""
    rows = [
        ("scan of files without MPI, whole command", f"{speed.scan_mb_s:.0f} MB/s"),
        ("the same without start-up", f"{speed.scan_net_mb_s:.0f} MB/s"),
        ("size of what was scanned", f"{speed.scan_bytes / 1e6:.0f} MB"),
        ("start-up", cell(speed.start_seconds, 2) + " s"),
        ("apply, 1,000 lines with one site, cold", cell(speed.apply_seconds, 2) + " s"),
    ]
    return markdown(("what", "measured"), rows)


def main() -> int:
    """Measures everything; the exit code."""
    console = Console(width=max(120, Console().width))
    cases = load_cases()
    RESULTS.mkdir(parents=True, exist_ok=True)
    written = []
    text = "# Measurements\n\n"
    text += f"On {os.cpu_count()} cores ({platform.machine()}), by `make bench`.\n\n"
    try:
        console.rule("simulated cluster", align="left")
        swept = sweeps(console, cases)
        console.print(table((s.measured(s.best("hand")) for s in swept), "at hand's best K, D"))
        text += "## Simulated cluster (SMPI, 10 Gb/s)\n\n"
        text += "".join(sweep_table(sweep) for sweep in swept)
        written += [draw(sweep) for sweep in swept]
        console.rule("two ranks over a slow link", align="left")
        linked, doubt = over_link(console, cases)
        console.print(table(linked, "medians of interleaved runs"))
        text += f"## Two ranks over a slow link\n\nMedians of {LINK_REPEATS} interleaved runs.\n\n"
        text += f"But {doubt}.\n\n" if doubt else ""
        text += markdown(COLUMNS, map(row, linked)) + "\n"
        data = {
            "version": 1,
            "simulated": [
                measured_json(s.measured((tile, depth)))
                for s in swept
                for tile in s.what.tiles
                for depth in s.what.depths
            ],
            "link": [measured_json(measured) for measured in linked],
        }
        if available():
            console.rule("asphalt itself", align="left")
            speed = speed_text(measure_speed())
            console.print(speed, highlight=False)
            text += "## asphalt itself\n\n" + speed
    except LabError as error:
        console.print(f"[red]{error}", highlight=False)
        return 1
    for name, content in (("results.md", text), ("results.json", as_json(data))):
        (RESULTS / name).write_text(content, encoding="utf-8")
        written.append(RESULTS / name)
    for path in written:
        console.print(f"wrote {path.relative_to(ROOT)}", highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
