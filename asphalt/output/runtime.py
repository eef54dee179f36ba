"""The runtime as one source file: its place in a tree, and its content."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from asphalt.analysis.mpi.runtime_module import STATUSES
from asphalt.config.resources import RUNTIME, RUNTIME_F08, shipped
from asphalt.output.mirror import MirroredFile

_MODULE = re.compile(rb"^\s*module\s+asphalt_rt\b", re.IGNORECASE | re.MULTILINE)
_STATUSES = re.compile(rf"^\s*(?:use|module)\s+{STATUSES}\b".encode(), re.IGNORECASE | re.MULTILINE)


def runtime_entry(top: Path, directories: Sequence[Path], sources: Iterable[bytes]) -> MirroredFile:
    """The runtime, with its place and content.

    Its place is where a runtime is already, at or above the transformed files but not above
    ``top``; else the deepest directory that holds all transformed files.  It includes the module
    for statuses of ``mpi_f08``, which not every MPI has, if one of the ``sources`` uses it, or if
    the existing runtime includes it, since other files may use it then.
    """
    deepest = Path(os.path.commonpath(directories))
    place = deepest
    for directory in (deepest, *deepest.parents):
        if not directory.is_relative_to(top):
            break
        if (directory / RUNTIME).is_file():
            place = directory
            break
    source = shipped(RUNTIME)
    data = source.read_bytes()
    there = place / RUNTIME
    before = [there.read_bytes()] if there.is_file() else []
    if any(_STATUSES.search(text) for text in (*before, *sources)):
        data += shipped(RUNTIME_F08).read_bytes()
    return MirroredFile(there, source, 0o644, data)


def is_runtime(path: Path) -> bool:
    """Whether a file contains the runtime."""
    return _MODULE.search(path.read_bytes()) is not None
