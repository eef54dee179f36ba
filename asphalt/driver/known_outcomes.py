"""What became of units, for requests under other assumptions.

A unit is optimised again only where the answer to a question has changed: an assumption was asked
for that is accepted now and was not, or the reverse.  What is assumed of the whole program decides
about too much to be asked for one by one.

What is known is also kept from run to run, so that ``apply`` need not find again what ``scan`` has
found.  It rests on the whole tree: where one of its files has been edited, nothing is believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from asphalt.config.assumptions import BITS, CONTROL, TIMERS, kind_of
from asphalt.frontend.source_tree.program_tree import digest_of_all
from asphalt.frontend.source_tree.snapshot import surroundings
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.records import record
from asphalt.optimiser.acceptance import Key
from asphalt.optimiser.options import Options
from asphalt.optimiser.outcome import Optimised

_ASKED_FOR = frozenset((BITS.word, CONTROL.word, TIMERS.word))
"""The assumptions that are asked for where they matter, and nowhere else."""

_MOST = 8
"""Results of a unit that are kept from run to run, each under other assumptions."""

Text = frozenset[tuple[str, bytes]]
"""The contents of the files that have changed, by path."""


def text_since(given: Tree, now: Tree) -> Text:
    """What distinguishes a tree from the one that was given."""
    files = () if now is given else now.files
    texts = ((entry.path, now.content(entry.path)) for entry in files)
    return frozenset((path, text) for path, text in texts if text != given.content(path))


@record
class Start:
    """What the optimisation of a unit begins with, beside the tree as it was given: the unit, what
    has changed so far, the units that have been optimised, and the options."""

    key: Key
    text: Text
    changed: frozenset[Key]
    options: Options


@record
class _Known:
    options: Options
    found: Optimised


@record
class Store:
    """The results that other runs on the same tree have kept, beside the same files: of several
    programs, what becomes of an included file is a question to all of them.  ``basis``: what they
    rest on beside files and the ``Start``."""

    tree: Tree
    basis: tuple[str | bytes, ...]

    def read(self, start: Start) -> tuple[_Known, ...]:
        """What is kept of a unit, under any assumptions."""
        kept = self.tree.kept(*self._parts(start))
        if isinstance(kept, tuple) and all(isinstance(one, _Known) for one in kept):
            return kept
        return ()

    def write(self, start: Start, known: Sequence[_Known]) -> None:
        """Keep all that is known of a unit, the latest as the last."""
        self.tree.keep(tuple(known[-_MOST:]), *self._parts(start))

    def _parts(self, start: Start) -> tuple[str | bytes, ...]:
        text = (part for path, content in sorted(start.text) for part in (path, content))
        own = repr((start.key, sorted(start.changed), _beside_assumptions(start.options)))
        return ("outcome", digest_of_all(self.tree), *self.basis, own, *text)


def store_of(tree: Tree) -> Store:
    """What other runs have kept of a tree that is read as this one."""
    own = tree.settings
    read = (own.defines, own.include_dirs, own.form, own.forms, own.width, own.cpp)
    return Store(tree, (*surroundings(), repr((*read, own.one_configuration))))


def _beside_assumptions(options: Options) -> tuple[object, ...]:
    return (
        tuple(sorted(options.passes)),
        options.clone_limit,
        tuple(sorted(options.faulty.items())),
        options.sizes,
        options.networks,
        options.least_gain,
        options.combining,
    )


@dataclass(slots=True)
class KnownOutcomes:
    """The results for units of one tree as it was given; ``store``: those of other runs."""

    store: Store | None = None
    _known: dict[tuple[object, ...], list[_Known]] = field(default_factory=dict)

    def add(self, start: Start, found: Optimised) -> None:
        """Keep what became of a unit."""
        if self.of(start) is not None:
            return
        known = self._all(start)
        known.append(_Known(start.options, replace(found, trees=())))
        if self.store is not None:
            self.store.write(start, known)

    def of(self, start: Start) -> Optimised | None:
        """What becomes of a unit, if that is known: with the same options, or others under which
        every question had the same answer."""
        return next((one.found for one in self._all(start) if _answers(one, start.options)), None)

    def _all(self, start: Start) -> list[_Known]:
        key = (start.key, start.text, start.changed, _beside_assumptions(start.options))
        if key not in self._known:
            kept = () if self.store is None else self.store.read(start)
            self._known[key] = list(kept)
        return self._known[key]


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
