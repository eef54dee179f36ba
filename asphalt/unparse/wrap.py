"""A logical line of Fortran to physical lines within the line limit.

Lines are broken at blanks, after commas and after opening parentheses: between tokens, so that
nothing changes.  A token is cut only if no line can hold it, and such that the pieces join to the
same text: with ``&`` on both sides in free form, at the last column in fixed form.
"""

from __future__ import annotations

import re

from asphalt.ir.records import record

_TOKEN = re.compile(
    r"""(?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")|(?P<hollerith>(?<![\w$])\d+h)|[\w$]+|\s+|.""",
    re.IGNORECASE | re.DOTALL | re.ASCII,
)
_ALIGNED = re.compile(
    r"(?:call\s+[\w$%]+|if|else if|while|do while|where|select case|(?:de)?allocate|integer)\s*\("
    r"|use\b[^:]*\bonly:\s*|[^'\"]*?\s::\s",
    re.IGNORECASE | re.ASCII,
)
_READABLE = 100  # what lines are broken at where the language would allow more
_WIDE = 120  # the same for a statement that else has more than _MOST_ALIGNED lines
_DEEPER = 4  # columns that continuation lines are further in where nothing aligns
_LEAST = 40  # columns that are left for text on continuation lines
_MOST_ALIGNED = 3  # lines; a longer statement is aligned only if that takes no more of them
_DISLIKE = 0.2  # the part of a line that may stay empty to divide it at a place one step better
_FIXED_START = 6  # columns before the statement field


@record
class _Places:
    """Where a logical line may be divided: ``breaks`` are (position, dislike) between tokens,
    ``whole`` are positions within a token that may not be cut at."""

    breaks: tuple[tuple[int, int], ...]
    whole: frozenset[int]

    def best(self, start: int, end: int) -> int | None:
        """The break in (start, end] that is a good place and fills the line, if there is one."""
        scores = (
            (at - start - _DISLIKE * dislike * (end - start), at)
            for at, dislike in self.breaks
            if start < at <= end
        )
        return max(scores, default=(0.0, None))[1]

    def cut(self, start: int, end: int) -> int:
        """The last position in (start, end] at which a token may be cut."""
        allowed = [at for at in range(start + 1, end + 1) if at not in self.whole]
        return allowed[-1] if allowed else max(end, start + 1)


def wrap_free(code: str, column: int, width: int) -> list[str]:
    """The physical lines of ``code`` in free form, without line endings.

    ``column``: the columns before the statement, which the first line does not contain.  ``width``:
    the line limit in columns, 0 for none.
    """
    hard = width or max(_READABLE, column + len(code))
    soft = min(hard, max(_READABLE, column + _LEAST))
    aligned = _free(code, column, hard, soft, _alignment(code, column, soft))
    if len(aligned) <= _MOST_ALIGNED:
        return aligned
    deeper = _free(code, column, hard, soft, min(column + _DEEPER, soft - _LEAST))
    wide = min(hard, max(_WIDE, soft))
    widest = _free(code, column, hard, wide, min(column + _DEEPER, wide - _LEAST))
    return min((aligned, deeper, widest), key=len)


def _free(code: str, column: int, hard: int, soft: int, inner: int) -> list[str]:
    """The same where continuation lines have ``inner`` columns before them."""
    places = _places(code)
    lines: list[str] = []
    lead, taken, start = "", column, 0
    while len(code) - start > soft - taken:
        at = places.best(start, start + soft - taken - 2)
        if at is None and len(code) - start > hard - taken:
            at = places.best(start, start + hard - taken - 2)
        elif at is None:
            break
        if at is None:
            at = places.cut(start, start + hard - taken - 1)
            lines.append(f"{lead}{code[start:at]}&")
            lead = " " * inner + "&"
        else:
            lines.append(f"{lead}{code[start:at].rstrip()} &")
            lead = " " * inner
        start, taken = at, len(lead)
    lines.append(lead + code[start:])
    return lines


def wrap_fixed(code: str, column: int, width: int) -> list[str]:
    """The physical lines of ``code`` in fixed form; continuation lines have ``&`` in column 6."""
    hard = width or max(_READABLE, column + len(code))
    soft = min(hard, max(_READABLE, column + _LEAST))
    aligned = _fixed(code, column, hard, soft, _alignment(code, column, soft))
    if len(aligned) <= _MOST_ALIGNED:
        return aligned
    deeper = _fixed(code, column, hard, soft, min(column + _DEEPER, soft - _LEAST))
    return deeper if len(deeper) < len(aligned) else aligned


def _fixed(code: str, column: int, hard: int, soft: int, inner: int) -> list[str]:
    """The same where continuation lines have ``inner`` columns before them."""
    inner = max(_FIXED_START, inner)
    places = _places(code)
    lines: list[str] = []
    lead, taken, start = "", column, 0
    while len(code) - start > soft - taken:
        at = places.best(start, start + soft - taken)
        if at is None and len(code) - start > hard - taken:
            at = places.best(start, start + hard - taken)
        elif at is None:
            break
        if at is None:
            at = start + hard - taken
            lines.append(lead + code[start:at])
            lead = "     &"
        else:
            lines.append(lead + code[start:at].rstrip())
            lead = "     &".ljust(inner)
        start, taken = at, len(lead)
    lines.append(lead + code[start:])
    return lines


def _alignment(code: str, column: int, limit: int) -> int:
    """The columns before continuation lines: below the first item of a list where there is one."""
    match = _ALIGNED.match(code)
    aligned = column + (match.end() if match else _DEEPER)
    if 5 * aligned > 2 * limit:
        aligned = column + _DEEPER
    return max(0, min(aligned, limit - _LEAST))


def _places(code: str) -> _Places:
    breaks: list[tuple[int, int]] = []  # better is lower: each parenthesis around it counts 2
    whole: set[int] = set()
    depth = 0
    start = 0
    while start < len(code):
        match = _TOKEN.match(code, start)
        assert match is not None
        token, end = match[0], match.end()
        if match["hollerith"]:
            end = min(len(code), end + int(token[:-1]))
            whole.update(range(start + 1, end))
        elif match["text"]:
            doubled = token[0] * 2
            pairs = re.finditer(doubled, token[1:-1])
            whole.update(start + 2 + pair.start() for pair in pairs)
        elif token == "(":
            depth += 1
            if code[end : end + 1] not in ("/", ")"):
                breaks.append((end, 2 * depth + 2))
        elif token == ")":
            depth -= 1
        elif token == "," and not code[end : end + 1].isspace():
            breaks.append((end, 2 * depth + 3))  # of subscripts
        elif token.isspace():
            # best after a comma, then after .and. and its like, then anywhere
            before = code[start - 1 : start]
            breaks.append((end, 2 * depth + (0 if before == "," else 1 if before == "." else 3)))
        start = end
    return _Places(tuple((at, d) for at, d in breaks if 0 < at < len(code)), frozenset(whole))
