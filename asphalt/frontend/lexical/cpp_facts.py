"""What the preprocessor does to the lines of one file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field

from asphalt.frontend.lexical.named_tokens import NamedTokens
from asphalt.ir.records import record
from asphalt.ir.source import TriviaKind

_INCLUDE = re.compile(r"\s*#\s*include\b")


@record
class CppFacts:
    """Facts by line number (from 1) of one file in one configuration.

    ``dead``: lines that are not blank in the source and leave nothing.  ``changed``: lines whose
    text macros change, with the resulting text (no line ending).  ``included``: lines with a live
    ``#include``, with the text that it inserts ('' for macros only). ``missing``: the files that a
    live ``#include`` did not find, with its line (None: it stands in an included file).
    ``macros``: what is defined in the file.
    """

    dead: frozenset[int] = frozenset()
    changed: Mapping[int, str] = field(default_factory=dict)
    included: Mapping[int, str] = field(default_factory=dict)
    missing: tuple[tuple[int | None, str], ...] = ()
    macros: NamedTokens = field(default_factory=NamedTokens, compare=False)

    def kind_of(self, number: int, line: str) -> TriviaKind:
        """The kind of a preprocessor line, by its number."""
        unknown = any(missed in (number, None) for missed, _ in self.missing)
        return TriviaKind.CPP if unknown or not _INCLUDE.match(line) else TriviaKind.INCLUDED
