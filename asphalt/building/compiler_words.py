"""The words of a compiler's command line, as far as they say how Fortran is read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from asphalt.ir.records import record
from asphalt.ir.source import Form

SOURCES = frozenset({".f", ".for", ".ftn", ".f77", ".f90", ".f95", ".f03", ".f08", ".fpp"})
_WITH_VALUE = frozenset(
    {"-o", "-I", "-J", "-L", "-D", "-U", "-include", "-x", "-l", "-MF", "-MT", "-MQ", "-isystem"}
)
_FOREIGN = frozenset({".c", ".cc", ".cpp", ".cxx", ".C", ".s", ".S"})
_LIBRARIES = (".so", ".dylib", ".a")
_INPUTS = frozenset({".o", ".lo", ".obj", *_LIBRARIES})
_NO_OBJECT = frozenset({"-E", "-S", "-M", "-MM", "-fsyntax-only", "--version", "-v", "-V", "-show"})
_OPENACC = re.compile(r"-(?:fopenacc|acc|ta|h\s?acc)(?![a-z])")
_CUDA = re.compile(r"-M?cuda(?![a-z])")
_LENGTH = re.compile(r"-f(free|fixed)-line-length[-=](\d+|none)$")
_KINDS = re.compile(
    r"-f?(default-(integer|real|double)-\d+|integer-\d-real|real-\d+-real)"  # GNU, LLVM
    r"|-M?[ir](8|16)$|-(integer|real|double)[-_]size|-autodouble$|-double$"  # Intel, NVIDIA, NAG
    r"|-q(realsize|intsize|autodbl)=|-s ?(real|integer|default)\d+$"  # IBM, Cray
)
_UNLIMITED = 1_000_000
_TRIALS = ("CMakeScratch", "CMakeTmp", "meson-private")


@record
class Reading:
    """The options on which the meaning of a source depends.

    ``defines`` as after -D; ``include_dirs``: absolute; ``form`` None: by the suffix; ``free`` and
    ``fixed``: the lengths of lines in that form (None: the usual one).  ``cpp``: preprocessed
    whatever the suffix.
    """

    defines: tuple[str, ...] = ()
    include_dirs: tuple[str, ...] = ()
    form: Form | None = None
    free: int | None = None
    fixed: int | None = None
    cpp: bool = False


@record
class Command:
    """A command of a build: the compiler and its words.

    ``sources``: the places of Fortran sources among the words; ``inputs``: of objects, archives and
    shared libraries.
    """

    words: tuple[str, ...]
    folder: Path
    sources: tuple[int, ...]
    inputs: tuple[int, ...]

    @property
    def compiles(self) -> bool:
        """Whether Fortran becomes an object or a program."""
        return bool(self.sources) and not _NO_OBJECT & {*self.words}

    @property
    def links(self) -> bool:
        """Whether a program or a shared library is made."""
        left_out = _NO_OBJECT | {"-c"}
        return bool(self.sources or any(self.objects())) and not left_out & {*self.words}

    @property
    def is_whole(self) -> bool:
        """Whether it makes a program, and of Fortran sources alone."""
        shared = {"-shared", "-dynamiclib", "-r"} & {*self.words}
        foreign = any(Path(word).suffix in _FOREIGN for word in self.words[1:])
        return self.compiles and self.links and not (shared or foreign or any(self.objects()))

    @property
    def output(self) -> str | None:
        """The word after -o."""
        places = [n for n, word in enumerate(self.words[:-1]) if word == "-o"]
        return self.words[places[-1] + 1] if places else None

    @property
    def is_trial(self) -> bool:
        """Whether a configuration only tries what the compiler can do."""
        names = [Path(self.words[place]) for place in self.sources]
        names += [Path(self.words[place]) for place in self.inputs]
        tried = any(name.stem.startswith(("conftest", "CMakeFortranCompiler")) for name in names)
        return tried or any(part in str(self.folder) for part in _TRIALS)

    @property
    def other_kinds(self) -> str | None:
        """An option that changes the kinds of default types, with which the runtime is not made."""
        pairs = zip(self.words, (*self.words[1:], ""), strict=True)
        words = (f"-s {value}" if word == "-s" else word for word, value in pairs)
        return next((word for word in words if _KINDS.match(word)), None)

    def path(self, place: int) -> Path:
        """The absolute path of a word."""
        return Path(os.path.abspath(self.folder / self.words[place]))

    def objects(self) -> Iterator[Path]:
        """The objects, archives and shared libraries that are linked, also those that -l means."""
        folders = [self.folder / value for value in _values(self.words, "-L")]
        for place in self.inputs:
            yield self.path(place)
        for name in _values(self.words, "-l"):
            found = (folder / f"lib{name}{suffix}" for folder in folders for suffix in _LIBRARIES)
            yield from [path for path in found if path.is_file()][:1]


def command_of(words: Sequence[str], folder: Path) -> Command:
    """The command with these words, the compiler first, that runs in a folder."""
    sources, inputs = [], []
    for place in range(1, len(words)):
        if words[place].startswith("-") or words[place - 1] in _WITH_VALUE:
            continue
        suffix = Path(words[place]).suffix
        if suffix.lower() in SOURCES:
            sources.append(place)
        elif suffix in _INPUTS:
            inputs.append(place)
    return Command(tuple(words), folder, tuple(sources), tuple(inputs))


def reading_of(command: Command) -> Reading:
    """How the command reads its sources."""
    form: Form | None = None
    lengths: dict[str, int] = {}
    cpp = False
    for word in command.words[1:]:
        if word in ("-ffree-form", "-free", "-Mfree"):
            form = Form.FREE
        elif word in ("-ffixed-form", "-fixed", "-Mfixed"):
            form = Form.FIXED
        elif word in ("-cpp", "-fpp", "-Mpreprocess"):
            cpp = True
        elif word == "-nocpp":
            cpp = False
        elif found := _LENGTH.match(word):
            length = 0 if found[2] == "none" else int(found[2])
            lengths[found[1]] = length or _UNLIMITED
    folders = [os.path.abspath(command.folder / one) for one in _values(command.words, "-I")]
    return Reading(
        (*_values(command.words, "-D"), *_accelerators(command)),
        tuple(dict.fromkeys(folders)),
        form,
        lengths.get("free"),
        lengths.get("fixed"),
        cpp,
    )


def _accelerators(command: Command) -> tuple[str, ...]:
    """The macros of compilers that read the directives of OpenACC or CUDA Fortran, which their
    options ask for; those of Cray read OpenACC where a module of the system is loaded."""
    cray = Path(command.words[0]).name in ("ftn", "crayftn")
    acc = cray or any(_OPENACC.match(word) for word in command.words[1:])
    cuda = any(_CUDA.match(word) for word in command.words[1:])
    return (*(("_OPENACC",) if acc else ()), *(("_CUDA",) if cuda else ()))


def _values(words: Sequence[str], option: str) -> Iterator[str]:
    """The values of an option that stand in its word or in the next one, in order."""
    for place, word in enumerate(words):
        if word == option and place + 1 < len(words):
            yield words[place + 1]
        elif word.startswith(option) and word != option:
            yield word.removeprefix(option)
