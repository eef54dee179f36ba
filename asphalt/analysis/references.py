"""How statements refer to a procedure or a variable by its name."""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.conditional_lines import hidden_statements
from asphalt.ir.expr import AltReturn, Arg, Expr, Keyword, OpaqueExpr, Ref, Section, names_in, walk
from asphalt.ir.program import Located
from asphalt.ir.stmt import (
    IO,
    Allocation,
    ArmHead,
    Assign,
    Call,
    Decl,
    DoHead,
    Guarded,
    Jump,
    Opaque,
    Raw,
    Use,
    What,
)
from asphalt.ir.tree import Leaf, leaves


def bind(args: tuple[Arg, ...], dummies: tuple[str, ...]) -> dict[str, Expr] | None:
    """Actual arguments by dummy name; None where they do not fit."""
    bound: dict[str, Expr] = {}
    for position, arg in enumerate(args):
        match arg:
            case Keyword(name=name, value=value):
                bound[name] = value
            case AltReturn():
                continue
            case Section():
                return None
            case _ if position < len(dummies):
                bound[dummies[position]] = arg
            case _:
                return None
    return bound if set(bound) <= set(dummies) else None


def references(what: What, name: str) -> Iterator[tuple[Arg, ...] | None]:
    """The argument lists with which a statement refers to a name; None: without a list."""
    if isinstance(what, Call) and isinstance(what.procedure, Ref) and what.procedure.name == name:
        yield what.args
    for expr in expressions_of(what):
        for part in walk(expr):
            if isinstance(part, Ref) and part.name == name:
                yield part.args
            elif isinstance(part, OpaqueExpr) and name in part.names:
                yield None


def expressions_of(what: What) -> tuple[Arg, ...]:
    """The expressions of a statement, a called procedure's name excluded; of a one-line IF, its
    condition."""
    match what:
        case Assign(target=target, value=value):
            return (target, value)
        case Call(args=args):
            return args
        case DoHead(var=var, first=first, last=last, step=step, condition=condition):
            parts = (var, first, last, step, condition)
            return tuple(part for part in parts if part is not None)
        case ArmHead(exprs=exprs):
            return exprs
        case Guarded(condition=guard):
            return (guard,)
        case Jump(exprs=jumped):
            return jumped
        case IO(reads=reads, writes=writes):
            return (*reads, *writes)
        case Allocation(objects=objects, options=options):
            return (*objects, *options)
        case _:
            return ()


def actions(what: What) -> Iterator[What]:
    """A statement, and the action of a one-line IF."""
    yield what
    if isinstance(what, Guarded):
        yield from actions(what.action)


def use_renames(located: Located, name: str) -> Iterator[str]:
    """The other names that USE statements of a unit give to ``name``."""
    for leaf in _spec_leaves(located):
        if isinstance(leaf.what, Use):
            for item in leaf.what.items:
                if item.name == name and item.local != name:
                    yield item.local


def _spec_leaves(located: Located) -> Iterator[Leaf]:
    for node in located.unit.spec:
        yield from leaves(node)


def passed_on(located: Located, name: str) -> bool:
    """Whether a procedure gets another name, or may be called by statements that are not read."""
    if any(use_renames(located, name)):
        return True
    for leaf in _spec_leaves(located):
        match leaf.what:
            case Decl(kind="procedure" | "generic", entities=entities, groups=groups):
                grouped = [e.name for _, group in groups for e in group]
                if name in grouped or any(e.name == name for e in entities):
                    return True
                if any(e.initial is not None and name in names_in(e.initial) for e in entities):
                    return True
            case Opaque(names=names) if name in names:
                return True
            case Raw(code=code) if name in code.lower():
                return True
    unit = located.unit
    closing = (*((unit.contains,) if unit.contains is not None else ()), unit.end)
    return any(
        isinstance(leaf.what, Raw)
        or (isinstance(leaf.what, Opaque) and name in leaf.what.names)
        or any(name in hidden.names for hidden in hidden_statements(leaf))
        for leaf in (
            *(leaf for node in (*unit.spec, *unit.body) for leaf in leaves(node)),
            *closing,
        )
    )
