"""Builds a version of the program in a mirrored tree of its own, with the user's command."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from asphalt.config.errors import UsageError
from asphalt.config.runtime import is_runtime_source, runtime_modules
from asphalt.diagnostics.change import Change
from asphalt.ir.records import record
from asphalt.output.included import included_files
from asphalt.output.modules import compile_order, is_fortran, used_modules
from asphalt.output.write import write_tree
from asphalt.running.diagnostics import essence
from asphalt.running.process import CommandResult, fill, refuse_other_places, run
from asphalt.verify.compiler_wrapper import Wrapper
from asphalt.verify.setups import CannotError, Setup

_ARCHIVE = "libasphalt_runtime.a"


def compilers(setup: Setup, runtime: Sequence[Path], folder: Path) -> Mapping[str, Sequence[str]]:
    """The words for each placeholder: the MPI's compilers, or wrapper scripts in ``folder``.

    The wrappers find the modules of ``runtime``, sources in the order to compile them, and link
    them from an archive, so that a build that compiles the runtime itself uses its own.  Raises
    ``UsageError`` if one does not compile.
    """
    if not runtime and not setup.link and not setup.simulated:
        return setup.places
    folder.mkdir(parents=True)
    modules, link = [], list(setup.link)
    if runtime:
        _compile(setup, runtime, folder)
        modules.append(str(folder))
        link.append(str(folder / _ARCHIVE))
    places = dict(setup.places)
    for name in ("fc", "f77", "cc"):
        compiler = places[name][0]
        seen = modules if name != "cc" else []
        path = folder / Path(compiler).name
        path.write_text(Wrapper(compiler, seen, link, setup.simulated).script(), encoding="utf-8")
        path.chmod(0o755)
        places[name] = (str(path),)
    return places


def _compile(setup: Setup, runtime: Sequence[Path], folder: Path) -> None:
    objects = [f"{source.stem}.o" for source in runtime]
    commands = [
        [*setup.places["fc"], "-O2", "-g", "-c", str(source), "-o", object_file]
        for source, object_file in zip(runtime, objects, strict=True)
    ]
    for command in (*commands, ["ar", "rcs", _ARCHIVE, *objects]):
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        except OSError as error:
            raise UsageError(f"{command[0]}: cannot be started: {error.strerror}") from None
        if done.returncode != 0:
            message = essence(done.stderr.decode("utf-8", "backslashreplace"))
            raise UsageError(f"{command[0]} does not compile asphalt's runtime: {message}")


EXECUTABLE = "./asphalt-verified"
_MPI_PLACE = "the MPI that --mpi names"
BUILD_PLACES = {
    "fc": "the MPI's compilers",
    "f77": "the MPI's compilers",
    "cc": "the MPI's compilers",
    "mpi": _MPI_PLACE,
    "sources": "all Fortran files, modules before their users",
    "exe": "the program",
}
"""The placeholders of a build command, and their meanings."""
RUN_PLACES = {
    "launcher": "the MPI's mpirun",
    "ranks": "the number of ranks",
    "exe": "the program",
    "mpi": _MPI_PLACE,
}
"""The placeholders of a run command, and their meanings."""
LOG = "asphalt-build.log"
_NAMES = "|".join(runtime_modules())
_RUNTIME_MISSING = re.compile(
    rf"\b(?:{_NAMES})\.mod|undefined reference to [`'\"]?__(?:{_NAMES})_MOD_"
)
_CMAKE = "CMakeFiles"  # trial programs of CMake's own
_LEAST_SECONDS = 1800.0  # for a build; a shorter --timeout is for runs only
_INCLUDED = frozenset({".inc", ".h", ".fh", ".fi"})


@record
class Commands:
    """How to build and run: command templates, and the time limit of a run in seconds.

    ``build`` may contain the placeholders of ``BUILD_PLACES``, ``run`` those of ``RUN_PLACES``.
    ``executable``: the program's path below the tree, if the user names it; ``stdin``: the input of
    each run.  Raises ``UsageError`` for another placeholder.
    """

    build: str
    run: str
    timeout: float
    executable: str | None = None
    stdin: Path | None = None

    def __post_init__(self) -> None:
        refuse_other_places(self.build, BUILD_PLACES)
        refuse_other_places(self.run, RUN_PLACES)


@record
class Built:
    """A built version: its directory, and the program as ``{exe}`` names it.

    ``digests``: those of the programs and libraries that the build made, by their paths.
    """

    directory: Path
    executable: str
    digests: Mapping[str, str]


def build(
    paths: Sequence[Path],
    changes: Sequence[Change],
    directory: Path,
    commands: Commands,
    setup: Setup,
    keep: bool,
) -> Built | str:
    """Mirror the trees with ``changes`` into ``directory`` and build there; else a line why not.

    ``keep``: the directory, with the log of the build, is kept; otherwise the log of a failed build
    becomes a temporary file.  Raises ``CannotError`` if this MPI lacks a module that is used.
    """
    written = write_tree(paths, changes, directory)
    sources = _compiled([path for path in written.files if is_fortran(path)])
    sources = [*(path for path in written.runtime if path not in sources), *sources]
    runtime = [path for path in compile_order(sources) if is_runtime_source(path)]
    names = [str(path.relative_to(directory.absolute())) for path in compile_order(sources)]
    executable = _named(commands.executable)
    values = {
        **_compilers(setup, runtime, directory, commands),
        "sources": names,
        "exe": executable or EXECUTABLE,
    }
    command = fill(commands.build, values)
    _make_sources_newest(directory)
    before = _binaries(directory)
    outcome = run(command, directory, max(commands.timeout, _LEAST_SECONDS))
    log = outcome.stdout + outcome.stderr
    (directory / LOG).write_bytes(log)
    if outcome.status != 0:
        where = directory / LOG if keep else _temporary(log)
        _refuse_unavailable_module(setup, sources)
        reason = _reason(outcome, commands)
        if runtime and _RUNTIME_MISSING.search(_text(log)):
            files = ", ".join(path.name for path in runtime)
            reason += f"; compile {files} in the build, or write {{fc}} in --build"
        return f"{reason} (log: {where})" if log.strip() else reason
    made = sorted(path for path, stamp in _binaries(directory).items() if before.get(path) != stamp)
    if "{exe}" in commands.build or executable is not None:
        name = executable or EXECUTABLE
        if not (directory / name).is_file():
            return f"the build succeeded, but made no {'{exe}' if name == EXECUTABLE else name}"
    elif "{exe}" not in commands.run:
        name = EXECUTABLE
    else:
        programs = [path for path in made if ".so" not in Path(path).suffixes]
        if not programs:
            return "the build succeeded, but made no program; name the program with --exe"
        if len(programs) > 1:
            made_names = ", ".join(programs)
            return f"the build made {len(programs)} programs ({made_names}); name one with --exe"
        name = f"./{programs[0]}"
    return Built(directory, name, {path: _digest(directory / path) for path in made})


def _compiled(sources: Sequence[Path]) -> list[Path]:
    """The sources without those that others of them include."""
    parts = {part for path in sources for part in included_files(path, ()) if part != path}
    return [path for path in sources if path not in parts]


def _compilers(
    setup: Setup, runtime: Sequence[Path], directory: Path, commands: Commands
) -> Mapping[str, Sequence[str]]:
    if not any(f"{{{name}}}" in commands.build for name in ("fc", "f77", "cc")):
        return setup.places
    return compilers(setup, runtime, directory.parent / "asphalt-compilers" / directory.name)


def _named(executable: str | None) -> str | None:
    """The path as the command starts it: never searched for along PATH."""
    if executable is None:
        return None
    path = Path(executable)
    if path.is_absolute() or ".." in path.parts:
        raise UsageError(f"--exe {executable}: write the program's path below the tree")
    return f"./{path}"


def _make_sources_newest(directory: Path) -> None:
    """Make all other files older than the sources, so that make rebuilds all objects."""
    now = time.time()
    for path in _files(directory):
        is_source = is_fortran(path) or path.suffix.lower() in _INCLUDED
        age = 0 if is_source else 3600
        os.utime(path, (now - age, now - age), follow_symlinks=False)


def _binaries(directory: Path) -> Mapping[str, tuple[int, int]]:
    """The programs and shared libraries of a tree, with time of modification and size."""
    return {
        str(path.relative_to(directory)): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in _files(directory)
        if not path.is_symlink()
        and path.stat().st_mode & stat.S_IXUSR
        and ".o" not in path.suffixes
        and _CMAKE not in path.parts
        and _is_binary(path)
    }


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_binary(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _files(directory: Path) -> list[Path]:
    return [Path(folder) / name for folder, _, names in os.walk(directory) for name in names]


def _refuse_unavailable_module(setup: Setup, sources: Sequence[Path]) -> None:
    """Raise ``CannotError`` if the build failed because SMPI lacks the module mpi_f08."""
    users = [path.name for path in sources if "mpi_f08" in used_modules(path)]
    if setup.simulated and users:
        raise CannotError(
            f"SMPI has no module mpi_f08, which {', '.join(users[:3])} uses; it has mpi and mpif.h"
        )


def _reason(outcome: CommandResult, commands: Commands) -> str:
    if outcome.status is None:
        limit = max(commands.timeout, _LEAST_SECONDS)
        return f"'{commands.build}' did not end in {limit:g} s; --timeout sets a longer limit"
    error = essence(_text(outcome.stderr), only_errors=True)
    error = error or essence(_text(outcome.stdout), only_errors=True)
    error = error or essence(_text(outcome.stderr) or _text(outcome.stdout))
    ended = f"'{commands.build}' ended with status {outcome.status} without a message"
    return error or f"{ended}; give the build command with --build"


def _text(output: bytes) -> str:
    return output.decode("utf-8", "backslashreplace")


def _temporary(log: bytes) -> Path:
    with tempfile.NamedTemporaryFile(prefix="asphalt-build-", suffix=".log", delete=False) as file:
        file.write(log)
    return Path(file.name)
