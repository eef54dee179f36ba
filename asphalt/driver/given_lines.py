"""Results for a unit, with the lines of the files as they were given.

Several passes may change one file, one after the other, and each sees what those before it made.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from asphalt.analysis.data_flow.unit import line_of
from asphalt.analysis_manager.user_units import user_units
from asphalt.config.assumptions import has_lines, with_lines
from asphalt.config.errors import UsageError
from asphalt.driver.configurations import without_conditionals
from asphalt.driver.transfers import nonblocking_operations
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.configuration import MARK
from asphalt.ir.program import Located
from asphalt.ir.tree import leaves
from asphalt.optimiser.origins import SourceLine, given_lines
from asphalt.optimiser.outcome import Optimised


def as_given(found: Optimised, now: Tree, given: Tree) -> Optimised:
    """The result with lines of the tree ``given``, of which the tree ``now`` was made."""

    def line(path: str, number: int) -> int:
        return given_place(SourceLine(path, number), now, given).line

    return replace(
        found,
        transfers=tuple(replace(t, line=line(t.path, t.line)) for t in found.transfers),
        tiled=tuple(replace(t, line=line(t.path, t.line)) for t in found.tiled),
        cleared=tuple(replace(c, line=line(c.path, c.line)) for c in found.cleared),
    )


def given_place(place: SourceLine, now: Tree, given: Tree) -> SourceLine:
    """A place of the tree ``now`` as that of the tree ``given`` from which it was made."""
    after = now.content(place.path)
    if given.content(place.path) == after:
        return place
    return replace(
        place, line=given_lines(_origin(given, place.path, after), after)[place.line - 1]
    )


def _origin(given: Tree, path: str, after: bytes) -> bytes:
    """The text of a file from which a changed one was made: as it was given, or without its
    conditionals."""
    return without_conditionals(given, path) if MARK.encode() in after else given.content(path)


def accepted_now(
    accepted: frozenset[str], given: Tree, now: Tree, changed: Collection[str]
) -> frozenset[str]:
    """Assumptions about lines of the tree ``given`` as those about lines of the tree ``now``, in
    which the files ``changed`` are different.  Assumptions are dropped if their line is gone, or is
    in more than one procedure of the name."""
    if not has_lines(accepted):
        return accepted

    def lines(unit: str, line: int) -> Iterator[tuple[str, int]]:
        own = holders(given, unit, line)
        if len(own) != 1:
            return
        path = own[0].path
        if path in changed:
            after = now.content(path)
            known = given_lines(_origin(given, path, after), after)
            if line not in known:
                return
            line = known.index(line) + 1
        if len(holders(now, unit, line)) == 1:
            yield unit, line

    return with_lines(accepted, lambda unit, line: tuple(lines(unit, line)))


def holders(tree: Tree, unit: str, line: int) -> tuple[Located, ...]:
    """The units of a name that contain a line and calls that can be made non-blocking; ``main`` is
    the name of a main program without one."""
    return tuple(
        one
        for one in user_units(tree, nonblocking_operations())
        if (one.unit.name or "main") == unit
        and line_of(next(leaves(one.unit))) <= line <= line_of(one.unit.end)
    )


def refuse_ambiguous(accepted: Collection[str], tree: Tree) -> None:
    """Raise UsageError for an assumption about a line that several procedures have."""

    def only(unit: str, line: int) -> tuple[()]:
        own = holders(tree, unit, line)
        if len(own) > 1:
            places = " and ".join(f"{one.path}:{line_of(next(leaves(one.unit)))}" for one in own)
            raise UsageError(
                f"assume ...@{unit}:{line}: {unit} of {places} have this line; write "
                "`!$asphalt assume(...)` in front of the call that is meant"
            )
        return ()

    with_lines(accepted, only)
