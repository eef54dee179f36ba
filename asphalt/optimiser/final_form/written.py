"""A unit with calls instead of inlined statements, written into its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from asphalt.analysis.data_flow.unit import line_of
from asphalt.analysis.inlining.plan import Inlining
from asphalt.config.passes import Pass
from asphalt.config.runtime import offering
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.records import record
from asphalt.ir.tree import Leaf, Unit, leaves
from asphalt.optimiser.acceptance import key_of
from asphalt.optimiser.origins import SourceLine
from asphalt.optimiser.outcome import Done, Optimised
from asphalt.optimiser.unchanged_units import why_doubted
from asphalt.optimiser.unit_state import Workshop
from asphalt.transforms.inlining import phase_versions
from asphalt.transforms.inlining.inlined_statements import Came, Origin
from asphalt.transforms.rewriting.edit import replace_unit
from asphalt.transforms.rewriting.new_names import REQUEST
from asphalt.transforms.rewriting.publishing import without_public_names
from asphalt.transforms.rewriting.tidying import without_uncalled, without_unused
from asphalt.unparse.unparse import unparse


@record
class NewCalls:
    """A unit in which calls stand instead of inlined statements.

    ``plans``: of the inlining that is undone; ``lines``: the line of the unit before that each new
    statement is about, by identity; ``versions``: of the procedures that are called.
    """

    unit: Unit
    plans: tuple[Inlining, ...]
    lines: Mapping[int, int]
    versions: tuple[phase_versions.Version, ...] = ()


def came_from(shop: Workshop, tree: Tree) -> Origin:
    """Where the statements of the unit in a tree came from."""

    def came(leaf: Leaf) -> Came | None:
        one = shop.origins.procedure(tree, line_of(leaf))
        place = shop.origins.about(tree, line_of(leaf)) if one is None else one.call
        if place is None or place.path != shop.path:
            return None
        return Came(place.line) if one is None else Came(place.line, one.plan, one.line)

    return came


def new_step(shop: Workshop, line: int, does: str, evidence: tuple[str, ...]) -> Done:
    """What became of the call in a line of the given unit."""
    return Done(Pass.INLINE, does, evidence, shop.given(SourceLine(shop.path, line)))


def written(shop: Workshop, found: Optimised, calls: NewCalls) -> Optimised | None:
    """The result with these calls, without the declarations, names and comments that only the
    inlined statements needed; None: it is not clear what it means."""
    tree = shop.tree_of(found)
    facts = shop.facts(tree)
    located = replace(facts.located, chain=(*facts.located.chain[:-1], calls.unit))
    requests = frozenset(name for name in facts.scope.own if name.startswith(REQUEST))
    unit = without_unused(located, shop.brought | requests, tree)
    unit = phase_versions.without_brought(without_uncalled(unit, offering()), calls.plans)
    hidden = phase_versions.not_shown(unit, calls.plans)
    files = {shop.path: replace_unit(tree.file(shop.path), facts.unit, unit)}
    homes = {one.callee.path for one in calls.versions}
    scopes = shop.facts(shop.first).effects.scopes
    homes |= {scope.located.path for name in hidden if (scope := scopes.module(name))}
    files |= {path: tree.file(path) for path in sorted(homes - {shop.path})}
    for path, file in files.items():
        shown = without_public_names(file, hidden)
        files[path] = phase_versions.with_versions(shown, path, calls.versions)
    texts = {path: unparse(file).encode("latin-1") for path, file in files.items()}
    beside = {**found.beside, **texts}
    content = beside.pop(shop.path)
    beside = {path: text for path, text in beside.items() if text != shop.first.content(path)}
    new = shop.known.tree(content, beside)
    doubt = why_doubted(new, shop.path, shop.chain)
    if doubt is not None or any(_is_doubted(new, one) for one in calls.versions):
        return None
    shop.origins.note(new, tree, line_of(next(leaves(facts.unit))), files[shop.path], calls.lines)
    return replace(found, content=content, beside=beside, trees=(new,))


def _is_doubted(tree: Tree, version: phase_versions.Version) -> bool:
    """Whether it is not clear what a version in a tree means."""
    path, chain = key_of(version.callee)
    return any(
        why_doubted(tree, path, (*chain[:-1], unit.name)) is not None for unit in version.made
    )
