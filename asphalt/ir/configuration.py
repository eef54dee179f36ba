"""What the preprocessor decides: the tests of macros that select one configuration."""

from __future__ import annotations

import re
from collections.abc import Iterable

from asphalt.ir.records import record

MARK = "!#asphalt "
"""What begins a comment that stands for a line of the preprocessor, or for one that it removes."""

BORDER = f"{MARK}include"
"""What begins such a comment where text that the file includes begins or ends."""

_NAME = re.compile(r"[A-Za-z_]\w*")
_PLAIN = re.compile(r"defined\(\w+\)|\w+")
_WEAK = re.compile(r"&&|\|\||[?,]")


@record
class MacroTest:
    """A condition of the preprocessor, without the word ``if``, and whether it holds."""

    text: str
    holds: bool

    @property
    def condition(self) -> str:
        """A condition that holds exactly where the test comes out the same."""
        plain = _PLAIN.fullmatch(self.text) or (self.holds and not _WEAK.search(self.text))
        text = self.text if plain else f"({self.text})"
        return text if self.holds else f"!{text}"

    @property
    def macros(self) -> frozenset[str]:
        """The macros that it depends on."""
        return frozenset(_NAME.findall(self.text)) - {"defined"}


def condition(tests: Iterable[MacroTest]) -> str:
    """One condition for several tests."""
    return " && ".join(dict.fromkeys(test.condition for test in tests))
