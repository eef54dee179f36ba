"""Whether a procedure that is called again gets the values that it got.

Inlined statements need not name all that their call evaluates: the subscripts of an argument, what
is passed by value, or a variable that is but a bound in the procedure.  What defines such a
variable may have passed them, as a wait for a message with that size does::

    call MPI_Wait(request, ...)    ! brings n
    call limit(n, a, dt)           ! declares a(n), and reads a(1) only

No statement can have passed one that reads the variable, if it is a scalar.  For all others, what
defines the variable must stand in no loop with the call, and on the same side of it as before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.effects.specification_expressions import evaluated_on_entry
from asphalt.analysis.inlining.version_calls import evaluated
from asphalt.analysis.memory.accesses import Mode
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.expr import Expr, names_in
from asphalt.ir.tree import Do, Leaf, leaves
from asphalt.transforms.inlining.inlined_statements import Came


class CallValues:
    """Answers for one unit.

    ``given``: the unit before all steps; ``found``: where the statements came from, by identity.
    """

    def __init__(
        self, facts: UnitFacts, given: UnitFacts, found: Mapping[int, Came | None]
    ) -> None:
        self._facts = facts
        self._given = given
        self._found = found
        self._places = {
            id(leaf): place
            for place, leaf in enumerate(leaf for node in facts.unit.body for leaf in leaves(node))
        }
        self._around = {id(p.leaf): p.around for p in facts.reaching.graph.points if p.leaf}
        self._around_before = {p.leaf.line: p.around for p in given.reaching.graph.points if p.leaf}

    def are_the_same(
        self,
        call: Leaf,
        bound: Mapping[str, Expr],
        inside: Scope,
        own: Sequence[Leaf],
        passed: Collection[str],
    ) -> bool:
        """Whether a call evaluates what it did in the given unit.

        ``bound``: its arguments that no statement computes in front of it, by the dummies of the
        procedure with the scope ``inside``; ``own``: the statements in whose place it stands;
        ``passed``: the storages that the unit passes to procedures that call MPI.
        """
        settled = self._only_read(own)
        for storage in self._evaluated(bound, inside) - settled:
            if self._facts.reaching.accesses.is_lent(storage):
                return False
            for leaf in self._defining(storage, own):
                if storage in passed or not self._stands_as_before(leaf, call, own[0]):
                    return False
        return True

    def _evaluated(self, bound: Mapping[str, Expr], inside: Scope) -> frozenset[str]:
        """The storages that a call reads before any statement of the procedure does."""
        names = self._facts.effects.names(inside)
        on_entry = {
            access.storage
            for access in evaluated_on_entry(inside, names).accesses
            if access.mode is not Mode.INQUIRE
        }
        found = {storage for storage in on_entry if storage not in bound}
        for dummy, actual in bound.items():
            symbol = inside.lookup(dummy)
            given = evaluated(actual, self._given.scope)
            if dummy in on_entry or (symbol is not None and "value" in symbol.attrs):
                given |= names_in(actual)
            found |= {self._given.names.storage(name) for name in given}
        return frozenset(found)

    def _only_read(self, own: Sequence[Leaf]) -> frozenset[str]:
        """The scalars that statements read and do not define."""
        lines = {id(leaf) for leaf in own}
        accesses = [a for a in self._facts.values.footprint.accesses if id(a.leaf) in lines]
        written = {access.storage for access in accesses if access.writes}
        scalars = {
            access.storage
            for access in accesses
            if access.mode is Mode.READ and not access.path and self._is_scalar(access.storage)
        }
        return frozenset(scalars - written)

    def _is_scalar(self, storage: str) -> bool:
        symbol = self._facts.scope.lookup(storage.rpartition("::")[2])
        if symbol is None or symbol.dims is not None:
            return False
        return self._facts.names.storage(symbol.name) == storage

    def _defining(self, storage: str, own: Sequence[Leaf]) -> Iterator[Leaf]:
        """The other statements that may define a storage."""
        lines = {id(leaf) for leaf in own}
        found = {
            id(access.leaf): access.leaf
            for access in self._facts.values.footprint.accesses
            if access.writes and access.storage == storage
        }
        yield from (leaf for line, leaf in found.items() if line not in lines)

    def _stands_as_before(self, leaf: Leaf, call: Leaf, now: Leaf) -> bool:
        """Whether a statement stands in no loop with a call, and on the same side of it in both
        units, or is the head of a loop around it in both."""
        came = self._found.get(id(leaf))
        if came is None or came.line not in self._around_before or came.line == call.line:
            return False
        around = [one for one in self._around_before.get(call.line, ()) if isinstance(one, Do)]
        if any(loop.head.line == came.line for loop in around):
            here = [one for one in self._around.get(id(now), ()) if isinstance(one, Do)]
            return any(loop.head is leaf for loop in here)
        if any(one is loop for one in self._around_before[came.line] for loop in around):
            return False
        return (came.line < call.line) == (self._places[id(leaf)] < self._places[id(now)])
