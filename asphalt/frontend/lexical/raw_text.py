"""Names and calls in the text of statements that are not interpreted yet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from asphalt.ir.records import record
from asphalt.ir.sentinel_lines import joined_lines
from asphalt.ir.source import Form, Trivia, TriviaKind
from asphalt.ir.stmt import Opaque, Raw
from asphalt.ir.tree import Leaf, Unit, leaves


@record
class NameOccurrence:
    """A folded name, and the line of its statement."""

    name: str
    line: int


def own_leaves(unit: Unit) -> Iterator[Leaf]:
    """The leaves of a unit without those of the units that it contains."""
    return leaves(replace(unit, contained=()))


def code_of(leaf: Leaf) -> str:
    """The logical line of a leaf that is not interpreted."""
    return leaf.what.code if isinstance(leaf.what, Raw | Opaque) else ""


_STRING = re.compile(r"'[^']*'|\"[^\"]*\"")
_NAME = re.compile(r"[a-z_$][\w$]*")
_BLANKS = re.compile(r"\s+")
_USED = re.compile(r"use(?:\s*,\s*(?:non_)?intrinsic)?(?:\s*::)?\s*([a-z]\w*)")
_CALL_FREE = re.compile(r"(?:^|\))\s*call\s+([a-z]\w*)")
_CALL_FIXED = re.compile(r"(?:^|\))call([a-z]\w*)(?=[(%]|$)")
_GLUED = re.compile(
    r"^(?:call|use|module|program|subroutine|function|entry|external|goto|return|common|save|data|"
    r"integer|real|logical|complex|character|doubleprecision|dimension|parameter|do\d*|read|write|"
    r"print|stop|allocate|deallocate|if|elseif|assign)(?=.)"
)


@lru_cache(maxsize=8192)
def names_in_code(code: str, form: Form) -> tuple[str, ...]:
    """The names in a logical line, folded; in fixed form also those that blanks cut or that adjoin
    a keyword (an over-approximation)."""
    return tuple(_found_names(code, form))


def _found_names(code: str, form: Form) -> Iterator[str]:
    text = _STRING.sub("''", code).lower()
    found = _NAME.findall(text)
    yield from found
    if form is Form.FIXED:
        for name in found:
            if keyword := _GLUED.match(name):
                yield name[keyword.end() :]
        for name in _NAME.findall(_BLANKS.sub("", text)) if " " in text or "\t" in text else ():
            yield name
            if keyword := _GLUED.match(name):
                yield name[keyword.end() :]


def at_the_end(tail: tuple[Trivia, ...]) -> Leaf:
    """The lines behind the last statement of a file, as the lead of an empty one."""
    return Leaf(Raw(""), lead=tail)


def compiled_comments(of: Iterable[Leaf], form: Form) -> Iterator[tuple[str, int]]:
    """The directives and conditionally compiled statements (``!$``) before statements, without
    their sentinel, in lower case, and the line of the statement."""
    for leaf in of:
        lines = [
            trivia.text
            for trivia in leaf.lead
            if trivia.kind in (TriviaKind.DIRECTIVE, TriviaKind.CONDITIONAL)
        ]
        for text, _ in joined_lines(lines, form):
            yield text, leaf.line


_INCLUDE_LINE = re.compile(r"include\s*(['\"])(.*)\1\s*$", re.I)


def included_by(of: Iterable[Leaf]) -> Iterator[NameOccurrence]:
    """The files that INCLUDE lines name, as spelled, with their lines."""
    for leaf in of:
        if match := _INCLUDE_LINE.match(code_of(leaf).strip()):
            yield NameOccurrence(match[2], leaf.line)


def included_for_openmp(of: Iterable[Leaf]) -> Iterator[NameOccurrence]:
    """The files that INCLUDE lines behind ``!$`` name, with the lines of the next statements."""
    for leaf in of:
        for trivia in leaf.lead:
            text = trivia.text.strip()[2:].lstrip()
            if trivia.kind is TriviaKind.CONDITIONAL and (match := _INCLUDE_LINE.match(text)):
                yield NameOccurrence(match[2], leaf.line)


def used_in(of: Iterable[Leaf], form: Form) -> Iterator[str]:
    """The modules that statements use, folded."""
    for leaf in of:
        text = code_of(leaf).lower().lstrip()
        if text.startswith("use"):
            text = _BLANKS.sub("", text) if form is Form.FIXED else text
            if used := _USED.match(text):
                yield used[1]


def calls_in(of: Iterable[Leaf], form: Form) -> Iterator[NameOccurrence]:
    """The procedures that statements call by CALL, folded, with their lines."""
    for leaf in of:
        for name in called_names(code_of(leaf), form):
            yield NameOccurrence(name, leaf.line)


@lru_cache(maxsize=8192)
def called_names(code: str, form: Form) -> tuple[str, ...]:
    """The procedures that a logical line calls by CALL, folded."""
    text = _STRING.sub("''", code).lower()
    if "c" not in text:
        return ()
    blanks = form is Form.FIXED
    pattern = _CALL_FIXED if blanks else _CALL_FREE
    return tuple(pattern.findall(_BLANKS.sub("", text) if blanks else text))


_PREFIX = "recursive|non_recursive|pure|impure|elemental|module"
_SUBROUTINE_FREE = re.compile(rf"(?:(?:{_PREFIX})\s+)*subroutine\s+([a-z]\w*)")
_SUBROUTINE_FIXED = re.compile(rf"(?:{_PREFIX})*subroutine([a-z]\w*)")


def subroutines_in(of: Iterable[Leaf], form: Form) -> Iterator[str]:
    """The names, folded, of the subroutines that begin with some statements."""
    for leaf in of:
        text = code_of(leaf).lower().lstrip()
        if "subroutine" in _BLANKS.sub("", text):
            fixed = form is Form.FIXED
            pattern = _SUBROUTINE_FIXED if fixed else _SUBROUTINE_FREE
            if found := pattern.match(_BLANKS.sub("", text) if fixed else text):
                yield found[1]


_LABEL = re.compile(r"\bbind\s*\(\s*c\s*,\s*name\s*=([^)]*)", re.I)
_MPI_LABEL = re.compile(r"\s*p?(mpi_\w*?)_*\s*", re.I)


def bound_in(of: Iterable[Leaf]) -> Iterator[NameOccurrence]:
    """The MPI procedures that binding labels (``bind(c, name="mpi_alltoall_")``) may denote,
    folded, with the lines of the statements.

    A label that is not a plain literal may be any literal of these statements.
    """
    literals: list[NameOccurrence] = []
    hidden = False
    for leaf in of:
        code = code_of(leaf)
        folded = code.lower()
        line = leaf.line
        for label in _LABEL.findall(code) if "bind" in folded else ():
            parts = _STRING.findall(label)
            hidden |= not parts or _STRING.sub("", label).strip(" \t/") != ""
            if name := _MPI_LABEL.fullmatch("".join(part[1:-1] for part in parts)):
                yield NameOccurrence(name[1].lower(), line)
        for literal in _STRING.findall(code) if "mpi_" in folded else ():
            if name := _MPI_LABEL.fullmatch(literal[1:-1]):
                literals.append(NameOccurrence(name[1].lower(), line))
    if hidden:
        yield from literals
