"""The record of what asphalt has written into a directory: it overwrites nothing else.

The ledger is ``.asphalt/written.json`` in the output directory: for each file the hashes of the
content that asphalt wrote last, and before that.  asphalt updates it before it writes the files,
so that the next run recognises the files of a run that was killed in between.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from asphalt.output.atomic import write_atomically

FOLDER = ".asphalt"
_FILE = "written.json"
_LOCK = "lock"


def fingerprint(data: bytes) -> str:
    """A hash of a file's content."""
    return hashlib.sha256(data).hexdigest()


def read_ledger(output: Path) -> Mapping[str, frozenset[str]]:
    """Paths relative to ``output`` with asphalt's fingerprints; empty without a ledger."""
    return {name: frozenset(prints) for name, prints in _entries(output).items()}


def add_to_ledger(output: Path, prints: Mapping[str, str]) -> None:
    """Record what is about to be written; several runs may write into one directory."""
    with _locked(output):
        entries = _entries(output)
        for name, new in prints.items():
            before = [old for old in entries.get(name, []) if old != new]
            entries[name] = [*before[-1:], new]
        text = json.dumps(entries, indent=0, sort_keys=True)
        write_atomically(output / FOLDER / _FILE, text.encode(), 0o644)


def _entries(output: Path) -> dict[str, list[str]]:
    try:
        entries = json.loads((output / FOLDER / _FILE).read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return entries if isinstance(entries, dict) else {}


@contextmanager
def _locked(output: Path) -> Iterator[None]:
    (output / FOLDER).mkdir(parents=True, exist_ok=True)
    handle = os.open(output / FOLDER / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
