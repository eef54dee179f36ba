"""What is wrong with a run although it ended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong, in words for a person.

    ``kin`` is equal for what is wrong in the same way in two versions of a program, whose lines
    differ.
    """

    text: str
    kin: str


def new_in(found: Iterable[Finding], known: Iterable[Finding]) -> tuple[Finding, ...]:
    """What is found and has no kin among what is known."""
    kin = {finding.kin for finding in known}
    return tuple(finding for finding in found if finding.kin not in kin)
