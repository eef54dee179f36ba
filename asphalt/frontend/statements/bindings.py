"""Statements that bring in or bind names: USE, IMPORT, PROCEDURE, GENERIC, FINAL."""

from __future__ import annotations

from asphalt.frontend.lexical.tokens import Cursor
from asphalt.frontend.statements.declarations import TYPE_WORDS, attribute, entity_list, type_spec
from asphalt.ir.expr import TypeSpec
from asphalt.ir.stmt import Decl, Use, UseItem


def is_generic_spec(cursor: Cursor) -> bool:
    """``operator(...)``, ``assignment(=)``, ``read(formatted)`` comes next."""
    return cursor.low in ("operator", "assignment", "read", "write") and cursor.after().low == "("


def generic_spec(cursor: Cursor) -> str:
    """A generic name, or an operator as in ``operator(+)``, folded."""
    first = cursor.at
    special = is_generic_spec(cursor)
    cursor.name()
    if special:
        cursor.skip_group()
    return cursor.folded_from(first)


def import_statement(cursor: Cursor) -> Decl:
    """``import``, ``import :: a``, ``import, only: a``, ``import, none``."""
    cursor.expect("import")
    attrs: tuple[str, ...] = ()
    if cursor.accept(","):
        attrs = (cursor.name().low,)
        cursor.accept(":")
    cursor.accept("::")
    entities = () if cursor.at_end else entity_list(cursor)
    cursor.finish()
    return Decl("import", attrs=attrs, entities=entities)


def use(cursor: Cursor) -> Use:
    """``use [, intrinsic ::] m [, only: a, b => c]``."""
    cursor.expect("use")
    nature = ""
    if cursor.accept(","):
        nature = cursor.name().low
        cursor.expect("::")
    else:
        cursor.accept("::")
    module = cursor.name().low
    only = False
    items: list[UseItem] = []
    if cursor.accept(","):
        only = cursor.accept("only", ":")
        while not cursor.at_end:
            items.append(_use_item(cursor, only))
            if not cursor.accept(","):
                break
    cursor.finish()
    return Use(module, only, tuple(items), nature == "intrinsic")


def _use_item(cursor: Cursor, only: bool) -> UseItem:
    local = generic_spec(cursor)
    if cursor.accept("=>"):
        return UseItem(local, generic_spec(cursor))
    if not only:
        raise cursor.error("expected '=>'")
    return UseItem(local, local)


def procedure(cursor: Cursor) -> Decl:
    """Procedure pointers and components, type-bound procedures, ``module procedure`` lists.

    The interface stands first in ``attrs`` as ``interface(name)``, or in ``type``.  What a binding
    is bound to is the entity's ``initial``.
    """
    attrs: list[str] = []
    if cursor.accept("module"):
        attrs.append("module")
    cursor.expect("procedure")
    spec: TypeSpec | None = None
    if cursor.accept("("):
        if cursor.low in TYPE_WORDS and cursor.low != "type":
            spec = type_spec(cursor)
        elif cursor.low != ")":
            attrs.append(f"interface({cursor.name().low})")
        cursor.expect(")")
    while cursor.accept(","):
        attrs.append(attribute(cursor))
    cursor.accept("::")
    entities = entity_list(cursor)
    cursor.finish()
    return Decl("procedure", spec, tuple(attrs), entities=entities)


def generic(cursor: Cursor) -> Decl:
    """``generic, public :: g => a, b``: the group (g, a and b)."""
    cursor.expect("generic")
    attrs = ["generic"]
    while cursor.accept(","):
        attrs.append(attribute(cursor))
    cursor.expect("::")
    name = generic_spec(cursor)
    cursor.expect("=>")
    entities = entity_list(cursor)
    cursor.finish()
    return Decl("procedure", attrs=tuple(attrs), groups=((name, entities),))


def final(cursor: Cursor) -> Decl:
    """``final :: a, b``."""
    cursor.expect("final")
    cursor.accept("::")
    entities = entity_list(cursor)
    cursor.finish()
    return Decl("procedure", attrs=("final",), entities=entities)
