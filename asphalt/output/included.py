"""The files that source files include, whichever branches of the preprocessor are taken."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from asphalt.frontend.source_tree.includes import find_include

_INCLUDE = re.compile(
    r"""^[ \t\d]*\#?[ \t]*include[ \t]*["'<]([^"'<>\n]+)["'>]""", re.IGNORECASE | re.MULTILINE
)


def included_files(source: Path, include_dirs: Sequence[str]) -> tuple[Path, ...]:
    """The included files, searched for beside the including file and in ``include_dirs``."""
    found: dict[Path, None] = {}
    waiting = [source]
    while waiting:
        for path in _direct(waiting.pop(), include_dirs):
            if path not in found:
                found[path] = None
                waiting.append(path)
    return tuple(found)


def _direct(source: Path, include_dirs: Sequence[str]) -> Iterator[Path]:
    for name in _INCLUDE.findall(source.read_bytes().decode("latin-1")):
        path = find_include(str(source), name, include_dirs)
        if path is not None:
            yield Path(path)
