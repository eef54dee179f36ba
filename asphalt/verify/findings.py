"""Findings: errors in a run that ended."""

from __future__ import annotations

from collections.abc import Iterable

from asphalt.ir.records import record


@record
class Finding:
    """An error, in words for a person.

    ``kin`` is equal for the same error in two versions of a program, whose lines differ.
    """

    text: str
    kin: str


def new_in(found: Iterable[Finding], known: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings without an equal ``kin`` among the known ones."""
    kin = {finding.kin for finding in known}
    return tuple(finding for finding in found if finding.kin not in kin)
