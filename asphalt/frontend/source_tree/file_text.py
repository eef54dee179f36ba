"""The text of one file, as far as it is read: each step is done once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from asphalt.config.errors import InputError
from asphalt.frontend.lexical.conditionals import macro_lines
from asphalt.frontend.lexical.cpp_facts import CppFacts
from asphalt.frontend.lexical.preprocess import given_names, is_preprocessed, preprocess
from asphalt.frontend.lexical.source_text import (
    SourceText,
    check_line_ends,
    has_old_line_ends,
    source_text,
)
from asphalt.frontend.lexical.split import split
from asphalt.frontend.structure.nesting import build
from asphalt.ir.records import record
from asphalt.ir.source import Form, Trivia
from asphalt.ir.tree import File, Leaf, Unit


@record
class Request:
    """A file as it was read, and the configuration to read it in."""

    path: str
    content: bytes
    form: Form
    width: int | None
    defines: tuple[str, ...]
    include_dirs: tuple[str, ...]
    cpp: bool = False
    unread: tuple[str, ...] = ()


@dataclass(frozen=True)
class FileText:
    """A file from its characters to a tree of statements that are not interpreted."""

    request: Request

    @cached_property
    def source(self) -> SourceText:
        """Its characters."""
        own = self.request
        return source_text(own.path, own.content, own.form, own.width, own.cpp, own.unread)

    @cached_property
    def facts(self) -> CppFacts | None:
        """What the preprocessor makes of it; raises InputError."""
        return preprocess(self.source, self.request.defines, self.request.include_dirs)

    @cached_property
    def statements(self) -> tuple[tuple[Leaf, ...], tuple[Trivia, ...]]:
        """Its statements, and the lines behind them."""
        return split(self.source, self.facts)

    @cached_property
    def file(self) -> File:
        """Its tree; raises InputError."""
        check_line_ends(self.source)
        own = self.request
        macros = given_names(own.path, own.defines, own.cpp)
        if self.facts is not None:
            lines = macro_lines(self.source.text.split("\n"))
            macros |= self.facts.macros.names.union(line.name for line in lines)
        return replace(build(self.source, *self.statements), macros=macros)


class Outlined(Protocol):
    """What an outline says of a unit: the position of the unit that contains it."""

    @property
    def host(self) -> int | None:
        """None: it is an outermost one."""


@record
class Edit:
    """What an edit of a file has changed: the outermost units from ``first`` up to ``last``
    (excluded), which stood in the lines from ``line`` up to ``end`` (excluded).  Their ``text`` is
    now another one; what stands behind them is ``shift`` lines further down."""

    first: int
    last: int
    line: int
    end: int
    shift: int
    text: FileText

    def numbers(self, units: Iterable[Outlined]) -> tuple[int, int]:
        """The same units before the edit, by their numbers among all units."""
        found = [number for number, unit in enumerate(units) if unit.host is None]
        found.append(sum(1 for _ in units))
        return found[self.first], found[self.last]


def edit_of(file: File, before: bytes, text: FileText) -> Edit | None:
    """The edit that has made ``text`` of the content that a file had ``before``; None: more than
    some of its units may have changed.

    The lines up to the head of the first of these are the same, and so are those from the END of
    the last one on: so they are read as they were.
    """
    now = text.request.content
    if file.stray or file.bom or not _have_own_lines(file.units):
        return None
    if text.request.form is not file.form or has_old_line_ends(text.source.text):
        return None
    if b"__line__" in now.lower() or _runs_preprocessor(text):
        return None
    starts = [0]  # of each line, in bytes
    while (found := before.find(b"\n", starts[-1])) >= 0:
        starts.append(found + 1)
    heads = [start_end(unit.head) for unit in file.units]
    ends = [start_end(unit.end) for unit in file.units]
    if max(ends[-1]) >= len(starts):
        return None  # the last line has no end
    borders = [0, *(starts[last] for _, last in ends)]
    same, behind = _in_common(before, now)
    first = sum(border <= same for border in borders[1:])
    first = min(first, len(file.units) - 1)
    while first >= 0 and starts[heads[first][1]] > same:
        first -= 1
    last = next(
        (n + 1 for n, (line, _) in enumerate(ends) if n >= first and starts[line - 1] > behind),
        None,
    )
    if first < 0 or last is None:
        return None
    line = 1 if first == 0 else ends[first - 1][1] + 1
    stretch = now[borders[first] : len(now) - (len(before) - borders[last])]
    part = FileText(replace(text.request, content=stretch))
    lines = stretch.count(b"\n")
    try:
        read = part.file
    except InputError:
        return None
    if not read.units or read.stray or read.tail or not _have_own_lines(read.units):
        return None
    if start_end(read.units[-1].end) != (lines, lines):
        return None
    return Edit(
        first, last, line, ends[last - 1][1] + 1, lines - (ends[last - 1][1] + 1 - line), part
    )


def start_end(leaf: Leaf | None) -> tuple[int, int]:
    """The first and the last line of a statement of a file."""
    assert leaf is not None
    assert leaf.span is not None
    return leaf.span.first, leaf.span.last


def _have_own_lines(units: tuple[Unit, ...]) -> bool:
    """Whether the first and the last statement of each unit share no line with others, and are as
    they stand in the file."""
    for unit in units:
        for leaf in (unit.head, unit.end):
            if leaf is None or leaf.span is None or leaf.joined or leaf.frozen:
                return False
        last = unit.end.span
        if last is None or last.first != last.last or ";" in unit.end.trail:
            return False
    return bool(units)


def _runs_preprocessor(text: FileText) -> bool:
    own, source = text.request, text.source
    return is_preprocessed(source.path, source.text, own.defines, source.cpp)


def _in_common(one: bytes, other: bytes) -> tuple[int, int]:
    """How many bytes two texts have in common at their beginnings; and where, in the first text,
    what they have in common at their ends begins."""
    most = min(len(one), len(other))
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    same = low
    low, high = 0, most - same
    while low < high:
        middle = (low + high + 1) // 2
        alike = one[len(one) - middle :] == other[len(other) - middle :]
        low, high = (middle, high) if alike else (low, middle - 1)
    return same, len(one) - low
