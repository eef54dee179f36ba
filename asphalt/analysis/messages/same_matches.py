"""Matches of starts and completions that other texts of a unit have, too.

A step that executes the statements which it leaves alone as before leaves each operation with the
completions that it had.  They are kept for texts in which the calls of MPI, what stands around
them, and the jumps are the same statements in the same order: only what is computed between them
has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.mpi.call import MpiCall
from asphalt.analysis.requests.matching import (
    Match,
    Matched,
    Unknown,
    completed_on_return,
    is_blocking_transfer,
)
from asphalt.ir.tree import Leaf, leaves

_Call = Callable[[Leaf], MpiCall | None]
_ELSEWHERE = "it has no answer in another text of the unit"


class SameMatches:
    """The matches of one text, as far as they are known; ``call``: the call of MPI in a
    statement."""

    def __init__(self, facts: UnitFacts, call: _Call) -> None:
        self._facts = facts
        self._call = call

    def found(self) -> tuple[Match, ...] | None:
        """All matches, in source order, those without an answer without its reason; None: they are
        not known."""
        same, outline = self._facts.same, self._facts.outline
        known = None if same is None or outline is None else same.known.matches.get(outline)
        if same is None or known is None:
            return None
        own = {same.numbers[id(leaf)]: leaf for leaf in self._leaves}
        return tuple(self._match(own, *one) for one in known)

    def _match(self, own: dict[int, Leaf], start: int, ends: tuple[int, ...] | None) -> Match:
        leaf = own[start]
        call = self._call(leaf)
        assert call is not None
        if ends is None:
            return completed_on_return(leaf, call)
        if not ends:
            return Unknown(leaf, call, _ELSEWHERE)
        return Matched(leaf, call, tuple(own[number] for number in ends))

    def note(self, found: tuple[Match, ...]) -> None:
        """Keep all matches, if each is proved or has no answer, which is none in any text."""
        same, outline = self._facts.same, self._facts.outline
        if same is None or outline is None:
            return
        kept: list[tuple[int, tuple[int, ...] | None]] = []
        for match in found:
            numbers = same.of((match.leaf,))
            if isinstance(match, Matched) and match.directive is None:
                ends = same.of(match.partners)
            elif isinstance(match, Unknown) and is_blocking_transfer(match.call.procedure):
                ends = None
            elif isinstance(match, Unknown):
                ends = ()
            else:
                return
            if numbers is None or (ends is None and isinstance(match, Matched)):
                return
            kept.append((numbers[0], ends))
        same.known.matches[outline] = tuple(kept)

    def is_own(self, leaf: Leaf, find: Callable[[Leaf], bool]) -> bool:
        """Whether calls in the unit start all operations that a completion may complete; ``find``
        finds it out."""
        same, outline = self._facts.same, self._facts.outline
        numbers = None if same is None else same.of((leaf,))
        if same is None or outline is None or numbers is None:
            return find(leaf)
        key = outline, numbers[0]
        if key not in same.known.own:
            same.known.own[key] = find(leaf)
        return same.known.own[key]

    @cached_property
    def _leaves(self) -> tuple[Leaf, ...]:
        return tuple(leaf for node in self._facts.unit.body for leaf in leaves(node))


def is_explained(match: Match) -> bool:
    """Whether a match has its own reason, not that of another text of the unit."""
    return isinstance(match, Matched) or match.reason != _ELSEWHERE
