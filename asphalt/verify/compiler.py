"""A compiler that links more, or takes several sources one by one; run as a script of its own.

SimGrid 3.32's compilers mix up the sources of one command line.  This file imports nothing of ours:
it is started for each command of a build, by the script that ``script`` writes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

_NO_LINK = frozenset({"-c", "-E", "-S", "-M", "-MM", "-fsyntax-only", "--version", "-v"})
_SOURCES = frozenset({".f", ".for", ".ftn", ".f77", ".f90", ".f95", ".f03", ".f08", ".fpp"})
_WITH_VALUE = frozenset({"-o", "-I", "-J", "-L", "-D", "-U", "-include", "-x", "-l"})


def script(compiler: str, link: Sequence[str], one_by_one: bool) -> str:
    """The text of a shell script that compiles by ``compiler`` and adds ``link`` where it links."""
    settings = json.dumps([compiler, list(link), one_by_one])
    words = " ".join(map(_quoted, (sys.executable, str(Path(__file__).resolve()), settings)))
    return f'#!/bin/sh\nexec {words} "$@"\n'


def commands(
    compiler: str, link: Sequence[str], one_by_one: bool, words: Sequence[str], folder: Path
) -> list[list[str]]:
    """What is run instead of ``compiler words``; objects in between go to ``folder``."""
    if _NO_LINK & {*words}:
        return [[compiler, *words]]
    places = [place for place, word in enumerate(words) if _is_source(words, place)]
    if not one_by_one or len(places) < 2:
        return [[compiler, *words, *link]]
    flags = [
        word
        for place, word in enumerate(words)
        if place not in places and word != "-o" and (place == 0 or words[place - 1] != "-o")
    ]
    found, linked = [], list(words)
    for number, place in enumerate(places):
        linked[place] = str(folder / f"{number}-{Path(words[place]).stem}.o")
        found.append([compiler, *flags, "-c", words[place], "-o", linked[place]])
    return [*found, [compiler, *linked, *link]]


def _is_source(words: Sequence[str], place: int) -> bool:
    after_value = place > 0 and words[place - 1] in _WITH_VALUE
    word = words[place]
    return not after_value and not word.startswith("-") and Path(word).suffix.lower() in _SOURCES


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def main(settings: str, words: Sequence[str]) -> int:
    """Run the commands until one fails; the exit code."""
    compiler, link, one_by_one = json.loads(settings)
    with tempfile.TemporaryDirectory(prefix="asphalt-objects-") as name:
        for command in commands(compiler, link, one_by_one, words, Path(name)):
            if code := subprocess.run(command, check=False).returncode:
                return code
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], sys.argv[2:]))
