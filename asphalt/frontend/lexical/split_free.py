"""Splitting of free form (F2018 section 6.3.2)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from asphalt.frontend.lexical.assembly import LINE_END, Assembly, PendingStatement
from asphalt.frontend.lexical.cpp_facts import CppFacts
from asphalt.frontend.lexical.named_tokens import NamedTokens, Use, expanded_part
from asphalt.frontend.lexical.trivia import BLANKS, opens_c_comment, trivia_kind
from asphalt.ir.source import Form, Span, TriviaKind
from asphalt.ir.stmt import Raw
from asphalt.ir.tree import Leaf

# A whole statement on one line, with perhaps a comment after it: nine lines in ten.
_WHOLE = re.compile(
    r"""
    ( [ \t\f]*+ (?:(\d{1,5})[ \t]++)?+ (?:([A-Za-z][\w$]*+)[ \t]*+:(?![:=])[ \t]*+)?+ )
    ( [A-Za-z] (?: [^'"!&;\n]++ | '[^'\n]*+' | "[^"\n]*+" )*+ )
    (?: !.*+ )?+ \n?+ \Z
    """,
    re.X | re.A,
)

# Statement text up to what ends or breaks it; a `&` counts only as the last thing of the line.
_STRETCH = re.compile(
    r"""
    (?: [^'"!&;\n]++ | '[^'\n]*+' | "[^"\n]*+" | &(?![ \t\r\f\v\x1a]*+(?:!.*+)?+\n?+\Z) )*+
    """,
    re.X,
)
_NO_MORE = re.compile(r"[ \t\r\f\v\x1a;]*+(?:!.*+)?+\n?+\Z")
_SEMICOLONS = re.compile(r"(?:[ \t\r\f\v\x1a]*+;)*+")


def split_free(assembly: Assembly, cpp: CppFacts | None) -> None:
    """Splits all lines of a file in free form into ``assembly``."""
    dead = cpp.dead if cpp is not None else frozenset()
    changed = cpp.changed if cpp is not None else {}
    included = cpp.included if cpp is not None else {}
    macros = cpp.macros if cpp is not None else NamedTokens()
    path, leaves = assembly.path, assembly.leaves
    whole = _WHOLE.match
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
        if index + 1 in changed:
            _expanded_line(assembly, index, changed[index + 1], macros)
            continue
        if macros.unsteady and macros.is_unsteady(line) and trivia_kind(line, Form.FREE) is None:
            _changed_line(assembly, index, line)
            continue
        if assembly.open is None:
            match = whole(line)
            if match is not None:
                head, label, name, code = match.groups()
                body = code.rstrip(LINE_END)
                col = len(head)
                stop = col + len(body)
                leaves.append(
                    Leaf(
                        Raw(body),
                        Span(path, index + 1, col + 1, index + 1, stop),
                        tuple(assembly.lead),
                        head,
                        body,
                        line[stop:],
                        None if label is None else int(label),
                        name,
                    )
                )
                assembly.lead = []
                continue
        kind = trivia_kind(line, Form.FREE)
        if kind is None:
            _statement_line(assembly, index, line)
        else:
            own = cpp is not None and kind is TriviaKind.CPP
            assembly.trivia(cpp.kind_of(index + 1, line) if cpp and own else kind, line)
            if kind is TriviaKind.CPP:
                in_directive = line.rstrip("\r\n").endswith("\\")
                text = included.get(index + 1)
                if text:
                    brought = Assembly.of_text(path, text)
                    split_free(brought, None)
                    assembly.bring_in(index, brought)
            elif kind is TriviaKind.COMMENT:
                in_comment = opens_c_comment(line)


def _statement_line(assembly: Assembly, index: int, line: str, uses: Sequence[Use] = ()) -> None:
    """A line that holds statement text: whole statements, or parts of continued ones; ``uses``:
    the macros in it."""
    begin, pos, apart = _resumption(assembly, line)
    statement = assembly.open or assembly.begin(index, begin, False)
    while True:
        stop, resume, statement.quote, goes_on = _stretch(line, pos, statement.quote)
        code = expanded_part(line, pos, stop, uses) if uses else line[pos:stop]
        statement.macros += [use for use in uses if pos <= use.start < stop]
        assembly.add(index, begin, stop, _glued(statement, code, apart))
        if goes_on:
            statement.goes_on = True
            return
        if _NO_MORE.match(line, resume):
            assembly.close()
            return
        begin = pos = _after_semicolons(line, resume)
        statement, apart = assembly.semicolon(index, begin), False


def _expanded_line(assembly: Assembly, index: int, expanded: str, macros: NamedTokens) -> None:
    """A line that macros changed: text as it is, where each of them stands for one token."""
    line = assembly.lines[index]
    quote = "" if assembly.open is None else assembly.open.quote
    uses = macros.uses(line.rstrip(LINE_END), expanded.rstrip(LINE_END), quote)
    if uses is None or trivia_kind(line, Form.FREE) is not None:
        _changed_line(assembly, index, expanded)
    else:
        _statement_line(assembly, index, line, uses)


def _changed_line(assembly: Assembly, index: int, expanded: str) -> None:
    """A line that macros changed: its statements mean the expanded text, and are frozen.

    The first of them owns the whole text of the line; further ones are empty.
    """
    expanded = expanded.rstrip(LINE_END)
    line = assembly.lines[index]
    kind = trivia_kind(expanded, Form.FREE)
    if kind is not None:
        both = kind is trivia_kind(line, Form.FREE) is TriviaKind.COMMENT
        assembly.trivia(kind if both else TriviaKind.CPP, line)
        return
    end = len(line.rstrip(LINE_END))
    begin = 0
    _, pos, apart = _resumption(assembly, expanded)
    statement = assembly.open or assembly.begin(index, begin, False)
    while True:
        statement.frozen = True
        stop, resume, statement.quote, goes_on = _stretch(expanded, pos, statement.quote)
        assembly.add(index, begin, end, _glued(statement, expanded[pos:stop], apart))
        if goes_on:
            statement.goes_on = True
            return
        if _NO_MORE.match(expanded, resume):
            assembly.close()
            return
        pos, begin = _after_semicolons(expanded, resume), end
        statement, apart = assembly.semicolon(index, end), False


def _resumption(assembly: Assembly, line: str) -> tuple[int, int, bool]:
    """Where statement text begins on a line: where its first character stands, where its meaning
    begins, and whether it is a continuation whose first token stands apart from what came before.

    A token or character constant goes on after a leading ``&``.
    """
    if assembly.open is None:
        return 0, _after_semicolons(line, 0), False
    pos = len(line) - len(line.lstrip(BLANKS))
    if line.startswith("&", pos):
        return pos + 1, pos + 1, False
    return pos, pos, not assembly.open.quote


def _after_semicolons(line: str, pos: int) -> int:
    match = _SEMICOLONS.match(line, pos)
    assert match is not None
    return match.end()


def _stretch(line: str, pos: int, quote: str) -> tuple[int, int, str, bool]:
    """Reads one statement's text from ``pos``, inside a character constant if ``quote``.

    Returns where the text stops, where the next statement of the line may begin, the delimiter of
    a character constant that goes on in the next line, and whether the statement does.
    """
    if quote:
        close = line.find(quote, pos)
        if close < 0:
            return _open_constant(line, pos, quote)
        pos = close + 1
    match = _STRETCH.match(line, pos)
    assert match is not None
    stop = match.end()
    last = line[stop : stop + 1]
    if last == "&":
        return stop, stop, "", True
    if last in ("'", '"'):
        return _open_constant(line, stop + 1, last)
    kept = pos + len(line[pos:stop].rstrip(LINE_END))
    return kept, stop + 1 if last == ";" else stop, "", False


def _open_constant(line: str, pos: int, quote: str) -> tuple[int, int, str, bool]:
    """The end of a line inside a character constant: it goes on after a ``&``, or is an error."""
    stop = len(line.rstrip(LINE_END))
    if stop > pos and line[stop - 1] == "&":
        return stop - 1, stop, quote, True
    return max(stop, pos), len(line), "", False


def _glued(statement: PendingStatement, text: str, apart: bool) -> str:
    """The text of a continuation as it is to follow what the statement has."""
    return " " + text if apart and not statement.apart else text
