"""Type declarations: type specifiers, attributes, dimensions and declared entities."""

from __future__ import annotations

from asphalt.frontend.lexical.tokens import Cursor, FortranSyntaxError
from asphalt.frontend.statements.expressions import (
    NUMERIC,
    designator,
    expression,
    numeric_spec,
    opaque_from,
    primary,
)
from asphalt.ir.expr import Arg, Expr, Lit, Op, OpaqueExpr, Section, TypeSpec
from asphalt.ir.stmt import Decl, Dim, Entity

TYPE_WORDS = NUMERIC | frozenset(
    ("character", "double", "doubleprecision", "doublecomplex", "type", "class", "byte")
)
_ANY_LENGTH = OpaqueExpr("*", frozenset())
_DEFERRED_LENGTH = Section(None, None, None)


def type_spec(cursor: Cursor) -> TypeSpec:
    """``integer``, ``real(dp)``, ``real*8``, ``character(len=*)``, ``type(t)`` and so on.

    An assumed length ``*`` is an OpaqueExpr, a deferred length ``:`` an empty Section.
    """
    if cursor.low in NUMERIC:
        return numeric_spec(cursor)
    word = cursor.name().low
    if word == "character":
        return _character_spec(cursor)
    if word == "double":
        word += cursor.name().low
    if word == "doubleprecision":
        return TypeSpec("double_precision")
    if word == "doublecomplex":
        return TypeSpec("double_complex")
    if word == "byte":
        return TypeSpec("integer", Lit("integer", "1"), star=True)
    if word in ("type", "class"):
        return _derived_spec(cursor, word)
    raise FortranSyntaxError(f"expected a type, found {word!r}")


def _character_spec(cursor: Cursor) -> TypeSpec:
    if cursor.low == "*":
        spec = TypeSpec("character", length=star_length(cursor), star=True)
        if cursor.low == "," and cursor.after().kind == "name" and _starts_entity_list(cursor):
            cursor.take()  # the old `character*8, a`
        return spec
    if cursor.low != "(":
        return TypeSpec("character")
    cursor.take()
    kind: Expr | None = None
    length: Arg | None = None
    position = 0
    while True:
        if cursor.accept("kind", "="):
            kind = expression(cursor)
        elif cursor.accept("len", "=") or position == 0:
            length = _length_value(cursor)
        else:
            kind = expression(cursor)
        position += 1
        if not cursor.accept(","):
            break
    cursor.expect(")")
    return TypeSpec("character", kind, length=length)


def _starts_entity_list(cursor: Cursor) -> bool:
    """A comma before entities, not before attributes: there is no ``::``."""
    return all(token.low != "::" for token in cursor.tokens[cursor.at :])


def _length_value(cursor: Cursor) -> Arg:
    if cursor.accept("*"):
        return _ANY_LENGTH
    if cursor.accept(":"):
        return _DEFERRED_LENGTH
    return expression(cursor)


def star_length(cursor: Cursor) -> Arg:
    """``*8``, ``*(n)`` or ``*(*)``; the parentheses are no part of the value."""
    cursor.expect("*")
    if cursor.accept("("):
        length = _length_value(cursor)
        cursor.expect(")")
        return length
    token = cursor.take()
    if token.kind != "int":
        raise cursor.error("expected a length")
    return Lit("integer", token.text)


def _derived_spec(cursor: Cursor, base: str) -> TypeSpec:
    cursor.expect("(")
    if cursor.accept("*"):
        cursor.expect(")")
        return TypeSpec(base, name="*")
    after = cursor.after()
    if (base == "type" and cursor.low in TYPE_WORDS and after.low != ")") or cursor.low in NUMERIC:
        spec = type_spec(cursor)  # type(real(8))
    else:
        name = cursor.name()
        spec = TypeSpec(base, name=name.low, spelled=name.text)
        if cursor.low == "(":
            cursor.skip_group()  # the parameters of a parameterised type
    cursor.expect(")")
    return spec


def type_declaration(cursor: Cursor) -> Decl:
    """``real(dp), intent(in) :: a(n), b = 1``."""
    spec = type_spec(cursor)
    attrs: list[str] = []
    dims: tuple[Dim, ...] | None = None
    while cursor.accept(","):
        if cursor.low == "dimension" and cursor.after().low == "(":
            cursor.take()
            dims = dimensions(cursor)
        else:
            attrs.append(attribute(cursor))
    if not cursor.accept("::") and attrs:
        raise cursor.error("expected '::'")
    entities = entity_list(cursor)
    cursor.finish()
    return Decl("type", spec, tuple(attrs), dims, entities)


def attribute(cursor: Cursor) -> str:
    """An attribute, folded, without blanks: ``intent(inout)``, ``bind(c)``."""
    first = cursor.at
    cursor.name()
    if cursor.low in ("(", "["):
        cursor.skip_group()
    return cursor.folded_from(first).replace("in out", "inout")


def entity_list(cursor: Cursor) -> tuple[Entity, ...]:
    """A list of entities with commas between them."""
    entities = [entity(cursor)]
    while cursor.accept(","):
        entities.append(entity(cursor))
    return tuple(entities)


def entity(cursor: Cursor) -> Entity:
    """``a``, ``a(n,0:m)``, ``c*8``, ``a = 1``, ``p => null()`` or the old ``a /1/``."""
    token = cursor.name()
    dims: tuple[Dim, ...] | None = None
    length: Arg | None = None
    initial: Expr | None = None
    points = False
    while cursor.low in ("(", "[", "*"):
        if cursor.low == "(":
            dims = dimensions(cursor)
        elif cursor.low == "[":
            cursor.skip_group()
        else:
            length = star_length(cursor)
    if cursor.accept("=>"):
        points = True
        initial = expression(cursor)
    elif cursor.accept("="):
        initial = expression(cursor)
    elif cursor.low == "/":
        initial = _slash_initial(cursor)
    return Entity(token.low, token.text, dims, length, initial, points)


def _slash_initial(cursor: Cursor) -> Expr:
    """The values of ``integer x /1/``: the value itself where it is one, else its text."""
    cursor.expect("/")
    first = cursor.at
    values = data_values(cursor)
    text = opaque_from(cursor, first)
    cursor.expect("/")
    return values[0] if len(values) == 1 else text


def data_values(cursor: Cursor) -> tuple[Expr, ...]:
    """The values between the slashes of DATA; ``3*0.0`` is the product that it looks like."""
    values = [_data_value(cursor)]
    while cursor.accept(","):
        values.append(_data_value(cursor))
    return tuple(values)


def _data_value(cursor: Cursor) -> Expr:
    value = _data_constant(cursor)
    if cursor.low == "*":
        cursor.take()
        return Op("*", (value, _data_constant(cursor)))
    return value


def _data_constant(cursor: Cursor) -> Expr:
    if cursor.low in ("+", "-"):
        return Op(cursor.take().low, (primary(cursor),))
    return primary(cursor)


def dimensions(cursor: Cursor) -> tuple[Dim, ...]:
    """``(n, 0:m, :, *)``."""
    cursor.expect("(")
    dims = [_dimension(cursor)]
    while cursor.accept(","):
        dims.append(_dimension(cursor))
    cursor.expect(")")
    return tuple(dims)


def _dimension(cursor: Cursor) -> Dim:
    if cursor.accept("*"):
        return Dim("assumed_size")
    if cursor.accept(".."):
        return Dim("assumed_rank")
    if cursor.accept(":"):
        return Dim("assumed_shape")
    bound = expression(cursor)
    if not cursor.accept(":"):
        return Dim("explicit", None, bound)
    if cursor.accept("*"):
        return Dim("assumed_size", bound)
    if cursor.low in (",", ")"):
        return Dim("assumed_shape", bound)
    return Dim("explicit", bound, expression(cursor))


def named_element(cursor: Cursor) -> Entity:
    """An object of EQUIVALENCE; a subscripted one is kept whole in ``initial``."""
    first = cursor.here
    whole = designator(cursor)
    plain = cursor.tokens[cursor.at - 1] is first
    return Entity(first.low, first.text, initial=None if plain else whole)
