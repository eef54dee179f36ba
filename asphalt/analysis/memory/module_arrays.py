"""Allocatable module arrays that only the main program allocates.

Any unit with access to such an array may change its shape: by ALLOCATE and DEALLOCATE, by an
assignment to all of it (F2018 10.2.1.3), or by passing it to an allocatable dummy.  If the main
program allocates it and nothing else does any of this, then that ALLOCATE defines its shape for all
procedures that the main program calls.
"""

from __future__ import annotations

from asphalt.analysis.memory.accesses import NameKind
from asphalt.analysis.memory.storage import name_kind
from asphalt.analysis.names.references import actions, expressions_of, use_renames
from asphalt.analysis.names.scopes import Scope, Symbol
from asphalt.ir.expr import Arg, Op, Ref, argument_value, walk
from asphalt.ir.program import Located
from asphalt.ir.stmt import Allocation, Assign, Call, Opaque, Raw, What
from asphalt.ir.tree import leaves

_NO_SHAPE = (NameKind.VARIABLE, NameKind.CONSTANT, NameKind.INQUIRY, NameKind.PURE_FUNCTION)


def shaped_here_alone(symbol: Symbol, scope: Scope) -> bool:
    """Whether only the main program ``scope`` can change the shape of an allocatable module
    array."""
    if scope.unit.kind != "program" or symbol.attrs & {"pointer", "target", "volatile"}:
        return False
    if len(scope.program.main_programs()) != 1:
        return False
    return not any(
        _may_shape(located, symbol, scope)
        for located in scope.program.mentions(symbol.name)
        if located.unit is not scope.unit
    )


def _may_shape(located: Located, symbol: Symbol, scope: Scope) -> bool:
    if any(use_renames(located, symbol.name)):
        return True
    own = scope.scopes.of(located)
    seen = own.lookup(symbol.name)
    if seen is not None and seen.identity != symbol.identity:
        return False
    return any(
        _shapes(what, symbol.name, own)
        for node in located.unit.body
        for leaf in leaves(node)
        for what in actions(leaf.what)
    )


def _shapes(what: What, name: str, scope: Scope) -> bool:
    """Whether a statement may change the shape of the array of this name."""
    match what:
        case Opaque() | Raw():
            return True
        case Allocation(objects=objects):
            if any(isinstance(item, Ref) and item.name == name for item in objects):
                return True
        case Assign(target=target, value=value):
            if _is_whole(target, name) and not _is_scalar(value):
                return True
        case Call(args=args):
            if any(_is_whole(arg, name) for arg in args):
                return True
    return any(
        isinstance(part, Ref)
        and part.args is not None
        and any(_is_whole(arg, name) for arg in part.args)
        and name_kind(part.name, True, scope) not in _NO_SHAPE
        for expr in expressions_of(what)
        for part in walk(expr)
    )


def _is_whole(arg: Arg, name: str) -> bool:
    value = argument_value(arg)
    return isinstance(value, Ref) and value.name == name and value.args is None


def _is_scalar(value: Arg) -> bool:
    """Whether a value is certainly a scalar: it contains no name."""
    parts = tuple(walk(value))
    return not any(isinstance(p, Ref) or (isinstance(p, Op) and p.op == "[]") for p in parts)
