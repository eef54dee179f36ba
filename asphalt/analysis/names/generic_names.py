"""The specific procedure of a reference by a generic name (F2018 section 15.5.5.2), if certain.

It is certain if the whole tree has one interface block of the name, asphalt sees every procedure in
it, and the arguments of the call exclude all of them but one by number, type, kind or rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asphalt.analysis.names.intrinsics import is_intrinsic
from asphalt.analysis.names.references import bind
from asphalt.analysis.names.resolve import gives, procedure_named, specific_named
from asphalt.analysis.names.scopes import Scope, Scopes, Symbol, element_bytes
from asphalt.ir.expr import AltReturn, Expr, Keyword, Lit, Ref, Section
from asphalt.ir.program import Located
from asphalt.ir.stmt import Call, Decl, UnitHead
from asphalt.ir.tree import Block, Leaf, Unit

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
    if is_intrinsic(symbol.name):
        return None
    candidates = all_specifics(name, scope) or ()
    possible = [one for one in candidates if could_be(call, scope.scopes.of(one), scope)]
    return possible[0] if len(possible) == 1 else None


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
                yield from _specifics(original, module, depth - 1)
            elif not use.intrinsic and gives(use, name):
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


def is_meant(call: Call, procedure: Located, scope: Scope, scopes: Scopes) -> bool:
    """Whether a call by a generic name certainly is one of this module procedure."""
    assert isinstance(call.procedure, Ref)
    name = call.procedure.name
    program, host = scope.program, replace(procedure, chain=procedure.chain[:-1])
    for unit in program.mentions(name):
        elsewhere = (unit.path, _names(unit)) != (host.path, _names(host))
        if unit.is_unread or (elsewhere and _blocks(name, unit)):
            return False
    listed = specifics(name, host)
    if listed is None:
        return False
    candidates = []
    for specific in listed:
        located = program.contained(host, specific)
        if located is None:
            return False
        if could_be(call, scopes.of(located), scope):
            candidates.append(specific)
    return candidates == [procedure.unit.name]


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


def could_be(call: Call, inner: Scope, outer: Scope) -> bool:
    """Whether nothing that is known about the arguments rules a procedure out."""
    head = inner.unit.head.what if inner.unit.head is not None else None
    if not isinstance(head, UnitHead):
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
        elif _differs(actuals[dummy], dummy, inner, outer):
            return False
    return True


def _differs(actual: Expr, dummy: str, inner: Scope, outer: Scope) -> bool:
    """Whether an argument certainly has another type, kind or rank than the dummy."""
    if isinstance(actual, Lit) and actual.kind in ("integer", "real", "logical", "character"):
        symbol = inner.lookup(dummy)
        if symbol is None or symbol.type is None or _takes_any(symbol):
            return False
        base = _DOUBLE.get(symbol.type.base, symbol.type.base)
        elemental = _is_elemental(inner)
        return base not in (actual.kind, "class") or (bool(symbol.dims) and not elemental)
    if not isinstance(actual, Ref):
        return False
    given, taken = outer.lookup(actual.name), inner.lookup(dummy)
    if given is None or taken is None or given.type is None or taken.type is None:
        return False
    if _takes_any(taken):
        return False
    if actual.args is not None and given.dims is None:
        return False  # a function's result, or a part of a string
    bases = {
        _DOUBLE.get(symbol.type.base, symbol.type.base) for symbol in (given, taken) if symbol.type
    }
    if len(bases) > 1:
        return "class" not in bases
    sizes = {element_bytes(given, outer), element_bytes(taken, inner)}
    if bases <= _WITH_KINDS and None not in sizes and len(sizes) > 1:
        return True
    if actual.args is not None and any(
        isinstance(arg, Section | Keyword | AltReturn | Ref) for arg in actual.args
    ):
        return False  # a section, maybe by an array of subscripts
    if taken.dims is not None and any(dim.kind == "assumed_rank" for dim in taken.dims):
        return False
    if _is_elemental(inner):
        return False
    rank = len(given.dims or ()) if actual.args is None else 0
    return rank != len(taken.dims or ())


def _takes_any(dummy: Symbol) -> bool:
    """Whether a dummy is of assumed type or assumed rank."""
    ranks = any(dim.kind == "assumed_rank" for dim in dummy.dims or ())
    return ranks or (dummy.type is not None and dummy.type.name == "*")


def _is_elemental(scope: Scope) -> bool:
    head = scope.unit.head.what if scope.unit.head is not None else None
    return isinstance(head, UnitHead) and "elemental" in head.prefix
