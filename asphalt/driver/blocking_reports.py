"""Reports on the operations that remain blocking or whole, and on stores that are not dropped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from asphalt.analysis.conditions.point_to_point import NOTHING_BESIDE
from asphalt.analysis.conditions.site import SKIP
from asphalt.analysis.verdicts.verdict import Mark, Refused
from asphalt.analysis_manager.analyses import Analyses
from asphalt.analysis_manager.user_units import user_units
from asphalt.config.passes import Pass
from asphalt.diagnostics.change import Change
from asphalt.diagnostics.model import DroppedReport, SiteReport, store_before
from asphalt.driver.overlap import OverlapRequest, units_asked_about
from asphalt.driver.transfers import mark_report, nonblocking_operations, transfer_operations
from asphalt.ir.program import Located
from asphalt.optimiser import blocking
from asphalt.optimiser.acceptance import Key, key_of
from asphalt.optimiser.options import Options
from asphalt.optimiser.outcome import Tried

_NOTHING = Tried()
_SEGMENTS = "tiles with segments of the message"


def kept_blocking(analyses: Analyses, options: Options) -> tuple[SiteReport, ...]:
    """A report for each blocking transfer and collective operation of a tree that cannot be made
    non-blocking."""
    found: list[SiteReport] = []
    for located in user_units(analyses.tree, nonblocking_operations()):
        with analyses.errors.caught(located):
            for one in blocking.kept_blocking(analyses, located, options):
                found += _kept(located, *one)
    return tuple(sorted(found, key=lambda report: (report.file, report.line)))


def not_overlapped(
    analyses: Analyses,
    changes: Sequence[Change],
    request: OverlapRequest,
    tries: Mapping[Key, Tried] = MappingProxyType({}),
) -> tuple[SiteReport, ...]:
    """A report on each blocking operation that could be non-blocking and that no change is about.

    ``tries``: what was tried for units in vain.
    """
    found: list[SiteReport] = []
    for located in units_asked_about(analyses.tree, request.units):
        lines = {
            site.line
            for change in changes
            for site in change.sites
            if site.file == located.path and site.verdict == "applied"
        }
        tried = tries.get(key_of(located), _NOTHING)
        stay: tuple[tuple[Refused, str, tuple[str, ...]], ...] = ()
        with analyses.errors.caught(located):
            stay = blocking.not_overlapped(analyses, located, lines, request.options, tried)
        failed = analyses.errors.why(located.path, located.unit.name)
        for refused, operation, assumed in stay:
            told = refused if failed is None else Refused(NOTHING_BESIDE, failed, refused.span)
            for report in _kept(located, told, operation):
                needed = tuple(sorted({*report.assumptions, *assumed}))
                found.append(replace(report, assumptions=needed, accepted=assumed))
    return tuple(sorted(found, key=lambda report: (report.file, report.line)))


def kept_whole(
    analyses: Analyses, sites: Sequence[SiteReport], accepted: frozenset[str] = frozenset()
) -> tuple[SiteReport, ...]:
    """The ``sites`` that changes are about; those that overlap with work as whole messages name
    what keeps them whole among the steps that were dropped, if a nest beside them would have been
    executed in tiles."""
    wanted = {site.file for site in sites if site.overlaps}
    why: dict[tuple[str, int], DroppedReport] = {}
    for located in user_units(analyses.tree, nonblocking_operations()):
        found: tuple[Refused, ...] = ()
        with analyses.errors.caught(located):
            if located.path in wanted:
                found = blocking.kept_whole(analyses, located, accepted)
        for one in found:
            if one.span is not None:
                place = located.path, one.span.first
                told = f"{one.message} ({one.code.id})"
                why.setdefault(place, DroppedReport(Pass.PIPELINING, _SEGMENTS, *place, told))
    return tuple(
        replace(site, dropped=(*site.dropped, why[site.file, site.line]))
        if site.overlaps and (site.file, site.line) in why
        else site
        for site in sites
    )


def kept_stores(analyses: Analyses) -> tuple[SiteReport, ...]:
    """A report for each statement that stores to a receive buffer of a tree, and has to stay
    although a receive follows."""
    found: list[SiteReport] = []
    for located in user_units(analyses.tree, transfer_operations()):
        with analyses.errors.caught(located):
            for refused, operation in blocking.kept_stores(analyses, located):
                stores = store_before(operation)
                found += _kept(located, _of_stores(refused), stores, "the stores")
    return tuple(found)


def _of_stores(refused: Refused) -> Refused:
    """The refusal of stores, which do not stand where the transfer does."""
    return replace(refused, message=f"these stores are not dropped: {refused.message}")


def _kept(
    located: Located, refused: Refused, operation: str, what: str = "the transfer"
) -> Iterator[SiteReport]:
    """The report of a call, or of something else, that stays as it is."""
    span = refused.span
    if span is None:
        return
    marks = (
        *(refused.marks or (Mark(span, "offending", refused.message),)),
        Mark(span, "exchange", what),
    )
    yield SiteReport(
        f"{located.unit.name or 'main'}:{span.first}",
        located.path,
        span.first,
        operation,
        located.unit.name,
        _stays(refused),
        code=refused.code.id,
        message=refused.message,
        witness=refused.witness or f"line {span.first}",
        assumptions=refused.all_lifting,
        marks=tuple(mark_report(mark) for mark in marks),
        cause=refused.cause,
    )


def _stays(refused: Refused) -> str:
    """The verdict on what stays as it is."""
    if refused.code is SKIP:
        return "skipped"
    return "refused" if refused.lifted_by is None else "assumed"
