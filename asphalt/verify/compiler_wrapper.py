"""Wraps a compiler: adds module directories and libraries, and compiles sources one by one.

The wrapper exists because makefiles that list their objects lack asphalt's runtime, and because
SimGrid 3.32's compilers mix up the sources of one command line.  The script of ``Wrapper.script``
starts this module for each command of a build, so it imports nothing of asphalt.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

_NO_LINK = frozenset({"-c", "-E", "-S", "-M", "-MM", "-fsyntax-only", "--version", "-v"})
_SOURCES = frozenset({".f", ".for", ".ftn", ".f77", ".f90", ".f95", ".f03", ".f08", ".fpp"})
_WITH_VALUE = frozenset({"-o", "-I", "-J", "-L", "-D", "-U", "-include", "-x", "-l"})


@dataclass(frozen=True)
class Wrapper:
    """A compiler with additional directories of modules, and libraries to link at the end."""

    compiler: str
    modules: Sequence[str] = ()
    link: Sequence[str] = ()
    one_by_one: bool = False

    def script(self) -> str:
        """The text of a shell script that replaces the compiler."""
        settings = json.dumps(asdict(self))
        words = " ".join(map(_quoted, (sys.executable, str(Path(__file__).resolve()), settings)))
        return f'#!/bin/sh\nexec {words} "$@"\n'

    def commands(self, words: Sequence[str], folder: Path) -> list[list[str]]:
        """The commands to run instead of the compiler with ``words``; objects go to ``folder``.

        Additions come last, so that the compiler finds the build's own modules first.
        """
        modules = [f"-I{directory}" for directory in self.modules]
        inputs = [place for place in range(len(words)) if _is_input(words, place)]
        if not inputs or _NO_LINK & {*words}:
            return [[self.compiler, *words, *modules]]
        sources = [place for place in inputs if Path(words[place]).suffix.lower() in _SOURCES]
        if not self.one_by_one or len(sources) < 2:
            return [[self.compiler, *words, *modules, *self.link]]
        flags = [
            word
            for place, word in enumerate(words)
            if place not in sources and word != "-o" and (place == 0 or words[place - 1] != "-o")
        ]
        found, linked = [], list(words)
        for number, place in enumerate(sources):
            linked[place] = str(folder / f"{number}-{Path(words[place]).stem}.o")
            options = [*flags, *modules, "-c", words[place], "-o", linked[place]]
            found.append([self.compiler, *options])
        return [*found, [self.compiler, *linked, *self.link]]


def _is_input(words: Sequence[str], place: int) -> bool:
    after_value = place > 0 and words[place - 1] in _WITH_VALUE
    return not after_value and not words[place].startswith("-")


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def main(settings: str, words: Sequence[str]) -> int:
    """Run the commands until one fails; returns the exit code."""
    wrapper = Wrapper(**json.loads(settings))
    with tempfile.TemporaryDirectory(prefix="asphalt-objects-") as name:
        for command in wrapper.commands(words, Path(name)):
            if code := subprocess.run(command, check=False).returncode:
                return code
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], sys.argv[2:]))
