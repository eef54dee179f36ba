"""Specification statements other than type declarations, each to a ``Decl``, ``Use`` or so."""

from __future__ import annotations

from collections.abc import Callable

from asphalt.frontend.lexical.tokens import Cursor
from asphalt.frontend.statements.bindings import (
    final,
    generic,
    generic_spec,
    import_statement,
    is_generic_spec,
    procedure,
    use,
)
from asphalt.frontend.statements.declarations import (
    TYPE_WORDS,
    attribute,
    data_values,
    dimensions,
    entity,
    entity_list,
    named_element,
    type_spec,
)
from asphalt.frontend.statements.expressions import designator, expression
from asphalt.ir.stmt import Decl, Dim, Entity, Use

Group = tuple[str, tuple[Entity, ...]]


def attribute_statement(cursor: Cursor) -> Decl:
    """``save a, /blk/``, ``dimension a(n)``, ``intent(in) :: x``, ``public operator(+)`` ...

    A COMMON block is the entity ``/name/``, a generic operator the entity ``operator(+)``.
    """
    kind = cursor.name().low
    attrs: tuple[str, ...] = ()
    if kind in ("intent", "bind"):
        cursor.at -= 1
        attrs = (attribute(cursor),)
    colons = cursor.accept("::")
    if cursor.at_end and not colons:
        return Decl(kind, attrs=attrs)
    entities = [_attributed(cursor)]
    while cursor.accept(","):
        entities.append(_attributed(cursor))
    cursor.finish()
    return Decl(kind, attrs=attrs, entities=tuple(entities))


def _attributed(cursor: Cursor) -> Entity:
    if cursor.accept("/"):
        block = cursor.name()
        cursor.expect("/")
        return Entity(f"/{block.low}/", f"/{block.text}/")
    if is_generic_spec(cursor):
        spec = generic_spec(cursor)
        return Entity(spec, spec)
    return entity(cursor)


def parameter(cursor: Cursor) -> Decl:
    """``parameter (a = 1, b = 2)``, and the old form without parentheses."""
    cursor.expect("parameter")
    bracketed = cursor.accept("(")
    entities = entity_list(cursor)
    if bracketed:
        cursor.expect(")")
    cursor.finish()
    if any(one.initial is None for one in entities):
        raise cursor.error("a constant without a value")
    return Decl("parameter", entities=entities)


def common(cursor: Cursor) -> Decl:
    """``common /a/ x, y(3) // z``."""
    cursor.expect("common")
    groups: list[Group] = []
    while not cursor.at_end:
        block = ""
        if cursor.accept("//"):
            pass
        elif cursor.accept("/"):
            block = "" if cursor.low == "/" else cursor.name().low
            cursor.expect("/")
        elif groups:
            raise cursor.error("expected a common block")
        groups.append((block, entity_list_of_common(cursor)))
    return Decl("common", groups=tuple(groups))


def entity_list_of_common(cursor: Cursor) -> tuple[Entity, ...]:
    """Names with dimensions up to the next ``/``; a comma may stand before it."""
    entities: list[Entity] = []
    while True:
        token = cursor.name()
        dims = dimensions(cursor) if cursor.low == "(" else None
        entities.append(Entity(token.low, token.text, dims))
        if not cursor.accept(",") or cursor.low in ("/", "//"):
            return tuple(entities)


def equivalence(cursor: Cursor) -> Decl:
    """``equivalence (a, b(1)), (c, d)``; ``b(1)`` is the entity b with ``initial`` b(1)."""
    cursor.expect("equivalence")
    groups: list[Group] = []
    while True:
        cursor.expect("(")
        objects = [named_element(cursor)]
        while cursor.accept(","):
            objects.append(named_element(cursor))
        cursor.expect(")")
        groups.append(("", tuple(objects)))
        if not cursor.accept(","):
            break
    cursor.finish()
    return Decl("equivalence", groups=tuple(groups))


def namelist(cursor: Cursor) -> Decl:
    """``namelist /a/ x, y /b/ z``."""
    cursor.expect("namelist")
    groups: list[Group] = []
    while not cursor.at_end:
        cursor.expect("/")
        name = cursor.name().low
        cursor.expect("/")
        groups.append((name, entity_list_of_common(cursor)))
    return Decl("namelist", groups=tuple(groups))


def data(cursor: Cursor) -> Decl:
    """``data a, (b(i), i = 1, n) /1, 2*0/``: the names that get a value."""
    cursor.expect("data")
    entities: list[Entity] = []
    while True:
        while cursor.low != "/":
            entities.extend(_data_object(cursor))
            if not cursor.accept(",") and cursor.low != "/":
                raise cursor.error("expected '/'")
        cursor.expect("/")
        data_values(cursor)
        cursor.expect("/")
        if cursor.at_end:
            return Decl("data", entities=tuple(entities))
        cursor.accept(",")


def _data_object(cursor: Cursor) -> tuple[Entity, ...]:
    """A variable, or the variables of an implied DO."""
    if not cursor.accept("("):
        token = cursor.here
        designator(cursor)
        return (Entity(token.low, token.text),)
    found: list[Entity] = []
    while not (cursor.here.kind == "name" and cursor.after().low == "="):
        found.extend(_data_object(cursor))
        cursor.expect(",")
    cursor.name()
    cursor.expect("=")
    expression(cursor)
    while cursor.accept(","):
        expression(cursor)
    cursor.expect(")")
    return tuple(found)


def implicit(cursor: Cursor) -> Decl:
    """``implicit none`` or rules such as ``real*8(a-h,o-z)``: one folded text each."""
    cursor.expect("implicit")
    if cursor.accept("none"):
        first = cursor.at
        if cursor.low == "(":
            cursor.skip_group()
        cursor.finish()
        words = cursor.names_from(first)
        typed = ("none",) if "type" in words or "external" not in words else ()
        external = ("none(external)",) if "external" in words else ()
        return Decl("implicit", attrs=(*typed, *external))
    rules: list[str] = []
    while True:
        first = cursor.at
        if cursor.low not in TYPE_WORDS:
            raise cursor.error("expected a type")
        # The last group holds the letters; a group before it is the kind or length.
        letters = cursor.after().low == "(" and cursor.tokens[
            cursor.closing(cursor.at + 1) + 1
        ].low in (",", "")
        if letters:
            cursor.take()
        else:
            type_spec(cursor)
        cursor.skip_group()
        rules.append(cursor.folded_from(first))
        if not cursor.accept(","):
            break
    cursor.finish()
    return Decl("implicit", attrs=tuple(rules))


def pointer(cursor: Cursor) -> Decl:
    """``pointer :: a(:)``, or Cray pointers: ``pointer (p, x(n))`` is the group (p, x)."""
    if cursor.after().low != "(":
        return attribute_statement(cursor)
    cursor.take()
    groups: list[Group] = []
    while True:
        cursor.expect("(")
        name = cursor.name().low
        cursor.expect(",")
        pointee = entity(cursor)
        cursor.expect(")")
        groups.append((name, (pointee,)))
        if not cursor.accept(","):
            break
    cursor.finish()
    return Decl("cray_pointer", groups=tuple(groups))


def enumerator(cursor: Cursor) -> Decl:
    """``enumerator :: a = 1, b``."""
    cursor.expect("enumerator")
    cursor.accept("::")
    entities = entity_list(cursor)
    cursor.finish()
    return Decl("enumerator", entities=entities)


_PLAIN_ATTRIBUTES = (
    "dimension save external intrinsic target allocatable optional intent contiguous asynchronous "
    "volatile value public private protected bind codimension"
)

SPECIFICATION: dict[str, Callable[[Cursor], Decl | Use]] = {
    **dict.fromkeys(_PLAIN_ATTRIBUTES.split(), attribute_statement),
    "parameter": parameter,
    "common": common,
    "equivalence": equivalence,
    "namelist": namelist,
    "data": data,
    "implicit": implicit,
    "pointer": pointer,
    "import": import_statement,
    "enumerator": enumerator,
    "use": use,
    "procedure": procedure,
    "generic": generic,
    "final": final,
}


def declared_dims(decl: Decl) -> dict[str, tuple[Dim, ...] | None]:
    """Every name that a declaration declares, with its dimensions where it gives them."""
    found: dict[str, tuple[Dim, ...] | None] = {}
    if decl.kind in ("type", "dimension", "allocatable", "pointer", "target", "codimension"):
        for one in decl.entities:
            found[one.name] = one.dims or decl.dims
    if decl.kind in ("common", "cray_pointer"):
        for _, entities in decl.groups:
            found.update({one.name: one.dims for one in entities})
    return found
