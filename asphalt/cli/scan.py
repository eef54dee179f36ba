"""``asphalt scan``: the exchanges of a tree, with a verdict on each."""

from __future__ import annotations

from pathlib import Path

import click

from asphalt.cli.command import Command
from asphalt.cli.options import CommonOptions, assume_option, common_options, paths_argument
from asphalt.cli.session import open_project, print_report, reports_before
from asphalt.diagnostics.model import FINDING

FOUND = frozenset({"refused", "assumed", FINDING})


@click.command(cls=Command)
@paths_argument
@common_options
@assume_option
@click.option(
    "--check",
    is_flag=True,
    help="Exit with 1 if there is a finding, a site that is refused or only assumed, or an "
    "internal error.",
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
    """List the exchanges in files and trees, one to a line.

    A line gives the place of the call, the operation, the verdict, its code, and the reason.
    Findings are proved errors in the use of messages and requests.  With --passes for transfers,
    scan lists each transfer, too, with what it would overlap or why it is not transformed.  asphalt
    takes all PATHs together for the whole program.
    """
    project = open_project(paths, common, assume)
    sites = reports_before(project)
    listed = sites
    if everything:
        known = {(found.file, found.line) for found in sites}
        others = [one for one in project.transfers() if (one.file, one.line) not in known]
        listed = (*sites, *others)
    print_report(common, project, sorted(listed, key=lambda site: (site.file, site.line)))
    failed = bool(project.internal_errors)
    return int(check and (failed or any(site.verdict in FOUND for site in sites)))
