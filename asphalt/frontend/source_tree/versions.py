"""Versions of a tree that other runs have seen, told apart by the contents of its files."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from asphalt.frontend.source_tree.cache import key_of
from asphalt.frontend.source_tree.file_entry import FileEntry
from asphalt.frontend.source_tree.reading import Reader
from asphalt.frontend.source_tree.tree_digest import TreeDigest
from asphalt.ir.records import record

_FEW = 50  # edited files; where there are more, little is as it was


@record
class FileVersion:
    """A file of a version: the key of its ``FileEntry``, and that of the contents among which its
    own is kept."""

    key: str
    has_mpi: bool
    contents: str


@record
class TreeVersion:
    """A version of a tree: its files by path, and the digests of all that stands beside them."""

    digest: str
    included: str
    foreign: str
    files: dict[str, FileVersion]


def keep_version(reader: Reader, digest: TreeDigest, before: TreeVersion | None) -> TreeVersion:
    """The present version, whose contents are kept, as far as they are new since ``before``."""
    known = {} if before is None else before.files
    entries = reader.entries
    new = [p for p, e in entries.items() if p not in known or known[p].key != e.key]
    contents = {path: zlib.compress(reader.contents[path], 1) for path in new}
    key = key_of("contents", *(part for path in new for part in (path, entries[path].key)))
    reader.keep(key, contents)
    files = {
        path: FileVersion(
            entry.key, entry.has_mpi, key if path in contents else known[path].contents
        )
        for path, entry in entries.items()
    }
    return TreeVersion(digest.text, digest.included, digest.foreign, files)


def edited_since(
    reader: Reader, digest: TreeDigest, version: TreeVersion
) -> dict[str, bytes] | None:
    """The contents that a few files had in a version from which this tree differs in nothing but
    the contents of these; None: it differs in more, or they are not known any more."""
    if (version.included, version.foreign) != (digest.included, digest.foreign):
        return None
    if version.files.keys() != reader.entries.keys():
        return None
    found: dict[str, bytes] = {}
    kept: dict[str, object] = {}
    for path, entry in reader.entries.items():
        then = version.files[path]
        if then.key == entry.key and then.has_mpi == entry.has_mpi:
            continue
        if then.contents not in kept:
            kept[then.contents] = reader.kept(then.contents)
        content = _content(kept[then.contents], path)
        if content is None or content == reader.contents[path] or len(found) == _FEW:
            return None  # what it includes, or how it is read, is not as it was
        found[path] = content
    return found


def _content(kept: object, path: str) -> bytes | None:
    data = kept.get(path) if isinstance(kept, dict) else None
    return zlib.decompress(data) if isinstance(data, bytes) else None


def is_version(
    version: TreeVersion, edited: Mapping[str, bytes], entries: Mapping[str, FileEntry]
) -> bool:
    """Whether files with the contents of ``edited_since`` are read as they were in the version."""
    if entries.keys() != version.files.keys():
        return False
    return all(
        (entries[path].key, entries[path].has_mpi)
        == (version.files[path].key, version.files[path].has_mpi)
        for path in edited
    )
