"""What the search has made of procedures of a tree, for those that ask again.

A procedure that could be inlined is optimised by itself, to compare: once for each of its callers.
Then it has its own turn.  As long as the tree has not changed, all of them get the same answer.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from asphalt.frontend.source_tree.tree import Tree
from asphalt.optimiser.acceptance import Key
from asphalt.optimiser.outcome import Optimised
from asphalt.optimiser.unit_state import Workshop
from asphalt.support.asked_assumptions import Answer, record


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of a unit: its workshop, the result of the first round (None: it is not
    changed, whatever could become of it), and which assumptions were asked for."""

    shop: Workshop
    found: Optimised | None
    asked: frozenset[Answer]


class Searched:
    """The results of the first round for units of one tree, under the same options."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._known: dict[Key, _Known] = {}

    def add(self, shop: Workshop, found: Optimised | None, asked: Collection[Answer]) -> None:
        """Keep what the search made of the unit in a workshop, if it stands in the tree; None: it
        is not changed, whatever could become of it.  ``asked``: the assumptions asked for."""
        if shop.tree is self._tree:
            shop.known.forget()
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
