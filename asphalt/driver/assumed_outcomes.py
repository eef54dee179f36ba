"""What becomes of transfers that an accepted assumption would let become non-blocking.

Nothing is promised that would be refused then: all ranks have to come to the call together, and
some work beside it has to be worth it, whatever is assumed.  So their procedures are looked at as
if the assumptions were accepted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from asphalt.analysis_manager.analyses import Analyses
from asphalt.diagnostics.model import SiteReport
from asphalt.driver.overlap import nothing_beside, optimised
from asphalt.transforms.nonblocking.rules import COULD


def as_promised(
    analyses: Analyses,
    stay: Sequence[SiteReport],
    passes: Collection[str],
    accepted: frozenset[str],
    clone_limit: int | None = None,
    wrong: Mapping[tuple[str, str], int] = MappingProxyType({}),
) -> tuple[SiteReport, ...]:
    """Reports on transfers that stay blocking; of those that an assumption would change, with what
    they would overlap with, or refused with what would keep them as they are.  (What stays told as
    assumed without that is in a procedure with errors.)

    ``passes``: for transfers; ``accepted``: the assumptions that are; ``wrong``: the line of an
    error in the messages of a unit, by file and name.
    """
    lifted = [site for site in stay if site.verdict == "assumed"]
    if not lifted:
        return tuple(stay)
    assumed = accepted.union(*(site.assumptions for site in lifted))
    units = {(site.file, site.unit) for site in lifted}
    outcome = optimised(
        analyses, (), passes, tuple(wrong), assumed, clone_limit, units=frozenset(units)
    )
    changes = outcome.changes
    idle = nothing_beside(analyses, changes, assumed, passes, clone_limit, wrong, frozenset(units))
    would = {(s.file, s.line, s.operation): s for change in changes for s in change.sites}
    would |= {(s.file, s.line, s.operation): outcome.tried(s) for s in idle}
    found: list[SiteReport] = []
    for site in stay:
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
