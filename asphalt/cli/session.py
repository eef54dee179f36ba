"""What the subcommands share: opening a project, and telling about sites and problems."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from asphalt.cli.options import CommonOptions
from asphalt.cli.unchanged import missing_passes
from asphalt.config.errors import InputError, UsageError
from asphalt.config.passes import TRANSFERS
from asphalt.diagnostics.model import ProblemReport, SiteReport
from asphalt.project import Outcome, Project
from asphalt.report.drawing import BOXES, PLAIN, Strokes
from asphalt.report.github import annotation_lines
from asphalt.report.json import report_text
from asphalt.report.sarif import sarif_text
from asphalt.report.text import problem_line, site_lines, summary
from asphalt.report.together import together

_MOST_MODULES = 5  # named in a note


class PipeConsole(Console):
    """A console that leaves it to ``main`` what becomes of a reader that goes away."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def open_project(
    paths: Sequence[Path], common: CommonOptions, assume: Iterable[str] = ()
) -> Project:
    """Read the given files and trees.

    Raises ``InputError`` for a path that does not exist, a named file that cannot be used, and
    where nothing can be done at all.  Other problems are told on stderr.
    """
    for path in paths:
        if not path.exists():
            raise InputError(str(path), None, "no such file or directory; check the path")
    settings = common.settings(paths[0])
    settings = replace(settings, assume=settings.assume | frozenset(assume))
    for directory in settings.include_dirs:
        if not Path(directory).is_dir():
            raise UsageError(f"-I {directory}: no such directory; check the path")
    with Console(stderr=True).status("reading the source"):
        project = Project(*paths, settings=settings)
        problems = project.problems
    broken = [problem for problem in problems if not problem.note]
    named = {str(path) for path in paths}
    for problem in broken:
        if problem.file in named:
            raise InputError(problem.file, problem.line, problem.message)
    warn_of(problems)
    if broken and {str(file) for file in project.files} <= {problem.file for problem in broken}:
        raise InputError(", ".join(sorted(named)), None, "no file here can be used")
    return project


def reports_of(project: Project) -> tuple[SiteReport, ...]:
    """The reports of all sites, in the order of files and lines."""
    with Console(stderr=True).status("analysing the exchanges"):
        reports = [site.report for site in project.sites()]
    warn_of(project.remarks)
    return tuple(sorted(reports, key=lambda report: (report.file, report.line)))


def reports_after(
    project: Project, outcome: Outcome, promise: bool = False
) -> tuple[SiteReport, ...]:
    """The reports of all sites, those that changes are about as these left them; with the
    transfers that changes are about, or that stay as they are, and the findings; sorted.
    ``promise``: with what would become of those that an assumption would change.

    A call that stays in one place and was changed where it is inlined is told as changed.
    """
    changes = outcome.changes
    changed = [site for change in changes for site in change.sites]
    applied = {_key(site): site for site in project.kept_whole(changed)}
    done = {(site.file, site.line, site.operation) for site in applied.values()}
    sites = [applied.pop(_key(site), site) for site in reports_of(project)]
    found = list(project.findings)
    told = {(site.file, site.line) for site in found}
    own = project.own_operations(outcome)
    others = project.not_overlapped(changes, outcome.tries)
    idle = tuple(map(outcome.tried, (*others, *own)))
    blocking = project.kept_blocking()
    if promise:
        blocking = project.with_assumed_outcomes(blocking)
    stay = (*blocking, *idle, *project.kept_stores())
    found += [
        site
        for site in stay
        if (site.file, site.line) not in told and (site.file, site.line, site.operation) not in done
    ]
    return together(sites, (*found, *applied.values()), project.settings.passes)


def _key(site: SiteReport) -> tuple[str, str, str]:
    """What tells a site from all others: one call may have come to several units."""
    return site.file, site.id, site.unit


def reports_before(project: Project) -> tuple[SiteReport, ...]:
    """The reports of all sites and the findings; where passes for transfers are asked for, with
    what would become of these; sorted."""
    if not set(project.settings.passes) & set(TRANSFERS):
        return together(reports_of(project), project.findings, project.settings.passes)
    with Console(stderr=True).status("looking for work beside transfers"):
        sites = {(site.file, site.id): site for site in reports_of(project)}
        found = reports_after(project, project.outcome(), promise=True)
    return tuple(
        sites.get((site.file, site.id), replace(site, verdict="proved"))
        if site.verdict == "applied"
        else site
        for site in found
    )


def warn_of(problems: Iterable[ProblemReport]) -> None:
    """Tell problems that do not stop the run, one a line, on stderr."""
    for problem in problems:
        note(f"{'note' if problem.note else 'warning'}: {problem_line(problem)}")


def note(message: str) -> None:
    """Say something to a person, on stderr, so that stdout stays a program's."""
    encoding = sys.stderr.encoding or "utf-8"
    line = f"asphalt: {message}".encode(encoding, "backslashreplace").decode(encoding)
    print(line, file=sys.stderr)


def show(lines: Iterable[Text | str]) -> None:
    """Print lines to stdout, in colour on a terminal, never folded or cut."""
    console = PipeConsole(soft_wrap=True, highlight=False, markup=False, emoji=False)
    for line in lines:
        console.print(line)


def tell(
    common: CommonOptions,
    project: Project,
    sites: Sequence[SiteReport],
    changed: Collection[str] = (),
    notes: Sequence[ProblemReport] = (),
) -> None:
    """Tell about the sites in the format that was asked for; ``notes``: what else is to be told
    besides the problems, of which a person has read on stderr."""
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
            note(summary(sites))
            _note_missing(project, sites)
            needed = {name for site in sites for name in site.assumptions}
            needed |= {f"{name}@{site.id}" for site in sites for name in site.assumptions}
            for name in sorted(project.settings.assume - needed):
                note(f"no exchange here needs --assume {name}")
            if not sites and project.has_messages:
                note(f"there are messages between two ranks: {_what_tells(project)}")
            elif not sites and not project.settings.defines:
                note("calls in #if branches are found with the -D and -I options of your build")


def _what_tells(project: Project) -> str:
    """How to learn about messages that nothing was said of."""
    chosen = project.settings.passes
    if (missing := missing_passes(chosen)) is not None:
        return missing
    if set(chosen) & set(TRANSFERS):
        return "nothing more comes beside them with these --passes; scan --all lists them"
    return "scan --all lists them, --passes transfers tells what would come beside them"


def _note_missing(project: Project, sites: Sequence[SiteReport]) -> None:
    """Refusals in files that use a module whose source was not given may be due to that."""
    files = sorted({site.file for site in sites if site.verdict == "refused"})
    missing = sorted({name for file in files for name in project.missing_modules(file)})
    if missing:
        more = len(missing) - _MOST_MODULES
        names = ", ".join(missing[:_MOST_MODULES]) + (f" and {more} more" if more > 0 else "")
        note(f"modules that are not among the files: {names}; refusals may be due to that")


def sources_of(project: Project, sites: Sequence[SiteReport]) -> dict[str, bytes]:
    """The text of every file that a mark of these sites is in."""
    files = {mark.file for site in sites for mark in site.marks}
    return {file: content for file in files if (content := project.content(file)) is not None}


def strokes() -> Strokes:
    """The characters to draw with: those for boxes where stdout can take them."""
    try:
        "".join(getattr(BOXES, field) for field in Strokes.__slots__).encode(
            sys.stdout.encoding or "ascii"
        )
    except (UnicodeEncodeError, LookupError):
        return PLAIN
    return BOXES


def report_of(
    project: Project,
    sites: Sequence[SiteReport],
    changed: Collection[str] = (),
    notes: Sequence[ProblemReport] = (),
) -> str:
    """The JSON report on a whole project, with ``notes`` beside its problems."""
    files = [str(file) for file in project.files]
    return report_text(files, sites, (*project.problems, *notes), changed)
