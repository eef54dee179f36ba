"""fortls and our own tree agree about where a procedure is, or nothing is transformed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from asphalt.config.settings import Settings
from asphalt.frontend.lexical.source_text import read_source
from asphalt.frontend.second_opinion.second_outline import differs
from asphalt.frontend.source_tree.index import FileIndex, index_file
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.ir.tree import Unit

SOURCE = """\
module m
contains
  subroutine outer(n, s)
    integer, intent(in) :: n
    real, intent(inout) :: s(n)
    s = 1
  end subroutine outer
end module m
"""


def read(path: Path) -> tuple[FileIndex, tuple[Unit, ...]]:
    path.write_text(SOURCE)
    file = load_tree([path], Settings(cache=False)).file(str(path))
    module = file.units[0]
    return index_file(read_source(str(path))), (module, module.contained[0])


def test_the_same_procedure(tmp_path: Path) -> None:
    index, chain = read(tmp_path / "m.f90")
    assert index.units
    assert differs(index, chain) is None


def test_other_arguments(tmp_path: Path) -> None:
    index, chain = read(tmp_path / "m.f90")
    other = tuple(replace(u, args=("s", "n")) if u.name == "outer" else u for u in index.units)
    found = differs(FileIndex(other, index.called), chain)
    assert found is not None
    assert "outer" in found


def test_other_lines(tmp_path: Path) -> None:
    index, chain = read(tmp_path / "m.f90")
    other = tuple(replace(u, first=90, last=99) if u.name == "outer" else u for u in index.units)
    assert differs(FileIndex(other, index.called), chain) is not None


def test_what_fortls_does_not_know(tmp_path: Path) -> None:
    _, chain = read(tmp_path / "m.f90")
    assert differs(FileIndex((), frozenset()), chain) is None


CUT = """\
      subroutine relax_a_line(values, quite_long_name_of_an_extent, lef
     1t, right)
      integer quite_long_name_of_an_extent, left, right
      real values(quite_long_name_of_an_extent)
      values(1) = left + right
      end
"""


def test_a_dummy_that_a_line_ending_cuts(tmp_path: Path) -> None:
    """fortls finds two of them, and only where the name is cut that is no difference."""
    path = tmp_path / "cut.f"
    path.write_text(CUT)
    (unit,) = load_tree([path], Settings(cache=False)).file(str(path)).units
    index = index_file(read_source(str(path)))
    (entry,) = index.units
    assert "left" not in entry.args
    assert differs(index, (unit,)) is None
    values, extent, *_ = entry.args
    for args in (
        (values, extent, "lef", "t", "rig", "ht"),  # right is in one piece
        (values, extent, "le", "t", "right"),
        (values, extent, "leftright"),
        (values, extent, "lef", "t"),
        (values, extent, "left", "right", "more"),
    ):
        other = FileIndex((replace(entry, args=args),), index.called)
        assert differs(other, (unit,)) is not None
