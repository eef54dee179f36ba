"""Results for values that are compared by identity, since to hash them takes long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class IdentityCache(Generic[K, V]):
    """The results of ``find`` for the last ``size`` values, which must not change."""

    def __init__(self, find: Callable[[K], V], size: int) -> None:
        self._find = find
        self._size = size
        # with the value, so that no other one can get its identity
        self._known: dict[int, tuple[K, V]] = {}

    def __call__(self, value: K) -> V:
        """The result for a value."""
        known = self._known.get(id(value))
        if known is None:
            if len(self._known) >= self._size:
                del self._known[next(iter(self._known))]
            known = self._known[id(value)] = value, self._find(value)
        return known[1]
