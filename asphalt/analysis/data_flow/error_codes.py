"""Error codes of MPI calls that are always MPI_SUCCESS, so that their stores commute.

If errors are fatal (``error_handlers``), stores of one value to one variable may be reordered,
whatever reads it later.  A statement that reads the variable may be reordered with such a store if
the variable has this value before both.  Code for the case of an error is never executed
(``error_code_flow``).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.effects.error_handlers import SUCCESS as SUCCESS
from asphalt.analysis.effects.error_handlers import doubt, rests_on_fatal, why_errors_return
from asphalt.analysis.memory.accesses import Access
from asphalt.analysis.mpi.call import MpiCall
from asphalt.config.assumptions import FATAL
from asphalt.ir.tree import Leaf


class ErrorCodes:
    """Answers for one unit."""

    def __init__(self, facts: UnitFacts) -> None:
        self.facts = facts
        self._codes = facts.executed.codes
        self.rests_on_fatal = False
        """Whether an answer rests on the assumption that no error handler returns."""

    @cached_property
    def why_others(self) -> str | None:
        """Why a call of the program may return another code; None: no call does."""
        why = why_errors_return(self.facts.effects)
        self.rests_on_fatal = why is None and rests_on_fatal(self.facts.effects)
        return None if why is None else f"errors may not be fatal: {why}"

    @property
    def lifted_by(self) -> str | None:
        """The assumption under which no call of the program returns another code, if it would be
        enough and is not accepted."""
        effects = self.facts.effects
        found = doubt(effects)
        lifted = found is not None and found.lifted and not effects.assumed.fatal
        return FATAL.word if lifted else None

    def why_not(self, call: MpiCall) -> str | None:
        """Why a call may store a value other than MPI_SUCCESS in the variable for its error code,
        or store more; None: it does not."""
        if not self.is_code_of(call):
            return "the variable does not only hold error codes"
        return self.why_others

    def is_code_of(self, call: MpiCall) -> bool:
        """Whether a call stores its error code in a variable, and nothing else."""
        return self._codes.is_code_of(call)

    def only_stores_success(self, storage: str, done: Iterable[Access]) -> bool:
        """Whether accesses leave MPI_SUCCESS, or the old value, in a variable, if errors are
        fatal."""
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
