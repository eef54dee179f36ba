"""Merges the reports on exchanges and on transfers into one report for each call.

A collective operation may have both: one as an exchange that can be prepushed, and one as a call
that can be made non-blocking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from asphalt.analysis.conditions.site import OPERATION
from asphalt.config.passes import Pass
from asphalt.diagnostics.model import FINDING, SiteReport

_POSSIBLE = ("proved", "assumed")


def merged_reports(
    sites: Sequence[SiteReport], transfers: Sequence[SiteReport], passes: Sequence[str]
) -> tuple[SiteReport, ...]:
    """All reports, sorted by file and line.

    A call with two reports keeps the one that is applied.  If neither is, it keeps that of the
    exchange if ``passes`` contain prepushing and it is for such calls, unless this is refused and
    only the transfer is possible; and that of the transfer otherwise.
    """
    found = list(sites)
    places = {(site.file, site.line): number for number, site in enumerate(sites)}
    for transfer in transfers:
        number = places.get((transfer.file, transfer.line))
        if number is None or transfer.verdict == FINDING:
            found.append(transfer)
        elif transfer.id != found[number].id:
            found[number] = _of_one_call(found[number], transfer, Pass.PREPUSH in passes)
    return tuple(sorted(found, key=lambda site: (site.file, site.line)))


def _of_one_call(site: SiteReport, transfer: SiteReport, asked: bool) -> SiteReport:
    if site.verdict == "applied" or transfer.verdict == "applied":
        return site if site.verdict == "applied" else transfer
    if site.code == OPERATION.id:  # it is no operation that prepushing is for
        return transfer
    if site.verdict == "skipped":
        return site
    if asked:
        refused = site.verdict == "refused" and transfer.verdict in _POSSIBLE
        return transfer if refused else site
    if site.verdict in _POSSIBLE:
        more = f"with --passes {Pass.PREPUSH}, {_would(site.message)}"
        return replace(transfer, message=f"{transfer.message}; {more}")
    return transfer


def _would(message: str) -> str:
    """The message on what can be done, as a clause."""
    return f"it {message}" if message.startswith("can ") else message


def not_transformed(site: SiteReport) -> SiteReport:
    """The report after a transformation that did not change a site although it could."""
    if site.verdict not in _POSSIBLE:
        return site
    return replace(site, message=f"not transformed: {site.message}")
