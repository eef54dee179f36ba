"""The keyword-level classification of statements that structure needs.

Fortran has no reserved words: ``end = 3``, ``if(i) = 2`` and ``do10i = 1.5`` are assignments, so a
statement counts only if it can be nothing else.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache

from asphalt.frontend.structure.nesting_patterns import FIXED, FREE, Patterns
from asphalt.ir.records import record
from asphalt.ir.source import Form


class NestingRole(Enum):
    """The role of a statement in the nesting of units and constructs."""

    UNIT = "unit"  # opens a program unit or procedure
    DO = "do"
    BRANCH = "branch"  # opens IF, SELECT or WHERE
    ARM = "arm"  # goes on with another arm of a branch
    BLOCK = "block"  # opens a construct that only groups, a derived type, an interface, an enum
    CONTAINS = "contains"
    END = "end"


@record
class NestingStatement:
    """``kind`` is that of the unit, construct or END (``''``: END alone) as in ``ir.tree``; for an
    arm it is the kind of the branch it belongs to.  ``name`` is that of a unit, folded; ``label``
    is that of ``DO label``."""

    role: NestingRole
    kind: str
    name: str = ""
    label: int | None = None


_STARTS = re.compile(
    r"""
    (?: abstract|associate|attributes|block|byte|case|change|character|class|complex|contains
      | critical|double|do|elemental|else|end|enum|forall|function|if|impure|integer|interface
      | logical|map|module|non|program|pure|rank|real|recursive|select|structure|submodule
      | subroutine|type|union|where )
    """,
    re.X | re.I,
)
_PARENS = re.compile(r"""[()]|'[^']*'|"[^"]*\"""")
_COMMA = re.compile(r"""[(),]|'[^']*'|"[^"]*\"""")
_BLANKS = re.compile(r"\s+")


def without_blanks(code: str) -> str:
    """A statement of fixed form as the compiler sees it (character constants suffer too)."""
    return _BLANKS.sub("", code)


def after_parenthesis(code: str, pos: int) -> int:
    """The position after the parenthesis that closes the one at ``pos``; -1 if there is none."""
    depth = 0
    for match in _PARENS.finditer(code, pos):
        token = match[0]
        if token == "(":
            depth += 1
        elif token == ")":
            depth -= 1
            if depth == 0:
                return match.end()
    return -1


@lru_cache(maxsize=8192)
def classify(code: str, form: Form, opening: bool) -> NestingStatement | None:
    """Classify a logical line by its role in the nesting; None for a statement without one.

    ``opening``: a program unit or procedure may begin here.
    """
    if form is Form.FIXED:
        code = without_blanks(code)
        patterns = FIXED
    else:
        patterns = FREE
    start = _STARTS.match(code)
    if start is None:
        return None
    word = start[0].lower()
    if word == "end":
        return _end(code, patterns)
    handler = _HANDLERS.get(word)
    if handler is not None:
        shape = handler(code, patterns)
        if shape is not None:
            return shape
    if opening or form is Form.FREE:
        return _procedure(code, patterns)
    return None


def _end(code: str, patterns: Patterns) -> NestingStatement | None:
    match = patterns.end.match(code)
    if match is None:
        return None
    kind = without_blanks(match[1] or match[2] or "").lower()
    return NestingStatement(NestingRole.END, _END_KINDS.get(kind, kind))


def _procedure(code: str, patterns: Patterns) -> NestingStatement | None:
    folded = code.lower()
    if "function" not in folded and "subroutine" not in folded:
        return None
    match = patterns.procedure.match(code)
    if match is None:
        return None
    return NestingStatement(
        NestingRole.UNIT, (match[1] or match[3]).lower(), (match[2] or match[4]).lower()
    )


def _do(code: str, patterns: Patterns) -> NestingStatement | None:
    match = patterns.do.match(code)
    if match is None:
        return None
    label, condition, bounds = match.groups()
    if bounds is not None and not _has_comma(bounds):
        return None
    if condition is not None and not _one_parenthesis(condition):
        return None
    return NestingStatement(NestingRole.DO, "do", label=None if label is None else int(label))


def _one_parenthesis(text: str) -> bool:
    """Whether a text that begins with a parenthesis ends with the same."""
    stop = after_parenthesis(text, 0)
    return stop >= 0 and not text[stop:].strip()


def _has_comma(text: str) -> bool:
    """Whether there is a comma outside parentheses and character constants."""
    depth = 0
    for match in _COMMA.finditer(text):
        token = match[0]
        if token == ",":
            if depth == 0:
                return True
        elif token == "(":
            depth += 1
        elif token == ")":
            depth -= 1
    return False


def _if(code: str, patterns: Patterns) -> NestingStatement | None:
    return NestingStatement(NestingRole.BRANCH, "if") if patterns.if_then.match(code) else None


def _else(code: str, patterns: Patterns) -> NestingStatement | None:
    match = patterns.elsewhere.match(code)
    if match is not None and (match[1] is None or _one_parenthesis(match[1])):
        return NestingStatement(NestingRole.ARM, "where")
    if patterns.else_if.match(code) or patterns.else_alone.match(code):
        return NestingStatement(NestingRole.ARM, "if")
    return None


def _headed(code: str, patterns: Patterns) -> NestingStatement | None:
    """SELECT, WHERE, FORALL, ASSOCIATE, CRITICAL, CHANGE TEAM: a keyword and a parenthesis."""
    match = patterns.headed.match(code)
    if match is None:
        return (
            NestingStatement(NestingRole.BLOCK, "critical")
            if code.strip().lower() == "critical"
            else None
        )
    stop = after_parenthesis(code, match.end())
    if stop < 0 or code[stop:].strip():
        return None
    keyword = without_blanks(match[1]).lower()
    if keyword == "where":
        return NestingStatement(NestingRole.BRANCH, "where")
    if keyword.startswith("select"):
        return NestingStatement(NestingRole.BRANCH, "select")
    return NestingStatement(NestingRole.BLOCK, "team" if keyword == "changeteam" else keyword)


def _guard(code: str, patterns: Patterns) -> NestingStatement | None:
    """CASE, RANK, TYPE IS, CLASS IS and their defaults."""
    match = patterns.guard.match(code)
    if match is None:
        return None
    rest = code[match.end() :]
    if match[1] is not None:
        stop = after_parenthesis(code, match.end())
        if stop < 0:
            return None
        rest = code[stop:]
    return NestingStatement(NestingRole.ARM, "select") if _OPTIONAL_NAME.match(rest) else None


def _type(code: str, patterns: Patterns) -> NestingStatement | None:
    if patterns.type.match(code):
        return NestingStatement(NestingRole.BLOCK, "type")
    return _guard(code, patterns)


def _interface(code: str, patterns: Patterns) -> NestingStatement | None:
    return (
        NestingStatement(NestingRole.BLOCK, "interface") if patterns.interface.match(code) else None
    )


def _enum(code: str, patterns: Patterns) -> NestingStatement | None:
    return NestingStatement(NestingRole.BLOCK, "enum") if patterns.enum.match(code) else None


def _structure(code: str, patterns: Patterns) -> NestingStatement | None:
    """The structures, unions and maps that preceded derived types."""
    return NestingStatement(NestingRole.BLOCK, "type") if patterns.structure.match(code) else None


def _block(code: str, patterns: Patterns) -> NestingStatement | None:
    if code.strip().lower() == "block":
        return NestingStatement(NestingRole.BLOCK, "block")
    match = patterns.block_data.match(code)
    return (
        NestingStatement(NestingRole.UNIT, "block_data", (match[1] or "").lower())
        if match
        else None
    )


def _contains(code: str, _: Patterns) -> NestingStatement | None:
    return (
        NestingStatement(NestingRole.CONTAINS, "contains")
        if code.strip().lower() == "contains"
        else None
    )


def _program(code: str, patterns: Patterns) -> NestingStatement | None:
    match = patterns.program.match(code)
    return NestingStatement(NestingRole.UNIT, "program", match[1].lower()) if match else None


def _module(code: str, patterns: Patterns) -> NestingStatement | None:
    match = patterns.module_procedure.match(code)
    if match:
        return NestingStatement(NestingRole.UNIT, "module_procedure", match[1].lower())
    match = patterns.module.match(code)
    return NestingStatement(NestingRole.UNIT, "module", match[1].lower()) if match else None


def _submodule(code: str, patterns: Patterns) -> NestingStatement | None:
    match = patterns.submodule.match(code)
    return NestingStatement(NestingRole.UNIT, "submodule", match[1].lower()) if match else None


_OPTIONAL_NAME = re.compile(r"\s*(?:[a-z]\w*\s*)?\Z", re.I | re.A)
_END_KINDS = {
    "blockdata": "block_data",
    "procedure": "module_procedure",
    "structure": "type",
    "union": "type",
    "map": "type",
}
_HANDLERS = {
    "abstract": _interface,
    "associate": _headed,
    "block": _block,
    "case": _guard,
    "change": _headed,
    "class": _guard,
    "contains": _contains,
    "critical": _headed,
    "do": _do,
    "else": _else,
    "enum": _enum,
    "forall": _headed,
    "if": _if,
    "interface": _interface,
    "map": _structure,
    "module": _module,
    "program": _program,
    "rank": _guard,
    "select": _headed,
    "structure": _structure,
    "submodule": _submodule,
    "type": _type,
    "union": _structure,
    "where": _headed,
}
