"""``asphalt apply``: writes the transformed tree, or transforms files in place."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from asphalt.analysis.conditions.point_to_point import NOTHING_BESIDE
from asphalt.cli.command import Command
from asphalt.cli.judging import JudgeOptions, judge_options
from asphalt.cli.options import (
    PATHS,
    CommonOptions,
    assume_option,
    common_options,
    depth_option,
    paths_argument,
    tile_option,
)
from asphalt.cli.progress import watched
from asphalt.cli.session import (
    TERMINAL,
    note,
    open_project,
    print_report,
    report_of,
    warn_of,
)
from asphalt.cli.unchanged import why_unchanged
from asphalt.config.assumptions import BITS, CONTROL, KINDS, TIMERS
from asphalt.config.errors import UsageError
from asphalt.diagnostics.model import ProblemReport, SiteReport
from asphalt.output.atomic import write_atomically
from asphalt.output.makefile import makefile_fragment
from asphalt.output.needs import needs_of_a_build
from asphalt.output.write import (
    Written,
    not_in_place,
    not_mirrored,
    write_in_place,
    write_tree,
)
from asphalt.project import Project
from asphalt.report.merged_reports import not_transformed
from asphalt.report.project_reports import OPTIMISING, reports_after
from asphalt.report.steps import not_kept

_FEW_LINES = 100
"""Of a program of which apply says without being asked what assumptions about clocks and error
handlers would change."""


@click.command(cls=Command)
@paths_argument
@click.option("-o", "--output", type=PATHS, metavar="DIR", help="Write the whole tree below DIR.")
@click.option("--in-place", is_flag=True, help="Replace the transformed files themselves.")
@common_options
@assume_option
@tile_option
@depth_option
@judge_options
@click.option(
    "--root",
    type=PATHS,
    metavar="DIR",
    help="Paths below the output are relative to DIR (else to the deepest common directory).",
)
@click.option(
    "--report", type=PATHS, metavar="FILE.json", help="Write the report on all sites as JSON."
)
@click.option(
    "--makefile",
    type=PATHS,
    metavar="FILE.mk",
    help="Write the dependences of the written files, for make (see 'asphalt mk').",
)
@click.option("--force", is_flag=True, help="Overwrite files that asphalt has not written.")
def apply(
    paths: tuple[Path, ...],
    output: Path | None,
    in_place: bool,
    common: CommonOptions,
    assume: tuple[str, ...],
    tile: int | None,
    depth: int | None,
    judging: JudgeOptions,
    root: Path | None,
    report: Path | None,
    makefile: Path | None,
    force: bool,
) -> int:
    """Transform what is proved, and write it.

    asphalt takes all PATHs together for the whole program.  With --output it mirrors the whole
    tree, other files included, so that it builds; with --in-place it replaces transformed files
    only.  Either way it writes the parameter header and the runtime, too.  Files whose content is
    right already are not touched.
    """
    if (output is None) != in_place:
        raise click.UsageError("Give --output DIR or --in-place, one of them.")
    if output is None and (root or makefile):
        raise click.UsageError("--root and --makefile need --output DIR.")
    if output is not None and output.resolve() == Path(output.resolve().anchor):
        raise UsageError(f"--output {output}: is the root of the file system; choose a directory")
    if output is not None and output.exists() and not output.is_dir():
        raise UsageError(f"--output {output}: is not a directory; choose another name")
    if report is not None:
        _refuse_unwritable(report, output)
    project = open_project(paths, common, assume)
    with judging.judges(project, paths) as judges, watched(OPTIMISING) as watch:
        outcome = project.outcome(tile, depth, judges=judges, in_place=in_place, watch=watch)
    include_dirs = project.settings.include_dirs
    if output is None:
        left = not_in_place(paths, outcome.changes, project.parts)
    else:
        left = not_mirrored(paths, outcome.changes, output, root=root, include_dirs=include_dirs)
    outcome = outcome.without(left)
    changes = outcome.changes
    promised: tuple[str, ...] = tuple(KINDS)
    if report is None and common.format == "text" and project.lines > _FEW_LINES:
        promised = (CONTROL.word, BITS.word)
    sites = tuple(
        map(not_transformed, reports_after(project, outcome, promised=promised, listener=TERMINAL))
    )
    if output is None:
        written = write_in_place(paths, changes, force=force, parts=project.parts)
    else:
        written = write_tree(
            paths, changes, output, root=root, force=force, include_dirs=include_dirs
        )
    not_written = (ProblemReport(str(path), None, why) for path, why in left.items())
    warn_of((*not_written, *written.problems, *outcome.notes))
    changed = {str(change.path) for change in changes}
    if makefile is not None and output is not None:
        fragment = makefile_fragment(written, output, project.files, include_dirs)
        write_atomically(makefile, fragment.encode(), 0o644)
    if report is not None:
        text = report_of(project, sites, changed, outcome.notes)
        write_atomically(report, text.encode(), 0o644)
    print_report(common, project, sites, changed, outcome.notes)
    procedures = tuple(map(project.places.procedure, outcome.procedures))
    _note_dropped_steps(not_kept(procedures))
    if TIMERS.word not in promised:
        _note_readings(project, sites)
    if not changes and common.format == "text":
        advised = not sites and project.has_messages
        why = why_unchanged(procedures, project.settings.passes, advised=advised)
        if why is not None:
            note(why)
    _note_written_files(written, len(changes), output)
    if makefile is None:
        for line in needs_of_a_build(written, project.parts):
            note(f"to build: {line}")
    return 0


def _note_readings(project: Project, sites: Sequence[SiteReport]) -> None:
    """Say that readings of clocks may be what is in the way, which ``scan`` finds out."""
    idle = [site for site in sites if site.code == NOTHING_BESIDE.id]
    clocked = len(project.among_readings(idle))
    if clocked:
        note(
            f"clocks are read around {clocked} of the refused operations: 'asphalt scan', with the "
            f"same --passes, says which would overlap with --assume {TIMERS.word}"
        )


def _refuse_unwritable(file: Path, output: Path | None) -> None:
    """Raise ``UsageError`` before the work begins if the report could not be written at the end."""
    folder = file.absolute().parent
    made = output is not None and folder.is_relative_to(output.absolute())
    if not folder.exists() and not made:
        raise UsageError(f"--report {file}: there is no directory {file.parent}; create it first")
    place = next(folder for folder in file.absolute().parents if folder.exists())
    if file.is_dir() or not place.is_dir() or not os.access(place, os.W_OK):
        raise UsageError(
            f"--report {file}: cannot be written; choose a directory that you may write to"
        )


def _note_dropped_steps(dropped: int) -> None:
    if dropped:
        steps = "1 step was" if dropped == 1 else f"{dropped} steps were"
        note(f"{steps} tried and not kept: 'asphalt diff' says why")


def _note_written_files(written: Written, transformed: int, output: Path | None) -> None:
    where = "" if output is None else f" in {output}"
    note(f"{_files(transformed)} transformed, {_files(len(written.rewritten))} written{where}")


def _files(count: int) -> str:
    return {0: "no file", 1: "1 file"}.get(count, f"{count} files")
