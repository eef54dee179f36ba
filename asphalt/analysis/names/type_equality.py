"""Types of dummy arguments and of their actual arguments, compared exactly."""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.names.constants import (
    DEFAULT_KINDS,
    Kinds,
    constant,
    type_bytes,
    value_now,
)
from asphalt.analysis.names.derived_types import type_definition
from asphalt.analysis.names.designators import declarations_on_the_way, way_to
from asphalt.analysis.names.mpi_constants import HANDLES, INTEGERS, STATUS
from asphalt.analysis.names.scopes import Origin, Scope, Symbol
from asphalt.ir.expr import AltReturn, Arg, Component, Keyword, Lit, Op, Ref, Section, TypeSpec

TypeKey = tuple[object, ...]
"""Equal for the same type and kind (and length, for characters)."""

_BASES = {"double_precision": "real", "double_complex": "complex"}
_LIKE_ARGUMENTS = frozenset({"abs", "dim", "max", "min", "mod", "modulo", "sign"})
_OF_ITS_ARGUMENT = frozenset({"cos", "exp", "log", "sin", "sqrt", "tan"})
_TO_INTEGER = frozenset({"ceiling", "floor", "int", "nint"})
_REAL_KIND = Ref("kind", "kind", (Lit("real", "0.0"),))
_DOUBLE_KIND = Ref("kind", "kind", (Lit("real", "0d0"),))
_DEFAULT_KIND = Ref("kind", "kind", (Lit("integer", "0"),))
_NUMERIC = ("integer", "real", "complex")


def type_key(spec: TypeSpec | None, home: Scope, kinds: Kinds = DEFAULT_KINDS) -> TypeKey | None:
    """A key that equal declared types have in common; None: not known well enough."""
    if spec is None or spec.base == "class":
        return None
    if spec.base == "type":
        name = (spec.name or "").lower()
        found = type_definition(name, home)
        if found is not None:
            return ("type", id(found[0]))
        symbol = home.lookup(name)
        of_mpi = symbol is not None and symbol.origin is Origin.MPI
        return ("type", symbol.owner, symbol.name) if of_mpi and symbol is not None else None
    size = type_bytes(spec, home, kinds)
    if size is None:
        return None
    kind = constant(spec.kind, home, kinds) if spec.base == "character" and spec.kind else 1
    return (_BASES.get(spec.base, spec.base), size, kind)


def symbol_key(symbol: Symbol, scope: Scope, kinds: Kinds = DEFAULT_KINDS) -> TypeKey | None:
    """The type of a variable."""
    home = symbol.home if isinstance(symbol.home, Scope) else scope
    return type_key(symbol.type, home, kinds)


def expression_key(expr: Arg, scope: Scope, kinds: Kinds = DEFAULT_KINDS) -> TypeKey | None:
    """The type of an expression without references to functions of the user; None: not known."""
    match expr:
        case Lit(kind="integer" | "real" | "logical" as base):
            kind = constant(Ref("kind", "kind", (expr,)), scope, kinds)
            return None if kind is None else (base, kind, 1)
        case Ref(name=name):
            symbol = scope.lookup(name)
            if symbol is not None and symbol.origin is Origin.MPI:
                return _mpi_key(symbol) if expr.args is None else None
            if symbol is not None and symbol.origin is Origin.INTRINSIC:
                return _intrinsic_key(expr, scope, kinds)
            if symbol is None or symbol.type is None:
                return None
            if expr.args is not None and symbol.dims is None:
                return None
            return symbol_key(symbol, scope, kinds)
        case Component(args=args):
            root, _ = way_to(expr)
            symbol = scope.lookup(root.name) if isinstance(root, Ref) else None
            declared = declarations_on_the_way(expr, scope)
            if symbol is None or declared is None:
                return None
            last = declared[-1]
            if (last.dims is None and args is not None) or last.entity.length is not None:
                return None  # a function, or a part of a string
            return symbol_key(replace(symbol, type=last.decl.type, home=last.home), scope, kinds)
        case Op(op="()", operands=(inner,)):
            return expression_key(inner, scope, kinds)
        case Op(op="+" | "-" | ".not." as op, operands=(inner,)):
            # a program may define it for other types (F2018 10.1.5)
            key = expression_key(inner, scope, kinds)
            bases = ("logical",) if op == ".not." else _NUMERIC
            return key if key is not None and key[0] in bases else None
        case Op(op="+" | "-" | "*" | "/" | "**", operands=operands):
            return _converted([expression_key(o, scope, kinds) for o in operands])
    return None


def _mpi_key(symbol: Symbol) -> TypeKey | None:
    """The type of a constant that MPI declares, as a binding gives it (MPI-4.0 section A.1.1)."""
    typed = symbol.owner == "mpi_f08"
    if typed and symbol.name == STATUS:
        return ("type", symbol.owner, "mpi_status")
    if typed and symbol.name in HANDLES:
        return ("type", symbol.owner, HANDLES[symbol.name])
    return ("integer", 4, 1) if symbol.name in HANDLES or symbol.name in INTEGERS else None


def _converted(keys: list[TypeKey | None]) -> TypeKey | None:
    """The type of a numeric operation (F2018 10.1.9.3): that of the operand of higher rank in
    complex, real, integer, with the greater precision of those that are not integers."""
    if not all(key is not None and key[0] in _NUMERIC for key in keys):
        return None
    found = {key for key in keys if key is not None}
    bases = {key[0] for key in found}
    if bases == {"integer"} or len(found) == 1:
        return found.pop() if len(found) == 1 else None
    base = "complex" if "complex" in bases else "real"
    sizes = [int(str(key[1])) // (2 if key[0] == "complex" else 1) for key in found
             if key[0] != "integer"]  # fmt: skip
    return (base, max(sizes) * (2 if base == "complex" else 1), 1)


def _intrinsic_key(reference: Ref, scope: Scope, kinds: Kinds) -> TypeKey | None:
    """The type of a reference to an intrinsic function, as far as it is that of its arguments, the
    default one, or of the kind that it asks for (F2018 16.9)."""
    args = reference.args or ()
    asked = [a.value for a in args if isinstance(a, Keyword) and a.name == "kind"]
    plain = [a for a in args if not (isinstance(a, Keyword) and a.name == "kind")]
    if reference.name in ("real", "int") and len(plain) == 2 and not asked:
        asked = [a for a in plain[1:] if not isinstance(a, Section | Keyword | AltReturn)]
        plain = plain[:1]
    if not plain or any(isinstance(arg, Section | Keyword | AltReturn) for arg in plain):
        return None
    keys = [expression_key(arg, scope, kinds) for arg in plain]
    key = keys[0]
    if key is None or key[0] not in _NUMERIC or any(other != key for other in keys):
        return None
    if asked:
        size = value_now(asked[0], scope, kinds)  # kinds of types are known, whatever sizes are
        known = reference.name in ("real", "int") and size in (1, 2, 4, 8)
        return ("integer" if reference.name == "int" else "real", size, 1) if known else None
    real = key[0] != "complex"
    if reference.name == "dble":
        return ("real", constant(_DOUBLE_KIND, scope, kinds), 1)
    if reference.name == "real" and real:
        return ("real", constant(_REAL_KIND, scope, kinds), 1)
    if reference.name in _LIKE_ARGUMENTS:
        return key if real else None
    if reference.name in _OF_ITS_ARGUMENT and len(plain) == 1:
        return key if key[0] != "integer" else None
    integer = reference.name in _TO_INTEGER and len(plain) == 1 and real
    return ("integer", constant(_DEFAULT_KIND, scope, kinds), 1) if integer else None
