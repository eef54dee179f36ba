"""Cached properties of objects that are used no more."""

from __future__ import annotations

from functools import cached_property


def drop_cached_properties(value: object) -> None:
    """Drop the values of an object's cached properties, which may refer to the object: then it ends
    with its last use, and not when garbage is collected.

    Whoever still has the object may use it: what it is asked for again is computed again.
    """
    known = getattr(value, "__dict__", None)
    if not isinstance(known, dict):
        return
    kind = type(value)
    for name in tuple(known):
        if isinstance(getattr(kind, name, None), cached_property):
            del known[name]
