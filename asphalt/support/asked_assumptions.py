"""Which assumptions a result depends on: those that were asked for while it was found.

A result is the same under other assumptions as long as every question has the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Answer = tuple[str, bool]
"""The word of an assumption that was asked for at some statement, and whether it is accepted
there."""

_ASKED: ContextVar[set[Answer] | None] = ContextVar("_ASKED", default=None)


@contextmanager
def recorded_questions() -> Iterator[set[Answer]]:
    """Collect what is asked until the end, also by those that record less of it."""
    mine: set[Answer] = set()
    outer = _ASKED.get()
    token = _ASKED.set(mine)
    try:
        yield mine
    finally:
        _ASKED.reset(token)
        if outer is not None:
            outer |= mine


def record(answers: Iterable[Answer]) -> None:
    """Record what was asked, now or for a kept result that is used again now."""
    asked = _ASKED.get()
    if asked is not None:
        asked.update(answers)
