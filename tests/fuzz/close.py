"""All procedures that come close to what one condition of the passes for transfers rules out."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from fuzz import close_calls, close_shapes, close_values
from fuzz.closeness import Maker, close_to

MAKERS: Mapping[str, Maker] = {**close_calls.MAKERS, **close_values.MAKERS, **close_shapes.MAKERS}

_NUMBERS = frozenset({"any_tag_by_number"})
"""What the numbers of MPICH's constants mean something in."""


def procedure(seed: int, number: int) -> tuple[str, str]:
    """The file and the text of one random procedure, close to any of the conditions."""
    name = Random(f"close/{seed}/{number}").choice(sorted(MAKERS.keys() - _NUMBERS))
    return close_to(MAKERS, name, seed, number)
