"""Creates directories atomically: each is complete, or does not exist."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def place_for(directory: Path) -> Iterator[Path]:
    """A new directory that becomes ``directory`` if the block succeeds.

    If another thread or process was faster, its directory is kept.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=".part-", dir=directory.parent))
    try:
        yield unfinished
        with suppress(OSError):
            unfinished.rename(directory)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
