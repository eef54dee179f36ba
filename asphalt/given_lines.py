"""What became of a unit, told by the lines of the files as they were given.

Several passes may change one file, one after the other, and each sees what those before it made.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from difflib import SequenceMatcher
from functools import lru_cache

from asphalt.assumptions import has_lines, with_lines
from asphalt.frontend.tree import Tree
from asphalt.optimiser.outcome import Optimised


def as_given(found: Optimised, now: Tree, given: Tree) -> Optimised:
    """The same with lines of the tree ``given`` instead of the tree ``now`` that came of it."""

    def line(path: str, number: int) -> int:
        before, after = given.content(path), now.content(path)
        return number if before == after else _given_lines(before, after)[number - 1]

    return replace(
        found,
        transfers=tuple(replace(t, line=line(t.path, t.line)) for t in found.transfers),
        tiled=tuple(replace(t, line=line(t.path, t.line)) for t in found.tiled),
        cleared=tuple(replace(c, line=line(c.path, c.line)) for c in found.cleared),
    )


def accepted_now(
    accepted: frozenset[str], given: Tree, now: Tree, changed: Collection[str]
) -> frozenset[str]:
    """Assumptions about lines of the tree ``given`` as those about lines of the tree ``now``, of
    which the files ``changed`` are others."""
    if not has_lines(accepted):
        return accepted

    def lines(unit: str, line: int) -> Iterator[tuple[str, int]]:
        yield unit, line
        for path in changed:
            if any((own.unit.name or "main") == unit for own in given.units_of(path)):
                known = _given_lines(given.content(path), now.content(path))
                if line in known:
                    yield unit, known.index(line) + 1

    return with_lines(accepted, lambda unit, line: tuple(lines(unit, line)))


@lru_cache(maxsize=8)
def _given_lines(given: bytes, now: bytes) -> tuple[int, ...]:
    """For each line of a text the line of the given one that it is, or that stands before it;
    lines are numbered from 1."""
    one, other = given.splitlines(), now.splitlines()
    found = [0] * len(other)
    for block in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks():
        for number in range(block.size):
            found[block.b + number] = block.a + number + 1
    last = 1
    for number, line in enumerate(found):
        last = found[number] = line or last
    return tuple(found)
