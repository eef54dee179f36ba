"""The assumptions that are accepted in a unit as it stands after some steps.

An assumption about a line, or one among the declarations of a procedure, concerns the calls and
loops of the user's source.  After some steps these may stand elsewhere, and others in their place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from asphalt.analysis.data_flow.unit import line_of
from asphalt.analysis.directives.transfer_directives import TransferDirectives
from asphalt.config.assumptions import with_lines
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.stmt import Call, DoHead
from asphalt.ir.tree import leaves
from asphalt.optimiser.origins import Origins, SourceLine

Key = tuple[str, tuple[str, ...]]
"""The file of a unit, and its name and those of its hosts, from the outermost one."""


@record
class Accepted:
    """``assumptions``: those of the user, with lines of the new text, and those that directives of
    other units accept for statements that came from there.  ``elsewhere``: the lines of these calls
    and loops; the declarations of this unit do not concern them."""

    assumptions: frozenset[str]
    elsewhere: frozenset[int] = frozenset()


def accepted_now(
    accepted: frozenset[str],
    located: Located,
    tree: Tree,
    given: Tree,
    origins: Origins,
    changed: Collection[Key] = (),
) -> Accepted:
    """The assumptions that are accepted in a unit of a tree that steps have made of another tree,
    ``given``.

    ``accepted``: the user's assumptions, with lines of the given tree.  ``changed``: the units of
    the given tree that may already hold calls of others, so that their directives do not concern
    all of their statements.
    """
    if tree is given:
        return Accepted(accepted)
    name, key = located.unit.name or "main", key_of(located)
    moved: dict[tuple[str, int], set[tuple[str, int]]] = {}
    elsewhere: set[int] = set()
    said: set[str] = set()
    kinds: dict[Key, Collection[str]] = {}
    units: dict[str, list[_UnitLines]] = {}
    for line in _lines(located):
        place = origins.about(tree, line)
        own = None
        if place is not None:
            if place.path not in units:
                units[place.path] = _units_of(given, place.path)
            own = _innermost(units[place.path], place.line)
        if place is None or own is None:
            elsewhere.add(line)
            continue
        moved.setdefault((own.unit.name or "main", place.line), set()).add((name, line))
        theirs = key_of(own)
        if theirs != key:
            elsewhere.add(line)
            if theirs not in changed:
                if theirs not in kinds:
                    kinds[theirs] = TransferDirectives(own).assumed_by_all
                said |= {f"{kind}@{name}:{line}" for kind in kinds[theirs]}
    lines = with_lines(accepted, lambda unit, line: moved.get((unit, line), ()))
    return Accepted(lines | said, frozenset(elsewhere))


def key_of(located: Located) -> Key:
    """A key of a unit in the trees of one program."""
    return located.path, tuple(unit.name for unit in located.chain)


def _lines(located: Located) -> set[int]:
    """The lines of the calls and the loops of a unit."""
    found: set[int] = set()
    for leaf in (leaf for node in located.unit.body for leaf in leaves(node)):
        what = leaf.action
        if isinstance(what, Call | DoHead):
            found.add(line_of(leaf))
    return found


def unit_at(tree: Tree, place: SourceLine) -> Located | None:
    """The innermost unit that a line belongs to."""
    return _innermost(_units_of(tree, place.path), place.line)


_UnitLines = tuple[int, int, Located]
"""The first and the last line of a unit."""


def _units_of(tree: Tree, path: str) -> list[_UnitLines]:
    return [
        (line_of(next(leaves(one.unit))), line_of(one.unit.end), one) for one in tree.units_of(path)
    ]


def _innermost(units: Iterable[_UnitLines], line: int) -> Located | None:
    around = (one for first, last, one in units if first <= line <= last)
    return max(around, key=lambda one: len(one.chain), default=None)
