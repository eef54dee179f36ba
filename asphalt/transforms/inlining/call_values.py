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

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.effects.specification_expressions import evaluated_on_entry
from asphalt.analysis.inlining.procedure import communicates
from asphalt.analysis.inlining.version_calls import evaluated
from asphalt.analysis.memory.accesses import Mode
from asphalt.analysis.names.references import bind
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.expr import AltReturn, Expr, Section, argument_value, names_in, root_name
from asphalt.ir.stmt import UnitHead
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

    def bound(self, call: Leaf) -> tuple[Scope, Mapping[str, Expr]] | None:
        """The scope of the procedure that a call of the given unit calls, and the arguments by
        dummy; None: they are not known."""
        target = None if call.call is None else invoked(call.call, self._given.scope)
        if target is None:
            return None
        scope, head = self._facts.effects.scopes.of(target[0]), target[0].unit.head
        assert head is not None
        assert isinstance(head.what, UnitHead)
        bound = bind(target[1].args, head.what.args)
        return None if bound is None else (scope, bound)

    def stay(self, call: Leaf, own: Sequence[Leaf]) -> bool:
        """Whether a call evaluates what it did in the given unit, in place of statements."""
        found = self.bound(call)
        return found is not None and self.are_the_same(call, found[1], found[0], own)

    def are_the_same(
        self,
        call: Leaf,
        bound: Mapping[str, Expr],
        inside: Scope,
        own: Sequence[Leaf],
    ) -> bool:
        """Whether a call evaluates what it did in the given unit.

        ``bound``: its arguments that no statement computes in front of it, by the dummies of the
        procedure with the scope ``inside``; ``own``: the statements in whose place it stands.
        """
        settled = self._only_read(own)
        for storage in self._evaluated(bound, inside) - settled:
            if self._facts.reaching.accesses.is_lent(storage):
                return False
            for leaf in self._defining(storage, own):
                if storage in self.passed or not self._stands_as_before(leaf, call, own):
                    return False
        return True

    @cached_property
    def passed(self) -> frozenset[str]:
        """The variables that the unit passes to procedures that call MPI."""
        scopes = self._facts.effects.scopes
        roots: set[str] = set()
        for node in self._facts.unit.body:
            for leaf in leaves(node):
                target = None if leaf.call is None else invoked(leaf.call, self._facts.scope)
                if target is not None and communicates(target[0], scopes):
                    passed = map(argument_value, target[1].args)
                    exprs = (one for one in passed if not isinstance(one, Section | AltReturn))
                    roots |= {root for one in exprs if (root := root_name(one)) is not None}
        return frozenset(map(self._facts.names.storage, roots))

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

    def _stands_as_before(self, leaf: Leaf, call: Leaf, own: Sequence[Leaf]) -> bool:
        """Whether a statement stands in no loop with a call, and on the same side of it, and of all
        statements in whose place it stands, in both units, or is the head of a loop around it in
        both."""
        came = self._found.get(id(leaf))
        if came is None or came.line not in self._around_before or came.line == call.line:
            return False
        around = [one for one in self._around_before.get(call.line, ()) if isinstance(one, Do)]
        if any(loop.head.line == came.line for loop in around):
            here = [one for one in self._around.get(id(own[0]), ()) if isinstance(one, Do)]
            return any(loop.head is leaf for loop in here)
        if any(one is loop for one in self._around_before[came.line] for loop in around):
            return False
        place, is_before = self._places[id(leaf)], came.line < call.line
        return all((place < self._places[id(one)]) == is_before for one in own)
