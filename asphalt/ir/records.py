"""Values of which a run makes millions: data classes that are frozen for the type checker only.

The ``__init__`` of ``dataclass(frozen=True)`` stores each field through ``object.__setattr__``,
which takes three times as long as an assignment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def record(cls: type[T]) -> type[T]:
    """A data class with slots that is equal, and hashed, by its fields.

    The type checker refuses an assignment to a field; at run time nothing does.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)
