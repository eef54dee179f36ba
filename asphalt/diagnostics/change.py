"""A file that transformations change, before and after."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from asphalt.diagnostics.model import SiteReport
from asphalt.unparse.params import HeaderEntry


@dataclass(frozen=True, slots=True)
class Change:
    """A file that a transformation changes; ``parameters`` are its entries in the header."""

    path: Path
    before: bytes
    after: bytes
    sites: tuple[SiteReport, ...]
    parameters: tuple[HeaderEntry, ...]
