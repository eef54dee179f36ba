"""Schedules: the statements of lists in another order, those of several lists at once.

A schedule is a sequence of moves in one list.  Lists none of which stands in another one have no
statement in common: what is in flight while one is executed does not depend on the order of the
others, and neither do its proofs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, TypeVar

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.ir.records import record
from asphalt.transforms.rewriting.step import Several, Step, meet

_T = TypeVar("_T")


@record
class Move(Step):
    """Statement ``origin`` of a list moves to ``target``; ``path`` leads to the list.

    ``sizes``: the named constants that must be positive for that.
    """

    path: tuple[int, ...]
    origin: int
    target: int
    sizes: frozenset[str] = frozenset()

    def moved(self, nodes: tuple[_T, ...]) -> tuple[_T, ...]:
        """The statements of the list, or something for each of them, after the move."""
        rest = [*nodes[: self.origin], *nodes[self.origin + 1 :]]
        rest.insert(self.target, nodes[self.origin])
        return tuple(rest)


@record
class Schedule(Step):
    """The statements of a list in another order: ``moves``, one after the other.

    The proof of each pair holds in any order of the list that legal moves have led to: a statement
    accesses the same elements in all of them.
    """

    names_readings: ClassVar[bool] = True

    moves: tuple[Move, ...]

    @property
    def path(self) -> tuple[int, ...]:
        """What leads to the list."""
        return self.moves[0].path

    @property
    def is_alone(self) -> bool:
        """Whether the unit also gets checks of its sizes."""
        return any(move.sizes for move in self.moves)

    @property
    def reported(self) -> tuple[Step, ...]:
        """The moves."""
        return self.moves


@record
class Schedules(Several):
    """The schedules of several lists."""

    names_readings: ClassVar[bool] = True

    @property
    def reported(self) -> tuple[Step, ...]:
        """The moves of all lists."""
        return tuple(move for step in self.steps for move in step.reported)


def in_separate_lists(facts: UnitFacts, steps: Iterator[Step]) -> Step:
    """The first schedule, with those behind it up to one that is about the same statements."""
    first = next(steps)
    assert isinstance(first, Schedule)
    kept = [first]
    more = steps if first.path and not first.is_alone else iter(())
    for step in more:
        assert isinstance(step, Schedule)
        if step.is_alone or any(meet(one.path, step.path) for one in kept):
            break
        kept.append(step)
    if len(kept) < 2:
        return first
    return Schedules(first.line, first.does, first.evidence, tuple(kept))
