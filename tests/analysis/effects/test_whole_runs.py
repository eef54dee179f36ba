"""An explicit-shape dummy for which a plane is passed: its procedure accesses that plane alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.judging import program, site

_ARRAYS = "real(8), allocatable :: s(:,:,:), r(:,:,:), w(:,:,:)\ninteger :: last, long\n"
_ALLOCATE = "last = nz\ncall set(long)\nallocate(s(n,nz,np), r(n,nz,np), w({dims}))\nw = me\n"
_NEST = """\
do z = 1, last
  call fold(w({first}), long, {m})
end do
do z = 1, last
  do p = 1, np
    do i = 1, n
      s(i,z,p) = w(i,p,z)
    end do
  end do
end do
"""
_FOLD = """\
subroutine fold(c, n1, n2)
  integer, intent(in) :: n1, n2
  real(8), intent(inout) :: c({dims})
  integer :: i, j, l, half
  do j = 1, n2
    do l = 1, 3
      half = n1/2
      do i = 1, half
        c(i+half,j) = 0.5d0*(c(i,j) - c(i+half,j))
      end do
    end do
  end do
end subroutine fold
subroutine set(size)
  integer, intent(out) :: size
  size = n + command_argument_count()
end subroutine set
"""


def verdict(
    folder: Path,
    dims: str = "long,np,nz",
    first: str = "1,1,z",
    m: str = "np",
    dummy: str = "n1,n2",
) -> str:
    source = program(
        arrays=_ARRAYS,
        allocate=_ALLOCATE.format(dims=dims),
        nest=_NEST.format(first=first, m=m),
        after="print *, sum(w), sum(s)\n",
        contained=_FOLD.format(dims=dummy),
    )
    return site(folder, source).verdict


def test_the_planes_are_tiled(tmp_path: Path) -> None:
    assert verdict(tmp_path) == "proved"


@pytest.mark.parametrize(
    "other",
    [
        {"m": "np + 1"},  # the next plane, too
        {"m": "np - 1"},  # fewer, so that indices are compared one by one
        {"dims": "long+1,np,nz"},  # elements of two columns
        {"first": "1,2,z"},  # the end of a plane, and the begin of the next one
        {"dummy": "n1,*"},  # as many as there are
        {"dims": "long,1,nz", "dummy": "n1,1"},  # the same in FORTRAN 66
        {"dims": "1,1,nz", "dummy": "1"},
        {"dims": "long,nz,np", "first": "1,z,1", "m": "1"},  # columns, which are no planes
    ],
)
def test_other_elements_may_be_accessed(other: dict[str, str], tmp_path: Path) -> None:
    assert verdict(tmp_path, **other) == "refused"
