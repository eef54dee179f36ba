"""Which units of a tree define a name, and which hold it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from asphalt.frontend.source_tree.reading import Reader
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.source import Form
from asphalt.ir.stmt import Opaque, Plain, UnitHead
from asphalt.ir.tree import Leaf, Unit

_NO_UNIT = -1
_PROCEDURES = frozenset({"subroutine", "function"})
_OF_MPI = "mpi_"
_FEW = 50  # edited files, in which all names are searched that a run on them may ask for
_Places = tuple[list[tuple[str, int]], list[str]]


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A unit: the file, and its number in the order of ``units_in``."""

    path: str
    number: int


Definitions = dict[tuple[str, str], list[Position]]
"""The places of program units by kind (``external``: a procedure) and name; main programs have the
name ''."""


@record
class KeptMentions:
    """What another run found: for each name its units, and the files that hold it elsewhere.

    ``keys``: what determined the meaning of each file then; ``included``: a digest of all that
    files include.
    """

    keys: dict[str, str]
    included: str
    found: dict[str, _Places]


class Mentions:
    """The units of the files of a reader that hold names in their own statements.

    ``origin``: the mentions of the same files before some were edited; only the edited ones are
    searched here.  ``recall``: what another run kept of them, with the same included files; asked
    with the first question, and used for the files that have the same keys.
    """

    def __init__(
        self,
        reader: Reader,
        origin: Mentions | None = None,
        recall: Callable[[], KeptMentions | None] = lambda: None,
    ) -> None:
        self._reader = reader
        self._origin = origin
        self._recall = recall
        self._found: dict[str, _Places] = {}
        self._index: dict[str, list[tuple[str, int]]] = {}  # of names in the files that are in it
        self._indexed: set[str] = set()
        self._with_mpi: dict[str, bool] = {}
        self._included: dict[str, list[tuple[int, frozenset[str]]]] = {}

    def of(self, name: str) -> tuple[set[Position], list[str]]:
        """The units that hold a folded name, and the files that hold it in statements
        of no unit."""
        places, unread = self._of(name)
        return {Position(path, number) for path, number in places}, unread

    def new(self, included: str) -> KeptMentions | None:
        """All that is known, to be kept; None if another run has kept it.  ``included``: the digest
        of what files include."""
        if self._origin is not None or not self._found:
            return None
        keys, kept = self._keys(), self._kept
        if kept is not None and kept.keys != keys and len(keys) - len(self._same) <= _FEW:
            for name in kept.found:
                self._of(name)
        if kept is None or kept.keys != keys:
            return KeptMentions(keys, included, self._found)
        if self._found.keys() <= kept.found.keys():
            return None
        return KeptMentions(keys, included, {**kept.found, **self._found})

    @cached_property
    def _kept(self) -> KeptMentions | None:
        return self._recall()

    @cached_property
    def _same(self) -> frozenset[str]:
        """The files that are as they were when another run, or the origin, looked at them."""
        entries = self._reader.entries
        if self._origin is not None:
            before = self._origin._reader
            return frozenset(path for path in entries if self._reader.reads_as(before, path))
        known = {} if self._kept is None else self._kept.keys
        return frozenset(path for path, key in self._keys().items() if known.get(path) == key)

    def _keys(self) -> dict[str, str]:
        return {path: entry.key for path, entry in self._reader.entries.items()}

    def _of(self, name: str) -> _Places:
        if name not in self._found:
            self._found[name] = self._with_others(name, self._before(name))
        return self._found[name]

    def _before(self, name: str) -> _Places | None:
        """Where a name was before, in files that may have been edited; None: unknown."""
        if self._origin is not None:
            return self._origin._of(name)
        return None if self._kept is None else self._kept.found.get(name)

    def _with_others(self, name: str, before: _Places | None) -> _Places:
        """Where a name is: in unedited files where it was before, in the others where it is
        found."""
        paths = list(self._reader.entries)
        if before is None:
            return self._search(name, paths)
        same = self._same
        places, unread = _among(before, same)
        edited = [path for path in paths if path not in same]
        if not edited:
            return places, unread
        more, others = self._search(name, edited)
        return [*places, *more], sorted([*unread, *others], key=paths.index)

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
        for path in paths:
            for number, words in self._words_in_includes(path):
                if name in words:
                    yield path, number

    def _words_in_includes(self, path: str) -> list[tuple[int, frozenset[str]]]:
        """The words that each unit of a file includes, of those that do."""
        if path not in self._included:
            reader = self._reader
            self._included[path] = [
                (number, reader.included_words(path, include.name))
                for number, unit in enumerate(reader.outline(path).units)
                for include in unit.includes
            ]
        return self._included[path]


def _among(places: _Places, paths: frozenset[str]) -> _Places:
    """The places that are in some files."""
    units, unread = places
    return [unit for unit in units if unit[0] in paths], [path for path in unread if path in paths]


def unread_unit(path: str, name: str, form: Form) -> Located:
    """A file that holds ``name`` in statements of no unit, or in C, as one unit."""
    what = Opaque("", "the file could not be read", frozenset({name}))
    unit = Unit("subroutine", "", None, (), (Leaf(what),), None, (), Leaf(Plain("end")))
    return Located(path, form, (unit,))


def definitions_in(reader: Reader) -> Definitions:
    """All program units of the files that are read."""
    reader.read_outlines(list(reader.entries))
    found: Definitions = {}
    for path in reader.entries:
        for number, unit in enumerate(reader.outline(path).units):
            if unit.host is None:
                kind = "external" if unit.kind in _PROCEDURES else unit.kind
                name = "" if kind == "program" else unit.name
                found.setdefault((kind, name), []).append(Position(path, number))
    return found


def submodules_of(
    module: str, definitions: Definitions, located: Callable[[Position], Located]
) -> Iterator[Located]:
    """The submodules that descend from a module, directly or not."""
    for (kind, _), positions in definitions.items():
        for one in map(located, positions if kind == "submodule" else ()):
            what = None if one.unit.head is None else one.unit.head.what
            parent = what.parent if isinstance(what, UnitHead) else None
            if parent is not None and parent[0] == module:
                yield one
