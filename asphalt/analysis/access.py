"""What statements read and write: every access to a variable, and every effect beside them.

An access names a storage (a variable of the unit, wherever it is declared) and the subscripts as
the source writes them; ``regions`` turns these into integer sets.  A call is seen through the
summary of the procedure (``effects``); what cannot be seen through is an ``Effect``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from asphalt.analysis.accesses import ALIASED as ALIASED
from asphalt.analysis.accesses import Access as Access
from asphalt.analysis.accesses import CallEffect as CallEffect
from asphalt.analysis.accesses import Effect as Effect
from asphalt.analysis.accesses import EffectKind as EffectKind
from asphalt.analysis.accesses import Footprint as Footprint
from asphalt.analysis.accesses import Mode as Mode
from asphalt.analysis.accesses import NameKind as NameKind
from asphalt.analysis.accesses import Names as Names
from asphalt.analysis.accesses import Reached as Reached
from asphalt.analysis.accesses import Subscript as Subscript
from asphalt.ir.expr import (
    AltReturn,
    Arg,
    Component,
    Expr,
    Keyword,
    Lit,
    Op,
    OpaqueExpr,
    Ref,
    Section,
    children,
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
    JumpKind,
    Opaque,
    Plain,
    Raw,
    What,
)
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, Unit

CONCURRENT, FORALL = "do concurrent", "forall"
"""What effects of constructs with indexes of their own say."""
_STRING = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*\"""")
_INDEX = re.compile(r"(?:[(,]|::)\s*(\w+)\s*=(?!=)")


def concurrent_indexes(header: Expr | None) -> frozenset[str]:
    """The indexes in the header of a DO CONCURRENT or FORALL, which are no variables of the unit
    (folded).  The keyword of their type counts as a variable: one may have that name."""
    if not isinstance(header, OpaqueExpr):
        return frozenset()
    depth = 0
    outer: list[str] = []
    for char in _STRING.sub("''", header.text):
        depth -= char == ")"
        if depth == 0 and outer:
            outer.append(char)
            break  # what follows is locality
        if depth <= 1:
            outer.append(char)
        depth += char == "("
    text = "".join(outer)
    return frozenset(name.lower() for name in _INDEX.findall(text))


def examine(nodes: Iterable[Node], names: Names) -> Footprint:
    """The footprint of some statements of one unit."""
    visitor = _Visitor(names)
    for node in nodes:
        visitor.node(node, (), True)
    return Footprint(tuple(visitor.accesses), tuple(visitor.effects))


class _Visitor:
    """Collects accesses and effects in source order."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.accesses: list[Access] = []
        self.effects: list[Effect] = []
        self.indexes: frozenset[str] = frozenset()

    def node(self, node: Node, loops: tuple[Do, ...], sure: bool) -> None:
        match node:
            case Leaf():
                self.statement(node.what, node, loops, sure)
            case Do(head=Leaf(what=DoHead(kind="concurrent", condition=header)) as head, body=body):
                with self._in_no_order(header, loops):
                    self.statement(head.what, head, loops, sure)
                    for child in body:
                        self.node(child, (*loops, node), False)
            case Do(head=head, body=body):
                self.statement(head.what, head, loops, sure)
                counted = isinstance(head.what, DoHead) and head.what.kind == "count"
                for child in body:
                    self.node(child, (*loops, node), sure and counted)
                    sure = sure and not self._may_skip(child)
            case Branch(arms=arms):
                for arm in arms:
                    self.statement(arm.head.what, arm.head, loops, sure)
                    for child in arm.body:
                        self.node(child, loops, False)
            case Block(kind=kind, head=head, body=body):
                self.statement(head.what, head, loops, sure)
                if kind != "critical":
                    # names bound inside may hide others: nothing in it is seen through
                    self.effect(EffectKind.OPAQUE, head, f"{kind} construct", loops)
                for child in body:
                    self.node(child, loops, False)
            case Unit():
                pass

    @contextmanager
    def _in_no_order(self, header: Expr | None, loops: tuple[Do, ...]) -> Iterator[None]:
        """Record what a DO CONCURRENT or FORALL does, for all values of its indexes: each access is
        one to all of its array, maybe.  The indexes are names of its own (F2018 19.4)."""
        begun, outer = len(self.accesses), self.indexes
        self.indexes = outer | concurrent_indexes(header)
        yield
        self.indexes = outer
        self.accesses[begun:] = [
            replace(
                access,
                mode=Mode.MAYBE_WRITE if access.mode is Mode.WRITE else access.mode,
                subscripts=_all_of(access.subscripts),
                inside=_all_of(access.inside),
                part=None,
                loops=loops,
                sure=False,
            )
            for access in self.accesses[begun:]
        ]

    def effect(self, kind: EffectKind, leaf: Leaf, detail: str, loops: tuple[Do, ...]) -> None:
        self.effects.append(Effect(kind, leaf, detail, loops))

    def statement(self, what: What, leaf: Leaf, loops: tuple[Do, ...], sure: bool) -> None:
        at = _At(self, leaf, loops, sure)
        match self.names.amounts_to(what, leaf):
            case Assign(target=target, value=value, pointer=pointer) as what:
                at.read(value)
                if pointer and isinstance(target, Component):
                    at.associate(target)
                else:
                    at.define(target)
                if not pointer and not self.names.own_assignment(what):
                    at.effect(EffectKind.UNKNOWN_CALL, "assignment(=)")
                if pointer:
                    at.effect(EffectKind.POINTER, "pointer assignment")
            case Call() as call:
                at.call(call)
            case DoHead(kind=kind, var=var, first=first, last=last, step=step, condition=condition):
                if kind == "concurrent":
                    at.effect(EffectKind.OPAQUE, CONCURRENT)
                at.read(first, last, step, condition)
                if var is not None:
                    at.define(var)
            case ArmHead(exprs=exprs):
                at.read(*exprs)
            case Guarded(condition=header, action=action, kind="forall"):
                with self._in_no_order(header, loops):
                    at.read(header)
                    at.effect(EffectKind.OPAQUE, FORALL)
                    self.statement(action, leaf, loops, False)
            case Guarded(condition=condition, action=action):
                at.read(condition)
                self.statement(action, leaf, loops, False)
            case Jump(kind=kind, exprs=exprs):
                at.read(*exprs)
                stops = kind in (JumpKind.STOP, JumpKind.ERROR_STOP)
                at.effect(EffectKind.STOP if stops else EffectKind.JUMP, kind.value)
            case IO(kind=kind, reads=reads, writes=writes):
                at.read(*reads)
                for item in writes:
                    at.maybe_define(item)
                at.effect(EffectKind.IO, kind)
            case Allocation(kind=kind, objects=objects, options=options):
                for item in objects:
                    at.associate(item)
                    if kind == "deallocate" and self.names.finalized(item):
                        at.effect(EffectKind.UNKNOWN_CALL, "final subroutine")
                for option in options:
                    at.maybe_define(option.value)
                at.effect(EffectKind.ALLOCATION, kind)
            case Raw() | Opaque():
                at.effect(EffectKind.OPAQUE, "statement")
            case Plain():
                pass
            case _:  # declarations inside BLOCK constructs
                at.effect(EffectKind.OPAQUE, "declaration among executable statements")

    def _may_skip(self, node: Node) -> bool:
        """Whether control may leave the surrounding loop body inside ``node``."""
        match node:
            case Leaf(what=Guarded(action=Jump() as jump)) | Leaf(what=Jump() as jump):
                return isinstance(self.names.amounts_to(jump, node), Jump)
            case Branch(arms=arms):
                return any(self._may_skip(child) for arm in arms for child in arm.body)
            case Do(body=body) | Block(body=body):
                return any(self._may_skip(child) for child in body)
        return False


def _all_of(subscripts: tuple[Subscript, ...] | None) -> tuple[Subscript, ...] | None:
    return None if subscripts is None else (Section(None, None, None),) * len(subscripts)


@dataclass(frozen=True, slots=True)
class _At:
    """The place in the program where accesses are recorded."""

    visitor: _Visitor
    leaf: Leaf
    loops: tuple[Do, ...]
    sure: bool

    def effect(self, kind: EffectKind, detail: str) -> None:
        self.visitor.effect(kind, self.leaf, detail, self.loops)

    def _access(self, name: str, mode: Mode, subscripts: tuple[Subscript, ...] | None) -> None:
        if name in self.visitor.indexes:
            return
        storage = self.visitor.names.storage(name)
        if storage == ALIASED:
            self._through_pointer(mode, name, subscripts)
            return
        self.visitor.accesses.append(
            Access(storage, mode, subscripts, self.leaf, self.loops, self.sure)
        )

    def _component(
        self, designator: str, mode: Mode, subscripts: tuple[Subscript, ...] | None
    ) -> None:
        """An access to a component; it is never certain to define the structure."""
        storage, *path = designator.split("%")
        mode = Mode.MAYBE_WRITE if mode is Mode.WRITE else mode
        self.visitor.accesses.append(
            Access(storage, mode, subscripts, self.leaf, self.loops, self.sure, tuple(path))
        )

    def _through_pointer(
        self,
        mode: Mode,
        named: str | None = None,
        inside: tuple[Subscript, ...] | None = None,
    ) -> None:
        """An access to something with other names, maybe: it may be one to any target."""
        mode = Mode.MAYBE_WRITE if mode is Mode.WRITE else mode
        access = Access(ALIASED, mode, None, self.leaf, self.loops, self.sure)
        self.visitor.accesses.append(replace(access, named=named, inside=inside))

    def _through(self, target: Component, mode: Mode) -> bool:
        """Record an access to what a pointer component points to; False: it is none."""
        own = self.visitor.names.pointer(target)
        if own is None:
            return False
        named, pointer = own
        self._component(pointer, Mode.READ, None)
        self._through_pointer(mode, named, _subscripts(target.args))
        self.read(*(target.args or ()))
        return True

    def associate(self, target: Arg) -> None:
        """Record that a pointer gets another target, or that something is (de)allocated."""
        own = self.visitor.names.pointer(target) if isinstance(target, Component) else None
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
                match self.visitor.names.kind(name, args is not None):
                    case NameKind.VARIABLE:
                        self._access(name, Mode.READ, _subscripts(args))
                        self.read(*(args or ()))
                    case NameKind.CONSTANT | NameKind.PURE_FUNCTION:
                        self.read(*(args or ()))
                    case NameKind.INQUIRY:
                        self._inquire(args or ())
                    case NameKind.PROCEDURE | NameKind.UNKNOWN:
                        if args is None:
                            self._bound_by_construct(name)
                        self.call(Call(Ref(name, expr.spelled), args or ()))
            case Component(args=args) if (own := self.visitor.names.component(expr)) is not None:
                self._component(own, Mode.READ, _subscripts(args))
                self.read(*(args or ()))
            case Component() if self.visitor.names.bound_function(expr):
                self._read_indices(expr.base)
                self.call(_bound_call(expr))
            case Component() if self._through(expr, Mode.READ):
                pass
            case Component(base=base, args=args):
                root = root_name(base)
                self._bound_by_construct(root)
                if root is not None:
                    self._access(root, Mode.READ, None)
                    self._through_pointer(Mode.READ)
                self._read_indices(base)
                self.read(*(args or ()))
                if args is not None and root is None:
                    self.effect(EffectKind.OPAQUE, "component of an expression")
            case OpaqueExpr():
                self._read_opaque(expr)
            case Lit() | AltReturn():
                pass
            case Op():
                if not self.visitor.names.own_operation(expr):
                    self.effect(EffectKind.UNKNOWN_CALL, f"operator {expr.op}")
                self.read(*expr.operands)
            case _:
                self.read(*children(expr))

    def _read_opaque(self, expr: OpaqueExpr) -> None:
        """Every variable in the text is read, every function in it is called."""
        kind = self.visitor.names.kind
        for name in sorted(expr.names):
            listed = re.search(rf"\b{re.escape(name)}\s*\(", expr.text, re.IGNORECASE) is not None
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
        """Record that nothing is known of a name that a construct gives another meaning."""
        if name is not None and self.visitor.names.kind(name, False) is NameKind.UNKNOWN:
            self.effect(EffectKind.OPAQUE, f"{name}, which a construct gives another meaning")

    def _inquire(self, args: Iterable[Arg]) -> None:
        for arg in args:
            value = arg.value if isinstance(arg, Keyword) else arg
            match value:
                case Ref(name=name) if self._is_variable(value):
                    self._access(name, Mode.INQUIRE, None)
                    self.read(*(value.args or ()))  # subscripts are evaluated, maybe
                case Component() if not self.visitor.names.bound_function(value):
                    self._bound_by_construct(root_name(value))
                    self._read_indices(value)
                case _:
                    self.read(value)

    def _is_variable(self, ref: Ref) -> bool:
        return self.visitor.names.kind(ref.name, ref.args is not None) is NameKind.VARIABLE

    def _is_constant(self, ref: Ref) -> bool:
        return self.visitor.names.kind(ref.name, ref.args is not None) is NameKind.CONSTANT

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
                    self.effect(EffectKind.OPAQUE, f"assignment to {name}")
                self.read(*(args or ()))
            case Component(args=args) if (own := self.visitor.names.component(target)) is not None:
                self._component(own, mode, _subscripts(args))
                self.read(*(args or ()))
            case Component() if self._through(target, mode):
                pass
            case Component(base=base):
                root = root_name(base)
                self._bound_by_construct(root)
                if root is None or self.visitor.names.bound_function(target):
                    self.effect(EffectKind.OPAQUE, "assignment to a component")
                else:
                    self._access(root, Mode.MAYBE_WRITE, None)
                    self._through_pointer(Mode.MAYBE_WRITE)
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
            value = arg.value if isinstance(arg, Keyword) else arg
            match value:
                case Ref(args=args) if self._is_variable(value):
                    self.read(*(args or ()))  # the subscripts; the object by the summary
                case Component() if not self.visitor.names.bound_function(value):
                    self._bound_by_construct(root_name(value))
                    self._read_indices(value)
                case _:
                    self.read(value)
        done = self.visitor.names.call(call)
        for found in done.accesses:
            storage, *path = found.storage.split("%")
            access = Access(storage, found.mode, found.subscripts, self.leaf, self.loops)
            more = replace(access, sure=self.sure, path=tuple(path), part=found.part)
            self.visitor.accesses.append(more)
        for kind, detail in done.effects:
            self.effect(kind, detail)


def root_name(expr: Expr) -> str | None:
    """The variable that a component reference starts from."""
    match expr:
        case Ref(name=name):
            return name
        case Component(base=base):
            return root_name(base)
    return None


def _bound_call(reference: Component) -> Call:
    return Call(replace(reference, args=None), reference.args or ())


def _subscripts(args: tuple[Arg, ...] | None) -> tuple[Subscript, ...] | None:
    if args is None or any(isinstance(a, Keyword | AltReturn) for a in args):
        return None
    return tuple(a for a in args if not isinstance(a, Keyword | AltReturn))
