"""Data objects by their designator: a variable, or a component of a structure (``plan%send``).

A component is an object of its own only if its designator always denotes the same object: the
structure is one declared scalar, every component before the last is a scalar, and none is a
pointer.  All others belong to the storage that pointers may reach (``memory.storage.storage_of``).
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.names.derived_types import (
    ComponentDeclaration,
    component_declarations,
    without_parents,
)
from asphalt.analysis.names.scopes import Scope, Symbol
from asphalt.ir.expr import Arg, Component, Ref, Unstructured, children
from asphalt.ir.records import record
from asphalt.ir.stmt import Dim


@record
class DataObject:
    """A variable or a component of one.

    ``name``: folded, ``plan%send`` for a component; ``root``: the variable that it is part of;
    ``symbol``: type, dimensions and attributes of the object itself, with those attributes of the
    root that matter to its parts, too.
    """

    name: str
    root: str
    path: tuple[str, ...]
    symbol: Symbol


def object_named(name: str, scope: Scope) -> DataObject | None:
    """The object that a folded designator without subscripts names; None: it is not known."""
    root, *path = name.split("%")
    symbol = scope.lookup(root)
    if symbol is None or not symbol.origin.is_variable:
        return None
    if not path:
        return DataObject(root, root, (), symbol)
    if symbol.dims is not None or symbol.attrs & {"procedure", "external", "pointer"}:
        return None
    declared = component_declarations(symbol, tuple(path))
    if declared is None:
        return None
    for declaration in declared[:-1]:
        if declaration.dims is not None or "pointer" in declaration.decl.attrs:
            return None
    last = declared[-1]
    if last.entity.length is not None:
        return None
    attrs = frozenset(last.decl.attrs) | (
        symbol.attrs & {"target", "volatile", "asynchronous", "save"}
    )
    dims = last.dims
    if dims is not None and attrs & {"allocatable", "pointer"}:
        dims = tuple(_deferred(dim) for dim in dims)
    part = replace(
        symbol,
        name=name,
        spelled=name,
        type=last.decl.type,
        dims=dims,
        attrs=attrs,
        initial=None,
        home=last.home,
    )
    return DataObject(name, root, tuple(path), part)


def _deferred(dim: Dim) -> Dim:
    return replace(dim, kind="deferred") if dim.kind == "assumed_shape" else dim


def designator_name(expr: Arg) -> str | None:
    """The folded designator of a reference, without the subscripts of its last part; None: it has
    subscripts before that, or is no designator."""
    match expr:
        case Ref(name=name):
            return name
        case Component(base=Ref(args=None) | Component(args=None) as base, name=name):
            before = designator_name(base)
            return None if before is None else f"{before}%{name}"
    return None


def own_designator(expr: Arg, scope: Scope) -> str | None:
    """The same designator without parent components, so that a component of an extended type has
    one; of a parent component, it is that of the object of which this is a part."""
    name = designator_name(expr)
    if name is None or "%" not in name:
        return name
    root, *path = name.split("%")
    symbol = scope.lookup(root)
    return name if symbol is None else "%".join((root, *without_parents(symbol, tuple(path))))


def designators_in(expr: Arg) -> frozenset[str]:
    """The folded designators of all references in an expression (``plan%send``), up to the part
    that has subscripts, if it is not the last."""
    found: set[str] = set()
    _designators(expr, found)
    return frozenset(found)


def _designators(expr: Arg, found: set[str]) -> None:
    match expr:
        case Component(base=base, args=args):
            name = designator_name(expr)
            if name is None:
                _designators(base, found)
            else:
                found.add(name)
            for arg in args or ():
                _designators(arg, found)
        case Ref(name=name, args=args):
            found.add(name)
            for arg in args or ():
                _designators(arg, found)
        case _:
            if isinstance(expr, Unstructured):
                found |= expr.names
            for part in children(expr):
                _designators(part, found)


def spelled_designator(expr: Ref | Component) -> str:
    """The designator as spelled, without subscripts."""
    match expr:
        case Component(base=Ref() | Component() as base, spelled=spelled):
            return f"{spelled_designator(base)}%{spelled}"
    return expr.spelled


def designator(name: str) -> Ref | Component:
    """The expression for a folded designator."""
    root, *path = name.split("%")
    result: Ref | Component = Ref(root, root)
    for part in path:
        result = Component(result, part, part)
    return result


def way_to(component: Component) -> tuple[Arg, tuple[Component, ...]]:
    """The variable that a component is part of, and the components on the way to it, which is the
    last."""
    way = [component]
    while isinstance(way[0].base, Component):
        way.insert(0, way[0].base)
    return way[0].base, tuple(way)


def declarations_on_the_way(
    component: Component, scope: Scope
) -> tuple[ComponentDeclaration, ...] | None:
    """The declaration of each component on the way to one, whatever subscripts stand there; None:
    they are not known."""
    root, way = way_to(component)
    symbol = scope.lookup(root.name) if isinstance(root, Ref) else None
    path = tuple(part.name for part in way)
    return None if symbol is None else component_declarations(symbol, path)


def may_be_resized(designator: Ref | Component, scope: Scope) -> bool:
    """Whether an assignment to an object, or to what it is part of, may give it another size, or
    length (F2018 10.2.1.3)."""
    if isinstance(designator, Ref):
        symbol = scope.lookup(designator.name)
        return symbol is None or "allocatable" in symbol.attrs
    declared = declarations_on_the_way(designator, scope)
    root, _ = way_to(designator)
    if declared is None or (isinstance(root, Ref) and may_be_resized(root, scope)):
        return True
    return any("allocatable" in declaration.decl.attrs for declaration in declared)


def may_be_function(component: Component, scope: Scope) -> bool:
    """Whether a component with a list may be a reference of a function: one that is bound to the
    type, or that a procedure pointer leads to."""
    if component.args is None:
        return False
    declared = declarations_on_the_way(component, scope)
    if declared is None:
        return True
    last = declared[-1]
    text = last.decl.type is not None and last.decl.type.base == "character"
    return last.dims is None and not text


def symbol_named(name: str, scope: Scope) -> Symbol | None:
    """``scope.lookup`` for designators, too."""
    if "%" not in name:
        return scope.lookup(name)
    found = object_named(name, scope)
    return None if found is None else found.symbol
