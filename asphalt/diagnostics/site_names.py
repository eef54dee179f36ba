"""Names of sites: stable under edits elsewhere, unique in a directory, and short."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from pathlib import Path

from asphalt.frontend.source_tree.scan import SUFFIXES

# F2018 6.2.2 allows names of 63 characters; a definition in the header must end in column 72
_LONGEST = 45


def site_name(path: Path, unit: str, number: int, sites_in_unit: int) -> str:
    """The name of the ``number``-th site (from 1) of a unit.

    It is the procedure's name; the file's stem comes first where another Fortran file of the
    directory defines a unit of the same name, because all of them share one header.
    """
    base = unit or "main"
    if not unit or _defined_beside(path, unit):
        stem = re.sub(r"\W", "_", path.stem.lower())
        base = f"{stem}_{base}"
    if sites_in_unit > 1:
        base = f"{base}_{number}"
    if len(base) > _LONGEST:
        digest = hashlib.sha256(base.encode()).hexdigest()[:8]
        base = f"{base[: _LONGEST - 9]}_{digest}"
    return base


def _defined_beside(path: Path, unit: str) -> bool:
    """Whether another Fortran file of the directory seems to define a unit of this name."""
    word = rf"\b(?:subroutine|function|program|procedure)\s+{re.escape(unit)}\b"
    pattern, word_bytes = re.compile(word.encode("latin-1")), unit.encode("latin-1")
    directory = path.parent
    for other in sorted(directory.iterdir()) if directory.is_dir() else ():
        if other.name != path.name and other.is_file() and other.suffix.lower() in SUFFIXES:
            try:
                found = other.stat()
                state = found.st_dev, found.st_ino, found.st_size, found.st_ctime_ns
                content = _lowered(other, *state)
            except OSError:
                continue
            if word_bytes in content and pattern.search(content):
                return True
    return False


@lru_cache(maxsize=256)
def _lowered(path: Path, *state: int) -> bytes:
    """The content of a file in a state, in lower case: one directory may have many sites."""
    return path.read_bytes().lower()
