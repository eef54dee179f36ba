"""``asphalt scan``: the exchanges and transfers of a tree, with a verdict on each."""

from __future__ import annotations

from pathlib import Path

import click

from asphalt.cli.command import Command
from asphalt.cli.kept_answers import Answer, KeptAnswer, answer_of
from asphalt.cli.options import CommonOptions, assume_option, common_options, paths_argument
from asphalt.cli.session import (
    TERMINAL,
    print_report,
    read_project,
    settings_of,
    warn_of,
)
from asphalt.config.settings import Settings
from asphalt.diagnostics.model import FINDING
from asphalt.report.project_reports import reports_before

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
    help="List operations with requests that no pass is for, and stores in front of receives, too.",
)
def scan(
    paths: tuple[Path, ...],
    common: CommonOptions,
    assume: tuple[str, ...],
    check: bool,
    everything: bool,
) -> int:
    """List the exchanges and transfers in files and trees, one to a line.

    A line gives the place of the call, the operation, the verdict, its code, and the reason: what
    a transfer would overlap with, or why it is not transformed.  Findings are proved errors in the
    use of messages and requests.  asphalt takes all PATHs together for the whole program.
    """
    settings = settings_of(paths, common, assume)
    kept = KeptAnswer(paths, settings, "scan --all" if everything else "scan")
    answer = kept.find()
    if answer is None:
        answer = _scanned(paths, settings, everything, kept)
    else:
        warn_of(answer.warnings)
        warn_of(answer.remarks)
    print_report(common, answer, answer.sites)
    return int(check and (answer.fails or bool(answer.internal_errors)))


def _scanned(
    paths: tuple[Path, ...], settings: Settings, everything: bool, kept: KeptAnswer
) -> Answer:
    """What a scan finds, which is kept."""
    project = read_project(paths, settings)
    warnings = project.problems
    sites = reports_before(project, stores=everything, listener=TERMINAL)
    listed = sites
    if everything:
        known = {(found.file, found.line) for found in sites}
        others = [one for one in project.transfers() if (one.file, one.line) not in known]
        listed = (*sites, *others)
    in_order = sorted(listed, key=lambda site: (site.file, site.line))
    fails = any(site.verdict in FOUND for site in sites)
    answer = answer_of(project, in_order, warnings, fails)
    kept.keep(answer, project)
    return answer
