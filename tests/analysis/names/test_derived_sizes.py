"""Named constants that a unit computes from others, where sizes may have any values."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.memory.mpi_buffers import in_given_sizes
from asphalt.analysis.symbolic.polynomials import poly
from asphalt.ir.expr import Ref
from support.stepping import Stepped

GRID = """\
module grid
  implicit none
  integer, parameter :: nx = 40, ny = 36
  integer, parameter :: face = nx*ny
end module grid
"""
UNIT = """\
subroutine unit
  use grid
  implicit none
  integer, parameter :: {declared}
{included}  print *, 1
end subroutine unit
"""


def written(folder: Path, declared: str, included: str = "") -> str:
    """The constant ``plane`` of a unit in terms of other sizes."""
    text = UNIT.format(declared=declared, included=included)
    files = {
        "grid.f90": GRID,
        "unit.f90": text,
        "sizes.inc": "integer, parameter :: plane = nx*2\n",
    }
    tree = Stepped.of(folder, files)
    tree.any_sizes = True
    (scope,) = (f.scope for f in tree.facts() if f.unit.name == "unit")
    return str(in_given_sizes(poly(Ref("plane", "plane")), scope))


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("plane = nx*ny", "nx*ny"),
        ("plane = (nx + 1)*(ny + 1)", "nx*ny + nx + ny + 1"),
        ("half = nx + 2, plane = 2*half", "2*nx + 4"),
        ("plane = 7", "plane"),  # a size itself
        ("plane = face", "face"),  # what a module computes, is a size
        ("plane = nx/2", "plane"),
        ("plane = max(nx, ny)", "plane"),
    ],
)
def test_what_the_units_own_text_computes(tmp_path: Path, declared: str, expected: str) -> None:
    assert written(tmp_path, declared) == expected


def test_what_a_file_computes_that_others_change_is_a_size(tmp_path: Path) -> None:
    assert written(tmp_path, "other = 1", "  include 'sizes.inc'\n") == "plane"
