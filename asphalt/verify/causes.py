"""Notes on comparisons: what may lie behind a difference, and what an agreement is worth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from asphalt.diagnostics.change import Change
from asphalt.verify.compare import STANDARD_OUTPUT, Difference

_VECTOR = (
    "only last digits differ, and an innermost loop is tiled: the compiler vectorises it otherwise "
    "when its trip count changes; see whether all is equal with vectorisation switched off "
    "(gfortran: -fno-tree-vectorize)"
)
_UNSTABLE = (
    "the original's own output changes from run to run, {place}: {message}; leave such lines out "
    "by --ignore REGEX, or allow its numbers a difference by --output '{name}:1e-9'"
)
NOTHING = (
    "the program prints nothing and no file is compared: nothing but its exit status is; name what "
    "it writes with --output"
)
NOT_TILED = (
    "not tiled: the original calls were made; K = 0 does so for small data, any K where "
    "a condition that is asked for at run time does not hold"
)


def causes(found: Difference, again: Difference | None, changes: Sequence[Change]) -> Iterator[str]:
    """What may lie behind a difference; ``again``: how a second run of the original differs."""
    if again is not None:
        name = again.place or STANDARD_OUTPUT
        place = "on standard output" if name == STANDARD_OUTPUT else f"in {name}"
        yield _UNSTABLE.format(place=place, message=again.message, name=name)
    evidence = (text for change in changes for site in change.sites for text in site.evidence)
    if found.last_digits and any("innermost" in text for text in evidence):
        yield _VECTOR
