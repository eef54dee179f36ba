"""The backends of an exchange in tiles: what may carry its pieces at run time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from asphalt.config.errors import UsageError

ISEND = "isend"
BACKENDS: Mapping[str, str | None] = {ISEND: None, "persistent": "asphalt_persistent"}
"""Each with the function of the runtime that offers it; None: needs none."""


def put_in(names: Iterable[str]) -> tuple[str, ...]:
    """The backends that emitted code may choose among: those that are named, the first of which is
    the one that the header names, and ``isend``, which costs nothing.

    Raises UsageError for a name that means none.
    """
    found = tuple(dict.fromkeys(names))
    for name in found:
        if name not in BACKENDS:
            raise UsageError(f"{name!r} is not a backend (known: {', '.join(BACKENDS)})")
    if not found:
        raise UsageError("name at least one backend")
    return found if ISEND in found else (*found, ISEND)
