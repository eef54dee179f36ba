"""The state of charging a unit: the loops around, the names, what could not be charged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from asphalt.analysis.cost.classes import UNKNOWN, CoreCache
from asphalt.analysis.cost.expressions import EnclosingLoop, OperationCounter
from asphalt.analysis.cost.scalar_replacement import expressions
from asphalt.analysis.cost.trip_counts import is_harmless, is_repeatable
from asphalt.analysis.cost.types import Surroundings, is_user_function
from asphalt.analysis.mpi.call import mpi_function
from asphalt.analysis.names.scopes import Scope
from asphalt.ir.expr import Component, Expr, Ref, walk
from asphalt.ir.records import record
from asphalt.ir.source import Form
from asphalt.ir.stmt import Call, ConcurrentHeader, JumpKind, What
from asphalt.ir.tree import Node, leaves
from asphalt.transforms.charging.edit import Charge

Waits = Callable[[Call, Scope], bool]
"""Whether a call may communicate without charging by itself what came before."""
Headers = Callable[[str], ConcurrentHeader | None]
"""Reads the header of DO CONCURRENT or FORALL; None: not understood."""
ENDS = (JumpKind.STOP, JumpKind.ERROR_STOP)
"""Jumps after which nothing is charged any more."""


@record
class Costs:
    """Seconds of an operation of each class, and until its result can be used; ``window``: seconds
    of the operations that a processor overlaps, 0 for any number of them; ``cache``: what the
    caches of a core hold."""

    seconds: Mapping[str, float]
    latency: Mapping[str, float]
    window: float = 0.0
    cache: CoreCache = UNKNOWN


@record
class NotCharged:
    """Computation that is not charged: its position, and why."""

    file: str
    line: int
    message: str


@record
class Placed:
    """Statements with their cost: ``due`` is to be charged before the statement number ``at``
    of ``nodes``.  ``closed``: control runs through all of them, none of which communicates."""

    nodes: tuple[Node, ...]
    due: tuple[Charge, ...]
    at: int
    closed: bool


Blocks = Callable[[tuple[Node, ...]], Placed]
"""Charges the statements inside of a construct."""


@dataclass
class ChargerState:
    """The position of the charging in its unit.

    ``estimating``: costs are summed up, nothing is inserted.  ``floor``: what is invariant is not
    moved out of the loops up to this number.  ``selectors``: of the ASSOCIATE constructs around.
    ``ends_of_loops``, ``targets``: labels that end loops, and labels that statements go to.
    """

    scope: Scope
    costs: Costs
    waits: Waits
    form: Form
    eol: str
    header: Headers = lambda text: None
    not_charged: list[NotCharged] = field(default_factory=list)
    estimating: bool = False
    loops: tuple[EnclosingLoop, ...] = ()
    floor: int = 0
    selectors: Mapping[str, Expr] = field(default_factory=dict)
    ends_of_loops: frozenset[int] = frozenset()
    targets: frozenset[int] = frozenset()
    _line: int = 0

    @property
    def around(self) -> Surroundings:
        """The scope, with the names of the ASSOCIATE constructs around."""
        return Surroundings(self.scope, self.selectors)

    def counter(self) -> OperationCounter:
        """A counter for the statements here."""
        return OperationCounter(self.around, self.loops, self.floor)

    def refuse(self, node: Node, message: str) -> None:
        """Record that something at a node is not charged."""
        line = self._line_of(node)
        self.not_charged.append(NotCharged(self.scope.located.path, line, message))

    def _line_of(self, node: Node) -> int:
        for leaf in leaves(node):
            if leaf.span is not None:
                self._line = leaf.span.first
                break
        return self._line

    def may_move(self, charge: Charge, defined: frozenset[str]) -> bool:
        """Whether a charge may move above statements that define the names ``defined``."""
        return self.estimating or self.is_known_before(charge, defined)

    def is_known_before(self, charge: Charge, defined: frozenset[str]) -> bool:
        """Whether what a charge depends on is the same before the names ``defined`` get values, and
        cannot fail there."""
        return not charge.names & defined and self._is_safe(charge)

    def _is_safe(self, charge: Charge) -> bool:
        return all(
            is_harmless(t, self.around) and is_repeatable(t, self.around) for t in charge.trips
        )

    def also_selectors(self, names: frozenset[str]) -> frozenset[str]:
        """The names, with what those among them stand for that ASSOCIATE constructs define."""
        more = {
            part.name
            for name in names & self.selectors.keys()
            for part in walk(self.selectors[name])
            if isinstance(part, Ref)
        }
        return names | more

    def taken(self, counter: OperationCounter, node: Node) -> tuple[Charge, ...]:
        """The findings of a counter since the last call."""
        for message in counter.unknown:
            self.refuse(node, message)
        found = tuple(Charge(p.level, p.counts, p.trips) for p in counter.pieces)
        counter.pieces.clear()
        counter.unknown.clear()
        return found

    def calls_out(self, what: What) -> bool:
        """Whether a statement calls a function of the program, or one of MPI."""
        return any(
            is_user_function(part, self.around)
            or (
                isinstance(part, Ref)
                and part.args is not None
                and mpi_function(part, self.scope) is not None
            )
            for expr in expressions(what)
            for part in walk(expr)
        )

    def needs_clock(self, what: What) -> bool:
        """Whether an expression of a statement calls an MPI function, such as MPI_WTIME, or a
        function that communicates."""
        return any(
            mpi_function(part, self.scope) is not None
            if isinstance(part, Ref)
            else self.waits(Call(replace(part, args=None), part.args), self.scope)
            for expr in expressions(what)
            for part in walk(expr)
            if isinstance(part, Ref | Component) and part.args is not None
        )

    def counter_for_arm(self) -> OperationCounter:
        """A counter for statements under a condition: nothing moves out of it."""
        return OperationCounter(self.around, self.loops, len(self.loops))
