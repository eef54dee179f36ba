"""The program of a build, transformed as a whole and kept beside its database.

Each state of the sources and of their options has a folder; a command that finds it uses it, and
the first one that does not makes it, while the others wait.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from asphalt.building.common_defines import common_defines
from asphalt.building.compiler_words import Reading
from asphalt.building.database import Entry, locked
from asphalt.config.errors import AsphaltError, UsageError
from asphalt.config.limits import HEADER
from asphalt.config.runtime import needed
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.source_digest import package_digest
from asphalt.ir.records import record
from asphalt.ir.source import Form
from asphalt.output.atomic import link_atomically
from asphalt.output.included import included_files
from asphalt.running.diagnostics import essence
from asphalt.running.process import run

_FIXED = frozenset({".f", ".for", ".ftn", ".f77"})
_USUAL = {Form.FREE: 132, Form.FIXED: 72}
_KEPT = 4  # states
_SECONDS = 300.0
_STATE, _SOURCE = "state.json", "source"
LATEST = "latest"
"""The name of a link to the state that was used last."""
LIBRARY = "libasphalt_runtime.a"


@record
class Transformed:
    """A state of a program: its ``folder``; the file to compile for each source, its digest, and
    which folders of included files have a mirror; the modules of the runtime that it needs; the
    macros with which all sources were read.  ``why``: why nothing is transformed."""

    folder: Path
    files: dict[str, str]
    texts: dict[str, str]
    mirrors: dict[str, str]
    runtime: tuple[str, ...]
    defines: tuple[str, ...] = ()
    why: str | None = None


class Program:
    """The sources that belong together, and where what becomes of them is kept."""

    def __init__(self, entries: Sequence[Entry], settings: Settings, place: Path) -> None:
        self._entries, self._settings, self._place = entries, settings, place

    @cached_property
    def transformed(self) -> Transformed:
        """The program as it is now, transformed."""
        if not self._entries:
            return self._untouched("no source is known")
        missing = [str(entry.path) for entry in self._entries if not entry.path.is_file()]
        if missing:
            return self._untouched(f"{missing[0]} is not there yet")
        settings = _common(self._entries, self._settings)
        if isinstance(settings, str):
            return self._untouched(settings)
        folder = self._place / self._digest()
        with locked(self._place / "program"):
            if not (folder / _STATE).exists():
                self._make(folder, settings)
            os.utime(folder)
            self._forget_others(folder)
            link_atomically(self._place / LATEST, folder.name)
            state = json.loads((folder / _STATE).read_text(encoding="utf-8"))
        state |= {name: tuple(state[name]) for name in ("runtime", "defines")}
        out = folder / _SOURCE
        texts = {path: _text_of(Path(file), settings, out) for path, file in state["files"].items()}
        return Transformed(folder=folder, texts=texts, **state)

    def _keep_headers(self, out: Path) -> None:
        """The values of K and D that somebody changed in the state before stay as they are."""
        before = self._place / LATEST / _SOURCE
        for header in before.rglob(HEADER):
            kept = out / header.relative_to(before)
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(header, kept)

    def _untouched(self, why: str) -> Transformed:
        files = {str(entry.path): str(entry.path) for entry in self._entries}
        texts = {path: _digest_of(Path(path)) for path in files}
        return Transformed(self._place, files, texts, {}, (), why=why)

    def _digest(self) -> str:
        """Of every file and option that the proofs rest on."""
        settings = replace(self._settings, assume=frozenset())
        found = hashlib.sha256(package_digest())
        found.update(f"{settings} {sorted(self._settings.assume)}".encode())
        for entry in self._entries:
            folders = entry.reading.include_dirs
            found.update(f"{entry.path} {entry.reading}".encode())
            for path in (entry.path, *included_files(entry.path, folders)):
                found.update(f"{path} {_digest_of(path)}".encode())
        return found.hexdigest()[:24]

    def _make(self, folder: Path, settings: Settings) -> None:
        # most commands of a build find what another one made, and need no analysis
        from asphalt.output.write import write_tree
        from asphalt.project import Project

        paths = [entry.path for entry in self._entries]
        why: str | None = None
        try:
            changes = Project(*paths, settings=settings).transform()
        except AsphaltError as error:
            changes, why = (), str(error)
        shutil.rmtree(folder, ignore_errors=True)
        base = Path(os.path.commonpath([*(str(path.parent) for path in paths)]))
        out = folder / _SOURCE
        files = {str(path): str(path) for path in paths}
        mirrors: dict[str, str] = {}
        runtime: tuple[str, ...] = ()
        if changes:
            self._keep_headers(out)
            folders = settings.include_dirs
            written = write_tree(paths, changes, out, root=base, force=True, include_dirs=folders)
            runtime = tuple(path.stem for path in written.runtime)
            mirrored = {path: out / Path(path).relative_to(base) for path in files}
            # what no step changed is compiled where it stands
            changed = {str(change.path) for change in changes}
            touched = {
                path
                for path in files
                if changed & {path, *map(str, included_files(Path(path), folders))}
            }
            files |= {path: str(mirrored[path]) for path in touched}
            mirrors = {
                one: str(out / Path(one).relative_to(base))
                for one in folders
                if Path(one).is_relative_to(base)
            }
        state = {"files": files, "mirrors": mirrors, "runtime": runtime, "why": why}
        state["defines"] = settings.defines
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _STATE).write_text(json.dumps(state), encoding="utf-8")

    def _forget_others(self, folder: Path) -> None:
        """Only some states are kept, the latest ones."""
        others = sorted(
            (
                path
                for path in self._place.iterdir()
                if (path / _STATE).exists() and path != folder and not path.is_symlink()
            ),
            key=lambda path: path.stat().st_mtime,
        )
        for path in others[: -(_KEPT - 1)]:
            shutil.rmtree(path, ignore_errors=True)


def runtime_library(names: Iterable[str], compiler: Sequence[str], place: Path) -> Path | None:
    """The folder with the modules and the library of some modules of the runtime and of those that
    they use, for a compiler; None: none are named.

    ``place``: where they are kept.  Raises ``UsageError`` if one does not compile.
    """
    modules = needed(names)
    if not modules:
        return None
    key = [*compiler, *(module.name for module in modules), package_digest().hex()]
    folder = place / f"runtime-{hashlib.sha256(chr(0).join(key).encode()).hexdigest()[:12]}"
    with locked(place / "runtime"):
        if not (folder / LIBRARY).exists():
            _compile([str(module.source) for module in modules], compiler, folder)
    return folder


def _compile(sources: Sequence[str], compiler: Sequence[str], place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    objects = [f"{Path(source).stem}.o" for source in sources]
    commands = [
        [*compiler, "-O2", "-fPIC", "-c", source, "-o", made]
        for source, made in zip(sources, objects, strict=True)
    ]
    aside = f"{LIBRARY}.new"
    for command in (*commands, ["ar", "rcs", aside, *objects]):
        outcome = run(command, place, _SECONDS)
        if outcome.status != 0:
            message = essence(outcome.stderr.decode("utf-8", "backslashreplace"))
            raise UsageError(f"{command[0]} does not compile asphalt's runtime: {message}")
    (place / aside).replace(place / LIBRARY)


def _common(entries: Sequence[Entry], settings: Settings) -> Settings | str:
    """The settings with which all sources are read; or why there are none.

    The forms of files may differ, and folders of included files, and macros that the other files do
    not mention; other options may not.
    """
    first = entries[0]
    for entry in entries:
        if first.reading.cpp != entry.reading.cpp:
            return f"{first.path} and {entry.path} are compiled with different -cpp"
    defines = common_defines(entries)
    if isinstance(defines, str):
        return defines
    width = _width(entries)
    if isinstance(width, str):
        return width
    forms = [
        (str(entry.path), entry.reading.form) for entry in entries if entry.reading.form is not None
    ]
    named = (one for entry in entries for one in entry.reading.include_dirs)
    folders = dict.fromkeys(one for one in named if Path(one).is_dir())
    return replace(
        settings,
        defines=(*settings.defines, *defines),
        include_dirs=(*settings.include_dirs, *folders),
        forms=(*forms, *settings.forms),
        width=width if width is not None else settings.width,
        cpp=settings.cpp or first.reading.cpp,
        one_configuration=True,  # what comes out is compiled here, and with these options
    )


def _width(entries: Sequence[Entry]) -> int | str | None:
    """The length of lines of all files; None: the usual one of each form; or why it is not one."""
    asked: dict[int, Path] = {}
    usual = True
    for entry in entries:
        form, reading = _form(entry.path, entry.reading), entry.reading
        given = reading.free if form is Form.FREE else reading.fixed
        own = _USUAL[form] if given is None else given
        asked.setdefault(own, entry.path)
        if own != _USUAL[form]:
            longest = max(map(len, entry.path.read_bytes().splitlines()), default=0)
            usual = usual and own > _USUAL[form] and longest <= _USUAL[form]
    if usual:
        return None
    if len(asked) == 1:
        return next(iter(asked))
    one, other = list(asked.values())[:2]
    return f"{one} and {other} have different lengths of lines"


def _form(path: Path, reading: Reading) -> Form:
    if reading.form is not None:
        return reading.form
    return Form.FIXED if path.suffix.lower() in _FIXED else Form.FREE


def _digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _text_of(file: Path, settings: Settings, out: Path) -> str:
    """The digest of what is compiled: of a file and of what it includes."""
    found = hashlib.sha256(file.read_bytes())
    if file.is_relative_to(out):
        for path in included_files(file, settings.include_dirs):
            found.update(path.read_bytes())
    return found.hexdigest()
