"""The lines of a program that include files, whichever branches of the preprocessor are taken."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

from asphalt.config.errors import InputError
from asphalt.config.settings import Settings
from asphalt.frontend.lexical.preprocess import is_preprocessed, preprocess
from asphalt.frontend.lexical.source_text import form_by_content, source_text
from asphalt.frontend.source_tree.includes import find_include, is_mpi_header
from asphalt.ir.records import record

_WORD = b"include"
_CPP = re.compile(rb"^[ \t]*#[ \t]*include(?:_next)?\b[ \t]*([^\n]*)", re.M)
_QUOTED = re.compile(rb'(?:"([^"\n]*)"|<([^>\n]*)>)[ \t\r]*(?:/\*.*\*/[ \t\r]*)?\Z')
_FORTRAN = re.compile(
    rb"[\s&]*".join([*map(bytes, zip(_WORD)), rb"(['\"])([^'\"\n]*)\1"]), re.IGNORECASE
)
_COMMENT = re.compile(rb"[^\n]*!(?!\$)[^\n]*\Z|[cC*][^\n$]*\Z")
_DEEPEST = 20  # of files that include each other


@lru_cache(maxsize=4096)
def _real(path: str) -> str:
    return os.path.realpath(path)


@record
class IncludeLine:
    """A line that includes a file.

    ``name`` None: a macro gives the name.  ``found``: the path of the file in this configuration.
    ``preprocessed``: it is one of the preprocessor; ``quoted``: its name stands in ``"`` or ``'``.
    """

    including: str
    line: int
    name: str | None
    found: str | None
    preprocessed: bool
    quoted: bool = True

    @property
    def place(self) -> str:
        """File, without its directory, and line."""
        return f"{os.path.basename(self.including)}:{self.line}"

    def may_mean(self, path: str) -> bool:
        """Whether it may include a file in some configuration of the search."""
        if self.name is None or (self.found is not None and _real(self.found) == _real(path)):
            return True
        if os.path.basename(self.name) != os.path.basename(path):
            return False
        beside = os.path.normpath(os.path.join(os.path.dirname(self.including), self.name))
        return not (self.quoted and self.found == beside)


@dataclass
class IncludeLines:
    """The include lines of some files and of those that these include."""

    include_dirs: Sequence[str]
    contents: dict[str, bytes] = field(default_factory=dict)
    """Of the files that have been read, by path."""
    lines: dict[str, tuple[IncludeLine, ...]] = field(default_factory=dict)

    def read(self, given: Mapping[str, bytes], others: Iterable[str]) -> None:
        """Enter files, by content or path, and all that they include."""
        self.__dict__.pop("_all", None)
        self.__dict__.pop("_listed", None)
        waiting = [(path, content, 0) for path, content in given.items()]
        waiting += [(path, self._content(path), 0) for path in others if path not in given]
        while waiting:
            path, content, depth = waiting.pop()
            if path in self.contents:
                continue
            self.contents[path] = content
            self.lines[path] = tuple(self._lines(path, content))
            for one in self.lines[path]:
                if one.found is not None and depth < _DEEPEST:
                    waiting.append((one.found, self._content(one.found), depth + 1))

    def meaning(self, path: str) -> tuple[IncludeLine, ...]:
        """The lines that may include a file."""
        by_macro, by_name, by_file = self._listed
        found = {*by_macro, *by_name.get(os.path.basename(path), ())}
        if by_file:
            found.update(by_file.get(_real(path), ()))
        return tuple(self._all[at] for at in sorted(found) if self._all[at].may_mean(path))

    @cached_property
    def _all(self) -> tuple[IncludeLine, ...]:
        return tuple(one for lines in self.lines.values() for one in lines)

    @cached_property
    def _listed(self) -> tuple[list[int], dict[str, list[int]], dict[str, list[int]]]:
        """The positions of the lines whose name a macro gives, and of all others by the name
        without directories and by the file."""
        by_macro, by_name, by_file = list[int](), dict[str, list[int]](), dict[str, list[int]]()
        for at, one in enumerate(self._all):
            if one.name is None:
                by_macro.append(at)
            else:
                by_name.setdefault(os.path.basename(one.name), []).append(at)
            if one.found is not None:
                by_file.setdefault(_real(one.found), []).append(at)
        return by_macro, by_name, by_file

    def _lines(self, path: str, content: bytes) -> Iterator[IncludeLine]:
        if _WORD not in content.lower():
            return
        for match in _CPP.finditer(content):
            number = content.count(b"\n", 0, match.start()) + 1
            name = _QUOTED.match(match[1])
            told = None if name is None else os.fsdecode(name[1] or name[2] or b"")
            quoted = name is not None and name[1] is not None
            yield from self._line(path, number, told, True, quoted)
        for match in _FORTRAN.finditer(content):
            begin = content.rfind(b"\n", 0, match.start()) + 1
            before = content[begin : match.start()]
            if b"#" in before or (before.strip() and _COMMENT.match(before)):
                continue
            number = content.count(b"\n", 0, match.start()) + 1
            yield from self._line(path, number, os.fsdecode(match[2]), False, True)

    def _line(
        self, path: str, number: int, name: str | None, preprocessed: bool, quoted: bool
    ) -> Iterator[IncludeLine]:
        if name is not None and is_mpi_header(name):
            return
        found = None if name is None else find_include(path, name, self.include_dirs)
        yield IncludeLine(path, number, name, found, preprocessed, quoted)

    def _content(self, path: str) -> bytes:
        try:
            return Path(path).read_bytes()
        except OSError:
            return b""


@dataclass
class RemovedIncludes:
    """Which include lines stand in text that the preprocessor removes, if what comes out is
    compiled with the given macros alone.

    Only those of files that no line includes: what else is defined where a file is included
    depends on the place.  ``given``: the Fortran files of a tree, by path.
    """

    given: Mapping[str, bytes]
    settings: Settings
    lines: IncludeLines
    _live: dict[str, frozenset[int] | None] = field(default_factory=dict)

    def has(self, line: IncludeLine) -> bool:
        """Whether the preprocessor removes a line that includes a file."""
        path = line.including
        if not self.settings.one_configuration or path not in self.given:
            return False
        if path not in self._live:
            self._live[path] = self._of(path)
        live = self._live[path]
        return live is not None and line.line not in live

    def _of(self, path: str) -> frozenset[int] | None:
        """The numbers of the lines of a file that include others; None: not known."""
        own, text = self.settings, self.given[path].decode("latin-1")
        named = any(one.name is not None for one in self.lines.meaning(path))
        if named or not is_preprocessed(path, text, own.defines, own.cpp):
            return None
        form = own.form_of(path) or form_by_content(path, text)
        source = source_text(path, self.given[path], form, own.width, own.cpp)
        try:
            facts = preprocess(source, own.defines, own.include_dirs)
        except InputError:
            return None
        if facts is None or facts.missing:  # what is not found may define what decides
            return None
        return frozenset(
            one.line
            for one in self.lines.lines[path]
            if (one.line in facts.included if one.preprocessed else one.line not in facts.dead)
        )
