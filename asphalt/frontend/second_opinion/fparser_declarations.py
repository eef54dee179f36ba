"""Declarations according to fparser, in the form of the IR."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from asphalt.frontend.second_opinion.fparser_tree import (
    Tree,
    class_of,
    expression,
    optional,
    parts,
)
from asphalt.ir.expr import Arg, Lit, OpaqueExpr, Ref, Section, TypeSpec
from asphalt.ir.stmt import Decl, Dim, Entity, Use, UseItem

Group = tuple[str, tuple[Entity, ...]]


def _type_declaration(node: Tree) -> Decl:
    spec, attributes, entities = node.items
    dims: tuple[Dim, ...] | None = None
    attrs: list[str] = []
    for attribute in parts(attributes):
        if class_of(attribute).startswith("Dimension"):
            dims = _dims(attribute.items[1])
        else:
            attrs.append(str(attribute))
    return Decl("type", _type_spec(spec), tuple(attrs), dims, _entities(entities))


def _type_spec(node: Tree) -> TypeSpec:
    word, selector = node.items
    base = "_".join(word.lower().split())
    if class_of(node) == "Declaration_Type_Spec":
        if class_of(selector) == "Intrinsic_Type_Spec":
            return _type_spec(selector)
        name = selector.items[0] if class_of(selector) == "Derived_Type_Spec" else selector
        return TypeSpec(base, name=str(name).lower())
    if base == "byte":
        return TypeSpec("integer", Lit("integer", "1"), star=True)
    match class_of(selector):
        case "Kind_Selector":
            return TypeSpec(base, expression(selector.items[1]), star=selector.items[0] == "*")
        case "Length_Selector":
            opening, length, *_ = selector.items
            return TypeSpec(base, length=_length(length), star=opening == "*")
        case "Char_Selector":
            length, kind = selector.items
            return TypeSpec(base, optional(kind), length=_length(length))
    return TypeSpec(base)


def _length(node: Tree) -> Arg | None:
    """A character length: an expression, ``*`` or ``:``."""
    if node is None:
        return None
    if class_of(node) == "Char_Length":
        return _length(node.items[1])
    match str(node):
        case "*":
            return OpaqueExpr("*", frozenset())
        case ":":
            return Section(None, None, None)
    return expression(node)


def _entities(nodes: Tree) -> tuple[Entity, ...]:
    return tuple(map(_entity, parts(nodes)))


def _entity(node: Tree) -> Entity:
    name, dims, length, initial = node.items
    return Entity(
        str(name).lower(),
        str(name),
        None if dims is None else _dims(dims),
        _length(length),
        None if initial is None else expression(initial.items[1]),
        initial is not None and initial.items[0] == "=>",
    )


def _named(node: Tree, dims: Tree = None) -> Entity:
    return Entity(str(node).lower(), str(node), None if dims is None else _dims(dims))


def _dims(node: Tree) -> tuple[Dim, ...]:
    if class_of(node) == "Assumed_Size_Spec":
        before, lower = node.items
        return (
            (*_dims(before), Dim("assumed_size", optional(lower)))
            if before
            else (Dim("assumed_size", optional(lower)),)
        )
    return tuple(map(_dim, parts(node)))


def _dim(node: Tree) -> Dim:
    if class_of(node) == "Assumed_Size_Spec":
        return Dim("assumed_size", optional(node.items[1]))
    lower, upper = node.items
    kind = "explicit" if class_of(node) == "Explicit_Shape_Spec" else "assumed_shape"
    return Dim(kind, optional(lower), optional(upper))


def _dimension(node: Tree) -> Decl:
    return Decl("dimension", entities=tuple(_named(*pair) for pair in node.items[0]))


def _common(node: Tree) -> Decl:
    groups = tuple(
        ("" if block is None else str(block).lower(), tuple(map(_in_common, parts(objects))))
        for block, objects in node.items[0]
    )
    return Decl("common", groups=groups)


def _in_common(node: Tree) -> Entity:
    return _named(*node.items) if class_of(node) == "Common_Block_Object" else _named(node)


def _parameter(node: Tree) -> Decl:
    pairs = (definition.items for definition in parts(node.items[1]))
    return Decl("parameter", entities=tuple(_constant(*pair) for pair in pairs))


def _constant(name: Tree, value: Tree) -> Entity:
    return Entity(str(name).lower(), str(name), initial=expression(value))


def _equivalence(node: Tree) -> Decl:
    return Decl("equivalence", groups=tuple(map(_set, parts(node.items[1]))))


def _set(node: Tree) -> Group:
    first, others = node.items
    return "", tuple(map(_storage, (first, *parts(others))))


def _storage(node: Tree) -> Entity:
    value = expression(node)
    if isinstance(value, Ref) and value.args is None:
        return Entity(value.name, value.spelled)
    name = str(node.items[0])
    return Entity(name.lower(), name, initial=value)


def _namelist(node: Tree) -> Decl:
    groups = (
        (str(group).lower(), tuple(map(_named, parts(objects)))) for group, objects in node.items
    )
    return Decl("namelist", groups=tuple(groups))


def _name_list(kind: str) -> Callable[[Tree], Decl]:
    """A statement with a list of names."""

    def convert(node: Tree) -> Decl:
        names = tuple(Entity(_folded(name), str(name)) for name in parts(node.items[-1]))
        return Decl(kind, entities=names)

    return convert


def _folded(node: Tree) -> str:
    return "".join(str(node).lower().split())


def _intent(node: Tree) -> Decl:
    intent, names = node.items
    entities = tuple(map(_named, parts(names)))
    return Decl("intent", attrs=(f"intent({intent})",), entities=entities)


def _shaped_list(kind: str) -> Callable[[Tree], Decl]:
    """A statement with a list of names, with or without shapes."""

    def convert(node: Tree) -> Decl:
        entities = tuple(
            _named(*one.items[:2]) if class_of(one) != "Name" else _named(one)
            for one in parts(node.items[-1])
        )
        return Decl(kind, entities=entities)

    return convert


def _use(node: Tree) -> Use:
    nature, _, module, how, items = node.items
    return Use(
        str(module).lower(),
        "ONLY" in how.upper(),
        tuple(map(_use_item, parts(items))),
        str(nature).lower() == "intrinsic",
    )


def _use_item(node: Tree) -> UseItem:
    if class_of(node) != "Rename":
        return UseItem(_folded(node), _folded(node))
    operator, local, name = node.items
    if operator is None:
        return UseItem(_folded(local), _folded(name))
    return UseItem(f"operator({_folded(local)})", f"operator({_folded(name)})")


DECLARATIONS: MappingProxyType[str, Callable[[Tree], Decl | Use]] = MappingProxyType(
    {
        "Type_Declaration_Stmt": _type_declaration,
        "Dimension_Stmt": _dimension,
        "Common_Stmt": _common,
        "Parameter_Stmt": _parameter,
        "Equivalence_Stmt": _equivalence,
        "Namelist_Stmt": _namelist,
        "Save_Stmt": _name_list("save"),
        "External_Stmt": _name_list("external"),
        "Intrinsic_Stmt": _name_list("intrinsic"),
        "Asynchronous_Stmt": _name_list("asynchronous"),
        "Volatile_Stmt": _name_list("volatile"),
        "Optional_Stmt": _name_list("optional"),
        "Value_Stmt": _name_list("value"),
        "Intent_Stmt": _intent,
        "Target_Stmt": _shaped_list("target"),
        "Pointer_Stmt": _shaped_list("pointer"),
        "Allocatable_Stmt": _shaped_list("allocatable"),
        "Use_Stmt": _use,
    }
)
