"""Variables whose values only the statement that defines them may read, if anything does.

Two statements that give values to such a variable may change places although both write it: no
definition of one reaches a use outside of that one (Aho, Sethi, Ullman, section 10.6), and neither
reads what the other leaves.  So it is with the error codes of MPI calls that nobody looks at.
"""

from __future__ import annotations

from collections.abc import Callable

from asphalt.analysis.access import Access
from asphalt.analysis.kinds import storage_of
from asphalt.analysis.named_inside import named_inside
from asphalt.analysis.scalars import exposed
from asphalt.analysis.symbols import Origin
from asphalt.analysis.unit_facts import UnitFacts
from asphalt.ir.stmt import StatementFunction
from asphalt.ir.tree import Node, leaves


class Temporaries:
    """Answers for one unit; ``accesses``: all that a statement reads and writes, the buffers of
    its transfers included."""

    def __init__(
        self, facts: UnitFacts, accesses: Callable[[Node], tuple[Access, ...] | None]
    ) -> None:
        self.facts = facts
        self.accesses = accesses
        # with the statements, so that no others get their identities
        self._known: dict[tuple[str, int], tuple[Node, bool]] = {}

    def between(self, storage: str, first: Node, second: Node) -> bool:
        """Whether each of two statements reads nothing of a variable but what it has given it, and
        nothing else reads what they leave in it."""
        return is_unseen(storage, self.facts) and all(
            self._keeps_to_itself(storage, node) for node in (first, second)
        )

    def _keeps_to_itself(self, storage: str, node: Node) -> bool:
        key = (storage, id(node))
        if key not in self._known:
            found = self._is_not_read(storage, node) or self._is_defined_first(storage, node)
            found = found and stays_inside(storage, node, self.facts)
            self._known[key] = node, found
        return self._known[key][1]

    def _is_not_read(self, storage: str, node: Node) -> bool:
        """Whether a statement only writes a variable, or may write it, and MPI has no part of it
        when the statement is over."""
        if self.facts.reaching.accesses.is_exposed(storage):
            return False
        accesses = self.accesses(node)
        return accesses is not None and all(
            access.writes for access in accesses if access.storage == storage
        )

    def _is_defined_first(self, storage: str, node: Node) -> bool:
        """Whether a statement certainly defines a scalar before it reads it."""
        symbol = self.facts.scope.lookup(storage)
        if symbol is None or symbol.dims is not None:
            return False
        return not exposed((node,), storage, self.facts.names, _covers_nothing)


def is_unseen(name: str, facts: UnitFacts) -> bool:
    """Whether a variable is one of the unit that nothing but its statements can see."""
    symbol = facts.scope.lookup(name)
    if symbol is None or symbol.origin is not Origin.LOCAL:
        return False
    if symbol.equivalenced or storage_of(name, facts.scope) != name:
        return False
    if symbol.attrs & {"pointer", "target", "volatile", "asynchronous"}:
        return False
    if named_inside(name, facts.scope):
        return False
    statement_functions = any(
        isinstance(leaf.what, StatementFunction)
        for node in facts.unit.spec
        for leaf in leaves(node)
    )
    return not statement_functions and ("save" not in symbol.attrs or facts.unit.kind == "program")


def stays_inside(storage: str, node: Node, facts: UnitFacts) -> bool:
    """Whether only a statement or construct itself may read the values that it gives a variable."""
    inside = {id(leaf) for leaf in leaves(node)}
    reaching = facts.reaching
    return all(
        id(use.leaf) in inside
        for definition in reaching.definitions(storage)
        if definition.leaf is not None and id(definition.leaf) in inside
        for use in reaching.def_use(definition)
    )


def _covers_nothing(node: Node, storage: str) -> bool:
    del node, storage
    return False
