"""What a call does to its caller: a summary for each procedure, made from the bottom up.

A procedure is *harmless* if it touches nothing but its arguments (and reads named constants and
module variables).  Everything wider is an effect with a name; a procedure that is not in the tree
may do anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from asphalt.analysis.access import (
    ALIASED,
    CallEffect,
    Effect,
    EffectKind,
    Mode,
    NameKind,
    Names,
    Subscript,
    examine,
    root_name,
)
from asphalt.analysis.conditional_lines import conditional_statements
from asphalt.analysis.kinds import component_storage, name_kind, storage_of
from asphalt.analysis.mpi_call import mpi_call, mpi_function
from asphalt.analysis.mpi_library import library_row
from asphalt.analysis.operators import is_intrinsic_assignment, is_intrinsic_operation
from asphalt.analysis.resolve import procedure_named
from asphalt.analysis.scalars import surely_defines
from asphalt.analysis.shapes import run_as_section
from asphalt.analysis.symbols import Origin, Scope, Scopes, Symbol
from asphalt.ir.expr import AltReturn, Arg, Component, Expr, Keyword, OpaqueExpr, Ref, Section
from asphalt.ir.program import Located
from asphalt.ir.stmt import Allocation, Call, Guarded, UnitHead


@dataclass(frozen=True, slots=True)
class Summary:
    """What a procedure does: by dummy, to module variables it reads, and beyond.

    ``defined``: the scalar dummies that every call defines before it reads them.
    """

    dummies: tuple[str, ...]
    read: frozenset[str]
    written: frozenset[str]
    defined: frozenset[str]
    modules_read: frozenset[str]
    effects: tuple[tuple[EffectKind, str], ...]
    scope: Scope


class Effects:
    """The summaries of one program, made when they are asked for."""

    def __init__(self, scopes: Scopes) -> None:
        self.scopes = scopes
        self._summaries: dict[tuple[str, str], Summary | None] = {}

    def names(self, scope: Scope) -> Names:
        """How ``examine`` is to see the names of a unit."""
        return Names(
            kind=lambda name, listed: name_kind(name, listed, scope),
            storage=lambda name: storage_of(name, scope),
            call=lambda call: self.call(call, scope),
            own_operation=lambda op: is_intrinsic_operation(op, scope),
            own_assignment=lambda assign: is_intrinsic_assignment(assign, scope),
            component=lambda component: component_storage(component, scope),
        )

    def summary(self, located: Located) -> Summary | None:
        """The summary of a procedure; None while it is being made (recursion)."""
        key = (located.path, "/".join(unit.name for unit in located.chain))
        if key not in self._summaries:
            self._summaries[key] = None
            self._summaries[key] = self._summarise(located)
        return self._summaries[key]

    def _summarise(self, located: Located) -> Summary:
        scope = self.scopes.of(located)
        unit = located.unit
        head = unit.head.what if unit.head is not None else None
        dummies = head.args if isinstance(head, UnitHead) else ()
        footprint = examine(unit.body, self.names(scope))
        effects: dict[tuple[EffectKind, str], None] = {}
        for effect in footprint.effects:
            if effect.kind is EffectKind.JUMP:
                continue
            if effect.kind is EffectKind.ALLOCATION and _allocates_locals(effect, scope):
                continue
            effects[effect.kind, effect.detail] = None
        for _, text in conditional_statements(unit):
            effects[EffectKind.OPAQUE, f"conditional compilation: {text}"] = None
        read: set[str] = set()
        written: set[str] = set()
        modules_read: set[str] = set()
        for access in footprint.accesses:
            symbol = scope.lookup(access.storage)
            if access.storage in dummies:
                (written if access.writes else read).add(access.storage)
                if symbol is not None and symbol.attrs & {"pointer", "target"}:
                    effects[EffectKind.POINTER, f"dummy {access.storage} may be aliased"] = None
            elif symbol is None or symbol.origin in (Origin.HOST, Origin.COMMON):
                shared = "::" in access.storage or access.storage == ALIASED
                if shared and not access.writes:
                    modules_read.add(access.storage)
                else:
                    effects[EffectKind.STATE, access.storage] = None
            elif symbol.origin is Origin.LOCAL and (
                "save" in symbol.attrs or symbol.equivalenced or "pointer" in symbol.attrs
            ):
                effects[EffectKind.STATE, access.storage] = None
        if isinstance(head, UnitHead) and "*" in dummies:
            effects[EffectKind.JUMP, "alternate return"] = None
        defined = frozenset(
            name
            for name in written
            if (symbol := scope.lookup(name)) is not None
            and symbol.dims is None
            and surely_defines(unit.body, name, self.names(scope))
        )
        return Summary(
            dummies,
            frozenset(read - defined),
            frozenset(written),
            defined,
            frozenset(modules_read),
            tuple(effects),
            scope,
        )

    def call(self, call: Call, scope: Scope) -> CallEffect:
        """What a call statement or function reference does, in terms of the caller."""
        mpi = mpi_call(call, scope)
        if mpi is not None:
            accesses = [a for arg in mpi.used(scope) for a in _whole(arg, Mode.READ, scope)]
            for arg in mpi.defined(scope):
                accesses += _whole(arg, Mode.MAYBE_WRITE, scope)
            quiet = library_row(mpi.procedure).quiet
            effects = [] if quiet else [(EffectKind.MPI, mpi.operation)]
            if mpi.anywhere(scope):
                effects.append((EffectKind.UNKNOWN_CALL, "MPI_BOTTOM"))
            return CallEffect(tuple(accesses), tuple(effects))
        if isinstance(call.procedure, Ref) and mpi_function(call.procedure, scope) is not None:
            return CallEffect((), ((EffectKind.MPI, call.procedure.name),))
        located = procedure_named(call.procedure, scope)
        summary = self.summary(located) if located is not None else None
        if summary is None:
            return _anything(call, scope, _called(call.procedure))
        bound = _bind(call.args, summary.dummies)
        if bound is None:
            return _anything(call, scope, _called(call.procedure))
        accesses = []
        effects = list(summary.effects)
        for dummy, actual in bound.items():
            regions = list(self._regions(dummy, actual, bound, summary, scope))
            if not regions and isinstance(actual, Ref) and _is_procedure(actual, scope):
                effects.append((EffectKind.UNKNOWN_CALL, f"procedure argument {actual.name}"))
            accesses += regions
        accesses += [(name, Mode.READ, None) for name in sorted(summary.modules_read)]
        return CallEffect(tuple(accesses), tuple(effects))

    def writes_argument(self, call: Call, position: int, scope: Scope) -> bool:
        """Whether a call may change its actual argument at a position."""
        arg = _value(call.args[position])
        mpi = mpi_call(call, scope)
        if mpi is not None:
            return arg in mpi.defined(scope)
        located = procedure_named(call.procedure, scope)
        summary = self.summary(located) if located is not None else None
        bound = _bind(call.args, summary.dummies) if summary is not None else None
        if summary is None or bound is None:
            return True
        return any(arg == actual and dummy in summary.written for dummy, actual in bound.items())

    def _regions(
        self, dummy: str, actual: Expr, bound: Mapping[str, Expr], summary: Summary, scope: Scope
    ) -> Iterable[tuple[str, Mode, tuple[Subscript, ...] | None]]:
        modes = [Mode.READ] if dummy in summary.read else []
        if dummy in summary.defined and isinstance(actual, Ref) and actual.args is None:
            modes = [Mode.WRITE]
        elif dummy in summary.written:
            modes.append(Mode.MAYBE_WRITE)
        match actual:
            case Ref(name=name, args=tuple(args)) if (
                name_kind(name, True, scope) is NameKind.VARIABLE
            ):
                subscripts = self._subscripts_passed(dummy, actual, args, bound, summary, scope)
                for mode in modes:
                    yield storage_of(name, scope), mode, subscripts
            case _:
                for mode in modes:
                    yield from _whole(actual, mode, scope)

    def _subscripts_passed(
        self,
        dummy: str,
        actual: Ref,
        args: tuple[Arg, ...],
        bound: Mapping[str, Expr],
        summary: Summary,
        scope: Scope,
    ) -> tuple[Subscript, ...] | None:
        """The part of the actual argument that the dummy stands for; None: not known."""
        given = tuple(a for a in args if not isinstance(a, Keyword | AltReturn))
        symbol: Symbol | None = summary.scope.lookup(dummy)
        if symbol is None or len(given) != len(args):
            return None
        if symbol.dims is None or any(isinstance(a, Section) for a in given):
            return given
        return run_as_section(
            actual,
            symbol,
            bound,
            summary.scope,
            scope,
            lambda call, position: self.writes_argument(call, position, scope),
        )


def _allocates_locals(effect: Effect, scope: Scope) -> bool:
    """Whether an allocation effect concerns only arrays that end with the procedure."""
    what = effect.leaf.what
    if isinstance(what, Guarded):
        what = what.action
    if not isinstance(what, Allocation) or what.kind == "nullify":
        return False
    symbols = [scope.lookup(root_name(item) or "") for item in what.objects]
    return all(
        s is not None and s.origin is Origin.LOCAL and not s.attrs & {"save", "pointer"}
        for s in symbols
    )


def _called(procedure: Expr) -> str:
    return procedure.name if isinstance(procedure, Ref | Component) else "procedure"


def _is_procedure(ref: Ref, scope: Scope) -> bool:
    return name_kind(ref.name, ref.args is not None, scope) in (
        NameKind.PROCEDURE,
        NameKind.UNKNOWN,
    )


def _value(arg: Arg) -> Arg:
    return arg.value if isinstance(arg, Keyword) else arg


def _whole(
    arg: Arg, mode: Mode, scope: Scope
) -> list[tuple[str, Mode, tuple[Subscript, ...] | None]]:
    value = _value(arg)
    match value:
        case Ref(name=name, args=args) if (
            name_kind(name, args is not None, scope) is NameKind.VARIABLE
        ):
            return [(storage_of(name, scope), mode, None)]
        case Component():
            own = component_storage(value, scope)
            if own is not None:
                return [(own, mode, None)]
            root = root_name(value)
            if root is None:
                return []
            # any component on the way may be a pointer
            return [(storage_of(root, scope), mode, None), (ALIASED, mode, None)]
        case OpaqueExpr(names=names):  # a substring of an element, maybe
            kinds = {name: name_kind(name, False, scope) for name in sorted(names)}
            variables = [name for name, kind in kinds.items() if kind is NameKind.VARIABLE]
            return [(storage_of(name, scope), mode, None) for name in variables]
    return []


def _anything(call: Call, scope: Scope, name: str) -> CallEffect:
    accesses = [
        access
        for arg in call.args
        for mode in (Mode.READ, Mode.MAYBE_WRITE)
        for access in _whole(arg, mode, scope)
    ]
    return CallEffect(tuple(accesses), ((EffectKind.UNKNOWN_CALL, name),))


def _bind(args: tuple[Arg, ...], dummies: tuple[str, ...]) -> Mapping[str, Expr] | None:
    """Actual arguments by dummy name; None where they do not fit."""
    bound: dict[str, Expr] = {}
    for position, arg in enumerate(args):
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
