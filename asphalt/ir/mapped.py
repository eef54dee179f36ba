"""Expressions and statements with names replaced."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from asphalt.ir.expr import (
    Arg,
    ArrayConstructor,
    Component,
    Expr,
    ImpliedDo,
    Keyword,
    Lit,
    Op,
    OpaqueExpr,
    Ref,
    Section,
    TypeSpec,
    names_in,
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
    What,
)

Change = Callable[[Ref], Expr | None]
"""What stands for a reference whose arguments are mapped already; None: the reference itself."""

_KIND = re.compile(r"_([A-Za-z]\w*)$", re.ASCII)


class NotMappedError(ValueError):
    """A part that the IR keeps as text holds a name that would change."""


def mapped(expr: Arg, change: Change) -> Arg:
    """An expression or argument with its references replaced; equal where none changes.

    Raises:
        NotMappedError: a part that is kept as text holds a name that changes.
    """
    match expr:
        case Ref(args=args):
            inner = expr if args is None else replace(expr, args=_all(args, change))
            found = change(inner)
            return inner if found is None else found
        case Component(base=base, args=args):
            listed = None if args is None else _all(args, change)
            return replace(expr, base=mapped_expr(base, change), args=listed)
        case Op(operands=operands):
            return replace(expr, operands=tuple(mapped_expr(o, change) for o in operands))
        case Section(lower=lower, upper=upper, stride=stride):
            return Section(*(_maybe(part, change) for part in (lower, upper, stride)))
        case Keyword(value=value):
            return replace(expr, value=mapped_expr(value, change))
        case OpaqueExpr(text=text, names=names):
            for name in sorted(names):
                if change(Ref(name, name)) is not None:
                    raise NotMappedError(f"{name} in {text}")
            return expr
        case ArrayConstructor(values=values, type=spec):
            inside = tuple(mapped_expr(value, change) for value in values)
            return replace(expr, values=inside, type=_type(spec, change))
        case ImpliedDo():
            return _implied_do(expr, change)
        case Lit():
            return _literal(expr, change)
    return expr


def _type(spec: TypeSpec | None, change: Change) -> TypeSpec | None:
    """An intrinsic type, whose kind may be a named constant."""
    return None if spec is None else replace(spec, kind=_maybe(spec.kind, change))


def _implied_do(loop: ImpliedDo, change: Change) -> ImpliedDo:
    """A loop in a constructor.  What becomes of a variable with the name of the loop's own one
    concerns that only in so far as the two have one type: another name is one of both."""
    variable = change(loop.variable)
    if variable is None:
        variable = loop.variable
    if not isinstance(variable, Ref) or variable.args is not None:
        raise NotMappedError(f"{loop.variable.spelled}, the variable of an implied DO")
    renamed = variable

    def inside(ref: Ref) -> Expr | None:
        if ref.name == loop.variable.name:
            return replace(renamed, args=ref.args)
        found = change(ref)
        own = renamed.name == ref.name if found is None else renamed.name in _brought(found, ref)
        if own:
            raise NotMappedError(f"{ref.spelled} in an implied DO of {renamed.spelled}")
        return found

    return ImpliedDo(
        tuple(mapped_expr(value, inside) for value in loop.values),
        renamed,
        mapped_expr(loop.first, change),
        mapped_expr(loop.last, change),
        _maybe(loop.step, change),
    )


def _brought(found: Expr, ref: Ref) -> frozenset[str]:
    """The names that stand for a reference and were not among its subscripts."""
    return names_in(found).difference(*map(names_in, ref.args or ()))


def mapped_expr(expr: Expr, change: Change) -> Expr:
    """``mapped`` for an expression that is not an argument form."""
    found = mapped(expr, change)
    assert isinstance(found, Expr)
    return found


def literal_kind(lit: Lit) -> str | None:
    """The folded name of the kind of a numeric or logical constant, if it has one."""
    found = None if lit.kind == "character" else _KIND.search(lit.text)
    return None if found is None else found[1].lower()


def _literal(lit: Lit, change: Change) -> Lit:
    kind = literal_kind(lit)
    if kind is None:
        return lit
    found = change(Ref(kind, kind))
    match found:
        case None:
            return lit
        case Ref(spelled=text, args=None) | Lit(kind="integer", text=text):
            return Lit(lit.kind, f"{_KIND.sub('', lit.text)}_{text}")
    raise NotMappedError(f"the kind of {lit.text}")


def _all(args: tuple[Arg, ...], change: Change) -> tuple[Arg, ...]:
    return tuple(mapped(arg, change) for arg in args)


def _maybe(expr: Expr | None, change: Change) -> Expr | None:
    return None if expr is None else mapped_expr(expr, change)


def mapped_what(
    what: What, change: Change, label: Callable[[int], int] = lambda label: label
) -> What:
    """A statement with its references changed, and the labels that it goes to.

    Raises:
        NotMappedError: the statement changes and is one that the IR does not hold completely.
    """
    match what:
        case Assign(target=target, value=value):
            return replace(
                what, target=mapped_expr(target, change), value=mapped_expr(value, change)
            )
        case Call(procedure=procedure, args=args):
            return Call(mapped_expr(procedure, change), _all(args, change))
        case DoHead(var=var, first=first, last=last, step=step, condition=condition):
            return replace(
                what,
                var=_maybe(var, change),
                first=_maybe(first, change),
                last=_maybe(last, change),
                step=_maybe(step, change),
                condition=_maybe(condition, change),
                label=None if what.label is None else label(what.label),
            )
        case ArmHead(exprs=exprs):
            return replace(what, exprs=_all(exprs, change))
        case Guarded(condition=condition, action=action):
            inner = mapped_what(action, change, label)
            guard = mapped_expr(condition, change)
            if isinstance(action, IO) and guard != condition:
                raise NotMappedError(f"the condition of the {action.kind.upper()} statement")
            return replace(what, condition=guard, action=inner)
        case Jump(labels=labels, exprs=exprs):
            return replace(
                what,
                labels=tuple(map(label, labels)),
                exprs=tuple(mapped_expr(e, change) for e in exprs),
            )
        case Allocation(objects=objects, options=options):
            return replace(
                what,
                objects=tuple(mapped_expr(o, change) for o in objects),
                options=tuple(replace(o, value=mapped_expr(o.value, change)) for o in options),
            )
        case IO(kind=kind, reads=reads, writes=writes, labels=labels):
            same = _all(reads, change) == reads and _all(writes, change) == writes
            if not same or tuple(map(label, labels)) != labels:
                raise NotMappedError(f"the {kind.upper()} statement")
    return what
