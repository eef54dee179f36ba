"""The names of the transformations, as ``--passes`` and the settings take them, in their order."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from asphalt.config.errors import UsageError

PREPUSH = "prepush"
TRANSFERS = (
    "unrolling",
    "inline",
    "branches",
    "stores",
    "renaming",
    "expansion",
    "nonblocking",
    "decomposition",
    "fission",
    "motion",
    "waits",
    "splitting",
    "peeling",
    "pipelining",
)
"""Those for transfers between two ranks."""
STARTING = ("nonblocking", "pipelining")
"""Of these, the passes that make starts and waits of blocking calls; others move what they make,
or what the program starts itself."""
GAINING = ("stores", "expansion", "decomposition", "motion", "pipelining")
"""Of these, the passes by which a program can gain; what others do is only kept with their steps.
"""
PASSES = (PREPUSH, *TRANSFERS)
DEFAULT = (PREPUSH,)
GROUPS = {"transfers": TRANSFERS, "all": PASSES}
"""Names for several passes."""


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """The passes of these names and groups, each once; raises ``UsageError`` for a name that is
    none."""
    given = {one for name in names for one in GROUPS.get(name, (name,))}
    known = (*PASSES, *GROUPS)
    for name in sorted(given - set(PASSES)):
        near = difflib.get_close_matches(name, known, 1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"passes: {name} is none of {', '.join(known)}{meant}")
    if not given:
        raise UsageError(f"passes: no name; there are {', '.join((*PASSES, *GROUPS))}")
    return tuple(name for name in PASSES if name in given)
