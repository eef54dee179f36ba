"""``asphalt scan`` over the sources of real programs: ``python -m bench.corpus``.

Fetches the Debian source packages, scans each tree with an empty and with a filled cache, checks
that nothing was skipped silently, and writes ``docs/coverage.md``.  Exit code 1: something was
skipped; 2: a package could not be fetched.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from asphalt.analysis.exchange.site import all_to_all_operations
from asphalt.config.settings import Settings
from asphalt.diagnostics.catalogue import ALL_CODES
from asphalt.diagnostics.model import SiteReport
from asphalt.frontend.source_tree.scan import has_mpi_name
from asphalt.frontend.source_tree.tree import Tree, load_tree
from bench.applied import kept, with_section
from bench.coverage import Coverage, coverage_of, possible, verdict_rows, worth_lifting
from bench.sources import FOLDER, FetchError, fetch

PAGE = Path("docs") / "coverage.md"


@dataclass(frozen=True, slots=True)
class Package:
    """A Debian source package; ``defines`` are those of its build, ``include_dirs`` its own."""

    name: str
    defines: tuple[str, ...]
    include_dirs: tuple[str, ...]
    about: str


PACKAGES = (
    Package(
        "espresso",
        ("__MPI", "__FFTW3", "__SCALAPACK"),
        ("include", "FFTXlib", "LAXlib"),
        "plane-wave density functional theory (Quantum ESPRESSO); configured with MPI, FFTW 3 and "
        "ScaLAPACK, without OpenMP",
    ),
    Package(
        "elpa",
        ("WITH_MPI=1", "HAVE_MPI_MODULE=1", "WITH_REAL_GENERIC_KERNEL=1"),
        (".", "src", "test/shared"),
        "eigenvalue solvers; most procedures are templates that the preprocessor includes, and the "
        "headers that its configure script would generate are missing",
    ),
    Package(
        "mumps",
        ("pord", "intel_"),
        ("include",),
        "multifrontal sparse solver, in fixed form, each routine once for each of four types",
    ),
)


@dataclass(frozen=True, slots=True)
class Seconds:
    """The time of a command in seconds: wall time, and processor time."""

    clock: float
    processors: float

    def __str__(self) -> str:
        return f"{self.clock:.1f} ({self.processors:.1f})"


@dataclass(frozen=True, slots=True)
class Scanned:
    """The outcome of one package."""

    package: Package
    version: str
    cold: Seconds
    warm: Seconds
    sites: tuple[SiteReport, ...]
    coverage: Coverage


def main() -> int:
    """Run everything; returns the exit code."""
    done: list[Scanned] = []
    for package in PACKAGES:
        try:
            print(f"{package.name}: fetching", flush=True)
            root, version = fetch(package.name)
        except FetchError as error:
            print(f"{package.name}: {error}", file=sys.stderr)
            return 2
        done.append(_scanned(package, root, version))
    PAGE.write_text(_page(done), encoding="utf-8")
    print(f"wrote {PAGE}")
    lost = [line for scanned in done for line in scanned.coverage.lost]
    for line in lost:
        print(f"neither analysed nor reported: {line}", file=sys.stderr)
    return 1 if lost else 0


def _scanned(package: Package, root: Path, version: str) -> Scanned:
    cache = FOLDER / "cache" / package.name
    shutil.rmtree(cache, ignore_errors=True)
    cold, sites = _timed_scan(package, root, cache)
    warm, again = _timed_scan(package, root, cache)
    assert again == sites
    include_dirs = tuple(str(root / directory) for directory in package.include_dirs)
    tree = load_tree([root], Settings(defines=package.defines, include_dirs=include_dirs))
    coverage = coverage_of(tree, root, sites)
    speed = _scan_speed(tree)
    tree.close()
    verdicts = Counter(f"{site.verdict} {site.code or ''}".strip() for site in sites)
    print(
        f"{package.name}: {coverage.lines} lines, {coverage.procedures} procedures with MPI calls, "
        f"{len(sites)} sites ({', '.join(f'{n} {v}' for v, n in verdicts.most_common())}); "
        f"seconds (of processors): cold {cold}, warm {warm}; "
        f"files without MPI at {speed:.0f} MB/s",
        flush=True,
    )
    relative = tuple(_relative(site, root) for site in sites)
    return Scanned(package, version, cold, warm, relative, coverage)


def _timed_scan(
    package: Package, root: Path, cache: Path
) -> tuple[Seconds, tuple[SiteReport, ...]]:
    """The time of the command, including its start, and the sites that it reports."""
    command = [sys.executable, "-m", "asphalt", "scan", "--passes", "prepush"]
    command += ["--format", "json", str(root)]
    for define in package.defines:
        command += ["-D", define]
    for directory in package.include_dirs:
        command += ["-I", str(root / directory)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache.absolute())}
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    seconds = Seconds(time.perf_counter() - start, used)
    if done.returncode != 0:
        raise SystemExit(f"asphalt scan {root} failed:\n{done.stderr}")
    fields = SiteReport.__dataclass_fields__
    return seconds, tuple(
        SiteReport(
            **{name: _frozen(site[name]) for name in fields if name in site and name != "marks"}
        )
        for site in json.loads(done.stdout)["sites"]
    )


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _scan_speed(tree: Tree) -> float:
    """The speed in MB/s at which the scan passes files without MPI names."""
    files = [(tree.content(e.path), e.form) for e in tree.files if not e.has_mpi]
    start = time.process_time()
    for content, form in files:
        has_mpi_name(content, form)
    return sum(len(content) for content, _ in files) / 1e6 / (time.process_time() - start)


def _relative(site: SiteReport, root: Path) -> SiteReport:
    return replace(site, file=site.file.removeprefix(f"{root}/"))


def _page(done: Sequence[Scanned]) -> str:
    names = [scanned.package.name for scanned in done]
    lines = [
        "# Coverage: what asphalt makes of real programs",
        "",
        "`make corpus` writes this page.  It fetches the sources of these Debian packages, runs",
        "`asphalt scan` over each tree in the configuration of its build, and checks that asphalt",
        "analyses every procedure with an MPI call, or reports why it does not.",
        "",
        *(f"- `{s.package.name}` {s.version}: {s.package.about}." for s in done),
        "",
        *_table(["", *names], _figures(done)),
        "",
        "A call counts wherever it stands: split over continuation lines, behind a rename, in text",
        "that the preprocessor brings in or removes.  A plain search of every line finds no other.",
        "",
        "## Verdicts",
        "",
    ]
    rows = verdict_rows({f"{s.package.name}-{s.version}": s.sites for s in done})
    table = [[r.label, r.title, *map(str, r.counts), f"`{r.example}`"] for r in rows]
    lines += _table(["verdict", "meaning", *names, "for example"], table)
    lines += ["", "Each code links to its meaning, a program that gets it, and the same program"]
    lines += ["mended.  `asphalt explain FILE:LINE` draws the evidence over the source."]
    lines += ["", "## The three refusals most worth lifting", ""]
    lines += [
        "These refuse most sites.  Routines that differ only in their type count once.  Exchanges",
        "of a single element for each rank do not count: there is nothing to overlap.",
        "",
    ]
    sites = [replace(s, file=f"{d.package.name}/{s.file}") for d in done for s in d.sites]
    large = [
        replace(s, file=f"{d.package.name}/{s.file}")
        for d in done
        for s in d.sites
        if (s.file, s.line) not in d.coverage.single
    ]
    for rank, (code, number, where) in enumerate(worth_lifting(large), 1):
        about = ALL_CODES[code]
        lines += [
            f"{rank}. **[{code}](codes/{code.lower()}.md), {about.title}**: {number} sites, in "
            f"{where}.  {about.meaning}"
        ]
    lines += ["", "## Every site", ""]
    table = [[f"{s.file}:{s.line}", s.unit, s.operation, _linked(s), s.message] for s in sites]
    lines += _table(["where", "procedure", "operation", "verdict", "why"], table)
    lines += ["", "## What was not analysed", ""]
    for scanned in done:
        lines += _unanalysed(scanned)
    page = "\n".join(lines) + "\n"
    return with_section(page, kept()) if kept() else page


def _linked(site: SiteReport) -> str:
    return (
        f"{site.verdict} [{site.code}](codes/{site.code.lower()}.md)"
        if site.code
        else (site.verdict)
    )


def _figures(done: Sequence[Scanned]) -> list[list[str]]:
    rows: list[tuple[str, Callable[[Scanned], str]]] = [
        ("files", lambda s: f"{s.coverage.files:,}"),
        ("lines", lambda s: f"{s.coverage.lines:,}"),
        ("files in which an MPI call can stand", lambda s: str(s.coverage.files_with_mpi)),
        ("procedures with MPI calls", lambda s: str(s.coverage.procedures)),
        ("their statements", lambda s: f"{s.coverage.statements:,}"),
        ("of which could not be understood", lambda s: str(s.coverage.opaque)),
        ("MPI calls", lambda s: f"{len(s.coverage.live):,}"),
        (
            "of which in files that are no Fortran by themselves",
            lambda s: str(len(s.coverage.unread)),
        ),
        ("MPI calls that the preprocessor removes", lambda s: str(len(s.coverage.removed))),
        ("exchange sites", lambda s: str(len(s.sites))),
        (
            "of which calls of procedures that wrap the exchange",
            lambda s: str(sum("(" in site.operation for site in s.sites)),
        ),
        ("possible (proved, or proved under assumptions)", lambda s: str(possible(s.sites))),
        ("refused", lambda s: str(sum(site.verdict == "refused" for site in s.sites))),
        ("files with a problem", lambda s: str(len({p.file for p in s.coverage.problems}))),
        ("neither analysed nor reported", lambda s: str(len(s.coverage.lost))),
        ("seconds (of processors), nothing cached", lambda s: str(s.cold)),
        ("seconds (of processors), cached", lambda s: str(s.warm)),
    ]
    return [[label, *(figure(s) for s in done)] for label, figure in rows]


def _unanalysed(scanned: Scanned) -> list[str]:
    coverage = scanned.coverage
    lines = [f"### {scanned.package.name}", ""]
    lines += [f"- {problem}" for problem in (*coverage.problems, *coverage.notes)]
    exchanges = Counter(
        m.operation for m in coverage.removed if m.operation in all_to_all_operations()
    )
    if exchanges:
        told = ", ".join(f"{number} {operation}" for operation, number in sorted(exchanges.items()))
        lines.append(f"- not compiled in this configuration: {told}")
    if len(lines) == 2:
        lines.append("Nothing.")
    return [*lines, ""]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return [line(head), line(["---"] * len(head)), *(line(row) for row in rows)]


if __name__ == "__main__":
    sys.exit(main())
