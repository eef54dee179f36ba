"""Where the statements of a transformed file come from: lines of what the user wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from asphalt.frontend.tree import Tree
from asphalt.ir.tree import File, Leaf, leaves


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line of a file as it was given."""

    path: str
    line: int


class Origins:
    """The places of the statements of one file, ``path``, in the trees that steps have made."""

    def __init__(self, tree: Tree, path: str) -> None:
        self._given = tree
        self._path = path
        self._made: WeakKeyDictionary[Tree, tuple[Tree, File]] = WeakKeyDictionary()

    def note(self, tree: Tree, before: Tree, file: File) -> None:
        """``tree`` was made of ``before``, and its text of ``file``, whose statements that have not
        changed, or came from elsewhere, still tell where they stood."""
        if tree is not self._given and tree is not before:
            self._made.setdefault(tree, (before, file))

    def place(self, tree: Tree, line: int) -> Place | None:
        """Where the statement in a line of a tree stood; None: it is new."""
        path = self._path
        while tree is not self._given:
            if path != self._path:
                return Place(path, line)  # nothing else has changed
            if tree not in self._made:
                return None
            before, file = self._made[tree]
            spans = [leaf.span for leaf in leaves(file)]
            number = _number(tuple(leaves(tree.file(self._path))), line)
            if number is None or number >= len(spans) or (span := spans[number]) is None:
                return None
            tree, path, line = before, span.file, span.first
        return Place(path, line)


def _number(statements: Sequence[Leaf], line: int) -> int | None:
    """Which of the statements stands in a line."""
    lines = (None if leaf.span is None else leaf.span.first for leaf in statements)
    return next((number for number, own in enumerate(lines) if own == line), None)
