"""First and last statements of program units, procedures, derived types, interfaces and enums."""

from __future__ import annotations

import re
from dataclasses import replace

from asphalt.frontend.lexical.tokens import Cursor
from asphalt.frontend.statements.bindings import generic_spec
from asphalt.frontend.statements.declarations import TYPE_WORDS, attribute, type_spec
from asphalt.ir.expr import Lit, TypeSpec
from asphalt.ir.stmt import Plain, UnitHead

_PREFIXES = frozenset(("pure", "elemental", "impure", "recursive", "non_recursive", "module"))
PREFIX_WORDS = _PREFIXES | TYPE_WORDS | frozenset(("function", "subroutine"))

_END = re.compile(
    r"end\s*(?:(block\s*data|associate|block|critical|do|enum|forall|function|if|interface|module"
    r"|procedure|program|select|submodule|subroutine|structure|team|type|union|map|where)"
    r"(?:\s*([a-z][\w$]*|(?:operator|assignment|read|write)\s*\(.*\)))?)?",
    re.IGNORECASE | re.ASCII,
)


def end_statement(code: str) -> Plain | None:
    """``enddo``, ``END DO outer`` -> ``Plain('end do')``; None when it is none of them."""
    match = _END.fullmatch(code)
    if match is None:
        return None
    if match[1] is None:
        return Plain("end")
    return Plain("end " + re.sub(r"block\s*data", "block data", match[1].lower()))


def procedure_head(cursor: Cursor) -> UnitHead:
    """``pure real(dp) function f(x) result(y) bind(c)``, ``subroutine s(a, *)``."""
    prefix: list[str] = []
    spec: TypeSpec | None = None
    while cursor.low not in ("function", "subroutine"):
        if cursor.low in _PREFIXES:
            prefix.append(cursor.take().low)
        elif spec is None:
            spec = type_spec(cursor)
        else:
            raise cursor.error("expected function or subroutine")
    kind = cursor.take().low
    name = cursor.name().low
    if spec is not None and cursor.accept("*"):  # the old `real function f*8 (x)`
        spec = replace(spec, kind=Lit("integer", cursor.take().text), star=True)
    args: tuple[str, ...] = ()
    if kind == "function" or cursor.low == "(":
        args = _dummies(cursor)
    result: str | None = None
    while not cursor.at_end:
        if cursor.accept("result", "("):
            result = cursor.name().low
            cursor.expect(")")
        elif cursor.low == "bind":
            prefix.append(attribute(cursor))
        else:
            raise cursor.error("expected result or bind")
    return UnitHead(kind, name, args, tuple(prefix), result, spec)


def _dummies(cursor: Cursor) -> tuple[str, ...]:
    cursor.expect("(")
    if cursor.accept(")"):
        return ()
    names: list[str] = []
    while True:
        names.append("*" if cursor.accept("*") else cursor.name().low)
        if not cursor.accept(","):
            break
    cursor.expect(")")
    return tuple(names)


def program_head(cursor: Cursor) -> UnitHead:
    """``program p``, ``module m``, ``block data [b]``, ``module procedure p``."""
    kind = cursor.take().low
    if kind == "block" or kind == "blockdata":
        if kind == "block":
            cursor.expect("data")
        kind = "block_data"
    elif kind == "module" and cursor.low == "procedure" and cursor.after().kind == "name":
        cursor.take()
        kind = "module_procedure"
    name = "" if kind == "block_data" and cursor.at_end else cursor.name().low
    if kind == "program" and cursor.low == "(":
        cursor.skip_group()  # an old list of files
    cursor.finish()
    return UnitHead(kind, name)


def submodule_head(cursor: Cursor) -> UnitHead:
    """``submodule (ancestor:parent) s``; the prefix is ``parent(ancestor:parent)``."""
    cursor.expect("submodule")
    first = cursor.at
    cursor.skip_group()
    parent = cursor.folded_from(first)
    name = cursor.name().low
    cursor.finish()
    return UnitHead("submodule", name, prefix=(f"parent{parent}",))


def interface_head(cursor: Cursor) -> UnitHead:
    """``interface``, ``interface g``, ``interface operator(+)``, ``abstract interface``."""
    prefix = ("abstract",) if cursor.accept("abstract") else ()
    cursor.expect("interface")
    name = "" if cursor.at_end else generic_spec(cursor)
    cursor.finish()
    return UnitHead("interface", name, prefix=prefix)


def type_head(cursor: Cursor) -> UnitHead:
    """``type, extends(a), public :: t``; the attributes are the prefix."""
    cursor.expect("type")
    prefix: list[str] = []
    while cursor.accept(","):
        prefix.append(attribute(cursor))
    cursor.accept("::")
    name = cursor.name().low
    args = _dummies(cursor) if cursor.low == "(" else ()
    cursor.finish()
    return UnitHead("type", name, args, tuple(prefix))


def enum_head(cursor: Cursor) -> UnitHead:
    """``enum, bind(c)``."""
    cursor.expect("enum")
    cursor.expect(",")
    prefix = (attribute(cursor),)
    cursor.finish()
    return UnitHead("enum", "", prefix=prefix)
