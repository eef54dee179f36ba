"""Completions of operations that the same unit starts.

A completion changes the buffers of operations that were started before, which may be any variable
of the program.  If its request is a local variable, and every definition of it starts an operation,
the buffers are those of these starts.  The same holds for a request in a module, if every path to
the completion passes a start of the unit after anything else that may define the request.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from asphalt.analysis.control_flow.paths import leads_to
from asphalt.analysis.data_flow.branch_correlation import BranchFacts
from asphalt.analysis.data_flow.reaching_definitions import ReachingDefinitions
from asphalt.analysis.memory.accesses import ALIASED
from asphalt.analysis.memory.forward_substitution import Values
from asphalt.analysis.memory.mpi_buffers import transfer_buffers
from asphalt.analysis.memory.rma_windows import access_variables
from asphalt.analysis.memory.storage import storage_of
from asphalt.analysis.mpi.call import mpi_call, mpi_constant
from asphalt.analysis.mpi.library_effects import Quantity, library_row
from asphalt.analysis.names.host_association import named_inside
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.analysis.requests.elements import RequestElements
from asphalt.analysis.requests.operations import Does, Operation
from asphalt.ir.expr import Expr, Lit, Op, Ref, root_name
from asphalt.ir.stmt import Allocation, Assign, Call
from asphalt.ir.tree import Leaf


class OwnRequests:
    """The requests of one unit; ``found``: all its calls with requests."""

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
        self.found = found
        self.operations = {id(operation.leaf): operation for operation in found}
        self._written: dict[str, frozenset[str] | None] = {}
        self._local: dict[str, bool] = {}

    def is_own(self, leaf: Leaf) -> bool:
        """Whether calls in this unit start all operations that a completion may complete."""
        operation = self.operations.get(id(leaf))
        if operation is None or operation.root is None:
            return False
        return self._is_local(operation) or id(leaf) in self._started_here

    def _is_local(self, operation: Operation) -> bool:
        """Whether a request is a local variable that nothing else defines."""
        assert operation.root is not None
        if operation.root not in self._local:
            self._local[operation.root] = self._is_local_variable(operation.root)
        return self._local[operation.root]

    def _is_local_variable(self, root: str) -> bool:
        symbol = self.scope.lookup(root)
        if symbol is None or symbol.origin is not Origin.LOCAL or symbol.equivalenced:
            return False
        kept = "save" in symbol.attrs and self.scope.unit.kind != "program"
        if kept or symbol.attrs & {"pointer", "target", "dummy"}:
            return False
        if named_inside(root, self.scope):
            return False
        return all(
            definition.leaf is None
            or id(definition.leaf) in self.operations
            or self._is_null(definition.leaf)
            for definition in self.reaching.definitions(root)
        )

    @cached_property
    def branches(self) -> BranchFacts:
        """The branches of the unit, for unknown effects of completions."""
        return BranchFacts(self.reaching)

    @cached_property
    def _started_here(self) -> frozenset[int]:
        """The completions of requests of modules that every path reaches from a start of each of
        the same requests without another possible definition of it.

        The effects of those already found are known; the search is repeated until it finds no more.
        """
        left = [o for o in self.operations.values() if self._is_of_module(o)]
        found: frozenset[int] = frozenset()
        while left:
            new = self._started(left, found)
            if not new:
                break
            found |= new
            left = [o for o in left if id(o.leaf) not in found]
        return found

    def _is_of_module(self, operation: Operation) -> bool:
        """Whether an operation completes one request, or as many as a constant says, in a plain
        module variable."""
        counted = operation.count is None or self._elements.numbers(operation) is not None
        if operation.does is not Does.COMPLETE or not counted:
            return False
        name = _designator(operation)
        symbol = None if name is None else self.scope.lookup(name)
        return (
            symbol is not None
            and symbol.origin is Origin.MODULE
            and not symbol.equivalenced
            and not symbol.attrs & {"pointer", "target", "volatile", "allocatable"}
            and operation.quantity is Quantity.ALL
            and operation.certain
        )

    def _started(self, left: list[Operation], known: frozenset[int]) -> frozenset[int]:
        """The completions of ``left`` whose operations are started here, given the ``known``
        ones."""
        facts = self.branches.knowing(lambda leaf: self._changed(leaf, known))
        return frozenset(id(o.leaf) for o in left if self._is_started(o, known, facts))

    def _is_started(self, end: Operation, known: frozenset[int], facts: BranchFacts) -> bool:
        if end.root is None:
            return False
        starts = [o for o in self.operations.values() if o.does is Does.START and o.count is None]
        points = {other.point for other in starts}
        others = {
            definition.point
            for definition in self.reaching.definitions(end.root)
            if definition.point not in points
            and (definition.leaf is None or self._may_give(definition.leaf, end, known))
        }
        excluded = facts.excluded_before(end.point)
        return all(
            of and not leads_to(self.reaching.graph, others, end.point, of, excluded)
            for of in self._starts_of_each(end, starts)
        )

    def _starts_of_each(self, end: Operation, starts: list[Operation]) -> Iterator[set[int]]:
        """For each request of a completion the points that start an operation with it."""
        if end.count is None:
            yield {o.point for o in starts if self._elements.completed_at(o, end)[0]}
            return
        same = [o for o in starts if o.storage == end.storage]
        for number in self._elements.numbers(end) or ():
            yield {o.point for o in same if self._elements.numbers(o) == range(number, number + 1)}

    def _may_give(self, leaf: Leaf, end: Operation, known: frozenset[int]) -> bool:
        """Whether a statement may define a request other than by a start in the unit."""
        if self._is_null(leaf):
            return False
        operation = self.operations.get(id(leaf))
        if operation is None or leaf is end.leaf:
            return True
        if operation.does is Does.START:
            return False
        changed = self._changed(leaf, known)
        return changed is None or end.root in changed

    @cached_property
    def _elements(self) -> RequestElements:
        return RequestElements(self.values, self.reaching, self.found)

    def ends(self, start: Leaf, completion: Leaf) -> bool:
        """Whether the operations of a start are certainly complete after a completion."""
        one, other = (self.operations.get(id(leaf)) for leaf in (start, completion))
        if one is None or other is None or not other.certain or other.does is not Does.COMPLETE:
            return False
        answer, point = self._elements.completed_at(one, other)
        return answer is True and point == other.point and other.quantity is Quantity.ALL

    def changed_by(self, leaf: Leaf) -> frozenset[str] | None:
        """The storages that a completion may change as buffers of its operations; None: unknown."""
        return self._changed(leaf, None)

    def _changed(self, leaf: Leaf, known: frozenset[int] | None) -> frozenset[str] | None:
        """The storages of ``changed_by`` if only ``known`` completions have local requests in
        modules."""
        own = self.operations.get(id(leaf))
        if own is None:
            return self._changed_in_windows(leaf)
        if own.does is not Does.COMPLETE or own.root is None:
            return None
        if not (self.is_own(leaf) if known is None else self._is_local(own) or id(leaf) in known):
            return None
        if own.root not in self._written:
            self._written[own.root] = self._written_under(own.root)
        return self._written[own.root]

    def _changed_in_windows(self, leaf: Leaf) -> frozenset[str] | None:
        """The storages that the end of an epoch may change: where RMA operations access nothing but
        what MPI allocated, pointers alone lead there."""
        mpi = mpi_call(leaf.what, self.scope) if isinstance(leaf.what, Call) else None
        if mpi is None or not library_row(mpi.procedure).ends_access:
            return None
        return None if access_variables(self.scope) else frozenset({ALIASED})

    def _written_under(self, root: str) -> frozenset[str] | None:
        """The storages that the operations with requests in a variable may change; None:
        unknown."""
        changed: set[str] = set()
        for other in self.operations.values():
            if other.root != root or other.does is Does.COMPLETE:
                continue
            buffers = transfer_buffers(other.leaf, other.call, self.scope, self.values)
            if other.does is not Does.START or buffers is None:
                return None
            changed |= {access.storage for access in buffers if access.writes}
        return frozenset(changed)

    def _is_null(self, leaf: Leaf) -> bool:
        """Whether a statement assigns MPI_REQUEST_NULL, or a number where nothing is in
        progress, or leaves the requests undefined."""
        what = leaf.action
        if isinstance(what, Allocation):
            roots = {root_name(option.value) for option in what.options}
            own = {o.root for o in self.found}
            plain = all(option.name in ("stat", "errmsg") for option in what.options)
            return plain and not any(r and storage_of(r, self.scope) in own for r in roots)
        if not isinstance(what, Assign):
            return False
        match what.value:
            case Lit(kind="integer") | Op(op="-", operands=(Lit(kind="integer"),)):
                return self._is_idle(leaf, what.target)
            case Ref():
                return mpi_constant(what.value, self.scope) == "mpi_request_null"
        return False

    def _is_idle(self, leaf: Leaf, target: Expr) -> bool:
        """Whether no operation with a request in a variable is in progress at a statement.

        Handles are opaque (MPI-4.0 section 2.5.1): no number that a program contains is one of an
        operation.
        """
        graph, name = self.reaching.graph, root_name(target)
        point = graph.action(leaf)
        if name is None or point is None:
            return False
        own = [o for o in self.found if o.root == storage_of(name, self.scope)]
        ends = {o.point for o in own if o.does is Does.COMPLETE and o.certain}
        starts = {o.point for o in own if o.does is not Does.COMPLETE}
        return not leads_to(graph, starts, point, ends - {point}, frozenset())


def _designator(operation: Operation) -> str | None:
    """The variable of a request, as a scalar or as an element of an array."""
    name = next(p.name for p in operation.call.procedure.parameters if p.kind == "REQUEST")
    actual = operation.call.args[name]
    return actual.name if isinstance(actual, Ref) else None
