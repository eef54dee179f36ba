"""Objects whose cached properties refer to them end at once when these are dropped."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from functools import cached_property

from asphalt.support.cached_properties import drop_cached_properties


class _Counted:
    def __init__(self) -> None:
        self.computed = 0
        self.kept = [1]

    @cached_property
    def again(self) -> Callable[[], int]:
        self.computed += 1
        return self.number

    def number(self) -> int:
        return self.computed


def test_an_object_ends_with_its_last_use() -> None:
    value = _Counted()
    assert value.again() == 1
    end = weakref.ref(value)
    gc.disable()
    try:
        drop_cached_properties(value)
        del value
        assert end() is None
    finally:
        gc.enable()


def test_who_still_has_it_gets_what_is_computed_again() -> None:
    value = _Counted()
    value.again()
    drop_cached_properties(value)
    assert value.kept == [1]
    assert value.again() == 2


def test_values_without_attributes_have_none() -> None:
    for value in (None, 3, (1, 2), {"again": 1}):
        drop_cached_properties(value)
