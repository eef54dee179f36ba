"""``asphalt diff``: the changes that ``apply`` would make."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from asphalt.cli.command import Command
from asphalt.cli.judging import JudgeOptions, judge_options
from asphalt.cli.options import (
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
    show,
    warn_of,
)
from asphalt.cli.unchanged import why_unchanged
from asphalt.config.limits import HEADER
from asphalt.config.runtime import needed
from asphalt.diagnostics.change import Change
from asphalt.diagnostics.model import ProblemReport
from asphalt.output.write import put_in_modules, used_runtime
from asphalt.report.project_reports import OPTIMISING, reports_of
from asphalt.report.steps import procedure_lines
from asphalt.report.unified import unified_diff
from asphalt.unparse.params import HeaderEntry, kept_values, merge_header


@click.command(cls=Command)
@paths_argument
@common_options
@assume_option
@tile_option
@depth_option
@judge_options
@click.option("--check", is_flag=True, help="Exit with 1 if apply would change something.")
def diff(
    paths: tuple[Path, ...],
    common: CommonOptions,
    assume: tuple[str, ...],
    tile: int | None,
    depth: int | None,
    judging: JudgeOptions,
    check: bool,
) -> int:
    """Show what apply would change, as a unified diff, and write nothing.

    The diff includes the parameter header, but not the runtime.  On stderr, diff lists the steps by
    which messages between ranks were overlapped, each with its reason, and the steps that were
    tried and not kept, with the estimates of the cost model.
    """
    project = open_project(paths, common, assume)
    with judging.judges(project, paths) as judges, watched(OPTIMISING) as watch:
        outcome = project.outcome(tile, depth, judges=judges, watch=watch)
    changes = outcome.changes
    if common.format == "text":
        warn_of(project.remarks)
        for text in _diffs(changes):
            _print_diff(text)
        procedures = tuple(map(project.places.procedure, outcome.procedures))
        for line in procedure_lines(procedures):
            note(line)
        warn_of(outcome.notes)
        modules = (used_runtime(change.after) for change in changes)
        entries = (entry for change in changes for entry in change.parameters)
        runtime = needed(put_in_modules(entries).union(*modules))
        if runtime:
            names = ", ".join(module.file for module in runtime)
            note(f"apply would also write {names}, the runtime of new code")
        elif not changes:
            note("apply would change nothing")
            why = why_unchanged(procedures, project.settings.passes)
            if why is not None:
                note(why)
    else:
        changed = {str(change.path) for change in changes}
        sites = (*reports_of(project, TERMINAL), *project.places.sites(project.findings))
        print_report(common, project, sites, changed, outcome.notes)
    return int(check and bool(changes))


def _diffs(changes: Sequence[Change]) -> Iterator[bytes]:
    """The diffs of the changed sources, and of the header of each of their directories."""
    parameters: dict[Path, list[HeaderEntry]] = defaultdict(list)
    for change in changes:
        yield unified_diff(str(change.path), change.before, change.after)
        parameters[change.path.parent].extend(change.parameters)
    for directory, entries in parameters.items():
        if not entries:
            continue
        header = directory / HEADER
        before = header.read_bytes() if header.exists() else None
        existing = None if before is None else before.decode("latin-1")
        after = merge_header(existing, entries, path=header)
        for line, message in kept_values(header, entries):
            warn_of([ProblemReport(str(header), line, message, note=True)])
        yield unified_diff(str(header), before, after.encode("latin-1"))


def _print_diff(diff: bytes) -> None:
    """Print the bytes unchanged; on a terminal, text in colour."""
    if not Console().is_terminal:
        sys.stdout.flush()
        sys.stdout.buffer.write(diff)
        sys.stdout.buffer.flush()
        return
    text = diff.decode("utf-8", "replace")
    show(Text(line, style=_style(line)) for line in text.removesuffix("\n").split("\n"))


def _style(line: str) -> str:
    if line.startswith(("---", "+++")):
        return "bold"
    return {"-": "red", "+": "green", "@": "cyan"}.get(line[:1], "")
