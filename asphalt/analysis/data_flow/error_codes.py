"""Error codes of MPI calls that are always MPI_SUCCESS, so that their stores are in no order.

With errors that are fatal (``fatal_errors``), stores of one value to one variable may change
places, whoever looks at it later.  A statement that reads the variable may change places with such
a store where the variable has this value before both; and what is to be done in case of an error is
never done (``code_flow``).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.effects.error_handlers import SUCCESS as SUCCESS
from asphalt.analysis.effects.error_handlers import why_errors_return
from asphalt.analysis.memory.accesses import Access
from asphalt.analysis.mpi.call import MpiCall
from asphalt.ir.tree import Leaf


class ErrorCodes:
    """Answers for one unit."""

    def __init__(self, facts: UnitFacts) -> None:
        self.facts = facts
        self._codes = facts.executed.codes

    @cached_property
    def why_others(self) -> str | None:
        """Why a call of the program may return another code; None: none does."""
        return why_errors_return(self.facts.effects)

    def why_not(self, call: MpiCall) -> str | None:
        """Why a call may store something else than MPI_SUCCESS in the variable for its error code,
        or more than that; None: it does not."""
        if not self._codes.is_code_of(call):
            return "the variable is not only one for error codes"
        return self.why_others

    def only_stores_success(self, storage: str, done: Iterable[Access]) -> bool:
        """Whether accesses leave MPI_SUCCESS in a variable, or what it was, if errors are fatal."""
        return all(
            not access.writes or self._codes.gives(access.leaf, storage)
            for access in done
            if access.storage == storage
        )

    def is_success_before(self, leaf: Leaf, storage: str) -> bool:
        """Whether a variable is MPI_SUCCESS whenever a statement is reached, if errors are
        fatal."""
        before = self._codes.before(leaf)
        return before is None or storage in before
