"""What became of units, for requests under other assumptions.

A unit is optimised again only where the answer to a question has changed: an assumption was asked
for that is accepted now and was not, or the reverse.  What is assumed of the whole program decides
about too much to be asked for one by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from asphalt.config.assumptions import BITS, CONTROL, TIMERS, kind_of
from asphalt.frontend.source_tree.tree import Tree
from asphalt.optimiser.acceptance import Key
from asphalt.optimiser.options import Options
from asphalt.optimiser.outcome import Optimised

_ASKED_FOR = frozenset((BITS.word, CONTROL.word, TIMERS.word))
"""The assumptions that are asked for where they matter, and nowhere else."""

Text = frozenset[tuple[str, bytes]]
"""The contents of the files that have changed, by path."""


def text_since(given: Tree, now: Tree) -> Text:
    """What distinguishes a tree from the one that was given."""
    files = () if now is given else now.files
    texts = ((entry.path, now.content(entry.path)) for entry in files)
    return frozenset((path, text) for path, text in texts if text != given.content(path))


@dataclass(frozen=True, slots=True)
class Start:
    """What the optimisation of a unit begins with, beside the tree as it was given: the unit, what
    has changed so far, the units that have been optimised, and the options."""

    key: Key
    text: Text
    changed: frozenset[Key]
    options: Options


@dataclass(frozen=True, slots=True)
class _Known:
    options: Options
    found: Optimised


@dataclass(frozen=True, slots=True)
class KnownOutcomes:
    """The results for units of one tree as it was given."""

    _known: dict[tuple[Key, Text, frozenset[Key]], list[_Known]] = field(default_factory=dict)

    def add(self, start: Start, found: Optimised) -> None:
        """Keep what became of a unit."""
        known = self._known.setdefault((start.key, start.text, start.changed), [])
        known.append(_Known(start.options, found))

    def of(self, start: Start) -> Optimised | None:
        """What becomes of a unit, if that is known: with the same options, or others under which
        every question had the same answer."""
        known = self._known.get((start.key, start.text, start.changed), ())
        return next((one.found for one in known if _answers(one, start.options)), None)


def _answers(known: _Known, options: Options) -> bool:
    """Whether a result would be the same under these options."""
    then, now = known.options.accepted, options.accepted
    if replace(known.options, accepted=now) != options:
        return False
    more, less = _kinds(now - then), _kinds(then - now)
    asked = known.found.asked
    return more | less <= _ASKED_FOR and not any(
        word in (less if accepted else more) for word, accepted in asked
    )


def _kinds(accepted: Iterable[str]) -> frozenset[str]:
    return frozenset(map(kind_of, accepted))
