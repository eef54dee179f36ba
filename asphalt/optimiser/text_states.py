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
    with the facts of the last ``kept`` of them, and with those that somebody still uses."""

    def __init__(self, tree: Tree, path: str, kept: int = 12) -> None:
        self._tree = tree
        self._path = path
        self._kept = kept
        self._trees: WeakValueDictionary[_Text, Tree] = WeakValueDictionary()
        self._trees[tree.content(path), frozenset()] = tree
        self._beside: WeakKeyDictionary[Tree, Beside] = WeakKeyDictionary()
        # by the identity of the tree, which its facts keep
        self._last: OrderedDict[int, UnitFacts] = OrderedDict()
        self._used: WeakValueDictionary[int, UnitFacts] = WeakValueDictionary()

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
        key = id(tree)
        found = self._used.get(key)
        if found is None:
            found = self._used[key] = analyse(tree)
        self._last[key] = found
        self._last.move_to_end(key)
        if len(self._last) > self._kept:
            self._last.popitem(last=False)
        return found

    def forget(self) -> None:
        """Forget the facts that nobody uses now; they are found again where they are asked for."""
        self._last.clear()
