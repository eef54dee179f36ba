"""What is known of a file of a tree before it is read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.cache import key_of
from asphalt.ir.records import record
from asphalt.ir.source import Form


@record
class FileEntry:
    """A Fortran file of the tree.  ``has_mpi``: it may hold an MPI call; ``cpp``: it has
    preprocessor lines; ``key`` changes with everything that determines what the file means."""

    path: str
    form: Form
    size: int
    lines: int
    has_mpi: bool
    cpp: bool
    key: str


def entry_key(name: str, content: bytes, form: Form, settings: Settings, headers: bytes) -> str:
    """The key of a file with some content; ``headers``: a digest of what it includes."""
    directory = os.path.dirname(os.path.abspath(name))
    configuration = "\0".join([*settings.defines, "", *settings.include_dirs])
    width, cpp = str(settings.width), repr((settings.cpp, settings.unread))
    return key_of(name, directory, content, form.value, width, configuration, headers, cpp)


def batched(entries: Iterable[FileEntry], size: int) -> Iterator[list[str]]:
    """The paths of files, in groups of hardly more than so many bytes."""
    batch: list[str] = []
    total = 0
    for entry in entries:
        batch.append(entry.path)
        total += entry.size
        if total > size:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch
