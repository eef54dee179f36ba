"""What ranks of one role have done up to a time.

Ranks have the same role as long as all conditions on them hold for all or for none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from asphalt.gain.blocks import BlocksInFlight
from asphalt.gain.conditions import AtomicCondition
from asphalt.gain.priced_transfers import Letter


@dataclass(frozen=True, slots=True, eq=False)
class MessageInFlight:
    """A message in progress.  ``started``: the identity of the statement; ``letter``: None where
    ranks communicate all together."""

    posted: float
    size: float
    letter: Letter | None
    started: int = 0
    request: str | None = None


@dataclass(eq=False, slots=True)
class RankRole:
    """The state of a role at ``now``, in seconds.

    ``name``: the decisions that made it, the first one first; ``decided``: what holds for its
    ranks.  ``link``: until when the last message comes in; ``sent``: by tag, when messages left,
    and ``there``: when the last one arrives; ``taken``: how many of a tag were received.
    ``turns``: of the enclosing loops, when this iteration began, and how long the last one took.
    ``whole``: whether it will not be joined with others again.
    """

    name: tuple[object, ...] = ()
    decided: Mapping[AtomicCondition, bool] = field(default_factory=dict)
    now: float = 0.0
    link: float = 0.0
    pending: tuple[MessageInFlight, ...] = ()
    queues: dict[str, tuple[MessageInFlight, ...]] = field(default_factory=dict)
    sent: dict[str, tuple[float, ...]] = field(default_factory=dict)
    there: dict[str, float] = field(default_factory=dict)
    taken: dict[str, int] = field(default_factory=dict)
    blocks: dict[str, BlocksInFlight] = field(default_factory=dict)
    turns: tuple[tuple[float, float], ...] = ()
    whole: bool = True

    def copy(self) -> RankRole:
        """A copy that goes on by itself."""
        return RankRole(
            self.name,
            self.decided,
            self.now,
            self.link,
            self.pending,
            self.queues.copy(),
            self.sent.copy(),
            self.there.copy(),
            self.taken.copy(),
            self.blocks.copy(),
            self.turns,
            self.whole,
        )

    def parted(self, why: object) -> RankRole:
        """A copy that goes on by itself, under its own name."""
        other = self.copy()
        other.name = (*self.name, why)
        return other

    def deciding(self, condition: AtomicCondition, value: bool) -> RankRole:
        """The ranks of this role for which a condition holds, or does not."""
        other = self.parted((condition, value))
        other.decided = {**self.decided, condition: value}
        return other

    def go_on(self, other: RankRole) -> None:
        """The ranks of this role are where those of another one are."""
        self.now, self.link, self.turns = other.now, other.link, other.turns
        self.pending, self.queues, self.blocks = other.pending, other.queues, other.blocks
        self.sent, self.there, self.taken = other.sent, other.there, other.taken

    def has_ranks_of(self, other: RankRole) -> bool:
        """Whether one of both was split from the other."""
        length = min(len(self.name), len(other.name))
        return self.name[:length] == other.name[:length]


def join(began: RankRole, ends: Sequence[RankRole]) -> None:
    """Continue a role whose ranks were in several arms of a branch; each of ``ends`` is where one
    of them is.

    The next thing that they do together waits for the slowest.  In between, the others may be
    earlier: that counts as half of the time of each.  What an arm has started, sent or received
    remains so, be another arm slower or not.
    """
    slowest = max(ends, key=lambda end: end.now)
    found = slowest.copy()
    found.now = (slowest.now + sum(end.now for end in ends) / len(ends)) / 2
    found.link = min(slowest.link, found.now)
    ordered = [slowest, *(end for end in ends if end is not slowest)]
    found.pending = _still(began.pending, [end.pending for end in ordered])
    for name in _keys(end.queues for end in ordered):
        lists = [end.queues.get(name, ()) for end in ordered]
        found.queues[name] = _still(began.queues.get(name, ()), lists)
    for tag in _keys(end.sent for end in ordered):
        before = began.sent.get(tag, ())
        last = slowest.sent.get(tag)
        if last is before and all(end.sent.get(tag) is last for end in ends):
            continue  # nothing has left in any arm
        new = [end.sent.get(tag, ())[len(before) :] for end in ordered]
        most = max(len(times) for times in new)
        later = (max(times[n] for times in new if n < len(times)) for n in range(most))
        found.sent[tag] = (*before, *later)
    for end in ordered[1:]:
        for tag, time in end.there.items():
            if time > found.there.get(tag, -math.inf):
                found.there[tag] = time
        for tag, number in end.taken.items():
            if number > found.taken.get(tag, -1):
                found.taken[tag] = number
    for name in _keys(end.blocks for end in ordered):
        changed = (end.blocks[name] for end in ordered if name in end.blocks)
        old = began.blocks.get(name)
        found.blocks[name] = next(
            (one for one in changed if one is not old), old or BlocksInFlight(0, 0)
        )
    began.go_on(found)


def _keys(maps: Iterable[Mapping[str, object]]) -> list[str]:
    found: dict[str, object] = {}
    for one in maps:
        found.update(one)
    return list(found)


def _still(
    before: tuple[MessageInFlight, ...], after: Sequence[tuple[MessageInFlight, ...]]
) -> tuple[MessageInFlight, ...]:
    """The messages that were in progress before some arms and are so behind all of them, and those
    that any arm has started."""
    if all(messages is before for messages in after):
        return before
    in_all = frozenset(before).intersection(*after)
    known = frozenset(before)
    kept = [one for one in before if one in in_all]
    return (*kept, *(one for messages in after for one in messages if one not in known))
