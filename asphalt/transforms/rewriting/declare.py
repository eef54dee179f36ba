"""Declarations for an exchange: variables, the header with K and D, the run-time library."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from asphalt.analysis.names.references import names_with_kinds
from asphalt.config.limits import HEADER
from asphalt.config.runtime import offering, runtime_modules
from asphalt.ir.expr import Arg, Keyword, TypeSpec
from asphalt.ir.insertion import last_declaration, last_use
from asphalt.ir.source import Form
from asphalt.ir.stmt import (
    Allocation,
    ArmHead,
    Assign,
    Call,
    Decl,
    Dim,
    DoHead,
    Entity,
    Guarded,
    Include,
    Use,
    UseItem,
    What,
)
from asphalt.ir.tree import Leaf, Node, Unit, leaves
from asphalt.transforms.rewriting.make import Maker

_ARRAYS = tuple(
    f"asphalt_{side}_{what}" for side in ("send", "receive") for what in ("counts", "displs")
)
"""Allocatable arrays of integers."""

_EXCHANGES = {
    "asphalt_x": "asphalt_exchange_t",
    "asphalt_s": "asphalt_strided_t",
    "asphalt_v": "asphalt_uneven_t",
    "asphalt_p": "asphalt_packed_t",
}
"""Variables that hold an exchange, and their types."""


def declare(unit: Unit, sites: tuple[str, ...], form: Form, eol: str) -> Unit:
    """The unit with the declarations that its new statements need.

    ``sites`` are the names of the sites that were transformed in the unit.
    """
    used = _used_names(unit.body)
    typed = {name: kind for name, kind in _EXCHANGES.items() if name in used}
    used |= set(typed.values())
    parameters = {f"asphalt_{kind}_{site}" for site in sites for kind in ("k", "d", "backend")}
    scalars = sorted(used - offering().keys() - parameters - {*_ARRAYS, *_EXCHANGES})
    arrays = tuple(_entity(name, (Dim("assumed_shape"),)) for name in _ARRAYS if name in used)
    make = Maker(column_of(unit, form), 2, form is Form.FREE, eol)
    uses = tuple(
        make.leaf(Use(module, True, tuple(UseItem(name, name) for name in names)))
        for module, names in by_module(used & offering().keys())
    )
    declarations: list[What] = [
        *(
            Decl("type", TypeSpec("type", name=kind), (), None, (_entity(name),))
            for name, kind in typed.items()
        ),
        Include(HEADER),
    ]
    if scalars:
        numbers = tuple(_entity(name) for name in scalars)
        declarations.insert(-1, Decl("type", TypeSpec("integer"), (), None, numbers))
    if arrays:
        declarations.insert(-1, Decl("type", TypeSpec("integer"), ("allocatable",), None, arrays))
    return _insert(unit, uses, tuple(map(make.leaf, declarations)))


def by_module(names: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The modules of the runtime that offer the names, each with its names.

    Where several modules offer a name, it is taken from one that is needed anyway.
    """
    offered = {name: offering()[name] for name in names if name in offering()}
    needed = {modules[0] for modules in offered.values() if len(modules) == 1}
    found: dict[str, list[str]] = {}
    for name, modules in sorted(offered.items()):
        chosen = next((module for module in modules if module in needed), modules[0])
        found.setdefault(chosen, []).append(name)
    for module in runtime_modules():
        if module in found:
            yield module, tuple(found[module])


def _entity(name: str, dims: tuple[Dim, ...] | None = None) -> Entity:
    return Entity(name, name, dims)


def column_of(unit: Unit, form: Form) -> int:
    """The column of the statements of a unit, for ``Maker``."""
    for node in (*unit.spec, *unit.body):
        leaf = next(iter(leaves(node)))
        if leaf.span is not None and not leaf.joined and leaf.label is None:
            column = len(leaf.head.rsplit("\n", 1)[-1].expandtabs(8))
            return column if form is Form.FREE else max(0, column - 6)
    return 0 if form is Form.FIXED else 2


def _insert(unit: Unit, uses: tuple[Leaf, ...], declarations: tuple[Leaf, ...]) -> Unit:
    """Insert USE behind the last USE, declarations behind the last one (F2018 5.3.2)."""
    unit = insert_behind(unit, last_use(unit), uses)
    return insert_behind(unit, last_declaration(unit), declarations)


def insert_behind(unit: Unit, before: Leaf | None, new: tuple[Leaf, ...]) -> Unit:
    """The unit with statements inserted right behind a statement of its specification part (None:
    behind its head), in the same branch of the preprocessor."""
    spec = list(unit.spec)
    position = 0
    if before is not None:
        position = next(i for i, n in enumerate(spec) if before in list(leaves(n))) + 1
    spec[position:position] = new
    return replace(unit, spec=tuple(spec))


def _used_names(nodes: Iterable[Node]) -> set[str]:
    """The names with asphalt's prefix in statements that asphalt made."""
    return {
        name
        for node in nodes
        for leaf in leaves(node)
        if leaf.body is None
        for expr in expressions_of(leaf.what)
        for name in names_with_kinds(expr)
        if name.startswith("asphalt_")
    }


def expressions_of(what: What) -> Iterator[Arg]:
    """The expressions of a statement of a kind that asphalt makes."""
    match what:
        case Assign(target=target, value=value):
            yield from (target, value)
        case Call(procedure=procedure, args=args):
            yield from (procedure, *args)
        case DoHead(var=variable, first=first, last=last, step=step, condition=condition):
            yield from (e for e in (variable, first, last, step, condition) if e is not None)
        case ArmHead(exprs=exprs):
            yield from exprs
        case Guarded(condition=condition, action=action):
            yield condition
            yield from expressions_of(action)
        case Allocation(objects=objects, options=options):
            yield from objects
            yield from (o.value if isinstance(o, Keyword) else o for o in options)
