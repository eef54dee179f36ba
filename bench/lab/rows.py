"""The results of the bench: rows with the same fields."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SCHEMA = Path(__file__).with_name("rows.schema.json")
ADDED = "+"
"""The prefix of versions with all transformations up to one: ``+motion``."""
NOT_OVERLAPPED = "ialltoall"
"""The version with a non-blocking exchange that is completed at once."""
NOT_TILED = ("original", NOT_OVERLAPPED)
"""The versions without K and D."""


@dataclass(frozen=True, slots=True)
class Row:
    """One measured time.

    ``version``: original, hand, ialltoall or transformed; ``+NAME``: with all transformations up to
    that one.  ``kernel``: its name, with the variant after a slash.  ``tile``, ``depth``: K and D;
    None in versions without them, 0 if the program chooses at run time.  ``ratio``: ``seconds``
    divided by the original's on the same platform.  ``overlap_efficiency``: the part hidden of what
    can be hidden; None if it is unknown, or nothing can be.
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
        """The identity of the measurement."""
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
    """The text of a results file: a line for each row."""
    lines = [json.dumps(asdict(row), ensure_ascii=False) for row in rows]
    return "[\n" + ",\n".join(f" {line}" for line in lines) + "\n]\n"


def from_json(text: str) -> tuple[Row, ...]:
    """The rows of a results file; raises ValueError for any other text."""
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
