"""Common requests of two calls: elements of request arrays, as integer sets.

The answers are yes (True), no (False) and unknown (None).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from asphalt.analysis.control_flow.graph import ControlFlow
from asphalt.analysis.control_flow.paths import closure, path_witness
from asphalt.analysis.data_flow.reaching_definitions import ReachingDefinitions
from asphalt.analysis.memory.accesses import Access, Mode
from asphalt.analysis.memory.forward_substitution import Values
from asphalt.analysis.memory.invariant_frame import loop_variable
from asphalt.analysis.memory.regions import Region, loop_bounds
from asphalt.analysis.memory.shapes import shape_of
from asphalt.analysis.memory.storage import storage_of
from asphalt.analysis.requests.counters import RequestCounters
from asphalt.analysis.requests.full_turns import in_loop_order
from asphalt.analysis.requests.operations import Does, Operation
from asphalt.analysis.symbolic.polynomials import Poly, folded
from asphalt.analysis.symbolic.problem import AffineProblem
from asphalt.ir.expr import Arg, Expr, Lit, Op, Ref, Section, names_in, walk
from asphalt.ir.records import record
from asphalt.ir.tree import Do, Leaf

Answer = tuple[bool | None, int]
_ONE = Poly.constant(1)


@record
class RequestRange:
    """Requests from ``low`` to ``high``; ``point``: a path that passes it completes all of them."""

    low: Poly
    high: Poly
    point: int


class RequestElements:
    """Questions about the requests of one unit."""

    def __init__(
        self,
        values: Values,
        reaching: ReachingDefinitions,
        operations: tuple[Operation, ...],
        changed_by: Callable[[Leaf], frozenset[str] | None] = lambda _: None,
    ) -> None:
        """``changed_by``: the storages that a completion may change as buffers; None: unknown."""
        self.values = values
        self.changed_by = changed_by
        self.reaching = reaching
        self.graph: ControlFlow = reaching.graph
        self.operations = operations
        self._changing: dict[tuple[int, int], frozenset[str]] = {}
        self._ahead: dict[int, frozenset[int]] = {}
        self._behind: dict[int, frozenset[int]] = {}
        self.counters = RequestCounters(values, reaching, operations)
        self._changed_at: dict[str, frozenset[int]] = {}
        self._completed: dict[
            tuple[int, int, int], tuple[Operation, Operation, ControlFlow, Answer]
        ] = {}

    def completed_at(
        self, start: Operation, completion: Operation, ways: ControlFlow | None = None
    ) -> Answer:
        """Whether a completion has all requests of a start, and the point that every path through
        the completion passes (the head of a loop of completions).

        ``ways``: the possible paths from the start; None: all.
        """
        graph = ways or self.graph
        key = id(start), id(completion), id(graph)
        if key not in self._completed:  # all three are kept, so that no others get their ids
            answer = self._completed_at(start, completion, graph)
            self._completed[key] = start, completion, graph, answer
        return self._completed[key][3]

    def _completed_at(self, start: Operation, completion: Operation, ways: ControlFlow) -> Answer:
        if start.storage is None or completion.storage is None:
            unknown = start.storage is None and completion.storage is None
            return (True if unknown and _same(start, completion) else None), completion.point
        if start.storage != completion.storage:
            return False, completion.point
        if start.scalar or completion.scalar:
            count = completion.count
            alone = count is None or (isinstance(count, Lit) and count.integer == 1)
            return (True if alone else None), completion.point
        if _same(start, completion):
            return True, completion.point
        if self.counters.completes(start, completion):
            return True, completion.point
        if self._is_in_one_iteration(start, completion, ways):
            return True, completion.point
        if self._has_whole_array(completion):
            return True, completion.point
        equal = self._is_one_of(start, completion)
        if equal is not None and not _not_around(completion.loops, start.loops):
            return equal, completion.point
        found = self._range(start, completion, ways)
        elements = self.elements(start, _not_around(start.loops, completion.loops))
        if found is None or elements is None:
            return None, self._outermost(start, completion)
        region = self._region(start, start, completion)
        if region.out_of_bounds(elements, 0, found.low, found.high) is None:
            return True, found.point
        ends = Section(found.low.expression(), found.high.expression(), None)
        other = Access(start.storage, Mode.WRITE, (ends,), completion.leaf)
        apart = region.conflict(elements, other, _any_order) is None
        return (False if apart else None), self._outermost(start, completion)

    def _has_whole_array(self, completion: Operation) -> bool:
        """Whether a completion has as many requests as their array of rank one, from the first
        one on: whatever the subscript of another one is, it is within the bounds."""
        actual, leaf = _actual(completion), completion.leaf
        if not isinstance(actual, Ref) or completion.count is None or completion.first is None:
            return False
        shape = shape_of(actual.name, self.values.scope, self.values, leaf)
        if shape is None or shape.rank != 1 or shape.extent[0] is None:
            return False
        first, count = (
            self.values.polynomial(expr, leaf) for expr in (completion.first, completion.count)
        )
        return first == shape.lower[0] and count == shape.extent[0]

    def _equal_numbers(self, one: Operation, other: Operation) -> bool | None:
        """Whether two single elements with constant subscripts are the same; None: they are not
        such."""
        if one.count is not None or other.count is not None:
            return None
        if one.first is None or other.first is None:
            return None
        numbers = [self._number(o.first, o) for o in (one, other) if o.first is not None]
        return None if None in numbers else numbers[0] == numbers[1]

    def _number(self, expr: Expr, at: Operation) -> int | None:
        """The number that an expression is at an operation, whenever it is executed."""
        return self.values.polynomial(expr, at.leaf).value

    def numbers(self, operation: Operation) -> range | None:
        """The subscripts of the requests of an operation; None: they are no constants."""
        first = None if operation.first is None else self._number(operation.first, operation)
        count = 1 if operation.count is None else self._number(operation.count, operation)
        return None if first is None or count is None else range(first, first + count)

    def _is_one_of(self, start: Operation, completion: Operation) -> bool | None:
        """Whether a completion with constant subscripts has a single request with a constant
        subscript; None: they are not such."""
        if start.count is not None or start.first is None or completion.first is None:
            return None
        first, low = self._number(start.first, start), self._number(completion.first, completion)
        count = 1 if completion.count is None else self._number(completion.count, completion)
        if first is None or low is None or count is None:
            return None
        return low <= first < low + count

    def _is_in_one_iteration(
        self, start: Operation, completion: Operation, ways: ControlFlow
    ) -> bool:
        """``start(r(j))`` ...  ``complete(r(j))``: one element of both, and on no path from the
        start does a variable of its subscript change before the completion."""
        first, last = start.first, completion.first
        if first is None or last is None or folded(first) != folded(last):
            return False
        if start.count is not None or completion.count is not None:
            return False
        if not all(isinstance(part, Lit | Op | Ref) for part in walk(first)):
            return False
        names = names_in(first)
        symbols = [self.values.scope.lookup(name) for name in names]
        if any(s is None or s.dims is not None or not s.origin.is_variable for s in symbols):
            return False
        storages = {storage_of(name, self.values.scope) for name in names}
        changes = {point for s in storages for point in self._changes(s)}
        here = completion.point
        return path_witness(ways, [start.point], changes - {here}, {here}) is None

    def _changes(self, storage: str) -> frozenset[int]:
        """The points at which a variable may change."""
        if storage not in self._changed_at:
            accesses = self.reaching.accesses
            changes = accesses.defining(storage) | accesses.everywhere
            if accesses.is_exposed(storage):
                changes |= accesses.exposing
            self._changed_at[storage] = changes
        return self._changed_at[storage]

    def _outermost(self, start: Operation, completion: Operation) -> int:
        """The head of the outermost loop that encloses a completion but not the start."""
        own = _not_around(completion.loops, start.loops)
        return self.graph.of(own[0].head)[-1] if own else completion.point

    def same_request(self, start: Operation, other: Operation) -> bool | None:
        """Whether two starts may use the same request, one after the other."""
        if start.storage is None or other.storage is None:
            both = start.storage is None and other.storage is None
            return None if both else False
        if start.storage != other.storage:
            return False
        if start.scalar or other.scalar or _same(start, other):
            return True
        if start.first is None or other.first is None:
            return None
        equal = self._equal_numbers(start, other)
        if equal is not None:
            return equal
        counter = self.counters.counter(start)
        if counter is not None and counter == self.counters.counter(other):
            return False
        one = self.elements(start, start.loops)
        two = self.elements(other, other.loops)
        if one is None or two is None:
            return None
        region = self._region(start, start, other)
        if region.conflict(one, two, _any_order) is None:
            return False
        low, high = region.value(start.first, ()), region.value(other.first, ())
        fixed = start.count is None and other.count is None and low is not None
        return True if fixed and low == high else None

    def distance(self, start: Operation, other: Operation) -> Poly | None:
        """How many elements the request of another start is behind that of a start; None: it may
        change, or they do not have one request each of one array."""
        if start.storage is None or start.storage != other.storage:
            return None
        if start.first is None or other.first is None:
            return None
        if start.count is not None or other.count is not None:
            return None
        region = self._region(start, start, other)
        low = region.value_at(start.first, start.leaf, ())
        high = region.value_at(other.first, other.leaf, ())
        return None if low is None or high is None else high - low

    def repeated(self, start: Operation, loops: tuple[Do, ...]) -> bool | None:
        """Whether a start in some loops uses a request again in a later iteration of one."""
        if start.storage is None:
            return None
        if start.scalar:
            return True
        if start.first is None:
            return None
        if self.counters.counter(start) is not None:
            return False
        region = self._region(start, start, start)
        fixed = region.value(start.first, ())
        if fixed is not None and not any(
            loop_variable(loop) in names_in(atom) for loop in loops for atom in fixed.atoms
        ):
            return True
        elements = self.elements(start, loops)
        if elements is None or any(loop_variable(loop) is None for loop in loops):
            return None
        names = [name for loop in loops if (name := loop_variable(loop)) is not None]
        for level, name in enumerate(names):

            def order(
                problem: AffineProblem,
                one: Mapping[str, str],
                two: Mapping[str, str],
                level: int = level,
                name: str = name,
            ) -> None:
                for outer in names[:level]:
                    problem.compare(one[outer], "=", two[outer])
                problem.compare(one[name], "<", two[name])

            if region.conflict(elements, elements, order) is not None:
                return None
        return False

    def elements(self, start: Operation, loops: tuple[Do, ...]) -> Access | None:
        """The requests of a start in all iterations of these loops, as an access."""
        if start.first is None or start.storage is None:
            return None
        subscript: Expr | Section = start.first
        if start.count is None and loops:
            region = self._region(start, start, start)
            subscript = in_loop_order(start.first, start.storage, start.leaf, loops, region)
        if start.count is not None:
            last = Op("-", (Op("+", (start.first, start.count)), Lit("integer", "1")))
            subscript = Section(start.first, last, None)
        counted = tuple(loop for loop in loops if loop_variable(loop) is not None)
        return Access(start.storage, Mode.WRITE, (subscript,), start.leaf, counted)

    def _range(
        self, start: Operation, completion: Operation, ways: ControlFlow
    ) -> RequestRange | None:
        """The requests of a completion, which stands alone or in one loop without early exit."""
        own = _not_around(completion.loops, start.loops)
        if completion.first is None or len(own) > 1:
            return None
        region = self._region(completion, start, completion)
        low = region.value(completion.first, own)
        if low is None and own and completion.storage is not None:
            around = in_loop_order(
                completion.first, completion.storage, completion.leaf, own, region
            )
            low = region.value(around, own)
        count = _ONE if completion.count is None else None
        if completion.count is not None:
            count = region.value(completion.count, ())
        if low is None or count is None:
            return None
        if not own:
            return RequestRange(low, low + count - _ONE, completion.point)
        bounds = loop_bounds(own[0], region)
        variable = loop_variable(own[0])
        point = self.whole_loop(own[0], completion.point, ways)
        if bounds is None or variable is None or point is None or completion.count is not None:
            return None
        if any(self._may_use_again(start, other, own[0]) for other in self.operations):
            return None  # before the iteration that completes it, maybe
        atom = Ref(variable, variable)
        powers = low.coefficients(atom)
        if set(powers) - {0, 1} or 1 not in powers or powers[1].value not in (1, -1):
            return None
        rest = powers.get(0, Poly())
        ends = [powers[1] * bound + rest for bound in (bounds.first, bounds.last)]
        upwards = bounds.direction * (powers[1].value or 0) > 0
        low, high = ends if upwards else ends[::-1]
        return RequestRange(low, high, point)

    def _may_use_again(self, start: Operation, other: Operation, loop: Do) -> bool:
        """Whether an operation in a loop may be started with the request of another one."""
        inside = other.does is not Does.COMPLETE and any(loop is one for one in other.loops)
        return inside and self.same_request(start, other) is not False

    def whole_loop(self, loop: Do, point: int, ways: ControlFlow) -> int | None:
        """The head of a loop that completes in every iteration and exits only after the last one;
        None: there is none."""
        graph = self.graph
        inside = graph.inside(loop)
        step = graph.of(loop.head)[-1]
        for here in inside - {step}:
            if any(there not in inside for there in ways.successors[here]):
                return None
        outside = frozenset(range(len(graph.points))) - inside
        if path_witness(ways, [step], {step}, {point} | outside) is not None:
            return None
        return step

    def region_of(self, one: Operation, others: Iterable[Operation]) -> Region:
        """The region from an operation to others, for what is invariant in it."""
        points = [one.point, *(other.point for other in others)]
        changing = (self._between(first, last) for first in points for last in points)
        return Region(self.values, one.leaf, frozenset[str]().union(*changing))

    def _region(self, at: Operation, first: Operation, last: Operation) -> Region:
        changing = self._between(first.point, last.point)
        return Region(self.values, at.leaf, changing)

    def _between(self, first: int, last: int) -> frozenset[str]:
        """The storages that may be defined on a path from one point to another, or around one."""
        key = (first, last)
        if key not in self._changing:
            points = {first, last} | (self._reached(first) & self._reaching(last))
            accesses = self.reaching.accesses
            done = [(accesses.at(point), self._as_buffers(point)) for point in points]
            found = {storage for one, _ in done for storage in one.defined}
            found.update(*(known for _, known in done if known is not None))
            if any(one.everything for one, _ in done):
                found |= self.reaching.storages
            elif any(one.exposed and known is None for one, known in done):
                found |= {s for s in self.reaching.storages if accesses.is_exposed(s)}
            self._changing[key] = frozenset(found)
        return self._changing[key]

    def _as_buffers(self, point: int) -> frozenset[str] | None:
        """What a completion at a point may change as buffers of its operations; None: it is none,
        or that is unknown."""
        end = self._ends.get(point)
        return None if end is None else self.changed_by(end.leaf)

    @cached_property
    def _ends(self) -> dict[int, Operation]:
        """The first completion at each point."""
        ends = [o for o in self.operations if o.does is Does.COMPLETE]
        return {end.point: end for end in reversed(ends)}

    def _reached(self, point: int) -> frozenset[int]:
        if point not in self._ahead:
            self._ahead[point] = closure(self.graph.successors, (point,))
        return self._ahead[point]

    def _reaching(self, point: int) -> frozenset[int]:
        if point not in self._behind:
            self._behind[point] = closure(self.graph.predecessors, (point,))
        return self._behind[point]


def _not_around(loops: tuple[Do, ...], others: tuple[Do, ...]) -> tuple[Do, ...]:
    return tuple(loop for loop in loops if not any(loop is other for other in others))


def _same(one: Operation, two: Operation) -> bool:
    """Whether two calls name the same single request, by a designator without variables."""
    if one.count is not None or two.count is not None:
        return False
    first, second = _actual(one), _actual(two)
    if folded(first) != folded(second):
        return False
    return all(isinstance(arg, Lit) for arg in _subscripts(first))


def _actual(operation: Operation) -> Expr:
    name = next(p.name for p in operation.call.procedure.parameters if p.kind == "REQUEST")
    return operation.call.args[name]


def _subscripts(expr: Expr) -> tuple[Arg, ...]:
    own = tuple(getattr(expr, "args", None) or ())
    base = getattr(expr, "base", None)
    return own if base is None else (*own, *_subscripts(base))


def _any_order(problem: AffineProblem, one: Mapping[str, str], two: Mapping[str, str]) -> None:
    """No constraint: every pair of iterations counts."""
