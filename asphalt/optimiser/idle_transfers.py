"""The new non-blocking transfers whose overlap windows have no work in them."""

from __future__ import annotations

from dataclasses import replace

from asphalt.analysis.messages.messages import Messages
from asphalt.analysis.mpi.library_effects import library_row
from asphalt.ir.expr import names_in
from asphalt.optimiser.outcome import Optimised, Transfer
from asphalt.optimiser.program_windows import OwnWindows
from asphalt.optimiser.unit_state import UnitState, Workshop
from asphalt.transforms.motion import code_motion
from asphalt.transforms.rewriting.new_names import REQUEST, next_number


def idle_transfers(shop: Workshop, begin: UnitState, state: UnitState) -> frozenset[int]:
    """The lines of these transfers.  ``begin``: the state before they became non-blocking."""
    busy = code_motion.busy_requests(shop.facts(state.tree))
    number = next_number(shop.facts(begin.tree), REQUEST)
    idle: set[int] = set()
    for transfer in state.split:
        names = {f"{REQUEST}{number + n}" for n in range(transfer.messages)}
        number += transfer.messages
        if not names & busy:
            idle.add(transfer.line)
    return frozenset(idle)


def with_stopped_receives(shop: Workshop, found: Optimised) -> tuple[Transfer, ...]:
    """The transfers of a unit; where only what one sends overlaps with work, with what stops the
    wait for what it receives."""
    waiting = {name for one in found.transfers for name in one.waiting}
    if found.content is None or not waiting:
        return found.transfers
    facts = shop.facts(shop.tree_of(found))
    windows = OwnWindows(facts, shop.passes)
    stopped: dict[str, str] = {}
    for match in facts.once(Messages).matches:
        request = match.call.args.get("request")
        names = waiting & names_in(request) if request is not None else ()
        receives = any(row.writes for row in library_row(match.call.procedure).transfers)
        below = windows.of(match).below if names and receives else ()
        stopped |= {name: "; ".join(below) for name in names if below}
    return tuple(
        replace(one, stopped=next((stopped[n] for n in one.waiting if n in stopped), None))
        for one in found.transfers
    )
