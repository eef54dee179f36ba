"""The trees that the steps of one file lead to, each analysed once, and what is found in them.

The optimiser tries several ways, many of which lead to the same text.  It also stays with a text
where a step is tried and not kept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from weakref import WeakKeyDictionary, WeakValueDictionary

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.frontend.source_tree.tree import Tree
from asphalt.transforms.rewriting.step import Found, Step, Transformation

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


_Check = Callable[[UnitFacts], Iterable[Found]]


class FoundSteps:
    """What transformations find in a text; ``facts.once`` keeps it."""

    def __init__(self, facts: UnitFacts) -> None:
        self._facts = facts
        self._rest: dict[_Check, Iterator[Found]] = {}
        self._found: dict[_Check, list[Found]] = {}
        self._next: dict[_Check, Step | None] = {}

    def of(self, transformation: Transformation) -> Iterator[Found]:
        """All that a transformation finds, one by one as it is asked for."""
        check = transformation.check
        if check not in self._found:
            self._rest[check] = iter(check(self._facts))
            self._found[check] = []
        found, rest = self._found[check], self._rest[check]
        number = 0
        while True:
            if number == len(found):
                new = next(rest, None)
                if new is None:
                    return
                found.append(new)
            yield found[number]
            number += 1

    def next(self, transformation: Transformation, wants: Callable[[Found], bool]) -> Step | None:
        """The first step of a transformation that is wanted, or several that it takes together;
        None: there is none.  ``wants``: has always the same answers for one text."""
        check = transformation.check
        if check not in self._next:
            self._next[check] = self._looked_for(transformation, wants)
        return self._next[check]

    def _looked_for(
        self, transformation: Transformation, wants: Callable[[Found], bool]
    ) -> Step | None:
        steps = (f for f in self.of(transformation) if wants(f) and isinstance(f, Step))
        first = next(steps, None)
        if first is None or transformation.together is None:
            return first
        return transformation.together(self._facts, chain((first,), steps))
