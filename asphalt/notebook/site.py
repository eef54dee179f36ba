"""A site: one operation of MPI, what asphalt can do about it, and why."""

from __future__ import annotations

from dataclasses import dataclass

from rich.text import Text

from asphalt import project as core
from asphalt.config.passes import Pass
from asphalt.diagnostics.model import SiteReport
from asphalt.notebook.html import coloured
from asphalt.notebook.plan import Plan
from asphalt.report.drawing import drawing
from asphalt.report.text import site_details


@dataclass(frozen=True)
class Site:
    """One exchange or transfer.  A notebook shows its verdict over the source, as ``asphalt
    explain`` does.

    ``report``: everything that is known of it, as in the JSON report.
    """

    report: SiteReport
    core: core.Project

    @property
    def name(self) -> str:
        """The name that ``--assume NAME@SITE`` takes: of its procedure, and the line of a
        transfer."""
        return self.report.id

    @property
    def place(self) -> str:
        """FILE:LINE of the call."""
        return f"{self.report.file}:{self.report.line}"

    @property
    def operation(self) -> str:
        """The MPI procedure that is called."""
        return self.report.operation

    @property
    def verdict(self) -> str:
        """applied, proved, assumed, refused or skipped; or finding: an error of the program."""
        return self.report.verdict

    @property
    def code(self) -> str | None:
        """The code of everything but a proof, such as ASP026."""
        return self.report.code

    @property
    def message(self) -> str:
        """What can be done, or what stands in the way."""
        return self.report.message

    def plan(self, *, tile: int | None = None, depth: int | None = None) -> Plan:
        """What ``apply`` would make of this site alone; of a transfer, of its whole procedure,
        whose transfers are transformed together.  Numbers as for ``Project.plan``."""
        if self._is_exchange:
            return Plan(self.core, tile=tile, depth=depth, exchanges=(self.name,), units=())
        unit = (self.report.file, self.report.unit)
        return Plan(self.core, tile=tile, depth=depth, exchanges=(), units=(unit,))

    @property
    def _is_exchange(self) -> bool:
        return Pass.PREPUSH in self.report.passes or any(
            site.name == self.name for site in self.core.sites()
        )

    def __repr__(self) -> str:
        return f"<{self.place} {self.operation}: {self.verdict}>"

    def __str__(self) -> str:
        return "\n".join(line.plain.rstrip() for line in self._lines)

    @property
    def _lines(self) -> list[Text]:
        content = {
            mark.file: found
            for mark in self.report.marks
            if (found := self.core.content(mark.file)) is not None
        }
        return [*site_details(self.report), Text(), *drawing(self.report.marks, content)]

    def _repr_html_(self) -> str:
        return coloured(self._lines)
