"""What becomes of transfers that an accepted assumption would let become non-blocking.

An assumption is only suggested where it would change something: whatever is assumed, all ranks have
to come to the call together, and some work has to overlap with it.  So asphalt optimises the
procedures of these transfers once more, as if the assumptions were accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from asphalt.analysis.conditions.point_to_point import ERROR_READ
from asphalt.analysis.data_flow.passed_readings import may_be_passed
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis_manager.analyses import Analyses
from asphalt.config.assumptions import FATAL, TIMERS
from asphalt.diagnostics.model import SiteReport
from asphalt.driver.blocking_reports import not_overlapped
from asphalt.driver.overlap import Outcome, OverlapRequest, optimised, units_asked_about
from asphalt.optimiser.blocking import reads_codes
from asphalt.optimiser.options import Options
from asphalt.optimiser.outcome import Tried
from asphalt.transforms.nonblocking.rules import COULD


def with_assumed_outcomes(
    analyses: Analyses, blocking: Sequence[SiteReport], asked: OverlapRequest
) -> tuple[SiteReport, ...]:
    """Reports on transfers that remain blocking, those with the verdict ``assumed`` judged anew.
    ``asked``: how the tree was optimised.

    If the assumption would let it overlap, the report says with what; if not, it is refused with
    the reason.  The verdict stays ``assumed`` without either in a procedure with errors.
    """
    lifted = [site for site in blocking if site.verdict == "assumed"]
    if not lifted:
        return tuple(blocking)
    assumed = asked.options.accepted.union(*(site.assumptions for site in lifted))
    outcome, request = _assuming(analyses, lifted, asked, assumed)
    doubts = {key: Tried(doubt=one.doubt) for key, one in outcome.tries.items()}
    idle = not_overlapped(analyses, outcome.changes, request, doubts)
    would = _applied(outcome)
    would |= {_place(site): outcome.tried(site) for site in idle}
    found: list[SiteReport] = []
    for site in blocking:
        then = would.get(_place(site))
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
    analyses: Analyses, sites: Iterable[SiteReport], asked: OverlapRequest
) -> tuple[SiteReport, ...]:
    """Reports on operations that overlap with no more work; where they would if no error handler
    returned, with the verdict ``assumed``.  ``asked``: how the tree was optimised.

    Tests of error codes, and what they call, stand in the way of work as long as they may be
    executed.
    """
    found, options = tuple(sites), asked.options
    units = _that_read_codes(analyses, found, options)
    if not units:
        return found
    accepted = options.accepted | {FATAL.word}
    request = _under(asked, accepted, units)
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


def with_readings_passed(
    analyses: Analyses, idle: Sequence[SiteReport], asked: OverlapRequest
) -> tuple[SiteReport, ...]:
    """Reports on transfers without computation to overlap; those that would have some if readings
    of clocks were passed get the verdict ``assumed``.  ``asked``: how the tree was optimised."""
    clocked = among_readings(analyses, idle, asked.options)
    if not clocked:
        return tuple(idle)
    assumed = asked.options.accepted | {TIMERS.word, FATAL.word}
    outcome, _ = _assuming(analyses, clocked, asked, assumed)
    would = _applied(outcome)
    found: list[SiteReport] = []
    for site in idle:
        then = would.get(_place(site))
        if site.verdict == "refused" and then is not None and TIMERS.word in then.assumptions:
            message = f"it {then.message}"
            needed = tuple(sorted({*site.assumptions, *then.assumptions}))
            site = replace(site, verdict="assumed", message=message, assumptions=needed)
        found.append(site)
    return tuple(found)


def among_readings(
    analyses: Analyses, sites: Iterable[SiteReport], options: Options
) -> tuple[SiteReport, ...]:
    """The refused sites with readings of a clock around them that are not passed, since the
    assumption is not accepted."""
    if TIMERS.word in options.accepted:
        return ()
    return tuple(s for s in sites if s.verdict == "refused" and _has_readings(s, analyses))


def _has_readings(site: SiteReport, analyses: Analyses) -> bool:
    """Whether a clock is read around a site, in its procedure or one that mentions this, that
    other statements may pass."""
    own = (one for one in analyses.tree.units_of(site.file) if one.unit.name == site.unit)
    units = [*own, *(analyses.tree.mentions(site.unit) if site.unit else ())]
    effects, _ = analyses.of(any_sizes=True)
    return any(may_be_passed(UnitFacts(one, effects)) for one in units)


def _assuming(
    analyses: Analyses,
    sites: Sequence[SiteReport],
    asked: OverlapRequest,
    assumed: frozenset[str],
) -> tuple[Outcome, OverlapRequest]:
    """What becomes of the procedures of some sites under these assumptions."""
    request = _under(asked, assumed, frozenset((site.file, site.unit) for site in sites))
    return optimised(analyses, (), request), request


def _under(
    asked: OverlapRequest, assumed: frozenset[str], units: frozenset[tuple[str, str]]
) -> OverlapRequest:
    """A request for some units under other assumptions; what is known of them is used again."""
    options = replace(asked.options, accepted=assumed)
    return OverlapRequest(options, units=units, known=asked.known)


def _applied(outcome: Outcome) -> dict[tuple[str, int, str], SiteReport]:
    """The reports on what was transformed, by place."""
    return {_place(site): site for change in outcome.changes for site in change.sites}


def _place(site: SiteReport) -> tuple[str, int, str]:
    return site.file, site.line, site.operation
