"""Which units of a tree hold a name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from asphalt.frontend.source_tree.reading import Reader

_NO_UNIT = -1
_OF_MPI = "mpi_"
_Places = tuple[list[tuple[str, int]], list[str]]


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A unit: the file, and its number in the order of ``units_in``."""

    path: str
    number: int


class Mentions:
    """The units of the files of a reader that hold names in their own statements.

    ``origin``: the mentions of the same files before some were edited; only the edited ones are
    searched here.  ``recall``: what another run kept of them; asked with the first question.
    """

    def __init__(
        self,
        reader: Reader,
        origin: Mentions | None = None,
        recall: Callable[[], object] = lambda: None,
    ) -> None:
        self._reader = reader
        self._origin = origin
        self._recall = recall
        self._found: dict[str, _Places] | None = None
        self._recalled = 0
        self._index: dict[str, list[tuple[str, int]]] = {}  # of names in the files that are in it
        self._indexed: set[str] = set()
        self._with_mpi: dict[str, bool] = {}

    def of(self, name: str) -> tuple[set[Position], list[str]]:
        """The units that hold a folded name, and the files that hold it in statements
        of no unit."""
        places, unread = self._of(name)
        return {Position(path, number) for path, number in places}, unread

    def new(self) -> dict[str, _Places] | None:
        """All that is known, to be kept; None if that is no more than the last time."""
        if self._found is None or len(self._found) <= self._recalled:
            return None
        self._recalled = len(self._found)
        return self._found

    def _of(self, name: str) -> _Places:
        if self._found is None:
            recalled = self._recall()
            self._found = recalled if isinstance(recalled, dict) else {}
            self._recalled = len(self._found)
        if name not in self._found:
            reader = self._reader
            if self._origin is None:
                self._found[name] = self._search(name, list(reader.entries))
            else:
                before = self._origin._reader
                same = {path for path in reader.entries if reader.reads_as(before, path)}
                places, unread = self._origin._of(name)
                more, others = self._search(name, [p for p in reader.entries if p not in same])
                unread = [path for path in unread if path in same] + others
                self._found[name] = (
                    [place for place in places if place[0] in same] + more,
                    sorted(unread, key=list(reader.entries).index) if others else unread,
                )
        return self._found[name]

    def _search(self, name: str, paths: list[str]) -> _Places:
        reader = self._reader
        reader.read_outlines(paths)
        missing = [path for path in paths if path not in self._indexed]
        texts = reader.search_text
        if _OF_MPI in name:  # in few files, and asked for often
            missing = [path for path in missing if self._names_mpi(path)]
        candidates = [path for path in missing if name in texts(path)]
        reader.read_parts(candidates)
        unread = {path for path in candidates if not self._enter(path)}
        found = self._index.get(name, ())
        unread |= {path for path, number in found if number == _NO_UNIT}
        unread |= {
            path
            for path in paths
            if (reader.outline(path).loose_includes or reader.outline(path).unread_includes)
            and self._is_in_included_units(name, path)
        }
        places = {place for place in found if place[1] != _NO_UNIT}
        places |= set(self._in_includes(name, paths))
        return list(places), [path for path in paths if path in unread]

    def _names_mpi(self, path: str) -> bool:
        """Whether a file may hold a name of MPI."""
        if path not in self._with_mpi:
            self._with_mpi[path] = _OF_MPI in self._reader.search_text(path)
        return self._with_mpi[path]

    def _enter(self, path: str) -> bool:
        """Enter the names of a file in the index; False if it is not a tree."""
        parts = self._reader.parts(path)
        if parts is None:
            return False
        for number, words in ((_NO_UNIT, parts.loose), *enumerate(parts.words)):
            for name in words.split():
                self._index.setdefault(name, []).append((path, number))
        self._indexed.add(path)
        return True

    def _is_in_included_units(self, name: str, path: str) -> bool:
        """Whether text that a file includes outside of the units that are read may hold a name."""
        reader, outline = self._reader, self._reader.outline(path)
        if any(not reader.finds(path, i.name) for i in outline.loose_includes):
            return True  # whatever it holds
        included = (*outline.loose_includes, *outline.unread_includes)
        return any(name in reader.included_words(path, i.name) for i in included)

    def _in_includes(self, name: str, paths: Iterable[str]) -> Iterator[tuple[str, int]]:
        reader = self._reader
        for path in paths:
            for number, unit in enumerate(reader.outline(path).units):
                if unit.includes and any(
                    name in reader.included_words(path, i.name) for i in unit.includes
                ):
                    yield path, number
