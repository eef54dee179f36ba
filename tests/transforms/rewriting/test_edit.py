"""Edits of trees."""

from __future__ import annotations

from dataclasses import replace

import pytest

from asphalt.frontend.lexical.source_text import source_text
from asphalt.frontend.statements.interpret import interpret_unit
from asphalt.frontend.structure.parse import parse_file
from asphalt.ir.stmt import Plain
from asphalt.ir.tree import File, Leaf, Node, Unit, leaves, units_in
from asphalt.transforms.rewriting.edit import map_leaves, replace_unit, rewrite_list, shifted
from asphalt.unparse.unparse import unparse

TEXT = """\
module m
contains
subroutine one
  x = 1
  do i = 1, 3
    if (i > 1) then
      y = 1
    else
      y = 2
      z = 3
    end if
  end do
end subroutine one
subroutine two
  x = 2
end subroutine two
end module m
"""


def parsed(text: str = TEXT) -> File:
    file = parse_file(source_text("a.f90", text.encode()))
    return replace(file, units=tuple(interpret_unit(unit, deep=True) for unit in file.units))


def named(file: File, name: str) -> Unit:
    return next(unit for unit in units_in(file) if unit.name == name)


def texts(nodes: tuple[Node, ...]) -> list[str]:
    return [leaf.body or "" for node in nodes for leaf in leaves(node)]


@pytest.mark.parametrize(
    ("path", "first"),
    [
        ((0,), "x = 1"),
        ((1, 0), "if (i > 1) then"),
        ((1, 0, 0, 0), "y = 1"),
        ((1, 0, 1, 1), "y = 2"),
    ],
)
def test_a_list_is_found_by_its_path(path: tuple[int, ...], first: str) -> None:
    body = named(parsed(), "one").body
    seen: list[list[str]] = []

    def change(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        seen.append(texts(nodes))
        return nodes

    assert rewrite_list(body, path, change) == body
    assert [found[0] for found in seen] == [first]


def test_only_the_list_changes() -> None:
    file = parsed()
    unit = named(file, "one")
    added = Leaf(Plain("continue"), head="      ", body="continue", trail="\n")
    body = rewrite_list(unit.body, (1, 0, 1, 0), lambda nodes: (*nodes, added))
    changed = replace_unit(file, unit, replace(unit, body=body))
    assert unparse(changed) == TEXT.replace("      z = 3\n", "      z = 3\n      continue\n")


def test_every_leaf_is_mapped_once_and_in_its_place() -> None:
    unit = named(parsed(), "one")
    seen: list[str | None] = []

    def change(leaf: Leaf) -> Leaf:
        seen.append(leaf.body)
        return leaf

    assert map_leaves(unit, change) == unit
    assert seen == [leaf.body for leaf in leaves(unit)]


def test_what_is_shifted_moves_further_in() -> None:
    file = parsed()
    unit = named(file, "one")
    body = (unit.body[0], shifted(unit.body[1], 2))
    text = unparse(replace_unit(file, unit, replace(unit, body=body)))
    old, new = TEXT.splitlines(), text.splitlines()
    moved = range(4, 12)
    assert [line for line in range(len(old)) if old[line] != new[line]] == list(moved)
    assert all(new[line] == f"  {old[line]}" for line in moved)


def test_a_unit_is_replaced_by_identity() -> None:
    file = parsed()
    two = named(file, "two")
    changed = replace_unit(file, two, replace(two, body=()))
    assert unparse(changed) == TEXT.replace("  x = 2\n", "")
    assert named(changed, "one") is named(file, "one")


def test_a_unit_that_is_not_there_changes_nothing() -> None:
    file = parsed()
    other = named(parsed(), "two")
    assert replace_unit(file, other, other) == file
