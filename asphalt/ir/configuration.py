"""What the preprocessor decides: the tests of macros that select one configuration."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_NAME = re.compile(r"[A-Za-z_]\w*")
_PLAIN = re.compile(r"defined\(\w+\)|\w+")


@dataclass(frozen=True, slots=True)
class Test:
    """A condition of the preprocessor, without the word ``if``, and whether it holds."""

    text: str
    holds: bool

    @property
    def condition(self) -> str:
        """A condition that holds exactly where the test comes out the same."""
        text = self.text if _PLAIN.fullmatch(self.text) else f"({self.text})"
        return text if self.holds else f"!{text}"

    @property
    def macros(self) -> frozenset[str]:
        """The macros that it depends on."""
        return frozenset(_NAME.findall(self.text)) - {"defined"}


def condition(tests: Iterable[Test]) -> str:
    """One condition for several tests."""
    return " && ".join(dict.fromkeys(test.condition for test in tests))
