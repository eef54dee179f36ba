"""A project: a source tree, its exchange sites, and what becomes of them, for all that is above.

``asphalt.notebook`` has the project that Python programs and notebooks use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from asphalt.config.settings import Settings
from asphalt.diagnostics.change import Change as Change
from asphalt.diagnostics.model import ProblemReport, SiteReport
from asphalt.driver.agreement import agreed, merged_sites
from asphalt.driver.called_procedures import CalledProcedure, called_at
from asphalt.driver.given_lines import refuse_ambiguous
from asphalt.driver.given_sizes import refuse_unknown
from asphalt.driver.overlap import DEFAULT_DEPTH as DEFAULT_DEPTH
from asphalt.driver.overlap import DEFAULT_TILE as DEFAULT_TILE
from asphalt.driver.overlap import Judges as Judges
from asphalt.driver.overlap import Kept, OutcomeRequest
from asphalt.driver.overlap import Outcome as Outcome
from asphalt.driver.program import Program
from asphalt.driver.several_programs import ProgramFiles, programs_of, told
from asphalt.driver.sites import Site
from asphalt.frontend.source_tree.program_tree import ProgramTree
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.gain.model import networks_named

_T = TypeVar("_T")


class Project(Program):
    """Fortran sources at and below some paths, taken together: one program, or several.

    Of several, each is judged with its own files (see ``driver.several_programs``), and a file that
    more than one has is changed only where all of them agree.
    """

    def __init__(self, *paths: str | Path, settings: Settings | None = None) -> None:
        self.roots = tuple(Path(path) for path in paths)
        settings = settings or Settings()
        super().__init__(load_tree(self.roots, settings), settings)
        networks_named(settings.networks)  # refuses others
        refuse_unknown(settings.sizes, self.tree, self._analyses.scopes)

    @cached_property
    def each(self) -> tuple[Program, ...]:
        """The programs, if there are several that are judged one by one."""
        if self._programs:
            refuse_ambiguous(self._accepted, self.tree)
        return tuple(
            Program(ProgramTree(self.tree, one.paths), self.settings, one.name)
            for one in self._programs
        )

    @cached_property
    def _programs(self) -> tuple[ProgramFiles, ...]:
        return programs_of(self.tree)

    @property
    def problems(self) -> tuple[ProblemReport, ...]:
        """The problems of the input, and what has failed so far; first that there are several
        programs."""
        found = super().problems
        if not self._programs:
            return found
        return (self.places.problem(told(self.tree, self._programs)), *found)

    def called_at(self, file: Path, line: int) -> CalledProcedure | None:
        """The procedure that a statement in a line of a file calls; None: it calls none."""
        return called_at(self.tree, self._analyses.scopes, file, line)

    @property
    def internal_errors(self) -> tuple[ProblemReport, ...]:
        """The units in which asphalt itself has failed so far; they are left as they were."""
        own = super().internal_errors
        return (*own, *_once(one.internal_errors for one in self.each))

    @property
    def is_repeatable(self) -> bool:
        """Whether another run on the same files comes to the same answers."""
        return all(one.tree.is_repeatable for one in (self, *self.each))

    def files_looked_for(self) -> tuple[str, ...]:
        """The files that the sources include, and where one was looked for in vain before."""
        return _once(one.tree.files_looked_for() for one in (self, *self.each))

    def composed_sites(self) -> tuple[Site, ...]:
        """All exchange sites, whose reports name places in composed text."""
        if not self.each:
            return super().composed_sites()
        return self._merged_sites

    @cached_property
    def _merged_sites(self) -> tuple[Site, ...]:
        return merged_sites(self.each, [one.composed_sites() for one in self.each])

    def transfers(self) -> tuple[SiteReport, ...]:
        """The reports on transfers between two ranks, and on requests: they are not
        transformed, and no sites."""
        if not self.each:
            return super().transfers()
        return _once((one.transfers() for one in self.each), _place)

    @cached_property
    def findings(self) -> tuple[SiteReport, ...]:
        """Errors of the program in its messages and requests that are proved."""
        if not self.each:
            return super().findings
        return _once((one.findings for one in self.each), _place)

    @cached_property
    def remarks(self) -> tuple[ProblemReport, ...]:
        """The reasons why exchanges are not seen: notes."""
        return _once(one.remarks for one in self.each) if self.each else super().remarks

    def among_readings(self, sites: Iterable[SiteReport]) -> tuple[SiteReport, ...]:
        """The refused ones of some operations around which a clock is read, where the assumption
        ``timers`` is not accepted."""
        if not self.each:
            return super().among_readings(sites)
        known = [(self.places.file(site.file), site) for site in sites]
        found = (
            one.among_readings(site for path, site in known if path in one.paths)
            for one in self.each
        )
        return _once(found, _place)

    def outcome_for(self, wanted: OutcomeRequest) -> Outcome:
        """The result for a request.

        Of several programs, it is that on which all agree; ``Outcome.each`` has those of each.
        """
        if not self.each:
            return super().outcome_for(wanted)

        def of(one: Program, kept: Kept) -> Outcome:
            return one.outcome_for(replace(wanted, kept=wanted.kept | kept))

        return agreed(self.each, of)


def _place(site: SiteReport) -> tuple[str, int, str]:
    return site.file, site.line, site.operation


def _same(one: object) -> object:
    return one


def _once(found: Iterable[Iterable[_T]], key: Callable[[_T], object] = _same) -> tuple[_T, ...]:
    """All of several, each key once, in their order."""
    kept: dict[object, _T] = {}
    for own in found:
        for one in own:
            kept.setdefault(key(one), one)
    return tuple(kept.values())
