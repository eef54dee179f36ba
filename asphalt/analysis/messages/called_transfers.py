"""Transfers that called procedures start and complete, in terms of the caller.

A procedure that only starts operations with requests, or only completes them, is to its caller what
the MPI call is: ``call begin(u, r)`` starts operations whose buffers are parts of ``u``, and
``call finish(r)`` completes those with the requests ``r``, whatever else it does with its
arguments.  A request is followed from the dummy argument to the actual one, or is a variable of a
module.  Only the possible operations of a request are asked for: whoever delays a completion delays
those, whichever they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from asphalt.analysis.call_graph.call_sites import UnitKey, unit_key
from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.effects.summary import dummies_of
from asphalt.analysis.memory.accesses import ALIASED, Access, EffectKind, NameKind
from asphalt.analysis.memory.contiguity import reference_contiguity
from asphalt.analysis.memory.mpi_buffers import touched_buffers
from asphalt.analysis.memory.storage import name_kind, part_storage, storage_of
from asphalt.analysis.messages.messages import Stage, stage_of
from asphalt.analysis.mpi.call import MpiCall, mpi_call, mpi_constant
from asphalt.analysis.mpi.library_effects import library_row
from asphalt.analysis.names.designators import declarations_on_the_way, way_to
from asphalt.analysis.names.openmp_sentinels import conditional_statements
from asphalt.analysis.names.references import actions, bind, expressions_of
from asphalt.analysis.names.scopes import Origin, Scope
from asphalt.ir.expr import Component, Expr, Lit, Op, Ref, walk
from asphalt.ir.program import Located
from asphalt.ir.records import record
from asphalt.ir.stmt import Assign
from asphalt.ir.tree import Leaf, Node, leaves

_ALONE = frozenset({Stage.START, Stage.COMPLETE, Stage.NOTHING})


@record
class Part:
    """A variable of a unit, by its storage, or a component of it."""

    storage: str
    path: tuple[str, ...] = ()

    def of(self, actual: Part) -> Part:
        """The same part of the actual argument of a dummy."""
        return Part(actual.storage, (*actual.path, *self.path))

    @property
    def object(self) -> str:
        """The designator of the variable with the component."""
        return "%".join((self.storage, *self.path))

    def meets(self, designator: str) -> bool:
        """Whether an object may be, contain, or be contained in this one."""
        storage, *path = designator.split("%")
        return self.overlaps(Part(storage, tuple(path)))

    def overlaps(self, other: Part) -> bool:
        """The same for another part."""
        common = min(len(other.path), len(self.path))
        return other.storage == self.storage and other.path[:common] == self.path[:common]

    @property
    def is_of_module(self) -> bool:
        """Whether it has the same storage in all units."""
        return "::" in self.storage


@record
class StartedOperation:
    """A call that starts an operation: its file and line, the MPI procedure, and in terms of a
    unit, which may only call the procedure with the call, the request and the buffers."""

    path: str
    line: int
    operation: str
    request: Part
    buffers: tuple[Part, ...]


@record
class RequestEffects:
    """What statements do with requests, and there is no more that they do in MPI: the operations
    that they may start, and the requests that they may complete.  ``operations``: the MPI
    procedures that they call."""

    starts: tuple[StartedOperation, ...] = ()
    completes: frozenset[Part] = frozenset()
    operations: frozenset[str] = frozenset()

    def __or__(self, other: RequestEffects) -> RequestEffects:
        return RequestEffects(
            (*self.starts, *other.starts),
            self.completes | other.completes,
            self.operations | other.operations,
        )

    @property
    def requests(self) -> frozenset[Part]:
        """All requests."""
        return self.completes | {one.request for one in self.starts}

    @property
    def only_starts(self) -> bool:
        """Whether they start operations, and complete none."""
        return bool(self.starts) and not self.completes

    @property
    def only_completes(self) -> bool:
        """Whether they complete operations, and start none."""
        return bool(self.completes) and not self.starts


_NOTHING = RequestEffects()


def part_of(expr: Expr, scope: Scope) -> Part | None:
    """The variable, or the component, that an expression is a part of; None: it may have another
    name."""
    root = way_to(expr)[0] if isinstance(expr, Component) else expr
    if not isinstance(root, Ref) or root.name in scope.shadowed:
        return None
    symbol = scope.lookup(root.name)
    if symbol is None or symbol.common_block is not None or symbol.equivalenced:
        return None
    if name_kind(root.name, root.args is not None, scope) is not NameKind.VARIABLE:
        return None
    found = (
        part_storage(expr, scope) if isinstance(expr, Component) else storage_of(root.name, scope)
    )
    if found is None or found == ALIASED:
        return None
    storage, *path = found.split("%")
    return Part(storage, tuple(path))


class UnitRequests:
    """What the statements of one unit do with requests, themselves and through calls."""

    def __init__(self, facts: UnitFacts) -> None:
        self.facts = facts
        self.scope = facts.scope
        self._known: dict[int, tuple[Leaf, RequestEffects | None]] = {}

    def of(self, leaf: Leaf) -> RequestEffects | None:
        """The effects of one line; None: it may do something else in MPI, or it is not known with
        which requests."""
        found = self._known.get(id(leaf))
        if found is None:
            found = self._known[id(leaf)] = leaf, self._of(leaf)
        return found[1]

    def inside(self, node: Node) -> RequestEffects | None:
        """The effects of a statement or construct; None: not known."""
        total = _NOTHING
        for leaf in leaves(node):
            one = self.of(leaf)
            if one is None:
                return None
            total |= one
        return total

    def is_call(self, leaf: Leaf) -> bool:
        """Whether a line calls a procedure that is not MPI's, and that deals with requests."""
        own = leaf.call is not None and mpi_call(leaf.call, self.scope) is None
        found = self.of(leaf) if own else None
        return found is not None and bool(found.requests)

    def called(self, leaf: Leaf) -> Located | None:
        """The procedure of the tree that a line calls."""
        found = None if leaf.call is None else invoked(leaf.call, self.scope)
        return None if found is None else found[0]

    def completes(self, leaf: Leaf) -> bool:
        """Whether a line may complete operations."""
        found = self.of(leaf)
        return found is not None and bool(found.completes)

    def only_defined_so(self, part: Part, nodes: Iterable[Leaf]) -> tuple[Leaf, ...] | None:
        """The lines among some that start or complete operations with a request; None: one of them
        may define it otherwise."""
        found: list[Leaf] = []
        for leaf in nodes:
            written = [a for a in self._accesses(leaf) if a.writes and part.meets(a.object)]
            if not written or self.makes_null(leaf):
                continue
            effects = self.of(leaf)
            if effects is None or not any(part.meets(r.object) for r in effects.requests):
                return None
            found.append(leaf)
        return tuple(found)

    def _accesses(self, leaf: Leaf) -> tuple[Access, ...]:
        return self.facts.footprint(leaf).accesses

    def _of(self, leaf: Leaf) -> RequestEffects | None:
        if self.facts.executed.never(leaf):
            return _NOTHING
        effects = self.facts.footprint(leaf).effects
        done = {effect.detail for effect in effects if effect.kind is EffectKind.MPI}
        if not done:
            return _NOTHING
        call = leaf.call
        if call is None or _calls_functions(leaf, self.scope):
            return None
        mpi = mpi_call(call, self.scope)
        found = self._of_mpi(leaf, mpi) if mpi is not None else self._of_procedure(leaf)
        return None if found is None or not done <= found.operations else found

    def _of_mpi(self, leaf: Leaf, call: MpiCall) -> RequestEffects | None:
        stage = stage_of(call)
        given = [actual for p, actual in call.bound() if p.kind == "REQUEST"]
        if stage not in (Stage.START, Stage.COMPLETE) or len(given) != 1 or call.queue is not None:
            return None
        request = part_of(given[0], self.scope)
        if request is None:
            return None
        names = frozenset({call.operation})
        if stage is Stage.COMPLETE:
            return RequestEffects((), frozenset({request}), names)
        buffers = self._buffers(leaf, call)
        if buffers is None:
            return None
        path = self.facts.located.path
        one = StartedOperation(path, line_of(leaf), call.procedure.spelled, request, buffers)
        return RequestEffects((one,), frozenset(), names)

    def _buffers(self, leaf: Leaf, call: MpiCall) -> tuple[Part, ...] | None:
        """The variables that an operation may access until it is complete; None: not known, or a
        copy may be passed."""
        touched = touched_buffers(leaf, call, self.scope, self.facts.values)
        if touched is None or call.in_place(self.scope):
            return None
        for transfer in library_row(call.procedure).transfers:
            actual = call.args.get(transfer.argument)
            if actual is None or part_of(actual, self.scope) is None:
                return None
            if not _is_passed_itself(actual, self.scope):
                return None
        found: dict[Part, None] = {}
        for access in touched:
            storage, *path = access.storage.split("%")
            symbol = self.scope.lookup(storage)
            if storage == ALIASED or (symbol is not None and symbol.common_block is not None):
                return None
            found[Part(storage, (*path, *access.path))] = None
        return tuple(found)

    def _of_procedure(self, leaf: Leaf) -> RequestEffects | None:
        call = leaf.call
        target = None if call is None else invoked(call, self.scope)
        if target is None:
            return None
        callee, call = target
        found = self.facts.effects.once(ProcedureRequests).of(callee)
        if found is None:
            return None
        inside = self.facts.effects.scopes.of(callee)
        bound = bind(call.args, dummies_of(inside))
        return None if bound is None else PassedRequests(inside, self.scope, bound).effects(found)

    def makes_null(self, leaf: Leaf) -> bool:
        """Whether a line assigns a number or MPI_REQUEST_NULL, with which no operation is in
        progress (MPI-4.0 section 2.5.1)."""
        what = leaf.action
        if not isinstance(what, Assign) or what.pointer:
            return False
        match what.value:
            case Lit(kind="integer") | Op(op="-", operands=(Lit(kind="integer"),)):
                return True
            case Ref():
                return mpi_constant(what.value, self.scope) == "mpi_request_null"
        return False


class ProcedureRequests:
    """What the procedures of a program do with requests, in their own terms."""

    def __init__(self, effects: Effects) -> None:
        self.effects = effects
        self._found: dict[UnitKey, RequestEffects | None] = {}
        self._stages: dict[UnitKey, bool] = {}

    def of(self, located: Located) -> RequestEffects | None:
        """The effects of a procedure; None: it may do something else in MPI, or not known."""
        key = unit_key(located)
        if key not in self._found:
            self._found[key] = None  # for one that calls itself
            self._found[key] = self._of(located) if self.may_be(located) else None
        return self._found[key]

    def may_be(self, located: Located) -> bool:
        """Whether all MPI calls in a procedure start or complete operations with requests."""
        key = unit_key(located)
        if key not in self._stages:
            self._stages[key] = False
            scope = self.effects.scopes.of(located)
            own = (leaf.call for node in located.unit.body for leaf in leaves(node))
            calls = [call for call in own if call is not None]
            self._stages[key] = all(
                (mpi := mpi_call(call, scope)) is None or stage_of(mpi) in _ALONE for call in calls
            )
        return self._stages[key]

    def _of(self, located: Located) -> RequestEffects | None:
        if any(conditional_statements(located.unit)):
            return None
        own = UnitRequests(UnitFacts(located, self.effects))
        lines = [leaf for node in located.unit.body for leaf in leaves(node)]
        total = _NOTHING
        for leaf in lines:
            one = own.of(leaf)
            if one is None:
                return None
            total |= one
        if any(own.only_defined_so(request, lines) is None for request in total.requests):
            return None
        return total


@record
class PassedRequests:
    """The arguments of one call: ``bound``, actual arguments of the caller by dummy."""

    callee: Scope
    caller: Scope
    bound: Mapping[str, Expr]

    def effects(self, found: RequestEffects) -> RequestEffects | None:
        """The effects of the procedure in terms of the caller; None: not known."""
        requests = {part: self._request(part) for part in found.requests}
        completes = [requests[part] for part in found.completes]
        starts: list[StartedOperation] = []
        for one in found.starts:
            request = requests[one.request]
            buffers = [self.buffer(part) for part in one.buffers]
            if request is None or None in buffers:
                return None
            own = tuple(part for part in buffers if part is not None)
            starts.append(replace(one, request=request, buffers=own))
        if None in completes:
            return None
        known = frozenset(part for part in completes if part is not None)
        return RequestEffects(tuple(starts), known, found.operations)

    def _is_the_same(self, part: Part) -> bool:
        """Whether a variable of the procedure is one that its caller has, too: of a module, or of
        their host."""
        if part.is_of_module:
            return True
        symbol, own = (scope.lookup(part.storage) for scope in (self.callee, self.caller))
        if symbol is None or own is None or symbol.origin is not Origin.HOST:
            return False
        return symbol.identity == own.identity

    def _request(self, part: Part) -> Part | None:
        if self._is_the_same(part):
            return part
        actual = self.bound.get(part.storage)
        found = None if actual is None else part_of(actual, self.caller)
        return None if found is None else part.of(found)

    def buffer(self, part: Part) -> Part | None:
        """A buffer in terms of the caller; None: not known, or a copy may be passed."""
        if self._is_the_same(part):
            return part
        actual, symbol = self.bound.get(part.storage), self.callee.lookup(part.storage)
        if actual is None or symbol is None or symbol.attrs & {"value", "pointer", "optional"}:
            return None
        if not isinstance(actual, Ref | Component):
            return None
        found = part_of(actual, self.caller)
        described = {dim.kind for dim in symbol.dims or ()} == {"assumed_shape"}
        structure = symbol.dims is None and bool(part.path)
        if found is None:
            return None
        if structure or "allocatable" in symbol.attrs:
            return part.of(found)
        if not described and not _is_passed_itself(actual, self.caller):
            return None
        if "contiguous" in symbol.attrs and not _is_passed_itself(actual, self.caller):
            return None
        if isinstance(actual, Component):  # programs pass the first of several components
            last = (declarations_on_the_way(actual, self.caller) or (None,))[-1]
            if last is None or "allocatable" not in last.decl.attrs:
                return Part(found.storage)
        return part.of(found)


def _is_passed_itself(actual: Expr, scope: Scope) -> bool:
    """Whether no copy of an actual argument is passed, whatever the dummy is."""
    return reference_contiguity(actual, scope).yes or _is_scalar_variable(actual, scope)


def _is_scalar_variable(actual: Expr, scope: Scope) -> bool:
    if not isinstance(actual, Ref) or actual.args is not None:
        return False
    symbol = scope.lookup(actual.name)
    return symbol is not None and symbol.dims is None and symbol.origin.is_variable


def _calls_functions(leaf: Leaf, scope: Scope) -> bool:
    """Whether an expression of a line may refer to a function of the program."""
    return any(
        isinstance(part, Ref)
        and part.args is not None
        and name_kind(part.name, True, scope) in (NameKind.PROCEDURE, NameKind.UNKNOWN)
        for what in actions(leaf.what)
        for expr in expressions_of(what)
        for part in walk(expr)
    )


def lines_of(nodes: Iterable[Node]) -> Iterator[Leaf]:
    """All lines of some statements."""
    for node in nodes:
        yield from leaves(node)
