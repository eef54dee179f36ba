"""Procedures of the program with names that a compiler may take for those of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.transforms.inlining import inline
from support.stepping import Stepped

_PROGRAM = """\
subroutine step(a, b, n, to, from)
  use mpi
  implicit none
  integer, intent(in) :: n, to, from
  real(8) :: a(n), b(n)
  integer :: ierr, k
{inside}  k = 1
  call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, to, 1, b, n, MPI_DOUBLE_PRECISION, from, 1, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  call {name}(k)
  b(1) = b(1) + k
end subroutine step
subroutine {name}(k)
  implicit none
  integer, intent(inout) :: k
  k = 5
end subroutine {name}
program main
  use mpi
  implicit none
  integer :: ierr
  real(8) :: a(9), b(9)
{outside}  call MPI_Init(ierr)
  a = 1
  call step(a, b, 9, 0, 0)
  print *, b
  call MPI_Finalize(ierr)
end program main
"""


@pytest.mark.parametrize(
    ("name", "inside", "outside", "inlined"),
    [
        ("finish", True, False, True),
        ("flush", True, True, True),
        ("flush", False, False, True),
        ("flush", True, False, False),  # the compiler's own one in the main program
        ("flush", False, True, False),  # and in the procedure
        ("itime", True, False, False),
        ("random_number", True, False, False),
    ],
)
def test_a_name_means_the_same_procedure_in_the_caller(
    name: str, inside: bool, outside: bool, inlined: bool, tmp_path: Path
) -> None:
    declared = f"  external {name}\n"
    parts = {"inside": declared * inside, "outside": declared * outside}
    tree = Stepped.of(tmp_path, {"main.f90": _PROGRAM.format(name=name, **parts)})
    tree.applied(inline, unit="main")
    assert ("call step(" not in tree.text("main.f90")) is inlined
