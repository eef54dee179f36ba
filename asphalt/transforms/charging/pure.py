"""Pure procedures in a charged program: a charged procedure is not pure (F2018 15.7).

A procedure may lose its purity if nothing requires it: no specification expression, FORALL, DO
CONCURRENT or interface mentions it, and each pure procedure that calls it may also lose its purity.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from asphalt.analysis.cost.scalar_replacement import expressions
from asphalt.ir.expr import Arg, Ref, names_in, walk
from asphalt.ir.program import Located
from asphalt.ir.stmt import ArmHead, Call, Decl, DoHead, Opaque, UnitHead
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, Unit, leaves

_PREFIXES = re.compile(r"\b(pure|elemental)\b", re.IGNORECASE)
_KEYWORD = re.compile(r"\b(subroutine|function|procedure)\b", re.IGNORECASE)


def is_pure(unit: Unit) -> bool:
    """Whether a procedure is declared to be pure."""
    head = unit.head.what if unit.head is not None else None
    if not isinstance(head, UnitHead):
        return False
    return "impure" not in head.prefix and bool({"pure", "elemental"} & set(head.prefix))


def may_lose_purity(units: Iterable[Located]) -> frozenset[str]:
    """The names of the pure procedures that need not be pure."""
    units = tuple(units)
    candidates = {located.unit.name for located in units if is_pure(located.unit)}
    for located in units:
        own = _result(located.unit)
        for used in _where_purity_is_needed(located.unit):
            if used != own:
                candidates.discard(used)
    while True:
        kept = {
            name
            for located in units
            if is_pure(located.unit) and located.unit.name not in candidates
            for name in _mentioned(located.unit) & candidates
        }
        if not kept:
            return frozenset(candidates)
        candidates -= kept


def _result(unit: Unit) -> str | None:
    """The name of a function that is also that of its result."""
    head = unit.head.what if unit.head is not None else None
    return unit.name if isinstance(head, UnitHead) and head.result is None else None


def _mentioned(unit: Unit) -> frozenset[str]:
    return frozenset().union(
        *(
            names_in(expr)
            for node in unit.body
            for leaf in leaves(node)
            for expr in expressions(leaf.what)
        )
    )


def _where_purity_is_needed(unit: Unit) -> Iterator[str]:
    for node in unit.spec:
        yield from _in_specification(node)
    yield from _in_statements(unit.body)


def _in_specification(node: Node) -> Iterator[str]:
    if isinstance(node, Block):
        for inner in node.body:
            if isinstance(inner, Unit):
                yield inner.name  # an interface says that it is pure
            elif node.kind == "type":
                yield from _in_specification(inner)
        return
    for leaf in leaves(node):
        if not isinstance(leaf.what, Decl):
            continue
        if leaf.what.kind == "procedure":
            for entity in leaf.what.entities:
                yield entity.name
                if entity.initial is not None:
                    yield from names_in(entity.initial)
        for expr in _in_declaration(leaf.what):
            yield from names_in(expr)


def _in_declaration(decl: Decl) -> Iterator[Arg]:
    dims = [*(decl.dims or ()), *(d for e in decl.entities for d in e.dims or ())]
    for dim in dims:
        yield from (bound for bound in (dim.lower, dim.upper) if bound is not None)
    for entity in decl.entities:
        yield from (e for e in (entity.length, entity.initial) if e is not None)
    if decl.type is not None:
        yield from (e for e in (decl.type.kind, decl.type.length) if e is not None)


def _in_statements(nodes: Iterable[Node]) -> Iterator[str]:
    for node in nodes:
        match node:
            case Do(head=Leaf(what=DoHead(kind="concurrent"))) | Block(kind="forall"):
                for leaf in leaves(node):
                    for expr in expressions(leaf.what):
                        yield from names_in(expr)
                continue
        for leaf in leaves(node):
            yield from _in_statement(leaf)
        match node:
            case Do(body=body) | Block(body=body):
                yield from _in_statements(body)
            case Branch(arms=arms):
                for arm in arms:
                    yield from _in_statements(arm.body)


def _in_statement(leaf: Leaf) -> Iterator[str]:
    what = leaf.what
    match what:
        case Opaque(names=names):
            yield from names
        case ArmHead(kind="forall", exprs=exprs):
            for expr in exprs:
                yield from names_in(expr)
        case Call(args=args):  # a procedure that is passed on
            for arg in args:
                if isinstance(arg, Ref) and arg.args is None:
                    yield arg.name
        case Decl():
            for expr in _in_declaration(what):
                yield from names_in(expr)
    for expr in expressions(what):
        for part in walk(expr):
            if isinstance(part, Ref) and part.args is not None:
                yield from (a.name for a in part.args if isinstance(a, Ref) and a.args is None)


def without_purity(unit: Unit, width: int) -> Unit | None:
    """The procedure, not pure any more; None: its first statement cannot be edited.

    ``width``: the line limit in columns, 0 for none.
    """
    leaf = unit.head
    if leaf is None or leaf.body is None or leaf.frozen or not isinstance(leaf.what, UnitHead):
        return None
    keyword = _KEYWORD.search(leaf.body)
    if keyword is None:
        return None
    prefix, rest = leaf.body[: keyword.start()], leaf.body[keyword.start() :]
    words = [word.lower() for word in _PREFIXES.findall(prefix)]
    if "elemental" in words:
        bare = re.sub(r"\bpure\b\s*", "", prefix, flags=re.IGNORECASE)
        new = re.sub(r"\belemental\b", "impure elemental", bare, flags=re.IGNORECASE)
    else:
        new = re.sub(r"\bpure\b\s*", "", prefix, flags=re.IGNORECASE)
    longest = max(len(line) for line in (leaf.head + new + rest).split("\n"))
    if width and longest > width:
        return None
    return replace(unit, head=replace(leaf, body=new + rest))
