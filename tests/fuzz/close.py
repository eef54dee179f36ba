"""All procedures that come close to what one condition of the passes for transfers rules out."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from fuzz import (
    close_calls,
    close_codes,
    close_procedures,
    close_shapes,
    close_turns,
    close_values,
    close_waves,
    close_written_out,
)
from fuzz.closeness import Maker, close_to

MAKERS: Mapping[str, Maker] = {
    name: maker
    for module in (
        close_calls,
        close_codes,
        close_values,
        close_shapes,
        close_procedures,
        close_waves,
        close_written_out,
        close_turns,
    )
    for name, maker in module.MAKERS.items()
}

_NUMBERS = frozenset({"any_tag_by_number"})
"""What the numbers of MPICH's constants mean something in."""

_FORBIDDEN = frozenset({"passed_twice"})
"""What Fortran forbids, so that compilers may give any result."""


def procedure(seed: int, number: int) -> tuple[str, str]:
    """The file and the text of one random procedure, close to any of the conditions."""
    name = Random(f"close/{seed}/{number}").choice(sorted(MAKERS.keys() - _NUMBERS - _FORBIDDEN))
    return close_to(MAKERS, name, seed, number)
