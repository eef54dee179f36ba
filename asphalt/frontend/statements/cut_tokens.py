"""Names and numbers of which a statement's text does not show the whole.

Blanks have no meaning in fixed form (F2018 6.3.3.1), nor does the end of a line: ``call mpi_al`` on
one line and ``ltoall(...)`` on its continuation are one name.  When the lines are joined, such a
name contains a blank, unless the first line is filled to its last column.
"""

from __future__ import annotations

import re

from asphalt.frontend.statements.statements import statement
from asphalt.frontend.structure.classify import NestingRole, classify
from asphalt.ir.source import Form
from asphalt.ir.stmt import Opaque, UnitHead

_CONSTANT = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*")""")
_HOLLERITH = re.compile(r"(?<![\w.])\d+\s*h", re.I | re.A)
_WORDS = (1, 2, 3, 0)
"""How many words keep their blanks, as far as DOUBLE PRECISION FUNCTION F; without any at last,
for PARAMETER C = 1, which is an old declaration, would be an assignment then."""
_PARENTHESES = re.compile(r"\([^()]*\)")
_ASSIGNMENT = re.compile(r"[a-z][\w$]*=(?!=)[^,:]*", re.I | re.A)
_BLANKS = re.compile(r"\s+")


def whole_tokens(code: str, in_spec: bool = False, block: str = "") -> str:
    """A logical line of fixed form without the blanks that prevent its interpretation.

    ``in_spec`` and ``block`` are those of ``statement``.  A line that can be interpreted as it is,
    or that cannot without blanks either, is returned unchanged: removing blanks never changes the
    meaning of fixed form, but asphalt can read only some of its statements without any.
    """
    if not _BLANKS.search(code.strip()) or _understood(code, in_spec, block):
        return code
    parts = _CONSTANT.split(code.strip())
    bare = "".join(parts[::2])
    if "'" in bare or '"' in bare or _HOLLERITH.search(bare):
        return code
    if any(between.isspace() for between in parts[2:-1:2]):
        return code  # two constants side by side would become one
    first = parts[0]
    for words in _WORDS:
        ahead = re.match(rf"(?:\S+\s+){{{words}}}(?=\S)", first)
        if ahead is None:
            continue
        parts[0] = ahead[0] + _BLANKS.sub("", first[ahead.end() :])
        rest = (p if n % 2 or not n else _BLANKS.sub("", p) for n, p in enumerate(parts))
        tried = "".join(rest)
        if _understood(tried, in_spec, block) and not _other_head(tried, in_spec):
            return tried
    return code


def assigns(code: str) -> bool:
    """Whether compilers read a declaration of fixed form as an assignment: where it has no ``::``,
    ``save k = 4`` gives a variable ``savek`` its value."""
    flat, before = _BLANKS.sub("", _CONSTANT.sub("''", code)), ""
    while flat != before:
        flat, before = _PARENTHESES.sub("", flat), flat
    return _ASSIGNMENT.fullmatch(flat) is not None


def _understood(code: str, in_spec: bool, block: str) -> bool:
    return not isinstance(statement(code, in_spec, block), Opaque)


def _other_head(code: str, in_spec: bool) -> bool:
    """Whether a statement outside of a specification part begins a procedure but is not read as
    such: ``integer functionf(x)`` could also declare an array."""
    shape = None if in_spec else classify(code, Form.FIXED, opening=True)
    begins = shape is not None and shape.role is NestingRole.UNIT
    return begins and not isinstance(statement(code, False), UnitHead)
