"""Mutants of what is known of error codes: each has one of its conditions off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from asphalt.analysis.data_flow import error_code_flow, error_codes, feasible_statements
from asphalt.analysis.data_flow.error_code_flow import ErrorCodeFlow
from fuzz.mutation import Replacement
from fuzz.transfer_mutant import ON_MPICH, Switch, TransferMutant, off, property_of


def mutants() -> Iterator[TransferMutant]:
    """All of them."""
    fatal = (
        *off(error_codes, "why_errors_return", None),
        *off(feasible_statements, "errors_return", False),
    )
    yield TransferMutant("codes: errors that return", "errors_returned", fatal, ON_MPICH)
    yield TransferMutant(
        "codes: other values", "code_assigned", off(error_code_flow, "constant", 0)
    )
    given = off(ErrorCodeFlow, "_given_by", {"ierr"})
    yield TransferMutant("codes: of procedures", "code_given", given)
    idle = (Switch(ErrorCodeFlow, "_is_idle", property_of(True)),)
    yield TransferMutant("codes: procedures that look", "code_looked_at", idle)
    holds = (Switch(ErrorCodeFlow, "holds", _never_for_others),)
    yield TransferMutant("codes: other reasons", "other_reason", holds)


def _never_for_others(original: Replacement) -> Replacement:
    """A condition of which nothing is known never holds, beside one about a code."""

    def holds(self: ErrorCodeFlow, condition: Any, before: Any) -> bool | None:
        found = original(self, condition, before)
        about_code = getattr(condition, "op", "") == ".or."
        return False if found is None and about_code else found

    return holds
