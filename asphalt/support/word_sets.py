"""Sets of names, written as text."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The set of the blank-separated words of ``text``."""
    return frozenset(text.split())
