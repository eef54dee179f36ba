"""Where two runs of a program differ, and how."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from asphalt.running.process import Outcome

_NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[edqEDQ][-+]?\d+)?")
_LAST_DIGITS = 1e-5


@dataclass(frozen=True, slots=True)
class Difference:
    """What is not equal; ``last_digits``: only numbers, and these by a relative 1e-5 at most."""

    message: str
    last_digits: bool = False


def difference(original: Outcome, transformed: Outcome) -> Difference | None:
    """The first difference in exit status or standard output; None: equal, byte for byte.

    A run that did not end in time counts as a hang, whatever it printed.
    """
    if original.status is None:
        return Difference("the original did not end in time; give it longer by --timeout")
    if transformed.status is None:
        return Difference("the transformed program hangs: it did not end in time")
    if original.status != transformed.status:
        reason = _last_line(transformed.stderr)
        return Difference(
            f"exit status {transformed.status} instead of {original.status}"
            + (f": {reason}" if reason else "")
        )
    return _first_difference(original.stdout, transformed.stdout)


def _first_difference(original: bytes, transformed: bytes) -> Difference | None:
    if original == transformed:
        return None
    old, new = original.split(b"\n"), transformed.split(b"\n")
    if sorted(old) == sorted(new):
        return Difference("the same lines in another order; let one rank print")
    close = len(old) == len(new) and all(map(_close, old, new))
    for number, (left, right) in enumerate(zip(old, new, strict=False), 1):
        if left != right:
            return Difference(f"line {number}: {_show(left)} became {_show(right)}", close)
    number = min(len(old), len(new))
    longer, which = (old, "is missing") if len(old) > len(new) else (new, "is new")
    return Difference(f"line {number + 1}: {_show(longer[number])} {which}")


def _close(left: bytes, right: bytes) -> bool:
    """Whether two lines are equal but for the last digits of numbers."""
    if left == right:
        return True
    words, others = left.split(), right.split()
    return len(words) == len(others) and all(map(_same_number, words, others))


def _same_number(left: bytes, right: bytes) -> bool:
    if left == right:
        return True
    if not (_NUMBER.fullmatch(left) and _NUMBER.fullmatch(right)):
        return False
    return math.isclose(_value(left), _value(right), rel_tol=_LAST_DIGITS)


def _value(number: bytes) -> float:
    return float(re.sub(rb"[dqDQ]", b"e", number))


def _show(line: bytes) -> str:
    text = line.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 200 else text[:200] + "...")


def _last_line(text: bytes) -> str:
    lines = [line.strip() for line in text.decode("utf-8", "backslashreplace").splitlines()]
    return next((line for line in reversed(lines) if line.strip("-*= ")), "")
