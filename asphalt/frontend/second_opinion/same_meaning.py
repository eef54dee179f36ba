"""Whether two parsers found the same meaning.

Spelling does not count: neither case, nor blanks, nor the form of an operator.  If one of them has
no form for an expression, the names in it are compared.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeGuard, get_args

from asphalt.ir.expr import (
    AltReturn,
    Arg,
    Component,
    Expr,
    ImpliedDo,
    Keyword,
    Lit,
    OpaqueExpr,
    Ref,
    Section,
    walk,
)
from asphalt.ir.stmt import IO, Guarded, What

_EXPRESSIONS = (*get_args(Expr), Section, Keyword, AltReturn)
_SPELLING = frozenset(("bracket", "spelled"))
_OF_A_KIND = string.ascii_letters + string.digits + "_"
_WORD = re.compile(r"[a-z][\w$]*", re.ASCII)
_LITERAL = re.compile(r"'[^']*'|\"[^\"]*\"|\d[\w.]*|\.[a-z]+\.")


def same_statement(ours: What, theirs: What) -> bool:
    """Whether two statements mean the same; ``theirs`` has no names resolved by declarations."""
    match ours, theirs:
        case Guarded(), Guarded():
            return (
                ours.kind == theirs.kind
                and same(ours.condition, theirs.condition)
                and same_statement(ours.action, theirs.action)
            )
        case IO(), IO():
            return (
                ours.kind == theirs.kind
                and sorted(ours.labels) == sorted(theirs.labels)
                and _explained(ours.reads, _without_groups(theirs, ours))
                and _explained(ours.writes, theirs.writes)
            )
    return same(ours, theirs)


def same(ours: object, theirs: object) -> bool:
    """Whether two parts of statements mean the same."""
    if isinstance(ours, OpaqueExpr) or isinstance(theirs, OpaqueExpr):
        return _same_names(ours, theirs)
    if isinstance(ours, Lit) and isinstance(theirs, Lit):
        return ours.kind == theirs.kind and _text(ours) == _text(theirs)
    if isinstance(ours, str) and isinstance(theirs, str):
        return _folded(ours) == _folded(theirs)
    if isinstance(ours, tuple) and isinstance(theirs, tuple):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if is_dataclass(ours) and type(ours) is type(theirs):
        names = (field.name for field in fields(ours) if field.name not in _SPELLING)
        return all(same(getattr(ours, name), getattr(theirs, name)) for name in names)
    return ours == theirs


def _folded(text: str) -> str:
    return "".join(text.lower().split())


def _text(literal: Lit) -> str:
    if literal.kind != "character":
        return _folded(literal.text)
    kind = literal.text[: len(literal.text) - len(literal.text.lstrip(_OF_A_KIND))]
    return kind.lower() + literal.text[len(kind) :]


def _same_names(ours: Any, theirs: Any) -> bool:
    """Whether each name that one of them finds is at least a word to the other."""
    if not (isinstance(ours, _EXPRESSIONS) and isinstance(theirs, _EXPRESSIONS)):
        return False
    return _names(ours) <= _words(theirs) and _names(theirs) <= _words(ours)


def _names(expr: Arg) -> frozenset[str]:
    found: set[str] = set()
    for part in walk(expr):
        match part:
            case Ref(name=name) | Component(name=name) | Keyword(name=name):
                found.add(name)
            case OpaqueExpr(names=names):
                found |= names
            case ImpliedDo():
                found.add(part.variable.name)
                found.update(*map(_names, (*part.values, *part.bounds)))
    return frozenset(found)


def _words(expr: Arg) -> frozenset[str]:
    """All names, and all words of what is kept as text (the keywords of a type, say)."""
    found = set(_names(expr))
    for part in walk(expr):
        if isinstance(part, OpaqueExpr):
            found.update(_WORD.findall(_LITERAL.sub(" ", part.text.lower())))
    return frozenset(found)


def _without_groups(theirs: IO, ours: IO) -> tuple[Arg, ...]:
    """What they read, without what they mark as a possible namelist and we do not read: the name of
    a group is none of a variable."""
    groups = [a.value for a in (*theirs.reads, *theirs.writes) if _is_group(a)]
    dropped = [group for group in groups if not any(same(arg, group) for arg in ours.reads)]
    return tuple(arg for arg in theirs.reads if arg not in dropped)


def _explained(ours: Sequence[Arg], theirs: Sequence[Arg]) -> bool:
    """Whether our names are theirs, except those that only declarations explain.

    What they mark as a possible namelist or internal unit may be any names in ours.
    """
    marked = [arg for arg in theirs if _is_marked(arg)]
    rest = [arg for arg in ours if not _is_marked(arg)]
    at = 0
    extra = 0
    for arg in theirs:
        if _is_marked(arg):
            continue
        while at < len(rest) and not same(rest[at], arg):
            at += 1
            extra += 1
        if at == len(rest):
            return False
        at += 1
    extra += len(rest) - at
    return extra == 0 or bool(marked)


def _is_group(arg: Arg) -> TypeGuard[Keyword]:
    return isinstance(arg, Keyword) and arg.name == "nml"


def _is_marked(arg: Arg) -> bool:
    return isinstance(arg, Keyword) and arg.name in ("nml", "unit")
