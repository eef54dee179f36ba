"""One file, written so that a killed run leaves it either old or new."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

TEMPORARY_PREFIX = ".asphalt-"
TEMPORARY_SUFFIX = ".tmp"


def write_atomically(path: Path, data: bytes, mode: int, *, durable: bool = True) -> bool:
    """Make ``path`` a regular file with this content and mode; True if its content was changed.

    A file that has this content already keeps its time of modification, so that ``make`` does
    nothing.  ``durable``: the new content survives a loss of power.  A symbolic link at ``path``
    is replaced, not followed.
    """
    if not path.is_symlink() and path.is_file() and path.read_bytes() == data:
        if path.stat().st_mode & 0o7777 != mode:
            path.chmod(mode)
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(TEMPORARY_SUFFIX, TEMPORARY_PREFIX, path.parent)
    try:
        with os.fdopen(handle, "wb") as temporary:
            temporary.write(data)
            os.fchmod(temporary.fileno(), mode)
            if durable:
                temporary.flush()
                os.fsync(temporary.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    return True


def link_atomically(path: Path, target: str) -> bool:
    """Make ``path`` a symbolic link to ``target``; True if it was not one already."""
    if path.is_symlink() and os.readlink(path) == target:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(TEMPORARY_SUFFIX, TEMPORARY_PREFIX, path.parent)
    os.close(handle)
    try:
        os.unlink(name)
        os.symlink(target, name)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return True
