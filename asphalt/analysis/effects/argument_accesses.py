"""What a call accesses of its actual arguments, if nothing is known of the procedure but that."""

from __future__ import annotations

from collections.abc import Mapping

from asphalt.analysis.memory.accesses import (
    ALIASED,
    CalledAccess,
    CallEffect,
    EffectKind,
    Mode,
    NameKind,
)
from asphalt.analysis.memory.contiguity import reference_contiguity
from asphalt.analysis.memory.storage import (
    component_storage,
    name_kind,
    part_storage,
    storage_with_target,
    target_of,
)
from asphalt.analysis.mpi.runtime_types import runtime_type
from asphalt.analysis.names.scopes import Scope, Symbol
from asphalt.ir.expr import (
    AltReturn,
    Arg,
    Component,
    Expr,
    Keyword,
    OpaqueExpr,
    Ref,
    Section,
    argument_value,
    root_name,
)
from asphalt.ir.stmt import Call

_NO_COPY = frozenset({"value", "pointer", "allocatable"})


def called_name(procedure: Expr, scope: Scope) -> str:
    """How effects name a procedure; that of an object begins with ``%``, in front of which stands
    the type of an object of asphalt's runtime."""
    if isinstance(procedure, Component):
        return f"{runtime_type(procedure.base, scope) or ''}%{procedure.name}"
    return procedure.name if isinstance(procedure, Ref) else "procedure"


def is_procedure(ref: Ref, scope: Scope) -> bool:
    """Whether a name that is passed is, or may be, that of a procedure."""
    return name_kind(ref.name, ref.args is not None, scope) in (
        NameKind.PROCEDURE,
        NameKind.UNKNOWN,
    )


def is_scalar_variable(arg: Expr, scope: Scope) -> bool:
    """Whether an actual argument is a scalar variable with a name of its own."""
    symbol = scope.lookup(arg.name) if isinstance(arg, Ref) and arg.args is None else None
    return symbol is not None and symbol.dims is None


def may_be_copied(actual: Expr, dummy: Symbol | None, scope: Scope) -> bool:
    """Whether a procedure may get a copy of an array, which is written back when it returns.

    A dummy argument whose elements lie side by side gets one of an actual argument whose elements
    may not (F2018 15.5.2.4, note 5).  None: the dummy has no declaration that is known.
    """
    if dummy is not None:
        if dummy.dims is None or dummy.intent == "in" or dummy.attrs & _NO_COPY:
            return False
        described = all(dim.kind == "assumed_shape" for dim in dummy.dims)
        if described and "contiguous" not in dummy.attrs:
            return False
    match actual:
        case Ref(args=tuple() as args) | Component(args=tuple() as args):
            parted = any(isinstance(arg, Section) for arg in args)
            return parted and not reference_contiguity(actual, scope).yes
        case Ref() | Component():
            return not reference_contiguity(actual, scope).yes
    return False


def whole(arg: Arg, mode: Mode, scope: Scope) -> list[CalledAccess]:
    """The accesses to all of an actual argument."""
    value = argument_value(arg)
    match value:
        case Ref(name=name, args=args) if (
            name_kind(name, args is not None, scope) is NameKind.VARIABLE
        ):
            storage = storage_with_target(name, scope)
            return [CalledAccess(storage, mode, named=name if "%" in storage else None)]
        case Component():
            own = component_storage(value, scope) or part_storage(value, scope)
            if own is not None:
                return [CalledAccess(own, mode)]
            root = root_name(value)
            if root is None:
                return []
            storage, target = storage_with_target(root, scope), target_of(value, scope)
            if target is not None and storage.startswith(ALIASED):
                return [CalledAccess(f"{ALIASED}%{target}", mode)]
            # any component on the way may be a pointer
            return [CalledAccess(storage, mode), CalledAccess(ALIASED, mode)]
        case OpaqueExpr(names=names):  # a substring of an element, maybe
            kinds = {name: name_kind(name, False, scope) for name in sorted(names)}
            variables = [name for name, kind in kinds.items() if kind is NameKind.VARIABLE]
            return [CalledAccess(storage_with_target(name, scope), mode) for name in variables]
    return []


def anything(call: Call, scope: Scope) -> CallEffect:
    """The effect of a call of which nothing is known."""
    name = called_name(call.procedure, scope)
    bound = (call.procedure.base,) if isinstance(call.procedure, Component) else ()
    accesses = [
        access
        for arg in (*bound, *call.args)
        for mode in (Mode.READ, Mode.MAYBE_WRITE)
        for access in whole(arg, mode, scope)
    ]
    passed = (
        (EffectKind.UNKNOWN_CALL, f"procedure argument {value.name}")
        for value in map(argument_value, call.args)
        if isinstance(value, Ref) and value.args is None and is_procedure(value, scope)
    )
    return CallEffect(tuple(accesses), ((EffectKind.UNKNOWN_CALL, name), *passed))


def bound_arguments(call: Call, dummies: tuple[str, ...]) -> Mapping[str, Expr] | None:
    """Actual arguments by dummy name; None: they do not fit."""
    bound: dict[str, Expr] = {}
    for position, arg in enumerate(call.args):
        match arg:
            case Keyword(name=name, value=value):
                bound[name] = value
            case Section() | AltReturn():
                return None
            case _ if position < len(dummies):
                bound[dummies[position]] = arg
            case _:
                return None
    return bound if set(bound) <= set(dummies) else None
