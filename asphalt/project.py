"""A project: a source tree, its exchange sites, and what becomes of them.

>>> project = asphalt.Project("src")
>>> for site in project.sites():
...     print(site.report.file, site.report.line, site.verdict)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from asphalt.analysis.codes import ASSUMPTIONS
from asphalt.analysis.conditions.site import PARSERS
from asphalt.analysis.effects import Effects
from asphalt.analysis.evidence import completed, marks_of
from asphalt.analysis.exchange import Exchange, all_to_all_operations, exchanges
from asphalt.analysis.judge import judge
from asphalt.analysis.plan import Plan
from asphalt.analysis.symbols import Scopes
from asphalt.analysis.uniformity import Uniformity
from asphalt.analysis.verdict import Mark, Refused
from asphalt.analysis.wrappers import wrapped_exchanges
from asphalt.frontend.index import FileIndex
from asphalt.frontend.second_opinion import opinions
from asphalt.frontend.second_outline import differs
from asphalt.frontend.tree import Tree, load_tree
from asphalt.ir.expr import Ref
from asphalt.ir.program import Located
from asphalt.ir.stmt import ArmHead
from asphalt.ir.tree import Arm, File, Leaf, Unit, leaves
from asphalt.naming import site_name
from asphalt.report.model import MarkReport, Problem, SiteReport
from asphalt.settings import Settings
from asphalt.transfers import transfers
from asphalt.transforms.declare import declare
from asphalt.transforms.edit import replace_unit
from asphalt.transforms.prepush import prepush
from asphalt.unparse.params import Parameter
from asphalt.unparse.unparse import unparse

DEFAULT_TILE = 0
DEFAULT_DEPTH = 4


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


@dataclass(frozen=True, slots=True)
class Change:
    """A file that a transformation changes; ``parameters`` are its entries in the header."""

    path: Path
    before: bytes
    after: bytes
    sites: tuple[SiteReport, ...]
    parameters: tuple[Parameter, ...]


class Project:
    """Fortran sources at and below some paths, taken together as the whole program."""

    def __init__(self, *paths: str | Path, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.roots = tuple(Path(path) for path in paths)
        self._tree: Tree = load_tree(self.roots, self.settings)

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

    def sites(self) -> tuple[Site, ...]:
        """All exchange sites, in the order of files and lines."""
        return self._sites

    def transfers(self) -> tuple[SiteReport, ...]:
        """What is known about transfers between two ranks, and about requests: they are not
        transformed, and no sites."""
        return transfers(self._tree, Effects(Scopes(self._tree)))

    @cached_property
    def _sites(self) -> tuple[Site, ...]:
        scopes = Scopes(self._tree)
        effects, uniformity = Effects(scopes), Uniformity(scopes)
        direct = tuple(
            exchange
            for located in self._tree.site_units(all_to_all_operations())
            for exchange in exchanges(located, effects)
        )
        by_unit: dict[tuple[str, int], list[Exchange]] = {}
        for exchange in (*direct, *wrapped_exchanges(direct, effects)):
            where = (exchange.located.path, id(exchange.located.unit))
            by_unit.setdefault(where, []).append(exchange)
        found = [site for here in by_unit.values() for site in self._sites_of(here, uniformity)]
        return tuple(sorted(found, key=lambda site: (site.report.file, site.report.line)))

    def _sites_of(self, exchanges: list[Exchange], uniformity: Uniformity) -> Iterator[Site]:
        """The sites of one unit."""
        here = sorted(exchanges, key=lambda e: (e.span.first, e.span.first_col))
        for number, exchange in enumerate(here, 1):
            located = exchange.located
            name = site_name(Path(located.path), located.unit.name, number, len(here))
            if _is_applied(exchange):
                yield Site(name, exchange, None, _report(name, exchange, "applied"))
                continue
            judgement = judge(exchange, uniformity)
            if isinstance(judgement, Plan):
                judgement = self._seconded(judgement)
            if isinstance(judgement, Refused):
                judgement = completed(exchange, judgement)
            yield Site(name, exchange, judgement, self._judged(name, exchange, judgement))

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
        return replace(
            _report(name, exchange, "assumed" if judgement.assumptions else "proved"),
            code=next((ASSUMPTIONS[name].id for name in judgement.assumptions), None),
            message=f"can be prepushed along {along} ({judgement.layout.description})",
            assumptions=judgement.assumptions,
            evidence=(*judgement.evidence, *_caution(judgement)),
            backend="isend",
            marks=marks,
        )

    def transform(self, tile: int | None = None, depth: int | None = None) -> tuple[Change, ...]:
        """What becomes of every file that has a site to transform.

        ``tile``: iterations a tile, 0: chosen on entry; ``depth``: tiles in flight.  None: what
        the settings say, else the defaults.
        """
        by_file: dict[str, list[Site]] = {}
        for site in self.sites():
            plan = site.judgement
            if isinstance(plan, Plan) and set(plan.assumptions) <= self.settings.assume:
                by_file.setdefault(site.exchange.located.path, []).append(site)
        return tuple(self._change(path, sites, tile, depth) for path, sites in by_file.items())

    def _change(self, path: str, sites: list[Site], tile: int | None, depth: int | None) -> Change:
        file = self._tree.file(path)
        units: dict[int, list[Site]] = {}
        for site in sites:
            units.setdefault(id(site.exchange.located.unit), []).append(site)
        for group in units.values():
            file = _transformed(file, group)
        tile = _first(tile, self.settings.tile, DEFAULT_TILE)
        depth = _first(depth, self.settings.depth, DEFAULT_DEPTH)
        parameters = tuple(
            Parameter(
                site.name,
                site.exchange.call.procedure.spelled,
                f"{Path(path).name}:{site.report.line}",
                _along(site),
                tile,
                depth,
            )
            for site in sites
        )
        reports = tuple(
            replace(
                site.report,
                verdict="applied",
                passes=("prepush",),
                tile=tile,
                depth=depth,
            )
            for site in sites
        )
        after = unparse(file).encode("latin-1")
        return Change(Path(path), self._tree.content(path), after, reports, parameters)


def _caution(plan: Plan) -> tuple[str, ...]:
    if plan.grain == 1:
        return ()
    return (f"an innermost loop is tiled; a chosen K is a multiple of {plan.grain}",)


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
    moved = place.siblings[plan.producer.start : place.position + 1]
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


def _first(*values: int | None) -> int:
    return next(value for value in values if value is not None)


def _along(site: Site) -> str:
    assert isinstance(site.judgement, Plan)
    return site.judgement.producer.packing.variable


def _transformed(file: File, group: list[Site]) -> File:
    """The file with all sites of one unit prepushed, the last one first."""
    original = group[0].exchange.located.unit
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
