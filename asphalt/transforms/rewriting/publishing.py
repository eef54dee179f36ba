"""Names of a module that become public for inlined statements of its procedures.

Before::

    private
    public :: exchange

After::

    private
    public :: exchange
    ! asphalt: for what stands in other units
    public :: incoming, request
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from asphalt.analysis.names.scopes import Scopes
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.insertion import last_declaration
from asphalt.ir.program import Located
from asphalt.ir.source import Form
from asphalt.ir.stmt import Decl, Entity
from asphalt.ir.tree import File, Leaf, Node, Unit, rewrite
from asphalt.transforms.rewriting.declare import column_of, insert_behind
from asphalt.transforms.rewriting.make import Maker
from asphalt.unparse.unparse import unparse

_TEXT = "for what stands in other units"


def with_public_names(file: File, shown: Mapping[str, tuple[str, ...]]) -> File:
    """The file in which modules list more names as public; ``shown``: the names by module."""
    return replace(
        file,
        units=tuple(
            _listing(unit, shown[unit.name], file)
            if unit.kind == "module" and unit.name in shown
            else unit
            for unit in file.units
        ),
    )


def without_public_names(file: File, hidden: Mapping[str, tuple[str, ...]]) -> File:
    """The file in which modules list fewer of the names that asphalt has made public; ``hidden``:
    those by module."""
    return replace(
        file,
        units=tuple(
            _without(unit, hidden[unit.name])
            if unit.kind == "module" and unit.name in hidden
            else unit
            for unit in file.units
        ),
    )


def _without(unit: Unit, names: tuple[str, ...]) -> Unit:
    spec: list[Node] = []
    for node in unit.spec:
        what = node.what if isinstance(node, Leaf) else None
        ours = isinstance(node, Leaf) and any(_TEXT in entry.text for entry in node.lead)
        if not isinstance(node, Leaf) or not isinstance(what, Decl) or not ours:
            spec.append(node)
            continue
        kept = tuple(entity for entity in what.entities if entity.name not in names)
        if len(kept) == len(what.entities):
            spec.append(node)
        elif kept:
            spec.append(rewrite(node, replace(what, entities=kept)))
    return replace(unit, spec=tuple(spec))


def of_other_files(
    shown: Mapping[str, tuple[str, ...]], located: Located, scopes: Scopes, tree: Tree
) -> Mapping[str, bytes]:
    """The contents of the files of a tree, by path, whose modules list more names as public for a
    unit of another file; ``shown``: the names by module."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for module, names in shown.items():
        scope = scopes.module(module)
        assert scope is not None
        if scope.located.path != located.path:
            found.setdefault(scope.located.path, {})[module] = names
    return {
        path: unparse(with_public_names(tree.file(path), own)).encode("latin-1")
        for path, own in found.items()
    }


def _listing(unit: Unit, names: tuple[str, ...], file: File) -> Unit:
    before = last_declaration(unit)
    entities = tuple(Entity(name, name, None) for name in names)
    what = None if before is None else before.what
    if before is not None and isinstance(what, Decl) and any(_TEXT in e.text for e in before.lead):
        longer = replace(what, entities=(*what.entities, *entities))
        listed = replace(before, what=longer, body=None)
        spec = tuple(listed if node is before else node for node in unit.spec)
        return replace(unit, spec=spec)
    make = Maker(column_of(unit, file.form), 2, file.form is Form.FREE, file.eol)
    made = make.leaf(Decl("public", entities=entities), f"asphalt: {_TEXT}")
    return insert_behind(unit, before, (made,))
