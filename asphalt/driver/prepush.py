"""Prepushing of a tree: its files with all sites transformed whose plans are accepted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from asphalt.analysis.directives.directives import Directive
from asphalt.analysis.exchange.site_directives import site_directives
from asphalt.analysis.tiling.plan import Plan
from asphalt.config.passes import Pass
from asphalt.config.settings import Settings
from asphalt.diagnostics.change import Change
from asphalt.driver.overlap import DEFAULT_DEPTH, DEFAULT_TILE
from asphalt.driver.sites import Site
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.records import record
from asphalt.ir.tree import File, Unit
from asphalt.transforms.prepush.prepush import prepush
from asphalt.transforms.rewriting.declare import declare
from asphalt.transforms.rewriting.edit import replace_unit
from asphalt.unparse.params import HeaderEntry
from asphalt.unparse.unparse import unparse


@record
class AskedFor:
    """K and D as the user asks for them."""

    tile: int | None
    depth: int | None
    settings: Settings
    trial: bool

    def parameter(self, site: Site) -> HeaderEntry:
        """The entry of a site in the header."""
        plan = site.judgement
        assert isinstance(plan, Plan)
        said = site_directives(plan.exchange, plan.producer.start)
        tile, tile_from = self._chosen("tile", self.tile, said.tile)
        depth, depth_from = self._chosen("depth", self.depth, said.depth)
        backends = self.settings.backend
        backend_from = "the setting backend" if len(backends) > 1 else None
        sources = {"k": tile_from, "d": depth_from, "backend": backend_from}
        return HeaderEntry(
            site.name,
            site.exchange.spelled,
            f"{Path(site.report.file).name}:{site.report.line}",
            _along(site),
            DEFAULT_TILE if tile is None else tile,
            DEFAULT_DEPTH if depth is None else depth,
            {what: source for what, source in sources.items() if source is not None},
            backends,
        )

    def given(self, name: str, given: int | None) -> tuple[int, str] | None:
        """A value that holds for all sites without directive, and its source."""
        value, source = self._chosen(name, given, None)
        return None if value is None or source is None else (value, source)

    def _chosen(
        self, name: str, given: int | None, said: tuple[int, Directive] | None
    ) -> tuple[int | None, str | None]:
        """A value, and its source."""
        setting: int | None = getattr(self.settings, name)
        option = (given, f"--{name}")
        source = (None, None) if said is None else (said[0], f"{said[1].file}:{said[1].line}")
        order = (option, source) if self.trial else (source, option)
        found = (pair for pair in (*order, (setting, f"the setting {name}")) if pair[0] is not None)
        return next(found, (None, None))


def prepushed(
    tree: Tree, sites: Iterable[Site], asked: AskedFor, in_place: bool, given: Tree
) -> tuple[Change, ...]:
    """The changes of all files with sites whose plans are accepted.

    ``tree``: that of the sites; ``given``: as it was before any change.
    ``in_place``: the changes replace the sources, so nothing is proved again when other files
    change later.
    """
    by_file: dict[str, list[Site]] = {}
    for site in sites:
        plan = site.judgement
        if isinstance(plan, Plan) and set(plan.assumptions) <= set(site.report.accepted):
            kept = replace(site, judgement=plan.private) if in_place else site
            by_file.setdefault(site.exchange.located.path, []).append(kept)
    return tuple(_change(tree, path, group, asked, given) for path, group in by_file.items())


def _change(tree: Tree, path: str, sites: list[Site], asked: AskedFor, given: Tree) -> Change:
    file = tree.file(path)
    units: dict[int, list[Site]] = {}
    for site in sites:
        units.setdefault(id(site.exchange.unit), []).append(site)
    for group in units.values():
        file = _transformed(file, group, asked.settings.backend)
    parameters = tuple(asked.parameter(site) for site in sites)
    reports = tuple(
        replace(
            site.report,
            verdict="applied",
            passes=(Pass.PREPUSH,),
            tile=parameter.tile,
            depth=parameter.depth,
        )
        for site, parameter in zip(sites, parameters, strict=True)
    )
    after = unparse(file).encode("latin-1")
    return Change(Path(path), given.content(path), after, reports, parameters)


def _transformed(file: File, group: list[Site], backends: tuple[str, ...]) -> File:
    """The file with all sites of one unit prepushed, the last one first."""
    original = group[0].exchange.unit
    unit: Unit = original
    for site in reversed(group):
        assert isinstance(site.judgement, Plan)
        unit = prepush(unit, site.judgement, site.name, file.eol, backends)
    unit = declare(unit, tuple(site.name for site in group), file.form, file.eol)
    return replace_unit(file, original, unit)


def _along(site: Site) -> str:
    assert isinstance(site.judgement, Plan)
    return site.judgement.producer.packing.variable
