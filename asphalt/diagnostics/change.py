"""A file that transformations change, before and after."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from asphalt.diagnostics.model import SiteReport
from asphalt.ir.records import record
from asphalt.unparse.params import HeaderEntry


@record
class Change:
    """A file that a transformation changes; ``parameters`` are its entries in the header.

    ``needs``: other files that change for this one: their names that it uses are public then, or
    their procedures are there.
    """

    path: Path
    before: bytes
    after: bytes
    sites: tuple[SiteReport, ...]
    parameters: tuple[HeaderEntry, ...]
    needs: frozenset[Path] = frozenset()


def with_dependents(changes: Iterable[Change], reasons: Mapping[Path, str]) -> dict[Path, str]:
    """Why some files do not change, and with them those that need their changes."""
    found, left = dict(reasons), list(changes)
    while lost := [
        one for one in left if one.path not in found and not one.needs.isdisjoint(found)
    ]:
        for one in lost:
            other = min(one.needs & found.keys())
            found[one.path] = f"it needs a change of {other}, which is not written: {found[other]}"
    return found
