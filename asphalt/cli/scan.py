"""``asphalt scan``: the exchanges of a tree and what is known about each."""

from __future__ import annotations

from pathlib import Path

import click

from asphalt.cli.command import Command
from asphalt.cli.options import CommonOptions, assume_option, common_options, paths_argument
from asphalt.cli.session import open_project, reports_before, tell
from asphalt.diagnostics.model import FINDING

FOUND = frozenset({"refused", "assumed", FINDING})


@click.command(cls=Command)
@paths_argument
@common_options
@assume_option
@click.option(
    "--check",
    is_flag=True,
    help="Exit with 1 for findings, and if a site is refused, or proved only by assumptions.",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="List transfers between two ranks and operations with requests, too.",
)
def scan(
    paths: tuple[Path, ...],
    common: CommonOptions,
    assume: tuple[str, ...],
    check: bool,
    everything: bool,
) -> int:
    """List the exchanges in files and trees, one a line.

    A line tells where the call is, the operation, the verdict, its code, and why.  Errors in
    messages and requests that are proved are listed as findings.  With --passes for transfers, a
    line for each tells what it would overlap with, or why it stays.  All PATHs together are taken
    as the whole program.
    """
    project = open_project(paths, common, assume)
    sites = reports_before(project)
    listed = sites
    if everything:
        known = {(found.file, found.line) for found in sites}
        others = [one for one in project.transfers() if (one.file, one.line) not in known]
        listed = (*sites, *others)
    tell(common, project, sorted(listed, key=lambda site: (site.file, site.line)))
    return int(check and any(site.verdict in FOUND for site in sites))
