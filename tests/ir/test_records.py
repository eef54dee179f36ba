"""Records are values: equal, hashed and copied by their fields, and nothing beside them."""

from dataclasses import field, replace

import pytest

from asphalt.ir.records import record


@record
class Pair:
    one: int
    other: tuple[int, ...] = ()
    told: str = field(default="", compare=False)


def test_records_are_equal_and_hashed_by_their_fields() -> None:
    assert Pair(1, (2,), "here") == Pair(1, (2,), "there")
    assert {Pair(1, (2,)): "found"}[Pair(1, (2,))] == "found"
    assert Pair(1) != Pair(2)


def test_a_record_is_copied_with_other_fields() -> None:
    assert replace(Pair(1, (2,)), one=3) == Pair(3, (2,))


def test_a_record_has_no_other_attributes() -> None:
    with pytest.raises(AttributeError):
        Pair(1).more = 2  # type: ignore[attr-defined]
