"""Directives that the compilers of a build read as comments.

A compiler that reads the directives of OpenACC defines ``_OPENACC`` (OpenACC 3.3 2.2), and one that
reads those of CUDA Fortran defines ``_CUDA``.  So where all that compiles a file is compiled in one
configuration, without these macros, their lines are comments.
"""

from __future__ import annotations

import re
from collections.abc import Collection

_MACROS = {"acc": "_OPENACC", "cuf": "_CUDA"}
_NAMES = {"acc": "OpenACC", "cuf": "CUDA Fortran"}


def unread_sentinels(defines: Collection[str]) -> tuple[str, ...]:
    """The sentinels, without ``!$``, that mean nothing in a configuration; ``defines`` as behind
    -D."""
    given = {define.partition("=")[0] for define in defines}
    return tuple(name for name, macro in _MACROS.items() if macro not in given)


def macros_of(text: str) -> frozenset[str]:
    """The macros that decide whether directives in a text mean something."""
    return frozenset(_MACROS[name] for name in _MACROS if _first(text, name) is not None)


def is_unread(line: str, sentinels: Collection[str]) -> bool:
    """Whether a directive has one of some sentinels."""
    return any(re.match(rf"\s*[!c*]\${name}(?![a-z])", line, re.IGNORECASE) for name in sentinels)


def unread_notes(text: str, sentinels: Collection[str]) -> list[tuple[int, str]]:
    """For each of some sentinels that a text has, the number of the first such line, and what it is
    taken for."""
    found: list[tuple[int, str]] = []
    for name in sentinels:
        first = _first(text, name)
        if first is not None:
            why = f"directives of {_NAMES[name]} count as comments without -D {_MACROS[name]}"
            found.append((text.count("\n", 0, first.start()) + 1, why))
    return found


def _first(text: str, name: str) -> re.Match[str] | None:
    return re.search(rf"^[ \t]*[!c*]\${name}(?![a-z])", text, re.IGNORECASE | re.MULTILINE)
