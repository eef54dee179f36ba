"""What a build compiles: a compilation database, as CMake and others write it, too.

Commands of one build write it at a time; each reads and replaces it as a whole under a lock.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asphalt.building.compiler_words import SOURCES, Command, Reading, command_of, reading_of
from asphalt.config.errors import InputError
from asphalt.output.atomic import write_atomically


@dataclass(frozen=True, slots=True)
class Entry:
    """A source that a build compiles, by its absolute path, and how it is read."""

    path: Path
    reading: Reading


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Nobody else works with a file, or with what belongs to it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with open(file.with_name(file.name + ".lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:  # closing is not enough: processes that were started meanwhile have the file, too
            fcntl.flock(lock, fcntl.LOCK_UN)


def record(file: Path, command: Command) -> None:
    """Add the sources of a command to a database, in the place of what it had of them."""
    with locked(file):
        kept = {_path(row): row for row in _rows(file)} if file.exists() else {}
        for place in command.sources:
            path = command.path(place)
            kept[path] = {
                "directory": str(command.folder),
                "file": str(path),
                "arguments": list(command.words),
            }
        rows = [kept[path] for path in sorted(kept)]
        write_atomically(file, (json.dumps(rows, indent=1) + "\n").encode(), 0o644)


def entries(file: Path) -> tuple[Entry, ...]:
    """The Fortran sources of a database, sorted.

    Raises ``InputError`` for a file that is none.
    """
    found: dict[Path, Entry] = {}
    for row in _rows(file):
        path = _path(row)
        if path.suffix.lower() in SOURCES:
            words = row.get("arguments") or shlex.split(str(row.get("command", "")))
            command = command_of([str(word) for word in words], Path(row["directory"]))
            found[path] = Entry(path, reading_of(command))
    return tuple(found[path] for path in sorted(found))


def _path(row: dict[str, Any]) -> Path:
    return Path(os.path.abspath(Path(row["directory"]) / row["file"]))


def _rows(file: Path) -> Sequence[dict[str, Any]]:
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))
        for row in rows:
            _path(row)
    except OSError as error:
        reason = f"{error.strerror}: make it with 'asphalt fc --record FILE -- COMPILER'"
        raise InputError(str(file), None, reason) from None
    except (ValueError, TypeError, KeyError):
        raise InputError(str(file), None, "is no compilation database; record it again") from None
    found: Sequence[dict[str, Any]] = rows
    return found
