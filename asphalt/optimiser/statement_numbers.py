"""Which statements of a unit are the same in the trees that steps have made."""

from __future__ import annotations

from collections import Counter
from itertools import count
from weakref import WeakKeyDictionary

from asphalt.analysis.data_flow.same_statements import KnownPairs, SameStatements
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.tree import File, Leaf, leaves


class StatementNumbers:
    """The numbers of the statements of one file, ``path``, in the trees that steps have made; what
    is proved of them."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._free = count()
        self._numbers: WeakKeyDictionary[Tree, tuple[int, ...]] = WeakKeyDictionary()
        self._known = KnownPairs()

    def note(self, tree: Tree, before: Tree, file: File) -> None:
        """Record that a step has made ``tree`` of ``before``, from the syntax tree ``file``, and
        that the statements which are still the same there are executed as before: as often, with
        the same values, statements of one list in the same iteration."""
        if tree is before or tree in self._numbers:
            return
        old, made, new = (
            tuple(leaves(f)) for f in (before.file(self._path), file, self._file(tree))
        )
        if len(made) != len(new):
            return
        known = {id(leaf): number for leaf, number in zip(old, self._of(before), strict=True)}
        once = Counter(id(leaf) for leaf in made)
        self._numbers[tree] = tuple(
            known[id(leaf)]
            if once[id(leaf)] == 1 and id(leaf) in known and _are_same(leaf, again)
            else next(self._free)
            for leaf, again in zip(made, new, strict=True)
        )

    def of(self, tree: Tree) -> SameStatements:
        """The statements of a tree."""
        numbers = zip(leaves(self._file(tree)), self._of(tree), strict=True)
        return SameStatements({id(leaf): number for leaf, number in numbers}, self._known)

    def _of(self, tree: Tree) -> tuple[int, ...]:
        found = self._numbers.get(tree)
        if found is None:
            found = tuple(next(self._free) for _ in leaves(self._file(tree)))
            self._numbers[tree] = found
        return found

    def _file(self, tree: Tree) -> File:
        return tree.file(self._path)


def _are_same(leaf: Leaf, again: Leaf) -> bool:
    """Whether a statement has been read again as it was."""
    return leaf.body is not None and (leaf.body, leaf.label) == (again.body, again.label)
