"""Expressions that certainly are of type default integer."""

from __future__ import annotations

from asphalt.analysis.mpi.call import mpi_constant
from asphalt.analysis.names.constants import type_bytes
from asphalt.analysis.names.designators import declarations_on_the_way
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.names.symbol import NameLookup, Origin
from asphalt.ir.expr import Arg, Component, Keyword, Lit, Op, Ref, TypeSpec

# How many arguments may stand before the one that is a kind (F2018 16.9).
_BEFORE_KIND = {
    "ceiling": 1, "count": 2, "floor": 1, "ichar": 1, "index": 3, "int": 1, "lbound": 2, "len": 1,
    "len_trim": 1, "nint": 1, "shape": 1, "size": 2, "ubound": 2
}  # fmt: skip
_BYTES = 4


def is_default_integer(expr: Arg, scope: Scope) -> bool:
    """Whether a count, rank, tag or handle is certainly of type default integer."""
    match expr:
        case Lit():
            return expr.kind == "integer" and "_" not in expr.text
        case Op(operands=operands):
            return all(is_default_integer(operand, scope) for operand in operands)
        case Component(name="mpi_val"):
            return True
        case Component():
            declared = declarations_on_the_way(expr, scope)
            return declared is not None and _is_default(declared[-1].decl.type, declared[-1].home)
        case Ref(name=name, args=args):
            if mpi_constant(expr, scope) is not None:
                return True
            symbol = scope.lookup(name)
            if symbol is None or symbol.origin is Origin.MPI:
                return False
            if symbol.origin is not Origin.INTRINSIC:
                return _is_default(symbol.type, symbol.home or scope)
            return _gives_default(name, args or (), scope)
        case _:
            return False


def _gives_default(intrinsic: str, args: tuple[Arg, ...], scope: Scope) -> bool:
    """Whether the result of an intrinsic function is of type default integer."""
    if any(isinstance(argument, Keyword) and argument.name == "kind" for argument in args):
        return False
    if intrinsic in _BEFORE_KIND:
        return len(args) <= _BEFORE_KIND[intrinsic]
    values = args[:2] if intrinsic == "merge" else args
    return all(is_default_integer(value, scope) for value in values)


def _is_default(spec: TypeSpec | None, scope: NameLookup) -> bool:
    return spec is not None and spec.base == "integer" and type_bytes(spec, scope) == _BYTES
