"""What is known of sizes because elements of arrays are passed to MPI calls.

A subscript of an element is not below the lower bound of its dimension (F2018 9.5.3.1), so that
behind a call with ``u(1, ny)`` of ``u(0:nx+1, 0:ny+1)`` it is known that ``ny >= 0``.  Upper bounds
tell nothing here: programs declare a dummy array with the extent 1 and mean any.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asphalt.analysis.algebra import Poly
from asphalt.analysis.messages import Messages
from asphalt.analysis.shapes import shape_of
from asphalt.analysis.unit_facts import UnitFacts
from asphalt.ir.expr import AltReturn, Keyword, Ref, Section
from asphalt.ir.tree import Leaf

Limit = tuple[Poly, Poly]
"""A polynomial that is not less than another one."""


@dataclass(frozen=True, slots=True)
class KnownLimits:
    """The limits of one unit by the point of the graph from where on they are known."""

    facts: UnitFacts
    limits: tuple[tuple[int, Limit], ...]

    @staticmethod
    def of(facts: UnitFacts, messages: Messages) -> KnownLimits:
        """The limits that follow from the buffers of a unit's MPI calls."""
        found: list[tuple[int, Limit]] = []
        for leaf, call in messages.own_calls():
            point = facts.reaching.graph.action(leaf)
            if point is None:
                continue
            for parameter, actual in call.bound():
                if parameter.kind == "BUFFER" and isinstance(actual, Ref):
                    found += ((point, limit) for limit in _of_element(actual, leaf, facts))
        return KnownLimits(facts, tuple(dict.fromkeys(found)))

    def at(self, leaf: Leaf) -> tuple[Limit, ...]:
        """What holds at a statement, whichever way leads to it."""
        if not self.limits:
            return ()
        here = self.facts.reaching.graph.action(leaf)
        if here is None:
            return ()
        dominators = self.facts.reaching.dominance.dominators
        found = (limit for point, limit in self.limits if dominators.dominates(point, here))
        return tuple(dict.fromkeys(found))


def _of_element(actual: Ref, leaf: Leaf, facts: UnitFacts) -> Iterator[Limit]:
    symbol = facts.scope.lookup(actual.name)
    if actual.args is None or symbol is None or symbol.dims is None:
        return
    shape = shape_of(actual.name, facts.scope, facts.values, leaf)
    if shape is None or shape.rank != len(actual.args):
        return
    for subscript, lower in zip(actual.args, shape.lower, strict=True):
        if isinstance(subscript, Section | Keyword | AltReturn):
            continue
        index = facts.values.polynomial(subscript, leaf)
        if (index - lower).value is None and _stays(index - lower, facts):
            yield index, lower


def _stays(difference: Poly, facts: UnitFacts) -> bool:
    """Whether a value is the same wherever the unit is, until it is entered again."""
    return all(
        isinstance(atom, Ref) and atom.args is None and not facts.values.written_in_unit(atom.name)
        for atom in difference.atoms
    )
