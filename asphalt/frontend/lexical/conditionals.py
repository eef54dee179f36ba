"""The conditionals of the preprocessor in one file, and how each of them was decided.

The preprocessor itself says which branches it takes: the file is given to it once more, with a
line of its own at the beginning of each branch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from asphalt.config.errors import InputError
from asphalt.frontend.lexical.include_guards import (
    LATER,
    OPENING,
    Directive,
    definitions_once,
    directives,
    guard_of,
)
from asphalt.frontend.lexical.named_tokens import code_words
from asphalt.frontend.lexical.preprocess import given_names, is_preprocessed, preprocess
from asphalt.frontend.lexical.several_meanings import SeveralMeanings, several_meanings
from asphalt.frontend.lexical.source_text import SourceText
from asphalt.frontend.lexical.trivia import trivia_kind
from asphalt.ir.configuration import MARK, MacroTest
from asphalt.ir.records import record
from asphalt.ir.source import Form, TriviaKind

_NAME = re.compile(r"[A-Za-z_]\w*")
_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))")
_ONE_DEFINED = re.compile(r"\(*(!?)\(*defined\((\w+)\)\)*\Z")
_INCLUDED = re.compile(r'["<]([^">]*)[">]')
_WORD = re.compile(r"[a-z_]\w*")
_SENTINEL = re.compile(r"!\w*\$")
_HINT = re.compile(
    r"!(?:\$omp\s+(?:simd\b[^&!]*|end\s*simd)"
    r"|(?:dir|gcc)\$\s*(?:ivdep|vector\b[\w\s]*))\s*",
    re.IGNORECASE,
)
_INCLUDES = re.compile(r"#\s*include\b")
_BRANCH = "asphalt_branch"


@record
class Conditional:
    """A conditional whose ``#if`` is compiled, from its first line to that of its ``#endif``.

    ``tests``: those that were made, in their order: the last one holds unless no branch or the
    ``#else`` was taken.  ``dead``: the folded words of the lines in it that are removed.  ``code``:
    whether a branch holds more than comments and definitions of macros: directives are more.
    ``hints``: it holds no more than directives that ask for vector instructions: a conforming
    program does with them what it does without.
    """

    first: int
    last: int
    tests: tuple[MacroTest, ...]
    dead: frozenset[str]
    code: bool
    hints: bool = False


@record
class MacroLine:
    """A line that may define macros or remove definitions: ``#define``, ``#undef``, ``#include``.

    ``name``: of the macro, or of the included file; ``body``: what a macro stands for (None: it is
    removed).  ``brought``: the line stands in an included file, ``header``.
    """

    line: int
    kind: str
    name: str
    body: str | None
    brought: bool = False
    header: str = ""


@record
class Expansion:
    """A line that macros change: the words of it that are not in the resulting text."""

    line: int
    words: frozenset[str]


@record
class Conditionals:
    """All conditionals of a file in one configuration.

    ``paths``: for each line the tests that led there, None where the line is removed; a directive
    counts for the branch that it begins.  ``clear``: False where it is not known how a conditional
    was decided.  ``live``: the macros that are defined in this configuration, each with what it is
    defined as, None where that changes.  ``kept``: the names of macros that the code of the file
    has where they are none in this configuration, and the lines.  ``several``: the macros that
    stand for different things in different lines (``SeveralMeanings``).
    """

    found: tuple[Conditional, ...] = ()
    macros: tuple[MacroLine, ...] = ()
    expansions: tuple[Expansion, ...] = ()
    paths: tuple[tuple[MacroTest, ...] | None, ...] = ()
    clear: bool = True
    live: Mapping[str, str | None] = field(default_factory=dict)
    kept: Mapping[str, frozenset[int]] = field(default_factory=dict)
    several: SeveralMeanings = field(default_factory=SeveralMeanings)

    def path(self, line: int) -> tuple[MacroTest, ...] | None:
        """The tests that led to a line, counted from 1; None: the line is removed."""
        return self.paths[line - 1] if 0 < line <= len(self.paths) else ()

    def in_effect(self, lines: Iterable[MacroLine], line: int) -> list[MacroLine]:
        """The lines of some about one macro that may say what it means in a line: the last one in
        front of it, unless included files have some."""
        compiled = [one for one in lines if self.path(one.line) is not None]
        if len(compiled) < 2 or any(one.brought for one in compiled):
            return compiled
        return [one for one in compiled if one.line < line][-1:]


Include = Callable[[str, str], tuple[str, str] | None]
"""What a file includes by a name: path and text; None: it is not found."""


def conditionals(
    source: SourceText,
    defines: Sequence[str],
    include_dirs: Sequence[str],
    include: Include = lambda including, name: None,
) -> Conditionals:
    """The conditionals of a file in the configuration ``defines``; none that is ``clear`` where
    the preprocessor fails.

    Those of the files that it includes count as if they stood in the line that includes these.
    """
    if not is_preprocessed(source.path, source.text, defines, source.cpp):
        return Conditionals()
    own = source.text.split("\n")
    lines, numbers, guards = _with_included(source.path, own, source.form, include)
    found = list(directives(lines))
    marked, places = _marked(lines, found)
    whole, text = (replace(source, text="\n".join(each)) for each in (lines, marked))
    try:
        facts = preprocess(whole, defines, include_dirs)
        of_marks = preprocess(text, defines, include_dirs)
    except InputError:
        return Conditionals(clear=False)
    if facts is None or of_marks is None:  # only an included file, without directives
        return Conditionals(macros=tuple(macro_lines(source.text.split("\n"))))
    taken = {line for line, mark in places.items() if mark not in of_marks.dead}
    whole_file = guard_of(own, source.form)
    guards |= {whole_file} & taken if whole_file is not None else set()
    reading = _Reading(lines, facts.dead, taken, definitions_once(found, numbers) | guards)
    reading.all(found)
    expansions = _expansions(source.form, lines, numbers, facts.changed)
    paths = dict(zip(reversed(numbers), reversed(reading.paths), strict=True))
    return Conditionals(
        tuple(
            replace(one, first=numbers[one.first - 1], last=numbers[one.last - 1])
            for one in reading.found
        ),
        tuple(macro_lines(source.text.split("\n"))),
        tuple(expansions),
        tuple(paths[number] for number in sorted(paths)),
        reading.clear,
        {name: facts.macros.bodies.get(name) for name in facts.macros.names},
        _kept(source.form, lines, numbers, facts.changed),
        several_meanings(
            source, lines, numbers, facts, given_names(source.path, defines, source.cpp)
        ),
    )


def _kept(
    form: Form, lines: Sequence[str], numbers: Sequence[int], changed: Mapping[int, str]
) -> Mapping[str, frozenset[int]]:
    """The words in code that are macros elsewhere, or in other configurations, and their lines."""
    found: dict[str, set[int]] = {one.name: set() for one in macro_lines(lines)}
    for number, words in code_words(lines, form) if found else ():
        now = None if number not in changed else set(_NAME.findall(changed[number]))
        for word in words:
            if word in found and (now is None or word in now):
                found[word].add(numbers[number - 1])
    return {name: frozenset(places) for name, places in found.items() if places}


def _expansions(
    form: Form, lines: Sequence[str], numbers: Sequence[int], changed: Mapping[int, str]
) -> Iterator[Expansion]:
    """The lines whose code macros change; what they change in comments has no meaning."""
    for line, now in sorted(changed.items()):
        before = lines[line - 1]
        goes_on = line > 1 and lines[line - 2].rstrip().endswith("&")
        was, is_now = (_code(text, form, goes_on) for text in (before, now))
        if was != is_now:
            words = frozenset(_NAME.findall(was)) - set(_NAME.findall(is_now))
            yield Expansion(numbers[line - 1], words)


def _code(line: str, form: Form, goes_on: bool) -> str:
    """A line without its comment; ``goes_on``: a character constant may go on in it."""
    kind = trivia_kind(line, form)
    if kind is TriviaKind.COMMENT:
        return ""
    if kind is not None or goes_on or form is Form.FIXED:
        return line
    match = _BEFORE_COMMENT.match(line)
    return line if match is None else match[1]


_BEFORE_COMMENT = re.compile(r"""((?:[^'"!]++|'[^']*+'|"[^"]*+")*+)!""")
_DEEPEST = 20  # of files that include each other


def _with_included(
    path: str, lines: Sequence[str], form: Form, include: Include, depth: int = 0
) -> tuple[list[str], list[int], set[int]]:
    """The lines of a file with those of the files that it includes in place of each ``#include``,
    the number of the line of the file that each of them comes from, and which of the lines are
    guards of included files."""
    found: list[str] = []
    numbers: list[int] = []
    guards: set[int] = set()
    names = {one.first: one for one in directives(lines) if one.word == "include"}
    for number, line in enumerate(lines, 1):
        match = _INCLUDED.match(names[number].rest) if number in names else None
        brought = include(path, match[1]) if match and depth < _DEEPEST else None
        inside = [line]
        if brought is not None:  # the line itself counts as a comment in front of them
            other, text = brought
            own = text.split("\n")
            inside, places, guarded = _with_included(other, own, form, include, depth + 1)
            guard = guard_of(own, form)
            guarded |= set() if guard is None else {places.index(guard) + 1}
            guards |= {len(found) + 1 + one for one in guarded}
            inside.insert(0, "!")
        found += inside
        numbers += [number] * len(inside)
    return found, numbers, guards


def selected(text: str, here: Conditionals) -> str:
    """A text without its conditionals: the lines that stay, and a comment with a number in place
    of each other one.  The preprocessor makes the same of it.  Macros with several meanings are
    what they stand for, and their definitions are gone, too."""
    lines = text.split("\n")
    gone = {n for n, path in enumerate(here.paths, 1) if path is None} | here.several.definitions
    for number, line in here.several.lines.items():
        lines[number - 1] = line
    for one in directives(lines):
        if one.word in (*_BRANCHES, "endif"):
            gone.update(range(one.first, one.last + 1))
    end = "\r" if "\r\n" in text else ""
    for number, at in enumerate(sorted(gone), 1):
        lines[at - 1] = f"{MARK}{number}{end}"
    return "\n".join(lines)


def _marked(lines: Sequence[str], found: Sequence[Directive]) -> tuple[list[str], dict[int, int]]:
    """The lines with a mark behind each directive that begins a branch, and where the marks
    stand, by the first line of the directive."""
    behind = {one.last: one.first for one in found if one.word in _BRANCHES}
    marked: list[str] = []
    places: dict[int, int] = {}
    for number, line in enumerate(lines, 1):
        marked.append(line)
        if number in behind:
            marked.append(f"      {_BRANCH}")
            places[behind[number]] = len(marked)
    return marked, places


_BRANCHES = (*OPENING, *LATER)


@dataclass(slots=True)
class _Open:
    """A conditional that is being read; ``live``: it is compiled itself."""

    first: int
    live: bool
    taken: bool
    decided: bool
    tests: list[MacroTest]


class _Reading:
    """Conditionals while a file is read, directive by directive; ``taken``: the first lines of
    those that begin a branch that is compiled; ``once``: of those that let a header count once."""

    def __init__(
        self, lines: Sequence[str], dead: frozenset[int], taken: set[int], once: frozenset[int]
    ) -> None:
        self.lines = lines
        self.once = once
        self.dead = dead
        self.taken = taken
        self.found: list[Conditional] = []
        self.paths: list[tuple[MacroTest, ...] | None] = []
        self.clear = True
        self._open: list[_Open] = []

    def all(self, found: Sequence[Directive]) -> None:
        """Read all directives of the file."""
        for one in found:
            if one.word in (*_BRANCHES, "endif"):
                self._lines_to(one.first - 1)
                self._directive(one)
                self._lines_to(one.last)
        self._lines_to(len(self.lines))
        self.clear = self.clear and not self._open
        self.found.sort(key=lambda one: one.first)

    def _lines_to(self, last: int) -> None:
        live = all(one.taken for one in self._open)
        path = tuple(test for one in self._open for test in one.tests) if live else None
        self.paths += [path] * (last - len(self.paths))

    def _directive(self, one: Directive) -> None:
        if one.word in OPENING:
            live = all(outer.taken for outer in self._open)
            self._open.append(_Open(one.first, live, False, False, []))
        elif not self._open:
            self.clear = False
            return
        if one.word == "endif":
            self._close(self._open.pop(), one.last)
        else:
            self._branch(self._open[-1], one)

    def _branch(self, here: _Open, one: Directive) -> None:
        """A branch begins: it is taken if the conditional is compiled, none before it was taken,
        and its condition holds."""
        here.taken = one.first in self.taken
        if here.taken and (here.decided or not here.live):
            self.clear = False
        if not here.live or here.decided or one.first in self.once:
            return
        if one.word != "else":
            word = one.word if one.word in OPENING else one.word.removeprefix("el")
            here.tests += tests_of(word, one.rest, here.taken)
        elif not here.taken:
            self.clear = False
        here.decided = here.taken

    def _close(self, here: _Open, last: int) -> None:
        if not here.live or here.first in self.once:
            return
        inside = range(here.first + 1, last)
        texts = [self.lines[number - 1].strip() for number in inside]
        compiled = list(filter(_is_compiled, texts))
        hints = all(map(_HINT.fullmatch, compiled))
        words = (_WORD.findall(self.lines[n - 1].lower()) for n in inside if n in self.dead)
        dead = frozenset(word for line in words for word in line)
        tests = tuple(here.tests)
        self.found.append(Conditional(here.first, last, tests, dead, bool(compiled), hints))


def _is_compiled(line: str) -> bool:
    """Whether a line is a statement, a directive of a compiler or of OpenMP, or included text."""
    if line.startswith("!"):
        return _SENTINEL.match(line) is not None
    return bool(line) and (not line.startswith("#") or _INCLUDES.match(line) is not None)


def macro_lines(lines: Sequence[str]) -> Iterator[MacroLine]:
    """The lines of a text that may define macros, whether they are compiled or not."""
    return _macro_lines(list(directives(lines)))


def _macro_lines(found: Sequence[Directive]) -> Iterator[MacroLine]:
    for one in found:
        if one.word == "include" and (match := _INCLUDED.match(one.rest)):
            yield MacroLine(one.first, "include", match[1], None)
        elif one.word in ("define", "undef") and (match := _NAME.match(one.rest)):
            body = one.rest[match.end() :].strip() if one.word == "define" else None
            yield MacroLine(one.first, one.word, match[0], body)


def tests_of(word: str, rest: str, holds: bool) -> Iterator[MacroTest]:
    """The tests that a directive makes, in one way of writing: of ``a && b`` that holds, two."""
    if word in ("ifdef", "ifndef"):
        match = _NAME.match(rest)
        yield MacroTest(f"defined({match[0] if match else rest})", holds is (word == "ifdef"))
        return
    text = _DEFINED.sub(lambda m: f"defined({m[1] or m[2]})", rest)
    for part in _parts(re.sub(r"\s+", " ", text).strip(), "&&" if holds else "||"):
        one = _ONE_DEFINED.match(part.replace(" ", ""))
        if one is None:
            test = MacroTest(part, holds)
            if test.macros:
                yield test
        else:
            yield MacroTest(f"defined({one[2]})", holds is (one[1] == ""))


def _parts(text: str, operator: str) -> list[str]:
    """The operands of an operator that no parentheses surround, if no other logical one does."""
    depth = 0
    parts = [""]
    position = 0
    while position < len(text):
        pair = text[position : position + 2]
        if depth == 0 and pair == operator:
            parts.append("")
            position += 2
            continue
        if depth == 0 and (pair in ("&&", "||") or text[position] == "?"):
            return [text]
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        parts[-1] += text[position]
        position += 1
    return [part.strip() for part in parts]
