"""``asphalt explain``: why a site is or is not transformed, and what a code means."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from difflib import get_close_matches
from pathlib import Path

import click

from asphalt.analysis.conditions.point_to_point import NOT_YET
from asphalt.cli.command import Command
from asphalt.cli.options import PATHS, CommonOptions, assume_option, common_options
from asphalt.cli.session import (
    TERMINAL,
    did_you_mean,
    note,
    open_project,
    print_report,
    show,
    sources_of,
    strokes,
)
from asphalt.config.errors import InputError, UsageError
from asphalt.config.passes import OF_TRANSFERS
from asphalt.diagnostics.catalogue import ALL_CODES
from asphalt.diagnostics.examples import examples_of
from asphalt.diagnostics.model import MarkReport, SiteReport
from asphalt.project import Project
from asphalt.report.drawing import drawing
from asphalt.report.project_reports import reports_before
from asphalt.report.text import code_details, code_summary, site_details

_CODE = re.compile(r"ASP\d+", re.IGNORECASE)
_NO_MORE = "no more computation to overlap"
_MOST = 5  # exchanges that are named if there is none at the line


@click.command(cls=Command)
@click.argument("what", metavar="FILE:LINE|CODE")
@click.argument("paths", nargs=-1, type=PATHS, metavar="[PATH]...")
@common_options
@assume_option
def explain(
    what: str, paths: tuple[Path, ...], common: CommonOptions, assume: tuple[str, ...]
) -> int:
    """Explain the exchange or transfer at FILE:LINE, or what a CODE such as ASP101 means.

    LINE may be the line of the call, of its producer, or of any evidence of the verdict; explain
    draws the evidence over the source.  At the call of a procedure, LINE stands for what it
    exchanges.

    PATH...: the files and trees that the file belongs to (else asphalt reads the file alone).
    """
    if _CODE.fullmatch(what):
        _explain_code(what.upper(), common)
        return 0
    file, colon, line = what.rpartition(":")
    if not colon or not line.isdigit() or int(line) < 1:
        raise UsageError(f"explain {what}: neither FILE:LINE nor a code such as {_first_code()}")
    _explain_site(Path(file), int(line), paths, common, assume)
    return 0


def _first_code() -> str:
    return str(min(ALL_CODES))


def _explain_code(name: str, common: CommonOptions) -> None:
    code = ALL_CODES.get(name)
    if code is None:
        near = get_close_matches(name, ALL_CODES, n=3, cutoff=0.7)
        advice = f"did you mean {' or '.join(near)}?" if near else f"codes start at {_first_code()}"
        raise UsageError(f"{name}: no such code; {advice}")
    if common.format == "json":
        programs = examples_of(name)
        examples = {
            "refused": None if programs.refused is None else programs.refused.read_text(),
            "accepted": programs.accepted.read_text(),
        }
        print(json.dumps({**asdict(code), "examples": examples}, indent=2))
    else:
        show(code_details(code))


def _explain_site(
    file: Path, line: int, paths: tuple[Path, ...], common: CommonOptions, assume: tuple[str, ...]
) -> None:
    if not file.is_file():
        advice = did_you_mean(file)
        raise InputError(str(file), None, f"no such file; name the file with the call: {advice}")
    project = open_project(paths or (file,), common, assume)
    units = project.units_at(file, line)
    here = (
        _in_file(reports_before(project, units, stores=True, listener=TERMINAL), file)
        if units
        else []
    )
    found, everywhere = _sites_at(here, line), list[SiteReport]()
    if not found:  # the line may be one that a site elsewhere rests on
        everywhere = list(reports_before(project, stores=True, listener=TERMINAL))
        here = _in_file(everywhere, file)
        found = _sites_at(here, line)
    if not found:
        transfers = _in_file(project.transfers(), file)
        found = [_asked(one, project) for one in _sites_at(transfers, line)]
        called = None if found else project.called_at(file, line)
        if called is not None:
            inside = range(called.first, called.last + 1)
            own = _in_file(everywhere, Path(called.path))
            found = [site for site in own if site.line in inside]
            if found:
                note(f"{file}:{line} calls {called.name}, whose exchanges are these:")
        if not found:
            nearest = _nearest(here or transfers, line) or _elsewhere(everywhere, bool(paths))
            raise InputError(str(file), line, f"no exchange here; {nearest}")
    if not paths:
        _note_missing(project, found)
    if common.format != "text":
        print_report(common, project, found)
        return
    for number, site in enumerate(found):
        if number:
            show([""])
        show(
            [*site_details(site), "", *drawing(site.marks, sources_of(project, [site]), strokes())]
        )
        code = ALL_CODES.get(site.code or "")
        if code is not None and _has_news(site, project):
            show(["", *code_summary(code)])


def _asked(site: SiteReport, project: Project) -> SiteReport:
    """The report of a transfer; it says so if the chosen passes do not transform it."""
    if _has_news(site, project):
        return site
    return replace(site, message=f"{site.message}; with these --passes, {_NO_MORE}")


def _has_news(site: SiteReport, project: Project) -> bool:
    """Whether the code says more than to choose passes for transfers, which the user did."""
    return site.code != NOT_YET.id or not set(project.settings.passes) & set(OF_TRANSFERS)


def _in_file(sites: Sequence[SiteReport], file: Path) -> list[SiteReport]:
    return [site for site in sites if Path(site.file).samefile(file)]


def _note_missing(project: Project, found: Sequence[SiteReport]) -> None:
    """Note that the modules that a file uses may change the verdict on it."""
    for site in found:
        missing = project.missing_modules(site.file)
        if site.verdict == "refused" and missing:
            note(
                f"note: {site.file} was read without the modules that it uses "
                f"({', '.join(missing)}): name their files or tree after FILE:LINE"
            )
            return


def _sites_at(sites: Sequence[SiteReport], line: int) -> list[SiteReport]:
    """The exchanges whose call contains the line; else those whose evidence does, such as the
    producer."""
    calls = [site for site in sites if any(_holds(m, site, line, "exchange") for m in site.marks)]
    if calls:
        return calls
    calls = [site for site in sites if site.line == line]
    return calls or [site for site in sites if any(_holds(m, site, line) for m in site.marks)]


def _holds(mark: MarkReport, site: SiteReport, line: int, role: str | None = None) -> bool:
    same = mark.file == site.file and role in (None, mark.role)
    return same and mark.line <= line <= mark.end_line


def _nearest(sites: Sequence[SiteReport], line: int) -> str:
    """The lines of the exchanges of a file, nearest first, for a message; "" if it has none."""
    if not sites:
        return ""
    near = sorted(sites, key=lambda site: abs(site.line - line))[:_MOST]
    lines = ", ".join(f"{site.line} ({site.operation} in {site.unit})" for site in near)
    more = f" and {len(sites) - _MOST} more" if len(sites) > _MOST else ""
    return f"see line {lines}{more}"


def _elsewhere(sites: Sequence[SiteReport], is_of_tree: bool) -> str:
    """Where exchanges are if a file has none; ``is_of_tree``: it was read with other files."""
    if not is_of_tree:
        return "the file alone has none: name the files or the tree of its program after FILE:LINE"
    if not sites:
        return "neither the file nor the others that are named have any"
    places = [f"{one.file}:{one.line} ({one.operation} in {one.unit})" for one in sites]
    told = list(dict.fromkeys(places))
    more = f" and {len(told) - _MOST} more" if len(told) > _MOST else ""
    return f"the file has none, but others of its program have: {', '.join(told[:_MOST])}{more}"
