"""What the search has made of procedures of a tree, for those that ask again.

A procedure that could be inlined is optimised by itself, to compare: once for each of its callers.
Then it has its own turn.  As long as the tree has not changed, all of them get the same answer.

To compare, the text is enough that the procedure gets, and no proof rests on it.  So it is taken
over into other trees in which the procedure and all that it names have the texts that they had.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from asphalt.analysis_manager.invalidation import Sight, Unaffected, UsedNames
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.tree import File, Unit
from asphalt.optimiser.acceptance import Key
from asphalt.optimiser.outcome import Optimised
from asphalt.optimiser.unit_state import Workshop
from asphalt.support.asked_assumptions import Answer, record
from asphalt.transforms.rewriting.edit import replace_unit
from asphalt.unparse.unparse import unparse

Contents = Mapping[str, bytes]
"""What files contain, by path."""
_NOTHING: Contents = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of a unit: its workshop, the result of the first round (None: it is not
    changed, whatever could become of it), and which assumptions were asked for."""

    shop: Workshop
    found: Optimised | None
    asked: frozenset[Answer]


@dataclass(frozen=True, slots=True)
class _Text:
    """What becomes of a unit of the tree that ``sight`` is of; ``unit``: None: nothing.  ``asked``:
    the assumptions asked for."""

    sight: Sight
    unit: Unit | None
    asked: frozenset[Answer]


class Searched:
    """The results of the first round for units of one tree, under the same options.  ``before``:
    those for a tree of which this one is made."""

    def __init__(self, tree: Tree, before: Searched | None = None) -> None:
        self._tree = tree
        self._known: dict[Key, _Known] = {}
        self._texts: dict[Key, _Text] = {} if before is None else before._texts
        self._sights: dict[int, Sight] = {} if before is None else before._sights
        self._used: UsedNames = UsedNames() if before is None else before._used

    def add(self, shop: Workshop, found: Optimised | None, asked: Collection[Answer]) -> None:
        """Keep what the search made of the unit in a workshop, if it stands in the tree; None: it
        is not changed, whatever could become of it.  ``asked``: the assumptions asked for."""
        if shop.tree is self._tree:
            self._known[shop.path, shop.chain] = _Known(shop, found, frozenset(asked))

    def of(self, tree: Tree, key: Key) -> tuple[Workshop, Optimised | None] | None:
        """The workshop of a unit as it stands in a tree, with what the search made of it; None:
        nobody has asked."""
        known = self._known.get(key) if tree is self._tree else None
        if known is None:
            return None
        record(known.asked)
        return known.shop, known.found

    def taken(self, tree: Tree, key: Key) -> tuple[Workshop, Optimised] | None:
        """The same, for the last time; None: nobody has asked, or it is not changed."""
        known = self._known.get(key) if tree is self._tree else None
        if known is None or known.found is None:
            return None
        record(known.asked)
        self._known.pop(key)
        return known.shop, known.found

    def note_text(
        self, tree: Tree, key: Key, contents: Contents, asked: Collection[Answer]
    ) -> None:
        """Keep what files contain when a unit of a tree has become what the search makes of it, if
        they contain nothing else that is new."""
        path, _ = key
        old, unit = _unit(tree, key), None
        if contents:
            after = tree.edited(contents)
            unit = _unit(after, key)
            if old is None or unit is None or contents.keys() != {path}:
                return
            if _text(replace_unit(tree.file(path), old, unit)) != contents[path]:
                return
        sight = self._sights.setdefault(id(tree), Sight(tree, self._used))
        self._texts[key] = _Text(sight, unit, frozenset(asked))

    def text(self, tree: Tree, key: Key) -> Contents | None:
        """What files of a tree contain when a unit has become what the search made of it where all
        that it names was the same; None: nobody has asked."""
        path, chain = key
        known, old = self._texts.get(key), _unit(tree, key)
        if known is None or old is None:
            return None
        if Unaffected(known.sight, tree).place(path, chain) is None:
            return None
        record(known.asked)
        if known.unit is None:
            return _NOTHING
        return {path: _text(replace_unit(tree.file(path), old, known.unit))}


def _unit(tree: Tree, key: Key) -> Unit | None:
    path, chain = key
    units = (one for one in tree.units_of(path) if tuple(u.name for u in one.chain) == chain)
    return next((one.unit for one in units), None)


def _text(file: File) -> bytes:
    return unparse(file).encode("latin-1")
