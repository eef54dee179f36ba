"""The ranges of the numbers that users give in options, settings and directives."""

from __future__ import annotations

from asphalt.ir.records import record


@record
class Limits:
    """The whole numbers from ``least`` to ``most``."""

    least: int
    most: int

    def __contains__(self, value: int) -> bool:
        return self.least <= value <= self.most

    def __str__(self) -> str:
        return f"{self.least} to {self.most}"


TILE = Limits(0, 2**31 - 1)
"""Iterations a tile; 0: chosen on entry.  A default integer holds it."""
CLONES = Limits(0, 2**20)
"""MiB that the copies of message buffers may have on a rank; 0: no copies."""
USUAL_CLONES = 64
"""What it is unless the user says: the runtime has the same number."""
DEPTH = Limits(1, 4096)
"""Tiles in flight.  The ring has three times as many requests for each rank, and a default integer
counts them."""

USUAL_DEPTH = 4
"""What it is unless the user says."""

HEADER = "asphalt_params.inc"
"""The file with K and D of every site of a directory, as named constants; it is included."""
CONSTANTS = {"asphalt_k_": "integer", "asphalt_d_": "integer", "asphalt_backend_": "character"}
"""What the names in it begin with, and their types."""
