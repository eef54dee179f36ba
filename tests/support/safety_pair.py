"""A pair of programs for the matrix of safety."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType


@dataclass(frozen=True)
class Pair:
    """``free``: a program to whose procedure a step of the transformation applies; ``bound``: one
    to which none applies.  ``about``: what is said of the steps that count.  ``before``: the
    transformations that prepare both."""

    transformation: ModuleType
    free: str
    bound: str
    about: str = ""
    before: tuple[ModuleType, ...] = ()
