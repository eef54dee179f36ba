"""How often the interpreter collects garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_SELDOM = (150_000, 5, 5)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect cycles of dead objects seldom: with many large trees of live objects, the collector
    would otherwise take half of the time."""
    before = gc.get_threshold()
    gc.set_threshold(*_SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def frozen_heap() -> Iterator[None]:
    """Exclude all objects that exist now from garbage collection: to traverse a large tree takes
    seconds, and frees nothing."""
    gc.collect(1)  # what is garbage now would stay
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
