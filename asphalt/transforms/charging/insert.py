"""Inserts charges, and updates of the clock, among the statements of a unit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from asphalt.analysis.cost.trip_counts import is_repeatable
from asphalt.ir.tree import Leaf, Node, leaves
from asphalt.transforms.charging.edit import (
    CHARGE,
    FLUSH,
    CannotInsertError,
    Charge,
    before,
    seconds_expression,
    together,
)
from asphalt.transforms.charging.state import ChargerState, Placed
from asphalt.transforms.rewriting.make import maker_at


def emitted(state: ChargerState, placed: Placed) -> tuple[Node, ...]:
    """The list with the charge of its first part inserted."""
    out = list(placed.nodes)
    insert(state, out, placed.at, placed.due)
    return tuple(out)


def insert(state: ChargerState, out: list[Node], at: int, due: Iterable[Charge]) -> None:
    """Insert a charge before the statement number ``at``."""
    due = tuple(due)
    if state.estimating:
        return
    if at >= len(out):
        neighbour = out[-1] if out else None
        call = None if neighbour is None else charge_call(state, neighbour, due)
        if call is not None:
            out.append(call)
        return
    call = charge_call(state, out[at], due)
    if call is None:
        return
    try:
        out[at : at + 1] = put_before(state, out[at], call)
    except CannotInsertError as error:
        state.refuse(out[at], str(error))


def put_before(state: ChargerState, node: Node, call: Leaf) -> tuple[Node, ...]:
    """The call, then the node.  A label that ends a loop remains on its statement."""
    first = next(iter(leaves(node)))
    if first.label not in state.ends_of_loops:
        return before(node, call)
    kept = replace(first, label=None)
    new, _ = before(kept, call)
    return (replace(new, label=None), replace(first, lead=first.lead[len(new.lead) :]))


def charge_call(state: ChargerState, beside: Node, due: Iterable[Charge]) -> Leaf | None:
    """The statement that charges what is due, None for nothing; it will stand at ``beside``."""
    amounts = []
    for charge in together(due):
        seconds = charge.counts.seconds(state.costs.seconds) + charge.waiting
        if all(is_repeatable(t, state.around) for t in charge.trips):
            amounts.append((seconds, charge.trips))
        else:
            state.refuse(beside, "its trip count depends on a function of the program")
    amount = seconds_expression(amounts)
    if amount is None:
        return None
    return maker_at(beside, state.form, state.eol).call(CHARGE, amount)


def flushed(state: ChargerState, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """The statements, and before them the one by which the clock catches up."""
    call = maker_at(nodes[0], state.form, state.eol).call(FLUSH)
    try:
        return (*put_before(state, nodes[0], call), *nodes[1:])
    except CannotInsertError as error:
        state.refuse(nodes[0], f"the clock cannot be updated here: {error}")
        return nodes
