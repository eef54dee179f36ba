"""Declarations for new statements: names of the run-time modules, and variables.

A step extends the additions of earlier steps: one USE statement for each module, and one
declaration per kind of variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from asphalt.ir.insertion import last_declaration, last_use
from asphalt.ir.source import Form
from asphalt.ir.stmt import Decl, Use, UseItem
from asphalt.ir.tree import Leaf, Node, Unit, leaves, rewrite
from asphalt.transforms.rewriting.declare import by_module, column_of, insert_behind
from asphalt.transforms.rewriting.edit import map_leaves
from asphalt.transforms.rewriting.make import Maker

_PREFIX = "asphalt_"


def added(
    unit: Unit,
    form: Form,
    eol: str,
    runtime: Iterable[str],
    declarations: Iterable[Decl],
) -> Unit:
    """The unit with these names of the run-time modules and these variables, where it has not got
    them."""
    make = Maker(column_of(unit, form), 2, form is Form.FREE, eol)
    for module, names in by_module(runtime):
        unit = _with_names(unit, names, make, module)
    for declaration in declarations:
        unit = _with_variables(unit, declaration, make)
    return unit


def _with_names(unit: Unit, names: Sequence[str], make: Maker, module: str) -> Unit:
    items = tuple(UseItem(name, name) for name in names)
    for node in unit.spec:
        if isinstance(node, Leaf) and isinstance(node.what, Use) and node.what.module == module:
            new = tuple(item for item in items if item not in node.what.items)
            if not new:
                return unit
            longer = replace(node.what, items=(*node.what.items, *new))
            return _rewritten(unit, node, rewrite(node, longer))
    use = make.leaf(Use(module, True, items))
    return insert_behind(unit, last_use(unit), (use,))


def _with_variables(unit: Unit, declaration: Decl, make: Maker) -> Unit:
    for node in unit.spec:
        if (
            isinstance(node, Leaf)
            and isinstance(node.what, Decl)
            and _alike(node.what, declaration)
        ):
            longer = replace(node.what, entities=(*node.what.entities, *declaration.entities))
            return _rewritten(unit, node, rewrite(node, longer))
    return insert_behind(unit, last_declaration(unit), (make.leaf(declaration),))


def _alike(one: Decl, other: Decl) -> bool:
    """Whether two statements declare plain variables of asphalt with the same type."""
    entities = (*one.entities, *other.entities)
    return (
        replace(one, entities=()) == replace(other, entities=())
        and not one.attrs
        and all(e.name.startswith(_PREFIX) and e.dims is None for e in entities)
    )


def _rewritten(unit: Unit, old: Leaf, new: Leaf) -> Unit:
    def change(node: Node) -> Node:
        return map_leaves(node, lambda leaf: new if leaf is old else leaf)

    spec = tuple(change(n) if old in list(leaves(n)) else n for n in unit.spec)
    return replace(unit, spec=spec)
