"""What becomes of transfers that an accepted assumption would let become non-blocking.

An assumption is only suggested where it would change something: whatever is assumed, all ranks have
to come to the call together, and some work has to overlap with it.  So asphalt optimises the
procedures of these transfers once more, as if the assumptions were accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from asphalt.analysis.conditions.point_to_point import ERROR_READ
from asphalt.analysis_manager.analyses import Analyses
from asphalt.config.assumptions import FATAL
from asphalt.diagnostics.model import SiteReport
from asphalt.driver.blocking_reports import not_overlapped
from asphalt.driver.overlap import OverlapRequest, optimised, units_asked_about
from asphalt.optimiser.blocking import reads_codes
from asphalt.optimiser.options import Options
from asphalt.transforms.nonblocking.rules import COULD


def with_assumed_outcomes(
    analyses: Analyses, blocking: Sequence[SiteReport], options: Options
) -> tuple[SiteReport, ...]:
    """Reports on transfers that remain blocking, those with the verdict ``assumed`` judged anew.

    If the assumption would let it overlap, the report says with what; if not, it is refused with
    the reason.  The verdict stays ``assumed`` without either in a procedure with errors.
    """
    lifted = [site for site in blocking if site.verdict == "assumed"]
    if not lifted:
        return tuple(blocking)
    assumed = options.accepted.union(*(site.assumptions for site in lifted))
    units = frozenset((site.file, site.unit) for site in lifted)
    request = OverlapRequest(replace(options, accepted=assumed), units=units)
    outcome = optimised(analyses, (), request)
    changes = outcome.changes
    idle = not_overlapped(analyses, changes, request)
    would = {(s.file, s.line, s.operation): s for change in changes for s in change.sites}
    would |= {(s.file, s.line, s.operation): outcome.tried(s) for s in idle}
    found: list[SiteReport] = []
    for site in blocking:
        then = would.get((site.file, site.line, site.operation))
        if site.verdict != "assumed" or then is None:
            found.append(site)
        elif then.verdict == "applied":
            message = site.message.replace(COULD, f"it {then.message}", 1)
            found.append(replace(site, message=message))
        else:
            message = f"with --assume {','.join(site.assumptions)}, {then.message}"
            found.append(replace(then, message=message, assumptions=(), accepted=()))
    return tuple(found)


def with_fatal_outcomes(
    analyses: Analyses, sites: Iterable[SiteReport], options: Options
) -> tuple[SiteReport, ...]:
    """Reports on operations that overlap with no more work; where they would if no error handler
    returned, with the verdict ``assumed``.

    Tests of error codes, and what they call, stand in the way of work as long as they may be
    executed.
    """
    found = tuple(sites)
    units = _that_read_codes(analyses, found, options)
    if not units:
        return found
    accepted = options.accepted | {FATAL.word}
    request = OverlapRequest(replace(options, accepted=accepted), units=units)
    would = {
        (site.file, site.line, site.operation): site
        for change in optimised(analyses, (), request).changes
        for site in change.sites
        if FATAL.word in site.assumptions
    }
    return tuple(
        _if_fatal(site, would.get((site.file, site.line, site.operation))) for site in found
    )


def _if_fatal(site: SiteReport, then: SiteReport | None) -> SiteReport:
    if then is None or site.verdict != "refused":
        return site
    return replace(
        site,
        verdict="assumed",
        code=ERROR_READ.id,
        message=f"it {then.message}, where no error handler returns,",
        assumptions=then.assumptions,
    )


def _that_read_codes(
    analyses: Analyses, sites: tuple[SiteReport, ...], options: Options
) -> frozenset[tuple[str, str]]:
    """File and name of the units with refused operations that may read error codes."""
    if FATAL.word in options.accepted:
        return frozenset()
    refused = frozenset((site.file, site.unit) for site in sites if site.verdict == "refused")

    def reading() -> Iterator[tuple[str, str]]:
        for located in units_asked_about(analyses.tree, refused):
            with analyses.errors.caught(located):
                if reads_codes(analyses, located):
                    yield located.path, located.unit.name

    return frozenset(reading())
