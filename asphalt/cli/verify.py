"""``asphalt verify``: builds and runs the original and the transformed program, and compares."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import click

from asphalt.cli.build_options import (
    Building,
    build_options,
    copied_paths,
    places_text,
    tree_option,
)
from asphalt.cli.command import Command
from asphalt.cli.numbers import RANKS, numbers_option
from asphalt.cli.options import (
    PATHS,
    CommonOptions,
    any_order_option,
    arguments_option,
    assume_option,
    common_options,
    ignore_option,
    output_option,
    paths_argument,
)
from asphalt.cli.progress import Progress
from asphalt.cli.session import note, open_project
from asphalt.cli.verify_procedure import (
    ProcedureOptions,
    print_comparisons,
    procedure_options,
    procedure_path,
    refuse_for_programs,
    verify_procedure,
)
from asphalt.config.errors import UsageError
from asphalt.config.limits import DEPTH, TILE
from asphalt.verify.builds import EXECUTABLE, RUN_PLACES, Commands
from asphalt.verify.check import ComparisonSetup
from asphalt.verify.check_all import check_all, comparisons
from asphalt.verify.files import outputs
from asphalt.verify.main_programs import refuse_several_mains
from asphalt.verify.rendezvous import without_eager_sends
from asphalt.verify.rows import Checked
from asphalt.verify.setups import NAMES, setups


@click.command(cls=Command)
@paths_argument
@build_options("{fc} FLAGS {sources} -o {exe}")
@click.option(
    "--run",
    "run_line",
    default="{launcher} -np {ranks} {exe}",
    show_default=True,
    metavar="COMMAND",
    help=f"The run command, with the program's arguments. {places_text(RUN_PLACES)}.",
)
@tree_option
@arguments_option
@click.option("--stdin", type=PATHS, metavar="FILE", help="Standard input of each run.")
@output_option
@ignore_option
@any_order_option
@numbers_option(
    "--np",
    "--ranks",
    "ranks",
    limits=RANKS,
    default="1,2,3,4",
    metavar="N,...",
    help="Numbers of ranks to run on.",
)
@numbers_option(
    "--tile",
    limits=TILE,
    default="0,1,3",
    metavar="K,...",
    help="Values of K, the iterations of a tile (0: chosen at run time, small data is not tiled).",
)
@numbers_option("--depth", limits=DEPTH, metavar="D,...", help="Values of D, the tiles in flight.")
@click.option(
    "--mpi",
    "mpis",
    type=click.Choice(NAMES),
    multiple=True,
    help="The MPIs to run with  [default: plain mpif90 and mpirun].",
)
@click.option(
    "--rendezvous",
    is_flag=True,
    help="No send completes before its receive is posted: finds programs that rely on buffering.",
)
@click.option(
    "--race",
    is_flag=True,
    help="Repeat all runs with checks: buffers of pending messages, requests, order of calls. "
    "Findings name source lines if the build has -g (all of them with -O0 -g).",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="A run that takes longer counts as a hang; gdb shows where its ranks are.",
)
@click.option(
    "--keep",
    type=PATHS,
    metavar="DIR",
    help="Build in DIR, and keep all builds, and records of all runs (DIR/runs).",
)
@procedure_options
@common_options
@assume_option
def verify(
    paths: tuple[Path, ...],
    building: Building,
    run_line: str,
    tree: Path | None,
    arguments: str,
    stdin: Path | None,
    output_texts: tuple[str, ...],
    ignore: tuple[str, ...],
    any_order: bool,
    ranks: tuple[int, ...],
    tile: tuple[int, ...],
    depth: tuple[int, ...] | None,
    mpis: tuple[str, ...],
    rendezvous: bool,
    race: bool,
    timeout: float,
    keep: Path | None,
    drawing: ProcedureOptions,
    common: CommonOptions,
    assume: tuple[str, ...],
) -> int:
    """Build the original and the transformed program, run both, and compare what they write.

    If the first PATH has the form FILE:PROCEDURE (or FILE:MODULE::PROCEDURE), verify calls this
    procedure with random arguments instead and compares every argument; more PATHs hold what the
    procedure needs.

    Exits with 1 if a run differs in output or exit status, hangs, or has a race; with 2 if
    something could not be run, or the original itself fails.
    """
    target = procedure_path(paths[0])
    if target is not None:
        choices = tuple(product(tile, depth or (None,)))
        with _work_directory(keep) as work:
            return verify_procedure(
                target, paths[1:], ranks, choices, mpis, work, drawing, common, assume
            )
    refuse_for_programs()
    if stdin is not None and not stdin.is_file():
        raise UsageError(f"--stdin {stdin}: no such file; check the path")
    exe = building.executable or (EXECUTABLE if building.build is None else None)
    copied = copied_paths(paths, tree)
    _refuse_inside(copied, keep)
    compared = outputs(output_texts, ignore, any_order)
    surroundings, missing = setups(mpis)
    for message in missing:
        note(message)
    if rendezvous:
        surroundings = tuple(map(without_eager_sends, surroundings))
    project = open_project(paths, common, assume)
    line = building.line_of(drawing.flags, project.settings.defines)
    run_line = f"{run_line} {arguments}".rstrip()
    commands = Commands(line, run_line, timeout, exe, stdin and stdin.absolute())
    refuse_several_mains(project, line)
    choices = tuple(product(tile, depth or (None,)))
    if not project.transform():
        if not race and not rendezvous:
            unread = any(not problem.note for problem in project.problems)
            why = ": asphalt did not understand part of it (see above)" * unread
            note(f"nothing is transformed, so there is nothing to compare{why}")
            print_comparisons(Checked(()), common)
            return int(unread)
        how = "with checks" if race else "without eager sends"
        note(f"nothing is transformed, so only the original runs, {how}")
        choices = ()
    trial = ComparisonSetup(copied, commands, compared, ranks, choices, keep is not None, race)
    total = comparisons(trial, surroundings)
    with _work_directory(keep) as work, Progress("verifying", total) as progress:
        found = check_all(project, trial, surroundings, work, progress)
    print_comparisons(found, common)
    return found.exit_code


def _refuse_inside(copied: tuple[Path, ...], keep: Path | None) -> None:
    """Raise ``UsageError`` for a tree that would contain its own copies."""
    for path in copied:
        if keep is not None and path.is_dir() and keep.resolve().is_relative_to(path.resolve()):
            raise UsageError(
                f"--keep {keep}: lies in {path}, which is copied; choose a directory outside"
            )


@contextmanager
def _work_directory(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="asphalt-verify-") as name:
            yield Path(name)
        return
    if keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise UsageError(f"--keep {keep}: is not an empty directory; choose another one")
    keep.mkdir(parents=True, exist_ok=True)
    yield keep.absolute()
