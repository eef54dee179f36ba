"""Plans a mirrored tree before anything is written.

A file below the output directory has the path that its source has below the *base*: the directory
that the user names, else the deepest one that holds every given tree and the files given by name.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from asphalt.config.errors import InputError, UsageError
from asphalt.diagnostics.model import ProblemReport
from asphalt.ir.records import record
from asphalt.output.atomic import TEMPORARY_PREFIX, TEMPORARY_SUFFIX
from asphalt.output.included import included_files
from asphalt.output.ledger import FOLDER

SKIPPED = frozenset({".git", ".hg", ".svn", FOLDER, ".asphalt-cache"})


@record
class MirroredFile:
    """A file of the mirrored tree.

    ``destination`` and ``source`` are absolute.  ``data``: the transformed content, None for a copy
    of the source; ``link``: the target, if the mirrored file is a symbolic link.
    """

    destination: Path
    source: Path
    mode: int
    data: bytes | None = None
    link: str | None = None

    def content(self) -> bytes:
        """The bytes to be written."""
        return self.source.read_bytes() if self.data is None else self.data


@record
class Mirror:
    """All files and empty directories of a mirrored tree, and what cannot be mirrored."""

    base: Path
    output: Path
    entries: tuple[MirroredFile, ...]
    directories: tuple[Path, ...]
    problems: tuple[ProblemReport, ...]


def absolute(path: Path) -> Path:
    """The absolute path, without ``..``; symbolic links are not resolved."""
    return Path(os.path.abspath(path))


def base_of(paths: Sequence[Path]) -> Path:
    """The deepest directory that holds every given tree and file."""
    folders = [absolute(path) if path.is_dir() else absolute(path).parent for path in paths]
    return Path(os.path.commonpath(folders))


def plan_mirror(
    paths: Sequence[Path],
    changed: Mapping[Path, bytes],
    output: Path,
    root: Path | None = None,
    include_dirs: Sequence[str] | None = None,
) -> Mirror:
    """Plan the tree that ``apply --output`` writes; ``changed`` maps absolute paths to content.

    ``include_dirs``: where files are searched for that single files include; these are mirrored,
    too, if they are below the base.  None: they are not.

    Raises ``UsageError`` if the output would lie in an input, or a path outside ``root``.
    """
    base = absolute(root) if root is not None else base_of(paths)
    output = absolute(output)
    entries: dict[Path, MirroredFile] = {}
    directories: list[Path] = []
    problems: list[ProblemReport] = []
    for path in paths:
        source = absolute(path)
        if not source.is_relative_to(base):
            raise UsageError(f"{path}: lies outside --root {root}; name a directory that holds it")
        if path.is_dir():
            _refuse_output_in_tree(path, output)
            found = _walk(source, directories)
        else:
            found = iter((source, *_brought(source, base, include_dirs)))
        for file in found:
            destination = output / file.relative_to(base)
            try:
                entry = _entry(file, destination, changed, source)
            except _NotAFileError as error:
                problems.append(ProblemReport(str(file), None, str(error)))
                continue
            if os.path.realpath(destination) == os.path.realpath(file) and entry.link is None:
                raise UsageError(f"{path}: --output would overwrite it; use --in-place to do so")
            entries.setdefault(destination, entry)
    for file in changed:  # what single files include
        outside = not any(path.is_dir() and file.is_relative_to(absolute(path)) for path in paths)
        if outside and file.is_relative_to(base) and file.is_file():
            destination = output / file.relative_to(base)
            entries.setdefault(destination, _entry(file, destination, changed, file))
    targets = tuple(output / directory.relative_to(base) for directory in directories)
    return Mirror(base, output, tuple(entries.values()), targets, tuple(problems))


def _brought(source: Path, base: Path, include_dirs: Sequence[str] | None) -> Iterator[Path]:
    """The files below a directory that a file includes."""
    for file in () if include_dirs is None else included_files(source, include_dirs):
        if absolute(file).is_relative_to(base):
            yield absolute(file)


class _NotAFileError(Exception):
    """Something in a tree that cannot be copied."""


def _refuse_output_in_tree(tree: Path, output: Path) -> None:
    real_tree, real_output = Path(os.path.realpath(tree)), Path(os.path.realpath(output))
    if real_output.is_relative_to(real_tree):
        raise UsageError(
            f"--output {output} lies in the input {tree}; choose a directory outside, "
            "name the source files instead of the tree, or use --in-place"
        )


def _walk(tree: Path, directories: list[Path]) -> Iterator[Path]:
    """The files of a tree, sorted, without following links; appends its directories."""

    def stop(error: OSError) -> None:
        raise InputError(str(error.filename), None, f"cannot be read: {error.strerror}")

    for folder, names, files in os.walk(tree, onerror=stop):
        here = Path(folder)
        directories.append(here)
        linked = [name for name in names if (here / name).is_symlink()]
        names[:] = sorted(name for name in names if name not in SKIPPED and name not in linked)
        for name in sorted((*files, *linked)):
            if not (name.startswith(TEMPORARY_PREFIX) and name.endswith(TEMPORARY_SUFFIX)):
                yield here / name


def _entry(
    file: Path, destination: Path, changed: Mapping[Path, bytes], tree: Path
) -> MirroredFile:
    """The mirrored file for ``file``.

    A symbolic link into the same tree is mirrored as a link, and one to a file elsewhere as a copy.
    A link to a directory elsewhere, or to nothing, keeps its target.
    """
    if file.is_symlink() and file != tree:
        target = os.readlink(file)
        inside = Path(os.path.realpath(file)).is_relative_to(os.path.realpath(tree))
        if inside and not os.path.isabs(target):
            return MirroredFile(destination, file, 0, link=target)
        if not file.is_file():
            return MirroredFile(destination, file, 0, link=str(absolute(file.parent / target)))
    status = file.stat()
    if not stat.S_ISREG(status.st_mode):
        raise _NotAFileError("is not a regular file, so it is not mirrored")
    return MirroredFile(destination, file, stat.S_IMODE(status.st_mode), changed.get(file))
