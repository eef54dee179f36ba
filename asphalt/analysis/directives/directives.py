"""The directives ``!$asphalt``: what the author of a program specifies in its source.

Grammar, in any letter case, on lines of their own (``c$asphalt`` and ``*$asphalt`` in fixed form,
too); ``&`` at the end of a line continues it on the next line with the sentinel::

    directive   = clause { [","] clause }
    clause      = "skip" | "tile" "(" number ")" | "depth" "(" number ")" | "match" "(" id ")"
                | "assume" "(" assumptions ")"
    assumptions = word { "," word } | ("uniform" | "pure") ":" name { "," name }

A directive belongs to the statement that follows it.  If that is a declaration, or the first
statement of a unit, it belongs to the whole unit and what that contains.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from asphalt.config.assumptions import KINDS
from asphalt.config.errors import InputError
from asphalt.config.limits import DEPTH, TILE, Limits
from asphalt.ir.records import record
from asphalt.ir.source import Trivia, TriviaKind
from asphalt.ir.tree import Block, Branch, Do, Leaf, Node, Unit, leaves

SENTINEL = "$asphalt"


@record
class Skip:
    """``skip``: asphalt does not transform the site."""


@record
class Tile:
    """``tile(K)``: iterations in a tile; 0: chosen on entry."""

    iterations: int


@record
class Depth:
    """``depth(D)``: tiles in flight."""

    tiles: int


@record
class Match:
    """``match(id)``: the statement belongs to the communication ``id`` (folded)."""

    id: str


@record
class Assume:
    """``assume(kind)`` or ``assume(kind: name)``; ``name`` is folded, '' for a plain assumption."""

    kind: str
    name: str = ""

    @property
    def assumption(self) -> str:
        """The assumption as reports name it, e.g. ``control`` or ``pure:fft``."""
        return f"{self.kind}:{self.name}" if self.name else self.kind


Clause = Skip | Tile | Depth | Match | Assume


@record
class Directive:
    """A clause of a directive; ``leaf`` None: it belongs to all of its unit."""

    clause: Clause
    file: str
    line: int
    leaf: Leaf | None

    def error(self, message: str) -> InputError:
        """An error about this clause."""
        return InputError(self.file, self.line, message)


def directives(unit: Unit) -> tuple[Directive, ...]:
    """The directives of a unit, without those of the units that it contains, in source order.

    Raises InputError for a directive that is not in the grammar, or that belongs to nothing.
    """
    return tuple(_of_unit(unit))


def matches(unit: Unit) -> dict[str, tuple[Leaf, ...]]:
    """The statements of a unit that directives ``match(id)`` name, by the folded id."""
    found: dict[str, tuple[Leaf, ...]] = {}
    for directive in directives(unit):
        match directive:
            case Directive(clause=Match(id=name), leaf=leaf) if leaf is not None:
                found[name] = (*found.get(name, ()), leaf)
    return found


def _of_unit(unit: Unit) -> Iterator[Directive]:
    for leaf in (unit.head,) if unit.head is not None else ():
        yield from _in_front_of(leaf, None)
    for node in unit.spec:
        for leaf in leaves(node):
            yield from _in_front_of(leaf, None)
    for node in unit.body:
        yield from _of_node(node)
    for closing in (unit.contains, unit.end):
        if closing is not None:
            refuse_in_front_of(closing)


def _of_node(node: Node) -> Iterator[Directive]:
    match node:
        case Leaf():
            yield from _in_front_of(node, node)
        case Do(head=head, body=body, end=end) | Block(head=head, body=body, end=end):
            yield from _in_front_of(head, head)
            for child in body:
                yield from _of_node(child)
            if end is not None:
                refuse_in_front_of(end)
        case Branch(arms=arms, end=end):
            yield from _in_front_of(arms[0].head, arms[0].head)
            for number, arm in enumerate(arms):
                if number:
                    refuse_in_front_of(arm.head)
                for child in arm.body:
                    yield from _of_node(child)
            refuse_in_front_of(end)
        case Unit():
            pass


def _in_front_of(leaf: Leaf, owner: Leaf | None) -> Iterator[Directive]:
    for lines in _statements(leaf):
        file, line = lines[0].file, lines[0].number
        for clause in parse(lines):
            yield Directive(clause, file, line, owner)
    _refuse_hidden(leaf)


def refuse_in_front_of(leaf: Leaf) -> None:
    """Raise InputError for a directive in front of a statement that cannot have one."""
    for lines in _statements(leaf):
        parse(lines)
        raise lines[0].error(
            "no statement follows this directive that it could belong to; put it in front of one"
        )
    _refuse_hidden(leaf)


@record
class Line:
    """The text behind the sentinel in one line."""

    text: str
    file: str
    number: int

    def error(self, message: str) -> InputError:
        """An error about this line."""
        return InputError(self.file, self.number, message)


def _statements(leaf: Leaf) -> Iterator[tuple[Line, ...]]:
    """The directives in front of a statement, each with its continuation lines."""
    if leaf.span is None or not any(SENTINEL in t.text.lower() for t in leaf.lead):
        return
    file, number = leaf.span.file, leaf.span.first - leaf.head.count("\n")
    number -= sum(trivia.text != "" for trivia in leaf.lead)
    yield from statements(leaf.lead, file, number)


def statements(lead: Sequence[Trivia], file: str, first: int) -> Iterator[tuple[Line, ...]]:
    """The directives among the lines of ``file`` that begin with line ``first``."""
    number = first
    begun: tuple[Line, ...] = ()
    for trivia in lead:
        text = behind_sentinel(trivia)
        if text is not None:
            text, goes_on = _continued(text)
            begun = (*begun, Line(text, file, number))
            if not goes_on:
                yield begun
                begun = ()
        elif begun and trivia.kind not in (TriviaKind.BLANK, TriviaKind.COMMENT):
            break
        number += trivia.text != ""
    if begun:
        raise begun[-1].error(
            "the directive ends with '&', but the next line is not '!$asphalt ...'; continue it "
            "there or remove the '&'"
        )


def behind_sentinel(trivia: Trivia) -> str | None:
    """The text behind ``!$asphalt``; None: the line is not a directive of asphalt."""
    if trivia.kind is not TriviaKind.DIRECTIVE:
        return None
    text = trivia.text.strip()[1:]
    if text[: len(SENTINEL)].lower() != SENTINEL:
        return None
    return text[len(SENTINEL) :]


def only_accepts(trivia: Trivia) -> bool:
    """Whether a line is a whole directive that only accepts assumptions about the call behind it,
    wherever that stands."""
    text = behind_sentinel(trivia)
    if text is None or _continued(text)[1]:
        return False
    clauses = parse((Line(_continued(text)[0], "", 0),))
    return all(isinstance(clause, Assume) and not clause.name for clause in clauses)


def _continued(text: str) -> tuple[str, bool]:
    """A line without its comment and ``&``, and whether it goes on."""
    text = text.split("!", 1)[0].rstrip()
    return text.removesuffix("&"), text.endswith("&")


def _refuse_hidden(leaf: Leaf) -> None:
    """Refuse a directive inside of a statement, or behind one on its line: it would
    have no effect."""
    inside = (leaf.body or "").split("\n")[:-1]
    for offset, line in enumerate(inside):
        if offset and _IS_DIRECTIVE.match(line) and leaf.span is not None:
            message = (
                "a directive cannot stand inside of a statement; put it in front of the statement"
            )
            raise InputError(leaf.span.file, leaf.span.first + offset, message)
    if _BEHIND.match(leaf.trail) and leaf.span is not None:
        message = "a directive must stand on a line of its own, in front of its statement"
        raise InputError(leaf.span.file, leaf.span.last, message)


_IS_DIRECTIVE = re.compile(r"(?:[c*]|\s*!)\$asphalt\b", re.IGNORECASE)
_BEHIND = re.compile(r"\s*;?\s*!\$asphalt\b", re.IGNORECASE)
_TOKEN = re.compile(
    r"\s*(?:(?P<word>[a-z_]\w*)|(?P<number>[+-]?\d+)|(?P<mark>[(),:&])|(?P<other>\S))",
    re.IGNORECASE | re.ASCII,
)


@record
class _Token:
    kind: str
    text: str  # folded
    line: Line


class _Tokens:
    """The tokens of one directive, taken one after the other."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._last = lines[-1]
        self._tokens: list[_Token] = []
        for number, line in enumerate(lines):
            text = line.text.lstrip()
            if number and text.startswith("&"):
                text = text[1:]
            for found in _TOKEN.finditer(text):
                kind = str(found.lastgroup)
                self._tokens.append(_Token(kind, found[kind].lower(), line))

    def next(self, wanted: str) -> _Token:
        """The next token; ``wanted`` says what it should be."""
        if not self._tokens:
            raise self._last.error(f"the directive ends where {wanted} is expected")
        return self._tokens.pop(0)

    def mark(self, *marks: str) -> str:
        """The next token, which must be one of these."""
        wanted = " or ".join(f"'{mark}'" for mark in marks)
        token = self.next(wanted)
        if token.text not in marks:
            raise token.line.error(f"'{token.text}' stands where {wanted} is expected")
        return token.text

    def sees(self, mark: str) -> bool:
        """Whether the next token is this mark."""
        return bool(self._tokens) and self._tokens[0].text == mark

    @property
    def empty(self) -> bool:
        """Whether all tokens are taken."""
        return not self._tokens


def parse(lines: Sequence[Line]) -> tuple[Clause, ...]:
    """The clauses of one directive, given as what stands behind its sentinels.

    Raises InputError for text that is not in the grammar.
    """
    if lines[0].text[:1] not in ("", " ", "\t"):
        raise lines[0].error(f"a space is missing behind the sentinel: '{SENTINEL}{lines[0].text}'")
    tokens = _Tokens(lines)
    clauses = [*_clause(tokens)]
    while not tokens.empty:
        if tokens.sees(","):
            tokens.mark(",")
        clauses += _clause(tokens)
    return tuple(clauses)


_WORDS = "skip, tile(K), depth(D), assume(...) or match(ID)"


def _clause(tokens: _Tokens) -> Iterator[Clause]:
    token = tokens.next(_WORDS)
    match token.text:
        case "skip":
            yield Skip()
        case "tile":
            yield Tile(_number(tokens, "tile", TILE))
        case "depth":
            yield Depth(_number(tokens, "depth", DEPTH))
        case "match":
            tokens.mark("(")
            name = tokens.next("an id")
            if name.kind == "mark" or name.kind == "other":
                raise name.line.error(f"match: '{name.text}' is no id; use a name or a number")
            tokens.mark(")")
            yield Match(name.text)
        case "assume":
            yield from _assumptions(tokens)
        case _:
            raise token.line.error(f"'{token.text}' is no directive of asphalt; use {_WORDS}")


def _number(tokens: _Tokens, what: str, limits: Limits) -> int:
    tokens.mark("(")
    token = tokens.next("a whole number")
    if token.kind != "number" or int(token.text) not in limits:
        raise token.line.error(f"{what} takes a whole number from {limits}, not '{token.text}'")
    tokens.mark(")")
    return int(token.text)


def _assumptions(tokens: _Tokens) -> Iterator[Assume]:
    tokens.mark("(")
    while True:
        token = tokens.next("an assumption")
        kind = KINDS.get(token.text)
        if kind is not None and kind.named:
            tokens.mark(":")
            while True:
                yield Assume(token.text, _name(tokens, token.text))
                if tokens.mark(",", ")") == ")":
                    return
        if kind is not None and kind.whole:
            raise token.line.error(
                f"'{token.text}' holds for the whole program; write `--assume {token.text}`, or "
                "name it in the settings"
            )
        if kind is None:
            raise token.line.error(
                f"'{token.text}' is no assumption; use control, bits, uniform: NAME,... or "
                "pure: NAME,..."
            )
        yield Assume(token.text)
        if tokens.mark(",", ")") == ")":
            return


def _name(tokens: _Tokens, kind: str) -> str:
    token = tokens.next("a name")
    if token.kind != "word":
        raise token.line.error(f"{kind}: '{token.text}' is no name")
    return token.text
