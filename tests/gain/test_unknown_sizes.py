"""The sizes that estimates rest on and that nothing tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.sizes import size_of
from asphalt.gain.model import Model
from support.stepping import Stepped

_PROGRAM = """\
module grid
  implicit none
  integer :: nx, ny, nz
  integer, parameter :: halo = 2
  type box
    integer :: length
  end type box
  type(box) :: all
contains
  subroutine smooth(u, n)
    integer, intent(in) :: n
    real(8), intent(inout) :: u(*)
    integer :: i, j
    do j = 1, ny
      do i = j, all%length + halo
        u(i + j) = 0.5d0*u(i + j)
      end do
    end do
    call scale(u, n)
  end subroutine smooth
  subroutine scale(u, n)
    integer, intent(in) :: n
    real(8), intent(inout) :: u(*)
    integer :: i
    do i = 1, n
      u(i) = 2*u(i)
    end do
  end subroutine scale
end module grid
program main
  use grid
  implicit none
  real(8) :: u(1000)
  integer :: i, step, steps, known
  read *, nx, ny, steps
  known = 10
  do step = 1, steps
    do i = 1, nx
      u(i) = u(i) + i
    end do
    do i = 1, known
      u(i) = u(i) - i
    end do
    call smooth(u, 100)
  end do
end program main
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((), ("nx", "ny", "all%length")),  # not the number of steps, and what calls pass is known
        (("nx=10",), ("ny", "all%length")),
        (("nx=10", "ny=20", "all%length=30"), ()),
    ],
)
def test_sizes_in_the_bounds_of_loops(
    given: tuple[str, ...], expected: tuple[str, ...], tmp_path: Path
) -> None:
    stepped = Stepped.of(tmp_path, {"main.f90": _PROGRAM})
    (main,) = (facts for facts in stepped.facts() if facts.unit.name == "main")
    model = Model(sizes=tuple(map(size_of, given)))
    assert model.unknown_sizes(stepped.tree, main.located) == expected
