"""``asphalt verify``: builds and runs original and transformed, and compares what they print."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import product
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from asphalt.cli.options import (
    PATHS,
    CommonOptions,
    assume_option,
    common_options,
    paths_argument,
)
from asphalt.cli.session import Output, note, open_project
from asphalt.errors import UsageError
from asphalt.limits import DEPTH, TILE, Limits
from asphalt.verify.check import Commands, Row, check

_RANKS = Limits(1, 10**6)
Numbers = tuple[int, ...]


def _numbers(
    limits: Limits,
) -> Callable[[click.Context, click.Parameter, str | None], Numbers | None]:
    """Reads a comma-separated list of whole numbers within limits."""

    def convert(ctx: click.Context, param: click.Parameter, value: str | None) -> Numbers | None:
        if value is None:
            return None
        words = value.split(",")
        if not all(word.strip().isdecimal() and int(word) in limits for word in words):
            raise click.BadParameter(f"'{value}' is no list of whole numbers from {limits}.")
        return tuple(dict.fromkeys(map(int, words)))

    return convert


@click.command()
@paths_argument
@click.option(
    "--compile",
    "compile_line",
    required=True,
    metavar="COMMAND",
    help="How to build, e.g. 'mpif90 -O2 {sources} -o {exe}'; it runs in the mirrored tree. "
    "{sources}: all Fortran files, modules before their users.",
)
@click.option(
    "--run",
    "run_line",
    default="mpirun -np {ranks} {exe}",
    show_default=True,
    metavar="COMMAND",
    help="How to run.",
)
@click.option(
    "--ranks",
    callback=_numbers(_RANKS),
    default="1,2,3,4",
    show_default=True,
    metavar="N,...",
    help="Numbers of ranks.",
)
@click.option(
    "--tile",
    callback=_numbers(TILE),
    default="0,1,3",
    show_default=True,
    metavar="K,...",
    help="Iterations a tile, each tried (0: chosen on entry; small data is not tiled then).",
)
@click.option(
    "--depth", callback=_numbers(DEPTH), metavar="D,...", help="Tiles in flight, each tried."
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="What takes longer hangs.",
)
@click.option("--keep", type=PATHS, metavar="DIR", help="Build in DIR and leave it there.")
@common_options
@assume_option
def verify(
    paths: tuple[Path, ...],
    compile_line: str,
    run_line: str,
    ranks: tuple[int, ...],
    tile: tuple[int, ...],
    depth: tuple[int, ...] | None,
    timeout: float,
    keep: Path | None,
    common: CommonOptions,
    assume: tuple[str, ...],
) -> int:
    """Build original and transformed, run both, and compare standard output byte for byte.

    Exits with 1 if one run differs in output or exit status, or hangs.
    """
    project = open_project(paths, common, assume)
    if not project.transform():
        note("nothing is transformed here, so there is nothing to compare")
        return 0
    choices = tuple(product(tile, depth or (None,)))
    commands = Commands(compile_line, run_line, timeout)
    rows: list[Row] = []
    with _work_directory(keep) as work, Console(stderr=True).status("verifying") as status:
        for row in check(project, paths, work, commands, ranks, choices, status.update):
            rows.append(row)
    _tell(rows, common)
    return int(any(row.difference for row in rows))


@contextmanager
def _work_directory(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="asphalt-verify-") as name:
            yield Path(name)
        return
    if keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise UsageError(f"--keep {keep}: is not an empty directory; choose another")
    keep.mkdir(parents=True, exist_ok=True)
    yield keep


def _tell(rows: Sequence[Row], common: CommonOptions) -> None:
    if common.format == "json":
        print(json.dumps({"version": 1, "runs": [asdict(row) for row in rows]}, indent=2))
        return
    table = Table("K", "D", "ranks", "result")
    for row in rows:
        wrong = "does not build" if row.ranks is None else "differs"
        result = "equal" if row.difference is None else f"[red]{wrong}[/red]"
        table.add_row(str(row.tile), _or(row.depth, "default"), _or(row.ranks, "-"), result)
    console = Output(highlight=False, soft_wrap=True, emoji=False)
    console.print(table)
    for row in rows:
        if row.difference is not None:
            console.print(f"{_name(row)}: {row.difference.message}", markup=False)
    for text in dict.fromkeys(text for row in rows for text in row.notes):
        console.print(text, markup=False)
    different = sum(row.difference is not None for row in rows)
    outcome = f"{different} different" if different else "all equal"
    note(f"{len(rows)} comparisons, {outcome}")


def _name(row: Row) -> str:
    name = f"K={row.tile} D={_or(row.depth, 'default')}"
    return name if row.ranks is None else f"{name}, {_ranks(row.ranks)}"


def _ranks(count: int) -> str:
    return "1 rank" if count == 1 else f"{count} ranks"


def _or(value: int | None, otherwise: str) -> str:
    return otherwise if value is None else str(value)
