"""A whole source tree as the analysis sees it, read as far as it is asked for.

A file is first a string of bytes that is scanned; then an ``Outline`` (its units and what they
call); then a tree with every statement interpreted.  The second and third step run in worker
processes and are kept in the cache.  What cannot be read is a ``Problem``, and wherever it might
matter the answer says so: a name that two units define is defined by none, a file that holds a name
and cannot be read mentions it.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from asphalt.errors import InputError
from asphalt.frontend.cache import Cache, cache_directory, key_of, unpack
from asphalt.frontend.includes import (
    Headers,
    IncludeFiles,
    find_include,
    included_names,
    is_mpi_header,
)
from asphalt.frontend.outline import (
    Outline,
    Request,
    Words,
    interpreted,
    outlines,
    unread,
    words,
)
from asphalt.frontend.preprocess import has_cpp_lines
from asphalt.frontend.problems import Problem
from asphalt.frontend.scan import find_sources, has_mpi_name, joined_fixed, joined_free
from asphalt.frontend.source_text import form_of
from asphalt.frontend.workers import Failed, Workers
from asphalt.ir.program import Located, MpiMention
from asphalt.ir.source import Form
from asphalt.ir.stmt import Opaque, Plain
from asphalt.ir.tree import File, Leaf, Node, Unit
from asphalt.settings import Settings

TIME_LIMIT = 30.0
"""Seconds that one file may take in a worker."""
_BATCH = 300_000
_FEW = 100_000
_PROCEDURES = frozenset({"subroutine", "function"})


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A Fortran file of the tree.  ``has_mpi``: an MPI call can stand in it; ``cpp``: it has
    preprocessor lines; ``key`` changes with everything that decides what the file means."""

    path: str
    form: Form
    size: int
    lines: int
    has_mpi: bool
    cpp: bool
    key: str


@dataclass(frozen=True, slots=True)
class _Position:
    """A unit: the file, and its number in the order of ``units_in``."""

    path: str
    number: int


def load_tree(paths: Iterable[str | Path], settings: Settings | None = None) -> Tree:
    """The tree of the files at and below ``paths``; raises nothing: see ``Tree.problems``."""
    return Tree([Path(path) for path in paths], settings or Settings())


class Tree:
    """Implements ``asphalt.ir.program.Program``; all names that it takes are folded."""

    def __init__(self, roots: Sequence[Path], settings: Settings) -> None:
        self.roots = tuple(roots)
        self.settings = settings
        sources, problems = find_sources(roots)
        self._problems = list(problems)
        self._contents: dict[str, bytes] = {}
        self._headers = Headers(settings.include_dirs)
        self._include_files = IncludeFiles(settings.include_dirs)
        self._cache = Cache(cache_directory() if settings.cache else None)
        self._workers = Workers(settings.jobs)
        weakref.finalize(self, self._workers.close)
        entries = (self._entry(path) for path in sources)
        self._entries = {entry.path: entry for entry in entries if entry is not None}
        self._outlines: dict[str, Outline] = {}
        self._files: dict[str, File | None] = {}
        self._words: dict[str, Words | None] = {}
        self._searched: dict[str, str] = {}
        self._defined: dict[tuple[str, str], list[_Position]] | None = None
        self._renamed: dict[str, frozenset[tuple[str, str]]] | None = None
        self._cache.prune()

    @property
    def files(self) -> tuple[FileEntry, ...]:
        """The Fortran files that could be read, sorted."""
        return tuple(self._entries.values())

    @property
    def digest(self) -> str:
        """Changes whenever anything changes that an answer of this tree can depend on."""
        return key_of("tree", *(part for e in self.files for part in (e.path, e.key)))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the input, sorted: of all files that an MPI call can stand in, of
        those that were named, and of what has been read besides."""
        self._read_outlines([path for path in self._entries if self._matters(path)])
        found = [p for outline in self._outlines.values() for p in outline.problems]
        return tuple(sorted({*self._problems, *found}, key=lambda p: (p.file, p.line or 0)))

    def file(self, path: str) -> File:
        """The tree of a file, interpreted; raises InputError where there is none."""
        if path not in self._entries:
            raise InputError(path, None, "is no source file of this tree")
        self._read_files([path])
        file = self._files[path]
        if file is None:
            outline = self.outline(path)
            worst = next((p for p in outline.problems if not p.note), None)
            if worst is None:
                raise InputError(path, None, "cannot be read")
            raise InputError(worst.file, worst.line, worst.message)
        return file

    def outline(self, path: str) -> Outline:
        """The units and calls of a file."""
        self._read_outlines([path])
        return self._outlines[path]

    def content(self, path: str) -> bytes:
        """The bytes of a file as they were read."""
        return self._contents[path]

    def site_units(self, operations: Collection[str] | None = None) -> Iterator[Located]:
        """Each unit with a live MPI call (of one of ``operations``), interpreted."""
        wanted: dict[str, list[int]] = {}
        for path in self._mpi_paths():
            for number, unit in enumerate(self._outlines[path].units):
                called = {self._operation(path, call.name) for call in unit.calls} - {None}
                if called if operations is None else called & set(operations):
                    wanted.setdefault(path, []).append(number)
        self._read_files(list(wanted))
        for path, numbers in wanted.items():
            for number in numbers:
                yield self._located(_Position(path, number))

    def module(self, name: str) -> Located | None:
        """The module of that name; None where there is none or more than one."""
        return self._unique("module", name)

    def external(self, name: str) -> Located | None:
        """The external procedure of that name; None where there is none or more than one."""
        return self._unique("external", name)

    def contained(self, host: Located, name: str) -> Located | None:
        """The module procedure or internal procedure ``name`` of ``host``."""
        found = [unit for unit in host.unit.contained if unit.name == name]
        if len(found) != 1:
            return None
        return Located(host.path, host.form, (*host.chain, found[0]))

    def include(self, located: Located, name: str) -> tuple[Node, ...] | None:
        """The declarations that an INCLUDE line of the unit brings in."""
        return self._include_files.declarations(located.path, name, located.form)

    def mentions(self, name: str) -> tuple[Located, ...]:
        """Every unit whose own statements contain the identifier."""
        self._read_outlines(list(self._entries))
        candidates = [path for path in self._entries if name in self._search_text(path)]
        self._read_words(candidates)
        found: set[_Position] = set(self._mentioned_in_includes(name))
        unread_files: list[str] = []
        for path in candidates:
            held = self._words[path]
            numbers = (-1,) if held is None else held.units.get(name, ())
            unread_files += [path] * (-1 in numbers)
            found.update(_Position(path, number) for number in numbers if number >= 0)
        places = sorted(found, key=lambda p: (p.path, p.number))
        self._read_files([place.path for place in places])
        return (
            *(self._located(place) for place in places),
            *(self._unread_unit(path, name) for path in unread_files),
        )

    def mpi_calls(self) -> tuple[MpiMention, ...]:
        """Every MPI call statement of the tree, live or not."""
        return tuple(
            mention
            for path in self._mpi_paths(dead=True)
            for mention in sorted(self._mpi_calls_of(path), key=lambda m: m.line)
        )

    def main_programs(self) -> tuple[Located, ...]:
        """The main programs of the tree."""
        positions = self._definitions().get(("program", ""), [])
        self._read_files([position.path for position in positions])
        return tuple(self._located(position) for position in positions)

    def close(self) -> None:
        """Ends the worker processes."""
        self._workers.close()

    # Reading

    def _entry(self, path: Path) -> FileEntry | None:
        name = str(path)
        try:
            content = path.read_bytes()
        except OSError as error:
            self._problems.append(Problem(name, None, f"cannot be read: {error.strerror}"))
            return None
        if (nul := content.find(b"\0")) >= 0:
            line = content.count(b"\n", 0, nul) + 1
            self._problems.append(Problem(name, line, "not a text file: it contains a NUL byte"))
            return None
        if not content.strip():
            self._problems.append(Problem(name, None, "the file is empty", note=True))
        self._contents[name] = content
        form = self.settings.form or form_of(path)
        cpp = has_cpp_lines(content.decode("latin-1"))
        headers = self._headers.digest(name, content) if cpp else b""
        directory = os.path.dirname(os.path.abspath(name))
        configuration = "\0".join([*self.settings.defines, "", *self.settings.include_dirs])
        key = key_of(
            name, directory, content, form.value, str(self.settings.width), configuration, headers
        )
        has_mpi = has_mpi_name(content, form) or self._brings_mpi(name, content, cpp)
        lines = content.count(b"\n") + (not content.endswith(b"\n") and content != b"")
        return FileEntry(name, form, len(content), lines, has_mpi, cpp, key)

    def _brings_mpi(self, path: str, content: bytes, cpp: bool) -> bool:
        """Whether what the file includes, or a macro of the configuration, makes an MPI name."""
        if cpp and self._headers.hold(path, content, [b"mpi_"]):
            return True
        lowered = content.lower()
        for define in self.settings.defines:
            name, _, value = define.lower().partition("=")
            if "mpi_" in value and name.partition("(")[0].encode() in lowered:
                return True
        if b"include" not in lowered:
            return False
        names = [name for name in included_names(content) if not is_mpi_header(name)]
        return any(b"mpi_" in self._included_bytes(path, name).lower() for name in names)

    def _included_bytes(self, path: str, name: str) -> bytes:
        found = find_include(path, name, self.settings.include_dirs)
        try:
            return Path(found).read_bytes() if found else b""
        except OSError:
            return b""

    def _matters(self, path: str) -> bool:
        return self._entries[path].has_mpi or any(Path(path) == root for root in self.roots)

    def _request(self, path: str) -> Request:
        return Request(
            path,
            self._contents[path],
            self._entries[path].form,
            self.settings.width,
            self.settings.defines,
            self.settings.include_dirs,
        )

    def _read_outlines(self, paths: Sequence[str]) -> None:
        missing: list[str] = []
        for path in paths:
            if path in self._outlines:
                continue
            known = self._cache.get(key_of("outline", self._entries[path].key))
            if isinstance(known, Outline):
                self._outlines[path] = known
            else:
                missing.append(path)
        batches = list(self._batches(missing))
        requests = [[self._request(path) for path in batch] for batch in batches]
        results = self._workers.run(outlines, requests, TIME_LIMIT)
        again: list[str] = []
        for batch, result in zip(batches, results, strict=True):
            if isinstance(result, Failed) and len(batch) > 1:
                again += batch
                continue
            for path, outline in zip(batch, self._unpacked(batch, result), strict=True):
                self._outlines[path] = outline
                if not isinstance(result, Failed):
                    self._cache.put(key_of("outline", self._entries[path].key), outline)
        for path in again:
            (result,) = self._workers.run(outlines, [[self._request(path)]], TIME_LIMIT)
            (self._outlines[path],) = self._unpacked([path], result)

    def _unpacked(self, batch: Sequence[str], result: bytes | Failed) -> Sequence[Outline]:
        if isinstance(result, Failed):
            problem = Problem(batch[0], None, f"could not be read: {result.reason}")
            return [Outline(self._entries[batch[0]].cpp, broken=True, problems=(problem,))]
        return cast(tuple[Outline, ...], unpack(result))

    def _batches(self, paths: Sequence[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        size = 0
        for path in paths:
            batch.append(path)
            size += self._entries[path].size
            if size > _BATCH:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _read_files(self, paths: Sequence[str]) -> None:
        wanted = [path for path in dict.fromkeys(paths) if path not in self._files]
        self._read_outlines(wanted)
        missing: list[str] = []
        for path in wanted:
            if self._outlines[path].broken:
                self._files[path] = None
                continue
            known = self._cache.get(key_of("file", self._entries[path].key))
            if isinstance(known, File):
                self._files[path] = known
            else:
                missing.append(path)
        requests = [self._request(path) for path in missing]
        results = self._workers.run(interpreted, requests, TIME_LIMIT)
        for path, result in zip(missing, results, strict=True):
            if isinstance(result, Failed):
                message = f"its statements could not be understood: {result.reason}"
                self._problems.append(Problem(path, None, message))
                self._files[path] = unread(self._request(path), result.reason)
            else:
                self._cache.write(key_of("file", self._entries[path].key), result)
                self._files[path] = cast(File, unpack(result))

    def _read_words(self, paths: Sequence[str]) -> None:
        missing: list[str] = []
        for path in dict.fromkeys(paths):
            if path in self._words:
                continue
            if self._outlines[path].broken:
                self._words[path] = None
                continue
            known = self._cache.get(key_of("words", self._entries[path].key))
            if isinstance(known, Words):
                self._words[path] = known
            else:
                missing.append(path)
        results = self._workers.run(words, [self._request(path) for path in missing], TIME_LIMIT)
        for path, result in zip(missing, results, strict=True):
            if isinstance(result, Failed):
                self._words[path] = None
            else:
                self._cache.write(key_of("words", self._entries[path].key), result)
                self._words[path] = cast(Words, unpack(result))

    # Names

    def _search_text(self, path: str) -> str:
        """Text in lower case that holds every name of the file."""
        if path not in self._searched:
            expanded = self._outlines[path].expanded
            content = self._contents[path]
            lowered = content.lower() if expanded is None else expanded.encode("latin-1")
            text = lowered + b"\n" + joined_free(lowered)
            if self._entries[path].form is Form.FIXED:
                text += b"\n" + joined_fixed(lowered)
            self._searched[path] = text.decode("latin-1")
        return self._searched[path]

    def _mentioned_in_includes(self, name: str) -> Iterator[_Position]:
        holds: dict[str, bool] = {}
        for path, outline in self._outlines.items():
            for number, unit in enumerate(outline.units):
                for include in unit.includes:
                    found = find_include(path, include.name, self.settings.include_dirs)
                    if found is None or is_mpi_header(include.name):
                        continue
                    if found not in holds:
                        holds[found] = name.encode() in self._included_bytes(path, found).lower()
                    if holds[found]:
                        yield _Position(path, number)

    def _definitions(self) -> dict[tuple[str, str], list[_Position]]:
        if self._defined is None:
            self._read_outlines(list(self._entries))
            self._defined = {}
            for path in self._entries:
                for number, unit in enumerate(self._outlines[path].units):
                    if unit.host is not None:
                        continue
                    kind = "external" if unit.kind in _PROCEDURES else unit.kind
                    name = "" if kind == "program" else unit.name
                    self._defined.setdefault((kind, name), []).append(_Position(path, number))
        return self._defined

    def _unique(self, kind: str, name: str) -> Located | None:
        found = self._definitions().get((kind, name), [])
        if len(found) != 1:
            return None
        return self._located(found[0])

    def _located(self, position: _Position) -> Located:
        file = self.file(position.path)
        chain = _chains(file)[position.number]
        return Located(position.path, file.form, chain)

    def _unread_unit(self, path: str, name: str) -> Located:
        statement = Leaf(Opaque("", "the file could not be read", frozenset({name})))
        unit = Unit("subroutine", "", None, (), (statement,), None, (), Leaf(Plain("end")))
        return Located(path, self._entries[path].form, (unit,))

    # MPI calls

    def _renames(self) -> dict[str, frozenset[tuple[str, str]]]:
        """For each file the (local name, MPI name) that its use statements can give it."""
        if self._renamed is None:
            self._read_outlines([path for path in self._entries if self._matters(path)])
            own = {p: frozenset(o.mpi_renames) for p, o in self._outlines.items() if o.mpi_renames}
            self._renamed = dict(own)
            for source, renames in own.items():
                modules = [u.name for u in self._outlines[source].units if u.kind == "module"]
                for path in self._entries if modules else ():
                    text = self._contents[path].lower()
                    if any(module.encode() in text for module in modules) and any(
                        local.encode() in text for local, _ in renames
                    ):
                        self._renamed[path] = self._renamed.get(path, frozenset()) | renames
            self._read_outlines(list(self._renamed))
        return self._renamed

    def _operation(self, path: str, called: str) -> str | None:
        """The MPI procedure that ``called`` is in a file, or None."""
        if called.startswith("mpi_"):
            return called
        if called.startswith("pmpi_"):
            return called[1:]
        for local, operation in self._renames().get(path, ()):
            if local == called:
                return operation.removeprefix("p") if operation.startswith("p") else operation
        return None

    def _mpi_paths(self, dead: bool = False) -> list[str]:
        """The files with MPI calls, those that only rename them included."""
        renames = self._renames()
        return [path for path in self._entries if self._entries[path].has_mpi or path in renames]

    def _mpi_calls_of(self, path: str) -> Iterator[MpiMention]:
        outline = self._outlines[path]
        for unit in outline.units:
            for call in unit.calls:
                if operation := self._operation(path, call.name):
                    yield MpiMention(path, call.line, unit.name, operation)
            for include in unit.includes:
                for operation in self._calls_in_include(path, include.name):
                    yield MpiMention(path, include.line, unit.name, operation)
        for calls, live in (
            (outline.loose_calls, True),
            (outline.included_calls, True),
            (outline.dead_calls, False),
        ):
            for call in calls:
                if operation := self._operation(path, call.name):
                    within = [u.name for u in outline.units if u.first <= call.line <= u.last]
                    name = within[-1] if within else ""
                    yield MpiMention(path, call.line, name, operation, live)

    def _calls_in_include(self, path: str, name: str) -> Iterator[str]:
        content = self._included_bytes(path, name)
        if b"mpi_" not in content.lower() or is_mpi_header(name):
            return
        request = Request(path, content, self._entries[path].form, None, (), ())
        (result,) = self._workers.run(outlines, [[request]], TIME_LIMIT)
        for outline in self._unpacked([path], result):
            for call in (*outline.loose_calls, *(c for u in outline.units for c in u.calls)):
                if operation := self._operation(path, call.name):
                    yield operation


def _chains(file: File) -> list[tuple[Unit, ...]]:
    """Each unit with its hosts, in the order of ``units_in``."""
    chains: list[tuple[Unit, ...]] = []

    def below(unit: Unit, hosts: tuple[Unit, ...]) -> None:
        chain = (*hosts, unit)
        chains.append(chain)
        for inner in unit.contained:
            below(inner, chain)

    for unit in file.units:
        below(unit, ())
    return chains
