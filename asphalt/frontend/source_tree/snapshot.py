"""Whether files are as they were: a look at names, sizes and times, without their contents.

What changes a file also changes its time of last status change, which no program can set (POSIX,
``stat``).  A change in the same tick of a coarse clock leaves that time as it was, though; so a
state says something only about files that had been left alone for ``MARGIN`` when it was taken.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

from asphalt.config.limits import HEADER
from asphalt.frontend.source_tree.includes import (
    find_include,
    names_in_included,
    names_in_includes,
)
from asphalt.frontend.source_tree.reading import Reader
from asphalt.frontend.source_tree.scan import FOREIGN, SUFFIXES, directories_below
from asphalt.frontend.source_tree.source_digest import package_digest
from asphalt.ir.records import record

MARGIN = 2.0
"""Seconds: the coarsest clocks of file systems tick as often as that."""
_SYSTEM = ("/usr/include", "/usr/local/include")  # where the preprocessor looks unasked
_SEEN = SUFFIXES | FOREIGN
_DEPENDENCIES = ("fortls", "fparser", "islpy", "networkx", "pympistandard")
_SURROUNDINGS = (  # of the preprocessor
    "PATH",
    "CPATH",
    "C_INCLUDE_PATH",
    "GCC_EXEC_PREFIX",
    "COMPILER_PATH",
)

State = tuple[int, ...]
"""Device, inode, mode, size in bytes, times of modification and of status change in ns; () for
what is not there."""
_CHANGED = 5  # index of the time of status change


@record
class Snapshot:
    """The files at and below some paths: ``text`` changes with each of them.

    ``newest``: the last change of one, in seconds since 1970.
    """

    text: str
    newest: float


def snapshot(roots: Sequence[Path]) -> Snapshot:
    """The state of everything at and below ``roots`` that may be a source file, or in a directory
    with one (names of sites depend on these)."""
    digest = hashlib.blake2b(digest_size=20)
    newest = 0
    for line, state in _states_below(roots):
        digest.update(f"{line}\0{state}\n".encode("utf-8", "surrogateescape"))
        newest = max((newest, *state[_CHANGED:]))
    return Snapshot(digest.hexdigest(), newest / 1e9)


def state_of(path: str) -> State:
    """The state of one file; where it is a link, of what it leads to."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return (
        found.st_dev,
        found.st_ino,
        found.st_mode,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
    )


def surroundings() -> tuple[str | bytes, ...]:
    """All that an answer rests on beside settings and files: asphalt, what it is installed with,
    and the preprocessor."""
    preprocessor = shutil.which("gfortran") or ""
    return (
        package_digest(),
        *(f"{name} {version(name)}" for name in _DEPENDENCIES),
        repr((os.path.realpath(preprocessor), state_of(preprocessor))),
        *(f"{name}={os.environ.get(name)}" for name in _SURROUNDINGS),
    )


def states_of(paths: Iterable[str]) -> tuple[tuple[str, State], ...]:
    """The states of files, with their paths."""
    return tuple((path, state_of(path)) for path in paths)


def newest_of(states: Iterable[tuple[str, State]]) -> float:
    """The last change of one of some files, in seconds since 1970; 0: there is none."""
    return max((state[_CHANGED] for _, state in states if state), default=0) / 1e9


def looked_for(reader: Reader) -> tuple[str, ...]:
    """The files that INCLUDE lines and preprocessor lines of a tree may name, directly or through
    other ones: those that were found, and before each, where it was not."""
    dirs = reader.settings.include_dirs
    found: dict[str, None] = {}
    pending = [
        (path, name)
        for path, content in reader.contents.items()
        for name in names_in_includes(content)
    ]
    pending += [
        (path, place.name)
        for path, outline in reader.outlines.items()
        for place in outline.includes
    ]
    seen: set[tuple[str, str]] = set()
    while pending:
        including, name = pending.pop()
        directory = os.path.dirname(including)
        if (directory, name) in seen:
            continue
        seen.add((directory, name))
        path = find_include(including, name, dirs)
        for place in (directory, *dirs, *_SYSTEM):
            candidate = os.path.normpath(os.path.join(place, name))
            found[candidate] = None
            if candidate == path:
                break
        if path is not None:
            content = reader.headers.content(path)
            pending += [(path, other) for other in names_in_included(content)]
    found.update(reader.inclusions.looked_at)
    return tuple(found)


def _states_below(roots: Sequence[Path]) -> Iterator[tuple[str, State]]:
    problems: list[str] = []

    def unreadable(error: OSError) -> None:
        problems.append(f"{error.filename}: {error.strerror}")

    for root in roots:
        yield f"root {root}", state_of(str(root))[:2]
        if root.is_dir():
            for directory, names in directories_below(root, unreadable):
                yield f"directory {directory}", state_of(directory)[:2]
                yield from _states_in(directory, names)
        elif root.exists():
            yield from _states_in(str(root), [""])
            beside = str(root.parent)
            yield from _states_in(beside, os.listdir(beside))
    yield from ((problem, ()) for problem in problems)


def _states_in(directory: str, names: Iterable[str]) -> Iterator[tuple[str, State]]:
    for name in sorted(names):
        if not name or os.path.splitext(name)[1].lower() in _SEEN or name == HEADER:
            path = os.path.join(directory, name) if name else directory
            link = os.readlink(path) if os.path.islink(path) else ""
            yield f"{path}\0{link}", state_of(path)
