"""The starts of a procedure before its waits, as far as they commute with what stands between.

Before::

    call asphalt_irecv(b, ..., asphalt_request_1)
    call asphalt_wait(asphalt_request_1, b)
    call asphalt_irecv(d, ..., asphalt_request_2)
    call asphalt_wait(asphalt_request_2, d)

After::

    call asphalt_irecv(b, ..., asphalt_request_1)
    call asphalt_irecv(d, ..., asphalt_request_2)
    call asphalt_wait(asphalt_request_1, b)
    call asphalt_wait(asphalt_request_2, d)

A procedure that is executed in two phases starts its operations in the first one, receives before
all that they do not depend on, and waits for what it has sent last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from asphalt.analysis.data_flow.unit import UnitFacts, line_of
from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.messages.messages import Messages, Stage, stage_of
from asphalt.analysis.mpi.library_effects import receives
from asphalt.analysis.mpi.procedures import MpiProcedure
from asphalt.ir.tree import Node, Unit, leaves


def waits_last(facts: UnitFacts) -> Unit:
    """The unit with its first wait, and what depends on it, behind all starts that do not."""
    messages, order = facts.once(Messages), facts.once(Independence.of)
    early: list[Node] = []
    late: list[Node] = []
    between: list[Node] = []  # what could go before all that is late, if a start needs it
    for node in facts.unit.body:
        stages = {stage_of(call) for _, call in messages.calls(node)}
        if Stage.COMPLETE in stages or _meets(order, late, node):
            late += [*between, node]
            between = []
        elif late and Stage.START not in stages:
            between.append(node)
        else:
            if _meets(order, between, node):
                early += between
                between = []
            early.append(node)
    early = _raised(order, early, lambda node: _only(messages, node, Stage.START, receives))
    late = _raised(order, late[::-1], lambda node: _only(messages, node, Stage.COMPLETE, _sends))
    return replace(facts.unit, body=(*early, *late[::-1], *between))


def _sends(procedure: MpiProcedure) -> bool:
    return not receives(procedure)


def _only(
    messages: Messages, node: Node, stage: Stage, wanted: Callable[[MpiProcedure], bool]
) -> bool:
    """Whether all that a statement does with messages is to start, or to complete, some of a
    kind."""
    calls = tuple(messages.calls(node))
    if not calls or any(stage_of(call) is not stage for _, call in calls):
        return False
    if stage is Stage.START:
        return all(wanted(call.procedure) for _, call in calls)
    starts = [messages.completed_by(leaf) for leaf, _ in calls]
    return all(found and all(wanted(one.call.procedure) for one in found) for found in starts)


def _raised(order: Independence, nodes: list[Node], wanted: Callable[[Node], bool]) -> list[Node]:
    """Some statements, or some in the opposite order, with those that are wanted in front of all
    that they commute with, but for each other."""
    found: list[Node] = []
    for node in nodes:
        place = len(found)
        if wanted(node):
            while place and _may_pass(order, found[place - 1], node, wanted):
                place -= 1
        found.insert(place, node)
    return found


def _may_pass(order: Independence, one: Node, other: Node, wanted: Callable[[Node], bool]) -> bool:
    """Whether a statement may go to the other side of one that is not wanted, whichever is the
    first in the text."""
    if wanted(one):
        return False
    first, second = sorted((one, other), key=lambda node: line_of(next(leaves(node))))
    return order.why_not(first, second) is None


def _meets(order: Independence, passed: list[Node], node: Node) -> bool:
    """Whether a statement cannot go before one of some others."""
    return any(order.why_not(one, node) is not None for one in passed)
