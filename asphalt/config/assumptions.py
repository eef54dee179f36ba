"""The assumptions that a user may accept, by name; asphalt makes no others.

An assumption is written ``KIND`` or ``KIND:NAME``.  With ``@SITE`` behind it, it is accepted for
one site alone: by the site's ``id`` in the reports, which is a name, or procedure and line of a
transfer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType

from asphalt.config.errors import UsageError
from asphalt.ir.records import record


@record
class Assumption:
    """A kind of assumption.

    ``named``: it is about a procedure or a variable.  ``otherwise``: what goes wrong if it does not
    hold.  ``in_source``: it is about one place, so that only a directive can accept it.  ``whole``:
    it is about the whole program, so that neither a site nor a directive can have it alone.
    """

    word: str
    meaning: str
    otherwise: str
    named: bool = False
    in_source: bool = False
    whole: bool = False


CONTROL = Assumption(
    "control",
    "Whether, and how often, a rank reaches the call is the same on all ranks of the "
    "communicator, and they all enter the collective from this call.",
    "Ranks that enter the collective from another call wait for it while the others send tiles: "
    "the program hangs.",
)
BITS = Assumption(
    "bits",
    "The last digits of results may change: because the compiler uses the scalar instead of the "
    "vector version of a function in the innermost loop that is cut into tiles (or the reverse), "
    "or because a reduction combines the values of the ranks in another order.",
    "Results differ from the original's in their last digits.",
)
PURE = Assumption(
    "pure",
    "The procedure reads and changes nothing but its actual arguments: no files, no MPI, no stop, "
    "no module, COMMON or saved variables; and the same arguments give the same results.",
    "The other side effects of the procedure happen at another time, relative to the messages; if "
    "it communicates, the program may hang.",
    named=True,
)
TIMERS = Assumption(
    "timers",
    "What is measured may change: the statements between two readings of a clock (MPI_Wtime, "
    "cpu_time, system_clock, date_and_time) may be others than before, as long as the program only "
    "computes with the readings and writes them.",
    "The times that the program reports belong to other statements than its text suggests.",
)
UNIFORM = Assumption(
    "uniform",
    "The variable has the same value on all ranks of the communicator, at the statement behind "
    "the directive or, if the directive stands among the declarations, in all of the unit.",
    "Ranks cut their loops into different tiles, or not all of them reach the call: the program "
    "hangs or receives wrong data.",
    named=True,
    in_source=True,
)
FATAL = Assumption(
    "fatal",
    "No error handler returns: communicators and windows keep MPI_ERRORS_ARE_FATAL, the default of "
    "MPI, also in what asphalt does not see of the program.  So an MPI call that returns stores "
    "MPI_SUCCESS (operations on files aside, whose default is to return errors).",
    "After an error, the program tests the code of another call than before, or later: messages "
    "about errors change, and other statements may be executed first.",
    whole=True,
)

KINDS: Mapping[str, Assumption] = MappingProxyType(
    {kind.word: kind for kind in (CONTROL, BITS, PURE, TIMERS, UNIFORM, FATAL)}
)
_WRITTEN = re.compile(r"([a-z]+)(?::([a-z]\w*))?(?:@(\w+(?::\d+)?))?", re.ASCII)
_OF_A_LINE = re.compile(r"(.+@)(\w+):(\d+)", re.ASCII)


def folded(text: str) -> str:
    """An assumption in the form in which reports name it.

    Raises UsageError for one that can only be accepted in the source.
    """
    known = "control, bits, timers or pure:PROCEDURE, each with @SITE or without, or fatal"
    match = _WRITTEN.fullmatch(text.lower().replace(" ", ""))
    kind = KINDS.get(match[1]) if match is not None else None
    if match is None or kind is None:
        raise UsageError(f"assume {text}: this is no assumption; use {known}")
    if kind.in_source:
        raise UsageError(
            f"assume {text}: holds at a place of the source only; write "
            f"`!$asphalt assume({kind.word}: NAME)` there"
        )
    if kind.named != (match[2] is not None):
        advice = f"{kind.word}:NAME" if kind.named else kind.word
        raise UsageError(f"assume {text}: write {advice}")
    if kind.whole and match[3] is not None:
        raise UsageError(f"assume {text}: holds for the whole program only; write {kind.word}")
    return match[0]


def with_lines(
    accepted: Collection[str], now: Callable[[str, int], Collection[tuple[str, int]]]
) -> frozenset[str]:
    """Assumptions that hold at one line only, for other procedures and lines: those that ``now``
    gives for a procedure and a line."""
    found: set[str] = set()
    for text in accepted:
        match = _OF_A_LINE.fullmatch(text)
        if match is None:
            found.add(text)
        else:
            found |= {f"{match[1]}{unit}:{line}" for unit, line in now(match[2], int(match[3]))}
    return frozenset(found)


def has_lines(accepted: Collection[str]) -> bool:
    """Whether some assumptions hold at one line only."""
    return any(_OF_A_LINE.fullmatch(text) for text in accepted)


def of_kind(kind: Assumption, accepted: Collection[str], site: str | None = None) -> frozenset[str]:
    """The names for which assumptions of a kind are accepted, at all sites or at one."""
    found = set()
    for text in accepted:
        match = _WRITTEN.fullmatch(text)
        if match is not None and match[1] == kind.word and match[3] in (None, site):
            found.add(match[2] or "")
    return frozenset(found)


def kind_of(accepted: str) -> str:
    """The word of an accepted assumption, without a name and a site."""
    return accepted.partition("@")[0].partition(":")[0]


def is_accepted(needed: str, accepted: Collection[str], site: str) -> bool:
    """Whether an assumption that a site needs is accepted."""
    return needed in accepted or f"{needed}@{site}" in accepted
