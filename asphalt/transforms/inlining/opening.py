"""Inlining of computation: a procedure that computes a nest is expanded behind a transfer.

Before::

    call MPI_Recv(u(0), 1, MPI_REAL, left, 1, comm, status, ierr)
    call smooth(n, u, v)

After::

    call MPI_Recv(u(0), 1, MPI_REAL, left, 1, comm, status, ierr)
    ! asphalt: smooth of smoother.f90 stands here
    do i = 1, n
      v(i) = u(i-1) + u(i)
    end do

A call needs everything that its procedure accesses; of a nest, index-set splitting can move the
part that needs no message into the overlap window.  These procedures do not communicate, and they
make the caller longer, so the optimiser keeps this only where it gains (Danalis et al., ICS 2009,
section 6: communication and computation "at the same level").
"""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.analysis.call_graph.call_sites import CallSites
from asphalt.analysis.call_graph.invoked import invoked
from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.exchange.site import StatementPosition, statements
from asphalt.analysis.inlining.plan import planned
from asphalt.analysis.inlining.procedure import communicates
from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.verdicts.verdict import Refused
from asphalt.config.passes import Pass
from asphalt.ir.program import Located
from asphalt.ir.stmt import Call
from asphalt.ir.tree import Do, Leaf, leaves
from asphalt.transforms.inlining import calls_together, inline
from asphalt.transforms.loops.index_set_splitting import MOST_STATEMENTS
from asphalt.transforms.rewriting.step import Found, Phase, Step, Transformation


def check(facts: UnitFacts) -> tuple[Found, ...]:
    """The calls behind receives whose procedures are a nest: steps, or why they are not inlined."""
    return tuple(judged(facts))


def judged(facts: UnitFacts, besides: frozenset[str] = frozenset()) -> Iterator[Found]:
    """The same, found one by one; ``besides``: procedures that stay as they are."""
    scopes = facts.effects.scopes
    sites = CallSites(scopes)
    for leaf, place in statements(facts.unit.body):
        what = leaf.action
        target = invoked(what, facts.scope) if isinstance(what, Call) else None
        if target is None or not _is_nest(target[0]) or communicates(target[0], scopes):
            continue
        if target[0].unit.name in besides:
            continue
        if _has_to_wait(leaf, place, facts):
            yield _at_call(facts, leaf, place, target, sites)


def _at_call(
    facts: UnitFacts,
    leaf: Leaf,
    place: StatementPosition,
    target: tuple[Located, Call],
    sites: CallSites,
    *,
    reserved: frozenset[str] = frozenset(),
) -> inline.Inline | Refused:
    """The step for a call of a procedure, or why it is none."""
    callee, call = target
    plan = planned(facts, leaf, place, call, callee, sites, reserved=reserved)
    return plan if isinstance(plan, Refused) else inline.inlined(facts, plan)


def _together(facts: UnitFacts, steps: Iterator[Step]) -> Step:
    """The first step, with the others that can be made beside it.

    A call that would not have to wait any more once those before it are expanded is expanded, too:
    it is the same work.
    """
    return calls_together.together(facts, steps, _at_call)


apply = inline.apply


def _is_nest(callee: Located) -> bool:
    """Whether a procedure has loops, and is short enough to be split into parts."""
    body = callee.unit.body
    number = sum(1 for node in body for _ in leaves(node))
    return number <= MOST_STATEMENTS and any(isinstance(node, Do) for node in body)


def _has_to_wait(leaf: Leaf, place: StatementPosition, facts: UnitFacts) -> bool:
    """Whether a receive stands in front of a call in its list, and not all of the call can be
    executed before it."""
    messages = facts.once(Messages)
    order = facts.once(Independence.of)
    level = place.levels[-1]
    before = level.nodes[: level.position]
    first = next((n for n, node in enumerate(before) if messages.receives(node)), None)
    if first is None:
        return False
    return any(order.why_not(node, leaf) is not None for node in before[first:])


TRANSFORMATION = Transformation(
    "inlining of computation",
    Pass.INLINE,
    Phase.ITERATIONS,
    "A procedure that computes a nest is inlined behind a transfer.",
    judged,
    inline.apply,
    in_place=True,
    together=_together,
)
