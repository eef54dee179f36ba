"""Request arrays that a counter fills: ``start(r(n + 1)); n = n + 1`` ... ``waitall(n, r)``.

Between two starts, and between a start and its completion, the counter grows by certain amounts.
They are found on all paths, so that the order of starts and increments, and the conditions around
them, do not matter.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from asphalt.analysis.control_flow.graph import ENTRY
from asphalt.analysis.data_flow.reaching_definitions import Definition, ReachingDefinitions
from asphalt.analysis.memory.forward_substitution import Values
from asphalt.analysis.memory.storage import storage_of
from asphalt.analysis.mpi.library_effects import Quantity
from asphalt.analysis.names.scopes import Origin
from asphalt.analysis.requests.operations import Does, Operation
from asphalt.analysis.symbolic.polynomials import folded
from asphalt.ir.expr import Arg, Lit, Op, Ref
from asphalt.ir.stmt import Assign

_MOST = 64
"""The largest increment, and the largest distance of a subscript from the counter."""

_ELSEWHERE = frozenset({"pointer", "target", "volatile", "asynchronous", "optional"})

Counted = tuple[str, int]


class RequestCounters:
    """The counters of the request arrays of one unit."""

    def __init__(
        self, values: Values, reaching: ReachingDefinitions, operations: tuple[Operation, ...]
    ) -> None:
        self.values = values
        self.reaching = reaching
        self.graph = reaching.graph
        self.operations = operations
        self._counting: dict[str, bool] = {}

    def counter(self, start: Operation) -> str | None:
        """The variable that counts the requests of an array: no two of them that are started one
        after the other, without a completion of all, are the same.  Its first value may be one
        that the unit is called with."""
        counted = _counted(start)
        return counted[0] if counted is not None and self._counts(start, counted[0]) else None

    def _counts(self, start: Operation, name: str) -> bool:
        key = f"{start.storage}:{name}"
        if key not in self._counting:
            self._counting[key] = self._is_counting(name, start.storage)
        return self._counting[key]

    def completes(self, start: Operation, completion: Operation) -> bool:
        """Whether a completion of the first ``n`` requests has that of a start, which ``n``
        counts."""
        name = self.counter(start)
        count, first = completion.count, completion.first
        if name is None or not isinstance(count, Ref) or count.args is not None:
            return False
        if self._is_given(name, start.storage):
            return False
        if count.name != name or first != Lit("integer", "1"):
            return False
        _, offset = _counted(start) or ("", 0)
        ends = self._ends(name, start.storage) | {completion.point}
        grown = self._growth(start, name, ends, max(0, offset - 1))
        return grown is not None and not any(
            point == completion.point and by < offset for point, by in grown
        )

    def _is_counting(self, name: str, storage: str | None) -> bool:
        """Whether a variable only counts the requests of an array."""
        symbol = self.values.scope.lookup(name)
        if symbol is None or symbol.type is None or symbol.type.base != "integer" or symbol.dims:
            return False
        own = storage_of(name, self.values.scope)
        found = self.reaching.definitions(own)
        if not all(
            d.leaf is None or _added(d, name) is not None or _number(d) is not None for d in found
        ):
            return False
        starts = [o for o in self.operations if o.storage == storage and _starts(o)]
        counted = [(o, c[1]) for o in starts if (c := _counted(o)) is not None and c[0] == name]
        if len(counted) < len(starts):
            return False
        given = self._is_given(name, storage)
        if given and (symbol.origin is not Origin.DUMMY or symbol.attrs & _ELSEWHERE):
            return False
        # what it is called with may leave requests out of the first ones
        ends = frozenset() if given else self._ends(name, storage)
        for one, offset in counted:
            if not given and not self._is_positive(one, name, offset):
                return False
            grown = self._growth(one, name, ends, offset + _MOST)
            if grown is None:
                return False
            for other, there in counted:
                if any(point == other.point and by + there == offset for point, by in grown):
                    return False
        return True

    def _is_given(self, name: str, storage: str | None) -> bool:
        """Whether a variable may have a value that the unit does not give it where it counts."""
        own = storage_of(name, self.values.scope)
        found = self.reaching.definitions(own)
        points = {o.point for o in self.operations if o.storage == storage and _starts(o)}
        points |= {d.point for d in found if _added(d, name)}
        return any(d.point == ENTRY for point in points for d in self.reaching.at(point, own))

    def _ends(self, name: str, storage: str | None) -> frozenset[int]:
        """The points that complete all requests that a variable has counted."""
        return frozenset(
            o.point
            for o in self.operations
            if o.does is Does.COMPLETE and o.certain and o.quantity is Quantity.ALL
            if o.storage == storage and o.first == Lit("integer", "1")
            if isinstance(o.count, Ref) and o.count.name == name and o.count.args is None
        )

    def _is_positive(self, start: Operation, name: str, offset: int) -> bool:
        """Whether a subscript is at least one: the counter was set to a number, and has grown by
        some amount since."""
        if offset >= 1:
            return True  # it is not negative
        own = storage_of(name, self.values.scope)
        resets = [d for d in self.reaching.definitions(own) if _number(d) is not None]
        return all(
            by + (_number(reset) or 0) + offset >= 1
            for reset in resets
            for point, by in self._sums(reset.point, name, frozenset(), _MOST)[0]
            if point == start.point
        )

    def _growth(
        self, start: Operation, name: str, ends: AbstractSet[int], most: int
    ) -> frozenset[tuple[int, int]] | None:
        """The points behind a start up to some others, each with how much the counter may have
        grown there, up to ``most``; None: it may be set to a number before."""
        found, reset = self._sums(start.point, name, ends, most)
        return None if reset else found

    def _sums(
        self, point: int, name: str, ends: AbstractSet[int], most: int
    ) -> tuple[frozenset[tuple[int, int]], bool]:
        own = storage_of(name, self.values.scope)
        definitions = self.reaching.definitions(own)
        added = {d.point: by for d in definitions if (by := _added(d, name)) is not None}
        resets = {d.point for d in definitions if d.leaf is not None and d.point not in added}
        seen: set[tuple[int, int]] = set()
        waiting = [(target, 0) for target in self.graph.successors[point]]
        reset = False
        while waiting:
            here, by = waiting.pop()
            if (here, by) in seen:
                continue
            seen.add((here, by))
            if here in ends:
                continue
            if here in resets:
                reset = True
                continue
            grown = min(by + added.get(here, 0), most + 1)
            waiting += [(target, grown) for target in self.graph.successors[here]]
        return frozenset(seen), reset


def _starts(operation: Operation) -> bool:
    return operation.does is not Does.COMPLETE


def _counted(start: Operation) -> Counted | None:
    """The counter in the subscript of a single request, and what is added to it."""
    if start.count is not None or start.first is None:
        return None
    match folded(start.first):
        case Ref(name=name, args=None):
            return name, 0
        case Op(op="+", operands=(Ref(name=name, args=None), Lit() as lit)):
            return _within(name, lit, 1)
        case Op(op="+", operands=(Lit() as lit, Ref(name=name, args=None))):
            return _within(name, lit, 1)
        case Op(op="-", operands=(Ref(name=name, args=None), Lit() as lit)):
            return _within(name, lit, -1)
    return None


def _within(name: str, lit: Lit, sign: int) -> Counted | None:
    value = lit.integer
    return None if value is None or value > _MOST else (name, sign * value)


def _added(definition: Definition, name: str) -> int | None:
    """The positive number that a definition adds to a variable."""
    what = definition.leaf.action if definition.leaf is not None else None
    if not isinstance(what, Assign) or not definition.sure:
        return None
    found = _sum(folded(what.value), name)
    return found if found is not None and 1 <= found <= _MOST else None


def _sum(value: Arg, name: str) -> int | None:
    match value:
        case Op(op="+", operands=(Ref(name=other, args=None), Lit() as lit)) if other == name:
            return lit.integer
        case Op(op="+", operands=(Lit() as lit, Ref(name=other, args=None))) if other == name:
            return lit.integer
    return None


def _number(definition: Definition) -> int | None:
    """The number, not negative, that a definition sets a variable to."""
    what = definition.leaf.action if definition.leaf is not None else None
    if not isinstance(what, Assign) or not definition.sure:
        return None
    return what.value.integer if isinstance(what.value, Lit) else None
