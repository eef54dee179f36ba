"""``asphalt verify FILE:PROCEDURE``: calls a procedure, original and transformed, and compares."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import click

from asphalt.cli.options import CommonOptions
from asphalt.cli.progress import Progress
from asphalt.cli.session import PipeConsole, did_you_mean, note, open_project
from asphalt.config.errors import InputError, UsageError
from asphalt.ir.records import record
from asphalt.report.verified import (
    verified_json,
    verified_lines,
    verified_summary,
    verified_table,
)
from asphalt.running.mpi import MPICH, OPENMPI, Mpi
from asphalt.verify.procedures.environment import require_mpi4py
from asphalt.verify.rows import Checked

_REAL = (OPENMPI, MPICH)
_DEFAULT_LIMIT = 30.0  # seconds for one call, without --timeout
_PROGRAMS_ONLY = ("build_line", "compile_line", "exe", "run_line", "tree", "stdin", "output_texts",
                  "arguments", "ignore", "any_order", "rendezvous", "race")  # fmt: skip
_PROCEDURES_ONLY = ("draws", "seed", "fixed", "first")


@record
class ProcedureOptions:
    """The options that are for procedures only."""

    draws: int
    seed: int
    fixed: tuple[str, ...]
    first: tuple[str, ...]
    flags: str


def procedure_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of procedures to a command, which gets them as one argument ``drawing``."""

    @wraps(command)
    def with_options(
        *args: Any,
        draws: int,
        seed: int,
        fixed: tuple[str, ...],
        first: tuple[str, ...],
        flags: str,
        **kwargs: Any,
    ) -> Any:
        drawing = ProcedureOptions(draws, seed, fixed, first, flags)
        return command(*args, drawing=drawing, **kwargs)

    for option in reversed(_OPTIONS):
        with_options = option(with_options)
    return with_options


_OPTIONS = (
    click.option(
        "--draws",
        type=click.IntRange(min=1),
        default=10,
        show_default=True,
        metavar="N",
        help="FILE:PROCEDURE: number of random inputs.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(min=0),
        default=1,
        show_default=True,
        metavar="N",
        help="FILE:PROCEDURE: seed of the random numbers.",
    ),
    click.option(
        "--set",
        "fixed",
        multiple=True,
        metavar="NAME=VALUE",
        help="FILE:PROCEDURE: fix an integer argument (n=12, 'nz=4*ranks', me=rank) or the extents "
        "of an array (s=n,nz,ranks).",
    ),
    click.option(
        "--first",
        multiple=True,
        metavar="CALL",
        help="FILE:PROCEDURE: call this first, e.g. 'grid::setup(ranks)', to set module variables; "
        "'comm' is the communicator.  May be repeated: the calls come in this order.",
    ),
    click.option(
        "--flags",
        default="-O2 -g",
        show_default=True,
        metavar="FLAGS",
        help="Compiler flags of the default command, or of FILE:PROCEDURE, including libraries.",
    ),
)


def procedure_path(path: Path) -> tuple[Path, str] | None:
    """The file and the procedure that ``FILE:PROCEDURE`` names; None for any other path.

    Raises ``InputError`` if the file does not exist.
    """
    file, colon, name = str(path).partition(":")
    if not colon or path.exists() or not file:
        return None
    if not Path(file).is_file():
        advice = did_you_mean(Path(file))
        raise InputError(file, None, f"no such file, FILE:PROCEDURE needs one; {advice}")
    return Path(file), name


def verify_procedure(
    target: tuple[Path, str],
    paths: Sequence[Path],
    ranks: tuple[int, ...],
    choices: tuple[tuple[int, int | None], ...],
    mpis: tuple[str, ...],
    work: Path,
    drawing: ProcedureOptions,
    common: CommonOptions,
    assume: tuple[str, ...],
) -> int:
    """Compare and print the results; returns the exit code.  ``paths``: all but the file itself."""
    if refused := _given(_PROGRAMS_ONLY):
        raise UsageError(f"{refused}: only for whole programs; for a procedure, give --flags")
    require_mpi4py()
    from asphalt.verify.procedures.compare import ComparisonRequest, compare
    from asphalt.verify.procedures.draws import Fixed

    chosen, left_out = _chosen(mpis)
    for message in left_out:
        note(message)
    file, name = target
    project = open_project((file, *paths), common, assume)
    context = click.get_current_context()
    said = context.get_parameter_source("timeout") is click.core.ParameterSource.DEFAULT
    wanted = ComparisonRequest(
        procedure=name,
        path=next((str(one) for one in project.files if one.samefile(file)), str(file)),
        first=drawing.first,
        fixed=tuple(map(Fixed.of, drawing.fixed)),
        draws=drawing.draws,
        seed=drawing.seed,
        flags=tuple(shlex.split(drawing.flags)),
        limit=_DEFAULT_LIMIT if said else context.params["timeout"],
        keep=context.params["keep"] is not None,
    )
    with Progress("verifying", len(chosen) * len(ranks)) as progress:
        found = compare(
            project, wanted, chosen, ranks, choices, work, progress.say, progress.advance
        )
    checked = Checked(found.rows, found.failures, found.remarks)
    print_comparisons(checked, common)
    return checked.exit_code


def print_comparisons(found: Checked, common: CommonOptions) -> None:
    """Print the results of all comparisons on stdout, and remarks on stderr."""
    if common.format == "json":
        print(verified_json(found.rows, found.failures))
    elif found.rows:
        console = PipeConsole(highlight=False, soft_wrap=True, emoji=False)
        console.print(verified_table(found.rows))
        for line in verified_lines(found.rows):
            console.print(line, markup=False)
    for message in (*found.remarks, *found.failures):
        note(message)
    if common.format != "json" and found.rows:
        note(verified_summary(found.rows))


def refuse_for_programs() -> None:
    """Raise ``UsageError`` if the command line has options that are for procedures only."""
    if refused := _given(_PROCEDURES_ONLY):
        raise UsageError(
            f"{refused}: only for a procedure, FILE:PROCEDURE; a whole program is built by --build "
            "or --compile, and calls its procedures itself"
        )


def _given(parameters: Sequence[str]) -> str:
    """Those of the options that the command line has, separated by commas."""
    return ", ".join(sorted(map(_option, filter(_is_given, parameters))))


def _is_given(parameter: str) -> bool:
    source = click.get_current_context().get_parameter_source(parameter)
    return source is click.core.ParameterSource.COMMANDLINE


def _option(parameter: str) -> str:
    command = click.get_current_context().command
    return next(p.opts[0] for p in command.params if p.name == parameter)


def _chosen(names: Sequence[str]) -> tuple[tuple[Mpi, ...], tuple[str, ...]]:
    """The MPIs to use, and remarks on those left out.

    Raises ``UsageError`` for one that is named and missing, or that mpi4py does not support.
    """
    if "smpi" in names:
        raise UsageError("--mpi smpi: mpi4py does not support it; take openmpi or mpich")
    for mpi in _REAL:
        if mpi.name in names:
            mpi.require()
    there = [mpi for mpi in _REAL if not mpi.missing()]
    if not there:
        OPENMPI.require()
    if not names:
        return (there[0],), ()
    chosen = tuple(mpi for mpi in there if mpi.name in names or "all" in names)
    missing = [mpi for mpi in _REAL if mpi not in there and "all" in names]
    return chosen, tuple(f"{mpi.title} is left out; {mpi.installation()}" for mpi in missing)
