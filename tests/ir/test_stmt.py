"""What USE statements make accessible."""

from __future__ import annotations

from asphalt.ir.stmt import Use, UseItem


def test_only_the_listed_names_are_accessible_with_only() -> None:
    use = Use("m", True, (UseItem("a", "a"), UseItem("b", "c")))
    assert [use.original_name(name) for name in "abcd"] == ["a", "c", None, None]


def test_a_renamed_name_is_not_accessible_itself() -> None:
    use = Use("m", False, (UseItem("b", "c"),))
    assert [use.original_name(name) for name in "abc"] == ["a", "c", None]
