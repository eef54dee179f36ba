"""The C preprocessor, line by line: which lines it removes, changes and inserts.

asphalt runs only the compiler's own preprocessor (``gfortran -E -cpp``), on standard input, in the
directory of the file.  It starts no shell and runs nothing that a source file names.  The output
carries line markers, so that each line can be put back at its own number.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from asphalt.config.errors import InputError
from asphalt.frontend.lexical.cpp_facts import CppFacts
from asphalt.frontend.lexical.named_tokens import Definition, definition, named_tokens
from asphalt.frontend.lexical.source_text import SourceText
from asphalt.ir.source import Form

TIME_LIMIT = 20.0
"""Seconds that one file may take."""
OUTPUT_LIMIT = 64 << 20
"""Bytes that one file may become."""
MEMORY_LIMIT = 2 << 30
"""Bytes of memory of the preprocessor (it reads a device that is included until it has no more)."""

_CPP_LINE = re.compile(r"^#", re.M)
_LINE_NUMBERING = re.compile(r"^#[ \t]*(?:line\b|[0-9]).*", re.M)
_INCLUDE = re.compile(r'^#[ \t]*include[ \t]*["<]([^">\n]*)[">]')
_MARKER = re.compile(r'# (\d+) "((?:[^"\\]|\\.)*)"((?: \d)*)\r?$')
_LOCATED = re.compile(r"^(.+?):(\d+):\d+:$")
_NOT_FOUND = re.compile(r"(?:Fatal )?Error: (.*): No such file or directory")
_OF_THE_PLACE = ("__LINE__", "__FILE__", "__DATE__", "__TIME__", "__TIMESTAMP__")
"""Macros that are constants to asphalt: a statement with one of them keeps its text."""
_MAIN = "<stdin>"
_MISSING = "asphalt_missing_include"
_MPI_HEADERS = frozenset({"mpif.h", "mpif-config.h", "mpiof.h"})


def has_cpp_lines(text: str) -> bool:
    """Whether a line begins with ``#``; asphalt then runs the preprocessor whatever the suffix
    (build systems set the flag for a whole tree)."""
    return "#" in text and _CPP_LINE.search(text) is not None


PREPROCESSED = (".F", ".FOR", ".FTN", ".fpp", ".FPP", ".F90", ".F95", ".F03", ".F08", ".F18")
"""The suffixes of files that compilers preprocess without being told to."""


def is_preprocessed(path: str, text: str, defines: Sequence[str], always: bool = False) -> bool:
    """Whether the preprocessor may change a file: it has lines for it, or its suffix says so and it
    has the name of a macro.  ``always``: compilers preprocess it, whatever its suffix."""
    if has_cpp_lines(text):
        return True
    if not (always or path.endswith(PREPROCESSED)):
        return False
    names = (re.match(r"\w+", define) for define in defines)
    return any(n and n[0] in text and re.search(rf"\b{n[0]}\b", text) for n in names)


def given_names(path: str, defines: Sequence[str], always: bool = False) -> frozenset[str]:
    """The macros that options define in a file; ``always``: compilers preprocess it, whatever its
    suffix."""
    if not (always or path.endswith(PREPROCESSED)):
        return frozenset()
    return frozenset(re.split(r"[=(]", define, maxsplit=1)[0] for define in defines)


def preprocess(
    source: SourceText, defines: Sequence[str] = (), include_dirs: Sequence[str] = ()
) -> CppFacts | None:
    """The facts of a file in the configuration ``defines``; None if it is not preprocessed.

    An included file that is not found counts as empty, and is named in ``missing``.  The header of
    an MPI library is not read, whether it is found or not: its names are known, and what a library
    declares beside them is its own affair.  Raises InputError if the preprocessor reports an error,
    and if there is none.
    """
    if not is_preprocessed(source.path, source.text, defines, source.cpp):
        return None
    lines = _LINE_NUMBERING.sub("#", source.text).split("\n")
    _refuse_devices(source, lines, include_dirs)
    for number in _lines_of_mpi(lines):
        lines[number - 1] = ""
    missing: dict[int, str] = {}
    stubbed: list[str] = []
    with (
        tempfile.TemporaryDirectory(prefix="asphalt-") as stubs,
        tempfile.TemporaryDirectory(prefix="asphalt-") as of_mpi,
    ):
        for header in _MPI_HEADERS:  # where another header includes it
            (Path(of_mpi) / header).write_text(f"      include '{header}'\n")
        command = _command(source, defines, [of_mpi, *include_dirs, stubs])
        deadline = time.monotonic() + TIME_LIMIT
        while True:
            status, output, errors = _run(source, command, "\n".join(lines), deadline)
            if status == 0:
                return _facts(source.text.split("\n"), source.form, output, missing, stubbed)
            file, reported, name = _missing_include(source, errors)
            line = _include_line(lines, reported, name) if file == _MAIN else None
            if line is not None:
                missing[line] = name
                lines[line - 1] = f"{_MISSING}_{line}"
            elif _stub(Path(stubs), name):
                stubbed.append(name)
            else:
                raise InputError(source.path, None, f"cannot include {name} ({file})")


def is_mpi_header(name: str) -> bool:
    """Whether a file is the header of an MPI library; its declarations are MPI's own names, which
    the analysis knows."""
    return os.path.basename(name).lower() in _MPI_HEADERS


def _lines_of_mpi(lines: list[str]) -> Iterator[int]:
    """The numbers of the lines that include the header of an MPI library."""
    for number, line in enumerate(lines, 1):
        include = _INCLUDE.match(line) if line.startswith("#") else None
        if include is not None and is_mpi_header(include[1]):
            yield number


def _refuse_devices(source: SourceText, lines: list[str], include_dirs: Sequence[str]) -> None:
    """Raise InputError for an include of a file that has no end."""
    directories = (os.path.dirname(os.path.abspath(source.path)), *include_dirs)
    for number, line in enumerate(lines, 1):
        if line.startswith("#") and (include := _INCLUDE.match(line)):
            for path in (os.path.join(directory, include[1]) for directory in directories):
                if os.path.exists(path) and not os.path.isfile(path):
                    raise InputError(source.path, number, f"{include[1]} is not a file")


def _command(source: SourceText, defines: Sequence[str], include_dirs: Sequence[str]) -> list[str]:
    form = "-ffixed-form" if source.form is Form.FIXED else "-ffree-form"
    flags = [f"-D{define}" for define in defines]
    flags += [f"-I{os.path.abspath(directory)}" for directory in include_dirs]
    flags += [f"-U{name}" for name in _OF_THE_PLACE]
    language = "f77-cpp-input" if source.form is Form.FIXED else "f95-cpp-input"
    return ["gfortran", "-E", "-dD", "-cpp", "-w", form, *flags, "-x", language, "-"]


def _run(
    source: SourceText, command: list[str], text: str, deadline: float
) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of the preprocessor."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as errors:
        given.write(text.encode("latin-1"))
        given.seek(0)
        try:
            process = subprocess.Popen(
                command,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=os.path.dirname(os.path.abspath(source.path)),
                env={**os.environ, "LC_ALL": "C"},
                start_new_session=True,
            )
        except FileNotFoundError:
            raise InputError(
                source.path,
                None,
                "has preprocessor lines, and gfortran is not installed: install gfortran",
            ) from None
        with process:
            with contextlib.suppress(ProcessLookupError, PermissionError, AttributeError):
                resource.prlimit(process.pid, resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
            try:
                output = _read(source, process, deadline)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        errors.seek(0)
        return process.returncode, output, errors.read().decode("latin-1")


def _read(source: SourceText, process: subprocess.Popen[bytes], deadline: float) -> str:
    pipe = process.stdout
    assert pipe is not None
    chunks: list[bytes] = []
    size = 0
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while True:
            left = deadline - time.monotonic()
            if left <= 0 or not selector.select(left):
                raise InputError(
                    source.path, None, f"preprocessing takes longer than {TIME_LIMIT:g} s"
                )
            chunk = os.read(pipe.fileno(), 1 << 20)
            if not chunk:
                return b"".join(chunks).decode("latin-1")
            chunks.append(chunk)
            size += len(chunk)
            if size > OUTPUT_LIMIT:
                raise InputError(source.path, None, "macros make it larger than 64 MB")


def _missing_include(source: SourceText, errors: str) -> tuple[str, int | None, str]:
    """The place (file, line) and name of the include that is not found; else raises the error."""
    file, line = _MAIN, None
    for text in errors.split("\n"):
        if located := _LOCATED.match(text):
            file, line = located[1], int(located[2])
        elif not_found := _NOT_FOUND.match(text):
            return file, line, not_found[1]
        elif "Error: " in text:
            message = text.partition("Error: ")[2].strip()
            if file == _MAIN:
                raise InputError(source.path, line, f"the preprocessor says: {message}")
            raise InputError(
                source.path, None, f"the preprocessor says: {message} ({file}, line {line})"
            )
    last = errors.strip().split("\n")[-1] or "no message"
    raise InputError(source.path, None, f"the preprocessor fails: {last}")


def _include_line(lines: list[str], reported: int | None, name: str) -> int | None:
    """The line that includes ``name``, at or shortly before the one that gfortran reports."""
    last = len(lines) if reported is None else min(reported, len(lines))
    for number in range(last, 0, -1):
        include = _INCLUDE.match(lines[number - 1])
        if include and include[1] == name:
            return number
    return None


def _stub(directory: Path, name: str) -> bool:
    """Write an empty file for an include that a header requests; False if that is impossible."""
    path = Path(os.path.normpath(directory / name))
    if not path.is_relative_to(directory) or path.exists():
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return True


def _facts(
    original: list[str], form: Form, output: str, missing: dict[int, str], stubbed: list[str]
) -> CppFacts:
    seen: dict[int, str] = {}
    included: dict[int, list[str]] = {}
    waiting: list[str] = []
    defined: list[Definition] = []
    last = 0
    for number, text in _numbered(output):
        last = last if number is None else number
        if text.startswith("#") and (found := definition(text, last)) is not None:
            defined.append(found)
            text = ""
        if number is None:
            waiting.append(text)
            continue
        if waiting:
            included.setdefault(number - 1, []).extend(waiting)
            waiting = []
        seen[number] = text
    included.pop(0, None)
    live_missing = {n for n in missing if seen.get(n, "").startswith(_MISSING)}
    dead: set[int] = set()
    changed: dict[int, str] = {}
    for number, line in enumerate(original, 1):
        was, now = line.rstrip(), seen.get(number, "").rstrip()
        if was == now or was.startswith("#"):
            continue
        if now:
            changed[number] = now
        else:
            dead.add(number)
    texts = {n: "\n".join(line for line in body if line.strip()) for n, body in included.items()}
    not_found = [(n, missing[n]) for n in sorted(live_missing)]
    lines = [line if n not in dead else "" for n, line in enumerate(original, 1)]
    return CppFacts(
        frozenset(dead),
        changed,
        texts,
        (*not_found, *((None, name) for name in stubbed)),
        named_tokens(defined, lines, form),
    )


def _numbered(output: str) -> Iterator[tuple[int | None, str]]:
    """The lines of the output: with their number where they are the main file's, else None.

    A line with an empty text and a number marks the return from an include.
    """
    number = 0
    in_main = False
    for text in output.split("\n"):
        marker = _MARKER.match(text)
        if marker is None:
            yield (number if in_main else None), text
            number += 1
            continue
        number = int(marker[1])
        in_main = marker[2] == _MAIN
        if in_main and " 2" in marker[3]:
            yield number, ""
