"""What becomes of a tree: its changed files, and what was tried for its procedures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from asphalt.config.passes import Pass
from asphalt.diagnostics.change import Change
from asphalt.diagnostics.model import DroppedReport, ProblemReport, ProcedureReport, SiteReport
from asphalt.optimiser.acceptance import Key
from asphalt.optimiser.outcome import Tried


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes of a tree: its changed files, and what was tried for each procedure with
    transfers between ranks.

    ``own``: the reports on operations that the program starts itself and that overlap with no more
    work.  ``tries``: what the optimiser tried for each unit.  ``notes``: one on each procedure that
    is not changed because nothing calls it any more.
    """

    changes: tuple[Change, ...]
    procedures: tuple[ProcedureReport, ...] = ()
    own: tuple[SiteReport, ...] = ()
    tries: Mapping[Key, Tried] = field(default_factory=dict)
    notes: tuple[ProblemReport, ...] = ()

    def tried(self, site: SiteReport) -> SiteReport:
        """The report on a transfer that is not changed, with what was tried for its procedure."""
        for one in self.procedures:
            if (one.file, one.unit) == (
                site.file,
                site.unit,
            ) and one.first <= site.line <= one.last:
                more = self._calls_kept(site.unit)
                return replace(site, dropped=(*one.dropped, *more), ended=one.ended)
        return site

    def _calls_kept(self, unit: str) -> Iterator[DroppedReport]:
        """What was tried with the calls of a procedure and not kept."""
        for one in (p for p in self.procedures if p.unit != unit):
            for dropped in one.dropped:
                names = dropped.transformation.split(", ")
                if Pass.INLINE in names and unit and f"{unit} (" in dropped.does:
                    yield dropped
