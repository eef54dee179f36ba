"""Modules of backends that an earlier run put into a tree, and that no header names any more.

A header is the only text that names the procedure of a backend.  So without one, its module is no
part of the program, nor are those that it alone uses.  A module of which asphalt wrote every byte
goes; of one that somebody edited, the user is told.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from asphalt.config.backends import ISEND, backends, modules_of, offering_procedure
from asphalt.config.limits import HEADER
from asphalt.config.runtime import needed, runtime_modules
from asphalt.diagnostics.model import ProblemReport
from asphalt.ir.records import record
from asphalt.output.ledger import fingerprint, read_ledger

_REMOVED = "was removed: no header names its backend any more"
_EDITED = (
    "was edited, so it stays, but no header names its backend any more: do not build it, or remove "
    "it"
)


@record
class LeftBackends:
    """The modules of backends that nothing needs, those that they alone use, and their files."""

    modules: frozenset[str] = frozenset()
    files: tuple[Path, ...] = ()


def left_backends(
    top: Path, place: Path, there: Collection[str], used: Collection[str], texts: Mapping[Path, str]
) -> LeftBackends:
    """The backends among the modules of the runtime that are ``there`` in the folder ``place`` of a
    tree, without those that sources or entries of headers have ``used``.

    ``texts``: the headers of the tree as they will be, where they change.
    """
    modules = {next(iter(modules_of([name]))): name for name in backends() if name != ISEND}
    found = modules.keys() & set(there) - set(used)
    found -= {one.name for one in needed({*there, *used} - found)}
    if found:
        named = "\n".join(_headers(top, texts)).lower()
        found = {name for name in found if offering_procedure(modules[name]) not in named}
    found |= _for_others(found, {*there, *used}) - set(used)
    files = tuple(place / runtime_modules()[name].file for name in sorted(found))
    return LeftBackends(frozenset(found), files)


def _for_others(unused: Collection[str], there: Collection[str]) -> frozenset[str]:
    """The modules that only unused ones use, and that offer nothing to transformed code."""
    below = {one.name for one in needed(unused) if one.name in there and not one.names}
    kept = needed(set(there) - below - set(unused))
    return frozenset(below - {one.name for one in kept} - set(unused))


def remove(top: Path, files: Collection[Path]) -> Iterator[ProblemReport]:
    """Remove the files that asphalt wrote as they are, and a note on each file."""
    ledger = read_ledger(top)
    for path in files:
        content = path.read_bytes()
        known = ledger.get(str(path.relative_to(top)), frozenset())
        own = content == runtime_modules()[path.stem].source.read_bytes()
        if own or (fingerprint(content) in known and not path.is_symlink()):
            path.unlink()
        yield ProblemReport(
            os.path.relpath(path), None, _EDITED if path.exists() else _REMOVED, note=True
        )


def _headers(top: Path, texts: Mapping[Path, str]) -> Iterator[str]:
    """The headers of a tree."""
    yield from texts.values()
    for folder, _, names in os.walk(top):
        path = Path(folder, HEADER)
        if HEADER in names and path not in texts:
            yield path.read_bytes().decode("latin-1")
