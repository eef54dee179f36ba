"""Variables whose values only the defining statement may read.

Two statements that define such a variable may be reordered: no definition of one reaches a use
outside of it (Aho, Sethi, Ullman, section 10.6), and neither reads the value of the other.  This
holds for unused error codes of MPI calls, for those in a dummy argument that are overwritten before
the procedure returns, and for those that are certainly equal (``error_codes``).
"""

from __future__ import annotations

from collections.abc import Callable

from asphalt.analysis.control_flow.graph import EXIT
from asphalt.analysis.data_flow.error_codes import ErrorCodes
from asphalt.analysis.data_flow.reaching_definitions import Definition
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.memory.accesses import Access
from asphalt.analysis.memory.loop_scalars import upward_exposed
from asphalt.analysis.memory.rma_windows import may_be_window_memory
from asphalt.analysis.memory.storage import storage_of
from asphalt.analysis.names.host_association import named_inside
from asphalt.analysis.names.scopes import Origin
from asphalt.ir.stmt import StatementFunction
from asphalt.ir.tree import Node, leaves


class Temporaries:
    """Answers for one unit; ``accesses``: all that a statement reads and writes, the buffers of its
    transfers included."""

    def __init__(
        self, facts: UnitFacts, accesses: Callable[[Node], tuple[Access, ...] | None]
    ) -> None:
        self.facts = facts
        self.accesses = accesses
        # with the statements, so that no others get their identities
        self._known: dict[tuple[str, int], tuple[Node, bool]] = {}
        self._pairs: dict[tuple[str, int, int], tuple[Node, Node, bool]] = {}

    def between(self, storage: str, first: Node, second: Node) -> bool:
        """Whether two statements may be reordered although both access a variable.

        Each reads only its own value, and nothing else reads the values of both; or all their
        values are MPI_SUCCESS.
        """
        key = storage, id(first), id(second)
        if key not in self._pairs:
            self._pairs[key] = first, second, self._between(storage, first, second)
        return self._pairs[key][2]

    def _between(self, storage: str, first: Node, second: Node) -> bool:
        both = first, second
        unread = is_local_until_return(storage, self.facts) and all(
            self._keeps_to_itself(storage, n) for n in both
        )
        return unread or (self._is_code(storage, *both) and self._codes.why_others is None)

    def why_not(self, storage: str, first: Node, second: Node) -> str | None:
        """Why two stores of error codes must keep their order, if they are only that."""
        return self._codes.why_others if self._is_code(storage, first, second) else None

    @property
    def _codes(self) -> ErrorCodes:
        return self.facts.once(ErrorCodes)

    def _is_code(self, storage: str, first: Node, second: Node) -> bool:
        """Whether two statements store and read only MPI_SUCCESS in a variable, in either order, if
        errors are fatal."""
        both = first, second
        done = [self.accesses(node) for node in both]
        if not all(d is not None and self._codes.only_stores_success(storage, d) for d in done):
            return False
        return all(self._is_not_read(storage, n, lent=True) for n in both) or all(
            self._codes.is_success_before(next(leaves(node)), storage) for node in both
        )

    def _keeps_to_itself(self, storage: str, node: Node) -> bool:
        key = (storage, id(node))
        if key not in self._known:
            found = self._is_not_read(storage, node) or self._is_defined_first(storage, node)
            found = found and is_dead_after(storage, node, self.facts)
            self._known[key] = node, found
        return self._known[key][1]

    def _is_not_read(self, storage: str, node: Node, *, lent: bool = False) -> bool:
        """Whether a statement only writes a variable, or may write it, and MPI does not access it
        when the statement has finished (the caller asks for ``lent``)."""
        if not lent and self.facts.reaching.accesses.is_exposed(storage):
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
        if any(a.asks_for_a_size for a in self.facts.footprint(node).of(storage)):
            return False  # of what another one has given it
        return not upward_exposed((node,), storage, self.facts.names, _covers_nothing)


def is_local(name: str, facts: UnitFacts) -> bool:
    """Whether a variable is local and only statements of the unit can access it."""
    symbol = facts.scope.lookup(name)
    return (
        symbol is not None and symbol.origin is Origin.LOCAL and is_local_until_return(name, facts)
    )


def is_local_until_return(name: str, facts: UnitFacts) -> bool:
    """Whether a variable is local, or a dummy argument, and only statements of the unit can access
    it until it returns."""
    symbol = facts.scope.lookup(name)
    if symbol is None or symbol.origin not in (Origin.LOCAL, Origin.DUMMY):
        return False
    if symbol.equivalenced or storage_of(name, facts.scope) != name:
        return False
    if may_be_window_memory(name, facts.scope):
        return False
    if symbol.attrs & {"pointer", "target", "volatile", "asynchronous"}:
        return False
    if named_inside(name, facts.scope):
        return False
    kept = "save" in symbol.attrs and facts.unit.kind != "program"
    return not kept and not facts.once(_has_statement_functions)


def _has_statement_functions(facts: UnitFacts) -> bool:
    return any(
        isinstance(leaf.what, StatementFunction)
        for node in facts.unit.spec
        for leaf in leaves(node)
    )


def is_dead_after(storage: str, node: Node, facts: UnitFacts) -> bool:
    """Whether only the statement or construct itself may read the values that it gives a
    variable."""
    inside = {id(leaf) for leaf in leaves(node)}
    given = [d for d in facts.reaching.definitions(storage) if id(d.leaf) in inside]
    return not any(is_live_on_exit(definition, facts) for definition in given) and all(
        id(use.leaf) in inside for definition in given for use in facts.reaching.def_use(definition)
    )


def is_live_on_exit(definition: Definition, facts: UnitFacts) -> bool:
    """Whether a value of a variable may be used after the unit returns."""
    if is_local(definition.storage, facts):
        return False
    return definition in facts.reaching.at(EXIT, definition.storage)


def _covers_nothing(node: Node, storage: str) -> bool:
    del node, storage
    return False
