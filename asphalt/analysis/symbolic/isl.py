"""isl itself: a budget for each question, and sets as text.

What isl cannot decide within its budget raises ``UndecidedError``, which every caller must treat as
"not proved".
"""

from __future__ import annotations

from functools import cache

import islpy as isl

_BUDGET = 200_000  # isl operations for one question
_LARGEST = 24  # basic sets in one region
REMEMBERED = 20_000  # answers of each kind


class UndecidedError(Exception):
    """isl exhausted its budget: nothing is proved."""


@cache
def _shared_context() -> isl.Context:
    """One context: islpy never quite frees those that it makes."""
    return isl.Context()


def fresh_context() -> isl.Context:
    """A context in which isl works on one question with a fresh budget."""
    context = _shared_context()
    context.reset_operations()
    context.set_max_operations(_BUDGET)
    return context


def text_of(made: isl.Set) -> tuple[str, tuple[str, ...]]:
    """A set as text, and its parameters; raises UndecidedError."""
    made = made.coalesce()
    if made.n_basic_set() > _LARGEST:
        raise UndecidedError("the region has too many parts")
    return str(made), tuple(parameter_names(made))


def parameter_names(made: isl.Set) -> list[str]:
    """The parameters of a set, in isl's order."""
    return [name or "" for name in made.get_var_names(isl.dim_type.param)]
