"""Which exchanges with the same partners become one: what the setting ``combining`` can ask for."""

from __future__ import annotations

from enum import StrEnum

from asphalt.config.errors import UsageError


class Combining(StrEnum):
    """The heuristics; ``MOST`` and ``HIDDEN`` are those of Choi and Snyder, ICPP 1997, section 2,
    and do not ask what messages cost.

    ``AUTO``: each group that shortens the procedure by the cost model, or by simulated runs.
    ``MOST``: as many as can.  ``HIDDEN``: as can without a shorter overlap window of any of them.
    """

    AUTO = "auto"
    MOST = "most"
    HIDDEN = "hidden"


def combining_of(value: object) -> Combining:
    """The heuristic of a name; raises UsageError for another one."""
    try:
        return Combining(str(value))
    except ValueError:
        known = ", ".join(Combining)
        raise UsageError(f"combining: {value} is none of {known}") from None
