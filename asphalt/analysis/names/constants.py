"""Integer constant expressions and the size of a type in bytes.

A kind number is taken to be the number of bytes, as gfortran, flang, ifort and nvfortran do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from asphalt.analysis.names.intrinsic_modules import MPI_KINDS
from asphalt.analysis.names.symbol import NameLookup, Origin, Symbol
from asphalt.ir.expr import Arg, Expr, Keyword, Lit, Op, Ref, TypeSpec, walk

_DEPTH = 50  # named constants defined by named constants; deeper than any real program

Kinds = Mapping[str, int]
"""The kind of each intrinsic type where none is given."""


def _kinds(integer: int, real: int, double: int) -> Kinds:
    return {
        "integer": integer,
        "logical": integer,
        "real": real,
        "complex": real,
        "double_precision": double,
        "double_complex": double,
        "character": 1,
    }


DEFAULT_KINDS = _kinds(4, 4, 8)
"""Those of compilers without options."""
OTHER_KINDS = tuple(
    _kinds(integer, real, double)
    for integer in (4, 8)
    for real, double in ((4, 8), (8, 8), (8, 16))
    if (integer, real) != (4, 4)
)
"""What options make of them: ``-fdefault-integer-8`` or ``-i8``, ``-fdefault-real-8``, that with
``-fdefault-double-8`` or ``-r8``."""
# Decimal digits and decimal exponent range of the real kinds (IEEE binary32, 64, x87, binary128).
_REAL_KINDS = ((6, 37, 4), (15, 307, 8), (18, 4931, 10), (33, 4931, 16))
_INTEGER_KINDS = ((2, 1), (4, 2), (9, 4), (18, 8), (38, 16))


def constant(expr: Arg | None, scope: NameLookup, kinds: Kinds = DEFAULT_KINDS) -> int | None:
    """The value of an integer constant expression in ``scope``; None: not known.

    In a scope for any sizes, the named constants of the program have no known value, except those
    that the run asks for; kinds of types do (``type_bytes``).
    """
    if expr is None:
        return None
    if scope.any_sizes and any(is_open(part, scope) for part in walk(expr)):
        return None
    return _value(expr, scope, _DEPTH, kinds)


def value_now(expr: Arg, scope: NameLookup, kinds: Kinds = DEFAULT_KINDS) -> int | None:
    """The value of an integer constant expression with the program's present sizes: for estimates,
    not for proofs."""
    return _value(expr, scope, _DEPTH, kinds)


def is_size(part: Arg, scope: NameLookup) -> bool:
    """Whether ``part`` is a named integer constant of the program (not of an intrinsic module)."""
    if not isinstance(part, Ref) or part.args is not None:
        return False
    symbol = scope.lookup(part.name)
    return (
        symbol is not None
        and symbol.origin is Origin.PARAMETER
        and symbol.home is not None
        and symbol.dims is None
        and (symbol.type is None or symbol.type.base == "integer")
    )


def is_open(part: Arg, scope: NameLookup) -> bool:
    """Whether ``part`` is a named constant that may have any value."""
    if not scope.any_sizes or not isinstance(part, Ref) or not is_size(part, scope):
        return False
    symbol = scope.lookup(part.name)
    if symbol is None or not scope.asked:
        return True
    return symbol.text not in scope.asked and symbol.identity not in scope.asked


def element_bytes(symbol: Symbol, scope: NameLookup) -> int | None:
    """The storage size of one element of a variable in bytes; None: not known."""
    home = symbol.home or scope
    return type_bytes(symbol.type, home)


def type_bytes(
    spec: TypeSpec | None, scope: NameLookup, kinds: Kinds = DEFAULT_KINDS
) -> int | None:
    """The storage size of a scalar of an intrinsic type in bytes; None: not known."""
    if spec is None or spec.base not in kinds:
        return None
    kind = _type_kind(spec, scope, _DEPTH, kinds)
    if kind is None:
        return None
    if spec.base == "character":
        length = 1 if spec.length is None else constant(spec.length, scope, kinds)
        return None if length is None else max(0, length) * kind
    if spec.base == "real":
        return 16 if kind == 10 else kind
    if spec.base in ("complex", "double_complex"):
        return 2 * (16 if kind == 10 else kind)
    return kind


def _type_kind(spec: TypeSpec, scope: NameLookup, depth: int, kinds: Kinds) -> int | None:
    if spec.kind is None:
        return kinds.get(spec.base)
    kind = _value(spec.kind, scope, depth, kinds)
    if kind is not None and spec.star and spec.base in ("complex", "double_complex"):
        return kind // 2
    return kind


def _value(expr: Arg | None, scope: NameLookup, depth: int, kinds: Kinds) -> int | None:
    if depth == 0:
        return None
    match expr:
        case Lit(kind="integer"):
            return expr.integer
        case Ref(name=name, args=None):
            return _named(scope.lookup(name), scope, depth, kinds)
        case Ref(name=name, args=args) if args is not None:
            return _function(name, args, scope, depth, kinds)
        case Op(op=op, operands=operands):
            values = [_value(part, scope, depth, kinds) for part in operands]
            known = [value for value in values if value is not None]
            return _operation(op, known) if len(known) == len(values) else None
        case Keyword(value=value):
            return _value(value, scope, depth, kinds)
        case _:
            return None


def _named(symbol: Symbol | None, scope: NameLookup, depth: int, kinds: Kinds) -> int | None:
    if symbol is None:
        return None
    if symbol.origin is Origin.MPI:
        return MPI_KINDS.get(symbol.name)
    if symbol.origin is not Origin.PARAMETER or symbol.dims is not None:
        return None
    if symbol.type is not None and symbol.type.base != "integer":
        return None
    return _value(symbol.initial, symbol.home or scope, depth - 1, kinds)


def _operation(op: str, values: list[int]) -> int | None:
    match op, values:
        case "()", [a]:
            return a
        case "+", [a]:
            return a
        case "-", [a]:
            return -a
        case "+", [a, b]:
            return a + b
        case "-", [a, b]:
            return a - b
        case "*", [a, b]:
            return a * b
        case "/", [a, b] if b != 0:
            return divide(a, b)
        case "**", [a, b] if 0 <= b <= 64:
            return int(a**b)
        case _:
            return None


def divide(a: int, b: int) -> int:
    """Fortran's integer division: towards zero (F2018 10.1.5.2.2)."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _function(
    name: str, args: tuple[Arg, ...], scope: NameLookup, depth: int, kinds: Kinds
) -> int | None:
    symbol = scope.lookup(name)
    if symbol is None or not (symbol.origin is Origin.INTRINSIC or "intrinsic" in symbol.attrs):
        return None
    if name == "kind" and len(args) == 1:
        return _kind(args[0], scope, depth, kinds)
    positions = {"selected_real_kind": ("p", "r", "radix"), "selected_int_kind": ("r",)}
    if name in positions:
        return _selected(name, _bind(args, positions[name]), scope, depth, kinds)
    values = [_value(arg, scope, depth, kinds) for arg in args]
    known = [value for value in values if value is not None]
    if not known or len(known) != len(values):
        return None
    match name, known:
        case (("int" | "abs"), [a]):
            return a if name == "int" else abs(a)
        case (("max" | "min"), _):
            return max(known) if name == "max" else min(known)
        case "mod", [a, b] if b != 0:
            return a - b * divide(a, b)
        case "modulo", [a, b] if b != 0:
            return a % b
        case _:
            return None


def _bind(args: tuple[Arg, ...], names: tuple[str, ...]) -> dict[str, Expr | None]:
    bound: dict[str, Expr | None] = {}
    for position, arg in enumerate(args):
        if isinstance(arg, Keyword):
            bound[arg.name] = arg.value
        elif isinstance(arg, Lit | Ref | Op) and position < len(names):
            bound[names[position]] = arg
        else:
            bound[f"#{position}"] = None
    return bound


def _selected(
    name: str, args: dict[str, Expr | None], scope: NameLookup, depth: int, kinds: Kinds
) -> int | None:
    values = {key: _value(arg, scope, depth, kinds) for key, arg in args.items()}
    if None in values.values() or "radix" in values:
        return None
    wanted = {key: value for key, value in values.items() if value is not None}
    if name == "selected_int_kind":
        fits = [kind for digits, kind in _INTEGER_KINDS if digits >= wanted.get("r", 0)]
    else:
        fits = [
            kind
            for digits, reach, kind in _REAL_KINDS
            if digits >= wanted.get("p", 0) and reach >= wanted.get("r", 0)
        ]
    return fits[0] if fits else None


def _kind(expr: Arg, scope: NameLookup, depth: int, kinds: Kinds) -> int | None:
    match expr:
        case Lit(kind=kind, text=text):
            return _literal_kind(kind, text, scope, depth, kinds)
        case Ref(name=name, args=None):
            symbol = scope.lookup(name)
            if symbol is None or symbol.type is None:
                return None
            return _type_kind(symbol.type, symbol.home or scope, depth - 1, kinds)
        case Op(op="()" | "-" | "+", operands=(operand,)):
            return _kind(operand, scope, depth, kinds)
        case _:
            return None


def _literal_kind(kind: str, text: str, scope: NameLookup, depth: int, kinds: Kinds) -> int | None:
    suffix = re.search(r"_([A-Za-z0-9_]+)$", text) if kind != "character" else None
    if kind == "complex":
        if re.search(r"\d[dD]|\.[dD]", text):
            return kinds["double_precision"]
        return kinds["real"] if "_" not in text else None
    if suffix is not None:
        word = suffix[1].lower()
        return int(word) if word.isdigit() else _value(Ref(word, word), scope, depth - 1, kinds)
    if kind == "real" and "d" in text.lower():
        return kinds["double_precision"]
    return kinds.get(kind)
