"""When the interpreter looks for garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_SELDOM = (100_000, 20, 20)


@contextmanager
def collected_seldom() -> Iterator[None]:
    """Looks for cycles of dead objects seldom: where many trees live at a time, of objects that are
    all needed, half of the time would go into it."""
    before = gc.get_threshold()
    gc.set_threshold(*_SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def not_looked_through() -> Iterator[None]:
    """Does not look for garbage among all objects that there are by now: where a large tree is
    known, each look through all of it takes seconds, and finds nothing."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
