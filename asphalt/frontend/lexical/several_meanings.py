"""Macros that stand for different things in different lines of a file.

Text that is included several times is often written for such macros::

    #define work work_real
    #include "exchange.inc"
    #undef work
    #define work work_complex
    #include "exchange.inc"

No statement with one could be moved to another place.  So transformations see what the macros stand
for, and lines that they do not change keep the macros.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field

from asphalt.frontend.lexical.cpp_facts import CppFacts
from asphalt.frontend.lexical.include_guards import directives
from asphalt.frontend.lexical.named_tokens import code_words
from asphalt.frontend.lexical.source_text import SourceText
from asphalt.frontend.lexical.trivia import trivia_kind
from asphalt.ir.records import record
from asphalt.ir.source import TriviaKind

_NAME = re.compile(r"[A-Za-z_$][\w$]*", re.A)


@record
class SeveralMeanings:
    """The macros of a file that stand for different things in different lines.

    ``lines``: the lines with them, by number (from 1), as the preprocessor leaves them.
    ``definitions``: the numbers of the lines that define them or remove their definitions.
    """

    names: frozenset[str] = frozenset()
    lines: Mapping[int, str] = field(default_factory=dict)
    definitions: frozenset[int] = frozenset()


def several_meanings(
    source: SourceText,
    lines: Sequence[str],
    numbers: Sequence[int],
    facts: CppFacts,
    given: Collection[str],
) -> SeveralMeanings:
    """Those of a file: they have no arguments, and nothing but lines of its code rests on them.

    ``lines``: of the file, with those of included files in their places; ``numbers``: the line of
    the file that each of them comes from.  ``given``: the macros that options define.
    """
    code = {number: set(words) for number, words in code_words(lines, source.form)}
    changed = {
        number: text
        for number, text in facts.changed.items()
        if trivia_kind(lines[number - 1], source.form) is not TriviaKind.COMMENT
    }
    used: set[str] = set().union(*(code.get(number, set()) for number in changed))
    names = (facts.macros.unsteady & used) - set(given)
    if not names:
        return SeveralMeanings()
    often = Counter(numbers)
    brought = {number for number in range(1, len(lines) + 1) if often[numbers[number - 1]] > 1}
    kept: set[str] = set().union(*(code.get(number, set()) for number in brought))
    defining: dict[int, str] = {}
    for one in directives(lines):
        match = _NAME.match(one.rest) if one.word in ("define", "undef") else None
        if match is None or one.first != one.last or one.first in brought:
            kept.update(_NAME.findall(one.rest))
            continue
        defining[one.first] = match[0]
        kept.update(_NAME.findall(one.rest, match.end()))
        if one.rest[match.end() :].startswith("("):
            kept.add(match[0])
    for number, text in changed.items():
        if number not in code or len(text.rstrip()) > (source.width or len(text)):
            kept.update(_NAME.findall(lines[number - 1]))
    names -= kept
    return SeveralMeanings(
        frozenset(names),
        {numbers[n - 1]: text for n, text in changed.items() if code.get(n, set()) & names},
        frozenset(numbers[n - 1] for n, name in defining.items() if name in names),
    )
