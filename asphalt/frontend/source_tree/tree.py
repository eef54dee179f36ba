"""A whole source tree as the analysis sees it, read as far as it is asked for.

A file is first a string of bytes that is scanned; then an ``Outline`` (its units and what they
call); then a tree with every statement interpreted.  What cannot be read is a ``InputProblem``, and
wherever it might matter the answer says so: a name that two units define is defined by none, a file
that holds a name and cannot be read mentions it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from asphalt.config.errors import InputError
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.cache import key_of
from asphalt.frontend.source_tree.file_entry import FileEntry
from asphalt.frontend.source_tree.foreign import ForeignFiles
from asphalt.frontend.source_tree.inclusions import Inclusions
from asphalt.frontend.source_tree.index import FileIndex
from asphalt.frontend.source_tree.mentions import (
    Definitions,
    KeptMentions,
    Mentions,
    Position,
    definitions_in,
    submodules_of,
    unread_unit,
)
from asphalt.frontend.source_tree.mpi_calls import MpiCalls, with_removed
from asphalt.frontend.source_tree.outline import Outline
from asphalt.frontend.source_tree.preprocessed import Preprocessed
from asphalt.frontend.source_tree.problems import InputProblem, in_place, merged, unread_module
from asphalt.frontend.source_tree.reading import Reader
from asphalt.frontend.source_tree.scan import find_sources
from asphalt.frontend.source_tree.snapshot import looked_for
from asphalt.frontend.source_tree.tree_digest import TreeDigest, tree_digest
from asphalt.frontend.source_tree.versions import (
    TreeVersion,
    edited_since,
    is_version,
    keep_version,
)
from asphalt.ir.program import Located, MpiMention
from asphalt.ir.source import Form
from asphalt.ir.tree import File, Node, Unit, chains_in


def load_tree(paths: Iterable[str | Path], settings: Settings | None = None) -> Tree:
    """The tree of the files at and below ``paths``; raises nothing: see ``Tree.problems``."""
    roots = tuple(Path(path) for path in paths)
    sources, problems = find_sources(roots)
    reader = Reader(sources, settings or Settings(), roots=roots)
    return Tree(roots, reader, ForeignFiles(roots, reader.inclusions.texts), problems)


class Tree:
    """Implements ``asphalt.ir.program.Program``; all names that it takes are folded."""

    def __init__(
        self,
        roots: Sequence[Path],
        reader: Reader,
        foreign: ForeignFiles,
        path_problems: Sequence[InputProblem],
        origin: Tree | None = None,
    ) -> None:
        """``origin``: the tree before any edit.  ``unreadable``: problems of statements so far."""
        self.roots = tuple(roots)
        self.settings = reader.settings
        self._reader, self.unreadable = reader, reader.problems
        self._foreign = foreign
        self._path_problems = path_problems
        self.origin = origin
        if origin is None:
            self._mentions = Mentions(reader, recall=self._kept_mentions)
        else:
            self._mentions = Mentions(reader, origin._mentions)
        self._mpi = MpiCalls(reader)
        self._chains: dict[str, list[tuple[Unit, ...]]] = {}

    @property
    def files(self) -> tuple[FileEntry, ...]:
        """The Fortran files that could be read, sorted."""
        return tuple(self._reader.entries.values())

    def edited(self, contents: Mapping[str, bytes]) -> Tree:
        """The tree in which some files, by path, have other contents.

        It shares what this one has read of all other files, which are not read again.
        """
        reader = self._reader.edited(contents)
        origin = self if self.origin is None else self.origin
        return Tree(self.roots, reader, self._foreign, self._path_problems, origin)

    @property
    def digest(self) -> str:
        """Changes whenever anything changes that an answer of this tree may depend on."""
        return self._digest.text

    @cached_property
    def _digest(self) -> TreeDigest:
        return tree_digest(self._reader, self._foreign)

    def kept(self, *parts: str | bytes) -> object | None:
        """The value that a run on the same tree kept under ``parts``, which name it and what it
        depends on besides the tree; None: nothing."""
        return self.kept_of(self.digest, *parts)

    def kept_of(self, digest: str, *parts: str | bytes) -> object | None:
        """The value that a run on a tree of this digest kept under ``parts``."""
        return self._reader.kept(key_of(digest, *parts))

    def keep_as_version(self, before: TreeVersion | None, *parts: str | bytes) -> None:
        """Keep the contents of the files under ``parts``, so that other runs on the same paths
        find what has been edited since; ``before``: what ``latest_version`` has found there."""
        if self.is_repeatable:
            version = keep_version(self._reader, self._digest, before)
            self._reader.keep(self._key_of_paths("version", *parts), version)

    def latest_version(self, *parts: str | bytes) -> TreeVersion | None:
        """The version of the same paths that a run kept last under ``parts``."""
        kept = self._reader.kept(self._key_of_paths("version", *parts))
        return kept if isinstance(kept, TreeVersion) else None

    def as_of(self, version: TreeVersion) -> Tree | None:
        """The tree as it was in a version, if only a few of its files have been edited since."""
        contents = edited_since(self._reader, self._digest, version)
        if contents is None:
            return None
        tree = self.edited(contents)
        return tree if is_version(version, contents, tree._reader.entries) else None

    @property
    def is_repeatable(self) -> bool:
        """Whether another run on the same files comes to the same answers: nothing failed for want
        of time, say, and no file was included that INCLUDE lines do not show."""
        return not self._reader.failed and self._reader.included <= self._digest.includes

    def files_looked_for(self) -> tuple[str, ...]:
        """The files that the tree includes, and where one was looked for in vain before."""
        return looked_for(self._reader)

    def keep(self, value: object, *parts: str | bytes) -> None:
        """Keep conclusions from this tree for other runs, unless a file could not be read that
        another run may read."""
        if self.is_repeatable:
            self._reader.keep(key_of(self.digest, *parts), value)

    @property
    def problems(self) -> tuple[InputProblem, ...]:
        """The problems of the input, sorted: of all files that may hold an MPI call, of those that
        were named, and of all others that were read."""
        return tuple(problem for problem in self._all_problems() if not problem.note)

    @property
    def notes(self) -> tuple[InputProblem, ...]:
        """The inputs that the analysis did without (a missing header, say), sorted; it prevented
        no analysis."""
        return tuple(problem for problem in self._all_problems() if problem.note)

    def _all_problems(self) -> tuple[InputProblem, ...]:
        named = [str(root) for root in self.roots if str(root) in self._reader.entries]
        self._reader.read_outlines([*self._mpi.paths(), *named])
        outlines, own = self._reader.outlines.values(), self._reader.headers.found
        found = (in_place(p, own) for outline in outlines for p in outline.problems)
        return merged((*self._path_problems, *self._reader.problems, *found, *self._mpi.problems()))

    def file(self, path: str) -> File:
        """The tree of a file, interpreted; raises InputError where there is none."""
        if path not in self._reader.entries:
            raise InputError(path, None, "is no source file of this tree")
        file = self._reader.file(path)
        if file is None:
            worst = next(p for p in self._reader.outline(path).problems if not p.note)
            raise InputError(worst.file, worst.line, worst.message)
        return file

    def outline(self, path: str) -> Outline:
        """The units and calls of a file."""
        return self._reader.outline(path)

    @cached_property
    def preprocessed(self) -> Preprocessed:
        """What the preprocessor decides in the files."""
        return Preprocessed(self._reader)

    def index(self, path: str) -> FileIndex:
        """The symbol index of a file by fortls: interfaces, use association, arguments."""
        return self._reader.index(path)

    def content(self, path: str) -> bytes:
        """The bytes of a file as they were read."""
        return self._reader.contents[path]

    @property
    def inclusions(self) -> Inclusions:
        """What becomes of the files that others include."""
        return self._reader.inclusions

    def reads_as(self, other: Tree, path: str) -> bool:
        """Whether a file is the same in another tree that comes from the same sources."""
        return self._reader.reads_as(other._reader, path)

    def words(self, path: str) -> tuple[str, ...] | None:
        """The names in the own statements of each unit of a file, one a line with line breaks
        around; None where it is no tree."""
        parts = self._reader.parts(path)
        return None if parts is None else parts.words

    def loose_words(self, path: str) -> str | None:
        """The names in statements of no unit, one a line."""
        parts = self._reader.parts(path)
        return None if parts is None else parts.loose

    def included_words(self, path: str, name: str) -> frozenset[str]:
        """The folded words of a file that another one includes, and of those that it includes."""
        return self._reader.included_words(path, name)

    def unit_at(self, position: Position) -> Located:
        """A unit by its file and its number in it."""
        return self._located(position)

    @cached_property
    def _included_alone(self) -> frozenset[str]:
        """The files that others include, and that nobody names: they are compiled with those."""
        if self.origin is not None:  # what asphalt prints includes no files of the tree
            return self.origin._included_alone
        named = {os.path.abspath(root) for root in self.roots if not root.is_dir()}
        return (self.preprocessed.included() | self.inclusions.left_out) - named

    def site_units(self, operations: Collection[str] | None = None) -> Iterator[Located]:
        """Each unit with a live MPI call (of one of ``operations``), interpreted; none of a file
        that is only compiled as a part of others."""
        places: list[Position] = []
        for path in self._mpi.paths():
            if self._is_part(path):
                continue
            for number, unit in enumerate(self._reader.outline(path).units):
                called = self._mpi.operations(path, unit)
                if called if operations is None else called.intersection(operations):
                    places.append(Position(path, number))
        self._reader.read_files([place.path for place in places])
        self._read_used_modules(places)
        return (self._located(place) for place in places)

    def units_of(self, path: str) -> tuple[Located, ...]:
        """All units of a file, interpreted; () where it is no tree."""
        if self._reader.file(path) is None:
            return ()
        return tuple(self._located(Position(path, n)) for n in range(len(self.outline(path).units)))

    def module(self, name: str) -> Located | None:
        """The module of that name; None where there is none or more than one."""
        return self._unique("module", name)

    def submodules(self, module: str) -> tuple[Located, ...]:
        """The submodules that descend from a module."""
        return tuple(submodules_of(module, self._definitions, self._located))

    def missing_modules(self, path: str) -> tuple[str, ...]:
        """The modules that a file uses and no file of the tree has, intrinsic ones included."""
        if path not in self._reader.entries:
            return ()  # it is only included
        used = {name for unit in self.outline(path).units for name in unit.uses}
        return tuple(sorted(n for n in used if ("module", n) not in self._definitions))

    def unread_module(self, name: str) -> str | None:
        """Where and why a file cannot be read that defines a module; None: there is no such."""
        outlines = (self._reader.outline(path) for path in self._reader.entries)
        found = unread_module(name, (p for one in outlines for p in one.problems), self.text)
        return None if found is None else str(found)

    def external(self, name: str) -> Located | None:
        """The external procedure of that name; None where there is none or more than one."""
        return self._unique("external", name)

    def defined_in(self, kind: str, name: str) -> tuple[str, ...]:
        """The files that define a module or an external procedure, one for each definition."""
        return tuple(position.path for position in self._definitions.get((kind, name), []))

    def defines(self, name: str) -> bool:
        """Whether any file may define an external procedure of that name."""
        if self._definitions.get(("external", name)) or self._foreign.mentioning(name):
            return True
        return bool(self._mentions.of(name)[1])

    def foreign_files_with(self, name: str) -> tuple[str, ...]:
        """The C and C++ files that contain an identifier, in any case."""
        return self._foreign.containing(name)

    def foreign_files_naming(self, name: str) -> tuple[str, ...]:
        """The files of other languages with ``name``, also as a part of a name."""
        return self._foreign.naming(name)

    def has_foreign_main(self) -> bool:
        """See ``Program.has_foreign_main``."""
        return self._foreign.has_main(n for kind, n in self._definitions if kind == "external")

    def text(self, path: str) -> str:
        """The text of a file of the tree, in lower case; '' for others."""
        own = self._reader.contents.get(path, b"")
        return own.decode("latin-1").lower() or self._foreign.texts().get(path, "")

    def macros(self, path: str) -> frozenset[str]:
        """The names that the preprocessor may replace in a file."""
        return self.preprocessed.names(path)

    def contained(self, host: Located, name: str) -> Located | None:
        """The module procedure or internal procedure ``name`` of ``host``."""
        found = [unit for unit in host.unit.contained if unit.name == name]
        if len(found) != 1:
            return None
        above = self._reader.number_of(host.path, host.unit)
        if above is None:  # of a whole file
            return self._placed(host.path, (*host.chain, found[0]))
        units = self._reader.outline(host.path).units
        number = next(n for n, u in enumerate(units) if u.host == above and u.name == name)
        return self._placed(host.path, (*host.chain, self._reader.unit(host.path, number)))

    def include(self, located: Located, name: str) -> tuple[Node, ...] | None:
        """The declarations that an INCLUDE line of the unit inserts."""
        return self._reader.declarations(located.path, name)

    def mentions(self, name: str) -> tuple[Located, ...]:
        """Every unit whose own statements contain the identifier, and one for each file that
        holds it in text that is not analysed.  What a file holds that is only compiled as a part of
        others is in these."""
        places, unread = self._mentions.of(name)
        unread = [path for path in unread if not self._is_part(path)]
        self._reader.read_parts([place.path for place in sorted(places)])
        included = (place.path for place in sorted(places) if self._is_included(name, place))
        paths = dict.fromkeys((*unread, *included, *self._foreign.mentioning(name)))
        entries = self._reader.entries
        forms = {path: entries[path].form for path in paths if path in entries}
        unread_units = (unread_unit(path, name, forms.get(path, Form.FREE)) for path in paths)
        return (*map(self._located, sorted(places)), *unread_units)

    def _is_included(self, name: str, place: Position) -> bool:
        """Whether a unit includes a file that holds a name and more than declarations."""
        includes = self._reader.outline(place.path).units[place.number].includes
        return any(
            name in self._reader.included_words(place.path, include.name)
            and self._reader.declarations(place.path, include.name) is None
            for include in includes
        )

    def positions(self, name: str) -> frozenset[Position]:
        """The units whose own statements hold a name, without interpreting them."""
        return frozenset(self._mentions.of(name)[0])

    def mention_count(self, name: str) -> int:
        """How many units mention a name, without interpreting them."""
        places, unread = self._mentions.of(name)
        return len(places) + len(unread) + len(self._foreign.mentioning(name))

    def keep_mentions(self) -> None:
        """Keep for other runs which units hold the names that this run asked for."""
        new = self._mentions.new(self._digest.included) if self.origin is None else None
        if new is not None and self.is_repeatable:
            self._reader.keep(self._key_of_paths("mentions"), new)

    def _kept_mentions(self) -> KeptMentions | None:
        """What another run kept of the same paths, whose files may have been edited since."""
        kept = self._reader.kept(self._key_of_paths("mentions"))
        if isinstance(kept, KeptMentions) and kept.included == self._digest.included:
            return kept
        return None

    def _key_of_paths(self, *parts: str | bytes) -> str:
        """A key of the paths and how they are read, whatever is in the files."""
        own = self.settings
        settings = repr((own.defines, own.include_dirs, own.form, own.forms, own.width, own.cpp))
        return key_of(*parts, os.getcwd(), *map(str, self.roots), settings)

    def mpi_calls(self) -> tuple[MpiMention, ...]:
        """Every MPI call statement of the tree, live or not."""
        return self._all_mpi_calls

    @cached_property
    def _all_mpi_calls(self) -> tuple[MpiMention, ...]:
        found = tuple(
            mention
            for path in self._mpi.paths()
            for mention in sorted(self._mpi.of_file(path), key=lambda m: m.line)
            if mention.unit or not self._is_part(path)
        )
        return found if self.origin is None else with_removed(found, self.origin.mpi_calls())

    def _is_part(self, path: str) -> bool:
        """Whether a file is only compiled as a part of others."""
        return os.path.abspath(path) in self._included_alone

    def extent(self) -> int:
        """The bytes of all source files."""
        return sum(entry.size for entry in self._reader.entries.values())

    def main_programs(self) -> tuple[Located, ...]:
        """The main programs of the tree."""
        found = self._definitions.get(("program", ""), [])
        self._reader.read_parts([position.path for position in found])
        return tuple(map(self._located, found))

    def close(self) -> None:
        """Ends the worker processes; they start again when they are needed."""
        self._reader.close()

    @cached_property
    def _definitions(self) -> Definitions:
        return definitions_in(self._reader)

    def _read_used_modules(self, places: Iterable[Position]) -> None:
        """Reads the modules that units can see, all at a time rather than each when it is asked
        for."""
        open_paths = {place.path for place in places}
        seen: set[str] = set()
        while open_paths:
            outlines = [self._reader.outline(path) for path in open_paths]
            used = {name for outline in outlines for unit in outline.units for name in unit.uses}
            definitions = self._definitions
            found = (definitions.get(("module", name), []) for name in used)
            seen |= open_paths
            open_paths = {position.path for where in found for position in where} - seen
        self._reader.read_parts([path for path in seen if not self._reader.has_file(path)])

    def _unique(self, kind: str, name: str) -> Located | None:
        found = self._definitions.get((kind, name), [])
        return self._located(found[0]) if len(found) == 1 else None

    def _located(self, position: Position) -> Located:
        path = position.path
        if self._reader.has_file(path):
            file = self.file(path)
            if path not in self._chains:
                self._chains[path] = chains_in(file)
            chain = self._chains[path][position.number]
        else:
            units = self._reader.outline(path).units
            numbers = [position.number]
            while (host := units[numbers[0]].host) is not None:
                numbers.insert(0, host)
            chain = tuple(self._reader.unit(path, number) for number in numbers)
        return self._placed(path, chain)

    def _placed(self, path: str, chain: tuple[Unit, ...]) -> Located:
        reader = self._reader
        part = reader.inclusions.part_of(path, reader.contents[path], chain[-1])
        return Located(path, reader.entries[path].form, chain, part)
