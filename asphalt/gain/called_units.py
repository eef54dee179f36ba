"""What prices take from procedures that no step changes.

The optimiser prices many texts of one unit.  A procedure whose text is not edited, nor that of
anything that it names, takes in all of these what it takes in the program from which they are
edited (``Effects.same_elsewhere``): it is looked at there, once for all prices.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.uniformity.uniformity import Uniformity
from asphalt.gain.amounts import Amount
from asphalt.gain.priced_transfers import PricedTransfer
from asphalt.ir.program import Located
from asphalt.ir.tree import Node
from asphalt.support.asked_assumptions import Answer, record, recorded_questions

T = TypeVar("T")


class KeptOfNodes(Generic[T]):
    """Answers about statements, each found once."""

    def __init__(self) -> None:
        # with the statement, so that no other one gets its identity, and what was asked for
        self._known: dict[tuple[int, Hashable], tuple[Node, T, frozenset[Answer]]] = {}

    def of(
        self,
        node: Node,
        find: Callable[[], T],
        more: Hashable = None,
        is_whole: Callable[[], bool] = lambda: True,
    ) -> T:
        """The answer about a statement, which depends on nothing else but ``more``.  ``is_whole``:
        whether what was found is to be kept."""
        key = id(node), more
        known = self._known.get(key)
        if known is not None:
            record(known[2])
            return known[1]
        with recorded_questions() as asked:
            found = find()
        if is_whole():
            self._known[key] = node, found, frozenset(asked)
        return found


@dataclass
class CalledUnits:
    """The procedures that do in all texts of a unit what they do in the program of these, and what
    is known of their statements: the ``transfers`` and ``called`` procedures of calls, the
    ``amounts`` of work.  ``uniformity``: of that program."""

    uniformity: Uniformity | None = None
    transfers: KeptOfNodes[PricedTransfer | None] = field(default_factory=KeptOfNodes)
    called: KeptOfNodes[UnitFacts | None] = field(default_factory=KeptOfNodes)
    amounts: KeptOfNodes[Amount] = field(default_factory=KeptOfNodes)
    _facts: dict[int, UnitFacts] = field(default_factory=dict)

    def of(self, located: Located, effects: Effects) -> UnitFacts | None:
        """The procedure ``located``, of a text with these effects, as one of these; None: it is
        none."""
        same = effects.same_elsewhere(located)
        if same is None:
            return None
        before, procedure = same
        key = id(procedure.unit)
        if key not in self._facts:
            self._facts[key] = UnitFacts(procedure, before, uniformity=self.uniformity)
        return self._facts[key]

    def has(self, facts: UnitFacts) -> bool:
        """Whether these are the facts of one of these, and not those of a unit that is priced."""
        return self._facts.get(id(facts.unit)) is facts

    def has_names(self, scope: Scope) -> bool:
        """Whether these are the names of one of these."""
        facts = self._facts.get(id(scope.unit))
        return facts is not None and facts.scope is scope
