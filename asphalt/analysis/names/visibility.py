"""What a unit sees, and from where: modules, include files, COMMON blocks, interface bodies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from asphalt.analysis.names.constants import constant
from asphalt.analysis.names.designators import declarations_on_the_way
from asphalt.analysis.names.intrinsic_modules import is_intrinsic_module
from asphalt.analysis.names.references import named_by
from asphalt.analysis.names.scopes import Origin, Scope, Symbol
from asphalt.analysis.names.type_equality import symbol_key
from asphalt.analysis.symbolic.polynomials import folded
from asphalt.ir.expr import Arg, Component, Expr, names_in, walk
from asphalt.ir.source import TriviaKind
from asphalt.ir.stmt import Decl
from asphalt.ir.tree import Block, Leaf, Node, Unit, leaves, once

_WORD = re.compile(r"[a-z]\w*", re.ASCII)
_DECLARING = frozenset({"type", "parameter", "common", "dimension", "save"})


def constant_length(symbol: Symbol) -> int | None:
    """The length of a character variable, if it is a constant."""
    assert symbol.type is not None
    if symbol.type.length is None:
        return 1
    home = symbol.home
    return None if home is None else constant(symbol.type.length, home)


def words_of(unit: Unit) -> frozenset[str]:
    """All words in a unit's text outside of comments, folded, those of lines for OpenMP among
    them, and the names in its statements, which may continue on the next line."""
    return once(unit, _words_of)


def _words_of(unit: Unit) -> frozenset[str]:
    return frozenset(word for leaf in leaves(unit) for word in words_at(leaf))


def words_at(leaf: Leaf) -> frozenset[str]:
    """All words in the text of one statement and in the lines for OpenMP before it, folded, and the
    names in it."""
    return once(leaf, _words_at)


def _words_at(leaf: Leaf) -> frozenset[str]:
    found = set(_WORD.findall((leaf.body or "").lower()))
    for entry in leaf.lead:
        if entry.kind is TriviaKind.CONDITIONAL:
            found.update(_WORD.findall(entry.text.lower()))
    found |= leaf.cut
    found |= named_by(leaf.what) or frozenset()
    if leaf.name is not None:
        found.add(leaf.name.lower())
    what = leaf.what
    if isinstance(what, Decl):
        found |= {entity.name for entity in what.entities}
    return frozenset(found)


def used_before(scope: Scope, names: Iterable[str] = ()) -> frozenset[str]:
    """The modules that are compiled before a unit: those that it uses, directly or through others,
    and those of ``names`` that precede it in its file, or that must be compiled before the file of
    one of these."""
    found: set[str] = set()
    waiting = [use.module for one in chain(scope) for use in one.declared.uses]
    own = {one.unit.name for one in chain(scope) if one.unit.kind == "module"}
    while waiting:
        module = waiting.pop()
        if module in found or module in own:
            continue
        found.add(module)
        inside = scope.scopes.module(module)
        if inside is not None:
            waiting += [use.module for use in inside.declared.uses]
    found |= {n for n in names if _precedes(n, scope) or _is_needed(n, scope, found)}
    # a submodule cannot use its ancestor, whose names it has
    return frozenset(name for name in found - own if not is_intrinsic_module(name))


def _precedes(name: str, scope: Scope) -> bool:
    """Whether a module stands in the file of a unit, before it."""
    module = scope.scopes.module(name)
    if module is None or module.located.path != scope.located.path:
        return False
    ends = module.unit.end.span
    begins = next((leaf.span for leaf in leaves(scope.located.chain[0])), None)
    return ends is not None and begins is not None and ends.last < begins.first


def _is_needed(name: str, scope: Scope, before: Iterable[str]) -> bool:
    """Whether the file of a unit, or that of a module ``before`` it, cannot be compiled without a
    module of another file."""
    module = scope.scopes.module(name)
    if module is None:
        return False
    own = scope.located.path
    known = (scope.scopes.module(one) for one in before)
    files = {own, *(one.located.path for one in known if one is not None)}
    if module.located.path == own:
        return False
    return any(
        user.path in files
        and not user.is_unread
        and any(use.module == name for use in scope.scopes.of(user).declared.uses)
        for user in scope.program.mentions(name)
    )


def chain(scope: Scope) -> Iterator[Scope]:
    here: Scope | None = scope
    while here is not None:
        yield here
        here = here.host


def hidden_component(expr: Arg, scope: Scope, user: Scope) -> str | None:
    """The first component in an expression of ``scope`` to which the unit ``user`` has no access
    (F2018 7.5.2.2), as it is spelled; None: there is none that is known."""
    modules = {(one.located.path, one.unit.name) for one in chain(user)}
    for part in walk(expr):
        declared = declarations_on_the_way(part, scope) if isinstance(part, Component) else None
        for one in declared or ():
            home = one.home.located.path, one.home.unit.name
            if "private" in one.decl.attrs and home not in modules:
                return one.entity.spelled
    return None


def is_private(name: str, module: Scope | None) -> bool:
    """Whether a module procedure is private."""
    if module is None:
        return True
    declared = module.declared
    hidden = declared.private_default and name not in declared.public
    return hidden or name in declared.private


def is_included(symbol: Symbol, scope: Scope) -> bool:
    """Whether a name of a unit is declared in an include file."""
    return symbol.span is not None and symbol.span.file != scope.located.path


def declared_in(nodes: Iterable[Node]) -> set[str] | None:
    """The names that an include file declares; None: it holds more than that."""
    found: set[str] = set()
    for node in nodes:
        for leaf in leaves(node):
            what = leaf.what
            if not isinstance(what, Decl) or what.kind not in _DECLARING:
                return None
            grouped = (entity for _, group in what.groups for entity in group)
            found |= {entity.name for entity in (*what.entities, *grouped)}
    return found


def has_interface(name: str, scope: Scope) -> bool:
    """Whether an interface body describes a procedure."""
    return any(
        isinstance(inner, Unit) and inner.name == name
        for one in chain(scope)
        for node in one.unit.spec
        if isinstance(node, Block) and node.kind == "interface"
        for inner in node.body
    )


def _value(bound: Expr | None, scope: Scope) -> object | None:
    """What a bound equals: a number, or the places of the constants that it consists of."""
    if bound is None:
        return 1
    value = constant(bound, scope)
    if value is not None:
        return value
    places = []
    for name in sorted(names_in(bound)):
        symbol = scope.lookup(name)
        if symbol is None or symbol.origin is not Origin.PARAMETER or symbol.span is None:
            return None
        places.append((name, symbol.span))
    return folded(bound), tuple(places)


def common_layout(scope: Scope, block: str) -> tuple[object, ...] | None:
    """The members of a COMMON block: names, types and bounds; None: not known."""
    found: list[object] = []
    members = scope.declared.commons.get(block)
    if members is None:
        return None if scope.host is None else common_layout(scope.host, block)
    for name in members:
        symbol = scope.lookup(name)
        key = None if symbol is None else symbol_key(symbol, scope)
        if symbol is None or key is None:
            return None
        bounds = [_value(b, scope) for d in symbol.dims or () for b in (d.lower, d.upper)]
        if None in bounds:
            return None
        found.append((name, key, tuple(bounds)))
    return tuple(found)
