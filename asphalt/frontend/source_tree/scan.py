"""Which files are Fortran, and in which of them an MPI name can occur: text only, and fast.

The scan may say yes where there is nothing, never no where there is a call.  A name can hide from
a plain search in three ways: it is split over a continuation, it has blanks in it (fixed form), or
a macro makes it.  The first two are undone here; for macros, ``tree.py`` passes the names that are
defined with MPI names in them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from asphalt.frontend.lexical.raw_text import names_in_code
from asphalt.frontend.source_tree.problems import InputProblem
from asphalt.ir.source import Form

SUFFIXES = frozenset([".f", ".for", ".ftn", ".f77", ".fpp", ".f90", ".f95", ".f03", ".f08", ".f18"])
FOREIGN = frozenset([".c", ".cc", ".cpp", ".cxx", ".cu", ".h", ".hpp", ".hxx"])
_PRUNED = frozenset({"CVS", "__pycache__", "node_modules"})


def find_sources(paths: Iterable[Path]) -> tuple[tuple[Path, ...], tuple[InputProblem, ...]]:
    """The Fortran files at and below ``paths``, sorted, each once, and what was wrong with paths.

    A path that is a file is taken whatever its suffix; hidden directories and links that come back
    to a directory above are passed over; of several links to one file, the file itself is taken.
    """
    found: dict[str, Path] = {}
    problems: list[InputProblem] = []
    for root in paths:
        if root.is_dir():
            below = sorted(_files_below(root, problems), key=lambda p: (p.is_symlink(), p))
            if not below:
                problems.append(InputProblem(str(root), None, "no Fortran file in this directory"))
            for path in below:
                found.setdefault(os.path.realpath(path), path)
        elif root.is_file():
            found.setdefault(os.path.realpath(root), root)
        elif root.exists():
            problems.append(InputProblem(str(root), None, "not a regular file"))
        else:
            problems.append(InputProblem(str(root), None, "no such file or directory"))
    return tuple(sorted(found.values())), tuple(problems)


def is_source(path: str | Path) -> bool:
    """Whether a file has a suffix of Fortran."""
    return os.path.splitext(path)[1].lower() in SUFFIXES


def find_foreign(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The C and C++ files at and below ``paths``, sorted: they may call Fortran procedures."""
    found = {path for root in paths for path in _walk(root, FOREIGN, []) if path.is_file()}
    return tuple(sorted(found))


def _files_below(root: Path, problems: list[InputProblem]) -> Iterator[Path]:
    for path in _walk(root, SUFFIXES, problems):
        if path.is_file():
            yield path
        elif path.is_symlink():
            problems.append(InputProblem(str(path), None, "a link to a file that is not there"))


def _walk(root: Path, suffixes: frozenset[str], problems: list[InputProblem]) -> Iterator[Path]:
    def unreadable(error: OSError) -> None:
        problems.append(
            InputProblem(str(error.filename), None, f"cannot be read: {error.strerror}")
        )

    for directory, names in directories_below(root, unreadable):
        for name in names:
            if os.path.splitext(name)[1].lower() in suffixes and not name.startswith("."):
                yield Path(directory, name)


def directories_below(
    root: Path, unreadable: Callable[[OSError], None]
) -> Iterator[tuple[str, list[str]]]:
    """A directory and those below it, each once, in a fixed order, with the names of the files in
    it; hidden ones and those of tools are passed over.  ``unreadable`` gets the error of each that
    cannot be read."""
    seen: set[tuple[int, int]] = set()
    for directory, subdirectories, names in os.walk(root, onerror=unreadable, followlinks=True):
        status = os.stat(directory)
        if (status.st_dev, status.st_ino) in seen:
            subdirectories.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        subdirectories[:] = sorted(
            name for name in subdirectories if not name.startswith(".") and name not in _PRUNED
        )
        yield directory, names


# A continuation in free form, with the blank, comment and preprocessor lines inside it.
_FREE_CONTINUATION = re.compile(
    rb"&[ \t]*(?:![^\n]*)?\r?\n(?:[ \t]*(?:![^\n]*)?\r?\n|\#[^\n]*\n)*[ \t]*&"
)
# A name that is split has an ampersand right after one of its letters; in this order, so that
# almost all of the text is skipped by a search for one character.
_FREE_CUT = re.compile(rb"&(?<=[mpi]&)")
_FREE_SPLIT = re.compile((b"(?:%b)?" % _FREE_CONTINUATION.pattern).join([b"m", b"p", b"i", b"_"]))
# After removal of blanks: a line whose second character (the first is that of column 6) begins the
# rest of a split name; the line that holds the underscore of the name is always one of these.
_FIXED_REST = re.compile(rb"\n.((?:p?i)?)_")


def has_name(data: bytes, names: Iterable[bytes], form: Form) -> bool:
    """Whether one of the lower-case ``names`` can occur in the file, in any of its disguises."""
    lowered = data.lower()
    if any(name in lowered for name in names):
        return True
    if form is Form.FREE:
        return any(name in joined_free(lowered) for name in names)
    joined = joined_fixed(lowered)
    return any(name in joined for name in names)


def has_mpi_name(data: bytes, form: Form) -> bool:
    """Whether an MPI name (``mpi_...``) can occur in the file: at several hundred MB/s."""
    lowered = data.lower()
    if b"mpi_" in lowered:
        return True
    if form is Form.FREE:
        return _FREE_CUT.search(lowered) is not None and _FREE_SPLIT.search(lowered) is not None
    stripped = lowered.translate(None, b" \t\r")
    if b"mpi_" in stripped:
        return True
    lines: list[bytes] = []
    number = at = 0
    for rest in _FIXED_REST.finditer(stripped):
        lines = lines or lowered.split(b"\n")
        number += stripped.count(b"\n", at, rest.start() + 1)
        at = rest.start() + 1
        first = number - 1
        while first > 0 and ((code := _fixed_code(lines[first])) is None or code[0]):
            first -= 1
        if b"mpi_" in joined_fixed(b"\n".join(lines[first : number + 1])):
            return True
    return False


def expands_to_mpi(defines: Iterable[str], lowered: bytes) -> bool:
    """Whether a file may hold a macro of some definitions that stands for an MPI name."""
    for define in defines:
        name, _, value = define.lower().partition("=")
        if "mpi_" in value and name.partition("(")[0].encode() in lowered:
            return True
    return False


_SENTINEL_AHEAD = re.compile(rb"^([ \t]*)[!c*]\$(?:[a-z]{3})?(?=[ \t0-9&])", re.M)


def sentinels_blanked(lowered: bytes) -> bytes:
    """Text in which the lines that only OpenMP compilers read are statements as all others."""
    if b"$" not in lowered:
        return lowered
    return _SENTINEL_AHEAD.sub(lambda m: m[1] + b" " * (len(m[0]) - len(m[1])), lowered)


_WORD = re.compile(r"[a-z_$][\w$]*")


def words_in(lowered: bytes) -> Iterator[str]:
    """The words of a text in whatever form, with those that blanks or line ends cut."""
    for text in (lowered, sentinels_blanked(lowered)):
        yield from _WORD.findall(text.decode("latin-1"))
        yield from _WORD.findall(joined_free(text).decode("latin-1"))
        for line in joined_fixed(text).decode("latin-1").split("\n"):
            yield from names_in_code(line, Form.FIXED)


def searched(lowered: bytes, form: Form) -> str:
    """Text that holds every name of a file, those that its lines cut and hide included."""
    join = joined_fixed if form is Form.FIXED else joined_free
    texts = [lowered, joined_free(lowered), join(lowered)]
    if (seen := sentinels_blanked(lowered)) != lowered:
        texts.append(join(seen))
    return b"\n".join(texts).decode("latin-1")


def joined_free(lowered: bytes) -> bytes:
    """Free-form text with the names that are split over a continuation put together again."""
    return _FREE_CONTINUATION.sub(b"", lowered)


def joined_fixed(lowered: bytes) -> bytes:
    """Fixed-form text (lower case) without blanks and comments, one statement a line."""
    statements: list[bytes] = []
    for line in lowered.split(b"\n"):
        code = _fixed_code(line)
        if code is None:
            continue
        continued, text = code
        if continued and statements:
            statements[-1] += text
        else:
            statements.append(text)
    return b"\n".join(statements)


def _fixed_code(line: bytes) -> tuple[bool, bytes] | None:
    """Whether a fixed-form line continues a statement, and its code without blanks; None for a
    line that is no part of a statement."""
    if not line.strip() or line[:1] in b"c*!#":
        return None
    if b"\t" in line[:6]:
        _, _, rest = line.partition(b"\t")
        continued = rest[:1].isdigit() and rest[:1] != b"0"
        text = rest[1:] if continued else rest
    else:
        continued = line[5:6] not in (b"", b" ", b"0", b"\r") and not line[:5].strip()
        text = line[6:72]
    code, mark, _ = text.partition(b"!")
    if mark and code.count(b"'") % 2 == code.count(b'"') % 2 == 0:
        text = code
    return continued, text.translate(None, b" \t\r")
