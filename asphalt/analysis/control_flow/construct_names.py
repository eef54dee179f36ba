"""Names that ASSOCIATE, SELECT TYPE and BLOCK constructs bind.

The analysis sees a statement inside of such a construct with these names replaced by unique ones:
``t@12`` is the ``t`` of the construct whose head is point 12.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from asphalt.analysis.control_flow.graph import ControlFlow, is_executed
from asphalt.ir.expr import Component, Expr, Keyword, OpaqueExpr, Ref, root_name
from asphalt.ir.records import record
from asphalt.ir.stmt import ArmHead, Decl, Opaque, Plain, What
from asphalt.ir.tree import Block, Branch, Leaf, Node

MARK = "@"
_HARMLESS = frozenset({"type", "dimension", "intent", "optional", "contiguous"})
_SHARED = frozenset({"pointer", "target", "external", "procedure", "volatile", "asynchronous"})


@record
class ConstructNames:
    """The names that the constructs around a statement bind.

    ``names``: the replacement of each bound name.  ``stands_for``: for a replacement that is
    another name of (a part of) a variable, the name of the variable, itself replaced if an outer
    construct binds it.  ``clear`` is False if a construct declares entities that are not followed
    (pointers, modules).
    """

    names: Mapping[str, str]
    stands_for: Mapping[str, str]
    clear: bool = True


NOTHING = ConstructNames({}, {})


def bound_by(node: Node, graph: ControlFlow, outer: ConstructNames) -> ConstructNames:
    """The names inside a construct, given those outside."""
    match node:
        case Branch(kind="select", arms=arms):
            head = arms[0].head
        case Block(kind="associate" | "block", head=leaf):
            head = leaf
        case _:
            return outer
    names, stands_for = dict(outer.names), dict(outer.stands_for)
    points = graph.of(head)
    number = points[0] if points else 0
    what = head.what
    if not isinstance(what, ArmHead):
        return replace(outer, clear=False)
    for part in what.exprs:
        if isinstance(part, Keyword):
            name = f"{part.name}{MARK}{number}"
            names[part.name] = name
            root = _variable(part.value)
            if root is not None:
                stands_for[name] = outer.names.get(root, root)
    clear = outer.clear
    if isinstance(node, Block) and node.kind == "block":
        declared = [child for child in node.body if isinstance(child, Leaf)]
        for leaf in declared:
            match leaf.what:
                case Decl(kind=kind, attrs=attrs, entities=entities):
                    saved = "save" in attrs or any(e.initial is not None for e in entities)
                    clear = clear and kind in _HARMLESS and not _SHARED & set(attrs) and not saved
                    for entity in entities:
                        names[entity.name] = f"{entity.name}{MARK}{number}"
                        stands_for.pop(names[entity.name], None)
                case _ if not _may_stand_in_block(leaf.what):
                    clear = False
        if any(not is_executed(child) for child in node.body):
            clear = False
    return ConstructNames(names, stands_for, clear)


def _variable(selector: Expr) -> str | None:
    """The variable that a selector is, or is a part of; None: a value (or a function's)."""
    return root_name(selector) if isinstance(selector, Ref | Component) else None


def _may_stand_in_block(what: What) -> bool:
    """Whether a statement declares nothing that has to be followed."""
    name = type(what).__name__
    return name not in ("Use", "Include", "Raw", "Opaque", "StatementFunction")


def with_construct_names(what: What, bound: ConstructNames) -> What:
    """The statement with the bound names replaced."""
    if not bound.names or isinstance(what, Plain):
        return what
    changed = _replaced(what, bound.names)
    assert not isinstance(changed, Opaque) or isinstance(what, Opaque)
    return changed  # type: ignore[no-any-return]


def _replaced(value: Any, names: Mapping[str, str]) -> Any:
    match value:
        case Ref(name=name, spelled=spelled, args=args):
            new = names.get(name)
            inner = None if args is None else tuple(_replaced(a, names) for a in args)
            return Ref(new or name, new or spelled, inner)
        case OpaqueExpr(text=text, names=inside):
            return OpaqueExpr(text, frozenset(names.get(name, name) for name in inside))
        case Opaque(names=inside):
            return replace(value, names=frozenset(names.get(name, name) for name in inside))
        case tuple():
            return tuple(_replaced(part, names) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: _replaced(getattr(value, f.name), names) for f in fields(value)}
        return type(value)(**parts)
    return value
