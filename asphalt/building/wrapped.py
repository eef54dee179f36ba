"""One command of a build, with asphalt in front of the compiler."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from asphalt.building.compiler_words import Command, command_of, reading_of
from asphalt.building.database import Entry, entries, record
from asphalt.building.marks import Mark, mark, marks_in
from asphalt.building.program import LIBRARY, Program, runtime_library
from asphalt.config.errors import UsageError
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.cache import cache_directory

_MOST = 5  # sources that a message names


@dataclass(frozen=True, slots=True)
class Wrapping:
    """How asphalt stands in front of a compiler.

    ``database``: what the build compiles; None: only a command that makes a program of sources
    alone shows all of one, and other commands change nothing.
    ``recorded``: the database to write instead.  ``tell``: for what a person should know.
    """

    settings: Settings
    database: Path | None
    recorded: Path | None
    tell: Callable[[str], None]

    def run(self, words: Sequence[str], folder: Path) -> int:
        """Do what the compiler with these words does; returns the exit code.

        Raises ``UsageError`` if objects do not belong together, or a source has other options than
        the database.
        """
        command = command_of(words, folder)
        if command.is_trial or not (command.compiles or command.links):
            return _run(command.words)
        if self.recorded is not None:
            code = _run(command.words)
            if code == 0 and command.compiles:
                record(self.recorded, command)
            return code
        if self.database is None and command.compiles and not command.is_whole:
            names = ", ".join(command.path(place).name for place in command.sources)
            self.tell(
                f"{names}: as it is, since this command shows a part of a program; first record "
                "what the build compiles: asphalt fc --record FILE -- ..."
            )
            return _run(command.words)
        if command.other_kinds is not None:
            self.tell(f"nothing is transformed with {command.other_kinds}: the runtime has none")
            return _run(command.words)
        with tempfile.TemporaryDirectory(prefix="asphalt-fc-") as scratch:
            return self._transformed(command, Path(scratch))

    def _transformed(self, command: Command, scratch: Path) -> int:
        cache = cache_directory() / "fc"
        place = scratch if self.database is None else self.database.with_suffix(".asphalt")
        own = [Entry(command.path(n), reading_of(command)) for n in command.sources]
        marks = [one for path in command.objects() for one in marks_in(path)]
        known = own if self.database is None else list(entries(self.database))
        if self.database is not None and command.compiles:
            _refuse_others(own, known, self.database)
        if not own and not marks:
            return _run(command.words)  # nothing of it passed through here
        state = Program(known, self.settings, place).transformed
        if state.why is not None and command.compiles:
            self.tell(f"nothing is transformed: {state.why}")
        if command.links and self.database is not None:
            _refuse_stale(marks, state.texts, self.database)
        names = {*state.runtime, *(name for one in marks for name in one.runtime)}
        runtime = runtime_library(names, command.words[:1], cache)
        words = list(command.words)
        for number in command.sources:
            words[number] = state.files[str(command.path(number))]
        changed = [n for n in command.sources if words[n] != str(command.path(n))]
        for number in changed:
            kept = "" if self.database is None else f", as {words[number]}"
            self.tell(f"{command.words[number]}: transformed{kept}")
        for number in set(command.sources) - set(changed):
            words[number] = command.words[number]
        words = _with_folders(words, command, state.mirrors if changed else {}, changed)
        if changed:  # what the proof of a change asks for, which may be the macro of another source
            own_macros = reading_of(command).defines
            words += [f"-D{one}" for one in state.defines if one not in own_macros]
        if runtime is not None:
            words.append(f"-I{runtime}")
            if command.links:
                words.append(str(runtime / LIBRARY))
        code = _run(words)
        if code == 0 and "-c" in command.words and (self.database is not None or state.runtime):
            for file, number in zip(_made(command), command.sources, strict=False):
                source = str(command.path(number))
                program = "" if self.database is None else str(self.database)
                mark(file, Mark(program, source, state.texts[source], state.runtime))
        return code


def _with_folders(
    words: list[str], command: Command, mirrors: dict[str, str], changed: Sequence[int]
) -> list[str]:
    """The words with the folders in which included files are found: mirrored ones first."""
    front = [f"-I{mirror}" for mirror in mirrors.values() if Path(mirror).is_dir()]
    back = dict.fromkeys(f"-I{command.path(number).parent}" for number in changed)
    return [words[0], *front, *words[1:], *back]


def _made(command: Command) -> Iterator[Path]:
    """The objects that a command with -c makes, one for each source."""
    if command.output is not None:
        yield Path(os.path.abspath(command.folder / command.output))
        return
    for place in command.sources:
        yield command.folder / f"{command.path(place).stem}.o"


def _refuse_others(own: Sequence[Entry], known: Sequence[Entry], database: Path) -> None:
    """Raise ``UsageError`` for a source that the database has not, or with other options."""
    by_path = {entry.path: entry for entry in known}
    again = f"record the build again: asphalt fc --record {database} -- ..."
    for entry in own:
        if entry.path not in by_path:
            raise UsageError(f"{entry.path}: is not in {database}; {again}")
        recorded = by_path[entry.path].reading
        if replace(recorded, include_dirs=()) != replace(entry.reading, include_dirs=()):
            raise UsageError(f"{entry.path}: is compiled with other options than before; {again}")


def _refuse_stale(marks: Sequence[Mark], texts: dict[str, str], database: Path) -> None:
    """Raise ``UsageError`` if objects were made of what their sources are no more."""
    stale = [
        one.source
        for one in marks
        if one.program == str(database) and texts.get(one.source) != one.text
    ]
    if stale:
        names = list(dict.fromkeys(stale))
        more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
        raise UsageError(
            f"compile {', '.join(names[:_MOST])}{more} again: what the whole program proves about "
            "them has changed since their objects were made"
        )


def _run(words: Sequence[str]) -> int:
    """Run a command as the build would, and return its exit code."""
    try:
        return subprocess.run(list(words), check=False).returncode
    except OSError as error:
        raise UsageError(f"{words[0]}: cannot be started: {error.strerror}") from None
