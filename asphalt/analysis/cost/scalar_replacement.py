"""The names that statements define, and the array elements that a loop keeps in a register."""

from __future__ import annotations

from collections.abc import Iterable

from asphalt.analysis.symbolic.polynomials import folded
from asphalt.ir.expr import Arg, Component, Expr, Keyword, Ref, names_in, walk
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
    What,
)
from asphalt.ir.tree import Leaf, Node, leaves


def root_name(expr: Arg) -> str | None:
    """The variable that contains a designator's object."""
    while isinstance(expr, Component | Keyword):
        expr = expr.base if isinstance(expr, Component) else expr.value
    return expr.name if isinstance(expr, Ref) else None


def defined_by(what: What) -> frozenset[str]:
    """The names that a statement may define, and ``name()`` where it may define a shape, too."""
    match what:
        case Assign(target=Ref(args=tuple()) as target, pointer=False):
            found = {root_name(target)}
        case Assign(target=target):
            found = _with_shape({root_name(target)})
        case Guarded(action=action):
            return defined_by(action)
        case DoHead(var=Ref(name=name)):
            found = {name}
        case IO(writes=writes):
            found = {root_name(item) for item in writes}
        case Allocation(objects=objects, options=options):
            items = (*objects, *(option.value for option in options))
            found = _with_shape({root_name(item) for item in items})
        case Call(args=args):
            given = frozenset().union(*(names_in(arg) for arg in args))
            return given | {f"{name}()" for name in given}
        case Opaque(names=names):
            return names | {f"{name}()" for name in names}
        case _:
            return frozenset()
    return frozenset(name for name in found if name is not None)


def _with_shape(names: set[str | None]) -> set[str | None]:
    return names | {f"{name}()" for name in names if name is not None}


def defined_in(nodes: Iterable[Node]) -> frozenset[str]:
    """The names whose value, shape or target statements may define."""
    return frozenset().union(*(defined_by(leaf.what) for node in nodes for leaf in leaves(node)))


def expressions(what: What) -> tuple[Arg, ...]:
    """The expressions of an executable statement."""
    match what:
        case Assign(target=target, value=value):
            return (target, value)
        case Call(procedure=procedure, args=args):
            return (procedure, *args)
        case DoHead(var=var, first=first, last=last, step=step, condition=condition):
            parts = (var, first, last, step, condition)
            return tuple(part for part in parts if part is not None)
        case ArmHead(exprs=exprs) | Jump(exprs=exprs):
            return exprs
        case Guarded(condition=condition, action=action):
            return (condition, *expressions(action))
        case IO(reads=reads, writes=writes):
            return (*reads, *writes)
        case Allocation(objects=objects, options=options):
            return (*objects, *options)
    return ()


def kept_in_registers(body: tuple[Node, ...], variable: str) -> frozenset[str]:
    """The arrays of which a loop changes only one, loop-invariant, element."""
    own = [leaf for node in body for leaf in leaves(node)]
    defined = frozenset().union(*(defined_by(leaf.what) for leaf in own)) | {variable}
    targets = {
        leaf.what.target.name
        for leaf in own
        if isinstance(leaf.what, Assign)
        and isinstance(leaf.what.target, Ref)
        and leaf.what.target.args is not None
    }
    return frozenset(name for name in targets if _one_element(name, own, defined - {name}))


def _one_element(name: str, own: list[Leaf], varying: frozenset[str]) -> bool:
    seen: set[Arg] = set()
    for leaf in own:
        if isinstance(leaf.what, Call | IO | Opaque) and any(
            name in names_in(expr) for expr in expressions(leaf.what)
        ):
            return False
        for expr in expressions(leaf.what):
            seen |= {
                folded(part) for part in walk(expr) if isinstance(part, Ref) and part.name == name
            }
    return len(seen) == 1 and not any(names_in(expr) & varying for expr in seen)


def subscripted(expr: Expr) -> bool:
    """Whether a designator has a list of subscripts."""
    return isinstance(expr, Ref | Component) and expr.args is not None
