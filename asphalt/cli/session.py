"""Shared by the subcommands: opening a project, and reporting sites and problems."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Protocol

from rich.console import Console
from rich.text import Text

from asphalt.cli.notes import note as note
from asphalt.cli.options import CommonOptions
from asphalt.cli.progress import reading, watched
from asphalt.cli.unchanged import missing_passes
from asphalt.config.errors import InputError, UsageError
from asphalt.config.passes import OF_TRANSFERS
from asphalt.config.settings import Settings
from asphalt.diagnostics.model import ProblemReport, SiteReport
from asphalt.frontend.source_tree.outline import Outline
from asphalt.frontend.source_tree.program_tree import included_alone
from asphalt.frontend.source_tree.scan import is_source
from asphalt.project import Project
from asphalt.report.drawing import BOXES, PLAIN, Strokes
from asphalt.report.github import annotation_lines
from asphalt.report.json import report_text
from asphalt.report.project_reports import Listener
from asphalt.report.sarif import sarif_text
from asphalt.report.text import (
    common_reasons,
    missing_modules,
    problem_line,
    site_lines,
    summary,
    unread_modules,
)

_SUFFIXES = (
    "its suffix is none of Fortran's (.f90, .F90, .f, ...): name Fortran files, or the directory "
    "that holds them"
)


class PipeConsole(Console):
    """A console that raises ``BrokenPipeError``, for ``main``, when its reader is gone."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class Reported(Protocol):
    """The parts of a project for which reports ask beside its sites."""

    @property
    def settings(self) -> Settings:
        """How it was read."""

    @property
    def files(self) -> tuple[Path, ...]:
        """All Fortran files, sorted."""

    @property
    def problems(self) -> tuple[ProblemReport, ...]:
        """The problems of the input."""

    @property
    def internal_errors(self) -> tuple[ProblemReport, ...]:
        """The units in which asphalt itself has failed."""

    @property
    def has_messages(self) -> bool:
        """Whether there are messages between two ranks; of meaning where there is no site."""

    @property
    def left_out(self) -> tuple[int, tuple[str, int]] | None:
        """How many lines call MPI in branches of the preprocessor that are left out, and file and
        line of the first one; None: there are none."""

    @property
    def leaves_lines_out(self) -> bool:
        """Whether conditionals of the preprocessor leave out lines of any file."""

    def missing_modules(self, file: str) -> tuple[str, ...]:
        """The modules that a file with a site uses and that are not there."""

    def unread_module(self, name: str) -> str | None:
        """Where and why a file cannot be read that defines a module."""

    def content(self, file: str) -> bytes | None:
        """The bytes of a file; None for a file that is not of the project."""


def open_project(
    paths: Sequence[Path], common: CommonOptions, assume: Iterable[str] = ()
) -> Project:
    """Read the given files and trees, with the settings of ``settings_of``: see
    ``read_project``."""
    return read_project(paths, settings_of(paths, common, assume))


def did_you_mean(path: Path) -> str:
    """Advice on a path that does not exist: names like it, in the first directory that exists."""
    missing = path
    while not missing.parent.is_dir():
        missing = missing.parent
    names = os.listdir(missing.parent) if os.access(missing.parent, os.R_OK) else []
    near = get_close_matches(missing.name, sorted(names), n=2)
    if not near:
        return "check the path"
    return f"did you mean {' or '.join(str(missing.with_name(name)) for name in near)}?"


def settings_of(
    paths: Sequence[Path], common: CommonOptions, assume: Iterable[str] = ()
) -> Settings:
    """The settings for given files and trees.

    Raises ``InputError`` for a path that does not exist, and ``UsageError`` for a directory of
    included files that does not.
    """
    for path in paths:
        if not path.exists():
            raise InputError(str(path), None, f"no such file or directory; {did_you_mean(path)}")
    settings = common.settings(paths[0])
    settings = replace(settings, assume=settings.assume | frozenset(assume))
    for directory in settings.include_dirs:
        if not Path(directory).is_dir():
            raise UsageError(f"-I {directory}: no such directory; check the path")
    return settings


def read_project(paths: Sequence[Path], settings: Settings) -> Project:
    """Read the given files and trees.

    Raises ``InputError`` for a named file that cannot be used, and if no file at all can be used.
    Other problems are reported on stderr.
    """
    with reading("reading the source"):
        project = Project(*paths, settings=settings)
        problems = project.problems
    broken = [problem for problem in problems if not problem.note]
    named = {str(path) for path in paths}
    for problem in broken:
        if problem.file in named:
            raise InputError(problem.file, problem.line, _asked(project, problem))
    warn_of(problems)
    _refuse_other_texts(project, named)
    if broken and {str(file) for file in project.files} <= {problem.file for problem in broken}:
        raise InputError(", ".join(sorted(named)), None, "no file here can be used")
    return project


def _asked(project: Project, problem: ProblemReport) -> str:
    """A problem of a named file; whether it is Fortran at all, if neither text nor name say so."""
    known = {entry.path for entry in project.tree.files}
    if is_source(problem.file) or problem.file not in known:
        return problem.message
    outline = project.tree.outline(problem.file)
    doubtful = outline.broken or _is_empty(outline)
    return f"{problem.message}; is this Fortran? {_SUFFIXES}" if doubtful else problem.message


def _refuse_other_texts(project: Project, named: Collection[str]) -> None:
    """Warn of named files that seem to be no Fortran; raises ``InputError`` if all are so."""
    tree = project.tree
    files = [entry.path for entry in tree.files]
    parts = included_alone(tree)
    others = [
        path
        for path in files
        if path in named
        and not is_source(path)
        and path not in parts
        and _is_empty(tree.outline(path))
    ]
    for path in others:
        message = f"has no program unit of Fortran; {_SUFFIXES}"
        if len(others) == len(files):
            raise InputError(path, None, message)
        warn_of([ProblemReport(path, None, message)])


def _is_empty(outline: Outline) -> bool:
    return not (outline.units or outline.loose_calls or outline.loose_includes)


def warn_of(problems: Iterable[ProblemReport]) -> None:
    """Report problems that do not stop the run on stderr, one to a line."""
    for problem in problems:
        note(f"{'note' if problem.note else 'warning'}: {problem_line(problem)}")


TERMINAL = Listener(reading, watched, warn_of)
"""Tells the progress of reports on stderr."""


def show(lines: Iterable[Text | str]) -> None:
    """Print lines to stdout, in colour on a terminal, never wrapped or cut."""
    console = PipeConsole(soft_wrap=True, highlight=False, markup=False, emoji=False)
    for line in lines:
        console.print(line)


def print_report(
    common: CommonOptions,
    project: Reported,
    sites: Sequence[SiteReport],
    changed: Collection[str] = (),
    notes: Sequence[ProblemReport] = (),
) -> None:
    """Print the report on the sites in the format of ``--format``.

    ``notes`` join the problems of the project in formats for programs; a person has already read
    both on stderr.
    """
    problems = (*project.problems, *notes)
    match common.format:
        case "json":
            print(report_of(project, sites, changed, notes), end="")
        case "sarif":
            print(sarif_text(sites, problems, sources_of(project, sites)), end="")
        case "github":
            for line in annotation_lines(sites, problems):
                print(line)
        case _:
            show(site_lines(sites))
            warn_of(project.internal_errors)
            note(summary(sites))
            for reason in common_reasons(sites):
                note(reason)
            _note_missing(project, sites)
            needed = {name for site in sites for name in site.assumptions}
            needed |= {f"{name}@{site.id}" for site in sites for name in site.assumptions}
            for name in sorted(project.settings.assume - needed):
                note(f"--assume {name} has no effect: no exchange here needs it")
            if not sites and project.has_messages:
                note(f"there are messages between two ranks: {_how_to_list_messages(project)}")
            elif not project.settings.defines:
                _note_branches(project, sites)


def _note_branches(project: Reported, sites: Sequence[SiteReport]) -> None:
    """Note that branches of the preprocessor are left out for want of options."""
    options = "give the -D and -I options of your build"
    left_out = project.left_out
    if left_out is not None:
        number, (file, line) = left_out
        calls = "a call of MPI is" if number == 1 else f"{number} calls of MPI are"
        first = f"{file}:{line}" if number == 1 else f"the first in {file}:{line}"
        note(f"{calls} in #if branches that are not compiled, {first}: {options}")
    elif not sites and project.leaves_lines_out:
        note(f"to include calls in #if branches, {options}")


def _how_to_list_messages(project: Reported) -> str:
    """Which option or command reports messages between two ranks."""
    chosen = project.settings.passes
    if (missing := missing_passes(chosen)) is not None:
        return missing
    if set(chosen) & set(OF_TRANSFERS):
        return "these --passes overlap nothing more with them; scan --all lists them"
    return "scan --all lists them, --passes transfers says what they would overlap with"


def _note_missing(project: Reported, sites: Sequence[SiteReport]) -> None:
    """Note that refusals may be due to modules whose source is not among the files."""
    files = sorted({site.file for site in sites if site.verdict == "refused"})
    missing = {name for one in files for name in project.missing_modules(one)}
    unread = {name: why for name in sorted(missing) if (why := project.unread_module(name))}
    for line in unread_modules(sites, unread):
        note(line)
    names = missing_modules(sites, missing - unread.keys(), unread)
    if names is not None:
        note(f"these modules are not among the files, which may cause refusals: {names}")


def sources_of(project: Reported, sites: Sequence[SiteReport]) -> dict[str, bytes]:
    """The bytes of every file that a mark of these sites lies in."""
    files = {mark.file for site in sites for mark in site.marks}
    return {file: content for file in files if (content := project.content(file)) is not None}


def strokes() -> Strokes:
    """The characters to draw with: box-drawing characters if stdout can encode them."""
    try:
        "".join(getattr(BOXES, field.name) for field in fields(Strokes)).encode(
            sys.stdout.encoding or "ascii"
        )
    except (UnicodeEncodeError, LookupError):
        return PLAIN
    return BOXES


def report_of(
    project: Reported,
    sites: Sequence[SiteReport],
    changed: Collection[str] = (),
    notes: Sequence[ProblemReport] = (),
) -> str:
    """The JSON report on a whole project; ``notes`` join its problems."""
    files = [str(file) for file in project.files]
    return report_text(files, sites, (*project.problems, *notes), changed)
