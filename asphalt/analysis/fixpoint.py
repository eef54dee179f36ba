"""Facts about procedures that depend on those of the procedures they call, recursion included."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_WIDEN, _GIVE_UP = 3, 12  # rounds


@dataclass(slots=True)
class Fixpoint(Generic[K, V]):
    """Solves ``value(key) = compute(key)``, where ``compute`` may ask for other keys.

    A key that is asked for while it is computed gives what is known so far, at first ``least``;
    then all is computed again until nothing changes.  From the third round on a value that changed
    is ``widened``; ``unknown`` is the answer if that does not end it (chaotic iteration with
    widening, Cousot and Cousot 1977).
    """

    compute: Callable[[K], V]
    least: Callable[[K], V]
    widened: Callable[[K, V], V]
    unknown: Callable[[K], V]
    same: Callable[[V, V], bool] = lambda one, other: one == other
    _known: dict[K, V] = field(default_factory=dict)
    _so_far: dict[K, V] = field(default_factory=dict)
    _active: dict[K, int] = field(default_factory=dict)
    _seen: set[K] = field(default_factory=set)
    _reached: int = 1 << 30  # the outermost key whose value so far was used
    _changed: bool = False
    _round: int = 0

    def __call__(self, key: K) -> V:
        """The value of a key."""
        if key in self._known:
            return self._known[key]
        if self._active:
            return self._inner(key)
        for self._round in range(_GIVE_UP):
            self._changed, self._reached, self._seen = False, 1 << 30, set()
            self._inner(key)
            if not self._changed:
                self._known.update(self._so_far)
                break
        else:
            self._known.update({found: self.unknown(found) for found in self._so_far})
        self._so_far = {}
        return self._known[key]

    @property
    def final(self) -> dict[K, V]:
        """The values that are known for good."""
        return dict(self._known)

    def knows(self, key: K) -> bool:
        """Whether the value of a key is known for good."""
        return key in self._known

    def recall(self, values: Mapping[K, V]) -> None:
        """Takes values that are known for good from before."""
        self._known.update(values)

    def _inner(self, key: K) -> V:
        if key in self._known:
            return self._known[key]
        if key in self._active:
            self._reached = min(self._reached, self._active[key])
            return self._so_far.setdefault(key, self.least(key))
        if key in self._seen:  # its value of this round; it depends on one that is not final
            self._reached = -1
            return self._so_far[key]
        outer, self._reached = self._reached, 1 << 30
        self._active[key] = len(self._active)
        try:
            value = self.compute(key)
        finally:
            depth = self._active.pop(key)
        self._seen.add(key)
        if self._reached > depth:  # nothing that is not final was used
            self._known[key] = value
            self._reached = outer
            return value
        before = self._so_far.get(key)
        if before is None or not self.same(before, value):
            if self._round >= _WIDEN and before is not None:
                value = self.widened(key, value)
            self._so_far[key] = value
            self._changed = True
        self._reached = min(outer, self._reached)
        return self._so_far[key]
