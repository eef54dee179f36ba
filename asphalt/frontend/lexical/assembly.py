"""Physical lines to leaves: the part of splitting that both source forms share.

The splitter of a form determines which stretches of a line are statement text; the assembly keeps
every character between them in ``lead``, ``head``, ``body`` or ``trail`` of some leaf.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from asphalt.config.sentinels import is_unread
from asphalt.frontend.lexical.named_tokens import Use
from asphalt.frontend.lexical.tokens import names_cut
from asphalt.frontend.lexical.trivia import BLANKS
from asphalt.ir.source import Span, Trivia, TriviaKind
from asphalt.ir.stmt import Raw
from asphalt.ir.tree import Leaf, NamedToken

_HEAD = re.compile(
    rf"""
      [;{BLANKS}]*+
      (?: (\d{{1,5}}) [{BLANKS}]*+ (?=[A-Za-z&\n]|\Z) )?+
      (?: ([A-Za-z][\w$]*+) [{BLANKS}]*+ :(?![:=]) [{BLANKS}]*+ )?+
    """,
    re.X | re.A,
)

LINE_END = BLANKS + "\n"


@dataclass(slots=True)
class PendingStatement:
    """A statement that is being read; lines and columns are counted from 0.

    ``line`` and ``col`` say where its text begins; ``line`` is -1 until text has been found.
    ``stop_line`` and ``stop_col`` say where the text read so far ends; ``quote`` is the delimiter
    of a character constant that is open there, ``goes_on``: a continuation mark announced more.
    ``pieces`` make up the logical line; ``macros`` stand in its text for one token each.
    ``waiting`` are lines after it that belong to the statement only if it does go on.
    """

    head_line: int
    head_col: int
    joined: bool
    label: int | None = None
    name: str | None = None
    line: int = -1
    col: int = 0
    stop_line: int = -1
    stop_col: int = 0
    pieces: list[str] = field(default_factory=list)
    quote: str = ""
    goes_on: bool = False
    frozen: bool = False
    macros: list[Use] = field(default_factory=list)
    waiting: list[Trivia] = field(default_factory=list)

    def append(self, code: str) -> None:
        """Adds to the logical line."""
        if code:
            self.pieces.append(code)

    @property
    def apart(self) -> bool:
        """Whether the next token is separate from the last one."""
        return not self.pieces or self.pieces[-1].endswith((" ", "\t"))


class Assembly:
    """The leaves of one file, under construction."""

    def __init__(self, path: str, lines: list[str], unread: tuple[str, ...] = ()) -> None:
        self.path = path
        self.lines = lines
        self.unread = unread
        self.leaves: list[Leaf] = []
        self.lead: list[Trivia] = []
        self.open: PendingStatement | None = None
        self.fixed = False

    def begin(self, line: int, col: int, joined: bool) -> PendingStatement:
        """Opens a statement; everything from ``col`` on is its own."""
        self.open = PendingStatement(line, col, joined)
        return self.open

    def trivia(self, kind: TriviaKind, text: str) -> None:
        """A line without statement text."""
        if kind is TriviaKind.DIRECTIVE and self.unread and is_unread(text, self.unread):
            kind = TriviaKind.COMMENT
        entry = Trivia(kind, text)
        if self.open is None:
            self.lead.append(entry)
        else:
            self.open.waiting.append(entry)

    def add(self, line: int, col: int, stop: int, code: str) -> None:
        """Statement text ``lines[line][col:stop]`` that means ``code``, appended as it is.

        Label and construct name are taken off the front.
        """
        statement = self.open
        assert statement is not None
        if statement.line < 0:
            match = _HEAD.match(code)
            assert match is not None
            if match[1]:
                statement.label = int(match[1])
            if match[2]:
                statement.name = match[2]
            code = code[match.end() :]
            if code:
                before = _HEAD.match(self.lines[line], col, stop)
                assert before is not None
                if statement.macros and match.groups() != before.groups():
                    statement.frozen = True
                statement.line, statement.col = line, before.end()
        if statement.waiting:
            statement.frozen = statement.frozen or any(
                entry.kind not in (TriviaKind.BLANK, TriviaKind.COMMENT)
                for entry in statement.waiting
            )
            statement.waiting.clear()
        statement.append(code)
        statement.stop_line, statement.stop_col = line, stop

    def close(self, stop: int | None = None) -> None:
        """Ends the open statement, if any.

        ``stop`` is where its trail ends on its last line; None: at the end of the line.
        """
        statement = self.open
        if statement is None:
            return
        self.open = None
        if statement.line < 0:
            self._nothing(statement)
            return
        lines = self.lines
        last = lines[statement.stop_line]
        code = "".join(statement.pieces).rstrip(LINE_END)
        body = self._text(statement.line, statement.col, statement.stop_line, statement.stop_col)
        whole = statement.line == statement.stop_line
        whole = whole and not (statement.frozen or statement.macros)
        self.leaves.append(
            Leaf(
                what=Raw(code, self.fixed),
                span=Span(
                    self.path,
                    statement.line + 1,
                    statement.col + 1,
                    statement.stop_line + 1,
                    statement.stop_col,
                ),
                lead=tuple(self.lead),
                head=self._text(
                    statement.head_line, statement.head_col, statement.line, statement.col
                ),
                body=body,
                trail=last[statement.stop_col : len(last) if stop is None else stop],
                label=statement.label,
                name=statement.name,
                joined=statement.joined,
                frozen=statement.frozen,
                cut=frozenset() if whole else names_cut(code, body),
                macros=_named(statement.macros, body),
            )
        )
        self.lead = statement.waiting

    def semicolon(self, line: int, col: int) -> PendingStatement:
        """Ends the open statement; another one follows from ``col`` of the same line."""
        statement = self.open
        assert statement is not None
        if statement.line < 0:  # nothing stood before the semicolon
            statement.label = statement.name = None
            return statement
        self.close(col)
        return self.begin(line, col, True)

    def bring_in(self, index: int, brought: Assembly) -> None:
        """The statements that the preprocessor's ``#include`` in line ``index`` inserts.

        They have no text of their own in this file, and are frozen.  Inside of a continued
        statement, no parser could read the result, so that the statement is opaque.
        """
        leaves, tail = brought.finish()
        if self.open is not None and self.open.goes_on:
            self.open.append(" #include ")
            return
        if leaves:
            self.close()
        span = Span(self.path, index + 1, 1, index + 1, len(self.lines[index].rstrip(LINE_END)))
        for leaf in leaves:
            self.lead += _silent(leaf.lead)
            self.leaves.append(
                replace(
                    leaf,
                    span=span,
                    lead=tuple(self.lead),
                    head="",
                    body="",
                    trail="",
                    joined=False,
                    frozen=True,
                )
            )
            self.lead = []
        for entry in _silent(tail):
            self.trivia(entry.kind, entry.text)

    def finish(self) -> tuple[tuple[Leaf, ...], tuple[Trivia, ...]]:
        """All leaves, and the lines after the last one."""
        self.close()
        return tuple(self.leaves), tuple(self.lead)

    @classmethod
    def of_text(cls, path: str, text: str, unread: tuple[str, ...] = ()) -> Assembly:
        """An assembly for all lines of a text; only ``\\n`` ends a line.

        ``unread``: the sentinels of directives that count as comments.
        """
        lines = [line + "\n" for line in text.split("\n")]
        last = lines.pop()[:-1]
        if last:
            lines.append(last)
        return cls(path, lines, unread)

    def _nothing(self, statement: PendingStatement) -> None:
        """A statement that was announced (a label, a continuation mark) and has no text."""
        first = self.lines[statement.head_line][statement.head_col :]
        if statement.joined:
            previous = self.leaves[-1]
            self.leaves[-1] = replace(previous, trail=previous.trail + first)
        else:
            self.lead.append(Trivia(TriviaKind.COMMENT, first))
        for text in self.lines[statement.head_line + 1 : statement.stop_line + 1]:
            self.lead.append(Trivia(TriviaKind.COMMENT, text))
        self.lead.extend(statement.waiting)

    def _text(self, line: int, col: int, stop_line: int, stop_col: int) -> str:
        lines = self.lines
        if line == stop_line:
            return lines[line][col:stop_col]
        between = lines[line + 1 : stop_line]
        return "".join((lines[line][col:], *between, lines[stop_line][:stop_col]))


def _named(macros: Sequence[Use], body: str) -> tuple[NamedToken, ...]:
    """The macros in the text of a statement, with the tokens that they stand for."""
    if not macros:
        return ()
    words = set(re.findall(r"[\w$]+", body.lower()))
    uses = Counter((use.name, use.token) for use in macros)
    return tuple(NamedToken(n, t, t.lower() not in words, k) for (n, t), k in sorted(uses.items()))


def _silent(lines: Iterable[Trivia]) -> list[Trivia]:
    """Directives that another file inserts: they have effects, and no text here."""
    effects = (TriviaKind.DIRECTIVE, TriviaKind.CONDITIONAL)
    return [Trivia(entry.kind, "") for entry in lines if entry.kind in effects]
