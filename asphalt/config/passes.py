"""The passes: what ``--passes`` and the setting ``passes`` can ask for.

A pass is one transformation, or several that belong together.  Each transformation says in its own
module to which pass it belongs (``TRANSFORMATION``); ``optimiser.phases`` has all of them in the
order in which the optimiser tries them.  The pages in ``docs/passes`` are made from both.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from enum import Enum, StrEnum
from typing import Self

from asphalt.config.errors import UsageError


class Role(Enum):
    """The role of a pass: what it does for others, or without them."""

    STARTS = "makes starts and waits of blocking calls"
    GAINS = "can shorten a program by its own steps"


class Pass(StrEnum):
    """All passes, in the order in which they are listed, each with one line for people.

    Passes without the role ``GAINS`` prepare steps of those that have it: their steps are only kept
    together with such steps.
    """

    summary: str
    roles: frozenset[Role]

    def __new__(cls, name: str, summary: str, *roles: Role) -> Self:
        member = str.__new__(cls, name)
        member._value_ = name
        member.summary = summary
        member.roles = frozenset(roles)
        return member

    PREPUSH = (
        "prepush",
        "An all-to-all exchange leaves in tiles while the loop that fills its send buffer runs.",
    )
    REMOVAL = (
        "removal",
        "An exchange between ranks that repeats an earlier one is left out.",
        Role.GAINS,
    )
    COMBINATION = (
        "combination",
        "Exchanges with the same partners become one message each way.",
        Role.GAINS,
    )
    UNROLLING = "unrolling", "Loops with few iterations that only communicate are unrolled."
    INLINE = (
        "inline",
        "Procedures that communicate, or that fill what an exchange sends, are inlined.",
    )
    BRANCHES = "branches", "Branches whose condition is constant are decided."
    STORES = (
        "stores",
        "Stores to a receive buffer are dropped where the receive defines the same elements.",
        Role.GAINS,
    )
    RENAMING = "renaming", "A local buffer of several transfers becomes several buffers."
    EXPANSION = (
        "expansion",
        "Receives of a loop are posted before it, and sends leave from copies of their buffers.",
        Role.GAINS,
    )
    NONBLOCKING = (
        "nonblocking",
        "Blocking transfers and collective operations become a start and a wait.",
        Role.STARTS,
    )
    DECOMPOSITION = (
        "decomposition",
        "A collective operation becomes messages, one for each block.",
        Role.GAINS,
    )
    FISSION = "fission", "Branches and nests are split where a message concerns a part of them."
    MOTION = (
        "motion",
        "Starts move up, waits move down, and computation moves between them.",
        Role.GAINS,
    )
    WAITS = "waits", "A wait for several operations becomes single waits; waits leave loops."
    SPLITTING = (
        "splitting",
        "The interior of a nest is separated from the edges that need a received halo.",
    )
    PEELING = "peeling", "The iterations that define what is sent are executed first."
    PIPELINING = (
        "pipelining",
        "A nest and the messages before and behind it are cut into tiles of K iterations.",
        Role.STARTS,
        Role.GAINS,
    )


PASSES: tuple[Pass, ...] = tuple(Pass)
ONLY_BY_NAME = (Pass.REMOVAL, Pass.COMBINATION)
"""The passes that are no part of a group: they are applied where they are named."""
EVERYTHING = tuple(one for one in PASSES if one not in ONLY_BY_NAME)
"""The passes that are applied if none is named."""
TRANSFERS = tuple(one for one in EVERYTHING if one is not Pass.PREPUSH)
"""The passes for messages between two ranks, and for collective operations that are no exchange."""
OF_TRANSFERS = tuple(one for one in PASSES if one is not Pass.PREPUSH)
"""These, and those that are applied where they are named."""
STARTING = tuple(one for one in PASSES if Role.STARTS in one.roles)
GAINING = tuple(one for one in PASSES if Role.GAINS in one.roles)
BESIDE_THREADS = (
    Pass.INLINE,
    Pass.NONBLOCKING,
    Pass.DECOMPOSITION,
    Pass.MOTION,
    Pass.SPLITTING,
)
"""The passes for procedures with directives or lines for OpenMP: these stay with their statements,
which remain as they are; parts of a parallel loop have its directive."""
DEFAULT = EVERYTHING
GROUPS = {"transfers": TRANSFERS, "all": EVERYTHING}
"""Names for several passes."""


def in_order(names: Iterable[str]) -> tuple[Pass, ...]:
    """The passes of these names and groups, each once, in the order in which they are listed.

    Raises ``UsageError`` for a name that is neither, and where there is no name.
    """
    given = {one for name in names for one in GROUPS.get(name, (name,))}
    known = (*PASSES, *GROUPS)
    for name in sorted(given - set(PASSES)):
        near = difflib.get_close_matches(name, known, 1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"passes: {name} is none of {', '.join(known)}{meant}")
    if not given:
        raise UsageError(f"passes: no name; there are {', '.join(known)}")
    return tuple(one for one in PASSES if one in given)
