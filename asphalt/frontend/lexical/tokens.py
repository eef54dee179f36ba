"""The tokens of one logical Fortran line, and a cursor over them.

Fortran has no reserved words, so a token only says how it is spelled; the parsers of statements and
expressions determine what it means.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<boz>[bozx](?:'[0-9a-f]+'|"[0-9a-f]+")|'[0-9a-f]+'[bozx]\b|"[0-9a-f]+"[bozx]\b)
    | (?P<string>(?:\w+_)?(?:'(?:[^']|'')*'|"(?:[^"]|"")*"))
    | (?P<real>(?:\d+\.(?!\s*[a-z]+\s*\.)\d*|\.\d+)(?:[edq][+-]?\d+)?(?:_\w+)?
        |\d+[edq][+-]?\d+(?:_\w+)?)
    | (?P<hollerith>\d+h)
    | (?P<int>\d+(?:_\w+)?)
    | (?P<logical>\.\s*(?:true|false)\s*\.(?:_\w+)?)
    | (?P<dot>\.\s*[a-z]+\s*\.)
    | (?P<name>[a-z][\w$]*|__(?:line|file|date|time|timestamp)__)
    | (?P<op>\*\*|//|==|/=|<=|>=|=>|::|\.\.|[-+*/()\[\],=<>%:&$])
    | (?P<end>$)
    | (?P<bad>.)
    )""",
    re.IGNORECASE | re.VERBOSE | re.ASCII | re.DOTALL,
)
_OPENING = frozenset("([")
_CLOSING = frozenset(")]")


class FortranSyntaxError(ValueError):
    """The text is not the statement or expression that was tried."""


class Token(NamedTuple):
    """``low`` is ``text`` in lower case (but for strings); ``code[start:end] == text``."""

    kind: str  # boz string real hollerith int logical dot name op end
    text: str
    low: str
    start: int
    end: int


def tokenize(code: str) -> list[Token]:
    """The tokens of ``code`` and a last one of kind ``end``.

    Raises FortranSyntaxError for a character that begins no token.
    """
    tokens: list[Token] = []
    at = 0
    while True:
        match = _TOKEN.match(code, at)
        assert match is not None
        assert match.lastgroup is not None
        kind = match.lastgroup
        text = match[kind]
        start, at = match.span(kind)
        if kind == "bad":
            raise FortranSyntaxError(f"unexpected character {text!r}")
        if kind == "hollerith":
            at += int(text[:-1])
            if at > len(code):
                raise FortranSyntaxError(f"a Hollerith constant {text!r} that is cut off")
            text = code[start:at]
        elif kind == "dot":
            text = re.sub(r"\s", "", text)  # fixed form allows ". EQ."
        tokens.append(
            Token(kind, text, text if kind in ("string", "hollerith") else text.lower(), start, at)
        )
        if kind == "end":
            return tokens


def with_line(code: str, line: int) -> str:
    """A logical line with its number for the macro ``__LINE__``, as a preprocessor has it."""
    if "__LINE__" not in code:
        return code
    try:
        places = [token for token in tokenize(code) if token.text == "__LINE__"]
    except FortranSyntaxError:
        return code
    for token in reversed(places):
        code = f"{code[: token.start]}{line}{code[token.end :]}"
    return code


class Cursor:
    """A position in the tokens of a statement; every parser moves it past what it has read."""

    __slots__ = ("at", "code", "tokens")

    def __init__(self, code: str, tokens: list[Token] | None = None) -> None:
        self.code = code
        self.tokens = tokenize(code) if tokens is None else tokens
        self.at = 0

    @property
    def here(self) -> Token:
        """The next token."""
        return self.tokens[self.at]

    @property
    def low(self) -> str:
        """The next token in lower case; '' at the end."""
        return self.tokens[self.at].low

    def after(self, count: int = 1) -> Token:
        """The token ``count`` after the next one."""
        return self.tokens[min(self.at + count, len(self.tokens) - 1)]

    def take(self) -> Token:
        """The next token, passed; the end is never passed."""
        token = self.tokens[self.at]
        if token.kind != "end":
            self.at += 1
        return token

    def accept(self, *low: str) -> bool:
        """Pass the given tokens if they come next, all of them."""
        for offset, wanted in enumerate(low):
            if self.after(offset).low != wanted:
                return False
        self.at += len(low)
        return True

    def expect(self, low: str) -> Token:
        """Pass the token ``low`` or raise."""
        if self.low != low:
            raise self.error(f"expected {low!r}")
        return self.take()

    def name(self) -> Token:
        """Pass a name or raise."""
        if self.here.kind != "name":
            raise self.error("expected a name")
        return self.take()

    def label(self) -> int:
        """Pass a statement label or raise."""
        if self.here.kind != "int" or not self.here.text.isdigit():
            raise self.error("expected a label")
        return int(self.take().text)

    @property
    def at_end(self) -> bool:
        """Whether no token is left."""
        return self.tokens[self.at].kind == "end"

    def finish(self) -> None:
        """Raise if a token is left."""
        if not self.at_end:
            raise self.error("expected the end of the statement")

    def error(self, message: str) -> FortranSyntaxError:
        """The error that ``message`` holds at this position."""
        found = self.here.text[:40]
        return FortranSyntaxError(f"{message}, found {found!r}" if found else f"{message} at end")

    def closing(self, at: int | None = None) -> int:
        """The index of the token that closes the bracket at ``at`` (default: the next token)."""
        depth = 0
        for index in range(self.at if at is None else at, len(self.tokens)):
            low = self.tokens[index].low
            if low in _OPENING:
                depth += 1
            elif low in _CLOSING:
                depth -= 1
                if depth == 0:
                    return index
        raise self.error("unbalanced parenthesis")

    def skip_group(self) -> None:
        """Pass a bracketed group."""
        self.at = self.closing() + 1

    def text_from(self, first: int) -> str:
        """The source text from token ``first`` to the last one passed."""
        if self.at <= first:
            return ""
        return self.code[self.tokens[first].start : self.tokens[self.at - 1].end]

    def names_from(self, first: int) -> frozenset[str]:
        """All names in the tokens from ``first`` to the last one passed, folded."""
        return frozenset(t.low for t in self.tokens[first : self.at] if t.kind == "name")

    def folded_from(self, first: int) -> str:
        """The tokens from ``first`` on, in lower case, with a blank only between two words."""
        pieces: list[str] = []
        word = False
        for token in self.tokens[first : self.at]:
            is_word = token.kind in ("name", "int", "real")
            pieces.append(f" {token.low}" if word and is_word else token.low)
            word = is_word
        return "".join(pieces)


def names_in_text(code: str) -> frozenset[str]:
    """All words in a statement outside of its character literals, folded; never raises."""
    bare = re.sub(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"", " ", code)
    return frozenset(re.findall(r"(?<![\w$])[a-z][\w$]*", bare.lower(), re.ASCII))


def names_cut(code: str, body: str) -> frozenset[str]:
    """The folded names of a statement that its text ``body`` does not show in one piece."""
    return names_in_text(code) - set(re.findall(r"[a-z_$][\w$]*", body.lower(), re.ASCII))
