"""The results of the bench: rows that all have the same fields."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SCHEMA = Path(__file__).with_name("rows.schema.json")
ADDED = "+"
"""What the name of a version begins with that has the transformations up to one: ``+motion``."""
NOT_OVERLAPPED = "ialltoall"
"""The version whose exchange is another operation, completed at once."""
NOT_TILED = ("original", NOT_OVERLAPPED)
"""The versions that have neither K nor D."""


@dataclass(frozen=True, slots=True)
class Row:
    """One measured time.

    ``version``: original, hand, ialltoall or transformed; ``+NAME``: with the transformations up to
    that one.  ``kernel`` is its name, with the variant behind a slash.  ``tile``, ``depth``: K and
    D; None in versions that have none, 0 where the program chooses on entry.  ``ratio``:
    ``seconds`` divided by the original's on the same platform.  ``overlap_efficiency``: the part of
    what could be hidden that is hidden; None where it is not known, or nothing could be.
    """

    kernel: str
    version: str
    platform: str
    ranks: int
    tile: int | None
    depth: int | None
    seconds: float
    ratio: float
    overlap_efficiency: float | None

    @property
    def key(self) -> tuple[str, str, str, int, int | None, int | None]:
        """What is measured."""
        return self.kernel, self.version, self.platform, self.ranks, self.tile, self.depth

    @property
    def tiling(self) -> str:
        """K and D for people."""
        if self.tile is None:
            return "-"
        if self.tile == 0:
            return "chosen"
        return f"{self.tile}, {self.depth}"


def as_json(rows: Iterable[Row]) -> str:
    """The text of a results file: one row a line."""
    lines = [json.dumps(asdict(row), ensure_ascii=False) for row in rows]
    return "[\n" + ",\n".join(f" {line}" for line in lines) + "\n]\n"


def from_json(text: str) -> tuple[Row, ...]:
    """The rows of a results file; raises ValueError where it is none."""
    data = json.loads(text)
    if not isinstance(data, list):
        raise ValueError("not a list of rows")
    try:
        return tuple(Row(**row) for row in data)
    except TypeError as error:
        raise ValueError(f"not a row: {error}") from None


def schema() -> dict[str, Any]:
    """The JSON schema of a results file."""
    loaded: dict[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return loaded
