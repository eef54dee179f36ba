"""Charges for constructs: branches, masked assignments, constructs that declare names."""

from __future__ import annotations

from dataclasses import replace

from asphalt.ir.expr import Keyword
from asphalt.ir.stmt import ArmHead, Assign
from asphalt.ir.tree import Arm, Block, Branch, Node, leaves
from asphalt.transforms.charging.edit import Charge
from asphalt.transforms.charging.insert import emitted, flushed
from asphalt.transforms.charging.state import Blocks, ChargerState, Placed
from asphalt.transforms.charging.statements import part


def charge_branch(state: ChargerState, branch: Branch, block: Blocks) -> Placed:
    """Charge a branch: its conditions before it, each arm inside of the arm."""
    counter = state.counter()
    due: tuple[Charge, ...] = ()
    later: tuple[Charge, ...] = ()
    arms: list[Arm] = []
    closed = True
    flush = False
    floor, state.floor = state.floor, len(state.loops)
    for number, arm in enumerate(branch.arms):
        head = arm.head.what
        if isinstance(head, ArmHead) and head.kind in ("if", "else_if", "select_case"):
            for expr in head.exprs:
                counter.condition(expr)  # type: ignore[arg-type]
            found = state.taken(counter, arm.head)
            if number == 0:
                due = found
            else:
                later += tuple(replace(c, level=len(state.loops)) for c in found)
            flush = flush or state.needs_clock(head)
            closed = closed and not state.calls_out(head)
        inner = block(arm.body)
        closed = closed and inner.closed
        costs = (*later, *inner.due)
        if state.estimating:
            due += tuple(part(c, _ways(branch)) for c in costs)
        arms.append(replace(arm, body=emitted(state, replace(inner, due=costs))))
    state.floor = floor
    nodes: tuple[Node, ...] = (replace(branch, arms=tuple(arms)),)
    return Placed(flushed(state, nodes) if flush else nodes, due, 0, closed)


def charge_where(state: ChargerState, branch: Branch) -> Placed:
    """Charge a WHERE construct: every assignment for all elements, as if all masks were true."""
    counter = state.counter()
    for arm in branch.arms:
        for node in arm.body:
            for leaf in leaves(node):
                if isinstance(leaf.what, Assign):
                    counter.assign(leaf.what.target, leaf.what.value)
    closed = not any(state.calls_out(leaf.what) for leaf in leaves(branch))
    return Placed((branch,), state.taken(counter, branch), 0, closed)


def charge_grouped(state: ChargerState, construct: Block, block: Blocks) -> Placed:
    """Charge ASSOCIATE, BLOCK and CRITICAL inside, where their names have their meanings."""
    kept = state.selectors
    head = construct.head.what
    if isinstance(head, ArmHead):
        named = {e.name: e.value for e in head.exprs if isinstance(e, Keyword)}
        state.selectors = {**kept, **named}
    inner = block(construct.body)
    body = emitted(state, inner)
    state.selectors = kept
    return Placed((replace(construct, body=body),), (), 0, inner.closed)


def _ways(branch: Branch) -> int:
    """The number of paths through a branch."""
    kinds = [arm.head.what.kind for arm in branch.arms if isinstance(arm.head.what, ArmHead)]
    complete = {"else", "case_default", "class_default"} & set(kinds)
    return max(1, sum(not k.startswith("select") for k in kinds)) + (0 if complete else 1)
