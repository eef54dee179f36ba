"""The effects of a call whose procedure is assumed to be pure."""

from __future__ import annotations

from asphalt.analysis.directives.assumed_facts import Assumed
from asphalt.analysis.memory.accesses import (
    ALIASED,
    CalledAccess,
    CallEffect,
    EffectKind,
    Mode,
    NameKind,
    Subscript,
)
from asphalt.analysis.memory.storage import component_storage, name_kind, storage_of
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.ir.expr import (
    AltReturn,
    Arg,
    ArrayConstructor,
    Component,
    Keyword,
    OpaqueExpr,
    Ref,
    Section,
    argument_value,
    root_name,
    walk,
)
from asphalt.ir.stmt import Call


def assumed_effect(call: Call, assumed: Assumed, scope: Scope) -> CallEffect | None:
    """The effect of a call that is assumed to access its arguments only, and the targets of their
    pointer components; None: there is no assumption about it."""
    procedure = call.procedure
    if not isinstance(procedure, Ref) or not assumed.pure(procedure.name, scope):
        return None
    symbol = scope.lookup(procedure.name)
    if symbol is not None and symbol.origin in (Origin.INTRINSIC, Origin.MPI):
        return None
    accesses = tuple(
        CalledAccess(storage, mode, subscripts)
        for arg in call.args
        for storage, subscripts in _reached(arg, scope)
        for mode in (Mode.READ, Mode.MAYBE_WRITE)
    )
    effects: list[tuple[EffectKind, str]] = [(EffectKind.ASSUMED, procedure.name)]
    if any(isinstance(arg, AltReturn) for arg in call.args):
        effects.append((EffectKind.JUMP, "alternate return"))
    return CallEffect(accesses, tuple(effects))


def _reached(arg: Arg, scope: Scope) -> list[tuple[str, tuple[Subscript, ...] | None]]:
    """The storages, and parts of them, that an actual argument gives a procedure access to."""
    value = argument_value(arg)
    match value:
        case Ref(name=name, args=args) if _is_variable(name, args is not None, scope):
            found: list[tuple[str, tuple[Subscript, ...] | None]]
            found = [(storage_of(name, scope), _section_passed(value, scope))]
            return [*found, (ALIASED, None)] if _may_hold_pointers(name, scope) else found
        case Component():
            own, root = component_storage(value, scope), root_name(value)
            names = [own] if own is not None else [storage_of(root, scope)] if root else []
            return [*((name, None) for name in names), (ALIASED, None)]
        case OpaqueExpr(names=names_in_text):  # a substring of an element, maybe
            listed = (name for name in sorted(names_in_text) if _is_variable(name, False, scope))
            return [*((storage_of(name, scope), None) for name in listed), (ALIASED, None)]
    return []


def _is_variable(name: str, listed: bool, scope: Scope) -> bool:
    return name_kind(name, listed, scope) is NameKind.VARIABLE


def _section_passed(value: Ref, scope: Scope) -> tuple[Subscript, ...] | None:
    """The subscripts of a section, which limit the access of a procedure; None: anything else.

    From an element on, a procedure may access the whole array.
    """
    if not value.args or not any(isinstance(arg, Section) for arg in value.args):
        return None
    found: list[Subscript] = []
    for arg in value.args:
        if isinstance(arg, Keyword | AltReturn):
            return None
        if not isinstance(arg, Section) and any(_may_be_array(p, scope) for p in walk(arg)):
            return None  # a vector subscript
        found.append(arg)
    return tuple(found)


def _may_be_array(part: Arg, scope: Scope) -> bool:
    match part:
        case Ref(name=name, args=None):
            symbol = scope.lookup(name)
            return symbol is None or symbol.is_array
        case Ref(name=name, args=args):
            sections = any(isinstance(arg, Section) for arg in args or ())
            return sections or not _is_variable(name, True, scope)
        case Component() | OpaqueExpr() | ArrayConstructor():
            return True
        case _:
            return False


def _may_hold_pointers(name: str, scope: Scope) -> bool:
    symbol = scope.lookup(name)
    return symbol is None or symbol.type is None or symbol.type.base in ("type", "class")
