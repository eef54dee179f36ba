"""Affine facts at a statement: comparisons of the enclosing IFs, MIN and MAX.

Only certain facts are given.  What is not affine is left out, which makes sets larger.
"""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.memory.accesses import Access, Mode
from asphalt.analysis.memory.forward_substitution import Values
from asphalt.analysis.names.designators import designator_name
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.expr import AltReturn, Arg, Component, Expr, Keyword, Lit, Op, Ref, Section, walk
from asphalt.ir.stmt import ArmHead, Assign, DoHead, Guarded
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, leaves

Comparison = tuple[str, Expr, Expr, tuple[Do, ...]]
"""``left relation right``, which held when the IF in these loops was reached."""

_ISL = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "==": "=", "/=": "!="}
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "/=", "/=": "=="}


def extremes(limit: Expr | None, relation: str) -> tuple[Expr, ...]:
    """The expressions that bound whatever is ``relation`` (``<=``, ``>=``) to ``limit``.

    What is at most MIN(a, b) is at most a and at most b.
    """
    if limit is None:
        return ()
    name = {"<=": "min", ">=": "max"}[relation]
    if isinstance(limit, Ref) and limit.name == name and limit.args:
        parts = tuple(
            arg for arg in limit.args if not isinstance(arg, Keyword | Section | AltReturn)
        )
        return (limit, *parts)
    return (limit,)


def greatest_above(limit: Expr | None, at: Leaf, values: Values) -> tuple[Expr, ...]:
    """The variables with the greatest element of the array of which a limit is an element."""
    match limit:
        case Ref(args=(_, *_) as args) | Component(args=(_, *_) as args):
            array = designator_name(limit)
            elements = not any(isinstance(arg, Section | Keyword | AltReturn) for arg in args)
            if array is not None and elements:
                return tuple(Ref(name, name) for name in values.maxima_of(array, at))
    return ()


def is_integer(expr: Expr, scope: Scope) -> bool:
    """Whether an expression is made of integer constants and integer scalars."""
    for part in walk(expr):
        match part:
            case Lit(kind="integer") | Op():
                pass
            case Ref(name=name, args=None):
                symbol = scope.lookup(name)
                if symbol is None or symbol.type is None or symbol.type.base != "integer":
                    return False
            case _:
                return False
    return True


def conditions_around(access: Access) -> Iterator[Comparison]:
    """The comparisons that hold at an access.

    A comparison held when its IF was reached.  It still does if nothing in it has changed since.
    """
    if access.loops:
        yield from _search(access.loops[0], access.leaf, ())
    what = access.leaf.what
    if isinstance(what, Guarded) and what.kind == "if" and _is_target(access, what):
        yield from _holds(what.condition, True, access.loops)


def _is_target(access: Access, statement: Guarded) -> bool:
    """Whether an access is certainly the assignment of a one-line IF.

    What the condition reads, or a function in it changes, is accessed in any case.
    """
    action = statement.action
    return (
        access.mode is Mode.WRITE
        and access.subscripts is not None
        and isinstance(action, Assign)
        and isinstance(action.target, Ref)
        and access.subscripts == action.target.args
    )


def _search(node: Node, leaf: Leaf, loops: tuple[Do, ...]) -> Iterator[Comparison]:
    match node:
        case Do(head=Leaf(what=DoHead(kind="concurrent"))):
            return  # its indexes are names of its own
        case Do(body=body):
            for child in body:
                if _has(child, leaf):
                    yield from _search(child, leaf, (*loops, node))
        case Block(body=body):
            for child in body:
                if _has(child, leaf):
                    yield from _search(child, leaf, loops)
        case Branch(kind="if", arms=arms):
            yield from _arms(node, leaf, loops)
        case Branch(arms=arms):
            for arm in arms:
                for child in arm.body:
                    if _has(child, leaf):
                        yield from _search(child, leaf, loops)


def _arms(branch: Branch, leaf: Leaf, loops: tuple[Do, ...]) -> Iterator[Comparison]:
    """The conditions of the arm that contains the statement: those before it are false, its own is
    true."""
    before: list[Comparison] = []
    for arm in branch.arms:
        own = arm.head.what
        conditions = own.exprs if isinstance(own, ArmHead) else ()
        for child in arm.body:
            if _has(child, leaf):
                yield from before
                for condition in conditions:
                    yield from _holds(condition, True, loops)
                yield from _search(child, leaf, loops)
                return
        for condition in conditions:
            before += _holds(condition, False, loops)


def _holds(condition: Arg, value: bool, loops: tuple[Do, ...]) -> Iterator[Comparison]:
    """The comparisons that follow from a condition that is true (or false)."""
    match condition:
        case Op(op="()", operands=(inner,)):
            yield from _holds(inner, value, loops)
        case Op(op=".not.", operands=(inner,)):
            yield from _holds(inner, not value, loops)
        case Op(op=".and.", operands=operands) if value:
            for operand in operands:
                yield from _holds(operand, True, loops)
        case Op(op=".or.", operands=operands) if not value:
            for operand in operands:
                yield from _holds(operand, False, loops)
        case Op(op=op, operands=(left, right)):
            if op in _ISL:
                yield _ISL[op if value else _NEGATED[op]], left, right, loops


def _has(node: Node, leaf: Leaf) -> bool:
    return any(other is leaf for other in leaves(node))
