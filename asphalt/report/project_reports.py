"""The reports on all sites of a project, before and after a transformation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from asphalt.config.assumptions import BITS, CONTROL, FATAL, KINDS, TIMERS
from asphalt.config.passes import OF_TRANSFERS, Pass
from asphalt.diagnostics.model import ProblemReport, SiteReport
from asphalt.driver.agreement import merged_reports as merged_of_programs
from asphalt.driver.overlap import Watch
from asphalt.driver.program import Program
from asphalt.ir.records import record
from asphalt.project import Outcome, Project
from asphalt.report.merged_reports import merged_reports

OPTIMISING = "optimising transfers"
Units = Collection[tuple[str, str]] | None
"""Units by file and name; None: all."""


def _silent(piece: str, done: int, total: int) -> None:
    """Nobody watches."""


@record
class Listener:
    """A listener to long work.

    ``status``: around work that has a name; ``watched``: around work in pieces; ``warn``: gets
    remarks on the project.
    """

    status: Callable[[str], AbstractContextManager[object]] = lambda title: nullcontext()
    watched: Callable[[str], AbstractContextManager[Watch]] = lambda title: nullcontext(_silent)
    warn: Callable[[Iterable[ProblemReport]], None] = lambda problems: None


NOBODY = Listener()


def reports_of(project: Project, listener: Listener = NOBODY) -> tuple[SiteReport, ...]:
    """The reports of all sites, in the order of files and lines."""
    return project.places.sites(_reports_of(project, listener))


def _reports_of(project: Program, listener: Listener) -> tuple[SiteReport, ...]:
    """The reports of all sites, with places in composed text; remarks are told."""
    sites = _sites_of(project, listener)
    listener.warn(project.remarks)
    return sites


def _sites_of(project: Program, listener: Listener) -> tuple[SiteReport, ...]:
    """The reports of all sites, with places in composed text."""
    with listener.status("analysing the exchanges"):
        reports = [site.report for site in project.composed_sites()]
        reports += project.included_exchanges()
    return tuple(sorted(reports, key=lambda report: (report.file, report.line)))


def reports_after(
    project: Project,
    outcome: Outcome,
    units: Units = None,
    *,
    promised: Collection[str] = tuple(KINDS),
    stores: bool = False,
    listener: Listener = NOBODY,
) -> tuple[SiteReport, ...]:
    """The reports of all sites, of transfers and of findings after a transformation, sorted.

    Transfers are those that were transformed and those that were not.  ``promised``: the
    assumptions of which their reports also say what they would change if they were accepted, for
    which their procedures are optimised again.  ``units``: those that are asked about, by file and
    name; transfers of others are left out.  ``stores``: with the stores in front of receives that
    could not be dropped, which are no sites.  A call that was transformed only where its procedure
    was inlined counts as transformed.
    """
    if not project.each:
        found = _after(project, outcome, units, promised, stores, listener)
        return project.places.sites(found)
    quiet = replace(listener, warn=NOBODY.warn)
    each = [
        _after(one, own, units, promised, stores, quiet)
        for one, own in zip(project.each, outcome.each, strict=True)
    ]
    listener.warn(project.remarks)
    return project.places.sites(merged_of_programs(project.each, each, outcome.each))


def _after(
    project: Program,
    outcome: Outcome,
    units: Units,
    promised: Collection[str],
    stores: bool,
    listener: Listener,
) -> tuple[SiteReport, ...]:
    """The reports after a transformation of one program, with places in composed text."""
    changes = outcome.composed
    changed = [site for change in changes for site in change.sites]
    applied = {_key(site): site for site in project.kept_whole(changed)}
    done = {(site.file, site.line, site.operation) for site in applied.values()}
    own_sites = _reports_of(project, listener)
    sites = [applied.pop(_key(site), outcome.told(site)) for site in own_sites]
    found = list(project.findings)
    findings = {(site.file, site.line) for site in found}
    own = project.own_operations(outcome)
    others = project.not_overlapped(changes, outcome.tries)
    idle = _of(units, tuple(map(outcome.tried, (*others, *own))))
    blocking = _of(units, project.kept_blocking())
    with listener.status("looking for what assumptions would change"):
        if {CONTROL.word, BITS.word} <= set(promised):
            blocking = project.with_assumed_outcomes(blocking)
        if TIMERS.word in promised:
            idle = project.with_readings_passed(idle)
        if FATAL.word in promised:
            idle = project.with_fatal_outcomes(idle)
    unchanged = (*blocking, *map(outcome.told, idle), *(project.kept_stores() if stores else ()))
    found += [
        site
        for site in unchanged
        if (site.file, site.line) not in findings
        and (site.file, site.line, site.operation) not in done
    ]
    return merged_reports(sites, (*found, *applied.values()), project.settings.passes)


def _of(units: Units, sites: tuple[SiteReport, ...]) -> tuple[SiteReport, ...]:
    """The sites of some units."""
    return tuple(site for site in sites if units is None or (site.file, site.unit) in units)


def _key(site: SiteReport) -> tuple[str, str, str]:
    """The identity of a site: inlining may have copied one call to several units."""
    return site.file, site.id, site.unit


def reports_before(
    project: Project, units: Units = None, *, stores: bool = False, listener: Listener = NOBODY
) -> tuple[SiteReport, ...]:
    """The reports of all sites and findings before a transformation, sorted.

    With passes for transfers, also what would become of each transfer; ``units``: of those in these
    units, by file and name; ``stores``: with the stores in front of receives that stay.
    """
    passes = project.settings.passes
    if not set(passes) & set(OF_TRANSFERS):
        own = _reports_of(project, listener)
        if Pass.PREPUSH in passes and any(site.verdict in ("proved", "assumed") for site in own):
            own = tuple(map(project.outcome().told, own))
        return project.places.sites(merged_reports(own, project.findings, passes))
    composed = project.places.sites(_sites_of(project, listener))
    sites = {(site.file, site.id): site for site in composed}
    with listener.watched(OPTIMISING) as watch:
        outcome = project.outcome(watch=watch, units=units)
    with listener.status("looking for computation to overlap with transfers"):
        found = reports_after(project, outcome, units, stores=stores, listener=listener)
    return tuple(
        sites.get((site.file, site.id), replace(site, verdict="proved"))
        if site.verdict == "applied"
        else site
        for site in found
    )
