"""Declarations for new statements: names of the run-time module, and variables.

A step extends the additions of earlier steps: one USE statement, and one declaration per kind of
variable.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from asphalt.analysis.mpi.runtime_module import MODULE, OF_STATUSES, STATUSES
from asphalt.ir.insertion import last_declaration, last_use
from asphalt.ir.source import Form
from asphalt.ir.stmt import Decl, Use, UseItem
from asphalt.ir.tree import Leaf, Node, Unit, leaves, rewrite
from asphalt.transforms.rewriting.declare import column_of, insert_behind
from asphalt.transforms.rewriting.edit import map_leaves
from asphalt.transforms.rewriting.make import Maker

_PREFIX = "asphalt_"


def added(
    unit: Unit,
    form: Form,
    eol: str,
    runtime: Iterable[str],
    declarations: Iterable[Decl],
    *,
    module: str = MODULE,
) -> Unit:
    """The unit with these names of a run-time module (those for statuses of ``mpi_f08`` have one
    of their own) and these variables, where it has not got them."""
    make = Maker(column_of(unit, form), 2, form is Form.FREE, eol)
    names = set(runtime)
    unit = _with_names(unit, sorted(names - OF_STATUSES), make, module)
    unit = _with_names(unit, sorted(names & OF_STATUSES), make, STATUSES)
    for declaration in declarations:
        unit = _with_variables(unit, declaration, make)
    return unit


def _with_names(unit: Unit, names: list[str], make: Maker, module: str) -> Unit:
    items = tuple(UseItem(name, name) for name in names)
    for node in unit.spec:
        if isinstance(node, Leaf) and isinstance(node.what, Use) and node.what.module == module:
            new = tuple(item for item in items if item not in node.what.items)
            if not new:
                return unit
            longer = replace(node.what, items=(*node.what.items, *new))
            return _rewritten(unit, node, rewrite(node, longer))
    use = make.leaf(Use(module, True, items))
    return insert_behind(unit, last_use(unit), (use,)) if names else unit


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
