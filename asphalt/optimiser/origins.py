"""Where the statements of a transformed file come from: lines of what the user wrote."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

from asphalt.frontend.tree import Tree
from asphalt.ir.source import Span
from asphalt.ir.tree import File, leaves


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
        self._made: WeakKeyDictionary[Tree, tuple[Tree, tuple[Span | None, ...]]]
        self._made = WeakKeyDictionary()
        self._numbers: WeakKeyDictionary[Tree, dict[int, int]] = WeakKeyDictionary()

    def note(self, tree: Tree, before: Tree, file: File) -> None:
        """``tree`` was made of ``before``, and its text of ``file``, whose statements that have not
        changed, or came from elsewhere, still tell where they stood."""
        if tree is not self._given and tree is not before:
            self._made.setdefault(tree, (before, tuple(leaf.span for leaf in leaves(file))))

    def place(self, tree: Tree, line: int) -> Place | None:
        """Where the statement in a line of a tree stood; None: it is new."""
        path = self._path
        while tree is not self._given:
            if path != self._path:
                return Place(path, line)  # nothing else has changed
            if tree not in self._made:
                return None
            before, spans = self._made[tree]
            number = self._number(tree, line)
            if number is None or number >= len(spans) or (span := spans[number]) is None:
                return None
            tree, path, line = before, span.file, span.first
        return Place(path, line)

    def _number(self, tree: Tree, line: int) -> int | None:
        """Which of the statements of a tree is the first one in a line."""
        if tree not in self._numbers:
            numbers: dict[int, int] = {}
            for number, leaf in enumerate(leaves(tree.file(self._path))):
                if leaf.span is not None:
                    numbers.setdefault(leaf.span.first, number)
            self._numbers[tree] = numbers
        return self._numbers[tree].get(line)
