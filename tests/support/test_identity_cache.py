"""Results for values that are compared by identity."""

from __future__ import annotations

from asphalt.support.identity_cache import IdentityCache


def test_a_result_is_found_once_for_each_object() -> None:
    asked: list[list[int]] = []
    cache: IdentityCache[list[int], int] = IdentityCache(lambda one: asked.append(one) or 7, 2)
    one, same = [1], [1]
    assert cache(one) == cache(one) == cache(same) == 7
    assert [id(value) for value in asked] == [id(one), id(same)]


def test_the_oldest_result_is_dropped() -> None:
    asked: list[str] = []
    cache: IdentityCache[str, None] = IdentityCache(asked.append, 2)
    for text in ("a", "b", "c", "b", "a"):
        cache(text)
    assert asked == ["a", "b", "c", "a"]
