"""Macros that stand for one name or number each: statements with them are text like any other.

``#define SENDS mpi_send`` gives a procedure another name.  A statement with that name keeps its
text and may be moved, as long as the macro means the same wherever the statement stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from asphalt.frontend.lexical.trivia import opens_c_comment, trivia_kind
from asphalt.ir.records import record
from asphalt.ir.source import Form

_DEFINITION = re.compile(r"#(define|undef) ([A-Za-z_$][\w$]*)(\(?)(.*)", re.A)
ONE_TOKEN = re.compile(r"[A-Za-z_]\w*|\d+(?:_\w+)?|\d+\.\d*(?:[EeDd][+-]?\d+)?(?:_\w+)?", re.A)
"""A macro's text that is one name or number."""
_WORD = re.compile(r"(?<![\w$])[A-Za-z_$][\w$]*", re.A)
_CODE = re.compile(r"""(?:[^'"!]++|'[^']*+'|"[^"]*+")*+""")
_MARK = 5  # the column, from 0, of the mark of a continuation line in fixed form
_ESCAPED = re.compile(r"""\\['"]""")
_HOLLERITH = re.compile(r"(?<![\w.])\d+h", re.I | re.A)


@record
class Definition:
    """A definition of a macro, or its end: ``body`` None.

    ``function``: it has arguments.  ``behind``: the number of the last line of the file in front
    of it, 0 for those that the options give.
    """

    name: str
    body: str | None
    function: bool
    behind: int


@record
class NamedTokens:
    """The macros of a file in one configuration.

    ``tokens``: the names of those that always stand for one name or number, and what it is.
    ``unsteady``: the names that mean something else in another line.  ``names``: of all.
    ``bodies``: what each macro with one definition is defined as.
    """

    tokens: Mapping[str, str] = field(default_factory=dict)
    unsteady: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    bodies: Mapping[str, str] = field(default_factory=dict)

    def uses(
        self, line: str, expanded: str, quote: str = "", start: int = 0
    ) -> tuple[Use, ...] | None:
        """The macros in the code of a line that explain all of what became of it; None: they do
        not.  ``quote``: the delimiter of a character constant that goes on in the line; ``start``:
        the column, from 0, in which its code begins."""
        if line[:start] != expanded[:start]:
            return None
        found: list[Use] = []
        at = now = start
        while at < len(line) or now < len(expanded):
            last = line[at : at + 1]
            word = None if quote else _WORD.match(line, at)
            if word is not None and word[0] in self.unsteady:
                return None
            if word is not None and word[0] in self.tokens:
                token = self.tokens[word[0]]
                if not expanded.startswith(token, now):
                    return None
                found.append(Use(at, word.end(), word[0], token))
                at, now = word.end(), now + len(token)
                continue
            if last != expanded[now : now + 1]:
                return None
            if last == "!" and not quote:
                break
            if word is not None:
                if not expanded.startswith(word[0], now):
                    return None
                at, now = word.end(), now + len(word[0])
                continue
            if last in ("'", '"'):
                quote = "" if quote == last else quote or last
            at, now = at + 1, now + 1
        return tuple(found)

    def is_unsteady(self, line: str) -> bool:
        """Whether a line has the name of a macro that means something else in another line."""
        return bool(self.unsteady) and not self.unsteady.isdisjoint(_WORD.findall(line))


@record
class Use:
    """A macro in a line: its columns, counted from 0, its name, and what it stands for."""

    start: int
    stop: int
    name: str
    token: str


def expanded_part(line: str, start: int, stop: int, uses: Sequence[Use]) -> str:
    """What macros make of a part of a line."""
    pieces: list[str] = []
    for use in uses:
        if start <= use.start and use.stop <= stop:
            pieces += (line[start : use.start], use.token)
            start = use.stop
    return "".join((*pieces, line[start:stop]))


def has_hollerith(line: str) -> bool:
    """Whether a line may hold a constant in which quotes delimit nothing."""
    return _HOLLERITH.search(line) is not None


def definition(line: str, behind: int) -> Definition | None:
    """The definition in a line of the preprocessor's output."""
    match = _DEFINITION.match(line)
    if match is None:
        return None
    body = match[4].strip() if match[1] == "define" else None
    return Definition(match[2], body, bool(match[3]), behind)


def named_tokens(found: Sequence[Definition], lines: Sequence[str], form: Form) -> NamedTokens:
    """The macros of a file: ``found`` are their definitions in order, ``lines`` those of the file,
    empty where the preprocessor removes them."""
    by_name: dict[str, list[Definition]] = {}
    for one in found:
        known = by_name.setdefault(one.name, [])
        before = (known[-1].body, known[-1].function) if known else (None, False)
        if before != (one.body, one.function):
            known.append(one)
    by_name = {name: known for name, known in by_name.items() if known}
    first = _first_lines(by_name, lines, form)
    steady = {
        name: known[0]
        for name, known in by_name.items()
        if len(known) == 1 and first[name] > known[0].behind
    }
    tokens: dict[str, str] = {}
    for name in steady:
        token = _token(name, steady, by_name, first)
        if token is not None:
            tokens[name] = token
    names = frozenset(by_name)
    bodies = {name: one.body or "" for name, one in steady.items()}
    return NamedTokens(tokens, names - steady.keys(), names, bodies)


def _token(
    name: str,
    steady: Mapping[str, Definition],
    by_name: Mapping[str, Sequence[Definition]],
    first: Mapping[str, int],
) -> str | None:
    """The one token that a macro stands for, through others; None: it stands for something else,
    or for different tokens."""
    used, seen = first[name], {name}
    while True:
        one = steady[name]
        body = one.body or ""
        if one.function or one.behind >= used or ONE_TOKEN.fullmatch(body) is None:
            return None
        if body not in by_name:
            return body
        if body not in steady or body in seen:
            return None
        seen.add(body)
        name = body


def _first_lines(
    names: Mapping[str, Sequence[Definition]], lines: Sequence[str], form: Form
) -> dict[str, int]:
    """The first line with each name in its code, or one behind the last line."""
    first = dict.fromkeys(names, len(lines) + 1)
    if not any(one.behind for known in names.values() for one in known):
        return first
    for number, words in code_words(lines, form):
        for word in words:
            if first.get(word, 0) > number:
                first[word] = number
    return first


def code_words(lines: Sequence[str], form: Form) -> Iterator[tuple[int, list[str]]]:
    """The words in the code of each line, with its number; too many where a quote is open."""
    in_comment = in_directive = False
    for number, line in enumerate(lines, 1):
        if in_directive or line.startswith("#"):
            in_directive = line.rstrip("\r\n").endswith("\\")
        elif in_comment:
            in_comment = "*/" not in line
        elif trivia_kind(line, form) is not None:
            in_comment = opens_c_comment(line)
        else:
            # in column 6 of fixed form the mark of a continuation line is no comment
            marked = form is Form.FIXED and line[_MARK : _MARK + 1] == "!"
            code = _CODE.match(line, _MARK + 1 if marked else 0)
            assert code is not None
            whole = line[code.end() : code.end() + 1] in ("'", '"')
            yield number, _WORD.findall(line if whole else code[0])


def misread_words(lines: Sequence[str], form: Form) -> frozenset[str]:
    """The words in lines where the preprocessor may take other parts for character constants than
    Fortran does: a constant goes on in the next line, or has a backslash in front of a quote."""
    places = [
        number
        for number, line in enumerate(lines)
        if trivia_kind(line, form) is None and (_is_open(line) or _ESCAPED.search(line))
    ]
    between = lines[places[0] : places[-1] + 1] if places else ()
    return frozenset(word for line in between for word in _WORD.findall(line))


def _is_open(line: str) -> bool:
    """Whether a line has a quote without its other one."""
    code = _CODE.match(line)
    assert code is not None
    return line[code.end() : code.end() + 1] in ("'", '"')
