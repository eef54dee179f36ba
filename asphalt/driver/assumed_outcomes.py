"""What becomes of transfers that an accepted assumption would let become non-blocking.

An assumption is only suggested where it would change something: whatever is assumed, all ranks have
to come to the call together, and some work has to overlap with it.  So asphalt optimises the
procedures of these transfers once more, as if the assumptions were accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from asphalt.analysis_manager.analyses import Analyses
from asphalt.diagnostics.model import SiteReport
from asphalt.driver.blocking_reports import not_overlapped
from asphalt.driver.overlap import OverlapRequest, optimised
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
