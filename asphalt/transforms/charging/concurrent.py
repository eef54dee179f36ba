"""Charges for DO CONCURRENT and FORALL in front of the construct, since its body must be pure.

The charge assumes that all masks are true, and that all arms of branches are executed equally often
(as for WHERE).  It excludes costs that depend on an index, such as the bounds of an inner loop.
"""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.cost.classes import Counts
from asphalt.analysis.cost.expressions import EnclosingLoop
from asphalt.analysis.cost.scalar_replacement import defined_in
from asphalt.analysis.cost.trip_counts import TripCount, loop_trips
from asphalt.ir.expr import Arg, OpaqueExpr, Ref
from asphalt.ir.stmt import ArmHead
from asphalt.ir.tree import Block, Node, leaves
from asphalt.transforms.charging.edit import Charge
from asphalt.transforms.charging.state import Blocks, ChargerState, Placed


def charge_forall(state: ChargerState, construct: Block, block: Blocks) -> Placed:
    """Charge a FORALL construct."""
    head = construct.head.what
    header = head.exprs[0] if isinstance(head, ArmHead) and head.exprs else None
    return concurrent(state, construct, header, construct.body, block)


def concurrent(
    state: ChargerState, node: Node, header: Arg | None, body: tuple[Node, ...], block: Blocks
) -> Placed:
    """Charge a construct or statement whose ``body`` is executed for each value of some indexes."""
    untouched = Placed((node,), (), 0, True)
    found = state.header(header.text) if isinstance(header, OpaqueExpr) else None
    if found is None:
        state.refuse(node, "a concurrent header that is not understood")
        return untouched
    indexes = found.indexes[::-1]  # the first one varies fastest
    names = tuple(i.var.name if isinstance(i.var, Ref) else "" for i in indexes)
    trips = tuple(loop_trips(index, state.around) for index in indexes)
    turns = tuple(t for t in trips if t is not None)
    if len(turns) < len(trips):
        state.refuse(node, "the values of a concurrent index cannot be counted")
        return untouched
    depth = len(state.loops)
    changed = state.also_selectors(defined_in(body)) | set(names)
    kept, estimating = state.loops, state.estimating
    state.loops = (*kept, *(EnclosingLoop(name, changed) for name in names))
    state.estimating = True
    mask = state.counter()
    if found.mask is not None:
        mask.condition(found.mask)
    charges = (*state.taken(mask, node), Charge(len(state.loops), Counts.of(loop=1)))
    charges += block(body).due
    state.loops, state.estimating = kept, estimating
    due = tuple(_for_all(charge, turns, depth) for charge in charges)
    movable = tuple(c for c in due if state.is_known_before(c, changed))
    if len(movable) < len(due):
        state.refuse(node, "a part of its cost depends on its own indexes or results")
    closed = not any(state.calls_out(leaf.what) for leaf in leaves(node))
    return Placed((node,), movable, 0, closed)


def _for_all(charge: Charge, turns: tuple[TripCount, ...], depth: int) -> Charge:
    """A charge of one iteration, for all iterations of the indexes that it changes with."""
    if charge.level <= depth:
        return charge
    return replace(charge, level=depth, trips=(*turns[: charge.level - depth], *charge.trips))
