"""Names that constructs and statements of an executable part bind or define."""

from __future__ import annotations

from collections.abc import Iterable

from asphalt.analysis.names.intrinsics import is_intrinsic_function
from asphalt.ir.expr import Expr, Keyword, Ref
from asphalt.ir.stmt import IO, ArmHead, Assign, Call, Decl, DoHead, Guarded, Use, What
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, Unit, leaves, once


def names_bound_in(nodes: Iterable[Node]) -> Iterable[str]:
    """Names that ASSOCIATE, SELECT TYPE and BLOCK constructs bind (construct and block scope)."""
    for node in nodes:
        match node:
            case Block(kind=kind, head=head, body=body):
                yield from _bound_by(head.what)
                if kind == "block":
                    for child in body:
                        if isinstance(child, Leaf) and isinstance(child.what, Decl):
                            yield from (entity.name for entity in child.what.entities)
                        if isinstance(child, Leaf) and isinstance(child.what, Use):
                            yield from (item.local for item in child.what.items)
                yield from names_bound_in(body)
            case Do(body=body):
                yield from names_bound_in(body)
            case Branch(arms=arms):
                for arm in arms:
                    yield from _bound_by(arm.head.what)
                    yield from names_bound_in(arm.body)
            case _:
                pass


def _bound_by(what: What) -> Iterable[str]:
    if isinstance(what, ArmHead):
        yield from (part.name for part in what.exprs if isinstance(part, Keyword))


def defined_without_list(what: What) -> set[str]:
    """The names that a statement defines without a list behind them: certainly variables."""
    match what:
        case Assign(target=target):
            return _plain(target)
        case DoHead(var=var):
            return _plain(var)
        case Guarded(action=action):
            return defined_without_list(action)
        case IO(writes=writes):
            return {part.name for part in writes if isinstance(part, Ref) and part.args is None}
        case _:
            return set()


def _plain(target: Expr | None) -> set[str]:
    return {target.name} if isinstance(target, Ref) and target.args is None else set()


def called_functions(unit: Unit) -> frozenset[str]:
    """Names of intrinsic functions that CALL statements of the body have: a subroutine with such a
    name is the program's own (F2018 19.5.1.4)."""
    return once(unit, _called_functions)


def _called_functions(unit: Unit) -> frozenset[str]:
    calls = (leaf.action for node in unit.body for leaf in leaves(node))
    return frozenset(
        call.procedure.name
        for call in calls
        if isinstance(call, Call)
        and isinstance(call.procedure, Ref)
        and is_intrinsic_function(call.procedure.name)
    )


def plain_variables(unit: Unit) -> frozenset[str]:
    """Names that statements of the body define without a list: certainly variables."""
    return once(unit, _plain_variables)


def _plain_variables(unit: Unit) -> frozenset[str]:
    found: set[str] = set()
    for node in unit.body:
        for leaf in leaves(node):
            found |= defined_without_list(leaf.what)
    return frozenset(found)
