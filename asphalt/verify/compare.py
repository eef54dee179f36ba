"""Compares two runs of a program: exit status, standard output, files."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import field, replace

from asphalt.ir.records import record
from asphalt.running.launch import last_words
from asphalt.running.process import CommandResult

# a number that does not follow a letter, digit or point; "0.5D-03", and "0.5-103" as Fortran
# prints large exponents
_NUMBER = re.compile(
    rb"(?<![\w.])([-+]?(?:\d+\.?\d*|\.\d+)(?:[edqEDQ][-+]?\d+|[-+]\d{3}(?!\d))?)(?![\d.])"
)
_LETTERLESS = re.compile(rb"(?<=[\d.])(?=[-+]\d{3}$)")
_LAST_DIGITS = 1e-5
STANDARD_OUTPUT = "-"
"""The name of standard output in ``--output``, and as the place of a difference."""


@record
class Difference:
    """A difference of two runs.

    ``last_digits``: only numbers differ, by a relative 1e-5 at most; ``hang``: a run does not end.
    ``place``: the name of a file, "-" for standard output, None for the end of the runs.
    ``reordered``: the lines are the same, in another order.
    """

    message: str
    last_digits: bool = False
    hang: bool = False
    place: str | None = None
    reordered: bool = False


@record
class Likeness:
    """When two texts count as equal.

    ``tolerance``: the largest relative difference of numbers; None: bit for bit.  Lines that match
    one of ``ignored`` are left out.  ``any_order``: lines are sorted first.
    """

    tolerance: float | None = None
    ignored: Sequence[re.Pattern[bytes]] = field(default=())
    any_order: bool = False


EXACT = Likeness()


def difference(
    original: CommandResult, transformed: CommandResult, likeness: Likeness = EXACT
) -> Difference | None:
    """The first difference in exit status or standard output; None: equal."""
    found = end_difference(original, transformed)
    return found or printed_difference(original, transformed, likeness)


def printed_difference(
    original: CommandResult, transformed: CommandResult, likeness: Likeness
) -> Difference | None:
    """The first line of standard output that differs; None: equal."""
    found = text_difference(original.stdout, transformed.stdout, likeness)
    return found and replace(found, place=STANDARD_OUTPUT)


def end_difference(original: CommandResult, transformed: CommandResult) -> Difference | None:
    """The difference of how two runs end; None: with the same status.

    A run that did not end in time counts as a hang, whatever it printed.
    """
    if original.status is None:
        return Difference(f"the original {original.hang}; set a longer --timeout", hang=True)
    if transformed.status is None:
        return Difference(f"the transformed program hangs: it {transformed.hang}", hang=True)
    if original.status != transformed.status:
        reason = last_words(transformed.stderr.decode("utf-8", "backslashreplace"))
        return Difference(
            f"exit status {transformed.status} instead of {original.status}"
            + (f": {reason}" if reason else "")
        )
    return None


def text_difference(
    original: bytes, transformed: bytes, likeness: Likeness = EXACT
) -> Difference | None:
    """The first line that differs; None: equal."""
    if original == transformed:
        return None
    old, new = _lines(original, likeness), _lines(transformed, likeness)
    pairs = list(zip(old, new, strict=False))
    if len(old) == len(new) and all(
        _alike(left, right, likeness) for (_, left), (_, right) in pairs
    ):
        return None
    if sorted(line for _, line in old) == sorted(line for _, line in new):
        advice = "the same lines in another order; let one rank print, or use --any-order"
        return Difference(advice, reordered=True)
    close = len(old) == len(new) and all(
        left == right or _near(left, right, _LAST_DIGITS) for (_, left), (_, right) in pairs
    )
    for (number, left), (_, right) in pairs:
        if not _alike(left, right, likeness):
            return Difference(f"line {number}: {_show(left)} became {_show(right)}", close)
    longer, which = (old, "is missing") if len(old) > len(new) else (new, "is new")
    number, line = longer[min(len(old), len(new))]
    return Difference(f"line {number}: {_show(line)} {which}")


def file_difference(
    original: bytes | None, transformed: bytes | None, likeness: Likeness = EXACT
) -> Difference | None:
    """How two versions of a file differ; None: equal, or neither exists."""
    if original is None or transformed is None:
        if original is transformed:
            return None
        which = "only the original" if transformed is None else "only the transformed program"
        return Difference(f"{which} writes it")
    if b"\0" not in original and b"\0" not in transformed:
        return text_difference(original, transformed, likeness)
    if original == transformed:
        return None
    if len(original) != len(transformed):
        return Difference(f"{len(transformed)} bytes instead of {len(original)}")
    place = next(
        i for i, pair in enumerate(zip(original, transformed, strict=True)) if len({*pair}) > 1
    )
    return Difference(f"byte {place + 1} of {len(original)} differs")


def _lines(text: bytes, likeness: Likeness) -> list[tuple[int, bytes]]:
    """The lines to compare, each with its number."""
    lines = [
        (number, line)
        for number, line in enumerate(text.split(b"\n"), 1)
        if not any(pattern.search(line) for pattern in likeness.ignored)
    ]
    return sorted(lines, key=lambda numbered: numbered[1]) if likeness.any_order else lines


def _alike(left: bytes, right: bytes, likeness: Likeness) -> bool:
    if left == right:
        return True
    return likeness.tolerance is not None and _near(left, right, likeness.tolerance)


def _near(left: bytes, right: bytes, tolerance: float) -> bool:
    """Whether two lines are equal but for numbers, which are near, and the width of blanks."""
    words, others = left.split(), right.split()
    return len(words) == len(others) and all(
        _near_word(word, other, tolerance) for word, other in zip(words, others, strict=True)
    )


def _near_word(left: bytes, right: bytes, tolerance: float) -> bool:
    if left == right:
        return True
    parts, others = _NUMBER.split(left), _NUMBER.split(right)
    return len(parts) == len(others) and all(
        math.isclose(_value(part), _value(other), rel_tol=tolerance) if place % 2 else part == other
        for place, (part, other) in enumerate(zip(parts, others, strict=True))
    )


def _value(number: bytes) -> float:
    return float(re.sub(rb"[dqDQ]", b"e", _LETTERLESS.sub(b"e", number)))


def _show(line: bytes) -> str:
    text = line.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 200 else text[:200] + "...")
