"""Some files of a tree as a tree of their own: one of several programs."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator

from asphalt.frontend.source_tree.includes import (
    find_include,
    included_names,
    is_mpi_header,
    names_in_includes,
)
from asphalt.frontend.source_tree.mpi_calls import IncludedCall
from asphalt.frontend.source_tree.reading import Reader
from asphalt.frontend.source_tree.tree import Tree


class ProgramTree(Tree):
    """Some files of ``whole``; what it has read of them is shared.

    Files of other languages, and what becomes of included files, are those of ``whole``.
    """

    def __init__(self, whole: Tree, paths: Collection[str]) -> None:
        self._whole = whole
        reader = _restricted(whole._reader, paths)
        super().__init__(whole.roots, reader, whole._foreign, whole._path_problems)

    @property
    def _included_alone(self) -> frozenset[str]:
        return self._whole._included_alone

    def _key_of_paths(self, *parts: str | bytes) -> str:
        return super()._key_of_paths("program", *self._reader.entries, *parts)


def _restricted(reader: Reader, paths: Collection[str]) -> Reader:
    """A reader of some of the files; it fills the same records as ``reader`` does."""
    other = copy.copy(reader)
    other.entries = {path: entry for path, entry in reader.entries.items() if path in paths}
    other.contents = {path: reader.contents[path] for path in other.entries}
    other._readers = dict.fromkeys(other.entries, other)
    other.included = set(reader.included)
    return other


def digest_of_all(tree: Tree) -> str:
    """The digest of all files that were read together with those of a tree."""
    return tree._whole.digest if isinstance(tree, ProgramTree) else tree.digest


def included_alone(tree: Tree) -> frozenset[str]:
    """The files of a tree that are only compiled as a part of others."""
    return frozenset(entry.path for entry in tree.files if tree._is_part(entry.path))


def included_by(tree: Tree, path: str) -> Iterator[str]:
    """The files that a file may include, each with all that these include."""
    pending, seen = [(path, tree.content(path))], {path}
    while pending:
        including, content = pending.pop()
        for name in {*included_names(content), *names_in_includes(content)}:
            found = find_include(including, name, tree.settings.include_dirs)
            if found is not None and found not in seen and not is_mpi_header(name):
                seen.add(found)
                yield found
                pending.append((found, tree._reader.headers.content(found)))


def included_calls(tree: Tree) -> Iterator[IncludedCall]:
    """The MPI calls in included files that are not analysed where they are included."""
    for call in tree._mpi.included():
        path, line = tree.inclusions.composed(call.including, call.line)
        part = path in tree.inclusions.included or path not in tree._reader.entries
        if part or tree.preprocessed.conditionals(path).path(line) is not None:
            yield call


def called_from_elsewhere(tree: Tree, name: str) -> bool:
    """Whether a file of another language may refer to a procedure or variable of Fortran."""
    return bool(tree._foreign.mentioning(name) or tree._foreign.containing(name))
