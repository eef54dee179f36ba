"""Files of a tree, read step by step: bytes, outline, interpreted tree, words.

The steps after the bytes run in worker processes, and their results are cached.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import cast

from asphalt.config.limits import HEADER
from asphalt.config.sentinels import unread_notes
from asphalt.config.settings import Settings
from asphalt.frontend.lexical.preprocess import is_preprocessed
from asphalt.frontend.lexical.source_text import (
    OLD_LINE_ENDS,
    OTHER_FORM,
    form_by_content,
    form_of,
    has_old_line_ends,
)
from asphalt.frontend.source_tree.cache import Cache, cache_directory, key_of, unpack
from asphalt.frontend.source_tree.file_entry import FileEntry, batched, entry_key
from asphalt.frontend.source_tree.file_text import FileText
from asphalt.frontend.source_tree.includes import (
    Headers,
    IncludeRequest,
    declared,
    find_include,
    is_mpi_header,
)
from asphalt.frontend.source_tree.inclusions import Inclusions, inclusions
from asphalt.frontend.source_tree.index import FileIndex
from asphalt.frontend.source_tree.outline import Outline, Request, outline_of, outlines
from asphalt.frontend.source_tree.parts import (
    ReadFile,
    UnitParts,
    indexed,
    interpreted,
    kept_unit,
    parts,
    read_again,
    read_in_place,
    unread_file,
    unread_parts,
)
from asphalt.frontend.source_tree.problems import InputProblem
from asphalt.frontend.source_tree.scan import has_mpi_name, searched
from asphalt.frontend.source_tree.workers import Failed, attempted, shared_workers
from asphalt.ir.source import Form
from asphalt.ir.tree import File, Node, Unit

TIME_LIMIT = 30.0
"""Seconds that one file may take in a worker."""
_BATCH = 300_000
"""Bytes of source that are outlined in one piece of work."""
_FILE, _PARTS = "file", "parts"


class Reader:
    """The files that could be read (``entries``, by path) and their ``problems``.

    ``origin``: the reader of the same files before the content of some was replaced.
    """

    def __init__(
        self,
        sources: Sequence[Path],
        settings: Settings,
        origin: Reader | None = None,
        roots: Sequence[Path] = (),
    ) -> None:
        self.settings = settings
        self._is_edited = origin is not None
        self._readers: dict[str, Reader] = {}  # of each file: this one, or one before the edits
        self.problems: list[InputProblem] = []
        self.contents: dict[str, bytes] = {}
        self.entries: dict[str, FileEntry] = {}
        self.headers: Headers = origin.headers if origin else Headers(settings.include_dirs)
        self._cache = Cache(cache_directory() if settings.cache else None)
        self._workers = shared_workers(settings.jobs)
        self.outlines: dict[str, Outline] = {}
        self._made: dict[str, dict[str, object]] = {_FILE: {}, _PARTS: {}}
        self._texts: dict[str, FileText] = {}  # of edited files, until they are read
        self._before: dict[str, Reader] = {}  # of these, what has read them before the edit
        self._searched: dict[str, str] = {}
        self._units: dict[tuple[str, int], Unit] = {}
        self._numbers: dict[int, int] = {}  # of the values of _units, by identity
        self.failed = False  # what some work made of a file is not known: another run may know
        self.included: set[tuple[str, str]] = set()  # INCLUDE lines that were asked for
        self.inclusions: Inclusions = origin.inclusions if origin else Inclusions()
        self._declared: dict[tuple[str, Form], tuple[tuple[Node, ...], ...]] = {}
        if origin is not None:  # what stands in files that nobody edits
            self._declared = origin._declared
            return
        given = dict(self._read_from_disk(sources))
        self.inclusions = inclusions(roots, given, settings)
        parts = self.inclusions.texts
        for path, content in given.items():
            if path not in parts:
                composed = self.inclusions.compositions.get(path)
                self._note(path, content if composed is None else composed.content)
        self._cache.prune()

    def edited(self, contents: Mapping[str, bytes]) -> Reader:
        """A reader of the same files, with other contents for some paths; it shares what this one
        has read of all others."""
        other = Reader((), self.settings, self)
        for path, entry in self.entries.items():
            content = contents.get(path, self.contents[path])
            if content == self.contents[path]:
                other.entries[path], other.contents[path] = entry, content
                other._readers[path] = self._readers[path]
            else:
                other._note(path, content)
                if self.has_file(path) and path in other.entries:
                    other._before[path] = self
        return other

    def outline(self, path: str) -> Outline:
        """The units and calls of a file."""
        if path not in self.outlines:
            self.read_outlines([path])
        return self.outlines[path]

    def file(self, path: str) -> File | None:
        """The interpreted tree of a file; None where it is no tree."""
        if not self.has_file(path):
            self.read_files([path])
        return cast(File | None, self._made[_FILE][path])

    def has_file(self, path: str) -> bool:
        """Whether the interpreted tree of a file has been asked for already."""
        return path in self._made[_FILE]

    def parts(self, path: str) -> UnitParts | None:
        """The units of a file one by one; None where it is no tree."""
        if path not in self._made[_PARTS]:
            self.read_parts([path])
        return cast(UnitParts | None, self._made[_PARTS][path])

    def unit(self, path: str, number: int) -> Unit:
        """A unit by itself, of a file that is a tree; the same one each time, also where other
        files are edited."""
        parts = self.parts(path)
        units = self._readers[path]._units
        if (path, number) not in units:
            assert parts is not None
            kept = parts.units[number]
            units[path, number] = found = kept_unit(kept)
            self._readers[path]._numbers[id(found)] = number
        return units[path, number]

    def number_of(self, path: str, unit: Unit) -> int | None:
        """The number of a unit of a file that is one by itself; None where it is not."""
        return self._readers[path]._numbers.get(id(unit))

    def reads_as(self, other: Reader, path: str) -> bool:
        """Whether a file has the same content in another reader with the same origin."""
        return self._readers[path] is other._readers[path]

    def index(self, path: str) -> FileIndex:
        """The symbol index of a file; empty if fortls fails on it."""
        key = key_of("index", self.entries[path].key)
        known = self._cache.get(key)
        if isinstance(known, FileIndex):
            return known
        (result,) = self._workers.run(indexed, [self._request(path)], TIME_LIMIT)
        if isinstance(result, Failed):
            self.failed = True
            return FileIndex((), frozenset())
        self._cache.write(key, result)
        return cast(FileIndex, unpack(result))

    def outline_of_include(self, path: str, content: bytes) -> Outline:
        """The outline of text that ``path`` includes."""
        form, defines = self.entries[path].form, self.settings.defines
        request = Request(path, content, form, None, defines, ())
        (result,) = self._workers.run(outlines, [[request]], TIME_LIMIT)
        return self._unpacked([path], result)[0]

    def kept(self, key: str) -> object | None:
        """The value that ``keep`` was given under ``key``; None where there was none."""
        return self._cache.get(key)

    def keep(self, key: str, value: object) -> None:
        """Keeps a value for other runs."""
        self._cache.put(key, value)

    def close(self) -> None:
        """Ends the worker processes."""
        self._workers.close()

    def read_outlines(self, paths: Sequence[str]) -> None:
        """Reads the outlines of several files at a time."""
        self._take_outlines(paths)
        known_all = all(path in self.outlines for path in paths)
        if self._is_edited or len(paths) < len(self.entries) or known_all:
            self._read_outlines(paths)
            return
        key = key_of("outlines", *(part for e in self.entries.values() for part in (e.path, e.key)))
        known = self._cache.get(key)
        if isinstance(known, dict):
            self.outlines.update(known)
        else:
            self._read_outlines(paths)
            self._cache.put(key, self.outlines)

    def _take_outlines(self, paths: Sequence[str]) -> None:
        """Takes those of files that are as they were before others were edited."""
        for reader, same in self._read_elsewhere(paths, self.outlines):
            reader.read_outlines(same)
            self.outlines.update((path, reader.outlines[path]) for path in same)
            self.failed |= reader.failed

    def _read_elsewhere(
        self, paths: Sequence[str], known: Container[str]
    ) -> Iterator[tuple[Reader, list[str]]]:
        """The files that are not known, and that other readers read, by reader."""
        for reader in dict.fromkeys(self._readers[path] for path in paths):
            same = [p for p in paths if p not in known and self._readers[p] is reader]
            if same and reader is not self:
                yield reader, same

    def _read_outlines(self, paths: Sequence[str]) -> None:
        if self._is_edited:
            for path in paths:
                if path not in self.outlines and not self._read_anew(path):
                    made = attempted(outline_of, self._text(path))
                    made = self._broken(path, made) if isinstance(made, Failed) else made
                    self.outlines[path] = made
            return
        missing: list[str] = []
        for path in paths:
            if path in self.outlines:
                continue
            known = self._cache.get(key_of("outline", self.entries[path].key))
            if isinstance(known, Outline):
                self.outlines[path] = known
            else:
                missing.append(path)
        batches = list(batched((self.entries[path] for path in missing), _BATCH))
        requests = [[self._request(path) for path in batch] for batch in batches]
        results = self._workers.run(outlines, requests, TIME_LIMIT)
        again: list[str] = []
        for batch, result in zip(batches, results, strict=True):
            if isinstance(result, Failed) and len(batch) > 1:
                again += batch
                continue
            for path, found in zip(batch, self._unpacked(batch, result), strict=True):
                self.outlines[path] = found
                if not isinstance(result, Failed):
                    self._cache.put(key_of("outline", self.entries[path].key), found)
        for path in again:
            (result,) = self._workers.run(outlines, [[self._request(path)]], TIME_LIMIT)
            (self.outlines[path],) = self._unpacked([path], result)

    def read_files(self, paths: Sequence[str]) -> None:
        """Reads and interprets several files at a time."""
        for reader, same in self._read_elsewhere(paths, self._made[_FILE]):
            found = {path: reader.file(path) for path in same if reader.has_file(path)}
            self._made[_FILE].update(found)
        self._read(paths, (_FILE, _PARTS), interpreted, unread_file)

    def read_parts(self, paths: Sequence[str]) -> None:
        """Reads the units of several files at a time."""
        for reader, same in self._read_elsewhere(paths, self._made[_PARTS]):
            reader.read_parts(same)
            self._made[_PARTS].update((path, reader.parts(path)) for path in same)
            self.failed |= reader.failed
        self._read(paths, (_PARTS,), parts, unread_parts)

    def _read(
        self,
        paths: Sequence[str],
        kinds: tuple[str, ...],
        function: Callable[[Request], tuple[bytes, ...]],
        unread: Callable[[Request, str], object],
    ) -> None:
        """Notes for each path of which the first of ``kinds`` is not known what ``function`` makes
        of it, a value for each kind (kept in the cache), None where it is no tree, or what
        ``unread`` makes of it where that fails."""
        first = self._made[kinds[0]]
        wanted = [path for path in dict.fromkeys(paths) if path not in first]
        if self._is_edited or not wanted:
            self._read_in_place(wanted, kinds[0])
            return
        self.read_outlines(wanted)
        missing: list[str] = []
        for path in wanted:
            found = self._cache.get(key_of(kinds[0], self.entries[path].key))
            if self.outlines[path].broken or found is not None:
                first[path] = found
            else:
                missing.append(path)
        requests = [self._request(path) for path in missing]
        results = self._workers.run(function, requests, TIME_LIMIT)
        for path, result in zip(missing, results, strict=True):
            if isinstance(result, Failed):
                self._note_unread(path, result)
                first[path] = unread(self._request(path), result.reason)
                continue
            for kind, data in zip(kinds, result, strict=True):
                self._cache.write(key_of(kind, self.entries[path].key), data)
                self._made[kind].setdefault(path, unpack(data))

    def _read_in_place(self, paths: Sequence[str], kind: str) -> None:
        """Reads files with other contents, which asphalt has printed, in this process."""
        for path in paths:
            if self.outline(path).broken:
                self._made[kind][path] = None
            if path in self._made[kind]:  # also where its outline has been read again
                continue
            result = attempted(read_in_place, self._text(path))
            del self._texts[path]
            if isinstance(result, Failed):
                self._note_unread(path, result)
                request, why = self._request(path), result.reason
                result = unread_file(request, why), unread_parts(request, why)
            for name, value in zip((_FILE, _PARTS), result, strict=True):
                self._made[name].setdefault(path, value)

    def _read_anew(self, path: str) -> bool:
        """Whether an edited file is read where it has been edited, and otherwise is as it was."""
        before = self._before.pop(path, None)
        if before is None or (known := before._known(path)) is None:
            return False
        found = attempted(partial(read_again, known), self._text(path))
        if not isinstance(found, ReadFile):
            return False
        self.outlines[path] = found.outline
        self._made[_FILE][path], self._made[_PARTS][path] = found.file, found.parts
        del self._texts[path]
        return True

    def _known(self, path: str) -> ReadFile | None:
        """What has been read of a file; None: it is no tree."""
        file, parts = self._made[_FILE].get(path), self.parts(path)
        if not isinstance(file, File) or parts is None:
            return None
        return ReadFile(self.contents[path], self.outline(path), file, parts)

    def _note_unread(self, path: str, result: Failed) -> None:
        self.failed = True
        message = f"its statements could not be understood: {result.reason}"
        self.problems.append(InputProblem(path, None, message))

    def search_text(self, path: str) -> str:
        """Text in lower case that holds every name of the file."""
        if self._readers[path] is not self:
            return self._readers[path].search_text(path)
        if path not in self._searched:
            expanded = self.outline(path).expanded
            content = self.contents[path]
            text = content if expanded is None else expanded.encode("latin-1")
            self._searched[path] = searched(text.lower(), self.entries[path].form)
        return self._searched[path]

    def declarations(self, path: str, name: str) -> tuple[Node, ...] | None:
        """The declarations that an INCLUDE line of ``path`` brings in (see ``IncludeFiles``)."""
        self.included.add((path, name))
        if is_mpi_header(name):
            return ()
        form = self.entries[path].form
        found = find_include(path, name, self.settings.include_dirs)
        if found is None:
            return () if name == HEADER else None  # that is still to be written
        if (found, form) not in self._declared:
            request = IncludeRequest(path, name, form, self.settings.include_dirs)
            (result,) = self._workers.run(declared, [request], TIME_LIMIT)
            self.failed = self.failed or isinstance(result, Failed)
            nodes = () if isinstance(result, Failed) else unpack(result)
            self._declared[found, form] = cast(tuple[tuple[Node, ...], ...], nodes)
        nodes = self._declared[found, form]
        return nodes[0] if nodes else None

    def finds(self, path: str, name: str) -> bool:
        """Whether the file that an INCLUDE line of ``path`` names is known."""
        self.included.add((path, name))
        directories = self.settings.include_dirs
        return is_mpi_header(name) or find_include(path, name, directories) is not None

    def included_bytes(self, path: str, name: str) -> bytes:
        """The bytes of a file that ``path`` includes; empty where it is not found."""
        return self.headers.content(find_include(path, name, self.settings.include_dirs) or "")

    def included_words(self, path: str, name: str) -> frozenset[str]:
        """The folded words of a file that ``path`` includes, and of those that this one includes;
        none of the header of an MPI library."""
        return self.headers.words(path, name)

    def _read_from_disk(self, paths: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
        """The files as they stand on the disk; a problem is noted of each other one."""
        for path in paths:
            try:
                yield str(path), path.read_bytes()
            except OSError as error:
                message = f"cannot be read: {error.strerror}"
                self.problems.append(InputProblem(str(path), None, message))

    def _note(self, name: str, content: bytes) -> None:
        """Notes a file with a content, or what is wrong with it."""
        self._readers[name] = self
        if (nul := content.find(b"\0")) >= 0:
            line = content.count(b"\n", 0, nul) + 1
            self.problems.append(InputProblem(name, line, "not a text file: it has a NUL byte"))
            return
        text = content.decode("latin-1")
        if not content.strip():
            self.problems.append(InputProblem(name, None, "the file is empty"))
        elif has_old_line_ends(text):
            self.problems.append(InputProblem(name, None, OLD_LINE_ENDS))
        self.contents[name] = content
        form, defines, headers = self._form(name, text), self.settings.defines, self.headers
        for line, why in unread_notes(text, self.settings.unread):
            self.problems.append(InputProblem(name, line, why, note=True))
        cpp = is_preprocessed(name, text, defines, self.settings.cpp)
        digest = headers.digest(name, content) if cpp else b""
        key = entry_key(name, content, form, self.settings, digest)
        has_mpi = has_mpi_name(content, form) or headers.bring_mpi(name, content, defines, cpp=cpp)
        lines = content.count(b"\n") + (not content.endswith(b"\n") and content != b"")
        self.entries[name] = FileEntry(name, form, len(content), lines, has_mpi, cpp, key)

    def _form(self, name: str, text: str) -> Form:
        """The form of a file: as it is set, or as its suffix and text say."""
        if (form := self.settings.form_of(name)) is not None:
            return form
        if (form := form_by_content(name, text)) is not form_of(name):
            self.problems.append(InputProblem(name, None, OTHER_FORM, note=True))
        return form

    def _text(self, path: str) -> FileText:
        return self._texts.setdefault(path, FileText(self._request(path)))

    def _request(self, path: str) -> Request:
        own, form = self.settings, self.entries[path].form
        given = (own.width, own.defines, own.include_dirs, own.cpp, own.unread)
        return Request(path, self.contents[path], form, *given)

    def _unpacked(self, batch: Sequence[str], result: bytes | Failed) -> Sequence[Outline]:
        if isinstance(result, Failed):
            return [self._broken(batch[0], result)]
        return cast(tuple[Outline, ...], unpack(result))

    def _broken(self, path: str, result: Failed) -> Outline:
        self.failed = True
        problem = InputProblem(path, None, f"could not be read: {result.reason}")
        return Outline(self.entries[path].cpp, broken=True, problems=(problem,))
