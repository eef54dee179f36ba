"""Comments in the lines of statements that are printed anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.ir.tree import leaves
from asphalt.transforms.rewriting.comments import comments_inside

_FREE = """\
subroutine s(a, n)
  integer :: n
  character(9) :: a
  a = "what! &
      ! between its lines
      &no comment!" // & ! the rest
      'it''s!'
end subroutine s
"""
_FIXED = """\
      subroutine s(a, n)
      integer n
      character*9 a
      a = 'what! '
C between
     !  // "no! comment" // ! a remark
   ! another
     &  'x'        !$ cheap
     &  // 'y'
      end
"""


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("free.f90", _FREE, ["  ! between its lines\n", "  ! the rest\n"]),
        ("fixed.f", _FIXED, ["C between\n", "! a remark\n", "! another\n", "! $ cheap\n"]),
    ],
)
def test_all_of_them_and_no_constants(
    name: str, text: str, expected: list[str], tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text)
    tree = load_tree([tmp_path], Settings(cache=False, jobs=1))
    (located,) = tree.units_of(str(path))
    (leaf,) = (leaf for node in located.unit.body for leaf in leaves(node))
    found = comments_inside(leaf, name.endswith(".f90"), "\n")
    assert [trivia.text for trivia in found] == expected
