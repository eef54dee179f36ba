"""The components of derived types, looked up where the type is defined."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asphalt.analysis.names.scopes import Scope, Symbol
from asphalt.ir.expr import TypeSpec
from asphalt.ir.records import record
from asphalt.ir.stmt import Decl, Dim, Entity, Include, UnitHead
from asphalt.ir.tree import Block, Leaf, Node, leaves

_DEPTH = 8  # modules that give a type on to each other


@record
class ComponentDeclaration:
    """Where a component is declared; ``home``: the scope that its type and bounds are read in.

    The attributes of ``decl`` contain ``private`` also where that is the default of the type.
    """

    decl: Decl
    entity: Entity
    home: Scope

    @property
    def dims(self) -> tuple[Dim, ...] | None:
        """Its dimensions."""
        return self.entity.dims if self.entity.dims is not None else self.decl.dims


def may_be_pointer(symbol: Symbol, path: tuple[str, ...]) -> bool:
    """Whether a component of a variable is, or is reached through, a pointer; True: not known."""
    return _may_have(symbol, path, "pointer")


def may_be_allocatable(symbol: Symbol, path: tuple[str, ...]) -> bool:
    """Whether a component of a variable is allocatable, or part of an allocatable object; True: not
    known."""
    return _may_have(symbol, path, "allocatable")


def may_begin_defined(symbol: Symbol, path: tuple[str, ...]) -> bool:
    """Whether declarations may initialize a variable or a component of it (F2018 8.4, and 7.5.4.6
    for the default initialization of components)."""
    if symbol.initial is not None or "data" in symbol.attrs:
        return True
    declared = component_declarations(symbol, path)
    return declared is None or any(found.entity.initial is not None for found in declared)


def component_type(symbol: Symbol, path: tuple[str, ...]) -> TypeSpec | None:
    """The declared type of a component; None: not known."""
    declared = component_declarations(symbol, path)
    return declared[-1].decl.type if declared else None


def _may_have(symbol: Symbol, path: tuple[str, ...], attribute: str) -> bool:
    declared = component_declarations(symbol, path)
    return declared is None or any(attribute in found.decl.attrs for found in declared)


def component_declarations(
    symbol: Symbol, path: tuple[str, ...]
) -> tuple[ComponentDeclaration, ...] | None:
    """The declarations of all components on the way; None: they are not known."""
    spec, scope = symbol.type, symbol.home
    found: list[ComponentDeclaration] = []
    for name in path:
        if spec is None or spec.name is None or not isinstance(scope, Scope):
            return None
        key = spec.name.lower(), name
        if key not in scope.components:
            scope.components[key] = _found(name, key[0], scope, _DEPTH)
        declared = scope.components[key]
        if declared is None:
            return None
        decl, entity, scope = declared
        found.append(ComponentDeclaration(decl, entity, scope))
        spec = decl.type
    return tuple(found)


def without_parents(symbol: Symbol, path: tuple[str, ...]) -> tuple[str, ...]:
    """The way to a component without parent components (F2018 7.5.7.2): ``g%field%v`` is ``g%v``,
    which an extended type inherits.  It ends in front of what is not declared.

    So two designators of one component are the same; of a parent component, it is the way to the
    object of which that is a part.
    """
    spec, scope = symbol.type, symbol.home
    found: list[str] = []
    for name in path:
        if spec is None or spec.name is None or not isinstance(scope, Scope):
            break
        of = spec.name.lower()
        declared = _found(name, of, scope, _DEPTH)
        parent = _parent(name, of, scope) if declared is None else None
        if declared is not None:
            found.append(name)
            decl, _, scope = declared
            spec = decl.type
        elif parent is not None:
            spec, scope = replace(spec, name=name), parent
        else:
            break
    return tuple(found)


def _parent(name: str, of: str, scope: Scope) -> Scope | None:
    """Where the type ``name`` is visible that a type extends, itself or through others."""
    for _ in range(_DEPTH):
        definition = _definition(of, scope, _DEPTH)
        extended = () if definition is None else _extended(definition[0])
        if definition is None or not extended:
            return None
        (of,), scope = extended, definition[1]
        if of == name:
            return scope
    return None


def _extended(block: Block) -> tuple[str, ...]:
    """The type that a definition extends, if it does."""
    prefix = getattr(block.head.what, "prefix", ())
    return tuple(p[8:-1] for p in prefix if p.startswith("extends("))


def is_derived_type(name: str, scope: Scope) -> bool:
    """Whether a name that is not declared otherwise is that of a derived type of the tree."""
    return scope.lookup(name) is None and _definition(name, scope, _DEPTH) is not None


def _found(name: str, of: str, scope: Scope, depth: int) -> tuple[Decl, Entity, Scope] | None:
    """A component of a type, or of one that it extends, with the scope of its declaration."""
    definition = _definition(of, scope, _DEPTH) if depth else None
    if definition is None:
        return None
    block, home = definition
    declared = _component(block, name)
    if declared is not None:
        return (*declared, home)
    extended = _extended(block)
    if not extended or _is_binding(block, name):
        return None
    return _found(name, extended[0], home, depth - 1)


def has_binding(type_name: str, scope: Scope, name: str) -> bool:
    """Whether a procedure is bound to a type of the tree that is visible in a scope, or to one that
    it extends (F2018 7.5.5)."""
    for _ in range(_DEPTH):
        definition = _definition(type_name, scope, _DEPTH)
        if definition is None:
            return False
        block, scope = definition
        for leaf in leaves(block):
            what = leaf.what
            if isinstance(what, Decl) and what.kind == "procedure":
                generic = [group for group, _ in what.groups]
                if name in generic or any(entity.name == name for entity in what.entities):
                    return True
        extended = _extended(block)
        if not extended:
            return False
        (type_name,) = extended
    return False


def _is_binding(block: Block, name: str) -> bool:
    names = [e.name for leaf in leaves(block) for e in getattr(leaf.what, "entities", ())]
    return name in names


def _component(block: Block, name: str) -> tuple[Decl, Entity] | None:
    private = False
    for leaf in leaves(block):
        what = leaf.what
        private = private or (isinstance(what, Decl) and what.kind == "private")
        for entity in what.entities if isinstance(what, Decl) else ():
            if entity.name == name and isinstance(what, Decl):
                if private and "public" not in what.attrs:
                    what = replace(what, attrs=(*what.attrs, "private"))
                return (what, entity) if what.kind == "type" else None
    return None


def type_definition(name: str, scope: Scope) -> tuple[Block, Scope] | None:
    """The definition of a derived type that is visible in a unit, with the scope it stands in."""
    return _definition(name, scope, _DEPTH)


def _definition(name: str, scope: Scope, depth: int) -> tuple[Block, Scope] | None:
    """The definition of a type with the scope that it stands in."""
    key = name, depth
    if key not in scope.types:
        scope.types[key] = _looked_up(name, scope, depth)
    return scope.types[key]


def _looked_up(name: str, scope: Scope, depth: int) -> tuple[Block, Scope] | None:
    for node in _specification(scope):
        if isinstance(node, Block) and node.kind == "type":
            head = node.head.what
            if isinstance(head, UnitHead) and head.name == name:
                return node, scope
    if depth == 0:
        return None
    for use in scope.declared.uses:
        original = use.original_name(name)
        module = scope.scopes.module(use.module) if original is not None else None
        if module is not None and original is not None and not _hides(module, original):
            found = _definition(original, module, depth - 1)
            if found is not None:
                return found
    host = scope.host
    if host is None or scope.declared.open:  # another of that name may be defined here
        return None
    return _definition(name, host, depth)


def _hides(module: Scope, name: str) -> bool:
    """Whether a module does not make a type accessible to units that use it."""
    for node in _specification(module):
        if isinstance(node, Block) and node.kind == "type":
            head = node.head.what
            if isinstance(head, UnitHead) and head.name == name:
                attributes, _, named = (node.head.body or "").lower().partition("::")
                words = {word.strip() for word in attributes.split(",")} if named else set()
                words |= node.head.cut
                if words & {"private", "public"}:
                    return "private" in words
    return module.hides(name)


def _specification(scope: Scope) -> Iterator[Node]:
    """The declarations of a unit, with those of the files that it includes."""
    for node in scope.unit.spec:
        yield node
        what = node.what if isinstance(node, Leaf) else None
        if isinstance(what, Include):
            yield from scope.program.include(scope.located, what.path) or ()
