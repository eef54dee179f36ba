"""Builds the original and its transformed versions and compares what they print.

Each version is mirrored into a directory of its own and built there by the same command line, so
that names of files, and all else that a program can see, are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from asphalt.errors import UsageError
from asphalt.output.modules import compile_order, is_fortran
from asphalt.output.write import write_tree
from asphalt.project import Change, Project
from asphalt.running.process import Outcome, fill, run
from asphalt.verify.compare import Difference, difference

EXECUTABLE = "./asphalt-verified"
_VECTOR = (
    "only last digits differ, and an innermost loop is tiled: the compiler vectorises it otherwise "
    "when its trip count changes; see whether all is equal with vectorisation switched off "
    "(gfortran: -fno-tree-vectorize)"
)
_UNSTABLE = "the original's own output changes from run to run, at "


@dataclass(frozen=True, slots=True)
class Commands:
    """How to build and run: templates with ``{sources} {exe}`` and ``{ranks} {exe}``; seconds."""

    compile: str
    run: str
    timeout: float


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison; ``depth`` None: as the settings say.  ``ranks`` None: a build.

    ``difference`` None: equal.
    """

    tile: int
    depth: int | None
    ranks: int | None
    difference: Difference | None
    notes: tuple[str, ...] = field(default=())


def check(
    project: Project,
    paths: Sequence[Path],
    work: Path,
    commands: Commands,
    ranks: Sequence[int],
    choices: Sequence[tuple[int, int | None]],
    progress: Callable[[str], None],
) -> Iterator[Row]:
    """Compare original and transformed programs for each (K, D) of ``choices`` and each rank count.

    ``work`` is an empty directory.  ``progress`` is told what is being done.  Raises ``UsageError``
    if the original does not build, or a command cannot be started.
    """
    progress("building the original")
    original = work / "original"
    failure = _build(paths, (), original, commands)
    if failure is not None:
        raise UsageError(f"the original does not build: {failure}")
    expected: dict[int, Outcome] = {}
    for tile, depth in choices:
        name = f"K={tile} D={'default' if depth is None else depth}"
        progress(f"building the transformed program, {name}")
        changes = project.transform(tile, depth, trial=True)
        directory = work / f"transformed-{name.replace(' ', '-')}"
        failure = _build(paths, changes, directory, commands)
        if failure is not None:
            yield Row(tile, depth, None, Difference(f"does not build: {failure}"))
            continue
        for count in ranks:
            if count not in expected:
                progress(f"running the original on {count} ranks")
                expected[count] = _run(original, count, commands)
            failed = _failure(expected[count])
            if failed is not None:
                yield Row(tile, depth, count, Difference(failed))
                continue
            progress(f"running {name} on {count} ranks")
            found = difference(expected[count], _run(directory, count, commands))
            notes: tuple[str, ...] = ()
            if found is not None:
                progress(f"running the original on {count} ranks once more")
                again = difference(expected[count], _run(original, count, commands))
                notes = tuple(causes(found, again, changes))
            yield Row(tile, depth, count, found, notes)


def causes(found: Difference, again: Difference | None, changes: Sequence[Change]) -> Iterator[str]:
    """What may lie behind a difference; ``again``: how a second run of the original differs."""
    if again is not None:
        yield _UNSTABLE + again.message
    evidence = (text for change in changes for site in change.sites for text in site.evidence)
    if found.last_digits and any("innermost" in text for text in evidence):
        yield _VECTOR


def _failure(original: Outcome) -> str | None:
    """Why there is nothing to compare with."""
    if original.status == 0:
        return None
    if original.status is None:
        return "the original did not end in time: nothing is compared"
    return f"the original ended with status {original.status}: nothing is compared"


def _build(
    paths: Sequence[Path], changes: Sequence[Change], directory: Path, commands: Commands
) -> str | None:
    """Mirror and build; the compiler's words where it fails."""
    written = write_tree(paths, changes, directory)
    sources = [path for path in written.files if is_fortran(path)]
    if written.runtime is not None and written.runtime not in sources:
        sources.insert(0, written.runtime)
    names = [str(path.relative_to(directory.absolute())) for path in compile_order(sources)]
    command = fill(commands.compile, {"sources": names, "exe": EXECUTABLE})
    outcome = run(command, directory, commands.timeout)
    if outcome.status == 0:
        made = (directory / EXECUTABLE).is_file()
        return None if made else "the compile line ended well, but made no {exe}"
    if outcome.status is None:
        return "the compile line did not end in time"
    output = (outcome.stderr or outcome.stdout).decode("utf-8", "backslashreplace")
    return essence(output) or f"the compile line ended with status {outcome.status}"


def essence(output: str) -> str:
    """The compiler's first error, in a line: where it is and what."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for place, line in enumerate(lines):
        if "error" in line.lower() or "undefined reference" in line:
            where = next((one for one in reversed(lines[:place]) if one.endswith(":")), "")
            return f"{where} {line}".strip()
    return lines[0] if lines else ""


def _run(directory: Path, ranks: int, commands: Commands) -> Outcome:
    command = fill(commands.run, {"ranks": str(ranks), "exe": EXECUTABLE})
    return run(command, directory, commands.timeout)
