"""Variables that may be accessed in the background while a unit calls MPI: window memory, by other
ranks, and the buffers of sends whose requests are freed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.memory.accesses import Access, Mode
from asphalt.analysis.memory.rma_windows import may_be_read_by_freed_send, may_be_window_memory
from asphalt.ir.tree import Leaf


@dataclass(eq=False)
class HeldMemory:
    """Answers for one unit."""

    facts: UnitFacts

    def accesses(self, leaf: Leaf) -> tuple[Access, ...]:
        """The accesses before a call that starts or completes a transfer returns, or after it
        starts."""
        return tuple(
            Access(storage, mode, None, leaf, sure=False, by_others=True)
            for storages, modes in (
                (self._windows, (Mode.READ, Mode.MAYBE_WRITE)),
                (self._freed, (Mode.READ,)),
            )
            for storage in storages
            for mode in modes
        )

    def why(self, storage: str) -> str:
        """Who may access one of these variables."""
        if storage in self._windows:
            return "other ranks may access it through a window"
        return "a send whose request is freed may read it"

    @cached_property
    def _windows(self) -> tuple[str, ...]:
        return tuple(s for s in self._storages if may_be_window_memory(s, self.facts.scope))

    @cached_property
    def _freed(self) -> tuple[str, ...]:
        return tuple(s for s in self._storages if may_be_read_by_freed_send(s, self.facts.scope))

    @cached_property
    def _storages(self) -> tuple[str, ...]:
        accesses = (a for node in self.facts.unit.body for a in self.facts.footprint(node).accesses)
        return tuple(sorted({access.storage for access in accesses}))
