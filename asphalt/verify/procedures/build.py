"""Builds a version of the program as a shared library with procedures that C can call.

Libraries are loaded with RTLD_LOCAL, so that each version has its own module variables and COMMON
blocks.  MPI's Fortran bindings recognise MPI_IN_PLACE, MPI_STATUS_IGNORE and others by address, in
COMMON blocks of which every library has a copy.  The copy of the bindings wins if the bindings are
loaded globally first; the library of ``bindings`` does that.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from asphalt.analysis.names.scopes import Scope
from asphalt.config.errors import InputError, UsageError
from asphalt.config.settings import Settings
from asphalt.diagnostics.change import Change
from asphalt.frontend.source_tree.tree import Tree, load_tree
from asphalt.ir.records import record
from asphalt.ir.source import Form
from asphalt.output.mirror import absolute, base_of
from asphalt.output.modules import compile_order
from asphalt.output.write import write_tree
from asphalt.running.diagnostics import essence
from asphalt.running.mpi import Mpi
from asphalt.running.process import CommandResult, run
from asphalt.unparse.wrap import wrap_fixed, wrap_free
from asphalt.verify.procedures.find import needed_files
from asphalt.verify.procedures.interface import Interface
from asphalt.verify.procedures.wrapper import wrapper

LIBRARY = "asphalt_version.so"
FLUSH = "asphalt_flush"
_EXTERNAL = "asphalt_call.f90"
_BINDINGS = "asphalt_bindings"
_FLUSH = f"""\
subroutine {FLUSH}() bind(c, name='{FLUSH}')
  use, intrinsic :: iso_fortran_env, only: output_unit
  flush(output_unit)
end subroutine {FLUSH}
"""
_UNDEFINED = re.compile(r"undefined reference to [`'](\w+?)_?'")
_SHARED = ("-shared", "-fPIC", "-Wl,-Bsymbolic-functions", "-Wl,--no-undefined")
_MAINS = "-Wl,--allow-multiple-definition"  # main programs, which are never called
_FREE_COLUMNS, _FIXED_COLUMNS = 130, 72
_MARGIN = 6


@record
class Compiler:
    """The MPI of the compiler, flags for each compilation, and its time limit in seconds."""

    mpi: Mpi
    flags: tuple[str, ...]
    timeout: float = 600.0


@record
class Callable:
    """A procedure to call from outside."""

    interface: Interface
    scope: Scope


def build_version(
    tree: Tree,
    paths: Sequence[Path],
    changes: Sequence[Change],
    procedures: Sequence[Callable],
    directory: Path,
    compiler: Compiler,
    overlay: Mapping[Path, bytes],
) -> Path:
    """Build the files that the procedures need, as ``LIBRARY`` in ``directory``.

    ``overlay``: files that replace those of the mirrored tree, by their paths below it.
    Raises ``UsageError`` with the compiler's message if the build fails.
    """
    written = write_tree(paths, changes, directory)
    for path, content in overlay.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_bytes(content)
    base = base_of(paths)
    _add_wrappers(procedures, base, directory, tree.settings)
    start = [procedure.interface.path for procedure in procedures]
    externals: set[str] = set()
    while True:
        files = needed_files(tree, start, externals)
        sources = [directory / absolute(Path(file)).relative_to(base) for file in files]
        sources += [path for path in written.runtime if path not in sources]
        mains = sum(u.kind == "program" for file in files for u in tree.outline(file).units)
        options = compiler if mains < 2 else replace(compiler, flags=(*compiler.flags, _MAINS))
        outcome = _compile(sources, files, directory, options, tree.settings)
        if outcome.status == 0:
            return directory / LIBRARY
        text = (outcome.stderr or outcome.stdout).decode("utf-8", "backslashreplace")
        missing = set(_UNDEFINED.findall(text)) - externals
        if not any(tree.defined_in("external", name) for name in missing):
            raise UsageError(_told(outcome, text, missing))
        externals |= missing


def _told(outcome: CommandResult, text: str, missing: Collection[str]) -> str:
    if outcome.status is None:
        return "does not build: the compiler did not end in time"
    if missing:
        names = ", ".join(sorted(missing)[:5])
        return (
            f"does not build: {names} is not defined; give the sources that define what it calls, "
            "or the libraries (--flags=-lNAME)"
        )
    return f"does not build: {essence(text) or f'status {outcome.status}'}"


def _compile(
    sources: Sequence[Path],
    files: Collection[str],
    directory: Path,
    compiler: Compiler,
    settings: Settings,
) -> CommandResult:
    ordered = [os.path.relpath(path, directory) for path in compile_order(sources)]
    if (directory / _EXTERNAL).is_file():
        ordered.append(_EXTERNAL)
    # included files that are not mirrored are beside the originals
    beside = dict.fromkeys(str(absolute(Path(file)).parent) for file in sorted(files))
    command = [
        compiler.mpi.free,
        *_SHARED,
        *compiler.flags,
        *(f"-D{define}" for define in settings.defines),
        *ordered,
        *(f"-I{folder}" for folder in (".", *settings.include_dirs, *beside)),
        "-o",
        LIBRARY,
        *(flag for flag in compiler.flags if flag.startswith(("-l", "-L"))),
    ]
    return run(command, directory, compiler.timeout)


def _add_wrappers(
    procedures: Sequence[Callable], base: Path, directory: Path, settings: Settings
) -> None:
    """Write the wrappers of module procedures into their modules, others into a file."""
    by_module: dict[tuple[str, str], list[str]] = {}
    outside: list[str] = []
    for number, procedure in enumerate(procedures):
        interface = procedure.interface
        lines = wrapper(interface, procedure.scope, number)
        if interface.module is None:
            outside += lines
        else:
            by_module.setdefault((interface.path, interface.module), []).extend(lines)
    for (path, module), lines in by_module.items():
        _insert(directory / absolute(Path(path)).relative_to(base), module, lines, settings)
    if outside:
        text = "\n".join(_laid_out(outside, Form.FREE))
        (directory / _EXTERNAL).write_text(f"{text}\n", encoding="latin-1")


def _insert(path: Path, module: str, lines: Sequence[str], settings: Settings) -> None:
    """Add procedures to a module: in front of its END statement."""
    tree = load_tree([path], settings)
    located = tree.module(module)
    end = located.unit.end if located is not None else None
    if located is None or end is None or end.span is None:
        raise InputError(str(path), None, f"the END statement of module {module} was not found")
    if end.joined or located.unit.contains is None:
        raise InputError(
            str(path), end.span.first, "put the END of the module on a line of its own"
        )
    text = path.read_bytes().split(b"\n")
    added = [line.encode("latin-1") for line in _laid_out(lines, located.form)]
    at = end.span.first - 1
    path.write_bytes(b"\n".join((*text[:at], *added, *text[at:])))


def _laid_out(lines: Sequence[str], form: Form) -> list[str]:
    """The source lines of statements."""
    free = form is Form.FREE
    width, wrap = (_FREE_COLUMNS, wrap_free) if free else (_FIXED_COLUMNS, wrap_fixed)
    laid: list[str] = []
    for line in lines:
        first, *more = wrap(line, _MARGIN, width)
        laid += [" " * _MARGIN + first, *more]
    return laid


def bindings(directory: Path, mpi: Mpi) -> Path:
    """A library that needs MPI's Fortran bindings, to be loaded first and globally.

    Its only procedure, ``FLUSH``, flushes the standard output of Fortran.
    """
    source = directory / f"{_BINDINGS}.f90"
    source.write_text(_FLUSH)
    target = directory / f"{_BINDINGS}.so"
    command = [mpi.free, "-shared", "-fPIC", "-Wl,--no-as-needed", source.name, "-o", target.name]
    outcome = run(command, directory, 120)
    if outcome.status != 0:
        words = outcome.stderr.decode("utf-8", "backslashreplace").strip().splitlines()
        raise UsageError(f"{mpi.free} makes no shared library: {words[0] if words else ''}")
    return target
