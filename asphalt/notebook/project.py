"""``asphalt.Project``: source trees as the whole program."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from asphalt import project as core
from asphalt.config.errors import UsageError
from asphalt.config.settings import Settings, load_settings
from asphalt.diagnostics.model import ProblemReport, SiteReport
from asphalt.notebook.html import table
from asphalt.notebook.plan import Plan
from asphalt.notebook.site import Site
from asphalt.report.project_reports import reports_before


class Project:
    """Fortran sources at and below some paths, taken together as the whole program.

    ``settings`` None: those of the nearest ``asphalt.toml`` at or above the first path, as on the
    command line.  A notebook shows its sites as a table.

        >>> project = asphalt.Project("src")
        >>> project.site("transpose").plan(tile=8).diff()

    Raises ``AsphaltError`` for a tree that makes no sense, with file and line.
    """

    def __init__(self, *paths: str | Path, settings: Settings | None = None) -> None:
        if not paths:
            raise UsageError("Project(): name at least one file or folder")
        self.paths = tuple(Path(path) for path in paths)
        for path in self.paths:
            if not path.exists():
                raise UsageError(f"{path}: no such file or directory; check the path")
        first = self.paths[0]
        found = settings or load_settings(first if first.is_dir() else first.parent)
        self.core = core.Project(*self.paths, settings=found)

    @property
    def settings(self) -> Settings:
        """How the sources are read and transformed."""
        return self.core.settings

    @property
    def problems(self) -> tuple[ProblemReport, ...]:
        """What could not be read or analysed, each with file and line."""
        return self.core.problems

    @cached_property
    def _sites(self) -> tuple[Site, ...]:
        return tuple(Site(report, self.core) for report in reports_before(self.core))

    def sites(self) -> tuple[Site, ...]:
        """All exchanges, transfers and findings, in the order of files and lines.  The first call
        analyses the sources, which may take seconds."""
        return self._sites

    def site(self, name: str) -> Site:
        """One site by its ``name`` or its place, ``FILE:LINE``, of which the end is enough.

        Raises ``UsageError`` if there is none, or more than one, with those that there are.
        """
        own = [site for site in self._sites if site.name == name]
        found = own or [site for site in self._sites if _ends(site.report, name)]
        if len(found) == 1:
            return found[0]
        known = ", ".join(f"{site.name} ({site.place})" for site in found or self._sites)
        why = "several sites" if found else "no site"
        raise UsageError(f"{name}: {why} of that name or place: {known or 'there are no sites'}")

    def plan(self, *, tile: int | None = None, depth: int | None = None) -> Plan:
        """What ``apply`` would make of all sites.  ``tile``: iterations of a tile, 0: chosen at run
        time; ``depth``: tiles in flight; None: as the settings say."""
        return Plan(self.core, tile=tile, depth=depth)

    def __repr__(self) -> str:
        return f"Project({', '.join(repr(str(path)) for path in self.paths)})"

    def _repr_html_(self) -> str:
        return sites_table(self._sites)


def sites_table(sites: Iterable[Site]) -> str:
    """A table with a row for each site, as HTML."""
    rows = (
        (site.name, site.place, site.operation, site.verdict, site.code or "", site.message)
        for site in sites
    )
    return table(("site", "place", "operation", "verdict", "code", "message"), rows)


def _ends(report: SiteReport, name: str) -> bool:
    place = f"{report.file}:{report.line}"
    return place == name or place.endswith(f"/{name}")
