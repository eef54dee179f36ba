"""A digest of everything in a source tree that an answer about it may depend on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from asphalt.frontend.source_tree.cache import key_of
from asphalt.frontend.source_tree.foreign import ForeignFiles
from asphalt.frontend.source_tree.includes import (
    find_include,
    is_mpi_header,
    split_included_names,
)
from asphalt.frontend.source_tree.reading import Reader
from asphalt.ir.records import record


@record
class TreeDigest:
    """``text`` changes with every file of the tree, its configuration, the files that its INCLUDE
    lines name, found or not, and those of other languages; ``included`` with those that are
    included, ``foreign`` with those of other languages.  ``includes`` are these lines, as file and
    name."""

    text: str
    included: str
    foreign: str
    includes: frozenset[tuple[str, str]]


def tree_digest(reader: Reader, foreign: ForeignFiles) -> TreeDigest:
    """The digest of what ``reader`` reads, and of the files of other languages."""
    reader.read_outlines(list(reader.entries))
    includes = {
        (path, place.name) for path in reader.entries for place in reader.outlines[path].includes
    }
    parts: list[str | bytes] = ["tree"]
    for entry in reader.entries.values():
        parts += [entry.path, entry.key, str(entry.has_mpi)]
    brought: list[str | bytes] = ["includes"]
    for name, found, content in _included(sorted(includes), reader.settings.include_dirs):
        brought += [name, found or "", content]
    other: list[str | bytes] = ["foreign"]
    for path, text in foreign.texts().items():
        other += [path, text]
    other += [f"{path} {sure}" for path, sure in foreign.mains().items()]
    whole = key_of(*parts, *brought, *other)
    return TreeDigest(whole, key_of(*brought), key_of(*other), frozenset(includes))


def _included(
    lines: list[tuple[str, str]], include_dirs: tuple[str, ...]
) -> Iterator[tuple[str, str | None, bytes]]:
    """Each file that is included, directly or by another one: its name in the INCLUDE line, its
    path and its content."""
    pending = list(reversed(lines))
    seen: set[tuple[str, str]] = set()
    while pending:
        including, name = pending.pop()
        if is_mpi_header(name) or (os.path.dirname(including), name) in seen:
            continue
        seen.add((os.path.dirname(including), name))
        found = find_include(including, name, include_dirs)
        content = b"" if found is None else _content(found)
        yield name, found, content
        if found is not None:
            pending += [(found, other) for other in split_included_names(content)]


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""
