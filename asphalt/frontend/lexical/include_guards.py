"""Directives of the preprocessor, and what lets the text of a header count once.

    #ifndef SIZES_H
    #define SIZES_H
    ...
    #endif

No build defines the macro: the text counts in every configuration, the first time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from asphalt.frontend.lexical.trivia import trivia_kind
from asphalt.ir.records import record
from asphalt.ir.source import Form, TriviaKind

OPENING = ("if", "ifdef", "ifndef")
LATER = ("elif", "elifdef", "elifndef", "else")
_DIRECTIVE = re.compile(r"#[ \t]*(\w+)[ \t]*(.*)", re.S)
_COMMENT = re.compile(r"/\*.*?\*/", re.S)
_NAME = re.compile(r"[A-Za-z_]\w*")
_GUARD = re.compile(r"ifndef\s+(\w+)|if\s*!\s*defined\s*\(?\s*(\w+)\s*\)?")


@record
class Directive:
    """A directive with the lines that it goes on in; lines are counted from 1."""

    first: int
    last: int
    word: str
    rest: str


def directives(lines: Sequence[str]) -> Iterator[Directive]:
    """The directives in the lines of a file."""
    number = 0
    while number < len(lines):
        first = number
        if lines[number].startswith("#"):
            text = lines[number].rstrip("\r\n")
            while text.endswith("\\") and number + 1 < len(lines):
                number += 1
                text = text[:-1] + lines[number].rstrip("\r\n")
            match = _DIRECTIVE.match(_COMMENT.sub(" ", text))
            if match is not None:
                yield Directive(first + 1, number + 1, match[1], match[2].strip())
        number += 1


def guard_of(lines: Sequence[str], form: Form) -> int | None:
    """The line ``#ifndef NAME`` of a file that all stands behind it, once: nothing but it defines
    the macro, which stands for nothing.  None: it has no such guard."""
    found = list(directives(lines))
    match = None if not found else _GUARD.fullmatch(f"{found[0].word} {found[0].rest}")
    if match is None or found[-1].word != "endif":
        return None
    name, depth, defined = match[1] or match[2], 0, False
    for one in found[1:-1]:
        if one.word in OPENING:
            depth += 1
        elif one.word in (*LATER, "endif") and depth == 0:
            return None
        elif one.word == "endif":
            depth -= 1
        elif one.word == "define" and one.rest == name and depth == 0 and not defined:
            defined = True
            continue
        if one.word != "include" and name in _NAME.findall(one.rest):
            return None
    around = "\n".join((*lines[: found[0].first - 1], *lines[found[-1].last :]))
    rest = (trivia_kind(line, form) for line in _COMMENT.sub("", around).split("\n"))
    alone = all(kind in (TriviaKind.BLANK, TriviaKind.COMMENT) for kind in rest)
    return found[0].first if defined and alone and depth == 0 else None


def definitions_once(found: Sequence[Directive], numbers: Sequence[int]) -> frozenset[int]:
    """The lines that let a header count once: ``#ifndef NAME`` and, right behind, its definition,
    in an included file."""
    return frozenset(
        one.first
        for one, other in pairwise(found)
        if (one.word, other.word) == ("ifndef", "define")
        and other.first == one.last + 1
        and other.rest == one.rest.split(" ")[0]
        and numbers[one.first - 1] in numbers[max(one.first - 2, 0) : one.first - 1]
    )
