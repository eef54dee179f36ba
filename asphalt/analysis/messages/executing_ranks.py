"""The ranks of a communicator that execute a transfer, from conditions on the rank."""

from __future__ import annotations

from dataclasses import dataclass

from asphalt.analysis.data_flow.branch_correlation import BranchFacts
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.messages.self_messages import rank_variables
from asphalt.analysis.mpi.call import MpiCall
from asphalt.ir.expr import Expr, Op, Ref
from asphalt.ir.tree import Leaf


@dataclass(frozen=True, slots=True)
class Ranks:
    """``only``: the one rank that may execute it; None: any except ``never``."""

    only: int | None = None
    never: frozenset[int] = frozenset()

    def has(self, rank: int) -> bool:
        """Whether a rank may be one of them."""
        return rank not in self.never and self.only in (None, rank)


def executing_ranks(facts: UnitFacts, leaf: Leaf, call: MpiCall) -> Ranks:
    """The ranks that may execute a transfer with a predefined communicator."""
    point = facts.reaching.graph.action(leaf)
    if point is None:
        return Ranks()
    only: int | None = None
    never: set[int] = set()
    names = list(rank_variables(facts, facts.once(Messages).own_calls(), call, point))
    own = [facts.values.polynomial(Ref(name, name), leaf) for name in names]
    for condition, held in facts.once(_branch_facts).held(point) if own else ():
        if not isinstance(condition, Op) or condition.op not in ("==", "/="):
            continue
        operands = [part for part in condition.operands if isinstance(part, Expr)]
        sides = [facts.values.polynomial(part, leaf) for part in operands]
        rank = next((side.value for side in sides if side not in own), None)
        if rank is None or not any(side in own for side in sides):
            continue
        if held is (condition.op == "=="):
            only = rank
        else:
            never.add(rank)
    return Ranks(only, frozenset(never))


def _branch_facts(facts: UnitFacts) -> BranchFacts:
    return BranchFacts(facts.reaching)
