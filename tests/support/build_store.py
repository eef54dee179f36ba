"""What tests have compiled, by what it was compiled from: shared by all processes of one run."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

SHARED = "ASPHALT_TESTS_STORE"
"""The environment variable with the folder that all processes of one run of the tests share."""


@cache
def _store() -> Path:
    """The folder that this run of the tests shares, else one of this process."""
    if SHARED in os.environ:
        return Path(os.environ[SHARED])
    folder = new_store()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def new_store() -> Path:
    """An empty folder."""
    return Path(mkdtemp(prefix="asphalt-tests-"))


def place_of(*parts: str) -> Path:
    """The folder for the results of everything that ``parts`` say; it may not be there yet."""
    return _store() / hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def fresh() -> Path:
    """A folder in which results can be made, and which ``keep`` takes."""
    return Path(mkdtemp(dir=_store()))


def keep(place: Path, folder: Path) -> None:
    """Turn a fresh folder into a place, unless another process was faster."""
    try:
        folder.rename(place)
    except OSError:
        if not place.is_dir():
            raise
        shutil.rmtree(folder)
