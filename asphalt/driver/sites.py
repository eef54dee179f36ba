"""Exchange sites: every exchange of a tree with its judgement and its report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from asphalt.analysis.conditions.evidence import completed, marks_of
from asphalt.analysis.conditions.site import PARSERS, TEXT
from asphalt.analysis.exchange.site import Exchange
from asphalt.analysis.exchange.site_directives import site_directives
from asphalt.analysis.mpi.runtime_types import runtime_type
from asphalt.analysis.tiling.plan import Plan
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.analysis_manager.analyses import Analyses
from asphalt.config.assumptions import PURE, UNIFORM, is_accepted, of_kind
from asphalt.config.settings import Settings
from asphalt.diagnostics.catalogue import ASSUMPTIONS
from asphalt.diagnostics.model import SiteReport
from asphalt.diagnostics.site_names import site_name
from asphalt.driver.transfers import mark_report
from asphalt.frontend.second_opinion.second_opinion import opinions
from asphalt.frontend.second_opinion.second_outline import differs
from asphalt.frontend.source_tree.index import FileIndex
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.expr import Component, walk
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.stmt import ArmHead, Guarded
from asphalt.ir.tree import Arm, Branch, Leaf, leaves

MANY_ASSUMPTIONS = 5


@record
class Site:
    """An exchange site with its judgement."""

    name: str
    exchange: Exchange
    judgement: Plan | Refused | None
    report: SiteReport

    @property
    def verdict(self) -> str:
        """applied, proved, assumed, refused or skipped."""
        return self.report.verdict

    @property
    def start(self) -> int | None:
        """Where the producer begins among the statements around the call, as far as it is
        known."""
        if isinstance(self.judgement, Plan):
            return self.judgement.producer.start
        return None


class SiteJudge:
    """Judges the exchanges of a tree under the settings."""

    def __init__(self, tree: Tree, analyses: Analyses, settings: Settings) -> None:
        self.settings = settings
        self._tree = tree
        self._analyses = analyses

    def sites(self) -> tuple[Site, ...]:
        """All exchange sites, in the order of files and lines."""
        effects, _ = self._analyses.of()
        by_unit: dict[tuple[str, int], list[Exchange]] = {}
        for exchange in self._analyses.exchanges(effects):
            where = (exchange.located.path, id(exchange.unit))
            by_unit.setdefault(where, []).append(exchange)
        found: list[Site] = []
        for here in by_unit.values():
            with self._analyses.errors.caught(here[0].located):
                found += self._sites_of(here)
        self._analyses.keep()
        return tuple(sorted(found, key=lambda site: (site.report.file, site.report.line)))

    def _sites_of(self, exchanges: list[Exchange]) -> Iterator[Site]:
        """The sites of one unit."""
        here = sorted(exchanges, key=lambda e: (e.span.first, e.span.first_col))
        for number, exchange in enumerate(here, 1):
            located = exchange.located
            name = site_name(Path(located.path), located.unit.name, number, len(here))
            if _is_applied(exchange):
                yield Site(name, exchange, None, _report(name, exchange, "applied"))
            else:
                yield self.site(name, exchange)

    def site(self, name: str, found: Exchange) -> Site:
        """The judgement of one exchange.

        If one assumption after the other about procedures leads to a plan, it is that plan.
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
        """The plan, unless it is not clear for which configurations it is proved, or two parsers
        disagree about its unit or a wrapper that it relies on."""
        located = plan.exchange.located
        path = located.path
        chain = tuple(unit.name for unit in located.chain)
        tests = self._analyses.configurations.of(path, chain)
        if isinstance(tests, str):
            return Refused(TEXT, tests, plan.exchange.span)
        judgement = seconded(plan, self._tree.file(path).width, self._tree.index(path))
        for wrapper in plan.exchange.through:
            width, index = self._tree.file(wrapper.path).width, self._tree.index(wrapper.path)
            other = other_reading(wrapper, leaves(wrapper.unit), width, index)
            if other is not None:
                return Refused(PARSERS, f"{PARSERS.title}: {other}", plan.exchange.span)
        return judgement

    def _judged(self, name: str, exchange: Exchange, judgement: Plan | Refused) -> SiteReport:
        marks = tuple(mark_report(mark) for mark in marks_of(exchange, judgement))
        if isinstance(judgement, Refused):
            verdict = "skipped" if judgement.code.id == "ASP006" else "refused"
            return replace(
                _report(name, exchange, verdict),
                code=judgement.code.id,
                message=judgement.message,
                witness=judgement.witness,
                marks=marks,
                cause=judgement.cause,
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
            backend=self.settings.backend[0],
            marks=marks,
        )


def _caution(plan: Plan) -> tuple[str, ...]:
    told: list[str] = []
    if plan.sizes:
        values = ", ".join(f"{name.spelled} = {value}" for name, value in plan.sizes)
        told.append(f"proved for {values}; built with other values, the call is made as it was")
    if plan.grain != 1:
        threaded = any(phase.threaded for phase in plan.producer.phases)
        which = "a loop that threads share is tiled" if threaded else "an innermost loop is tiled"
        told.append(f"{which}; a chosen K is a multiple of {plan.grain}")
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
    """How another parser reads a procedure, or one of its statements; None: as asphalt does."""
    other = differs(index, located.chain)
    if other is not None:
        return other
    found = opinions(statements, located.form, width)
    return f"line {found.disagreements[0].line}" if found.disagreements else None


def _report(name: str, exchange: Exchange, verdict: str) -> SiteReport:
    return SiteReport(
        name,
        exchange.located.path,
        exchange.span.first,
        exchange.operation,
        exchange.located.unit.name,
        verdict,
    )


def _is_applied(exchange: Exchange) -> bool:
    """Whether the call is the original one in code that asphalt wrote."""
    heads = [arm.head.what for around in exchange.place.around for arm in _arms(around)]
    conditions = [
        expr
        for what in (exchange.leaf.what, *heads)
        for expr in (
            (what.condition,)
            if isinstance(what, Guarded)
            else what.exprs
            if isinstance(what, ArmHead)
            else ()
        )
    ]
    return any(
        isinstance(part, Component)
        and part.name == "finished"
        and runtime_type(part.base, exchange.scope) is not None
        for condition in conditions
        for part in walk(condition)
    )


def _arms(around: object) -> tuple[Arm, ...]:
    return around.arms if isinstance(around, Branch) else ()
