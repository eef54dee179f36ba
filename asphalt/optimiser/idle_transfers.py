"""The new non-blocking transfers whose overlap windows have no work in them."""

from __future__ import annotations

from asphalt.optimiser.unit_state import UnitState, Workshop
from asphalt.transforms.motion import code_motion
from asphalt.transforms.nonblocking import nonblocking
from asphalt.transforms.rewriting.new_names import next_number


def idle_transfers(shop: Workshop, begin: UnitState, state: UnitState) -> frozenset[int]:
    """The lines of these transfers.  ``begin``: the state before they became non-blocking."""
    busy = code_motion.busy_requests(shop.facts(state.tree))
    number = next_number(shop.facts(begin.tree), nonblocking.REQUEST)
    idle: set[int] = set()
    for transfer in state.split:
        names = {f"{nonblocking.REQUEST}{number + n}" for n in range(transfer.messages)}
        number += transfer.messages
        if not names & busy:
            idle.add(transfer.line)
    return frozenset(idle)
