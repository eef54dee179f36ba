"""What the search made of a procedure is taken over where all that it names is the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.frontend.source_tree.tree import Tree
from asphalt.optimiser.acceptance import Key
from asphalt.optimiser.searched import Contents, Searched
from asphalt.support.asked_assumptions import recorded_questions
from support.stepping import Stepped

_FILE = """\
module sizes
  integer :: m = 3
end module sizes
subroutine other(n)
  integer, intent(inout) :: n
  call middle(n)
end subroutine other
subroutine middle(n)
  use sizes
  integer, intent(inout) :: n
  call low(n)
  n = n + m
end subroutine middle
subroutine low(n)
  integer, intent(inout) :: n
  n = n + 1
end subroutine low
"""
_OLD, _NEW = b"  n = n + m\n", b"  n = m + n\n"


def _tree(folder: Path) -> Tree:
    return Stepped.of(folder, {"a.f90": _FILE, "b.f90": "subroutine b\nend subroutine b\n"}).tree


def _edited(tree: Tree, old: bytes, new: bytes) -> Tree:
    path = tree.files[0].path
    assert old in tree.content(path)
    return tree.edited({path: tree.content(path).replace(old, new, 1)})


def _key(tree: Tree) -> Key:
    return tree.files[0].path, ("middle",)


def _changed(tree: Tree) -> Contents:
    path = tree.files[0].path
    return {path: tree.content(path).replace(_OLD, _NEW, 1)}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"  call middle(n)\n", b"  n = 2\n  call middle(n)\n"),
        (b"subroutine other(n)\n", b"\n! a comment\n\nsubroutine other(n)\n"),
    ],
)
def test_it_is_known_where_its_callers_are_edited(tmp_path: Path, old: bytes, new: bytes) -> None:
    tree = _tree(tmp_path)
    first = Searched(tree)
    first.note_text(tree, _key(tree), _changed(tree), {("timers", True)})
    after = _edited(tree, old, new)
    with recorded_questions() as asked:
        found = Searched(after, first).text(after, _key(tree))
    if b"comment" in new:  # it stands around units, and so may concern each of them
        assert found is None
        return
    assert found == _changed(after)
    assert asked == {("timers", True)}
    assert first.text(after, _key(tree)) == found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"  n = n + 1\n", b"  n = n + 2\n"),
        (b"m = 3", b"m = 4"),
        (b"  n = n + m\n", b"  n = n + m + 1\n"),
        (b"subroutine low(n)\n", b"subroutine lower(n)\n"),
    ],
)
def test_it_is_not_known_where_what_it_names_is_edited(
    tmp_path: Path, old: bytes, new: bytes
) -> None:
    tree = _tree(tmp_path)
    for contents in (_changed(tree), {}):
        first = Searched(tree)
        first.note_text(tree, _key(tree), contents, ())
        after = _edited(tree, old, new)
        assert Searched(after, first).text(after, _key(tree)) is None


def test_what_stays_as_it_is_does_so_where_its_callers_are_edited(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    searched = Searched(tree)
    searched.note_text(tree, _key(tree), {}, ())
    after = _edited(tree, b"  call middle(n)\n", b"  n = 2\n  call middle(n)\n")
    assert Searched(after, searched).text(after, _key(tree)) == {}


def test_what_becomes_of_other_units_as_well_is_not_known(tmp_path: Path) -> None:
    """Such as procedures that are made beside it, or names that a module shows."""
    tree = _tree(tmp_path)
    own, other = (entry.path for entry in tree.files)
    beside = {other: b"subroutine c\nend subroutine c\n"}
    more = {own: _changed(tree)[own].replace(b"n = n + 1", b"n = 1 + n")}
    for contents in ({**_changed(tree), **beside}, more):
        searched = Searched(tree)
        searched.note_text(tree, _key(tree), contents, ())
        assert searched.text(tree, _key(tree)) is None
