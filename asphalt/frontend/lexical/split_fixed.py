"""Splitting of fixed form (F2018 section 6.3.3), and of tab form as gfortran reads it."""

from __future__ import annotations

import re

from asphalt.frontend.lexical.assembly import LINE_END, Assembly, PendingStatement
from asphalt.frontend.lexical.cpp_facts import CppFacts
from asphalt.frontend.lexical.named_tokens import (
    NamedTokens,
    Use,
    expanded_part,
    has_hollerith,
)
from asphalt.frontend.lexical.trivia import opens_c_comment, trivia_kind
from asphalt.ir.source import Form, TriviaKind

_STRETCH = re.compile(r"""(?: [^'"!;\n]++ | '[^'\n]*+' | "[^"\n]*+" )*+""", re.X)
_NO_MORE = re.compile(r"[ \t\r\f\v\x1a;]*+(?:!.*+)?+\Z")
_SEMICOLONS = re.compile(r"(?:[ \t\r\f\v\x1a]*+;)*+")
_HOLLERITH = re.compile(r"(?<![\w.])(\d{1,4})h", re.I | re.A)
_TAB_FORM = re.compile(r"([ 0-9]{0,5})\t([1-9])?")
_CARD = re.compile(r"([ 0-9]{5})(?:[ 0]|(.))")


def split_fixed(assembly: Assembly, cpp: CppFacts | None, width: int) -> None:
    """Splits all lines of a file in fixed form into ``assembly``; ``width`` 0: no limit."""
    assembly.fixed = True
    dead = cpp.dead if cpp is not None else frozenset()
    changed = cpp.changed if cpp is not None else {}
    included = cpp.included if cpp is not None else {}
    macros = cpp.macros if cpp is not None else NamedTokens()
    in_directive = in_comment = False
    for index, line in enumerate(assembly.lines):
        if in_directive:
            assembly.trivia(TriviaKind.CPP, line)
            in_directive = line.rstrip("\r\n").endswith("\\")
            continue
        if in_comment:
            assembly.trivia(TriviaKind.COMMENT, line)
            in_comment = "*/" not in line
            continue
        if index + 1 in dead:
            assembly.trivia(TriviaKind.DEAD, line)
            continue
        meaning = changed.get(index + 1)
        if meaning is None and macros.unsteady and macros.is_unsteady(line):
            meaning = None if trivia_kind(line, Form.FIXED) else line
        kind = trivia_kind(line if meaning is None else meaning, Form.FIXED)
        if kind is None:
            _statement_line(assembly, index, meaning, width, macros)
        elif meaning is not None:
            both = kind is trivia_kind(line, Form.FIXED) is TriviaKind.COMMENT
            assembly.trivia(kind if both else TriviaKind.CPP, line)
        else:
            own = cpp is not None and kind is TriviaKind.CPP
            assembly.trivia(cpp.kind_of(index + 1, line) if cpp and own else kind, line)
            if kind is TriviaKind.CPP:
                in_directive = line.rstrip("\r\n").endswith("\\")
                text = included.get(index + 1)
                if text:
                    brought = Assembly.of_text(assembly.path, text)
                    split_fixed(brought, None, width)
                    assembly.bring_in(index, brought)
            elif kind is TriviaKind.COMMENT:
                in_comment = opens_c_comment(line)


def _statement_line(
    assembly: Assembly, index: int, expanded: str | None, width: int, macros: NamedTokens
) -> None:
    """A line with statement text; ``expanded`` is what macros make of it.

    A line that macros changed is owned as a whole by its first statement, and frozen, unless each
    of them stands for one token.
    """
    line = assembly.lines[index]
    uses = () if expanded is None else _uses(assembly, line, expanded, width, macros)
    if uses is not None:
        expanded = None
    frozen = expanded is not None
    text = line if expanded is None else expanded
    continues, label, start, limit = _columns(text, width)
    field = text[start:limit].rstrip("\r\n")
    statement = assembly.open
    quote = statement.quote if statement is not None and continues else ""
    if not quote and _NO_MORE.match(field):
        assembly.trivia(TriviaKind.CPP if frozen else TriviaKind.COMMENT, line)
        return
    end = len(line.rstrip(LINE_END))
    begin = min(_columns(line, width)[2], end) if frozen else start
    if statement is None or not continues:
        assembly.close()
        statement = assembly.begin(index, 0, False)
        statement.label = label
    pos = 0 if quote else _after_semicolons(field, 0)
    while True:
        statement.frozen = statement.frozen or frozen
        stop, statement.quote = _stretch(field, pos, quote)
        at_end = stop == len(field)
        kept = pos + len(field[pos:stop].rstrip(LINE_END))
        part = field[pos:stop]
        if uses:
            part = expanded_part(text, start + pos, start + stop, uses)
            statement.macros += [use for use in uses if pos <= use.start - start < stop]
            statement.frozen = statement.frozen or bool(statement.quote)
        code = _joinable(part, statement, quote, limit - start - stop if at_end else 1)
        assembly.add(index, begin, end if frozen else max(start + kept, begin), code)
        if _NO_MORE.match(field, stop):
            if field[stop : stop + 1] == ";":
                assembly.close()
            return
        pos = _after_semicolons(field, stop)
        begin = end if frozen else start + pos
        statement = assembly.semicolon(index, begin)
        quote = ""


def _uses(
    assembly: Assembly, line: str, expanded: str, width: int, macros: NamedTokens
) -> tuple[Use, ...] | None:
    """The macros of a line, where each stands for one token, and no column has a meaning."""
    line, expanded = line.rstrip(LINE_END), expanded.rstrip(LINE_END)
    limit = min(_columns(line, width)[3], _columns(expanded, width)[3])
    longest = max(len(line), len(expanded))
    open_constant = assembly.open is not None and assembly.open.quote
    if open_constant or has_hollerith(line) or (width and longest >= limit):
        return None
    if trivia_kind(line, Form.FIXED) is not None or _columns(line, width) != _columns(
        expanded, width
    ):
        return None
    return macros.uses(line, expanded, start=_columns(line, width)[2])


def _columns(text: str, width: int) -> tuple[bool, int | None, int, int]:
    """Whether a line continues another, its label, and the columns (from 0) of its text."""
    match = _TAB_FORM.match(text)
    if match is not None:
        start = match.end()
        limit = start + width - 6
    else:
        match = _CARD.match(text)
        start, limit = 0 if match is None else 6, width
    if not width:
        limit = len(text.rstrip("\r\n"))
    if match is None:
        return False, None, start, limit
    digits = match[1].replace(" ", "")
    return match[2] is not None, int(digits) if digits else None, start, limit


def _stretch(field: str, pos: int, quote: str) -> tuple[int, str]:
    """Reads one statement's text from ``pos``, inside a character constant if ``quote``.

    Returns where it stops and the delimiter of a character constant that is open there.
    """
    if quote:
        close = field.find(quote, pos)
        if close < 0:
            return len(field), quote
        pos = close + 1
    while True:
        stop = _end_of_stretch(field, pos, len(field))
        last = field[stop : stop + 1]
        if not last:
            return stop, ""
        beyond = _beyond_hollerith(field, pos, stop)
        if beyond is None:
            return (stop, "") if last in "!;" else (len(field), last)
        pos = beyond


def _end_of_stretch(field: str, pos: int, limit: int) -> int:
    match = _STRETCH.match(field, pos, limit)
    assert match is not None
    return match.end()


def _beyond_hollerith(field: str, pos: int, stop: int) -> int | None:
    """The end of the first Hollerith constant (``5hdon't``) that begins in a stretch, if any."""
    for match in _HOLLERITH.finditer(field, pos, stop):
        if _end_of_stretch(field, pos, match.start()) == match.start():
            return min(match.end() + int(match[1]), len(field))
    return None


def _joinable(piece: str, statement: PendingStatement, quote: str, room: int) -> str:
    """A piece of statement text, such that the next piece can be appended.

    ``room`` is how many columns the line could hold after it.  Blanks to the end of the line are
    part of a character constant that goes on, and keep tokens apart; without them a token may go
    on in the next line.
    """
    if not quote and statement.apart:
        piece = piece.lstrip(" \t")
    if statement.quote:
        return piece + " " * room
    if room > 0 or piece.endswith(" "):
        return piece.rstrip(LINE_END) + " "
    return piece


def _after_semicolons(field: str, pos: int) -> int:
    match = _SEMICOLONS.match(field, pos)
    assert match is not None
    return match.end()
