"""Which physical lines belong to no statement, and what they are."""

from __future__ import annotations

import re

from asphalt.ir.source import Form, TriviaKind

BLANKS = " \t\r\f\v\x1a"
"""What counts as white space inside a line (a control-Z ends files of old systems)."""

# Sentinels after the comment character: OpenMP, OpenACC and our own ($name), and vendors' (dir$).
_SENTINEL = r"""
    \$[a-z] | (?:dir|dec|gcc|pgi|nec|nvf|mic|ms|cray|hpf|dvm|ptx)\$ | ibm\* | ocl[ \t] | cdir[ \t]
"""
_COMMENT = rf"(?:(?P<CONDITIONAL>\$[ \t0-9&])|(?P<DIRECTIVE>{_SENTINEL})|(?P<COMMENT>))"

_FREE = re.compile(
    rf"""
      (?P<BLANK>[ \t\r\f\v\x1a;]*+\n?\Z)
    | [ \t\f]*+(?: !{_COMMENT} | (?P<CPP>\#) | (?P<C>/\*) )
    """,
    re.X | re.I,
)

# In column 6 any character but a blank or 0 continues, `!` and `#` too.
_FIXED = re.compile(
    rf"""
      (?P<BLANK>[ \t\r\f\v\x1a;]*+\n?\Z)
    | (?P<CPP>\# | [ \t]{{6,}}\#[ \t]*(?:if|else|elif|endif|define|undef|include))
    | (?P<C>/\*)
    | d(?P<D>)
    | (?: [c*] | (?![ ]{{5}}!)[ \t\f]*+! ){_COMMENT}
    """,
    re.X | re.I,
)

_KINDS = {
    "BLANK": TriviaKind.BLANK,
    "CPP": TriviaKind.CPP,
    "C": TriviaKind.COMMENT,
    "D": TriviaKind.COMMENT,
    "CONDITIONAL": TriviaKind.CONDITIONAL,
    "DIRECTIVE": TriviaKind.DIRECTIVE,
    "COMMENT": TriviaKind.COMMENT,
}


def trivia_kind(line: str, form: Form) -> TriviaKind | None:
    """The kind of a physical line that holds no part of a statement, None for one that does."""
    match = (_FIXED if form is Form.FIXED else _FREE).match(line)
    if match is None:
        return None
    assert match.lastgroup is not None
    return _KINDS[match.lastgroup]


def opens_c_comment(line: str) -> bool:
    """Whether the line starts a C comment that further lines may belong to."""
    return line.lstrip(BLANKS).startswith("/*") and "*/" not in line
