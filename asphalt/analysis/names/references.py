"""How statements refer to a procedure or a variable by its name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from asphalt.analysis.names.openmp_sentinels import hidden_statements
from asphalt.ir.expr import (
    AltReturn,
    Arg,
    Expr,
    ImpliedDo,
    Keyword,
    Lit,
    Ref,
    Section,
    TypeSpec,
    Unstructured,
    names_in,
    walk,
)
from asphalt.ir.mapped import literal_kind
from asphalt.ir.program import Located
from asphalt.ir.stmt import (
    IO,
    Allocation,
    ArmHead,
    Assign,
    Call,
    Decl,
    Dim,
    DoHead,
    Entity,
    Guarded,
    Include,
    Jump,
    Opaque,
    Plain,
    Raw,
    StatementFunction,
    UnitHead,
    Use,
    What,
)
from asphalt.ir.tree import Block, Leaf, Node, Unit, leaves
from asphalt.support.identity_cache import IdentityCache

_WORD = re.compile(r"[a-z]\w*")
_NAME_AHEAD = re.compile(r"([A-Za-z]\w*)_['\"]")


def bind(args: tuple[Arg, ...], dummies: tuple[str, ...]) -> dict[str, Expr] | None:
    """Actual arguments by dummy argument name; None: they do not fit."""
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
            elif isinstance(part, Unstructured) and name in part.names:
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


def named_by(what: What) -> frozenset[str] | None:
    """All names in a statement (folded), with those that it declares; None: the IR does not hold
    all of them."""
    return _NAMED(what)


def _named_by(what: What) -> frozenset[str] | None:
    found: set[str] = set()
    for one in actions(what):
        for expr in expressions_of(one):
            found |= names_with_kinds(expr)
        match one:
            case Raw() | Opaque() | Include() | Decl(kind="data") | Plain(keyword="entry"):
                return None
            case Call(procedure=procedure):
                found |= names_with_kinds(procedure)
            case StatementFunction(name=name, args=args, value=value):
                found |= {name, *args, *names_with_kinds(value)}
            case UnitHead(name=name, args=args, result=result, type=spec):
                found |= {name, *args, *({result} if result else ()), *_named_by_type(spec)}
            case Use(items=items):
                found |= {item.local for item in items}
            case Decl():
                found |= named_around(one)
                for entity in (*one.entities, *(e for _, group in one.groups for e in group)):
                    found |= {entity.name} | named_by_entity(entity)
    return frozenset(found)


_NAMED = IdentityCache(_named_by, 16_384)  # texts of one program share most statements


def named_around(decl: Decl) -> frozenset[str]:
    """The names in a declaration except its entities: in its type, attributes and dimensions."""
    found = {word for attribute in decl.attrs for word in _WORD.findall(attribute)}
    return frozenset(found) | _named_by_type(decl.type) | _named_by_dims(decl.dims)


def named_by_entity(entity: Entity) -> frozenset[str]:
    """The names in the declaration of an entity: in its dimensions, length and initial value."""
    found = _named_by_dims(entity.dims)
    for part in (entity.length, entity.initial):
        if part is not None:
            found |= names_with_kinds(part)
    return found


def names_with_kinds(expr: Arg) -> frozenset[str]:
    """The names in an expression, including the kinds of literal constants, and the variables of
    implied DO loops, whose types come from outside (F2018 19.4)."""
    found = set(names_in(expr))
    for part in walk(expr):
        match part:
            case Lit():
                found.update(_kinds(part))
            case ImpliedDo(values=values, variable=variable, bounds=bounds):
                found.add(variable.name)
                found.update(*map(names_with_kinds, (*values, *bounds)))
    return frozenset(found)


def _kinds(lit: Lit) -> Iterator[str]:
    match lit.kind:
        case "character":
            ahead = _NAME_AHEAD.match(lit.text)
            if ahead is not None:
                yield ahead[1].lower()
        case "complex":
            for part in lit.text.strip("()").split(","):
                yield from _kinds(Lit("real", part.strip()))
        case _:
            kind = literal_kind(lit)
            if kind is not None:
                yield kind


def _named_by_type(spec: TypeSpec | None) -> frozenset[str]:
    if spec is None:
        return frozenset()
    found = frozenset() if spec.name is None else frozenset({spec.name.lower()})
    for part in (spec.kind, spec.length):
        if part is not None:
            found |= names_with_kinds(part)
    return found


def _named_by_dims(dims: tuple[Dim, ...] | None) -> frozenset[str]:
    bounds = (bound for dim in dims or () for bound in (dim.lower, dim.upper) if bound is not None)
    return frozenset().union(*map(names_with_kinds, bounds))


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


def generic_listings(located: Located, name: str) -> frozenset[str]:
    """The generic names, operators and assignments (``operator(+)``) that interface blocks of a
    unit give to a specific procedure."""
    return frozenset(
        generic
        for generic, leaf in _listed(located)
        if (isinstance(leaf.what, UnitHead) and leaf.what.name == name)
        or (isinstance(leaf.what, Decl) and any(e.name == name for e in leaf.what.entities))
    )


def _listed(located: Located) -> Iterator[tuple[str, Leaf]]:
    """The statements of interface blocks with a name that list procedures, each with the name."""
    for node in located.unit.spec:
        if not isinstance(node, Block) or node.kind != "interface":
            continue
        head = node.head.what
        if not isinstance(head, UnitHead) or not head.name:
            continue
        for inner in node.body:
            if isinstance(inner, Leaf) and isinstance(inner.what, Decl):
                yield head.name, inner
            elif isinstance(inner, Unit) and inner.head is not None:
                yield head.name, inner.head


def is_in_specification(located: Located, name: str) -> bool:
    """Whether a declaration of a unit may evaluate a function of a name, or do more with the name
    than make it accessible."""
    for node in located.unit.spec:
        if isinstance(node, Block) and node.kind == "interface":
            continue
        for leaf in leaves(node):
            what = leaf.what
            if isinstance(what, Include | Use) or (
                isinstance(what, Decl) and what.kind in ("public", "private")
            ):
                continue
            named = named_by(what)
            if named is None or name in named:
                return True
    return False


def is_only_component(located: Located, name: str) -> bool:
    """Whether a unit uses a name, wherever it does, for components of structures alone."""
    unit = located.unit
    for node in unit.spec:
        own = isinstance(node, Block) and node.kind == "type"
        for leaf in leaves(node):
            what = leaf.what
            if isinstance(what, Include):
                continue
            if own and isinstance(what, Decl):
                parts = (named_by_entity(entity) for entity in what.entities)
                named: frozenset[str] | None = named_around(what).union(*parts)
            else:
                named = named_by(what)
            if named is None or name in named:
                return False
    return not any(
        any(True for _ in references(what, name))
        or any(name in hidden.names for hidden in hidden_statements(leaf))
        or isinstance(what, Opaque | Raw)
        for node in unit.body
        for leaf in leaves(node)
        for what in actions(leaf.what)
    )


def passed_on(located: Located, name: str, generic: bool = True) -> bool:
    """Whether a procedure has another name, or uninterpreted statements may call it.

    ``generic``: a generic name counts as another name (``generic_listings`` has them).
    """
    if any(use_renames(located, name)):
        return True
    listing = set() if generic else {id(leaf) for _, leaf in _listed(located)}
    for leaf in _spec_leaves(located):
        match leaf.what:
            case Decl(kind="procedure" | "generic", attrs=attrs, entities=entities, groups=groups):
                grouped = [e.name for _, group in groups for e in group]
                own = "pointer" not in attrs and not any(a.startswith("interface") for a in attrs)
                named = any(own and e.name == name and e.initial is None for e in entities)
                if name in grouped or (named and id(leaf) not in listing):
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
        # most lines have nothing in front of them, and are asked about often
        or (leaf.lead and any(name in hidden.names for hidden in hidden_statements(leaf)))
        for leaf in (
            *(leaf for node in (*unit.spec, *unit.body) for leaf in leaves(node)),
            *closing,
        )
    )


def given_other_names(body: Iterable[Node]) -> frozenset[str]:
    """The variables that constructs associate with another name, and those in statements that
    asphalt does not understand."""
    found: set[str] = set()
    for node in body:
        for leaf in leaves(node):
            match leaf.what:
                case ArmHead(exprs=exprs):
                    for part in exprs:
                        if isinstance(part, Keyword):
                            found |= names_in(part.value)
                case Opaque(names=names):
                    found |= names
                case Raw(code=code):
                    found |= set(re.findall(r"[a-z_]\w*", code.lower()))
    return frozenset(found)
