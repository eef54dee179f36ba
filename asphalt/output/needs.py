"""Says what a build must do about the files that asphalt has written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from asphalt.config.limits import HEADER
from asphalt.output.write import Written

_NAMED = 3  # files that a sentence names


def needs_of_a_build(
    written: Written, parts: Mapping[Path, Path] = MappingProxyType({})
) -> Iterator[str]:
    """A sentence each on the run-time modules and the headers, if they were written.

    ``parts``: the files that are compiled as a part of another one, with this, as they were given.
    """
    compiled = tuple(dict.fromkeys(_compiled(file, parts) for file in written.transformed))
    if set(written.runtime) & set(written.rewritten):
        first, *others = written.runtime
        names = ", ".join((str(_here(first)), *(path.name for path in others)))
        order, objects = ("in this order and ", "their objects") if others else ("", "its object")
        yield f"compile {names} {order}before {_listed(compiled)}, and link {objects}, too"
    new = [header for header in written.headers if header in written.rewritten]
    including = [
        file
        for file in written.transformed
        if file.with_name(HEADER) in new and HEADER.encode() in file.read_bytes()
    ]
    if including:
        many = len(including) > 1
        yield (
            f"{_listed(including)} include{'' if many else 's'} {HEADER} (K and D): compile "
            f"{'them' if many else 'it'} again when you edit it"
        )


def _compiled(file: Path, parts: Mapping[Path, Path]) -> Path:
    """The file that is compiled with a written one as a part of it, or this one."""
    for part, including in parts.items():
        if file.name == part.name:
            way = os.path.relpath(including, part.parent)
            return Path(os.path.normpath(file.parent / way))
    return file


def _here(path: Path) -> Path:
    """A path relative to the working directory, if it is below it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _listed(files: Sequence[Path]) -> str:
    """The names of some files, or their number, for a sentence."""
    if len(files) > _NAMED:
        return f"the {len(files)} transformed files"
    return " and ".join(file.name for file in files)
