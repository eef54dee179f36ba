"""Measures how long asphalt optimises transfers, in processor time.

    python -m bench.speed [--tree NAME=PATH]... [--scan NAME=PATH]... [--only NAME]...

runs the commands of ``ROWS`` on the kernels, and on trees of the user's own, which are named on the
command line and never committed; their settings are those of a file beside them.  It writes
``bench/results/optimiser/speed.json`` and ``docs/speed.md``.  Each row has the time of a fixed loop
of Python beside it, measured before and after: machines are compared by the ratio of the two.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from bench.lab.build import COMMON
from bench.lab.case import KERNELS, ROOT, load_case
from bench.lab.run import LabError
from bench.lab.transform import command

RESULTS = ROOT / "bench" / "results" / "optimiser" / "speed.json"
PAGE = ROOT / "docs" / "speed.md"
LOOP = "s = 0\nfor i in range(10_000_000):\n    s += i\n"
"""What the unit of time is: this, in the interpreter that runs asphalt."""
ALL = ("apply", "--passes", "all")
"""The command for most kernels, and for trees of the user's own."""
SCAN = ("scan", "--passes", "prepush")
"""The command for trees that are scanned."""
ROWS: Sequence[tuple[str, tuple[str, ...], str]] = (
    ("halo_2d", SCAN, ""),
    ("halo_2d", ("explain", "--passes", "transfers"), "original.f90:54"),
    ("halo_2d", ("apply", "--passes", "transfers"), ""),
    ("lu_precondition", ALL, ""),
    ("lu_wavefront", ALL, ""),
    ("multigrid_smooth", ALL, ""),
    ("ocean_gather", ALL, ""),
    ("ocean_sum", ALL, ""),
)
"""The kernels that are measured, each with the command, and the place in it that it is about."""


@dataclass(frozen=True, slots=True)
class Row:
    """One command on one tree.

    ``lines``: of its Fortran files; ``seconds``: of all its processes, user and system time;
    ``peak_mb``: the most memory of one of them; ``unit``: the seconds of ``LOOP``.
    """

    name: str
    command: str
    lines: int
    seconds: float
    peak_mb: float
    unit: float

    @property
    def units(self) -> float:
        """The time in times of the loop."""
        return self.seconds / self.unit


def measured(
    name: str,
    tree: Path,
    arguments: Sequence[str],
    place: str = "",
    cache: tuple[Path, str] | None = None,
) -> Row:
    """The row of one command on one tree, or on a ``place`` in it; raises LabError if asphalt
    fails.  ``cache``: the folder of the cache, and in words how full it is; None: there is none."""
    before = _run([sys.executable, "-c", LOOP])[0]
    with tempfile.TemporaryDirectory(prefix="asphalt-speed-") as folder:
        out = ["--output", folder] if arguments[0] == "apply" else []
        options = [*([] if cache else ["--no-cache"]), "--jobs", "1"]
        more = {"XDG_CACHE_HOME": str(cache[0])} if cache else {}
        about = [*([str(tree / place)] if place else []), str(tree)]
        seconds, peak = _run([*command(), *arguments, *options, *out, *about], more)
    after = _run([sys.executable, "-c", LOOP])[0]
    said = " ".join(arguments) + (f", {cache[1]}" if cache else "")
    return Row(name, said, lines_of(tree), seconds, peak, (before + after) / 2)


def scans(name: str, tree: Path) -> Iterator[Row]:
    """The rows of three scans of a copy of a tree: with an empty cache, with a full one, and with
    one file edited since."""
    with tempfile.TemporaryDirectory(prefix="asphalt-speed-") as folder:
        copy, cache = Path(folder) / "tree", Path(folder) / "cache"
        shutil.copytree(tree, copy, symlinks=True)
        yield measured(name, copy, SCAN, cache=(cache, "empty cache"))
        yield measured(name, copy, SCAN, cache=(cache, "full cache"))
        edit(copy)
        yield measured(name, copy, SCAN, cache=(cache, "one file edited"))


def edit(tree: Path) -> Path:
    """Add a procedure to the largest Fortran file of a tree that names MPI, or else to the largest
    one; return its path."""

    def rank(path: Path) -> tuple[bool, int, str]:
        text = path.read_bytes()
        return b"mpi_" in text.lower(), len(text), str(path)

    largest = max(_fortran_files(tree), key=rank)
    unit = "      subroutine asphalt_edited()\n      end subroutine asphalt_edited\n"
    largest.write_bytes(largest.read_bytes() + unit.encode())
    return largest


def write_kernel(name: str, folder: Path) -> None:
    """Write the sources of a kernel, with those that it shares with others."""
    case = load_case(KERNELS / name)
    shared = {one: KERNELS / "common" / one for one in COMMON}
    own = {one: case.directory / one for one in (*case.sources, "sizes.inc")}
    for file, path in (shared | own).items():
        (folder / file).write_bytes(path.read_bytes())


def lines_of(tree: Path) -> int:
    """The lines of the Fortran files of a tree."""
    return sum(path.read_bytes().count(b"\n") for path in _fortran_files(tree))


def _fortran_files(tree: Path) -> Iterator[Path]:
    suffixes = (".f", ".f90", ".f03", ".f08")
    return (p for p in tree.rglob("*") if p.suffix.lower() in suffixes and p.is_file())


def page(rows: Iterable[Row]) -> str:
    """The page with all rows."""
    text = (
        "# How long asphalt takes\n\n"
        "`python -m bench.speed` measures it: the processor time of all processes, without a\n"
        "cache where none is named, and with `--jobs 1`. The unit is the time of ten million\n"
        "iterations of a Python loop on the same machine, so that machines can be compared.\n"
        "Trees that are no part of the project are named with `--tree NAME=PATH` and\n"
        "`--scan NAME=PATH`; their rows stay until they are measured again."
        "\n\n"
        "With `--jobs 2` or more, other processes optimise units before their turn, for the\n"
        "tree as it stands then; most units leave it as it is. As soon as one changes, what\n"
        "was found for those behind it is forgotten and done again. So the results are those\n"
        "of one process; the processor time is never less, the time on the clock is. Trees of\n"
        "few units, and `--judge simulation`, are worked on by one process."
        "\n\n| tree | lines | command | s | peak MB | s of the loop | units |\n"
        "|---|---|---|---|---|---|---|\n"
    )
    for row in rows:
        text += (
            f"| {row.name} | {row.lines:,} | `{row.command}` | {row.seconds:.1f} "
            f"| {row.peak_mb:.0f} | {row.unit:.2f} | {row.units:.1f} |\n"
        )
    return text


def as_json(rows: Iterable[Row]) -> str:
    """The text of the file of results: a line for each row."""
    lines = [json.dumps(asdict(row)) for row in rows]
    return "[\n" + ",\n".join(f" {line}" for line in lines) + "\n]\n"


def from_json(text: str) -> list[Row]:
    """The rows of a file of results."""
    return [Row(**row) for row in json.loads(text)]


def merged(old: Iterable[Row], new: Iterable[Row]) -> list[Row]:
    """The old rows, with new ones in their places or behind them."""
    rows = {(row.name, row.command): row for row in old}
    rows |= {(row.name, row.command): row for row in new}
    return list(rows.values())


def _run(arguments: Sequence[str], more: Mapping[str, str] | None = None) -> tuple[float, float]:
    """Processor seconds of a command with all that it starts, and the peak memory of one process
    in MB, where compiled modules may be stored as they are for users.  ``more``: of the
    environment."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= more or {}
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            arguments, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=said
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1):
            said.seek(0)
            text = said.read()[-2000:].decode(errors="replace")
            raise LabError(f"{' '.join(arguments)}: exit code {process.returncode}\n{text}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def _trees(given: Iterable[str]) -> Iterator[tuple[str, Path]]:
    for one in given:
        name, _, path = one.partition("=")
        if not name or not Path(path).is_dir():
            raise click.BadParameter(f"{one}: NAME=PATH with a directory is wanted")
        yield name, Path(path).resolve()


def _rows(
    wanted: Iterable[tuple[str, Path, tuple[str, ...], str]],
    scanned: Iterable[tuple[str, Path]],
    only: Sequence[str],
) -> Iterator[Row]:
    """All rows, one by one; ``only``: those of these names, if there are any."""
    for name, path, how, place in wanted:
        if not only or name in only:
            yield measured(name, path, how, place)
    for name, path in scanned:
        if not only or name in only:
            yield from scans(name, path)


@click.command(help=(__doc__ or "").split("\n\n")[0])
@click.option("--tree", "trees", multiple=True, help="A tree of your own: NAME=PATH.")
@click.option("--passes", default="all", show_default=True, help="The passes for these trees.")
@click.option("--scan", "scanned", multiple=True, help="A tree of your own to scan: NAME=PATH.")
@click.option("--only", multiple=True, help="Only the rows of these names.")
def main(
    trees: tuple[str, ...], passes: str, scanned: tuple[str, ...], only: tuple[str, ...]
) -> None:
    """Measure, and write the results."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="asphalt-speed-") as folder:
        wanted = [(name, Path(folder) / name, how, place) for name, how, place in ROWS]
        for name, path in {name: path for name, path, _, _ in wanted}.items():
            path.mkdir()
            write_kernel(name, path)
        own = (*ALL[:-1], passes)
        wanted += [(name, path, own, "") for name, path in _trees(trees)]
        for row in _rows(wanted, tuple(_trees(scanned)), only):
            rows.append(row)
            click.echo(f"{row.name}: {row.command}: {row.seconds:.1f} s, {row.units:.1f} units")
    known = from_json(RESULTS.read_text("utf-8")) if RESULTS.exists() else []
    rows = merged(known, rows)
    RESULTS.write_text(as_json(rows), encoding="utf-8")
    PAGE.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
