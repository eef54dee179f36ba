"""A tree to text: untouched statements come out byte for byte as they went in.

A leaf with a body is printed from its own text; a leaf whose body was cleared is printed anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from asphalt.ir.source import Form, TriviaKind
from asphalt.ir.tree import File, Leaf, leaves

Printer = Callable[[Leaf, int], str]
"""Prints the statement of a leaf from ``what``, with its label and construct name, as whole lines
that end with the file's line ending; the statement begins after ``indent`` columns."""

_BLANKS = " \t\r\f\v\x1a"
_LABEL_FIELD = 6
_TAB_FORM = re.compile(r"[ 0-9]{0,5}\t")
_IMMOVABLE = re.compile(r"[ \t]*(?:#|!(?:\$|dir\$|dec\$|gcc\$))", re.I)
_BALANCED = re.compile(r"""(?: [^'"!\n]++ | '[^'\n]*+' | "[^"\n]*+" )*+""", re.X)


def text_of(file: File, printer: Printer) -> str:
    """The text of a file, byte order mark included."""
    reprinter = _Reprinter(file, printer)
    parts = [file.bom]
    fresh = True  # nothing stands yet on the line that is being printed
    for leaf in leaves(file):
        for text in reprinter.leaf(leaf, fresh):
            if text:
                parts.append(text)
                fresh = text.endswith("\n")
    if file.tail and not fresh:
        parts.append(file.eol)
    parts.extend(entry.text for entry in file.tail)
    return "".join(parts)


class _Reprinter:
    """``column`` is where the first statement of the current line begins."""

    def __init__(self, file: File, printer: Printer) -> None:
        self.free = file.form is Form.FREE
        self.width = file.width
        self.eol = file.eol
        self.printer = printer
        self.column = 0 if self.free else _LABEL_FIELD

    def leaf(self, leaf: Leaf, fresh: bool) -> Iterator[str]:
        """The texts of a leaf, in order; ``fresh``: it begins a line."""
        if leaf.body == "" and not leaf.head and not leaf.trail:  # from an included file or a macro
            yield from (entry.text for entry in leaf.lead)
            return
        if not leaf.joined:
            self.column = self._column(leaf)
            if not fresh:
                yield self.eol
        elif fresh:
            leaf = replace(leaf, head=self._line_head(leaf))
        if leaf.body is None:
            yield from self._anew(leaf, fresh or not leaf.joined)
            return
        own = f"{leaf.head}{leaf.body}{leaf.trail}"
        if leaf.shift and self.free:
            yield from self._lead(leaf)
            yield self._moved(leaf, own)
            return
        yield from (entry.text for entry in leaf.lead)
        yield own

    def _anew(self, leaf: Leaf, fresh: bool) -> Iterator[str]:
        """A leaf whose statement is to be printed from its meaning."""
        yield from self._lead(leaf)
        made = leaf.span is None and not leaf.head
        if made:
            text = self.printer(leaf, self.column)
        elif fresh:
            text = self._after_head(leaf, self._shifted_head(leaf), self.column)
        else:
            assert leaf.span is not None
            text = self._after_head(leaf, leaf.head, leaf.span.first_col - 1)
            if text.count("\n") > 1 or self._too_long(text, leaf.span.first_col - 1):
                yield self.eol
                text = self._after_head(leaf, " " * self.column, self.column)
        if not leaf.trail:
            yield text
            return
        text = text.rstrip("\r\n")
        yield text
        yield self._trail_after(text, leaf.trail)
        if not leaf.trail.endswith("\n") and ";" in leaf.trail:
            yield self.eol  # what follows keeps within the line limit at the start of a line

    def _after_head(self, leaf: Leaf, head: str, column: int) -> str:
        """The statement behind a head that is kept: label and construct name stand there."""
        text = self.printer(replace(leaf, label=None, name=None), column)
        return head + text.lstrip(" ")

    def _shifted_head(self, leaf: Leaf) -> str:
        if not self.free or leaf.joined:
            return leaf.head
        content = leaf.head.lstrip(" ")
        return " " * (len(leaf.head) - len(content) + leaf.shift) + content

    def _line_head(self, leaf: Leaf) -> str:
        """A head for a statement that followed a ``;`` and begins a line now."""
        label = "" if leaf.label is None else f"{leaf.label} "
        name = "" if leaf.name is None else f"{leaf.name}: "
        return label.ljust(self.column) + name

    def _trail_after(self, text: str, trail: str) -> str:
        """The old trail after a new statement; what stood past the line limit stays there."""
        beyond = trail.strip(_BLANKS + "\n")
        if self.free or not beyond or beyond[0] in "!;":
            return trail
        last = text.rsplit("\n", 1)[-1]
        return " " * (self.width - len(last)) + trail.lstrip(_BLANKS)

    def _column(self, leaf: Leaf) -> int:
        """The column (from 0) in which a leaf that begins a line has its statement."""
        head = leaf.head.rsplit("\n", 1)[-1]
        if self.free:
            return max(0, len(head) + leaf.shift)
        if leaf.span is None and not head:
            return _LABEL_FIELD + max(0, leaf.shift)
        tab = _TAB_FORM.match(head)
        return len(head) if tab is None else len(head) - tab.end() + _LABEL_FIELD

    def _lead(self, leaf: Leaf) -> Iterator[str]:
        """The lines before a leaf; comments move with it, directives never do."""
        for entry in leaf.lead:
            moves = self.free and leaf.shift and entry.kind is TriviaKind.COMMENT
            if moves and not self._too_long(entry.text, leaf.shift):
                yield _shifted(entry.text, leaf.shift)
            else:
                yield entry.text

    def _moved(self, leaf: Leaf, own: str) -> str:
        """The text of a moved leaf, further in by its shift if that cannot change its meaning."""
        lines = own.split("\n")
        if (
            leaf.frozen
            or leaf.macros
            or any(self._too_long(line, leaf.shift) or _IMMOVABLE.match(line) for line in lines)
            or any(map(_opens_constant, lines[:-1]))
        ):
            return own
        first = 1 if leaf.joined else 0
        lines[first:] = [_shifted(line, leaf.shift) for line in lines[first:]]
        return "\n".join(lines)

    def _too_long(self, line: str, shift: int) -> bool:
        return self.width > 0 and len(line.rstrip(_BLANKS + "\n")) + shift > self.width


def _opens_constant(line: str) -> bool:
    """Whether a character constant of this line goes on in the next."""
    match = _BALANCED.match(line)
    assert match is not None
    return line[match.end() : match.end() + 1] in ("'", '"')


def _shifted(line: str, shift: int) -> str:
    """A line ``shift`` columns further in, or out as far as it has blanks; blank lines stay."""
    content = line.lstrip(" ")
    if not content.strip(_BLANKS + "\n"):
        return line
    return " " * (len(line) - len(content) + shift) + content
