"""What a failing command says, in a line: the compiler's or linker's own error."""

from __future__ import annotations

import re

_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# a line of the source as compilers quote it, "   12 | call x(ierror)", and the mark below it
_QUOTED = re.compile(r"\d*\s*\|")
_PLACE = re.compile(r".+:\d+(:\d+)?:")  # gfortran's, on a line of its own
_HEADLINE = re.compile(r"(?:fatal |internal compiler )?error: ", re.IGNORECASE)
_ERROR = re.compile(
    r"(?:\berror\b ?[:#(]|^NVFORTRAN-[SF]-|undefined reference|multiple definition|cannot find -l"
    r"|no rule to make target|command not found|: not found$|no such file or directory"
    r"|permission denied)",
    re.IGNORECASE,
)
_PERHAPS = re.compile("error", re.IGNORECASE)
# what follows from an error told before, and warnings, in whose text anything may stand
_NOISE = re.compile(
    r"warning:|.*\bwarning: |collect2: |(?:g|c)?make(?:\[\d+\])?: .*\bError \d+$", re.I
)


def essence(output: str, *, only_errors: bool = False) -> str:
    """The first error in what compilers, linkers and make print, with its place.

    Source lines that are quoted, warnings, and what make says of a failed command are none.  Where
    nothing says that it is an error: the first line, or nothing for ``only_errors``.
    """
    text = _COLOUR.sub("", output)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [
        place
        for place, line in enumerate(lines)
        if not _QUOTED.match(line) and not _NOISE.match(line)
    ]
    for pattern in (_ERROR, _PERHAPS):
        for place in telling:
            if pattern.search(lines[place]):
                return _with_place(lines, place)
    return lines[0] if lines and not only_errors else ""


def _with_place(lines: list[str], number: int) -> str:
    """The line; after gfortran's place, which stands above the quoted source."""
    line = lines[number]
    if not _HEADLINE.match(line):
        return line
    where = next((one for one in reversed(lines[:number]) if _PLACE.fullmatch(one)), "")
    return f"{where} {line}".strip()
