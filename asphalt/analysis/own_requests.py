"""Completions whose operations were all started in the same unit.

A call that completes operations changes the buffers that were given to MPI before, which may be any
variable of the program.  Where its request is a variable that nothing else can see, and everything
that gives it a value starts an operation, the buffers are those of these starts alone.
"""

from __future__ import annotations

from asphalt.analysis.mpi_call import mpi_constant
from asphalt.analysis.reaching import ReachingDefinitions
from asphalt.analysis.request_operations import Does, Operation
from asphalt.analysis.symbols import Origin, Scope
from asphalt.analysis.transfer_buffers import transfer_buffers
from asphalt.analysis.values import Values
from asphalt.ir.expr import Ref
from asphalt.ir.stmt import Assign, Guarded
from asphalt.ir.tree import Leaf


class OwnRequests:
    """The requests of one unit; ``found``: all of its calls that have to do with requests."""

    def __init__(
        self,
        scope: Scope,
        values: Values,
        reaching: ReachingDefinitions,
        found: tuple[Operation, ...],
    ) -> None:
        self.scope = scope
        self.values = values
        self.reaching = reaching
        self.operations = {id(operation.leaf): operation for operation in found}

    def is_own(self, leaf: Leaf) -> bool:
        """Whether all requests that a completion may have are of calls that start operations in
        this unit: of a local variable that nothing else gives a value."""
        operation = self.operations.get(id(leaf))
        if operation is None or operation.root is None:
            return False
        symbol = self.scope.lookup(operation.root)
        if symbol is None or symbol.origin is not Origin.LOCAL or symbol.equivalenced:
            return False
        kept = "save" in symbol.attrs and self.scope.unit.kind != "program"
        if kept or symbol.attrs & {"pointer", "target", "dummy"}:
            return False
        depth = len(self.scope.located.chain)
        mentions = self.scope.program.mentions(symbol.name)
        if any(self.scope.unit in (*o.chain[:depth],) and len(o.chain) > depth for o in mentions):
            return False
        return all(
            definition.leaf is None
            or id(definition.leaf) in self.operations
            or self._is_null(definition.leaf)
            for definition in self.reaching.definitions(operation.root)
        )

    def changed_by(self, leaf: Leaf) -> frozenset[str] | None:
        """The storages that a completion may change as buffers of what it completes; None: not
        known."""
        own = self.operations.get(id(leaf))
        if own is None or own.does is not Does.COMPLETE or not self.is_own(leaf):
            return None
        changed: set[str] = set()
        for other in self.operations.values():
            if other.root != own.root or other.does is Does.COMPLETE:
                continue
            buffers = transfer_buffers(other.leaf, other.call, self.scope, self.values)
            if other.does is not Does.START or buffers is None:
                return None
            changed |= {access.storage for access in buffers if access.writes}
        return frozenset(changed)

    def _is_null(self, leaf: Leaf) -> bool:
        """Whether a statement only says that there is no operation."""
        what = leaf.what.action if isinstance(leaf.what, Guarded) else leaf.what
        if not isinstance(what, Assign) or not isinstance(what.value, Ref):
            return False
        return mpi_constant(what.value, self.scope) == "mpi_request_null"
