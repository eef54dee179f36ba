"""What the preprocessor does to the lines of one file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CppFacts:
    """Facts by line number (from 1) of one file in one configuration.

    ``dead``: lines that are not blank in the source and leave nothing behind.  ``changed``: lines
    whose text macros changed, with the text they become (no line ending).  ``included``: lines
    that hold a live ``#include``, with the text it brings in ('' when it brings only macros).
    ``missing``: the files that a live ``#include`` did not find, with its line (None: it stands in
    an included file).
    """

    dead: frozenset[int] = frozenset()
    changed: Mapping[int, str] = field(default_factory=dict)
    included: Mapping[int, str] = field(default_factory=dict)
    missing: tuple[tuple[int | None, str], ...] = ()
