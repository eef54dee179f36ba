"""Expressions: tokens to ``Expr``, by precedence (F2018 10.1.2).

The grammar does not say what ``a(i)`` is, nor does this module: array element, section, substring,
function reference and structure constructor are all a ``Ref`` with arguments.  What the IR has no
form for (image selectors, substrings of elements, array constructors of derived or character
type) is an ``OpaqueExpr``.
"""

from __future__ import annotations

from functools import lru_cache

from asphalt.frontend.lexical.tokens import Cursor, FortranSyntaxError
from asphalt.ir.expr import (
    AltReturn,
    Arg,
    ArrayConstructor,
    Component,
    Expr,
    ImpliedDo,
    Keyword,
    Lit,
    Op,
    OpaqueExpr,
    Ref,
    Section,
    TypeSpec,
)

NUMERIC = frozenset(("integer", "real", "complex", "logical"))

_USER, _EQUIVALENCE, _OR, _AND, _NOT, _RELATION, _CONCAT, _SUM, _PRODUCT, _POWER, _PRIMARY = range(
    1, 12
)

# spelling in lower case -> (precedence, operator of the IR)
_BINARY = {
    ".eqv.": (_EQUIVALENCE, ".eqv."),
    ".neqv.": (_EQUIVALENCE, ".neqv."),
    ".xor.": (_EQUIVALENCE, ".neqv."),
    ".or.": (_OR, ".or."),
    ".and.": (_AND, ".and."),
    "==": (_RELATION, "=="),
    ".eq.": (_RELATION, "=="),
    "/=": (_RELATION, "/="),
    ".ne.": (_RELATION, "/="),
    "<": (_RELATION, "<"),
    ".lt.": (_RELATION, "<"),
    "<=": (_RELATION, "<="),
    ".le.": (_RELATION, "<="),
    ">": (_RELATION, ">"),
    ".gt.": (_RELATION, ">"),
    ">=": (_RELATION, ">="),
    ".ge.": (_RELATION, ">="),
    "//": (_CONCAT, "//"),
    "+": (_SUM, "+"),
    "-": (_SUM, "-"),
    "*": (_PRODUCT, "*"),
    "/": (_PRODUCT, "/"),
    "**": (_POWER, "**"),
}

_LITERALS = {
    "int": "integer",
    "real": "real",
    "string": "character",
    "hollerith": "character",
    "boz": "boz",
    "logical": "logical",
}


def expression(cursor: Cursor, least: int = _USER) -> Expr:
    """The longest expression of operators that bind at least as tightly as ``least``.

    Raises FortranSyntaxError.
    """
    left = _operand(cursor, least)
    while True:
        token = cursor.here
        entry = _BINARY.get(token.low)
        if entry is None:
            if token.kind != "dot" or token.low == ".not.":
                return left
            entry = (_USER, token.low)
        precedence, op = entry
        if precedence < least or (token.low == "/" and cursor.after().low == ")"):
            return left  # ``/)`` ends an array constructor
        cursor.take()
        right = expression(cursor, precedence if precedence == _POWER else precedence + 1)
        left = Op(op, (left, right), "" if token.text == op else token.text)


def _operand(cursor: Cursor, least: int) -> Expr:
    """An operand with the unary operators before it."""
    token = cursor.here
    if token.kind == "op" and token.low in "+-":
        cursor.take()
        # A sign covers a whole product; after * or ** (an extension) only what binds tighter.
        return Op(token.low, (expression(cursor, max(_PRODUCT, least)),))
    if token.kind == "dot":
        cursor.take()
        inner = expression(cursor, _NOT if token.low == ".not." else _PRIMARY)
        return Op(token.low, (inner,), "" if token.text == token.low else token.text)
    return primary(cursor)


def primary(cursor: Cursor) -> Expr:
    """A literal, designator, function reference, parenthesis or constructor."""
    token = cursor.here
    kind = token.kind
    if kind == "name":
        return designator(cursor)
    if kind in _LITERALS:
        first = cursor.at
        cursor.take()
        if kind == "string" and cursor.low == "(":
            cursor.skip_group()
            return opaque_from(cursor, first)
        return Lit(_LITERALS[kind], token.text)
    if token.low == "(":
        return _parenthesis(cursor)
    if token.low == "[":
        return _constructor(cursor, ("[",), ("]",))
    if token.low == "%":  # %val(x), %ref(x), %loc(x)
        first = cursor.at
        cursor.take()
        cursor.name()
        cursor.skip_group()
        return opaque_from(cursor, first)
    raise cursor.error("expected an operand")


def _parenthesis(cursor: Cursor) -> Expr:
    """``(expr)``, ``(re, im)`` or ``(/ ... /)``."""
    first = cursor.at
    if cursor.after().low == "/":
        return _constructor(cursor, ("(", "/"), ("/", ")"))
    if cursor.after().low == "//":
        cursor.skip_group()
        return opaque_from(cursor, first)
    cursor.take()
    inner = expression(cursor)
    if cursor.accept(")"):
        return Op("()", (inner,))
    cursor.expect(",")
    other = expression(cursor)
    cursor.expect(")")
    if _is_number(inner) and _is_number(other):
        return Lit("complex", cursor.text_from(first))
    return opaque_from(cursor, first)


def _constructor(cursor: Cursor, opening: tuple[str, ...], closing: tuple[str, ...]) -> Expr:
    """``[1, 2]``, ``(/ real(dp) :: a, (b(i), i = 1, n) /)``; kept as text where the IR has no form
    for it."""
    first = cursor.at
    try:
        cursor.accept(*opening)
        spec = None
        if _has_type(cursor, first):
            spec = numeric_spec(cursor)
            cursor.expect("::")
        values = [] if spec is not None and cursor.accept(*closing) else [_value(cursor)]
        while cursor.accept(","):
            values.append(_value(cursor))
        if values and not cursor.accept(*closing):
            raise cursor.error(f"expected {''.join(closing)!r}")
        return ArrayConstructor(tuple(values), spec, "".join(opening))
    except FortranSyntaxError:
        cursor.at = first
        cursor.skip_group()
        return opaque_from(cursor, first)


def _has_type(cursor: Cursor, first: int) -> bool:
    """Whether ``::`` stands in a constructor, but not in a bracket inside of it."""
    depth = 0
    for token in cursor.tokens[first : cursor.closing(first)]:
        depth += (token.low in ("(", "[")) - (token.low in (")", "]"))
        if token.low == "::" and depth == 1:
            return True
    return False


def _value(cursor: Cursor) -> Expr:
    """A value of a constructor; an implied DO is several."""
    if cursor.low != "(" or not is_implied_do(cursor):
        return expression(cursor)
    cursor.take()
    values = [_value(cursor)]
    cursor.expect(",")
    while not (cursor.here.kind == "name" and cursor.after().low == "="):
        values.append(_value(cursor))
        cursor.expect(",")
    token = cursor.name()
    cursor.expect("=")
    first = expression(cursor)
    cursor.expect(",")
    last = expression(cursor)
    step = expression(cursor) if cursor.accept(",") else None
    cursor.expect(")")
    return ImpliedDo(tuple(values), Ref(token.low, token.text), first, last, step)


def is_implied_do(cursor: Cursor) -> bool:
    """The parenthesis that comes next has ``, name =`` directly inside."""
    depth = 0
    for index in range(cursor.at, cursor.closing()):
        token = cursor.tokens[index]
        if token.low in ("(", "["):
            depth += 1
        elif token.low in (")", "]"):
            depth -= 1
        elif token.low == "=" and depth == 1:
            return cursor.tokens[index - 2].low == ","
    return False


def numeric_spec(cursor: Cursor) -> TypeSpec:
    """``integer``, ``real(dp)``, ``complex*16``, ``logical(kind=1)``."""
    base = cursor.name().low
    if base not in NUMERIC:
        raise cursor.error("expected a numeric or logical type")
    if cursor.accept("*"):
        size = cursor.take()
        if size.kind != "int":
            raise cursor.error("expected a number of bytes")
        return TypeSpec(base, Lit("integer", size.text), star=True)
    if cursor.low != "(":
        return TypeSpec(base)
    cursor.take()
    cursor.accept("kind", "=")
    kind = expression(cursor)
    cursor.expect(")")
    return TypeSpec(base, kind)


def _is_number(expr: Expr) -> bool:
    match expr:
        case Lit(kind="integer" | "real"):
            return True
        case Op(op="+" | "-", operands=(Lit(kind="integer" | "real"),)):
            return True
    return False


def designator(cursor: Cursor) -> Expr:
    """``a``, ``a(i)``, ``a%b(i)%c``; an OpaqueExpr with image selectors or a second list."""
    first = cursor.at
    token = cursor.name()
    args = arguments(cursor) if cursor.low == "(" else None
    expr: Expr = Ref(token.low, token.text, args)
    plain = True
    while True:
        low = cursor.low
        if low == "%":
            cursor.take()
            part = cursor.name()
            args = arguments(cursor) if cursor.low == "(" else None
            expr = Component(expr, part.low, part.text, args)
        elif low in ("(", "["):
            cursor.skip_group()
            plain = False
        elif plain:
            return expr
        else:
            return opaque_from(cursor, first)


def opaque_from(cursor: Cursor, first: int) -> OpaqueExpr:
    """The text from token ``first`` up to here."""
    return OpaqueExpr(cursor.text_from(first), cursor.names_from(first))


def arguments(cursor: Cursor) -> tuple[Arg, ...]:
    """``(...)``: subscripts or actual arguments."""
    cursor.expect("(")
    if cursor.accept(")"):
        return ()
    args = [argument(cursor)]
    while cursor.accept(","):
        args.append(argument(cursor))
    cursor.expect(")")
    return tuple(args)


def argument(cursor: Cursor) -> Arg:
    """A subscript, triplet, keyword argument, alternate return or expression."""
    token = cursor.here
    if token.kind == "name" and cursor.after().low == "=":
        cursor.at += 2
        return Keyword(token.low, token.text, expression(cursor))
    if token.low in ("*", "&", "$") and cursor.after().kind == "int":
        cursor.take()
        return AltReturn(cursor.label())
    if token.low in (":", "::"):
        return _triplet(cursor, None)
    value = expression(cursor)
    return _triplet(cursor, value) if cursor.low in (":", "::") else value


def _triplet(cursor: Cursor, lower: Expr | None) -> Section:
    if cursor.accept("::"):
        return Section(lower, None, expression(cursor))
    cursor.expect(":")
    upper = None if cursor.low in (",", ")", ":") else expression(cursor)
    stride = expression(cursor) if cursor.accept(":") else None
    return Section(lower, upper, stride)


@lru_cache(maxsize=4096)
def parse_expression(text: str) -> Expr:
    """The expression that ``text`` is.  Raises FortranSyntaxError."""
    cursor = Cursor(text)
    value = expression(cursor)
    cursor.finish()
    return value
