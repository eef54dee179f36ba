"""Receives in which a rank waits for a message from itself that it has not sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from asphalt.analysis.control_flow.graph import ENTRY
from asphalt.analysis.data_flow.branch_correlation import BranchFacts
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.memory.accesses import EffectKind
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.mpi.call import MpiCall, mpi_constant
from asphalt.analysis.mpi.library_effects import Store, library_row
from asphalt.analysis.mpi.procedures import Timing, procedure
from asphalt.analysis.names.openmp_sentinels import conditional_statements, sentinel_of
from asphalt.ir.expr import Expr, Op, Ref
from asphalt.ir.tree import Leaf, leaves


def receives_from_itself(facts: UnitFacts, messages: Messages) -> Iterator[tuple[Leaf, str]]:
    """The blocking receives of a main program from the rank itself before which it has certainly
    sent nothing; with the name of the rank."""
    if facts.unit.kind != "program" or _has_threads(facts):
        return
    calls = tuple(messages.own_calls())
    for leaf, call in calls:
        point = facts.reaching.graph.action(leaf)
        if point is None or not _only_receives(call) or _may_have_sent(facts, point):
            continue
        for name in rank_variables(facts, calls, call, point):
            if _is_source(facts, leaf, point, call.args["source"], Ref(name, name)):
                yield leaf, name
                break


def _has_threads(facts: UnitFacts) -> bool:
    directives = (sentinel_of(t) for leaf in leaves(facts.unit) for t in leaf.lead)
    return any(directives) or any(conditional_statements(facts.unit))


def _only_receives(call: MpiCall) -> bool:
    """Whether a call returns after the receipt of a message, and does nothing else."""
    row = library_row(call.procedure)
    stores = [access.store for access in row.accesses if access.writes]
    blocking = call.procedure.timing is Timing.BLOCKING
    return blocking and stores == [Store.INCOMING] and call.procedure.exchange is not None


def _may_have_sent(facts: UnitFacts, point: int) -> bool:
    """Whether a statement on a path to a point may send a message."""
    graph, accesses = facts.reaching.graph, facts.reaching.accesses
    seen: set[int] = set()
    work = list(graph.predecessors[point])
    while work:
        here = work.pop()
        if here in seen:
            continue
        seen.add(here)
        work += graph.predecessors[here]
        for effect in accesses.footprint(here).effects:
            if effect.kind in (EffectKind.UNKNOWN_CALL, EffectKind.OPAQUE):
                return True
            if effect.kind is EffectKind.MPI:
                known = procedure(effect.detail)
                if known is None or any(
                    a.store is Store.OUTGOING for a in library_row(known).accesses
                ):
                    return True
    return False


def rank_variables(
    facts: UnitFacts, calls: Iterable[tuple[Leaf, MpiCall]], transfer: MpiCall, point: int
) -> Iterator[str]:
    """The variables with the rank in the communicator of a transfer at a point; ``calls``: of the
    unit."""
    own = transfer.args.get("comm")
    wanted = None if own is None else mpi_constant(own, facts.scope)
    for leaf, call in calls:
        kinds = {p.kind: call.args.get(p.name) for p in call.procedure.parameters}
        communicator, rank = kinds.get("COMMUNICATOR"), kinds.get("RANK")
        if not call.procedure.varying or kinds.keys() != {"COMMUNICATOR", "RANK", "ERROR_CODE"}:
            continue
        if communicator is None or not isinstance(rank, Ref) or rank.args is not None:
            continue
        if wanted is None or mpi_constant(communicator, facts.scope) != wanted:
            continue
        given = facts.reaching.graph.action(leaf)
        found = facts.reaching.at(point, facts.names.storage(rank.name))
        always = given is not None and facts.reaching.dominance.dominators.dominates(given, point)
        if always and all(d.leaf is leaf or d.point == ENTRY for d in found):
            yield rank.name


def _is_source(facts: UnitFacts, leaf: Leaf, point: int, source: Expr, rank: Ref) -> bool:
    values = facts.values
    wanted, own = values.polynomial(source, leaf), values.polynomial(rank, leaf)
    if wanted == own:
        return True
    for condition, held in BranchFacts(facts.reaching).held(point):
        if held and isinstance(condition, Op) and condition.op == "==":
            parts = (part for part in condition.operands if isinstance(part, Expr))
            sides = [values.polynomial(part, leaf) for part in parts]
            if own in sides and wanted in sides:
                return True
    return False
