"""The trees that the steps of one file lead to, each analysed once.

The optimiser tries several ways, many of which lead to the same text.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from weakref import WeakValueDictionary

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.frontend.source_tree.tree import Tree


class EditedTrees:
    """The trees in which one file of ``tree`` has other contents, with the facts of the last
    ``kept`` of them."""

    def __init__(self, tree: Tree, path: str, kept: int = 24) -> None:
        self._tree = tree
        self._path = path
        self._kept = kept
        self._trees: WeakValueDictionary[bytes, Tree] = WeakValueDictionary()
        self._trees[tree.content(path)] = tree
        self._facts: OrderedDict[int, tuple[Tree, UnitFacts]] = OrderedDict()

    def tree(self, content: bytes) -> Tree:
        """The tree in which the file has this content."""
        found = self._trees.get(content)
        if found is None:
            found = self._trees[content] = self._tree.edited({self._path: content})
        return found

    def facts(self, tree: Tree, analyse: Callable[[Tree], UnitFacts]) -> UnitFacts:
        """The facts of one of the trees; ``analyse``, always the same function, finds them."""
        key = id(tree)  # which no other tree has while this one is kept
        if key not in self._facts:
            self._facts[key] = tree, analyse(tree)
            if len(self._facts) > self._kept:
                self._facts.popitem(last=False)
        self._facts.move_to_end(key)
        return self._facts[key][1]
