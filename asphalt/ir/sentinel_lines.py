"""Statements behind a sentinel (``!$``, ``!$omp``) that several lines hold.

    !$ call exch&
    !$ &ange(u)             is  call exchange(u)

Free form: a line that ends with ``&`` goes on with the next one (OpenMP 5.0 2.1.2, 2.2.2).  Fixed
form: a line with another character than a blank or 0 in column 6 goes on (2.1.1, 2.2.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from asphalt.ir.source import Form

_SENTINEL = re.compile(r"[!c*](?:\$[a-z]+|[a-z]+[$*]|\$)?", re.IGNORECASE)
_STRING = re.compile(r"'[^']*'|\"[^\"]*\"")
_FIXED_GOES_ON = re.compile(r"[!c*](?:\$[a-z]{3}|\$[ 0-9]{3})[^ 0\t]", re.IGNORECASE)
_COLUMNS = 6


def joined_lines(lines: Sequence[str], form: Form) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The statements of lines with a sentinel, in lower case, without sentinels and contents of
    character literals, each with the positions of its lines."""
    text, positions, goes_on = "", list[int](), False
    for position, line in enumerate(lines):
        stripped = line.strip()
        sentinel = _SENTINEL.match(stripped)
        code = _STRING.sub("''", stripped[sentinel.end() if sentinel else 0 :].lower())
        code = code.partition("!")[0].rstrip()
        if form is Form.FIXED:
            is_rest = _FIXED_GOES_ON.match(stripped) is not None
            code = stripped[_COLUMNS:].lower().partition("!")[0] if is_rest else code
        else:
            is_rest = goes_on
            goes_on = code.endswith("&")
            code = code[:-1] if goes_on else code
            if is_rest:
                ahead = code.lstrip()
                code = ahead[1:] if ahead.startswith("&") else f" {ahead}"
        if is_rest and positions:
            text += code
            positions.append(position)
            continue
        if positions:
            yield text, tuple(positions)
        text, positions = code.lstrip(), [position]
    if positions:
        yield text, tuple(positions)
