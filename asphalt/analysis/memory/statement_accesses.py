"""The accesses and effects of statements.

An access names a storage (a variable of the unit, wherever it is declared) and the subscripts as
the source writes them; ``regions`` turns these into integer sets.  The summary of a procedure gives
the accesses of a call (``effects``); what asphalt cannot analyse is an ``Effect``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from asphalt.analysis.memory.accesses import (
    Effect,
    EffectKind,
    Footprint,
    Mode,
    NameSemantics,
    Statement,
    Subscript,
)
from asphalt.analysis.memory.place_accesses import Record, RecordingPoint
from asphalt.ir.expr import (
    Component,
    Expr,
    OpaqueExpr,
    Section,
)
from asphalt.ir.stmt import (
    IO,
    Allocation,
    ArmHead,
    Assign,
    Call,
    DoHead,
    Guarded,
    Include,
    Jump,
    JumpKind,
    Opaque,
    Plain,
    Raw,
    What,
)
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, Unit

CONCURRENT, FORALL = "do concurrent", "forall"
"""The details of the effects of constructs with indexes of their own."""
_STRING = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*\"""")
_INDEX = re.compile(r"(?:[(,]|::)\s*(\w+)\s*=(?!=)")


def concurrent_indexes(header: Expr | None) -> frozenset[str]:
    """The folded indexes in the header of a DO CONCURRENT or FORALL, which are not variables of the
    unit.

    The keyword of their type is among the names: an index may have that name.
    """
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


def examine(nodes: Iterable[Node], names: NameSemantics) -> Footprint:
    """The footprint of some statements of one unit."""
    visitor = _Visitor(names)
    for node in nodes:
        visitor.node(node, (), True)
    return Footprint(tuple(visitor.record.accesses), tuple(visitor.record.effects))


def examine_as(what: What, leaf: Leaf, names: NameSemantics) -> Footprint:
    """The footprint of a statement of a unit as if ``what`` stood there."""
    visitor = _Visitor(names)
    visitor.statement(what, leaf, (), True)
    return Footprint(tuple(visitor.record.accesses), tuple(visitor.record.effects))


class _Visitor:
    """Collects accesses and effects in source order."""

    def __init__(self, names: NameSemantics) -> None:
        self.names = names
        self.record = Record(names)

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
        """Record the accesses of a DO CONCURRENT or FORALL for all values of its indexes: each is,
        perhaps, to all of its array.  The indexes are names of the construct (F2018 19.4)."""
        begun, outer = len(self.record.accesses), self.record.indexes
        self.record.indexes = outer | concurrent_indexes(header)
        yield
        self.record.indexes = outer
        self.record.accesses[begun:] = [
            replace(
                access,
                mode=Mode.MAYBE_WRITE if access.mode is Mode.WRITE else access.mode,
                subscripts=_all_of(access.subscripts),
                inside=_all_of(access.inside),
                part=None,
                loops=loops,
                sure=False,
            )
            for access in self.record.accesses[begun:]
        ]

    def effect(self, kind: EffectKind, leaf: Leaf, detail: str, loops: tuple[Do, ...]) -> None:
        self.record.effects.append(Effect(kind, leaf, detail, loops))

    def statement(self, what: What, leaf: Leaf, loops: tuple[Do, ...], sure: bool) -> None:
        done, known = self.names.effective_statement(what, leaf), self.names.statements
        # the action of a one-line IF may do less in one statement than in another, and indexes
        # of constructs are no variables
        if known is None or isinstance(done, Guarded) or self.record.indexes:
            self._statement(done, leaf, loops, sure)
            return
        found = known.get(id(done))
        if found is None:
            own = _Visitor(self.names)
            own._statement(done, leaf, (), True)
            accesses, effects = tuple(own.record.accesses), tuple(own.record.effects)
            found = known[id(done)] = Statement(done, leaf, accesses, effects)
        if found.leaf is leaf and sure and not loops:
            self.record.accesses += found.accesses
            self.record.effects += found.effects
            return
        self.record.accesses += [one.at(leaf, loops, sure) for one in found.accesses]
        self.record.effects += [Effect(e.kind, leaf, e.detail, loops) for e in found.effects]

    def _statement(self, what: What, leaf: Leaf, loops: tuple[Do, ...], sure: bool) -> None:
        at = RecordingPoint(self.record, leaf, loops, sure)
        match what:
            case Assign(target=target, value=value, pointer=pointer) as what:
                at.read(value)
                if pointer and isinstance(target, Component):
                    at.associate(target)
                else:
                    at.define(target)
                if not pointer and not self.names.is_intrinsic_assignment(what):
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
                    if kind == "deallocate" and self.names.may_finalize(item):
                        at.effect(EffectKind.UNKNOWN_CALL, "final subroutine")
                for option in options:
                    if option.name in ("source", "mold"):
                        at.read(option.value)
                    else:
                        at.maybe_define(option.value)
                at.effect(EffectKind.ALLOCATION, kind)
            case Raw() | Opaque():
                at.effect(EffectKind.OPAQUE, "statement")
            case Plain():
                pass
            case Include(path=path):
                at.effect(EffectKind.OPAQUE, f"the text of {path} is not analysed here")
            case _:  # declarations inside BLOCK constructs
                at.effect(EffectKind.OPAQUE, "declaration among executable statements")

    def _may_skip(self, node: Node) -> bool:
        """Whether control may leave the surrounding loop body inside ``node``."""
        match node:
            case Leaf(what=Guarded(action=Jump() as jump)) | Leaf(what=Jump() as jump):
                return isinstance(self.names.effective_statement(jump, node), Jump)
            case Branch(arms=arms):
                return any(self._may_skip(child) for arm in arms for child in arm.body)
            case Do(body=body) | Block(body=body):
                return any(self._may_skip(child) for child in body)
        return False


def _all_of(subscripts: tuple[Subscript, ...] | None) -> tuple[Subscript, ...] | None:
    return None if subscripts is None else (Section(None, None, None),) * len(subscripts)
