"""Logical lines of Fortran to free or fixed form: indentation, continuation, letter case."""

from __future__ import annotations

import re
from collections.abc import Iterable

_OPENS = re.compile(
    r"(do\b|if \(.*\) then$|select case|case\b|else|subroutine|program|module (?!procedure)|"
    r"type ::|(integer |real\(8\) |recursive )?function|interface|block$|associate|contains)"
)
_CLOSES = re.compile(r"(end\b|else|case\b|contains$|\d+ continue)")


def free_form(lines: Iterable[str], upper: bool = False) -> str:
    """The text in free form, indented by two for each construct."""
    out, depth, labels = [], 0, []
    for line in lines:
        closed = _closed(line, labels)
        depth = max(0, depth - closed)
        out += _broken(line, 2 * depth, 96, " &", upper)
        depth += bool(_OPENS.match(line))
        if label := re.match(r"do (\d+) ", line):
            labels.append(label[1])
    return "\n".join([*out, ""])


def fixed_form(lines: Iterable[str], upper: bool = False) -> str:
    """The text in fixed form; comments begin with ``!`` in column 1."""
    out, depth, labels = [], 0, []
    for line in lines:
        closed = _closed(line, labels)
        depth = max(0, depth - closed)
        out += _fixed_lines(line, min(depth, 8), upper)
        depth += bool(_OPENS.match(line))
        if label := re.match(r"do (\d+) ", line):
            labels.append(label[1])
    return "\n".join([*out, ""])


def _closed(line: str, labels: list[str]) -> int:
    if label := re.match(r"(\d+) ", line):
        closed = labels.count(label[1])
        labels[:] = [other for other in labels if other != label[1]]
        return closed
    return int(bool(_CLOSES.match(line)))


def _broken(line: str, indent: int, width: int, more: str, upper: bool) -> list[str]:
    if line.startswith(("!", "#")):
        return [line if line.startswith("#") else " " * indent + line]
    parts, rest = [], _cased(line, upper)
    while len(rest) + indent > width:
        cut = _cut(rest, width - indent - len(more))
        parts.append(" " * indent + rest[:cut].rstrip() + more)
        rest = "    " + rest[cut:].lstrip()
    return [*parts, " " * indent + rest]


def _fixed_lines(line: str, depth: int, upper: bool) -> list[str]:
    if line.startswith(("!", "#")):
        return [line]
    label, text = "", line
    if found := re.match(r"(\d+) (.*)", line):
        label, text = found[1], found[2]
    head, rest, out = f" {label:<5}" if label else " " * 6, _cased(text, upper), []
    indent = " " * depth
    while len(head) + len(indent) + len(rest) > 72:
        cut = _cut(rest, 72 - len(head) - len(indent))
        out.append(head + indent + rest[:cut])
        head, rest = "     &", rest[cut:]
    return [*out, head + indent + rest]


def _cut(text: str, limit: int) -> int:
    """Where to continue: behind a comma or a blank outside of strings."""
    best, quoted = 0, False
    for position, character in enumerate(text[:limit]):
        quoted ^= character == "'"
        if not quoted and character in ", " and text[: position + 1].strip():
            best = position + 1
    assert best > 0, text
    return best


def _cased(line: str, upper: bool) -> str:
    """Upper case outside of strings."""
    if not upper:
        return line
    pieces = line.split("'")
    return "'".join(p.upper() if number % 2 == 0 else p for number, p in enumerate(pieces))
