"""A project: a source tree, its exchange sites, and what becomes of them.

>>> project = asphalt.Project("src")
>>> for site in project.sites():
...     print(site.report.file, site.report.line, site.verdict)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from asphalt.analyses import Analyses
from asphalt.analysis.codes import ASSUMPTIONS
from asphalt.analysis.conditions.site import PARSERS
from asphalt.analysis.directive_checks import call_of, check_directives, check_file
from asphalt.analysis.directives import SENTINEL, Assume, Directive, Skip
from asphalt.analysis.evidence import completed, marks_of
from asphalt.analysis.exchange import Exchange, all_to_all_operations
from asphalt.analysis.intrinsic_modules import MPI_MODULES, is_intrinsic_module
from asphalt.analysis.plan import Plan
from asphalt.analysis.site_directives import for_one_exchange, site_directives
from asphalt.analysis.symbols import Scope
from asphalt.analysis.unseen import ambiguous_modules
from asphalt.analysis.verdict import Mark, Refused
from asphalt.assumptions import PURE, UNIFORM, is_accepted, of_kind
from asphalt.change import DEFAULT_DEPTH as DEFAULT_DEPTH
from asphalt.change import DEFAULT_TILE as DEFAULT_TILE
from asphalt.change import Change as Change
from asphalt.change import Judges as Judges
from asphalt.change import Outcome as Outcome
from asphalt.change import Values, kept_blocking, kept_stores, nothing_beside, optimised
from asphalt.findings import findings
from asphalt.frontend.index import FileIndex
from asphalt.frontend.second_opinion import opinions
from asphalt.frontend.second_outline import differs
from asphalt.frontend.tree import Tree, load_tree
from asphalt.given_lines import refuse_ambiguous
from asphalt.ir.expr import Ref
from asphalt.ir.program import Located
from asphalt.ir.stmt import ArmHead, Opaque, Use
from asphalt.ir.tree import Arm, File, Leaf, Unit, leaves
from asphalt.limits import HEADER
from asphalt.naming import site_name
from asphalt.passes import PREPUSH, TRANSFERS
from asphalt.report.model import MarkReport, Problem, SiteReport
from asphalt.settings import Settings
from asphalt.transfers import nonblocking_operations, transfer_operations, transfers
from asphalt.transforms.declare import declare
from asphalt.transforms.edit import replace_unit
from asphalt.transforms.prepush import prepush
from asphalt.unparse.params import Parameter, check_header
from asphalt.unparse.unparse import unparse
from asphalt.user_units import user_units

MANY_ASSUMPTIONS = 5


@dataclass(frozen=True, slots=True)
class Site:
    """One exchange site with its judgement."""

    name: str
    exchange: Exchange
    judgement: Plan | Refused | None
    report: SiteReport

    @property
    def verdict(self) -> str:
        """applied, proved, assumed, refused or skipped."""
        return self.report.verdict


class Project:
    """Fortran sources at and below some paths, taken together as the whole program."""

    def __init__(self, *paths: str | Path, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.roots = tuple(Path(path) for path in paths)
        self._tree: Tree = load_tree(self.roots, self.settings)
        self._for_exchanges: tuple[Directive, ...] = ()
        self._analyses = Analyses(self._tree)

    @property
    def tree(self) -> Tree:
        """The sources as they were read, and what they define."""
        return self._tree

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the input."""
        found = (*self._tree.problems, *self._tree.notes)
        return tuple(Problem(p.file, p.line, p.message, p.note) for p in found)

    @property
    def files(self) -> tuple[Path, ...]:
        """All Fortran files, sorted."""
        return tuple(Path(entry.path) for entry in self._tree.files)

    def content(self, file: str) -> bytes | None:
        """The bytes of a file as they were read; None for a file that is not of the project."""
        try:
            return self._tree.content(file)
        except KeyError:
            return None

    def missing_modules(self, file: str) -> tuple[str, ...]:
        """The modules that a file uses and that neither project nor compiler has, sorted."""
        return tuple(
            name
            for name in self._tree.missing_modules(file)
            if name not in MPI_MODULES and not is_intrinsic_module(name)
        )

    def uses_of(self, module: str) -> tuple[tuple[str, int], ...]:
        """File and line of every USE of a module (its name folded), sorted."""
        return tuple(
            sorted(
                {
                    (located.path, leaf.span.first)
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
    def programs(self) -> tuple[str, ...]:
        """The names of the main programs, as far as they have one."""
        return tuple(one.unit.name for one in self._tree.main_programs() if one.unit.name)

    def mentions(self, name: str) -> bool:
        """Whether any statement has this identifier (folded) in it."""
        return self._tree.mention_count(name) > 0

    def sites(self) -> tuple[Site, ...]:
        """All exchange sites, in the order of files and lines."""
        return self._sites

    def transfers(self) -> tuple[SiteReport, ...]:
        """What is known about transfers between two ranks, and about requests: they are not
        transformed, and no sites."""
        effects, _ = self._analyses.of()
        found = transfers(self._tree, effects)
        self._analyses.keep()
        return found

    @property
    def has_messages(self) -> bool:
        """Whether there are messages between two ranks or operations with requests."""
        return next(user_units(self._tree, transfer_operations()), None) is not None

    @cached_property
    def findings(self) -> tuple[SiteReport, ...]:
        """Errors of the program in its messages and requests that are proved."""
        effects, _ = self._analyses.of()
        found = findings(self._tree, effects)
        self._analyses.keep()
        return found

    def kept_blocking(self) -> tuple[SiteReport, ...]:
        """The transfers that the settings ask to be made non-blocking, and that cannot be."""
        if "nonblocking" not in self.settings.passes:
            return ()
        return kept_blocking(self._tree, self.settings.assume)

    def kept_stores(self) -> tuple[SiteReport, ...]:
        """The stores in front of receives that the settings ask to leave out, and that stay."""
        return kept_stores(self._tree) if "stores" in self.settings.passes else ()

    def nothing_beside(self, changes: Sequence[Change]) -> tuple[SiteReport, ...]:
        """Those that could be, but are not in these changes: no work comes beside them."""
        if "nonblocking" not in self.settings.passes:
            return ()
        own = self.settings
        wrong = {(found.file, found.unit): found.line for found in self.findings}
        return nothing_beside(self._tree, changes, own.assume, own.passes, own.clone_limit, wrong)

    @cached_property
    def remarks(self) -> tuple[Problem, ...]:
        """What keeps exchanges from being seen: directives that stand where they belong to none,
        modules that are defined more than once, statements that are not understood: notes."""
        used = {
            (directive.file, directive.line)
            for site in self.sites()
            for directive in site_directives(site.exchange, _start(site)).near
        }
        message = (
            "this directive belongs to no exchange; put it in front of the call or, for all of a "
            "procedure, among its declarations"
        )
        directives = tuple(
            Problem(directive.file, directive.line, message, note=True)
            for directive in self._for_exchanges
            if (directive.file, directive.line) not in used
        )
        return (*directives, *_ambiguities(self.sites()), *self._not_understood())

    def _not_understood(self) -> Iterator[Problem]:
        """A note for each statement that names an exchange and could not be interpreted."""
        operations = all_to_all_operations()
        for located in self._tree.site_units(operations):
            for leaf in (leaf for node in located.unit.body for leaf in leaves(node)):
                what = leaf.what
                if isinstance(what, Opaque) and leaf.span is not None:
                    for name in sorted(what.names & operations):
                        message = f"names {name.upper()}, and is not understood ({what.reason})"
                        yield Problem(leaf.span.file, leaf.span.first, message, note=True)

    @cached_property
    def _sites(self) -> tuple[Site, ...]:
        self._check_input()
        effects, _ = self._analyses.of()
        by_unit: dict[tuple[str, int], list[Exchange]] = {}
        for exchange in self._analyses.exchanges(effects):
            where = (exchange.located.path, id(exchange.unit))
            by_unit.setdefault(where, []).append(exchange)
        found = [site for here in by_unit.values() for site in self._sites_of(here)]
        self._analyses.keep()
        return tuple(sorted(found, key=lambda site: (site.report.file, site.report.line)))

    def _check_input(self) -> None:
        """Raise InputError for directives and headers that make no sense, and UsageError for
        assumptions about a line of several procedures."""
        refuse_ambiguous(self.settings.assume, self._tree)
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

    def _sites_of(self, exchanges: list[Exchange]) -> Iterator[Site]:
        """The sites of one unit."""
        here = sorted(exchanges, key=lambda e: (e.span.first, e.span.first_col))
        for number, exchange in enumerate(here, 1):
            located = exchange.located
            name = site_name(Path(located.path), located.unit.name, number, len(here))
            if _is_applied(exchange):
                yield Site(name, exchange, None, _report(name, exchange, "applied"))
            else:
                yield self._site(name, exchange)

    def _site(self, name: str, found: Exchange) -> Site:
        """The judgement of one exchange.

        Where one assumption after the other about procedures leads to a plan, it is that plan.
        """
        pure = of_kind(PURE, self.settings.assume, name)
        first: Site | None = None
        while True:
            exchange = found.under(self._analyses.of(pure)[0])
            judgement = self._judgement(exchange, pure)
            site = Site(name, exchange, judgement, self._judged(name, exchange, judgement))
            if isinstance(judgement, Plan):
                return site
            first = first or site
            lifted = of_kind(PURE, {judgement.lifted_by or ""})
            if lifted <= pure or len(pure) > MANY_ASSUMPTIONS:
                return first
            pure |= lifted

    def _judgement(self, exchange: Exchange, pure: frozenset[str]) -> Plan | Refused:
        judgement = self._analyses.judgement(exchange, pure)
        if isinstance(judgement, Plan):
            judgement = self._seconded(judgement)
        return completed(exchange, judgement) if isinstance(judgement, Refused) else judgement

    def _accepted(self, name: str, plan: Plan) -> tuple[str, ...]:
        """The assumptions of a plan that are accepted, by the user or by directives."""
        said = site_directives(plan.exchange, plan.producer.start).assumed
        return tuple(
            needed
            for needed in plan.assumptions
            if is_accepted(needed, self.settings.assume, name)
            or needed in said
            or needed.split(":")[0] == UNIFORM.word
            or self._is_said_pure(needed, plan.exchange)
        )

    def _is_said_pure(self, needed: str, exchange: Exchange) -> bool:
        kind, _, name = needed.partition(":")
        said = self._analyses.of()[0].assumed
        return kind == PURE.word and said.pure(name, exchange.scope)

    def _seconded(self, plan: Plan) -> Plan | Refused:
        """The plan, unless two parsers disagree about its unit or a wrapper that it relies on."""
        path = plan.exchange.located.path
        judgement = seconded(plan, self._tree.file(path).width, self._tree.index(path))
        for wrapper in plan.exchange.through:
            width, index = self._tree.file(wrapper.path).width, self._tree.index(wrapper.path)
            other = other_reading(wrapper, leaves(wrapper.unit), width, index)
            if other is not None:
                return Refused(PARSERS, f"{PARSERS.title}: {other}", plan.exchange.span)
        return judgement

    def _judged(self, name: str, exchange: Exchange, judgement: Plan | Refused) -> SiteReport:
        marks = tuple(_mark(mark) for mark in marks_of(exchange, judgement))
        if isinstance(judgement, Refused):
            verdict = "skipped" if judgement.code.id == "ASP006" else "refused"
            return replace(
                _report(name, exchange, verdict),
                code=judgement.code.id,
                message=judgement.message,
                witness=judgement.witness,
                marks=marks,
            )
        along = judgement.producer.packing.variable
        accepted = self._accepted(name, judgement)
        needed = [a.partition(":")[0] for a in judgement.assumptions if a not in accepted]
        kinds = (*needed, *(assumption.partition(":")[0] for assumption in accepted))
        return replace(
            _report(name, exchange, "assumed" if judgement.assumptions else "proved"),
            code=next((ASSUMPTIONS[kind].id for kind in kinds if kind in ASSUMPTIONS), None),
            message=f"can be prepushed along {along} ({judgement.layout.description})",
            assumptions=judgement.assumptions,
            accepted=accepted,
            evidence=(*judgement.evidence, *_caution(judgement)),
            backend="isend",
            marks=marks,
        )

    def transform(
        self,
        tile: int | None = None,
        depth: int | None = None,
        trial: bool = False,
    ) -> tuple[Change, ...]:
        """What becomes of every file that has a site to transform: the changes of ``outcome``."""
        return self.outcome(tile, depth, trial).changes

    def outcome(
        self,
        tile: int | None = None,
        depth: int | None = None,
        trial: bool = False,
        judges: Judges | None = None,
        in_place: bool = False,
    ) -> Outcome:
        """What becomes of every file that has a site to transform, and what was tried for that.

        ``tile``: iterations a tile, 0: chosen on entry; ``depth``: tiles in flight.  A directive of
        the site takes precedence (not for a ``trial``); None: what the settings say, else the
        defaults.  First collective operations are prepushed, then the transfers between two ranks
        are optimised, as far as the settings ask for these passes; procedures with findings are
        left alone.  ``judges``: what decides which steps for transfers are kept; None: the usual
        model.  ``in_place``: the changes replace the sources, so that nothing is proved again where
        other files change later.
        """
        refuse_ambiguous(self.settings.assume, self._tree)
        passes = self.settings.passes
        values = _Values(tile, depth, self.settings, trial)
        changes = self._prepushed(values, in_place) if PREPUSH in passes else ()
        wanted = [name for name in passes if name in TRANSFERS]
        wrong = {(found.file, found.unit) for found in self.findings} if wanted else set()
        limit = self.settings.clone_limit
        given = Values(values.given("tile", tile), values.given("depth", depth))
        return optimised(
            self._tree, changes, wanted, wrong, self.settings.assume, limit, given, judges
        )

    def _prepushed(self, values: _Values, in_place: bool) -> tuple[Change, ...]:
        by_file: dict[str, list[Site]] = {}
        for site in self.sites():
            plan = site.judgement
            if isinstance(plan, Plan) and set(plan.assumptions) <= set(site.report.accepted):
                kept = replace(site, judgement=plan.kept_apart) if in_place else site
                by_file.setdefault(site.exchange.located.path, []).append(kept)
        return tuple(self._change(path, sites, values) for path, sites in by_file.items())

    def _change(self, path: str, sites: list[Site], values: _Values) -> Change:
        file = self._tree.file(path)
        units: dict[int, list[Site]] = {}
        for site in sites:
            units.setdefault(id(site.exchange.unit), []).append(site)
        for group in units.values():
            file = _transformed(file, group)
        parameters = tuple(values.parameter(site) for site in sites)
        reports = tuple(
            replace(
                site.report,
                verdict="applied",
                passes=(PREPUSH,),
                tile=parameter.tile,
                depth=parameter.depth,
            )
            for site, parameter in zip(sites, parameters, strict=True)
        )
        after = unparse(file).encode("latin-1")
        return Change(Path(path), self._tree.content(path), after, reports, parameters)


def _is_for_transfer(directive: Directive, scope: Scope) -> bool:
    """Whether a directive is about a transfer or a collective operation that is no exchange."""
    if directive.leaf is None or not isinstance(directive.clause, Skip | Assume):
        return False
    call = call_of(directive.leaf, scope)
    return call is not None and call.operation in nonblocking_operations()


def _caution(plan: Plan) -> tuple[str, ...]:
    told: list[str] = []
    if plan.sizes:
        values = ", ".join(f"{name.spelled} = {value}" for name, value in plan.sizes)
        told.append(f"proved for {values}; built with other values, the call is made as it was")
    if plan.grain != 1:
        told.append(f"an innermost loop is tiled; a chosen K is a multiple of {plan.grain}")
    return tuple(told)


def seconded(plan: Plan, width: int, index: FileIndex) -> Plan | Refused:
    """The plan, unless two parsers disagree about a statement that it moves or depends on: all
    from the producer to the call, and the declarations of the unit and its hosts.

    ``width`` is the line limit of the file, ``index`` what fortls makes of it.
    """
    located, place = plan.exchange.located, plan.exchange.place
    other = differs(index, located.chain)
    if other is not None:
        return Refused(PARSERS, f"{PARSERS.title}: {other}", plan.exchange.span)
    declared = (node for unit in located.chain for node in unit.spec)
    moved = (*place.siblings[plan.producer.start : place.position], *plan.exchange.written)
    statements = (leaf for node in (*declared, *moved) for leaf in leaves(node))
    found = opinions(statements, located.form, width)
    if found.disagreements:
        first = found.disagreements[0]
        message = f"{PARSERS.title}, in line {first.line}"
        return Refused(PARSERS, message, first.leaf.span, first.code)
    asked = found.agreed + found.silent
    evidence = f"two parsers agree about {found.agreed} of {asked} statements, differ on none"
    return replace(plan, evidence=(*plan.evidence, evidence))


def other_reading(
    located: Located, statements: Iterable[Leaf], width: int, index: FileIndex
) -> str | None:
    """How another parser reads a procedure or one of these statements of it; None: as we do."""
    other = differs(index, located.chain)
    if other is not None:
        return other
    found = opinions(statements, located.form, width)
    return f"line {found.disagreements[0].line}" if found.disagreements else None


@dataclass(frozen=True, slots=True)
class _Values:
    """K and D as they were asked for."""

    tile: int | None
    depth: int | None
    settings: Settings
    trial: bool

    def parameter(self, site: Site) -> Parameter:
        """The entry of a site in the header."""
        plan = site.judgement
        assert isinstance(plan, Plan)
        said = site_directives(plan.exchange, plan.producer.start)
        tile, tile_from = self._chosen("tile", self.tile, said.tile)
        depth, depth_from = self._chosen("depth", self.depth, said.depth)
        sources = {"k": tile_from, "d": depth_from}
        return Parameter(
            site.name,
            site.exchange.spelled,
            f"{Path(site.report.file).name}:{site.report.line}",
            _along(site),
            DEFAULT_TILE if tile is None else tile,
            DEFAULT_DEPTH if depth is None else depth,
            {what: source for what, source in sources.items() if source is not None},
        )

    def given(self, name: str, given: int | None) -> tuple[int, str] | None:
        """A value that holds for all sites without directive, and who gave it."""
        value, source = self._chosen(name, given, None)
        return None if value is None or source is None else (value, source)

    def _chosen(
        self, name: str, given: int | None, said: tuple[int, Directive] | None
    ) -> tuple[int | None, str | None]:
        """A value, and who gave it."""
        setting: int | None = getattr(self.settings, name)
        option = (given, f"--{name}")
        source = (None, None) if said is None else (said[0], f"{said[1].file}:{said[1].line}")
        order = (option, source) if self.trial else (source, option)
        found = (pair for pair in (*order, (setting, f"the setting {name}")) if pair[0] is not None)
        return next(found, (None, None))


def _ambiguities(sites: Iterable[Site]) -> Iterator[Problem]:
    """A note for each module that a site needs and that is defined more than once."""
    told: set[str] = set()
    for site in sites:
        for module, text in ambiguous_modules(site.exchange.scope):
            if module not in told:
                told.add(module)
                message = f"{text}: nothing of it is known here"
                yield Problem(site.report.file, None, message, note=True)


def _start(site: Site) -> int | None:
    """Where the producer of a site begins, as far as it is known."""
    if isinstance(site.judgement, Plan):
        return site.judgement.producer.start
    return None


def _along(site: Site) -> str:
    assert isinstance(site.judgement, Plan)
    return site.judgement.producer.packing.variable


def _transformed(file: File, group: list[Site]) -> File:
    """The file with all sites of one unit prepushed, the last one first."""
    original = group[0].exchange.unit
    unit: Unit = original
    for site in reversed(group):
        assert isinstance(site.judgement, Plan)
        unit = prepush(unit, site.judgement, site.name, file.eol)
    unit = declare(unit, tuple(site.name for site in group), file.form, file.eol)
    return replace_unit(file, original, unit)


def _report(name: str, exchange: Exchange, verdict: str) -> SiteReport:
    return SiteReport(
        name,
        exchange.located.path,
        exchange.span.first,
        exchange.operation,
        exchange.located.unit.name,
        verdict,
    )


def _mark(mark: Mark) -> MarkReport:
    span = mark.span
    return MarkReport(
        span.file, span.first, span.first_col, span.last, span.last_col, mark.role, mark.text
    )


def _is_applied(exchange: Exchange) -> bool:
    """Whether the call is the original that stands in the code that asphalt wrote."""
    for around in exchange.place.around:
        if isinstance(around, Arm):
            continue
        arms = getattr(around, "arms", ())
        for arm in arms:
            head = arm.head.what
            if isinstance(head, ArmHead) and any(
                isinstance(e, Ref) and e.name == "asphalt_tiled" for e in head.exprs
            ):
                return True
    return False
