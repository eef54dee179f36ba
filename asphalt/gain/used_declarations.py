"""The declarations that statements may depend on: without those of variables that they do not name.

A step may declare new variables, mostly requests.  What a nest costs does not depend on them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from asphalt.ir.stmt import Decl
from asphalt.ir.tree import Leaf, Node, Unit, leaves, once

_NAME = re.compile(r"[a-z_$][\w$]*")


def names_named(node: Node) -> frozenset[str]:
    """All names in the text of a statement or construct, folded, with keywords and more."""
    return once(node, _names_in)


def used_declarations(names: Iterable[str], chain: tuple[Unit, ...]) -> tuple[object, ...]:
    """The text of the declarations of a unit and its hosts, the outermost first, without type
    declarations of other variables than ``names`` and what their declarations name in turn."""
    found: list[object] = []
    wanted = frozenset(names)
    for unit in reversed(chain):
        texts, wanted = once(unit, _Declarations).used(wanted)
        found.append((texts, tuple(inner.name for inner in unit.contained)))
    return tuple(found)


class _Declarations:
    """The declarations of one unit."""

    def __init__(self, unit: Unit) -> None:
        kept: list[str] = [unit.kind, "" if unit.head is None else _text(unit.head)]
        self._named: frozenset[str] = frozenset()
        self._own: dict[str, list[int]] = {}
        self._lines: list[tuple[str, frozenset[str]]] = []
        for node in unit.spec:
            variables = _variables(node)
            text, names = once(node, _text_of), names_named(node)
            if not variables:
                kept.append(text)
                self._named |= names
                continue
            for name in variables:
                self._own.setdefault(name, []).append(len(self._lines))
            self._lines.append((text, names))
        self._kept = "\n".join(kept)
        self._known: dict[frozenset[str], tuple[tuple[str, ...], frozenset[str]]] = {}

    def used(self, names: frozenset[str]) -> tuple[tuple[str, ...], frozenset[str]]:
        """The text of those that may matter for these names, and all names that may."""
        own = frozenset((names | self._named).intersection(self._own))
        if own not in self._known:
            lines: set[int] = set()
            waiting, reached = set(own), set(own)
            while waiting:
                for number in self._own[waiting.pop()]:
                    if number not in lines:
                        lines.add(number)
                        new = self._lines[number][1].intersection(self._own) - reached
                        reached |= new
                        waiting |= new
            texts = (self._kept, *(self._lines[number][0] for number in sorted(lines)))
            more = (self._lines[number][1] for number in lines)
            self._known[own] = texts, self._named.union(*more)
        texts, more_names = self._known[own]
        return texts, names | more_names


def _variables(node: Node) -> tuple[str, ...]:
    """The names that a type declaration statement declares; (): it is another statement."""
    what = node.what if isinstance(node, Leaf) else None
    if not isinstance(what, Decl) or what.kind != "type":
        return ()
    return tuple(entity.name for entity in what.entities)


def _text_of(node: Node) -> str:
    return "\n".join(_text(leaf) for leaf in leaves(node))


def _names_in(node: Node) -> frozenset[str]:
    return frozenset().union(*(_names(_text(leaf)) | leaf.cut for leaf in leaves(node)))


def _text(leaf: Leaf) -> str:
    return repr(leaf.what) if leaf.body is None else leaf.body


@lru_cache(maxsize=1 << 14)
def _names(text: str) -> frozenset[str]:
    return frozenset(_NAME.findall(text.lower()))
