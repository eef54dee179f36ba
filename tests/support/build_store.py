"""What tests have compiled, by what it was compiled from: shared by all processes of one run."""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable
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


def made(make: Callable[[Path], None], *parts: str) -> Path:
    """The folder with the results of everything that ``parts`` say: ``make`` fills an empty one,
    unless another call did, or does in another process; that one is waited for."""
    place = _store() / hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
    if not place.exists():
        with place.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not place.exists():
                folder = Path(mkdtemp(dir=_store()))
                make(folder)
                folder.rename(place)
    return place
