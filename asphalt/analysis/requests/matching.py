"""Matching of starts and completions: sends, receives and waits within one unit.

A start is *matched* if on every path from it to the return of the unit, or to a start that uses the
same request again, a call certainly completes it (MPI-4.0 sections 3.7.3 and 3.9).  A path without
any completion makes it *unmatched*, and is the witness.  If a call may or may not be a completion
(a test with a flag, one of several requests, another procedure), the answer is *unknown*.  A
directive ``!$asphalt match(id)`` on start and completion, or on a blocking send and its receive,
gives the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from asphalt.analysis.control_flow.graph import ENTRY, ControlFlow, PointRole
from asphalt.analysis.control_flow.paths import Path, closure, path_witness
from asphalt.analysis.data_flow.iteration_paths import possible_paths
from asphalt.analysis.data_flow.reaching_definitions import ReachingDefinitions
from asphalt.analysis.memory.accesses import ALIASED
from asphalt.analysis.memory.forward_substitution import Values
from asphalt.analysis.memory.storage import storage_of
from asphalt.analysis.mpi.call import MpiCall, mpi_call
from asphalt.analysis.mpi.library_effects import Quantity
from asphalt.analysis.mpi.procedures import MpiProcedure, Timing
from asphalt.analysis.names.derived_types import may_begin_defined
from asphalt.analysis.names.openmp_sentinels import conditional_statements
from asphalt.analysis.names.scopes import Scope
from asphalt.analysis.requests.elements import RequestElements
from asphalt.analysis.requests.local import OwnRequests
from asphalt.analysis.requests.lost import Losses
from asphalt.analysis.requests.operations import Does, Operation, operations
from asphalt.analysis.requests.partial import PartialRequests
from asphalt.analysis.requests.present_values import alone_complete_now, is_not_zero_now
from asphalt.ir.expr import root_name
from asphalt.ir.records import record
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Branch, Do, Leaf


@record
class Matched:
    """A start and all calls that may complete it; ``directive``: the user says so."""

    leaf: Leaf
    call: MpiCall
    partners: tuple[Leaf, ...]
    directive: str | None = None

    @property
    def is_blocking(self) -> bool:
        """Whether it is a transfer that is complete on return; the partner is the matching call."""
        return is_blocking_transfer(self.call.procedure)


@record
class Unmatched:
    """A start that a path leaves without completion, or a wait that no start reaches.

    ``certain``: whatever the conditions on the path are, so that it is an error of the program as
    soon as the statement is executed (in a loop: twice).
    """

    leaf: Leaf
    call: MpiCall
    reason: str
    path: Path | None
    certain: bool = False
    does: Does = Does.START


@record
class Unknown:
    """No answer; ``path`` is one that would need a completion."""

    leaf: Leaf
    call: MpiCall
    reason: str
    path: Path | None = None


Match = Matched | Unmatched | Unknown

OUTLIVES = "the request outlives the procedure, whose caller may complete it"
_POINT_TO_POINT = frozenset({"send", "recv", "sendrecv"})  # families of the MPI table


def matching(
    scope: Scope,
    values: Values,
    reaching: ReachingDefinitions,
    named: Mapping[str, tuple[Leaf, ...]] | None = None,
    own: OwnRequests | None = None,
) -> tuple[Match, ...]:
    """The answers for each start, each unreached wait and each blocking transfer of a unit, in
    source order.

    ``named``: the statements that directives name, by id (``directives.matches``).  ``own``: the
    requests of the unit, if they are known already.
    """
    if own is None:
        own = OwnRequests(scope, values, reaching, operations(reaching, scope, values))
    return tuple(_Matcher(scope, values, reaching, own, named or {}).all())


class _Matcher:
    """The matching of one unit."""

    def __init__(
        self,
        scope: Scope,
        values: Values,
        reaching: ReachingDefinitions,
        own: OwnRequests,
        named: Mapping[str, tuple[Leaf, ...]],
    ) -> None:
        found = own.found
        self.scope = scope
        self.values = values
        self.graph = reaching.graph
        self.reaching = reaching
        self.found = found
        self.elements = RequestElements(values, reaching, found, own.changed_by)
        self.facts = own.branches.knowing(own.changed_by)
        self.losses = Losses(values, reaching)
        self.partial = PartialRequests(self.elements)
        self.named = {id(leaf): name for name, group in named.items() for leaf in group}
        self.groups = named
        self.starts = [o for o in found if o.does in (Does.START, Does.RUN)]
        self.ends = [o for o in found if o.does in (Does.COMPLETE, Does.RELEASE)]
        self.own_points = {o.point for o in found}
        self.unseen = next((text for _, text in conditional_statements(scope.unit)), None)

    def all(self) -> Iterator[Match]:
        """All answers, one for each statement that has one."""
        by_point = {o.point: o for o in self.found}
        for point in self.graph.points:
            if point.number in self.graph.dead:
                continue
            operation = by_point.get(point.number)
            if operation is not None and operation in self.starts:
                yield self._start(operation)
            elif operation is not None and operation.does is Does.COMPLETE:
                unreached = self._unreached(operation)
                if unreached is not None:
                    yield unreached
            elif isinstance(point.what, Call) and point.leaf is not None:
                call = mpi_call(point.what, self.scope)
                if call is not None and is_blocking_transfer(call.procedure):
                    yield self._blocking(point.leaf, call)

    def _start(self, start: Operation) -> Match:
        said = self._by_directive(start.leaf, start.call, (o.leaf for o in self.ends))
        if said is not None:
            return said
        if self.unseen is not None:
            reason = f"asphalt does not analyse lines for OpenMP alone: {self.unseen}"
            return Unknown(start.leaf, start.call, reason)
        partly = self._partly(start)
        if partly is not None:
            return partly
        certainly: list[tuple[int, Operation]] = []
        doubtful: list[tuple[int, Operation]] = []
        maybe: dict[int, str] = dict(self._others(start))
        alone = not maybe
        graph = self.facts.pruned(start.point)
        for end in self.ends:
            has, point = self.elements.completed_at(start, end, graph)
            if has is False:
                continue
            whole = end.quantity is Quantity.ALL
            if has and whole and end.certain:
                certainly.append((point, end))
            else:
                maybe[point] = _why_maybe(end, bool(has))
                doubtful.append((point, end))
        outlives = self._outlives(start)
        possible = [end for _, end in (*certainly, *doubtful)]
        if doubtful and alone and not outlives and self._complete_now(start, possible):
            certainly, doubtful, maybe = [(e.point, e) for e in possible], [], {}
        sure = {point for point, _ in certainly}
        graph = possible_paths(self.facts, graph, start.point, start.loops, sure)
        again, perhaps = self._again(start, sure, alone)
        leaving = self.losses.leaving
        ends = again | (frozenset() if outlives else leaving)
        completing = {*sure, *maybe}
        open_way = path_witness(graph, [start.point], ends, completing)
        if open_way is not None:
            where = "used again" if open_way.points[-1] in again else "left"
            reason = f"the request is {where} before the operation is complete"
            decided = completing | self._deciding(start, completing)
            certain = path_witness(graph, [start.point], ends, decided)
            if certain is not None:
                lost = self.losses.certain(start, graph, ends, completing)
                if lost is None:
                    return Unmatched(start.leaf, start.call, reason, certain)
                return Unmatched(start.leaf, start.call, reason + lost.condition, lost.path, True)
            why = self.losses.doubtful(reason, possible, open_way)
            return Unknown(start.leaf, start.call, why, open_way)
        way = path_witness(graph, [start.point], {*leaving, *again, *perhaps}, sure)
        if way is not None:
            passed = [maybe[p] for p in way.points if p in maybe]
            reason = passed[0] if passed else self._why_open(start, way.points[-1])
            return Unknown(start.leaf, start.call, reason, way)
        partners = self._first_passed(start, graph, certainly, sure)
        if not partners:
            return Unknown(start.leaf, start.call, "no path from it reaches the return")
        perhaps_first = self._first_passed(start, graph, doubtful, sure)
        return Matched(start.leaf, start.call, (*partners, *perhaps_first))

    def _partly(self, start: Operation) -> Unmatched | None:
        """Requests of an array that certainly no completion has, whatever their values."""
        known = start.does is Does.START and not self._outlives(start)
        if not known or not start.loops or next(self._others(start), None) is not None:
            return None
        graph = self.facts.pruned(start.point)
        left = self.partial.left_over(start, self.ends, graph)
        way = None if left is None else self.losses.to_the_end(start, graph)
        if way is None:
            return None
        reason = f"no call completes {left}"
        return Unmatched(start.leaf, start.call, reason, way, True)

    def _complete_now(self, start: Operation, ends: list[Operation]) -> bool:
        """Whether all calls that may complete a start do, by the values that constants have now,
        wherever they are executed."""
        around = {id(loop) for loop in start.loops}
        if any(id(loop) not in around for end in ends for loop in end.loops):
            return False
        return alone_complete_now(self.values, start, ends)

    def _why_open(self, start: Operation, last: int) -> str:
        if last in self.losses.leaving:
            return OUTLIVES
        line = self.graph.points[last].line
        if last == start.point and start.loops:
            around = f"the loop of line {start.loops[-1].head.line}"
            return f"another iteration of {around} may use the same request, before it is complete"
        return f"line {line} may use the same request before the operation is complete"

    def _is_chosen_in(self, start: Operation, loop: Do) -> bool:
        """Whether a condition in a loop chooses the iterations with a start."""
        point = self.graph.points[start.point]
        inside = point.around[1 + next(n for n, o in enumerate(point.around) if o is loop) :]
        return point.role is PointRole.ACTION or any(isinstance(o, Branch) for o in inside)

    def _deciding(self, start: Operation, completing: set[int]) -> set[int]:
        """The branches that choose between paths with and without completion and that control may
        reach without the start: what they test may depend on whether the start was executed.

        A loop around the start does not count: it is one because it is repeated.  It does where a
        condition in the loop chooses the iterations with the start.
        """
        dominators = self.reaching.dominance.dominators
        around = {
            point
            for loop in start.loops
            if not self._is_chosen_in(start, loop)
            for point in self.graph.of(loop.head)
        }
        before = closure(self.graph.predecessors, completing)
        return {
            point
            for point, targets in enumerate(self.graph.successors)
            if len(targets) > 1
            and point != start.point
            and point not in around
            and point in before
            and not dominators.dominates(start.point, point)
        }

    @staticmethod
    def _first_passed(
        start: Operation,
        graph: ControlFlow,
        ends: Iterable[tuple[int, Operation]],
        sure: AbstractSet[int],
    ) -> tuple[Leaf, ...]:
        """The completions on paths from the start before one that is certain."""
        return tuple(
            end.leaf
            for point, end in ends
            if path_witness(graph, [start.point], {point}, sure - {point}) is not None
        )

    def _again(
        self, start: Operation, sure: AbstractSet[int], alone: bool
    ) -> tuple[frozenset[int], frozenset[int]]:
        """The points that start an operation with the same request: certainly, and perhaps;
        ``alone``: no other statement accesses the request."""
        certain: set[int] = set()
        perhaps: set[int] = set()
        for other in self.starts:
            if other.point == start.point:
                same = self._in_a_later_iteration(start, sure)
            else:
                same = self.elements.same_request(start, other)
                if same is None and alone:
                    distance = self.elements.distance(start, other)
                    same = False if is_not_zero_now(self.values, distance) else None
            if same is not False:
                (certain if same else perhaps).add(other.point)
        return frozenset(certain), frozenset(perhaps)

    def _in_a_later_iteration(self, start: Operation, sure: AbstractSet[int]) -> bool | None:
        """Whether a start that is executed again, uncompleted, uses the same request."""
        if path_witness(self.graph, [start.point], {start.point}, sure) is None:
            return False
        loops: list[Do] = []
        heads: set[int] = set()
        for loop in start.loops:
            step = self.graph.of(loop.head)[-1]
            out = path_witness(self.graph, [start.point], {step}, sure)
            back = path_witness(self.graph, [step], {start.point}, sure)
            if out is not None and back is not None:
                loops.append(loop)
                heads.add(step)
        other = path_witness(self.graph, [start.point], {start.point}, {*sure, *heads})
        if other is not None and not start.scalar:  # round by a jump
            return False if self.elements.repeated(start, ()) is False else None
        return self.elements.repeated(start, tuple(loops))

    def _others(self, start: Operation) -> Iterator[tuple[int, str]]:
        """Other points that may complete an operation, or lose its request."""
        accesses = self.reaching.accesses
        root = start.root
        at = self._around(start) if root is None else (root,)
        named = frozenset[int]().union(*(accesses.using(s) | accesses.defining(s) for s in at))
        if root is not None and "%" in (start.storage or ""):
            named = frozenset(n for n in named if self._touches(n, start.storage or ""))
        found = named | accesses.everywhere
        if root is None or accesses.is_exposed(root):
            found |= accesses.exposing
        for number in sorted(found - self.own_points):
            if not self._only_asks(number):
                yield number, f"line {self.graph.points[number].line} may access the request"

    def _around(self, start: Operation) -> tuple[str, ...]:
        """The storages that a request which is no object of its own may be part of."""
        parameter = next(p for p in start.call.procedure.parameters if p.kind == "REQUEST")
        actual = start.call.args.get(parameter.name)
        root = None if actual is None else root_name(actual)
        return (ALIASED,) if root is None else (ALIASED, storage_of(root, self.scope))

    def _touches(self, point: int, storage: str) -> bool:
        root, *path = storage.split("%")
        for access in self.reaching.accesses.footprint(point).accesses:
            shared = min(len(path), len(access.path))
            if access.storage == root and list(access.path[:shared]) == path[:shared]:
                return True
        return False

    def _only_asks(self, point: int) -> bool:
        """Whether a point is an MPI call that has a request without completing it."""
        what = self.graph.points[point].what
        call = mpi_call(what, self.scope) if isinstance(what, Call) else None
        return call is not None and any(p.kind == "REQUEST" for p in call.procedure.parameters)

    def _outlives(self, operation: Operation) -> bool:
        """Whether another procedure may complete a request after the unit has returned."""
        root = operation.root
        if root is None:
            return True
        symbol = self.scope.lookup(root)
        local = symbol is not None and symbol.origin.value == "local"
        return not local or self.reaching.accesses.is_exposed(root)

    def _unreached(self, end: Operation) -> Match | None:
        """A wait for a local request with which the unit starts no operation."""
        if self._by_directive(end.leaf, end.call, (o.leaf for o in self.starts)) is not None:
            return None
        if self._outlives(end) or self.unseen is not None or end.storage is None:
            return None
        root = end.root
        assert root is not None
        starts = [o for o in self.found if o.does not in (Does.COMPLETE, Does.RELEASE)]
        left = self.partial.left_over(end, starts, self.graph)
        points = {o.point for o in (self.ends if left is None else self.found)} | {ENTRY}
        if any(d.point not in points for d in self.reaching.at(end.point, root)):
            return None
        for other in starts if left is None else ():
            has, _ = self.elements.completed_at(other, end)
            if has is not False and self._leads(other.point, end.point):
                return None
        path = path_witness(self.graph, [ENTRY], {end.point})
        if path is None:
            return None
        reason = "no operation that this procedure starts reaches this wait"
        if left is not None:
            reason = f"no call starts an operation with {left}"
        symbol = self.scope.lookup(root)
        component = tuple(end.storage.split("%")[1:])
        begins_null = symbol is None or may_begin_defined(symbol, component)
        count = None if end.count is None else self.values.constants(end.count).value
        some = end.count is None or (count is not None and count >= 1)
        certain = some and not begins_null
        return Unmatched(end.leaf, end.call, reason, path, certain, Does.COMPLETE)

    def _leads(self, here: int, there: int) -> bool:
        return path_witness(self.graph, [here], {there}) is not None

    def _blocking(self, leaf: Leaf, call: MpiCall) -> Match:
        """A blocking transfer is complete on return; only a directive gives its matching call."""
        name = self.named.get(id(leaf))
        partners = tuple(
            other for other in self.groups.get(name or "", ()) if self._is_other_side(call, other)
        )
        if name is not None and partners:
            return Matched(leaf, call, partners, name)
        return completed_on_return(leaf, call)

    def _is_other_side(self, call: MpiCall, leaf: Leaf) -> bool:
        action = self.graph.action(leaf)
        what = self.graph.points[action].what if action is not None else None
        other = mpi_call(what, self.scope) if isinstance(what, Call) else None
        mine = call.procedure.exchange
        theirs = None if other is None else other.procedure.exchange
        if mine is None or theirs is None:
            return False
        sends = mine.send is not None and theirs.receive is not None
        return sends or (mine.receive is not None and theirs.send is not None)

    def _by_directive(self, leaf: Leaf, call: MpiCall, partners: Iterable[Leaf]) -> Matched | None:
        name = self.named.get(id(leaf))
        if name is None:
            return None
        group = {id(other) for other in self.groups[name]}
        found = tuple(other for other in partners if id(other) in group)
        return Matched(leaf, call, found, name) if found else None


def completed_on_return(leaf: Leaf, call: MpiCall) -> Unknown:
    """The answer for a blocking transfer: no directive names its matching call."""
    return Unknown(leaf, call, "its matching call is unknown")


def is_blocking_transfer(procedure: MpiProcedure) -> bool:
    """Whether a procedure sends or receives a message and returns when its buffer is free."""
    exchange = procedure.exchange
    blocking = procedure.timing is Timing.BLOCKING
    return exchange is not None and blocking and exchange.family in _POINT_TO_POINT


def _why_maybe(end: Operation, has: bool) -> str:
    spelled = end.call.procedure.spelled
    if has and not end.certain:
        return f"{spelled} in line {end.line} completes it only if its flag is true"
    if end.quantity is not Quantity.ALL:
        return f"{spelled} in line {end.line} completes {end.quantity.value}"
    return f"{spelled} in line {end.line} may have another request"
