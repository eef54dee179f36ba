"""Whether variables keep their values from one statement of a unit to another.

Only what may happen between the two counts (reaching definitions: Aho, Sethi, Ullman, section
10.6), not other definitions: a main program reads or computes sizes before its time loop and does
not change them afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from asphalt.analysis.data_flow.branch_correlation import BranchFacts
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.memory.accesses import ALIASED
from asphalt.analysis.names.host_association import is_text_missing
from asphalt.analysis.names.scopes import Origin
from asphalt.ir.records import record
from asphalt.ir.tree import Leaf

_CONSTANT = (Origin.PARAMETER, Origin.MPI, Origin.INTRINSIC)


@record
class PreservedValues:
    """Answers for one unit; ``branches``: with what completions change."""

    facts: UnitFacts
    branches: BranchFacts
    _known: dict[tuple[str, int, int, int | None], bool] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def until(self, names: Iterable[str], first: Leaf, last: Leaf) -> bool:
        """Whether variables have the same values at ``last`` as at every earlier execution of
        ``first``."""
        return self._both(names, first, last, None)

    def until_next(self, names: Iterable[str], first: Leaf, last: Leaf) -> bool:
        """Whether variables have the same values at ``first`` as at the next execution of
        ``last``."""
        return self._both(names, first, last, last)

    def since(self, names: Iterable[str], first: Leaf, last: Leaf) -> bool:
        """Whether variables have the same values at ``last`` as at the last execution of ``first``
        before it."""
        return self._both(names, first, last, first)

    def _both(self, names: Iterable[str], first: Leaf, last: Leaf, once: Leaf | None) -> bool:
        graph = self.facts.reaching.graph
        points = graph.action(first), graph.action(last)
        if points[0] is None or points[1] is None:
            return False
        without = None if once is None else graph.action(once)
        return all(self._keeps(name, points[0], points[1], without) for name in names)

    def _keeps(self, name: str, first: int, last: int, without: int | None) -> bool:
        key = name, first, last, without
        if key not in self._known:
            self._known[key] = self._is_kept(*key)
        return self._known[key]

    def _is_kept(self, name: str, first: int, last: int, without: int | None) -> bool:
        symbol = self.facts.scope.lookup(name)
        if symbol is None:
            return False
        if symbol.origin in _CONSTANT:
            return True
        storage = self.facts.names.storage(name)
        if not self._is_followed(name) or storage == ALIASED:
            return False
        ways = self.branches.between(first, last, without)
        return self.branches.unchanged(frozenset({storage}), ways | {first})

    def _is_followed(self, name: str) -> bool:
        """Whether everything that may change a variable does so by its own name, or is a call."""
        symbol = self.facts.scope.lookup(name)
        values = self.facts.values
        if symbol is None or symbol.equivalenced or name in values.renamed:
            return False
        if is_text_missing(values.scope):
            return False
        return not symbol.attrs & {"pointer", "target", "volatile", "asynchronous"}
