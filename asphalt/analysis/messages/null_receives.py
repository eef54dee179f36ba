"""Receives that may get no message, so that no send need match them.

Such are receives from MPI_PROC_NULL (MPI-4.0 section 3.10), cancelled ones (3.8.4), and persistent
ones that are never started (3.9).
"""

from __future__ import annotations

from asphalt.analysis.control_flow.graph import ENTRY, EXIT
from asphalt.analysis.control_flow.paths import path_witness
from asphalt.analysis.data_flow.reaching_definitions import Definition
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.analysis.memory.accesses import NameKind
from asphalt.analysis.memory.storage import name_kind
from asphalt.analysis.mpi.call import MpiCall, mpi_call, mpi_constant
from asphalt.analysis.mpi.mentions import mpi_mentions
from asphalt.analysis.mpi.procedures import Direction, MpiProcedure, Timing, table
from asphalt.analysis.names.derived_types import may_begin_defined
from asphalt.analysis.names.scopes import Origin, Scopes
from asphalt.analysis.requests.operations import Does, operations
from asphalt.ir.expr import Component, Expr, Ref, Unstructured, walk
from asphalt.ir.stmt import Assign, Call, DoHead
from asphalt.ir.tree import Leaf

_NULL = "mpi_proc_null"
_CANCEL = ("mpi_cancel", "pmpi_cancel")
_OF_A_RANK = ("mpi_comm_rank", "mpi_comm_size")
"""What gives numbers that are no MPI_PROC_NULL."""


def may_get_nothing(facts: UnitFacts, leaf: Leaf, call: MpiCall) -> bool:
    """Whether a receive of a unit may get no message."""
    if any(p.kind == "REQUEST" for p in call.procedure.parameters):
        called = (mention.operation for mention in facts.scope.program.mpi_calls())
        if any(name in _CANCEL for name in called):
            return True
    if call.procedure.timing is Timing.PERSISTENT and _may_stay_prepared(facts, leaf):
        return True
    source = call.args.get("source")
    return source is not None and _Sources(facts).may_be_null(source, leaf)


def _may_stay_prepared(facts: UnitFacts, leaf: Leaf) -> bool:
    """Whether the unit may never start an operation that it prepares."""
    found = operations(facts.reaching, facts.scope, facts.values)
    own = next((one for one in found if one.leaf is leaf), None)
    if own is None or own.root is None:
        return True
    runs = {one.point for one in found if one.does is Does.RUN and one.root == own.root}
    return path_witness(facts.reaching.graph, [own.point], {EXIT}, runs) is not None


def may_name_null_process(scopes: Scopes) -> bool:
    """Whether a variable of the program may have the value MPI_PROC_NULL."""
    if scopes.program.mentions(_NULL):
        return True
    called = (table().get(mention.operation) for mention in mpi_mentions(scopes))
    return any(found is None or _gives_neighbours(found) for found in called)


def _may_name_null_process(effects: Effects) -> bool:
    return may_name_null_process(effects.scopes)


def _gives_neighbours(procedure: MpiProcedure) -> bool:
    """Whether a procedure returns neighbours in a grid, some of which may be MPI_PROC_NULL."""
    ranks = [
        p for p in procedure.parameters if p.kind == "RANK" and p.direction is not Direction.IN
    ]
    return len(ranks) > 1 or any(rank.array for rank in ranks)


class _Sources:
    """The origins of the source ranks of a unit's receives."""

    def __init__(self, facts: UnitFacts) -> None:
        self.facts = facts
        self.seen: set[tuple[str, int]] = set()

    def may_be_null(self, source: Expr, leaf: Leaf) -> bool:
        """Whether an expression in a statement may be MPI_PROC_NULL."""
        known = mpi_constant(source, self.facts.scope)
        if known is not None or not self.facts.effects.once(_may_name_null_process):
            return known == _NULL
        point = self.facts.reaching.graph.action(leaf)
        return point is None or self._may_be_null(source, leaf, point)

    def _may_be_null(self, expr: Expr, leaf: Leaf, point: int) -> bool:
        value = self.facts.values.polynomial(expr, leaf).value
        if value is not None and value >= 0:
            return False
        return any(self._comes_from_null(part, point) for part in walk(expr))

    def _comes_from_null(self, part: object, point: int) -> bool:
        """Whether the value of a part of an expression may come from MPI_PROC_NULL."""
        if isinstance(part, Unstructured | Component):
            return True
        if not isinstance(part, Ref):
            return False
        known = mpi_constant(part, self.facts.scope)
        if known is not None:
            return known == _NULL
        match name_kind(part.name, part.args is not None, self.facts.scope):
            case NameKind.VARIABLE:
                return self._may_hold_null(part.name, point)
            case NameKind.CONSTANT:
                return self.facts.values.constants(part).value is None
            case NameKind.PURE_FUNCTION | NameKind.INQUIRY:
                return False  # of its arguments, which are parts, too
        return True

    def _may_hold_null(self, name: str, point: int) -> bool:
        storage = self.facts.names.storage(name)
        if (storage, point) in self.seen:
            return False
        self.seen.add((storage, point))
        found = self.facts.reaching.at(point, storage)
        return any(self._gives_null(definition, name) for definition in found)

    def _gives_null(self, definition: Definition, name: str) -> bool:
        leaf, point = definition.leaf, definition.point
        if point == ENTRY or leaf is None:
            symbol = self.facts.scope.lookup(name)
            if symbol is None or symbol.origin is not Origin.LOCAL:
                return True
            kept = "save" in symbol.attrs and self.facts.unit.kind != "program"
            return kept or may_begin_defined(symbol, ())
        match self.facts.reaching.graph.points[point].what:
            case Assign(target=Ref(name=target), value=value, pointer=False) if target == name:
                return self._may_be_null(value, leaf, point)
            case DoHead():
                return False
            case Call() as call:
                mpi = mpi_call(call, self.facts.scope)
                return mpi is None or mpi.procedure.name not in _OF_A_RANK
        return True
