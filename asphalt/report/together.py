"""The reports of exchanges and those of transfers put together: one for each call.

A collective operation may be both: an exchange that could be prepushed, and a call that could be
non-blocking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from asphalt.config.passes import Pass
from asphalt.diagnostics.model import FINDING, SiteReport

_POSSIBLE = ("proved", "assumed")


def together(
    sites: Sequence[SiteReport], transfers: Sequence[SiteReport], passes: Sequence[str]
) -> tuple[SiteReport, ...]:
    """All of them, sorted by file and line.

    Of a call that is in both, what was done is told; else what is known of the exchange if
    ``passes`` ask for that, and of the transfer if they do not.
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
    if asked or site.verdict == "skipped":
        return site
    if site.verdict in _POSSIBLE:
        more = f"with --passes {Pass.PREPUSH}, {_would(site.message)}"
        return replace(transfer, message=f"{transfer.message}; {more}")
    return transfer


def _would(message: str) -> str:
    """What can be done, as what would be."""
    return f"it {message}" if message.startswith("can ") else message


def left_as_it_is(site: SiteReport) -> SiteReport:
    """The report of a site that nothing was done to, although it could be, saying so."""
    if site.verdict not in _POSSIBLE:
        return site
    return replace(site, message=f"left as it is: {site.message}")
