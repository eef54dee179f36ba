"""The accesses of an evaluation, a definition or a call at one statement.

This module decomposes expressions: which names are variables, which are functions (whose summaries
give their effects), and what may be accessed through a pointer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from asphalt.analysis.memory.accesses import (
    ALIASED,
    OPERATION,
    Access,
    Effect,
    EffectKind,
    Mode,
    NameKind,
    NameSemantics,
    Subscript,
)
from asphalt.analysis.names.designators import designator_name
from asphalt.ir.expr import (
    AltReturn,
    Arg,
    Component,
    Expr,
    ImpliedDo,
    Keyword,
    Lit,
    Op,
    OpaqueExpr,
    Ref,
    argument_value,
    children,
    listed_names,
    root_name,
)
from asphalt.ir.records import record
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Do, Leaf

ASSIGNED = "assignment to "
"""The beginning of the detail of the effect of an assignment to what may be a function."""
BOUND = ", which a construct gives another meaning"
"""The end of the detail of the effect of a name that a construct binds."""


@dataclass(slots=True)
class Record:
    """The accesses and effects found so far, in source order.

    ``indexes``: names that are indexes of an enclosing construct, not variables.
    """

    names: NameSemantics
    accesses: list[Access] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    indexes: frozenset[str] = frozenset()


@record
class RecordingPoint:
    """The statement for which accesses are recorded."""

    record: Record
    leaf: Leaf
    loops: tuple[Do, ...]
    sure: bool

    def effect(self, kind: EffectKind, detail: str) -> None:
        self.record.effects.append(Effect(kind, self.leaf, detail, self.loops))

    def _access(self, name: str, mode: Mode, subscripts: tuple[Subscript, ...] | None) -> None:
        if name in self.record.indexes:
            return
        storage = self.record.names.storage(name)
        if storage == ALIASED:
            self._through_pointer(mode, name, subscripts)
            return
        self.record.accesses.append(
            Access(storage, mode, subscripts, self.leaf, self.loops, self.sure)
        )

    def _component(
        self, designator: str, mode: Mode, subscripts: tuple[Subscript, ...] | None
    ) -> None:
        """An access to a component; it never certainly defines the structure."""
        storage, *path = designator.split("%")
        mode = Mode.MAYBE_WRITE if mode is Mode.WRITE else mode
        self.record.accesses.append(
            Access(storage, mode, subscripts, self.leaf, self.loops, self.sure, tuple(path))
        )

    def _through_pointer(
        self,
        mode: Mode,
        named: str | None = None,
        inside: tuple[Subscript, ...] | None = None,
    ) -> None:
        """An access to something that may have other names: it may be to any target."""
        mode = Mode.MAYBE_WRITE if mode is Mode.WRITE else mode
        root = None if named is None or "%" in named else Ref(named, named)
        target = None if root is None else self.record.names.target(root)
        path = () if target is None else tuple(target.split("%"))
        access = Access(
            ALIASED, mode, None, self.leaf, self.loops, self.sure, path, named=named, inside=inside
        )
        self.record.accesses.append(access)

    def _part(self, part: Component, root: str, mode: Mode) -> None:
        """An access to a component, of an element maybe, of what may have other names: if pointers
        may lead to it, it is to the structure and may be to any target."""
        target = self.record.names.target(part)
        if target is None or self.record.names.storage(root) != ALIASED:
            self._access(root, mode, None)
            self._through_pointer(mode)
            return
        mode = Mode.MAYBE_WRITE if mode is Mode.WRITE else mode
        inside, path = _subscripts(part.args), tuple(target.split("%"))
        named = designator_name(part)
        access = Access(ALIASED, mode, None, self.leaf, self.loops, self.sure, path)
        if named is not None:  # no subscripts on the way
            access = replace(access, named=named, inside=inside)
        self.record.accesses.append(access)

    def _through(self, target: Component, mode: Mode) -> bool:
        """Record an access through a pointer component; False: it is not one."""
        own = self.record.names.pointer(target)
        if own is None:
            return False
        named, pointer = own
        self._component(pointer, Mode.READ, None)
        self._through_pointer(mode, named, _subscripts(target.args))
        self.read(*(target.args or ()))
        return True

    def associate(self, target: Arg) -> None:
        """Record that a pointer gets another target, or that an object is (de)allocated."""
        if isinstance(target, Ref | Component) and target.args is not None:
            self.read(*target.args)  # bounds: it is the whole of the object all the same
            target = replace(target, args=None)
        own = self.record.names.pointer(target) if isinstance(target, Component) else None
        if own is None or not isinstance(target, Component):
            self.maybe_define(target)
            return
        self._component(own[1], Mode.MAYBE_WRITE, None)
        self._through_pointer(Mode.MAYBE_WRITE)
        self._read_indices(target)

    def read(self, *exprs: Arg | None) -> None:
        """Record that expressions are evaluated."""
        for expr in exprs:
            if expr is not None:
                self._read(expr)

    def _read(self, expr: Arg) -> None:
        match expr:
            case Ref(name=name, args=args):
                match self.record.names.kind(name, args is not None):
                    case NameKind.VARIABLE:
                        self._access(name, Mode.READ, _subscripts(args))
                        self.read(*(args or ()))
                    case NameKind.CONSTANT | NameKind.PURE_FUNCTION:
                        self.read(*(args or ()))
                    case NameKind.INQUIRY:
                        self._inquire(args or ())
                    case NameKind.PROCEDURE | NameKind.UNKNOWN:
                        if (value := self.record.names.written_out(expr)) is not None:
                            self._read(value)
                            return
                        if args is None:
                            self._bound_by_construct(name)
                        self.call(Call(Ref(name, expr.spelled), args or ()))
            case Component(args=args) if (own := self.record.names.component(expr)) is not None:
                self._component(own, Mode.READ, _subscripts(args))
                self.read(*(args or ()))
            case Component() if self.record.names.may_be_function(expr):
                self._read_indices(expr.base)
                self.call(_bound_call(expr))
            case Component() if self._through(expr, Mode.READ):
                pass
            case Component() if (own := self.record.names.part(expr)) is not None:
                self._component(own, Mode.READ, None)
                self._read_indices(expr)
            case Component(base=base, args=args):
                root = root_name(base)
                self._bound_by_construct(root)
                if root is not None:
                    self._part(expr, root, Mode.READ)
                self._read_indices(base)
                self.read(*(args or ()))
                if args is not None and root is None:
                    self.effect(EffectKind.OPAQUE, "component of an expression")
            case OpaqueExpr() | ImpliedDo():
                self._read_opaque(expr)
            case Lit() | AltReturn():
                pass
            case Op():
                if not self.record.names.is_intrinsic_operation(expr):
                    self.effect(EffectKind.UNKNOWN_CALL, f"{OPERATION}{expr.op}")
                self.read(*expr.operands)
            case _:
                self.read(*children(expr))

    def _read_opaque(self, expr: OpaqueExpr | ImpliedDo) -> None:
        """Record that every variable in it is read and every function in it is called."""
        kind = self.record.names.kind
        lists = listed_names(expr)
        for name in sorted(expr.names):
            listed = name in lists
            if NameKind.VARIABLE in (kind(name, False), kind(name, listed)):
                self._access(name, Mode.READ, None)
            if kind(name, listed) in (NameKind.PROCEDURE, NameKind.UNKNOWN):
                self.effect(EffectKind.UNKNOWN_CALL, name)

    def _read_indices(self, base: Expr) -> None:
        match base:
            case Ref(args=args):
                self.read(*(args or ()))
            case Component(base=inner, args=args):
                self._read_indices(inner)
                self.read(*(args or ()))

    def _bound_by_construct(self, name: str | None) -> None:
        """Record that a name is unknown because a construct associates it with something else."""
        if name is not None and self.record.names.kind(name, False) is NameKind.UNKNOWN:
            self.effect(EffectKind.OPAQUE, f"{name}{BOUND}")

    def _inquire(self, args: Iterable[Arg]) -> None:
        for arg in args:
            value = argument_value(arg)
            begun = len(self.record.accesses)
            match value:
                case Ref(name=name) if self._is_variable(value):
                    self._access(name, Mode.INQUIRE, None)
                    self.read(*(value.args or ()))  # subscripts are evaluated, maybe
                case Component() if not self.record.names.may_be_function(value):
                    self._inquire_component(value)
                case _:
                    self.read(value)
            if isinstance(value, Ref | Component) and self.record.names.may_be_resized(value):
                self.record.accesses[begun:] = [
                    replace(access, resizable=True) for access in self.record.accesses[begun:]
                ]

    def _inquire_component(self, target: Component) -> None:
        """Record an inquiry about a component whose size an assignment, too, may change by
        reallocation."""
        names = self.record.names
        if (own := names.component(target)) is not None:
            self._component(own, Mode.INQUIRE, None)
        elif (own := names.part(target)) is not None:
            self._component(own, Mode.READ if names.may_be_resized(target) else Mode.INQUIRE, None)
        elif (root := root_name(target)) is not None:
            self._bound_by_construct(root)
            # sizes of what is allocated in an element are part of its value
            mode = Mode.READ if self.record.names.may_be_resized(target) else Mode.INQUIRE
            self._part(target, root, mode)
        self._read_indices(target)

    def _is_variable(self, ref: Ref) -> bool:
        return self.record.names.kind(ref.name, ref.args is not None) is NameKind.VARIABLE

    def _is_constant(self, ref: Ref) -> bool:
        return self.record.names.kind(ref.name, ref.args is not None) is NameKind.CONSTANT

    def define(self, target: Arg) -> None:
        """Record that ``target`` is assigned."""
        self._define(target, Mode.WRITE)

    def maybe_define(self, target: Arg) -> None:
        """Record that ``target`` may be assigned (or that only part of it is)."""
        self._define(target, Mode.MAYBE_WRITE)

    def _define(self, target: Arg, mode: Mode) -> None:
        match target:
            case Keyword(value=value):
                self._define(value, mode)
            case Ref(name=name, args=args):
                if self._is_variable(target):
                    self._access(name, mode, _subscripts(args))
                elif mode is Mode.WRITE or not self._is_constant(target):
                    self._bound_by_construct(name)
                    self.effect(EffectKind.OPAQUE, f"{ASSIGNED}{name}")
                self.read(*(args or ()))
            case Component(args=args) if (own := self.record.names.component(target)) is not None:
                self._component(own, mode, _subscripts(args))
                self.read(*(args or ()))
            case Component() if self._through(target, mode):
                pass
            case Component(base=base):
                root = root_name(base)
                self._bound_by_construct(root)
                if root is None or self.record.names.may_be_function(target):
                    self.effect(EffectKind.OPAQUE, "assignment to a component")
                elif (own := self.record.names.part(target)) is not None:
                    self._component(own, mode, None)
                else:
                    self._part(target, root, Mode.MAYBE_WRITE)
                self._read_indices(target)
            case OpaqueExpr(names=names):
                for name in sorted(names):
                    self._bound_by_construct(name)
                    self._access(name, Mode.MAYBE_WRITE, None)
            case _:
                self.read(target)

    def call(self, call: Call) -> None:
        """Record what a procedure reference does."""
        for arg in call.args:
            value = argument_value(arg)
            match value:
                case Ref(args=args) if self._is_variable(value):
                    self.read(*(args or ()))  # the subscripts; the object by the summary
                case Component() if not self.record.names.may_be_function(value):
                    self._bound_by_construct(root_name(value))
                    self._read_indices(value)
                case _:
                    self.read(value)
        done = self.record.names.call(call)
        for found in done.accesses:
            storage, *path = found.storage.split("%")
            aliased = storage == ALIASED
            access = Access(
                storage,
                found.mode,
                None if aliased else found.subscripts,
                self.leaf,
                self.loops,
                self.sure,
                tuple(path),
                found.part,
                found.named,
                found.subscripts if aliased else None,
            )
            self.record.accesses.append(access)
        for kind, detail in done.effects:
            self.effect(kind, detail)


def _bound_call(reference: Component) -> Call:
    return Call(replace(reference, args=None), reference.args or ())


def _subscripts(args: tuple[Arg, ...] | None) -> tuple[Subscript, ...] | None:
    if args is None or any(isinstance(a, Keyword | AltReturn) for a in args):
        return None
    return tuple(a for a in args if not isinstance(a, Keyword | AltReturn))
