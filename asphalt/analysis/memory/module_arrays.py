"""Statements that may change the shape of an allocatable, and module arrays with one ALLOCATE.

Any unit with access to such an array may change its shape: by ALLOCATE and DEALLOCATE, by an
assignment to all of it (F2018 10.2.1.3), or by passing it to an allocatable dummy.  If the main
program allocates it and nothing else does any of this, then that ALLOCATE defines its shape for all
procedures that the main program calls.  If one ALLOCATE in the program has constant bounds, and
nothing but DEALLOCATE does any of this, then the array has these bounds wherever it is allocated.
"""

from __future__ import annotations

import re

from asphalt.analysis.memory.accesses import NameKind
from asphalt.analysis.memory.ranks import is_scalar
from asphalt.analysis.memory.storage import name_kind
from asphalt.analysis.names.openmp_sentinels import conditional_statements
from asphalt.analysis.names.references import actions, expressions_of, use_renames
from asphalt.analysis.names.resolve import procedure_named
from asphalt.analysis.names.scopes import Origin, Scope, Symbol
from asphalt.ir.expr import Arg, Expr, Ref, argument_value, names_in, walk
from asphalt.ir.program import Located
from asphalt.ir.stmt import IO, Allocation, Assign, Call, Guarded, Opaque, Raw, UnitHead, What
from asphalt.ir.tree import Leaf, leaves

_NO_SHAPE = (NameKind.VARIABLE, NameKind.CONSTANT, NameKind.INQUIRY, NameKind.PURE_FUNCTION)
_WORD = re.compile(r"[a-z]\w*")
_Only = tuple[Scope, tuple[Arg, ...]]


def shaped_here_alone(symbol: Symbol, scope: Scope) -> bool:
    """Whether only the main program ``scope`` can change the shape of an allocatable module
    array."""
    if scope.unit.kind != "program" or not _has_one_name(symbol, scope):
        return False
    return not any(
        _may_shape(located, symbol, scope)
        for located in scope.program.mentions(symbol.name)
        if located.unit is not scope.unit
    )


def allocations(symbol: Symbol, scope: Scope) -> tuple[tuple[Scope, tuple[Arg, ...]], ...] | None:
    """The unit of each ALLOCATE of a module array in the program, and the bounds there.

    None: something else than these and DEALLOCATE may change the shape.
    """
    kept = scope.scopes.allocations
    if symbol.identity not in kept:
        kept[symbol.identity] = _allocations(symbol, scope)
    return kept[symbol.identity]


def _allocations(symbol: Symbol, scope: Scope) -> tuple[_Only, ...] | None:
    if not _has_one_name(symbol, scope):
        return None
    found: list[_Only] = []
    for located in scope.program.mentions(symbol.name):
        if any(use_renames(located, symbol.name)) or _is_hidden(symbol.name, located):
            return None
        own = scope.scopes.of(located)
        seen = own.lookup(symbol.name)
        if seen is not None and seen.identity != symbol.identity:
            continue
        for what in _actions(located):
            allocated = _allocated(what, symbol.name)
            if allocated is not None:
                found.append((own, allocated))
            elif not _deallocates(what) and _shapes(what, symbol.name, own):
                return None
    return tuple(found)


def _has_one_name(symbol: Symbol, scope: Scope) -> bool:
    one = len(scope.program.main_programs()) == 1
    return one and not symbol.attrs & {"pointer", "target", "volatile"}


def _is_hidden(name: str, located: Located) -> bool:
    """Whether a line that only some compilations execute names the array."""
    return any(
        name in _WORD.findall(text.lower()) for _, text in conditional_statements(located.unit)
    )


def _allocated(what: What, name: str) -> tuple[Arg, ...] | None:
    """The bounds that an ALLOCATE gives to the array of this name; (): those of another object."""
    if not isinstance(what, Allocation) or what.kind != "allocate":
        return None
    for item in what.objects:
        if isinstance(item, Ref) and item.name == name:
            return item.args or ()
    return None


def _deallocates(what: What) -> bool:
    return isinstance(what, Allocation) and what.kind == "deallocate"


def _actions(located: Located) -> list[What]:
    return [
        what for node in located.unit.body for leaf in leaves(node) for what in actions(leaf.what)
    ]


def _may_shape(located: Located, symbol: Symbol, scope: Scope) -> bool:
    if any(use_renames(located, symbol.name)):
        return True
    own = scope.scopes.of(located)
    seen = own.lookup(symbol.name)
    if seen is not None and seen.identity != symbol.identity:
        return False
    return any(_shapes(what, symbol.name, own) for what in _actions(located))


def _shapes(what: What, name: str, scope: Scope) -> bool:
    """Whether a statement may change the shape of the array of this name."""
    match what:
        case Opaque() | Raw():
            return True
        case Allocation(objects=objects):
            if any(isinstance(item, Ref) and item.name == name for item in objects):
                return True
        case Assign(target=target, value=value):
            if _is_named(target, name) and not is_scalar(value, scope):
                return True
        case Call(procedure=procedure, args=args):
            if any(_is_named(arg, name) for arg in args) and _may_allocate(procedure, scope):
                return True
    return any(
        isinstance(part, Ref)
        and part.args is not None
        and any(_is_named(arg, name) for arg in part.args)
        and name_kind(part.name, True, scope) not in _NO_SHAPE
        for expr in expressions_of(what)
        for part in walk(expr)
    )


def _is_named(arg: Arg, name: str) -> bool:
    value = argument_value(arg)
    return isinstance(value, Ref) and value.name == name and value.args is None


def may_reallocate(array: str, leaf: Leaf, scope: Scope) -> bool:
    """Whether a statement that defines a whole allocatable may change its bounds."""
    what = leaf.what
    if isinstance(what, Guarded):
        what = what.action
    match what:
        case Assign(value=value) if is_scalar(value, scope):
            return False
        case Call(args=args) if not any(_is_whole(arg, array) for arg in args):
            return False  # an element or a section is not allocatable
        case Call(procedure=procedure):
            return _may_allocate(procedure, scope)
        case IO():
            return False
    return True


def _may_allocate(procedure: Expr, scope: Scope) -> bool:
    """Whether a called procedure may have an allocatable dummy; those of MPI have none."""
    if not isinstance(procedure, Ref):
        return True
    symbol = scope.lookup(procedure.name)
    if symbol is not None and symbol.origin is Origin.MPI:
        return False
    located = procedure_named(procedure, scope)
    head = None if located is None else located.unit.head
    if located is None or head is None or not isinstance(head.what, UnitHead):
        return True
    callee = scope.scopes.of(located)
    dummies = [callee.lookup(dummy) for dummy in head.what.args]
    return any(d is None or "allocatable" in d.attrs for d in dummies)


def _is_whole(arg: Arg, array: str) -> bool:
    """Whether an argument is, or may be, a whole array."""
    value = argument_value(arg)
    if isinstance(value, Ref) and value.name == array:
        return value.args is None
    return array in names_in(value) and not isinstance(value, Ref)
