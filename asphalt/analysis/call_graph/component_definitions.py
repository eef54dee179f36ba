"""Which statements of a unit may define a component of a structure.

    call advance(new, old)           ! defines new%val, and no other component

A call defines of a structure that is passed to it what the procedure defines of its dummy.
"""

from __future__ import annotations

from collections.abc import Mapping

from asphalt.analysis.call_graph.call_sites import CallingContext, CallSites, UnitKey
from asphalt.analysis.call_graph.definitions import Source, VariableDefinition, is_user_function
from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.mpi.call import mpi_call
from asphalt.analysis.names.derived_types import may_be_allocatable
from asphalt.analysis.names.designators import may_be_function, own_designator
from asphalt.analysis.names.host_association import named_inside
from asphalt.analysis.names.references import bind
from asphalt.analysis.names.scopes import Scope, Scopes
from asphalt.ir.expr import (
    Arg,
    Component,
    Expr,
    Lit,
    Ref,
    Unstructured,
    argument_value,
    names_in,
    walk,
)
from asphalt.ir.stmt import Call

_DEPTH = 8  # procedures that call each other


def may_define(call: Call, name: str, scope: Scope) -> bool:
    """Whether a call may define the component, or a part of it, of this designator."""
    root, *path = name.split("%")
    if any(_calls_with(arg, root, scope) for arg in call.args):
        return True
    return _may_define(call, root, tuple(path), scope, _DEPTH)


def is_part_of(name: str, whole: str | None) -> bool:
    """Whether the object of a designator is, or is part of, that of another one."""
    return whole is not None and (name == whole or name.startswith(f"{whole}%"))


def whole_designator(arg: Arg, scope: Scope) -> str | None:
    """The designator of an argument that is a whole object; of a parent component, that of the
    object of which it is a part."""
    value = argument_value(arg)
    whole = isinstance(value, Ref | Component) and value.args is None
    return own_designator(value, scope) if whole else None


def in_callee(name: str, args: Mapping[str, Expr], scope: Scope) -> str | None:
    """The designator in a called procedure of an object that the caller passes, or passes as a part
    of another one; None: it does not, or to several dummies.  ``args``: actual arguments by dummy.
    """
    wholes = {dummy: whole_designator(actual, scope) for dummy, actual in args.items()}
    found = [dummy for dummy, whole in wholes.items() if is_part_of(name, whole)]
    return f"{found[0]}{name[len(wholes[found[0]] or '') :]}" if len(found) == 1 else None


def component_definitions(
    context: CallingContext, root: str, path: tuple[str, ...], depth: int = _DEPTH
) -> list[VariableDefinition]:
    """The definitions in a unit that may change a component of a variable."""
    return [
        one
        for one in context.defined.get(root)
        if overlap(one.path, path) and may_change(one, path, context.scope, depth)
    ]


def overlap(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether one of two components is, or is part of, the other."""
    common = min(len(one), len(other))
    return one[:common] == other[:common]


def may_change(
    definition: VariableDefinition, path: tuple[str, ...], scope: Scope, depth: int = _DEPTH
) -> bool:
    """Whether a definition may change a component: a procedure need not that has the structure as
    an actual argument."""
    if definition.source is not Source.CALLEE or definition.callee is None or depth == 0:
        return True
    inside = scope.scopes.once(CallSites).of(definition.callee)
    return _dummy_changes(inside, definition.dummy, path[len(definition.path) :], depth - 1)


def _dummy_changes(inside: CallingContext, dummy: str, path: tuple[str, ...], depth: int) -> bool:
    """Whether a procedure may define a component of a dummy; one that calls itself may."""
    known, key = inside.scope.scopes.once(_known), (inside.key, dummy, path)
    if key not in known:
        known[key] = True
        known[key] = _is_changed(inside, dummy, path, depth)
    return known[key]


def _known(scopes: Scopes) -> dict[tuple[UnitKey, str, tuple[str, ...]], bool]:
    """The answers for components of dummies of a program."""
    return {}


def _is_changed(inside: CallingContext, dummy: str, path: tuple[str, ...], depth: int) -> bool:
    symbol = inside.scope.lookup(dummy)
    if symbol is None or symbol.equivalenced or symbol.attrs & {"pointer", "target"}:
        return True
    if symbol.intent == "in" or "value" in symbol.attrs:
        return False
    if symbol.intent == "out" and (symbol.type is None or symbol.type.base in ("type", "class")):
        return True
    if inside.scope.located.is_unread or "*" in inside.defined or "allocatable" in symbol.attrs:
        return True
    if path and may_be_allocatable(symbol, path):
        return True
    return named_inside(dummy, inside.scope) or bool(
        component_definitions(inside, dummy, path, depth)
    )


def _may_define(call: Call, root: str, path: tuple[str, ...], scope: Scope, depth: int) -> bool:
    found = invoked(call, scope)
    if found is None or mpi_call(call, scope) is not None:
        return True
    callee = scope.scopes.once(CallSites).of(found[0])
    args = bind(found[1].args, callee.dummies)
    if args is None:
        return True
    for dummy, actual in args.items():
        if root not in names_in(actual):
            continue
        whole = whole_designator(actual, scope)
        own = tuple(whole.split("%")[1:]) if whole is not None else ()
        if whole is None or whole.split("%")[0] != root:
            return True
        if overlap(own, path) and _dummy_changes(callee, dummy, path[len(own) :], depth - 1):
            return True
    return False


def _calls_with(arg: Arg, root: str, scope: Scope) -> bool:
    """Whether an argument references a function with a part of a variable."""
    return any(
        isinstance(part, Unstructured)
        or (isinstance(part, Component) and may_be_function(part, scope))
        or (isinstance(part, Ref) and part.args is not None and is_user_function(part, scope))
        for part in walk(arg)
        if not isinstance(part, Lit) and root in names_in(part)
    )
