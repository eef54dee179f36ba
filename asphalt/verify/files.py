"""The files that a program writes: which to compare, and fresh directories for runs."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from asphalt.config.errors import UsageError
from asphalt.ir.records import record
from asphalt.verify.compare import (
    EXACT,
    STANDARD_OUTPUT,
    Difference,
    Likeness,
    file_difference,
)

_Stamp = tuple[int, int]


@record
class ComparedOutput:
    """A file name or pattern below the tree to compare (``-``: standard output).

    ``tolerance``: the largest relative difference of numbers; None: bit for bit.
    """

    pattern: str
    tolerance: float | None = None


@record
class Outputs:
    """The outputs of a run to compare, and the lines to ignore.

    ``any_order``: lines of standard output may have any order, as from several ranks.
    """

    files: tuple[ComparedOutput, ...] = ()
    ignored: tuple[re.Pattern[bytes], ...] = ()
    standard_tolerance: float | None = None
    any_order: bool = False

    @property
    def standard(self) -> Likeness:
        """How standard output is compared."""
        return Likeness(self.standard_tolerance, self.ignored, self.any_order)


@record
class WrittenFile:
    """A file after a run, and how it is compared."""

    content: bytes
    likeness: Likeness


_NO_FILE = WrittenFile(b"", EXACT)


def outputs(texts: Sequence[str], ignored: Sequence[str], any_order: bool = False) -> Outputs:
    """The outputs for ``FILE``, ``FILE:TOLERANCE`` or ``NAME:WITH:COLONS:``, and lines to ignore.

    Raises ``UsageError`` for an invalid path, tolerance or regular expression.
    """
    found = tuple(map(_output, texts))
    patterns = []
    for text in ignored:
        try:
            patterns.append(re.compile(text.encode()))
        except re.error as error:
            raise UsageError(f"--ignore {text}: is not a regular expression: {error}") from None
    standard = [output.tolerance for output in found if output.pattern == STANDARD_OUTPUT]
    return Outputs(
        tuple(output for output in found if output.pattern != STANDARD_OUTPUT),
        tuple(patterns),
        standard[-1] if standard else None,
        any_order,
    )


def _output(text: str) -> ComparedOutput:
    """``FILE``, ``FILE:TOLERANCE``, or ``FILE:`` for a file with a colon in its name."""
    name, colon, number = text.rpartition(":")
    tolerance = None
    if not colon:
        name = text
    elif number:
        tolerance = _tolerance(text, number)
    path = PurePosixPath(name)
    if not name or path.is_absolute() or ".." in path.parts:
        raise UsageError(f"--output {text}: write the file's path below the tree")
    return ComparedOutput(str(path), tolerance)


def _tolerance(text: str, number: str) -> float:
    try:
        tolerance = float(number)
    except ValueError:
        tolerance = math.nan
    if not math.isfinite(tolerance) or tolerance < 0:
        raise UsageError(
            f"--output {text}: '{number}' is not a tolerance; write e.g. FILE:1e-9 (a relative "
            f"difference of numbers), or '{text}:' if that is the name of a file"
        )
    return tolerance


def fresh_copy(built: Path, place: Path) -> None:
    """Make ``place`` a copy of the directory ``built``, replacing an earlier one.

    So a run does not see the results or restart files of the run before.
    """
    if place.exists():
        shutil.rmtree(place)
    shutil.copytree(built, place, symlinks=True)


def stamps(directory: Path, wanted: Outputs) -> Mapping[str, _Stamp]:
    """The time of modification and the size of each existing file to compare."""
    return {name: _stamp(directory / name) for name in _names(directory, wanted)}


def written(
    directory: Path, wanted: Outputs, before: Mapping[str, _Stamp]
) -> tuple[Mapping[str, WrittenFile], frozenset[str]]:
    """The files to compare after a run, and the patterns of the files that it wrote.

    The first pattern that a file matches says how it is compared.
    """
    contents: dict[str, WrittenFile] = {}
    patterns = set()
    for output in wanted.files:
        likeness = Likeness(output.tolerance, wanted.ignored)
        for name in _matches(directory, output):
            if name not in contents:
                contents[name] = WrittenFile((directory / name).read_bytes(), likeness)
            if before.get(name) != _stamp(directory / name):
                patterns.add(output.pattern)
    return contents, frozenset(patterns)


def files_difference(
    original: Mapping[str, WrittenFile], transformed: Mapping[str, WrittenFile]
) -> Difference | None:
    """The first of the compared files that differs, by name; None: all are equal."""
    for name in sorted({*original, *transformed}):
        old, new = original.get(name), transformed.get(name)
        found = file_difference(
            None if old is None else old.content,
            None if new is None else new.content,
            (old or new or _NO_FILE).likeness,
        )
        if found is not None:
            return replace(found, message=f"{name}: {found.message}", place=name)
    return None


def never_written(wanted: Outputs, seen: Collection[str]) -> list[str]:
    """A message for each compared file that no run wrote; ``seen``: the patterns of the others."""
    return [
        f"--output {output.pattern}: no run wrote such a file; check the name"
        for output in wanted.files
        if output.pattern not in seen
    ]


def _names(directory: Path, wanted: Outputs) -> Iterator[str]:
    for output in wanted.files:
        yield from _matches(directory, output)


def _matches(directory: Path, output: ComparedOutput) -> list[str]:
    literal = directory / output.pattern
    found = [literal] if literal.is_file() else sorted(directory.glob(output.pattern))
    return [str(path.relative_to(directory)) for path in found if path.is_file()]


def _stamp(path: Path) -> _Stamp:
    status = path.stat()
    return status.st_mtime_ns, status.st_size
