"""Arguments that are not known to be default integers, as the run-time procedures have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.transforms.nonblocking import nonblocking
from support.stepping import Stepped

_STEP = """\
subroutine step(a, b, n, left, right)
  use mpi
  use netcdf, only: wide
  implicit none
  integer, intent(in) :: n, left, right
  real(8), intent(inout) :: a(n), b(n)
  integer :: ierr
  integer(kind=wide) :: big
  integer(8) :: long
  big = n
  long = n
  call MPI_Sendrecv(a, {count}, MPI_DOUBLE_PRECISION, right, 1, b, n, MPI_DOUBLE_PRECISION, left, &
    1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
end subroutine step
"""


@pytest.mark.parametrize(
    ("count", "code", "why"),
    [
        ("n", None, ""),
        ("product(shape(a))", None, ""),  # no array
        ("long", "ASP023", "long is not a default integer"),
        ("n - long", "ASP023", "long is not a default integer"),
        ("shape(a)", "ASP023", "an array where MPI has a scalar"),
        ("big", "ASP013",
         "module netcdf (line 3) is not among the given files: whether big is a default integer "
         "is not known"),
    ],
)  # fmt: skip
def test_what_is_said_of_a_count(count: str, code: str | None, why: str, tmp_path: Path) -> None:
    tree = Stepped.of(tmp_path, {"a.f90": _STEP.format(count=count)})
    refused = tree.refusals(nonblocking)
    found = [(one.code.id, one.message) for one in refused]
    assert found == ([] if code is None else [(code, why)])
