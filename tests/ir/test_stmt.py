"""What USE statements make accessible."""

from __future__ import annotations

from asphalt.ir.stmt import Use, UseItem


def test_only_the_listed_names_are_accessible_with_only() -> None:
    use = Use("m", True, (UseItem("a", "a"), UseItem("b", "c")))
    assert [use.original_name(name) for name in "abcd"] == ["a", "c", None, None]


def test_a_renamed_name_is_not_accessible_itself() -> None:
    use = Use("m", False, (UseItem("b", "c"),))
    assert [use.original_name(name) for name in "abc"] == ["a", "c", None]


def test_a_name_that_one_of_several_statements_renames_is_accessible_itself_only_if_listed() -> (
    None
):
    everything, renamed = Use("m", False), Use("m", False, (UseItem("x", "y"),))
    listed, renamed_in_list = (Use("m", True, (UseItem(n, "y"),)) for n in "yx")
    for pair in ((everything, renamed), (everything, renamed_in_list)):
        for one, other in (pair, pair[::-1]):
            both = one.with_items_of(other)
            assert [both.original_name(name) for name in "xyz"] == ["y", None, "z"]
    assert renamed.with_items_of(listed).original_name("y") == "y"
    assert listed.with_items_of(renamed_in_list).original_name("z") is None
