"""The simulated time of the NAS Parallel Benchmarks, as they are and transformed.

``python -m bench.nas TREE`` takes the folder of the MPI versions (``NPB3.4-MPI``) of version 3.4.
It simulates each program on 16 ranks of three clusters, original and transformed, and writes
``docs/nas.md`` and ``bench/results/optimiser/nas.json``.  Nothing of the sources is kept.
``--program`` and ``--platform`` simulate a part; the other rows stay.  ``--read`` only writes the
page anew.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from asphalt.report.timeline_data import time_text

RESULTS = Path("bench") / "results" / "optimiser" / "nas.json"
PAGE = Path("docs") / "nas.md"
PLATFORMS = ("ethernet-1g", "ethernet-10g", "ib-ddr-2009")
PROGRAMS = ("BT", "CG", "FT", "LU", "MG", "SP")
RANKS = 16
_ASSUMED = "timers,fatal,control"

Row = Mapping[str, Any]
"""The numbers of one program on one platform: ``original``, ``transformed`` (None: nothing is
transformed), ``computation`` and ``communication`` alone, all in simulated seconds; ``class``;
``difference``: the first difference of what both print."""
Rows = Mapping[str, Mapping[str, Row]]
"""Rows by program and platform."""


class NasError(Exception):
    """A program that cannot be simulated; the text says why."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate the programs; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tree", type=Path, nargs="?")
    parser.add_argument("--program", choices=PROGRAMS, action="append")
    parser.add_argument("--platform", choices=PLATFORMS, action="append")
    parser.add_argument("--class", dest="size", default="W", help="class of the problem (W)")
    parser.add_argument("--read", action="store_true", help="simulate nothing")
    given = parser.parse_args(arguments)
    rows: dict[str, dict[str, Row]] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    failed = False
    if not given.read:
        if given.tree is None:
            parser.error("name the folder of NPB3.4-MPI")
        for program in given.program or PROGRAMS:
            own = rows.setdefault(program, {})
            try:
                for platform, row in simulated(
                    given.tree, program, given.size, given.platform or PLATFORMS
                ):
                    own[platform] = row
                    text = json.dumps(rows, indent=1, sort_keys=True)
                    RESULTS.write_text(f"{text}\n", encoding="utf-8")
                    print(f"{program}: {platform}: {row}", flush=True)
            except NasError as error:
                print(f"{program}: {error}", file=sys.stderr)
                failed = True
    PAGE.write_text(page(rows), encoding="utf-8")
    return 1 if failed else 0


def simulated(
    tree: Path, program: str, size: str, platforms: Iterable[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of one program, with their platforms.

    Raises NasError if it cannot be built or simulated.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "nas"
        shutil.copytree(tree, copy)
        sources = configured(copy, program, size)
        for platform in platforms:
            yield platform, _simulated(copy, program, size, platform, sources)


def configured(tree: Path, program: str, size: str) -> list[str]:
    """Write what the build of a program generates before it compiles; returns its sources.

    Raises NasError if make fails.
    """
    settings = tree / "config" / "make.def"
    if not settings.exists():
        shutil.copy(settings.with_name("make.def.template"), settings)
    (tree / "bin").mkdir(exist_ok=True)
    of_class = f"CLASS={size}"
    _made(tree / program, "config", of_class)
    told = _made(tree / program, "--eval=its-objects: ; @echo $(OBJS)", "its-objects", of_class)
    objects = told.split("\n")[-2].split()
    if program == "BT":
        objects.append("btio.o")  # without output to files
    names = [(tree / program / name).with_suffix(".f90").resolve() for name in objects]
    return [str(name) for name in names if name.exists()]


def _made(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["make", "-s", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise NasError(f"make {' '.join(words)} fails: {done.stderr.strip()}")
    return done.stdout


def _simulated(
    tree: Path, program: str, size: str, platform: str, sources: Sequence[str]
) -> dict[str, Any]:
    name = program.lower()
    results = tree.parent / "results"
    command = [sys.executable, "-m", "asphalt", "simulate", *sources, "--tree", str(tree)]
    command += ["--build", f"make -s {name} CLASS={size} MPIFC={{fc}}"]
    command += ["--exe", f"bin/{name}.{size}.x", "--np", str(RANKS), "--platform", platform]
    command += ["--passes", "all", "--assume", _ASSUMED, "--timeout", "3600"]
    command += ["--ignore", _TIMES, "--results", str(results)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    kept = results / "simulation.json"
    data = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {"runs": []}
    if not data["runs"]:
        raise NasError(f"asphalt simulate fails: {done.stderr.strip()}")
    kept.unlink()
    return {"class": size, **_row(data["runs"][0])}


_TIMES = r"(?i)time|mop|seconds|compile date"
"""Lines of the output that tell of times."""


def _row(run: Mapping[str, Any]) -> dict[str, Any]:
    names = "original", "transformed", "computation", "communication"
    return {**{name: run[name] for name in names}, "difference": run["difference"]}


def page(rows: Rows) -> str:
    """The page of the results."""
    return "\n".join(_lines(rows)) + "\n"


def _lines(rows: Rows) -> Iterator[str]:
    yield _BEGIN.format(ranks=RANKS, assumed=_ASSUMED)
    for platform in PLATFORMS:
        yield f"## {platform}\n"
        yield (
            "| program | class | original | transformed | less time | computation alone "
            "| communication alone | of min(C, W) | output |"
        )
        yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
        for program in PROGRAMS:
            if (row := rows.get(program, {}).get(platform)) is not None:
                yield f"| {program} | " + " | ".join(_cells(row)) + " |"
        missing = [one for one in PROGRAMS if platform not in rows.get(one, {})]
        yield f"\nNot simulated: {', '.join(missing)}.\n" if missing else ""


def _cells(row: Row) -> Iterator[str]:
    """The cells of a row behind the name of the program."""
    original, transformed = row["original"], row["transformed"]
    computation, communication = row["computation"], row["communication"]
    yield row["class"]
    yield time_text(original)
    if transformed is None:
        yield from ("not transformed", "")
    else:
        yield time_text(transformed)
        yield _percent(original - transformed, original)
    yield time_text(computation)
    yield time_text(communication)
    if transformed is None:
        yield from ("", "")
    else:
        yield _percent(original - transformed, min(computation, communication))
        yield "equal" if row["difference"] is None else "differs"


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:z.1f} %"


_BEGIN = """\
# The NAS Parallel Benchmarks, simulated

`python -m bench.nas TREE` writes this page. It takes unchanged sources of version 3.4 (MPI), and
has `asphalt simulate` run each program on {ranks} simulated ranks, as it is and as this writes it:

    asphalt apply --passes all --assume {assumed}

Times are those of the simulated clock, and the same on each machine. Nothing of the sources is part
of asphalt.

- **Computation alone** (W): the original with a network that takes no time.
- **Communication alone** (C): the original with processors that take no time. Ranks that wait for
  each other in turn, as in the sweeps of LU, wait in both.
- **Of min(C, W)**: the time that the transformed program saves, as a part of the most that any
  overlap could save.  Where C is about the time of the original, the network is never idle, and
  nothing could be saved.
- **Output**: whether both versions print the same, but for lines that tell times.

[Coverage](coverage.md) tells what became of each site, and why sites are refused.
"""


if __name__ == "__main__":
    sys.exit(main())
