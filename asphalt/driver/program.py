"""One program: its files, its exchange sites, and what becomes of them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from asphalt.analysis.directives.directives import SENTINEL, Assume, Directive, Skip
from asphalt.analysis.exchange.directive_checks import check_directives, check_file
from asphalt.analysis.exchange.site import all_to_all_operations
from asphalt.analysis.exchange.site_directives import for_one_exchange, site_directives
from asphalt.analysis.mpi.call import mpi_call_in
from asphalt.analysis.names.intrinsic_modules import MPI_MODULES, is_intrinsic_module
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis_manager.analyses import Analyses
from asphalt.analysis_manager.user_units import user_units
from asphalt.config.assumptions import PURE, of_kind
from asphalt.config.backends import PERSISTENT
from asphalt.config.limits import HEADER
from asphalt.config.passes import OF_TRANSFERS, Pass
from asphalt.config.settings import Settings
from asphalt.diagnostics.change import Change, with_dependents
from asphalt.diagnostics.model import ProblemReport, SiteReport
from asphalt.driver.assumed_outcomes import (
    among_readings,
    with_assumed_outcomes,
    with_fatal_outcomes,
    with_readings_passed,
)
from asphalt.driver.blocking_reports import kept_blocking, kept_stores, kept_whole, not_overlapped
from asphalt.driver.called_exchanges import CalledExchanges, Sites
from asphalt.driver.configurations import calls_left_out, confined_changes, leaves_lines_out
from asphalt.driver.findings import findings
from asphalt.driver.given_lines import refuse_ambiguous
from asphalt.driver.included_parts import Places, divided
from asphalt.driver.included_sites import included_operations
from asphalt.driver.known_outcomes import KnownOutcomes, store_of
from asphalt.driver.overlap import (
    Judges,
    Outcome,
    OutcomeRequest,
    OverlapRequest,
    TileValues,
    Watch,
    optimised,
)
from asphalt.driver.prepush import AskedFor, prepushed
from asphalt.driver.program_starts import own_operations
from asphalt.driver.remarks import ambiguities, first_not_understood, not_understood
from asphalt.driver.sites import Site, SiteJudge
from asphalt.driver.transfers import nonblocking_operations, transfer_operations, transfers
from asphalt.frontend.source_tree.scan import is_source
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.stmt import Use
from asphalt.ir.tree import Leaf, leaves
from asphalt.optimiser.acceptance import Key
from asphalt.optimiser.options import Options
from asphalt.optimiser.outcome import Tried
from asphalt.unparse.params import check_header


class Program:
    """The files of a tree, taken together as a whole program; ``name``: for messages."""

    def __init__(self, tree: Tree, settings: Settings, name: str = "") -> None:
        self.settings = settings
        self.name = name
        self._tree = tree
        self._known = KnownOutcomes(store_of(tree))
        self._for_exchanges: tuple[Directive, ...] = ()
        self.places = Places(self._tree.inclusions)
        self._accepted = self.places.assumed(self.settings.assume, self._tree)
        analyses = Analyses(self._tree, pure=of_kind(PURE, self._accepted))
        self._analyses = analyses.under(self._accepted)

    @property
    def tree(self) -> Tree:
        """The sources as they were read, and what they define."""
        return self._tree

    @property
    def problems(self) -> tuple[ProblemReport, ...]:
        """The problems of the input, and what has failed so far."""
        found = (*self._tree.problems, *self._tree.notes)
        read = (ProblemReport(p.file, p.line, p.message, p.note) for p in found)
        return (*map(self.places.problem, read), *self.internal_errors)

    @property
    def internal_errors(self) -> tuple[ProblemReport, ...]:
        """The units in which asphalt itself has failed so far; they are left as they were."""
        return tuple(map(self.places.problem, self._analyses.errors.reports))

    @cached_property
    def paths(self) -> frozenset[str]:
        """The files that are compiled by themselves."""
        return frozenset(entry.path for entry in self._tree.files)

    @property
    def files(self) -> tuple[Path, ...]:
        """All Fortran files, sorted."""
        own = [Path(entry.path) for entry in self._tree.files]
        parts = [Path(path) for path in self._tree.inclusions.texts]
        return tuple(sorted((*own, *(path for path in parts if is_source(path)))))

    @property
    def left_out(self) -> tuple[int, tuple[str, int]] | None:
        """How many lines call MPI in branches of the preprocessor that are left out, and file and
        line of the first one; None: there are none."""
        return calls_left_out(self._tree)

    @property
    def leaves_lines_out(self) -> bool:
        """Whether conditionals of the preprocessor leave out lines of any file."""
        return leaves_lines_out(self._tree)

    @property
    def lines(self) -> int:
        """The number of lines of all files."""
        return sum(self._tree.content(entry.path).count(b"\n") for entry in self._tree.files)

    @property
    def parts(self) -> Mapping[Path, Path]:
        """The files that are compiled, and changed, as a part of another one, with this."""
        compositions = self._tree.inclusions.compositions
        return {
            Path(part.path): Path(path) for path, one in compositions.items() for part in one.parts
        }

    def content(self, file: str) -> bytes | None:
        """The bytes of a file as they were read; None for a file that is not of the project."""
        given = self._tree.inclusions.compositions.get(self.places.file(file))
        if given is not None:
            return given.texts[file]
        try:
            return self._tree.content(file)
        except KeyError:
            return None

    def units_at(self, file: Path, line: int) -> frozenset[tuple[str, str]]:
        """File and name of the units of a file that have a statement in a line or around it."""
        given = {*map(str, self.files), *self._tree.inclusions.texts}
        paths = [path for path in sorted(given) if Path(path).samefile(file)]
        return frozenset(
            (path, located.unit.name)
            for path, number in (self.places.composed(path, line) for path in paths)
            for located in self._tree.units_of(path)
            if next(leaves(located.unit)).line <= number <= _last_line(located.unit.end)
        )

    def missing_modules(self, file: str) -> tuple[str, ...]:
        """The modules that a file uses and that neither project nor compiler has, sorted."""
        return tuple(
            name
            for name in self._tree.missing_modules(self.places.file(file))
            if name not in MPI_MODULES and not is_intrinsic_module(name)
        )

    def unread_module(self, name: str) -> str | None:
        """Where and why a file cannot be read that defines a module; None: there is no such."""
        return self._tree.unread_module(name)

    def uses_of(self, module: str) -> tuple[tuple[str, int], ...]:
        """File and line of every USE of a module (its name folded), sorted."""
        return tuple(
            sorted(
                {
                    self.places.place(located.path, leaf.span.first)
                    for located in self._tree.mentions(module)
                    for unit in located.chain
                    for node in unit.spec
                    for leaf in leaves(node)
                    if isinstance(leaf.what, Use)
                    and leaf.what.module == module
                    and leaf.span is not None
                }
            )
        )

    @property
    def main_names(self) -> tuple[str, ...]:
        """The names of the main programs, as far as they have one."""
        return tuple(one.unit.name for one in self._tree.main_programs() if one.unit.name)

    def mentions(self, name: str) -> bool:
        """Whether any statement has this identifier (folded) in it."""
        return self._tree.mention_count(name) > 0

    def sites(self) -> tuple[Site, ...]:
        """All exchange sites, in the order of files and lines."""
        return self._placed_sites

    @cached_property
    def _placed_sites(self) -> tuple[Site, ...]:
        own = self.composed_sites()
        found = (replace(site, report=self.places.site(site.report)) for site in own)
        return tuple(sorted(found, key=lambda site: (site.report.file, site.report.line)))

    def composed_sites(self) -> tuple[Site, ...]:
        """All exchange sites, whose reports name places in composed text, as those of all methods
        below do (see ``places``)."""
        return self._sites

    def transfers(self) -> tuple[SiteReport, ...]:
        """The reports on transfers between two ranks, and on requests: they are not
        transformed, and no sites."""
        effects, _ = self._analyses.of()
        found = transfers(self._tree, effects, self._analyses.errors)
        self._analyses.keep()
        included = included_operations(self._tree, transfer_operations())
        return self.places.sites((*found, *included))

    @property
    def has_messages(self) -> bool:
        """Whether there are messages between two ranks or operations with requests."""
        return next(user_units(self._tree, transfer_operations()), None) is not None

    @cached_property
    def findings(self) -> tuple[SiteReport, ...]:
        """Errors of the program in its messages and requests that are proved."""
        effects, _ = self._analyses.of()
        found = findings(self._tree, effects, self._analyses.errors)
        self._analyses.keep()
        return found

    @cached_property
    def _options(self) -> Options:
        """What the settings ask the optimiser for."""
        own = self.settings
        passes = tuple(name for name in own.passes if name in OF_TRANSFERS)
        found = self.findings if passes else ()
        faulty = {(one.file, one.unit): (one.line, one.code or "") for one in found}
        least = None if own.least_gain is None else own.least_gain / 100
        options = Options(passes, self._accepted, own.clone_limit, faulty, own.sizes, own.networks)
        return replace(options, least_gain=least, combining=own.combining)

    @property
    def _request(self) -> OverlapRequest:
        """The request to optimise the tree; what is known of its units is kept."""
        return OverlapRequest(self._options, known=self._known)

    def kept_blocking(self) -> tuple[SiteReport, ...]:
        """The blocking operations that ``nonblocking`` is asked for and cannot change."""
        if Pass.NONBLOCKING not in self.settings.passes:
            return ()
        kept = kept_blocking(self._analyses, self._options)
        others = nonblocking_operations() - all_to_all_operations()
        return (*kept, *included_operations(self._tree, others))

    def included_exchanges(self) -> tuple[SiteReport, ...]:
        """The reports on exchanges in whole procedures that INCLUDE lines bring in."""
        return included_operations(self._tree, all_to_all_operations())

    def with_assumed_outcomes(self, blocking: Sequence[SiteReport]) -> tuple[SiteReport, ...]:
        """Reports on operations that remain blocking; where an assumption would change that, with
        what would become of them.  This optimises their procedures once more."""
        return with_assumed_outcomes(self._analyses, blocking, self._request)

    def with_fatal_outcomes(self, idle: Sequence[SiteReport]) -> tuple[SiteReport, ...]:
        """Reports on operations that overlap with no more work; where they would if no error
        handler returned, with what.  This optimises their procedures once more."""
        return with_fatal_outcomes(self._analyses, idle, self._request)

    def with_readings_passed(self, idle: Sequence[SiteReport]) -> tuple[SiteReport, ...]:
        """Reports on operations with nothing to overlap; where the assumption ``timers`` would
        change that, with what would become of them."""
        return with_readings_passed(self._analyses, idle, self._request)

    def among_readings(self, sites: Iterable[SiteReport]) -> tuple[SiteReport, ...]:
        """The refused ones of some operations around which a clock is read, where the assumption
        ``timers`` is not accepted."""
        composed = (replace(site, file=self.places.file(site.file)) for site in sites)
        return among_readings(self._analyses, composed, self._options)

    def kept_stores(self) -> tuple[SiteReport, ...]:
        """The stores in front of receives that ``stores`` is asked for and cannot drop."""
        return kept_stores(self._analyses) if Pass.STORES in self.settings.passes else ()

    def not_overlapped(
        self, changes: Sequence[Change], tries: Mapping[Key, Tried] = MappingProxyType({})
    ) -> tuple[SiteReport, ...]:
        """The blocking operations that could be non-blocking and are not in these changes, since
        nothing would overlap with them.  ``tries``: of units, as ``Outcome.tries`` has them."""
        if Pass.NONBLOCKING not in self.settings.passes:
            return ()
        return not_overlapped(self._analyses, changes, OverlapRequest(self._options), tries)

    def kept_whole(self, sites: Sequence[SiteReport]) -> tuple[SiteReport, ...]:
        """The sites that changes are about; where ``pipelining`` is asked for, with what keeps
        their messages from being cut into segments."""
        if not self._options.asks_for(Pass.NONBLOCKING, Pass.PIPELINING):
            return tuple(sites)
        return kept_whole(self._analyses, sites, self._accepted)

    def own_operations(self, outcome: Outcome) -> tuple[SiteReport, ...]:
        """The operations that the program starts itself and that overlap with no more work in an
        outcome; (): the settings ask neither to move work nor to cut messages."""
        sites = (*(site for change in outcome.composed for site in change.sites), *outcome.own)
        reported = {(site.file, site.line) for site in sites}
        others = own_operations(self._analyses, reported, self._options, outcome.tries)
        return (*outcome.own, *others)

    @cached_property
    def remarks(self) -> tuple[ProblemReport, ...]:
        """The reasons why exchanges are not seen: directives that stand where they belong to none,
        modules that are defined more than once, statements that are not understood: notes."""
        used = {
            (directive.file, directive.line)
            for site in self._sites
            for directive in site_directives(site.exchange, site.start).near
        }
        message = (
            "this directive belongs to no exchange; put it in front of the call or, for all of a "
            "procedure, among its declarations"
        )
        directives = tuple(
            ProblemReport(directive.file, directive.line, message, note=True)
            for directive in self._for_exchanges
            if (directive.file, directive.line) not in used
        )
        found = (*directives, *ambiguities(self._sites), *not_understood(self._tree))
        if not self._sites and not self.has_messages:
            told = {(note.file, note.line) for note in found}
            more = first_not_understood(self._tree)
            found += tuple(note for note in more if (note.file, note.line) not in told)
        return tuple(map(self.places.problem, found))

    @cached_property
    def _judged(self) -> Sites:
        """The sites, and the tree in which they stand."""
        self._check_input()
        settings = replace(self.settings, assume=self._accepted)
        sites = SiteJudge(self._tree, self._analyses, settings).sites()
        if {Pass.PREPUSH, Pass.INLINE} <= set(self.settings.passes):
            return CalledExchanges(self._analyses, settings).opened(sites)
        return Sites(self._tree, sites)

    @property
    def _sites(self) -> tuple[Site, ...]:
        return self._judged.sites

    def _check_input(self) -> None:
        """Raise InputError for directives and headers that make no sense, and UsageError for
        assumptions about a line of several procedures."""
        refuse_ambiguous(self._accepted, self._tree)
        for entry in self._tree.files:
            if SENTINEL.encode() in self._tree.content(entry.path).lower():
                units = self._tree.units_of(entry.path)
                for located in units:
                    scope = self._analyses.scopes.of(located)
                    check_directives(scope)
                    found = for_one_exchange(located.unit)
                    self._for_exchanges += tuple(d for d in found if not _is_for_transfer(d, scope))
                if units:
                    check_file(self._tree.file(entry.path))
        for directory in sorted({path.parent for path in self.files}):
            check_header(directory / HEADER)

    def transform(
        self,
        tile: int | None = None,
        depth: int | None = None,
        trial: bool = False,
    ) -> tuple[Change, ...]:
        """The transformed files: the changes of ``outcome``."""
        return self.outcome(tile, depth, trial).changes

    def outcome(
        self,
        tile: int | None = None,
        depth: int | None = None,
        trial: bool = False,
        judges: Judges | None = None,
        in_place: bool = False,
        watch: Watch | None = None,
        units: Collection[tuple[str, str]] | None = None,
        exchanges: Collection[str] | None = None,
    ) -> Outcome:
        """The result for every file that has a site to transform, and what was tried for that;
        ``OutcomeRequest`` has the parameters."""
        return self.outcome_for(
            OutcomeRequest(tile, depth, trial, judges, in_place, watch, units, exchanges)
        )

    def outcome_for(self, wanted: OutcomeRequest) -> Outcome:
        """The result for a request.  First collective operations are prepushed, then the transfers
        between two ranks are optimised, as far as the settings ask for these passes; procedures
        with findings are left alone."""
        refuse_ambiguous(self._accepted, self._tree)
        passes = self.settings.passes
        asked = AskedFor(wanted.tile, wanted.depth, self.settings, wanted.trial)
        changes: tuple[Change, ...] = ()
        if Pass.PREPUSH in passes:
            sites = (
                one
                for one in self._sites
                if wanted.exchanges is None or one.name in wanted.exchanges
                if not wanted.kept.keeps_site(one)
            )
            changes = prepushed(self._judged.tree, sites, asked, wanted.in_place, self._tree)
        values = TileValues(asked.given("tile", wanted.tile), asked.given("depth", wanted.depth))
        jobs = self.settings.jobs or len(os.sched_getaffinity(0))
        request = OverlapRequest(
            self._options, values, wanted.judges, wanted.units, jobs=jobs, kept=wanted.kept
        )
        request = replace(request, persistent=self.settings.backend[0] == PERSISTENT)
        if wanted.judges is None:
            request = replace(request, known=self._known)
        if wanted.watch is not None:
            request = replace(request, watch=wanted.watch)
        found = optimised(self._analyses, changes, request)
        confined, notes = confined_changes(self._tree, self._analyses.configurations, found.changes)
        changes, others = divided(self._tree.inclusions, confined)
        lost = {Path(note.file): note.message for note in (*notes, *others)}
        more = with_dependents(found.changes, lost)
        if len(more) > len(lost):
            new = {path: why for path, why in more.items() if path not in lost}
            others += tuple(ProblemReport(str(p), None, why, note=True) for p, why in new.items())
            confined = tuple(change for change in confined if change.path not in new)
            changes, _ = divided(self._tree.inclusions, confined)
        written = {self.places.file(str(change.path)) for change in changes}
        reasons = {note.file: note.message for note in (*notes, *others)}
        unwritten = {
            (site.file, site.line, site.operation): reasons[str(change.path)]
            for change in found.changes
            for site in change.sites
            if str(change.path) in reasons
        }
        return replace(
            found,
            changes=tuple(map(self.places.change, changes)),
            notes=tuple(map(self.places.problem, (*found.notes, *notes, *others))),
            composed=tuple(change for change in confined if str(change.path) in written),
            unwritten=unwritten,
        )


def _last_line(leaf: Leaf) -> int:
    return 0 if leaf.span is None else leaf.span.last


def _is_for_transfer(directive: Directive, scope: Scope) -> bool:
    """Whether a directive is about a transfer or a collective operation that is no exchange."""
    if directive.leaf is None or not isinstance(directive.clause, Skip | Assume):
        return False
    call = mpi_call_in(directive.leaf, scope)
    return call is not None and call.operation in nonblocking_operations()
