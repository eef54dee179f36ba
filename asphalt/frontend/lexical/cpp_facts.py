"""What the preprocessor does to the lines of one file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CppFacts:
    """Facts by line number (from 1) of one file in one configuration.

    ``dead``: lines that are not blank in the source and leave nothing.  ``changed``: lines whose
    text macros change, with the resulting text (no line ending).  ``included``: lines with a live
    ``#include``, with the text that it inserts ('' for macros only). ``missing``: the files that a
    live ``#include`` did not find, with its line (None: it stands in an included file).
    """

    dead: frozenset[int] = frozenset()
    changed: Mapping[int, str] = field(default_factory=dict)
    included: Mapping[int, str] = field(default_factory=dict)
    missing: tuple[tuple[int | None, str], ...] = ()
