"""Matches of starts and completions that other texts of a unit have, too.

A step that executes the statements which it leaves alone as before leaves each operation with the
completions that it had.  They are kept for texts in which the calls of MPI, what stands around
them, and the jumps are the same statements in the same order: only what is computed between them
has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from asphalt.analysis.data_flow.same_statements import Outline, SameStatements
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.mpi.call import MpiCall
from asphalt.analysis.requests.matching import (
    Match,
    Matched,
    Unknown,
    completed_on_return,
    is_blocking_transfer,
)
from asphalt.ir.stmt import Jump
from asphalt.ir.tree import Arm, Block, Branch, Do, Leaf, Node, leaves

_Call = Callable[[Leaf], MpiCall | None]


class SameMatches:
    """The matches of one text, as far as they are known; ``call``: the call of MPI in a
    statement."""

    def __init__(self, facts: UnitFacts, call: _Call) -> None:
        self._facts = facts
        self._call = call

    def found(self) -> tuple[Match, ...] | None:
        """All matches, in source order; None: they are not known."""
        same, outline = self._facts.same, self._outline
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
        return Matched(leaf, call, tuple(own[number] for number in ends))

    def note(self, found: tuple[Match, ...]) -> None:
        """Keep all matches, if each is proved."""
        same, outline = self._facts.same, self._outline
        if same is None or outline is None:
            return
        kept: list[tuple[int, tuple[int, ...] | None]] = []
        for match in found:
            numbers = same.of((match.leaf,))
            if isinstance(match, Matched) and match.directive is None:
                ends = same.of(match.partners)
            elif isinstance(match, Unknown) and is_blocking_transfer(match.call.procedure):
                ends = None
            else:
                return
            if numbers is None or (ends is None and isinstance(match, Matched)):
                return
            kept.append((numbers[0], ends))
        same.known.matches[outline] = tuple(kept)

    def is_own(self, leaf: Leaf, find: Callable[[Leaf], bool]) -> bool:
        """Whether calls in the unit start all operations that a completion may complete; ``find``
        finds it out."""
        same, outline = self._facts.same, self._outline
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

    @cached_property
    def _outline(self) -> Outline | None:
        """The calls of MPI and the jumps of the unit, with what stands around them; None: some are
        statements of no text that is known."""
        same = self._facts.same
        if same is None or not all(id(leaf) in same.numbers for leaf in self._leaves):
            return None
        return tuple(self._of_nodes(self._facts.unit.body, same))

    def _of_nodes(self, nodes: tuple[Node, ...], same: SameStatements) -> Iterator[object]:
        for node in nodes:
            match node:
                case Leaf():
                    if self._counts(node):
                        yield same.numbers[id(node)]
                case Do(head=head, body=body):
                    yield from self._around((Arm(head, body),), same)
                case Branch(arms=arms):
                    yield from self._around(arms, same)
                case Block(head=head, body=body):
                    yield from self._around((Arm(head, body),), same)
                case _:
                    yield None

    def _around(self, arms: tuple[Arm, ...], same: SameStatements) -> Iterator[object]:
        inside = [tuple(self._of_nodes(arm.body, same)) for arm in arms]
        if any(inside) or any(self._counts(arm.head) for arm in arms):
            heads = (same.numbers[id(arm.head)] for arm in arms)
            yield tuple(zip(heads, inside, strict=True))

    def _counts(self, leaf: Leaf) -> bool:
        return self._call(leaf) is not None or isinstance(leaf.action, Jump)
