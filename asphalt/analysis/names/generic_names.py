"""The specific procedure of a reference by a generic name (F2018 section 15.5.5.2), if certain.

It is certain if the whole tree has one interface block of the name, asphalt sees every procedure in
it, and the arguments of the call exclude all of them but one by number, type, kind or rank.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from asphalt.analysis.names.constants import DEFAULT_KINDS, OTHER_KINDS, Kinds
from asphalt.analysis.names.derived_types import type_definition
from asphalt.analysis.names.expression_ranks import rank_of, result_of
from asphalt.analysis.names.intrinsics import is_intrinsic
from asphalt.analysis.names.references import bind
from asphalt.analysis.names.resolve import gives, procedure_named, specific_named
from asphalt.analysis.names.scopes import Scope, Scopes, Symbol
from asphalt.analysis.names.type_equality import TypeKey, expression_key, symbol_key
from asphalt.ir.expr import Expr, Lit, Ref
from asphalt.ir.program import Located
from asphalt.ir.stmt import Call, Decl, UnitHead
from asphalt.ir.tree import Block, Leaf, Unit, leaves

_WITH_KINDS = frozenset({"integer", "real", "complex", "logical"})
_DEPTH = 8  # modules that give a name on to each other
_DOUBLE = {"double_precision": "real", "double_complex": "complex"}


def specifics(name: str, host: Located) -> tuple[str, ...] | None:
    """The procedures that the interface blocks of ``name`` in a module list; None: it has none, or
    one that holds interface bodies."""
    blocks = _blocks(name, host)
    inside = [node for block in blocks for node in block.body]
    if not blocks or not all(isinstance(node, Leaf) for node in inside):
        return None
    return tuple(
        entity.name
        for node in inside
        if isinstance(node, Leaf) and isinstance(node.what, Decl)
        for entity in node.what.entities
    )


def named(call: Call, scope: Scope) -> Located | None:
    """The procedure of the tree that a call names, by its own or a generic name; None: unknown."""
    name = call.procedure.name if isinstance(call.procedure, Ref) else None
    symbol = None if name is None else scope.lookup(name)
    if name is None or symbol is None or "generic" not in symbol.attrs:
        return procedure_named(call.procedure, scope)
    return specific_of(call, symbol.name, scope)


def specific_of(call: Call, generic: str, scope: Scope) -> Located | None:
    """The specific procedure of a reference by a generic name; None: more than one may be meant,
    or some are not in the tree."""
    if is_intrinsic(generic):
        return None
    candidates = all_specifics(generic, scope) or ()
    possible = fitting(call, [scope.scopes.of(one) for one in candidates], scope)
    return possible[0].located if len(possible) == 1 else None


def all_specifics(name: str, scope: Scope) -> tuple[Located, ...] | None:
    """The specific procedures of a generic name; None: one of them, or a module that may add more,
    is not in the tree."""
    found: list[Located] = []
    for specific, home in _specifics(name, scope, _DEPTH):
        one = None if home is None else specific_named(specific, home)
        if one is None:
            return None
        if all(one.chain != other.chain for other in found):
            found.append(one)
    return tuple(found)


def _specifics(name: str, scope: Scope, depth: int) -> Iterator[tuple[str, Scope | None]]:
    """The names of the specific procedures of a generic one, with the scopes that name them.

    None: an unknown module may add more.
    """
    here: Scope | None = scope
    while here is not None:
        for node in here.unit.spec:
            if isinstance(node, Block) and node.kind == "interface":
                head = node.head.what
                if isinstance(head, UnitHead) and head.name == name:
                    yield from ((specific, here) for specific in specific_names(node))
        for use in here.declared.uses:
            module = scope.scopes.module(use.module)
            original = use.original_name(name)
            if original is None:
                continue
            if module is not None and depth:
                if not module.hides(original):
                    yield from _specifics(original, module, depth - 1)
            elif not use.intrinsic and gives(use, name):
                yield name, None
        if here.lacks_host:
            yield name, None
        here = here.host


def specific_names(block: Block) -> Iterator[str]:
    """The names of the specific procedures of an interface."""
    for node in block.body:
        match node:
            case Unit(name=name):
                yield name
            case Leaf(what=Decl(kind="procedure", entities=entities)):
                yield from (entity.name for entity in entities)


def generic_names(procedure: Located) -> tuple[str, ...]:
    """The generic names that the module of a procedure gives to it."""
    found: dict[str, None] = {}
    for depth in range(1, len(procedure.chain)):
        host = replace(procedure, chain=procedure.chain[:depth])
        for node in host.unit.spec:
            if isinstance(node, Block) and node.kind == "interface":
                head = node.head.what
                name = head.name if isinstance(head, UnitHead) else ""
                if name and procedure.unit.name in (specifics(name, host) or ()):
                    found[name] = None
    return tuple(found)


def means(call: Call, procedure: Located, scope: Scope, scopes: Scopes) -> bool | None:
    """Whether a call by a generic name is one of this module procedure; None: not known."""
    assert isinstance(call.procedure, Ref)
    name = call.procedure.name
    program, host = scope.program, replace(procedure, chain=procedure.chain[:-1])
    for unit in program.mentions(name):
        elsewhere = (unit.path, _names(unit)) != (host.path, _names(host))
        if unit.is_unread or (elsewhere and _blocks(name, unit)):
            return None
    listed = specifics(name, host)
    if listed is None:
        return None
    found = [program.contained(host, specific) for specific in listed]
    candidates = fitting(call, [scopes.of(one) for one in found if one is not None], scope)
    names = [one.unit.name for one in candidates]
    if None in found or len(names) != 1:
        return None
    return names == [procedure.unit.name]


def may_mean(call: Call, procedure: Scope, generic: str, scope: Scope) -> bool:
    """Whether a call by a generic name may be one of this procedure."""
    if could_be(call, procedure, scope):
        return True
    if not could_be(call, procedure, scope, any_kinds=True):
        return False
    others = all_specifics(generic, scope)
    if others is None:
        return True
    found = fitting(call, [scope.scopes.of(other) for other in others], scope)
    own = procedure.located
    return any((one.located.path, _names(one.located)) == (own.path, _names(own)) for one in found)


def fitting(call: Call, candidates: Sequence[Scope], outer: Scope) -> list[Scope]:
    """The procedures that nothing known about the arguments of a call rules out.

    An option of the compiler may set the default kinds (``-fdefault-real-8``).  The program has no
    such option if then no procedure fits, or more than one, as no interface allows (F2018
    15.4.3.4.5).  If kinds rule out all of them anyway, they rule out none.
    """
    found = [one for one in candidates if could_be(call, one, outer)]
    if not found:
        return [one for one in candidates if could_be(call, one, outer, any_kinds=True)]
    for kinds in OTHER_KINDS if len(candidates) > 1 else ():
        others = [one for one in candidates if could_be(call, one, outer, kinds=kinds)]
        if len(others) == 1 and all(one is not others[0] for one in found):
            found += others
    return found


def _names(located: Located) -> tuple[str, ...]:
    return tuple(unit.name for unit in located.chain)


def _blocks(name: str, host: Located) -> list[Block]:
    return [
        node
        for node in host.unit.spec
        if isinstance(node, Block)
        and node.kind == "interface"
        and isinstance(node.head.what, UnitHead)
        and node.head.what.name == name
    ]


def could_be(
    call: Call,
    inner: Scope,
    outer: Scope,
    *,
    any_kinds: bool = False,
    kinds: Kinds = DEFAULT_KINDS,
) -> bool:
    """Whether nothing that is known about the arguments, or ``any_kinds``: about their types and
    ranks, rules a procedure out.  ``kinds``: the default ones."""
    head = inner.head
    if head is None or inner.kind == "module_procedure":
        return True
    actuals = bind(call.args, head.args)
    if actuals is None:
        return False
    for dummy in head.args:
        symbol = inner.lookup(dummy)
        if symbol is None:
            continue
        if dummy not in actuals:
            if "optional" not in symbol.attrs:
                return False
        elif _differs(actuals[dummy], dummy, inner, outer, None if any_kinds else kinds):
            return False
    return True


def _differs(actual: Expr, dummy: str, inner: Scope, outer: Scope, kinds: Kinds | None) -> bool:
    """Whether an argument certainly has another type, kind or rank than the dummy.

    The ranks agree where a generic name refers to a procedure that is not elemental (F2018
    15.5.2.4).
    """
    taken = inner.lookup(dummy)
    if taken is None or taken.type is None or _takes_any(taken):
        return False
    if _has_another_type(actual, taken, inner, outer, kinds):
        return True
    rank = None if _is_elemental(inner) else rank_of(actual, outer)
    return rank is not None and rank != len(taken.dims or ())


def _has_another_type(
    actual: Expr, taken: Symbol, inner: Scope, outer: Scope, kinds: Kinds | None
) -> bool:
    known_kinds = DEFAULT_KINDS if kinds is None else kinds
    given = _type_given(actual, outer, known_kinds)
    own = symbol_key(taken, inner, known_kinds)
    base = _DOUBLE.get(taken.type.base, taken.type.base) if taken.type is not None else None
    if given is None:
        known = _base_given(actual, outer)
        return known is not None and known != base and "class" not in (known, base)
    if given[0] != base:
        return base != "class" or given[0] != "type"
    if kinds is None and base in _WITH_KINDS:
        return False
    if base not in _WITH_KINDS and (base != "type" or _may_be_defined_twice(taken, inner)):
        return False
    return own is not None and given != own


def _may_be_defined_twice(taken: Symbol, scope: Scope) -> bool:
    """Whether another definition may be of the same derived type (F2018 7.5.2.4)."""
    home = taken.home if isinstance(taken.home, Scope) else scope
    name = taken.type.name if taken.type is not None else None
    found = type_definition(name.lower(), home) if name is not None else None
    if found is None:
        return True
    lines = [leaf.body or "" for leaf in leaves(found[0])]
    if any({"sequence", "bind"} & leaf.cut for leaf in leaves(found[0])):
        return True
    return any(re.match(r"sequence\b|type\b.*\bbind\b", line.strip().lower()) for line in lines)


def _type_given(actual: Expr, scope: Scope, kinds: Kinds) -> TypeKey | None:
    """The type of an argument; None: not known."""
    if isinstance(actual, Ref) and actual.args is not None:
        found = result_of(actual, scope)
        if found is not None:
            return symbol_key(*found, kinds)
    return expression_key(actual, scope, kinds)


def _base_given(actual: Expr, scope: Scope) -> str | None:
    """The type of a literal or of a variable, of whatever kind; None: not known."""
    if isinstance(actual, Lit):
        return actual.kind if actual.kind in (*_WITH_KINDS, "character") else None
    symbol = scope.lookup(actual.name) if isinstance(actual, Ref) else None
    if symbol is None or symbol.type is None or not isinstance(actual, Ref):
        return None
    if actual.args is not None and symbol.dims is None:
        return None  # a function's result, or a part of a string
    return _DOUBLE.get(symbol.type.base, symbol.type.base)


def _takes_any(dummy: Symbol) -> bool:
    """Whether a dummy is of assumed type or assumed rank."""
    ranks = any(dim.kind == "assumed_rank" for dim in dummy.dims or ())
    return ranks or (dummy.type is not None and dummy.type.name == "*")


def _is_elemental(scope: Scope) -> bool:
    return scope.head is not None and "elemental" in scope.head.prefix
