"""Extracts the first error from the output of compilers, linkers and make."""

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
# consequences of an earlier error; and warnings, whose text may contain anything
_NOISE = re.compile(
    r"warning:|.*\bwarning: |collect2: |(?:g|c)?make(?:\[\d+\])?: .*\bError \d+$", re.I
)


def essence(output: str, *, only_errors: bool = False) -> str:
    """The first error in the output of compilers, linkers and make, with its place.

    Quoted source lines, warnings, and the message of make on a failed command do not count.
    Without any error, the first line of the output, or "" with ``only_errors``.
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
    """The line, preceded by gfortran's place, which is above the quoted source."""
    line = lines[number]
    if not _HEADLINE.match(line):
        return line
    where = next((one for one in reversed(lines[:number]) if _PLACE.fullmatch(one)), "")
    return f"{where} {line}".strip()
