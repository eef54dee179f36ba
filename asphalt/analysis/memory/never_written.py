"""Variables that no statement of their unit can change: what holds on entry holds everywhere.

Cheaper, and more conservative, than the footprint of the unit, which needs these answers itself.
"""

from __future__ import annotations

from collections.abc import Callable

from asphalt.analysis.memory.accesses import NameKind
from asphalt.analysis.memory.storage import name_kind
from asphalt.analysis.names.host_association import named_inside
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.ir.expr import (
    Arg,
    Component,
    ImpliedDo,
    OpaqueExpr,
    Ref,
    Unstructured,
    argument_value,
    walk,
)
from asphalt.ir.stmt import (
    IO,
    Allocation,
    ArmHead,
    Assign,
    Call,
    DoHead,
    Guarded,
    Jump,
    Opaque,
    Raw,
    What,
)
from asphalt.ir.tree import leaves

WritesArgument = Callable[[Call, int], bool]
"""Whether a call may change its actual argument at a position (from 0)."""


def never_written(name: str, scope: Scope, writes_argument: WritesArgument) -> bool:
    """Whether no statement of the unit can change a scalar that the unit declares."""
    symbol = scope.lookup(name)
    if symbol is None:
        return False
    if symbol.origin is Origin.PARAMETER:
        return True
    if symbol.origin not in (Origin.LOCAL, Origin.DUMMY) or symbol.equivalenced:
        return False
    if symbol.attrs & {"pointer", "target", "volatile"}:
        return False
    if symbol.intent == "in":
        return True
    if named_inside(name, scope):
        return False
    return not any(
        _may_write(leaf.what, name, scope, writes_argument)
        for node in scope.unit.body
        for leaf in leaves(node)
    )


def _may_write(what: What, name: str, scope: Scope, writes: WritesArgument) -> bool:
    match what:
        case Assign(target=target, value=value):
            return _is(target, name) or _given(value, name, scope)
        case DoHead(var=var, first=first, last=last, step=step, condition=condition):
            bounds = (first, last, step, condition)
            return (var is not None and _is(var, name)) or any(
                _given(bound, name, scope) for bound in bounds if bound is not None
            )
        case Guarded(condition=condition, action=action):
            return _given(condition, name, scope) or _may_write(action, name, scope, writes)
        case Call(args=args):
            return any(
                writes(what, position)
                if _is(argument_value(arg), name)
                else _given(arg, name, scope)
                for position, arg in enumerate(args)
            )
        case IO():
            return any(_is(part, name) for arg in what.writes for part in walk(arg)) or any(
                _given(arg, name, scope) for arg in what.reads
            )
        case Allocation(objects=objects, options=options):
            return any(_is(o, name) for o in objects) or any(_is(o.value, name) for o in options)
        case ArmHead(exprs=exprs) | Jump(exprs=exprs):
            return any(_given(arg, name, scope) for arg in exprs)
        case Opaque() | Raw():
            return True
    return False


def _is(expr: Arg, name: str) -> bool:
    match expr:
        case Ref(name=found):
            return found == name
        case Component(base=base):
            return _is(base, name)
        case OpaqueExpr(names=names) | ImpliedDo(names=names):
            return name in names
    return False


def _given(expr: Arg, name: str, scope: Scope) -> bool:
    """Whether the variable itself is an actual argument of a function that may change it."""
    for part in walk(expr):
        if isinstance(part, Unstructured) and name in part.names:
            return True
        if isinstance(part, Ref | Component) and part.args is not None:
            if not any(_is(argument_value(arg), name) for arg in part.args):
                continue
            if isinstance(part, Component):
                return True
            if name_kind(part.name, True, scope) in (NameKind.PROCEDURE, NameKind.UNKNOWN):
                return True
    return False
