"""Says what a build must do about the files that asphalt has written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from asphalt.config.limits import HEADER
from asphalt.output.write import Written

_NAMED = 3  # files that a sentence names


def needs_of_a_build(written: Written) -> Iterator[str]:
    """A sentence each on the run-time module and the headers, if they were written."""
    if written.runtime is not None and written.runtime in written.rewritten:
        yield (
            f"compile {_here(written.runtime)} before {_listed(written.transformed)}, "
            "and link its object, too"
        )
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


def _here(path: Path) -> Path:
    """A path relative to the working directory, if it is below it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _listed(files: Sequence[Path]) -> str:
    """The names of some files, or their number, for a sentence."""
    if len(files) > _NAMED:
        return f"the {len(files)} transformed files"
    return " and ".join(file.name for file in files)
