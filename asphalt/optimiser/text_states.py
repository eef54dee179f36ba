"""The trees that the steps of one file lead to, each analysed once.

The optimiser tries several ways, many of which lead to the same text.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from types import MappingProxyType
from weakref import WeakKeyDictionary, WeakValueDictionary

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.frontend.source_tree.tree import Tree

_Text = tuple[bytes, frozenset[tuple[str, bytes]]]
Beside = Mapping[str, bytes]
"""The contents of further files that steps have changed, by path."""
_NOTHING: Beside = MappingProxyType({})


class EditedTrees:
    """The trees in which one file of ``tree`` has other contents, and maybe files ``beside`` it,
    with the facts of the last ``kept`` of them."""

    def __init__(self, tree: Tree, path: str, kept: int = 24) -> None:
        self._tree = tree
        self._path = path
        self._kept = kept
        self._trees: WeakValueDictionary[_Text, Tree] = WeakValueDictionary()
        self._trees[tree.content(path), frozenset()] = tree
        self._beside: WeakKeyDictionary[Tree, Beside] = WeakKeyDictionary()
        self._facts: OrderedDict[int, tuple[Tree, UnitFacts]] = OrderedDict()

    def tree(self, content: bytes, beside: Beside = _NOTHING) -> Tree:
        """The tree in which the file has this content, and those beside it have theirs."""
        key = content, frozenset(beside.items())
        found = self._trees.get(key)
        if found is None:
            found = self._trees[key] = self._tree.edited({**beside, self._path: content})
            self._beside[found] = beside
        return found

    def beside(self, tree: Tree) -> Beside:
        """What other files contain in one of the trees, if that has changed."""
        return self._beside.get(tree, _NOTHING)

    def text(self, tree: Tree) -> _Text:
        """All that distinguishes one of the trees from the others."""
        return tree.content(self._path), frozenset(self.beside(tree).items())

    def facts(self, tree: Tree, analyse: Callable[[Tree], UnitFacts]) -> UnitFacts:
        """The facts of one of the trees; ``analyse``, always the same function, finds them."""
        key = id(tree)  # which no other tree has while this one is kept
        if key not in self._facts:
            self._facts[key] = tree, analyse(tree)
            if len(self._facts) > self._kept:
                self._facts.popitem(last=False)
        self._facts.move_to_end(key)
        return self._facts[key][1]
