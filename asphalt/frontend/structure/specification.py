"""Where the specification part of a unit ends and its execution part begins."""

from __future__ import annotations

import re

from asphalt.frontend.structure.classify import after_parenthesis, without_blanks
from asphalt.ir.source import Form

_KEYWORDS = r"""
    (?: allocatable|asynchronous|automatic|bind|byte|character|class|codimension|common|complex
      | contiguous|data|dimension|double\s*complex|double\s*precision|entry|enumerator|equivalence
      | external|format|generic|implicit|import|include|integer|intent|intrinsic|logical|namelist
      | optional|parameter|pointer|private|procedure|protected|public|real|record|save|sequence
      | static|target|type|use|value|volatile )
"""
_FREE = re.compile(_KEYWORDS + r"\b", re.X | re.I | re.A)
_FIXED = re.compile(_KEYWORDS, re.X | re.I | re.A)
_NAME = re.compile(r"[a-z]\w*\s*", re.I | re.A)
_EQUALS = re.compile(r"\s*(?:=(?!=)|%)")
_FUNCTION = re.compile(
    r"([a-z]\w*)\s*\(\s*(?:[a-z]\w*\s*(?:,\s*[a-z]\w*\s*)*)?\)\s*=(?!>)", re.I | re.A
)
_SCALAR_TYPE = re.compile(
    r"(?:integer|real|double\s*precision|complex|logical|character|byte)\b(?!.*\bdimension\b)",
    re.I | re.A,
)


def is_specification(code: str, form: Form) -> bool:
    """Whether a statement before the first executable one belongs to the specification part."""
    pattern = _FREE
    if form is Form.FIXED:
        code, pattern = without_blanks(code), _FIXED
    if not pattern.match(code):
        return False
    name = _NAME.match(code)
    assert name is not None
    stop = name.end()
    if code.startswith("(", stop):
        stop = after_parenthesis(code, stop)
        if stop < 0:
            return True
    return not _EQUALS.match(code, stop)


def may_be_statement_function(code: str) -> bool:
    """Whether a statement has the form ``name(a, b) = ...``."""
    return _FUNCTION.match(code) is not None


def is_statement_function(code: str, declared: list[str], inherits: bool) -> bool:
    """Whether ``name(a, b) = ...`` before the first executable statement defines a function.

    It does if the name is no array: it is declared as a scalar, or nothing else could have
    declared it.  ``declared``: the statements before it.  ``inherits``: names may come from a
    host, a module or an include file.
    """
    match = _FUNCTION.match(code)
    if match is None:
        return False
    name = re.escape(match[1])
    array = re.compile(rf"\b{name}\s*\(", re.I | re.A)
    word = re.compile(rf"\b{name}\b", re.I | re.A)
    mentions = [text for text in declared if word.search(text) and not _FUNCTION.match(text)]
    if any(array.search(text) for text in mentions):
        return False
    if mentions:
        return all(_SCALAR_TYPE.match(text) for text in mentions)
    return not inherits
