"""Facts about procedures that depend on those of the procedures that they call, recursively."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_WIDEN, _GIVE_UP = 3, 12  # rounds
_NONE = 1 << 30  # deeper than any key


@dataclass(slots=True)
class Fixpoint(Generic[K, V]):
    """Solves ``value(key) = compute(key)``, where ``compute`` may ask for other keys.

    A key that is asked for while it is being computed has the value known so far, at first
    ``least``. The outermost key of a strongly connected component, and all others with it, is
    computed again until nothing changes, before any key outside of it is (chaotic iteration with
    widening, Bourdoncle 1993).  From the third round on, a value that changed is ``widened``;
    ``unknown`` is the value if that does not converge.
    """

    compute: Callable[[K], V]
    least: Callable[[K], V]
    widened: Callable[[K, V], V]
    unknown: Callable[[K], V]
    same: Callable[[V, V], bool] = lambda one, other: one == other
    _known: dict[K, V] = field(default_factory=dict)
    _so_far: dict[K, V] = field(default_factory=dict)
    _active: dict[K, int] = field(default_factory=dict)  # with their depths
    _seen: dict[K, int] = field(default_factory=dict)  # of this round, with what they reach
    _open: list[K] = field(default_factory=list)  # what is not known for good, as it was begun
    _times: dict[K, int] = field(default_factory=dict)  # that each of them was computed
    _reached: int = _NONE  # the depth of the outermost key whose value so far was used
    _changed: bool = False

    def __call__(self, key: K) -> V:
        """The value of a key."""
        if key in self._known:
            return self._known[key]
        if key in self._active:
            self._reached = min(self._reached, self._active[key])
            return self._so_far.setdefault(key, self.least(key))
        if key in self._seen:  # its value of this round; it depends on one that is not final
            self._reached = min(self._reached, self._seen[key])
            return self._so_far[key]
        outer, changed = self._reached, self._changed
        depth, first = len(self._active), len(self._open)
        self._active[key] = depth
        self._open.append(key)
        try:
            reached = self._rounds(key, depth, first)
        except BaseException:
            self._forget(first)
            raise
        finally:
            del self._active[key]
        if key in self._known:
            self._reached, self._changed = outer, changed
            return self._known[key]
        self._seen[key] = reached
        self._reached, self._changed = min(outer, reached), self._changed or changed
        return self._so_far[key]

    @property
    def is_running(self) -> bool:
        """Whether a value is being computed, so that those of others may not be final."""
        return bool(self._active)

    @property
    def final(self) -> dict[K, V]:
        """The values that are final."""
        return dict(self._known)

    def knows(self, key: K) -> bool:
        """Whether the value of a key is final."""
        return key in self._known

    def recall(self, values: Mapping[K, V]) -> None:
        """Take final values from an earlier run."""
        self._known.update(values)

    def _rounds(self, key: K, depth: int, first: int) -> int:
        """Computes a key once; again and again if it is the outermost of those that depend on each
        other: the depth of the outermost key that it depends on."""
        for _ in range(_GIVE_UP):
            for inner in self._open[first + 1 :]:
                self._seen.pop(inner, None)
            self._reached, self._changed = _NONE, False
            value = self.compute(key)
            if self._reached > depth:  # nothing that is not final was used
                self._known[key] = value
                break
            self._note(key, value)
            if self._reached < depth:
                return self._reached
            if not self._changed:
                # what was seen in other rounds alone is nothing that this depends on
                self._known[key] = self._so_far[key]
                last = (inner for inner in self._open[first:] if inner in self._seen)
                self._known.update((inner, self._so_far[inner]) for inner in last)
                break
        else:
            for found in self._open[first:]:
                self._known.setdefault(found, self.unknown(found))
        self._forget(first)
        return _NONE

    def _note(self, key: K, value: V) -> None:
        """Takes a value that is not final."""
        times = self._times[key] = self._times.get(key, -1) + 1
        before = self._so_far.get(key)
        if before is None or not self.same(before, value):
            widen = times >= _WIDEN and before is not None
            self._so_far[key] = self.widened(key, value) if widen else value
            self._changed = True

    def _forget(self, first: int) -> None:
        """Ends the work on the keys that were begun last."""
        for key in self._open[first:]:
            self._so_far.pop(key, None)
            self._seen.pop(key, None)
            self._times.pop(key, None)
        del self._open[first:]
