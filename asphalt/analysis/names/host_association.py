"""The variables of a unit that its internal procedures may use (host association, F2018 19.5.1.4).

A word in the text of an internal procedure is the host's variable, unless the procedure declares
that name itself.  Include files of the procedure count as its text.

An internal procedure is known in its host alone, by its own name (F2018 19.4): one that neither the
host nor a procedure that the host may call names is never called.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from weakref import WeakKeyDictionary

from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.ir.program import Located
from asphalt.ir.source import TriviaKind
from asphalt.ir.stmt import Decl, Include, Raw
from asphalt.ir.tree import Leaf, Unit, leaves

_WORD = re.compile(r"[a-z_][a-z0-9_]*")
_OWN = (Origin.LOCAL, Origin.DUMMY, Origin.RESULT)
_NO_DECLARATION = frozenset({"implicit", "volatile", "asynchronous"})
_HOSTS = ("program", "subroutine", "function", "module_procedure")
"""Whose procedures inside are internal ones: those of modules are called from elsewhere."""
_Inner = tuple[Located | None, set[str] | None]
"""A procedure inside, and its words; None: not known."""
_NOT_COMPILED = (TriviaKind.BLANK, TriviaKind.COMMENT)


_KEPT: WeakKeyDictionary[Scope, tuple[_Inner, ...]] = WeakKeyDictionary()


def named_inside(name: str, scope: Scope) -> bool:
    """Whether an internal procedure of a unit may use the unit's variable of that folded name."""
    if not scope.unit.contained:
        return False
    groups = _groups_with(name, scope)
    return any(
        words is None
        or located is None
        or not groups.isdisjoint(words)
        or (name in words and not _declares(name, located, scope))
        for located, words in _called(scope)
    )


def is_text_missing(scope: Scope) -> bool:
    """Whether part of the text of the internal procedures of a unit is not known."""
    return bool(scope.unit.contained) and any(words is None for _, words in _called(scope))


def _called(scope: Scope) -> tuple[_Inner, ...]:
    """The procedures inside of a unit that may be called."""
    if scope not in _KEPT:
        found = [(unit.name, _inner(unit, scope)) for unit in scope.unit.contained]
        used = _used(found, scope)
        _KEPT[scope] = tuple(inner for name, inner in found if name in used)
    return _KEPT[scope]


def _groups_with(name: str, scope: Scope) -> frozenset[str]:
    """The namelist groups of a unit that contain a variable: a statement that names one may read
    all of it."""
    return frozenset(
        group
        for node in scope.unit.spec
        for leaf in leaves(node)
        if isinstance(leaf.what, Decl) and leaf.what.kind == "namelist"
        for group, members in leaf.what.groups
        if any(member.name == name for member in members)
    )


def _used(found: Sequence[tuple[str, _Inner]], scope: Scope) -> frozenset[str]:
    """The names of the procedures inside of a unit that may be called."""
    everyone = frozenset(name for name, _ in found)
    named = _words_of_host(scope) if scope.unit.kind in _HOSTS else None
    used: frozenset[str] = frozenset()
    while named is not None and (more := (named & everyone) - used):
        used |= more
        words = [inner[1] for name, inner in found if name in more]
        named = None if None in words else named.union(*(w for w in words if w is not None))
    return everyone if named is None else used


def _words_of_host(scope: Scope) -> set[str] | None:
    """The words of a unit's own declarations and statements; None: not known."""
    own = [leaf for node in (*scope.unit.spec, *scope.unit.body) for leaf in leaves(node)]
    words = _words(own)
    for leaf in own:
        if isinstance(leaf.what, Include):
            brought = _brought(leaf.what, scope.located, scope)
            if brought is None:
                return None
            words |= brought
    return words


def _inner(unit: Unit, scope: Scope) -> _Inner:
    located = scope.program.contained(scope.located, unit.name)
    words = _words(leaves(unit))
    for leaf in () if located is None else leaves(located.unit):
        words |= leaf.cut
        if isinstance(leaf.what, Include) and located is not None:
            brought = _brought(leaf.what, located, scope)
            if brought is None:
                return located, None
            words |= brought
    return located, words


def _brought(include: Include, located: Located, scope: Scope) -> set[str] | None:
    nodes = scope.program.include(located, include.path)
    return None if nodes is None else _words(leaf for node in nodes for leaf in leaves(node))


def _words(found: Iterable[Leaf]) -> set[str]:
    words: set[str] = set()
    for leaf in found:
        words |= leaf.cut
        words.update(word for text in _texts(leaf) for word in _WORD.findall(text.lower()))
    return words


def _texts(leaf: Leaf) -> Iterator[str]:
    yield leaf.what.code if isinstance(leaf.what, Raw) else (leaf.body or "")
    yield from (line.text for line in leaf.lead if line.kind not in _NOT_COMPILED)


def _declares(name: str, located: Located, scope: Scope) -> bool:
    """Whether a procedure certainly has a variable of its own of that name."""
    inner = scope.scopes.of(located)
    own = inner.own.get(name)
    if own is None or own.origin not in _OWN or name in inner.declared.unclear:
        return False
    # VOLATILE and ASYNCHRONOUS statements may speak of the host's variable
    return own.origin is Origin.DUMMY or (own.type is not None and not own.attrs & _NO_DECLARATION)
