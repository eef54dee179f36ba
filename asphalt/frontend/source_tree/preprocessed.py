"""The conditionals and macros of the files of a tree, in its configuration."""

from __future__ import annotations

import os
from collections.abc import Iterator

from asphalt.frontend.lexical.conditionals import Conditionals, MacroLine, conditionals, macro_lines
from asphalt.frontend.lexical.preprocess import given_names
from asphalt.frontend.lexical.source_text import source_text
from asphalt.frontend.source_tree.cache import key_of
from asphalt.frontend.source_tree.includes import (
    find_include,
    included_names,
    names_in_includes,
)
from asphalt.frontend.source_tree.reading import Reader


class Preprocessed:
    """What the preprocessor decides in each file of a reader."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._known: dict[str, Conditionals] = {}
        self._macros: dict[str, tuple[MacroLine, ...]] = {}
        self._headers: dict[str, tuple[MacroLine, ...]] = {}

    def conditionals(self, path: str) -> Conditionals:
        """The conditionals of a file of the tree."""
        if path not in self._known:
            self._known[path] = self._read(path)
        return self._known[path]

    def _read(self, path: str) -> Conditionals:
        reader, settings = self._reader, self._reader.settings
        entry = reader.entries[path]
        if not entry.cpp:
            return Conditionals()
        key = key_of("conditionals", entry.key)
        known = reader.kept(key)
        if isinstance(known, Conditionals):
            return known
        source = source_text(path, reader.contents[path], entry.form, settings.width, settings.cpp)
        found = conditionals(source, settings.defines, settings.include_dirs, self._include)
        reader.keep(key, found)
        return found

    def macros(self, path: str) -> tuple[MacroLine, ...]:
        """The lines of a file that define macros or remove them; each that stands in an included
        file at the line of the ``#include``."""
        if path not in self._macros:
            lines = self.conditionals(path).macros
            self._macros[path] = tuple(self._below(path, lines, None, frozenset({path})))
        return self._macros[path]

    def names(self, path: str) -> frozenset[str]:
        """The macros that a file defines in any configuration, and those of the options."""
        own = self._reader.settings
        given = given_names(path, own.defines, own.cpp or self._reader.entries[path].cpp)
        return given.union(one.name for one in self.macros(path) if one.kind == "define")

    def included(self) -> frozenset[str]:
        """The absolute paths of the files of the tree that others of them include."""
        own = {os.path.abspath(path) for path in self._reader.entries}
        found: set[str] = set()
        for path, content in self._reader.contents.items():
            if b"include" not in content.lower():
                continue
            names = set(included_names(content))
            brought = {os.path.abspath(p) for n in names if (p := self._find(path, n))} & own
            if b"#" in content and set(names_in_includes(content)) - names:
                brought |= self._brought(path, own)
            found |= brought - {os.path.abspath(path)}
        return frozenset(found)

    def _brought(self, path: str, own: set[str]) -> set[str]:
        """The files of the tree that the preprocessor includes in a file."""
        text = self._reader.contents[path].decode("latin-1")
        lines = [one for one in macro_lines(text.split("\n")) if one.kind == "include"]
        places = {
            one.line: os.path.abspath(p) for one in lines if (p := self._find(path, one.name))
        }
        if not own.intersection(places.values()):
            return set()
        here = self.conditionals(path)
        return {p for line, p in places.items() if p in own and here.path(line) is not None}

    def _find(self, including: str, name: str) -> str | None:
        return find_include(including, name, self._reader.settings.include_dirs)

    def _include(self, including: str, name: str) -> tuple[str, str] | None:
        path = self._find(including, name)
        if path is None:
            return None
        return path, self._reader.headers.content(path).decode("latin-1")

    def _below(
        self, path: str, lines: tuple[MacroLine, ...], at: int | None, seen: frozenset[str]
    ) -> Iterator[MacroLine]:
        for one in lines:
            line = one.line if at is None else at
            if one.kind != "include":
                header = "" if at is None else path
                yield MacroLine(line, one.kind, one.name, one.body, at is not None, header)
                continue
            found = self._find(path, one.name)
            if found is not None and found not in seen:
                yield from self._below(found, self._of_header(found), line, seen | {found})

    def _of_header(self, path: str) -> tuple[MacroLine, ...]:
        if path not in self._headers:
            text = self._reader.headers.content(path).decode("latin-1")
            self._headers[path] = tuple(macro_lines(text.split("\n")))
        return self._headers[path]
