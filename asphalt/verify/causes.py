"""Notes on comparisons: possible causes of a difference, and limits of an agreement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from asphalt.diagnostics.change import Change
from asphalt.verify.compare import STANDARD_OUTPUT, Difference

_VECTOR = (
    "only last digits differ, and an innermost loop is tiled: the compiler may vectorise it in "
    "another way for another trip count; compare without vectorisation "
    "(gfortran: -fno-tree-vectorize)"
)
_UNSTABLE = (
    "the original's own output changes from run to run, {place}: {message}; ignore such lines with "
    "--ignore REGEX, or allow its numbers a tolerance with --output '{name}:1e-9'"
)
NOTHING = (
    "only the exit status is compared: the program prints nothing, and no file is compared; name "
    "the files that it writes with --output"
)
NOT_TILED = (
    "not tiled: the program made the original calls; it does so for small data if K = 0, and for "
    "any K if a condition that is tested at run time does not hold"
)


def causes(found: Difference, again: Difference | None, changes: Sequence[Change]) -> Iterator[str]:
    """Possible causes of a difference; ``again``: how a second run of the original differs."""
    if again is not None:
        name = again.place or STANDARD_OUTPUT
        place = "on standard output" if name == STANDARD_OUTPUT else f"in {name}"
        yield _UNSTABLE.format(place=place, message=again.message, name=name)
    evidence = (text for change in changes for site in change.sites for text in site.evidence)
    if found.last_digits and any("innermost" in text for text in evidence):
        yield _VECTOR
