"""``asphalt explain``: why a site can or cannot be transformed, and what a code means."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path

import click

from asphalt.analysis.codes import ALL_CODES
from asphalt.cli.options import PATHS, CommonOptions, assume_option, common_options
from asphalt.cli.session import open_project, reports_of, show, tell
from asphalt.errors import InputError, UsageError
from asphalt.report.text import code_details, site_details

_CODE = re.compile(r"ASP\d+", re.IGNORECASE)


@click.command()
@click.argument("what", metavar="FILE:LINE|CODE")
@click.argument("paths", nargs=-1, type=PATHS, metavar="[PATH]...")
@common_options
@assume_option
def explain(
    what: str, paths: tuple[Path, ...], common: CommonOptions, assume: tuple[str, ...]
) -> int:
    """Explain the exchange at FILE:LINE, or what a CODE such as ASP101 means.

    PATH...: the files and trees that the file is part of (else the file alone is read).
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
        print(json.dumps(asdict(code), indent=2))
    else:
        show(code_details(code))


def _explain_site(
    file: Path, line: int, paths: tuple[Path, ...], common: CommonOptions, assume: tuple[str, ...]
) -> None:
    if not file.is_file():
        raise InputError(str(file), None, "no such file; name the file that holds the call")
    project = open_project(paths or (file,), common, assume)
    here = [site for site in reports_of(project) if Path(site.file).samefile(file)]
    found = [site for site in here if site.line == line]
    if not found:
        lines = ", ".join(str(site.line) for site in here)
        where = (
            f"; see {'line' if len(here) == 1 else 'lines'} {lines}" if here else " of this file"
        )
        raise InputError(str(file), line, f"no exchange on this line{where}")
    if common.format != "text":
        tell(common, project, found)
        return
    for site in found:
        show(site_details(site))
        code = ALL_CODES.get(site.code or "")
        if code is not None:
            show(["", *code_details(code)])
