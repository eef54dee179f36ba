"""The kind of a name where it is used, and its storage."""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.memory.accesses import ALIASED, NameKind
from asphalt.analysis.memory.aliasing import second_name
from asphalt.analysis.mpi.call import is_runtime_function, mpi_function
from asphalt.analysis.names.common_blocks import is_seen_twice
from asphalt.analysis.names.designators import (
    declarations_on_the_way,
    designator,
    designator_name,
    designators_in,
    object_named,
    way_to,
)
from asphalt.analysis.names.intrinsics import is_inquiry, is_intrinsic, is_pure_function
from asphalt.analysis.names.known_library_names import RUNTIME_OF_THREADS
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.ir.expr import (
    Arg,
    Component,
    Expr,
    ImpliedDo,
    Lit,
    OpaqueExpr,
    Ref,
    argument_value,
    children,
)
from asphalt.ir.mapped import mapped


def name_kind(name: str, listed: bool, scope: Scope) -> NameKind:
    """The meaning of a name where a unit uses it.

    A name that a construct associates with something else may be another name of any variable.
    """
    known = scope.kinds.get((name, listed))
    if known is None:
        known = scope.kinds[name, listed] = _name_kind(name, listed, scope)
    assert isinstance(known, NameKind)
    return known


def _name_kind(name: str, listed: bool, scope: Scope) -> NameKind:
    if name in scope.shadowed:
        return NameKind.UNKNOWN
    if listed and is_runtime_function(name, scope):
        return NameKind.PURE_FUNCTION
    symbol = scope.lookup(name)
    if symbol is None:
        if listed and name.startswith(RUNTIME_OF_THREADS):
            return NameKind.PROCEDURE  # declared in lines for OpenMP alone
        # without a list it cannot be a function reference (F2018 15.5.1)
        return NameKind.UNKNOWN if listed else NameKind.VARIABLE
    if "cray_pointer" in symbol.attrs:
        return NameKind.UNKNOWN  # another name of whatever has the address
    if listed and mpi_function(Ref(name, name), scope) is not None:
        return NameKind.PROCEDURE  # MPI_Wtime()
    if symbol.origin in (Origin.PARAMETER, Origin.MPI):
        return NameKind.CONSTANT
    if symbol.origin is Origin.INTRINSIC:
        return _intrinsic_kind(name)
    if not symbol.origin.is_variable or symbol.attrs & {"external", "procedure"}:
        return NameKind.PROCEDURE
    if not listed or symbol.dims is not None:
        return NameKind.VARIABLE
    if symbol.type is not None and symbol.type.base == "character":
        return NameKind.VARIABLE  # a substring
    # a declared type confirms an intrinsic function (F2018 8.2); a dummy hides it
    own = symbol.origin is not Origin.DUMMY and is_intrinsic(name)
    return _intrinsic_kind(name) if own else NameKind.PROCEDURE


def _intrinsic_kind(name: str) -> NameKind:
    if is_inquiry(name):
        return NameKind.INQUIRY
    return NameKind.PURE_FUNCTION if is_pure_function(name) else NameKind.UNKNOWN


def evaluated_designators(expr: Arg, scope: Scope) -> frozenset[str]:
    """The folded designators in an expression (``designators_in``) except those that are only
    arguments of inquiries."""

    def without(ref: Ref) -> Expr | None:
        asked = [argument_value(arg) for arg in ref.args or ()]
        plain = all(isinstance(arg, Lit) or _has_no_subscripts(arg) for arg in asked)
        inquiry = ref.args is not None and name_kind(ref.name, True, scope) is NameKind.INQUIRY
        return Lit("integer", "0") if inquiry and plain else None

    return designators_in(mapped(expr, without))


def _has_no_subscripts(arg: Arg) -> bool:
    match arg:
        case Ref(args=None):
            return True
        case Component(base=base, args=None):
            return _has_no_subscripts(base)
    return False


def storage_of(name: str, scope: Scope) -> str:
    """The storage of a name: ``module::name`` for module variables, ``ALIASED`` for what may have a
    second name, else the folded name.

    A component has the storage of its structure, with the components (``plan%send``).
    """
    if "%" in name:
        found = object_named(name, scope)
        if found is None or "pointer" in found.symbol.attrs:
            return ALIASED
        root = storage_of(found.root, scope)
        return root if root == ALIASED else "%".join((root, *found.path))
    symbol = scope.lookup(name)
    if symbol is None:
        return name
    if symbol.equivalenced:
        return ALIASED
    if symbol.common_block is not None and is_seen_twice(symbol.common_block, scope):
        return ALIASED
    if symbol.attrs & {"pointer", "target"} and not second_name(name, scope).no:
        return ALIASED
    if symbol.origin is Origin.MODULE:
        return f"{symbol.owner}::{symbol.name}"
    return name


def is_behind_pointer(expr: Arg | None, scope: Scope) -> bool:
    """Whether an expression is a component, no pointer itself, of one structure that a pointer
    points to, so that its storage is ``ALIASED``."""
    declared = declarations_on_the_way(expr, scope) if isinstance(expr, Component) else None
    if declared is None or not isinstance(expr, Component):
        return False
    root, way = way_to(expr)
    symbol = scope.lookup(root.name) if isinstance(root, Ref) else None
    if symbol is None or not symbol.origin.is_variable or symbol.attrs & {"procedure", "external"}:
        return False
    shapes = [symbol.dims, *(one.dims for one in declared[:-1])]
    parts = [root, *way[:-1]]
    attributes = [symbol.attrs, *(frozenset(one.decl.attrs) for one in declared)]
    return (
        all(shape is None for shape in shapes)
        and all(isinstance(part, Ref | Component) and part.args is None for part in parts)
        and any("pointer" in own for own in attributes[:-1])
        and "pointer" not in attributes[-1]
    )


def target_named(name: str, scope: Scope) -> str | None:
    """What tells a variable with TARGET from every other one that is named directly: the module and
    its name there, or its folded name in the unit; None: it may share its storage with another.

    Pointers may reach all of them.  But two variables share storage only by EQUIVALENCE, COMMON, a
    binding label, or as dummy arguments (F2018 19.5.3.1, 19.5.1.2); an allocation has one variable
    at a time.
    """
    symbol = scope.lookup(name)
    if symbol is None or "target" not in symbol.attrs or symbol.attrs & _SHARED:
        return None
    if symbol.equivalenced or symbol.common_block is not None or name in scope.shadowed:
        return None
    if symbol.origin is Origin.MODULE:
        return f"{symbol.owner}::{symbol.name}"
    return name if symbol.origin in (Origin.LOCAL, Origin.HOST) else None


_SHARED = frozenset({"pointer", "volatile", "dummy", "result", "bind", "cray_pointer"})
"""Attributes with which a target may be another variable, too."""


def target_of(part: Ref | Component, scope: Scope) -> str | None:
    """``target_named`` for the variable of which a data object is a part, with the components on
    the way to it (``fields::old%u``); None also where a pointer leads to the object."""
    if isinstance(part, Ref):
        return target_named(part.name, scope)
    root, way = way_to(part)
    declared = declarations_on_the_way(part, scope)
    if not isinstance(root, Ref) or declared is None:
        return None
    if any("pointer" in declaration.decl.attrs for declaration in declared):
        return None
    target = target_named(root.name, scope)
    return None if target is None else "%".join((target, *(one.name for one in way)))


def storage_with_target(name: str, scope: Scope) -> str:
    """``storage_of``; of a target that is named directly, or a part of one, with what tells it from
    others: ``(aliased)%fields::old``."""
    storage = storage_of(name, scope)
    if storage != ALIASED:
        return storage
    target = target_of(designator(name), scope)
    return storage if target is None else f"{storage}%{target}"


def pointer_component(component: Component, scope: Scope) -> tuple[str, str] | None:
    """The designator of a pointer component to which only its own structure leads, and the storage
    of the pointer.

    None: it is not a pointer, or may be another one.
    """
    name = designator_name(component)
    found = None if name is None or "%" not in name else object_named(name, scope)
    if name is None or found is None or "pointer" not in found.symbol.attrs:
        return None
    if component.args is not None and found.symbol.dims is None:
        return None
    root = storage_of(found.root, scope)
    return None if root == ALIASED else (name, "%".join((root, *found.path)))


def component_storage(component: Component, scope: Scope) -> str | None:
    """The storage of a component that has no other name, with its path; None: it may have one."""
    name = designator_name(component)
    found = None if name is None else object_named(name, scope)
    if name is None or found is None or found.root in scope.shadowed:
        return None
    if component.args is not None and found.symbol.dims is None:
        return None
    storage = storage_of(name, scope)
    return None if storage == ALIASED else storage


def part_storage(component: Component, scope: Scope) -> str | None:
    """The storage of a component of some element, with its path (``tiles%field`` for
    ``tiles(1)%field``); None: it may have another name.

    Without pointers on the way, it is a part of the variable alone, and components of different
    names are different storage.
    """
    root, way = way_to(component)
    symbol = scope.lookup(root.name) if isinstance(root, Ref) else None
    declared = declarations_on_the_way(component, scope)
    if not isinstance(root, Ref) or symbol is None or declared is None:
        return None
    if root.name in scope.shadowed or not symbol.origin.is_variable:
        return None
    if symbol.attrs & {"procedure", "external", "pointer"}:
        return None
    if any("pointer" in declaration.decl.attrs for declaration in declared):
        return None
    storage = storage_of(root.name, scope)
    return None if storage == ALIASED else "%".join((storage, *(part.name for part in way)))


def named_storages(expr: Arg, scope: Scope) -> Iterator[str | None]:
    """The storage of each variable, or component of some element (``part_storage``), that an
    expression names, be it for its value or for its shape; None: it may be another one."""
    match expr:
        case Component():
            yield part_storage(expr, scope)
        case Ref(name=name):
            yield storage_of(name, scope)
        case OpaqueExpr(names=names) | ImpliedDo(names=names):
            yield from (storage_of(name, scope) for name in sorted(names))
    for part in _arguments(expr):
        yield from named_storages(part, scope)


def _arguments(expr: Arg) -> Iterator[Arg]:
    """The parts of an expression that are evaluated for themselves: of a designator its
    subscripts."""
    if isinstance(expr, Component):
        root, way = way_to(expr)
        for part in (*way, root):
            yield from (part.args or ()) if isinstance(part, Ref | Component) else ()
    elif isinstance(expr, Ref):
        yield from expr.args or ()
    else:
        yield from children(expr)


def evaluated_storages(expr: Arg, scope: Scope) -> Iterator[str | None]:
    """The storage of each variable, or component of some element (``part_storage``), that an
    expression evaluates; None: it may be another one.

    Of the argument of an inquiry, only the subscripts are evaluated.
    """
    match expr:
        case Component():
            yield part_storage(expr, scope)
            for arg in _arguments(expr):
                yield from evaluated_storages(arg, scope)
        case Ref(name=name, args=args):
            kind = name_kind(name, args is not None, scope)
            if kind is NameKind.VARIABLE:
                yield storage_of(name, scope)
            elif kind is NameKind.UNKNOWN:
                yield None
            for arg in args or ():
                found = evaluated_storages(arg, scope)
                if kind is NameKind.INQUIRY and isinstance(argument_value(arg), Ref | Component):
                    next(found, None)
                yield from found
        case OpaqueExpr(names=names) | ImpliedDo(names=names):
            yield from (storage_of(name, scope) for name in sorted(names))
        case _:
            for part in _arguments(expr):
                yield from evaluated_storages(part, scope)
