"""Condition 3: what the messages need exists at the entry of the nest, and stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.judging import CALL, NEST, Case, assert_accepted, assert_refused, program

COUNTED = CALL.replace("n*nz", "cnt")
COUNTING = NEST.replace("end do\nend do", "end do\n  cnt = n*nz\nend do")
COMM = CALL.replace("MPI_COMM_WORLD", "comm")
REALLOCATING = """\
subroutine resize(x)
  real(8), allocatable, intent(inout) :: x(:,:,:)
  x = 2*x
end subroutine resize
"""
FUNCTION = """\
integer function count_of()
  calls = calls + 1
  count_of = n*nz
end function count_of
"""
CALLS = "integer :: calls = 0, e(99)\n"
SWAP = """\
subroutine swap(a, b, m, unused)
  use mpi
  implicit none
  integer, intent(in) :: m, unused
  real(8) :: a(*), b(*)
  integer :: ierr
  call MPI_Alltoall(a, m, MPI_DOUBLE_PRECISION, b, m, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
end subroutine swap
"""
LONG = "do k = 1, nz\n  s(:,k,:) = k\nend do\n"

COUNTS = "integer, allocatable :: counts(:), displs(:)\n"
FILLED = "allocate(counts(np), displs(np))\ncounts = n*nz\ndispls = [(n*nz*(p-1), p=1,np)]\n"
VECTORS = """\
call MPI_Alltoallv(s, counts, displs, MPI_DOUBLE_PRECISION, r, counts, displs, &
                   MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
"""

# the plane that is written depends on a constant
PLANES = """\
do z = 1, nz
  call plane(z)
end do
"""
PLANE = """\
subroutine plane(at)
  integer, intent(in) :: at
{declare}  integer :: across, block
  do block = 1, np
    do across = 1, n
      s(across,lead+at,block) = across*at + block
    end do
  end do
end subroutine plane
"""

CASES = (
    Case(
        "ASP301",
        "counts-set-after-the-nest",
        program(declare=COUNTS, before=FILLED, between="counts(1) = 1\n", call=VECTORS),
        program(declare=COUNTS, before=f"{FILLED}counts(1) = 1\n", call=VECTORS),
    ),
    Case(
        "ASP301",
        "displacements-set-in-the-nest",
        program(
            declare=COUNTS,
            before=FILLED,
            nest=NEST.replace("do p = 1, np\n", "do p = 1, np\n    displs(p) = n*nz*(p-1)\n"),
            call=VECTORS,
        ),
        program(declare=COUNTS, before=FILLED, call=VECTORS),
    ),
    Case(
        "ASP301",
        "counts-in-a-structure-that-changes",
        program(
            declare=f"{COUNTS}type :: list\n  integer :: of(9)\nend type list\ntype(list) :: t\n",
            before=f"{FILLED}t%of = n*nz\n",
            between="t%of(2) = n*nz - 1\n",
            call=VECTORS.replace("s, counts", "s, t%of"),
        ),
        program(
            declare=f"{COUNTS}type :: list\n  integer :: of(9)\nend type list\ntype(list) :: t\n",
            before=f"{FILLED}t%of = n*nz\nt%of(2) = n*nz - 1\n",
            call=VECTORS.replace("s, counts", "s, t%of"),
        ),
    ),
    Case(
        "ASP301",
        "index-of-the-counts-changes",
        program(
            declare="integer :: c(99,2), j\n",
            before="j = 1\nc(:,1) = n*nz\nc(:,2) = [(n*nz*(p-1), p=1,99)]\n",
            between="j = 2\n",
            call=VECTORS.replace("counts", "c(:,1)").replace("displs", "c(:,j)"),
        ),
        program(
            declare="integer :: c(99,2), j\n",
            before="j = 1\nj = 2\nc(:,1) = n*nz\nc(:,2) = [(n*nz*(p-1), p=1,99)]\n",
            call=VECTORS.replace("counts", "c(:,1)").replace("displs", "c(:,j)"),
        ),
    ),
    Case(
        "ASP301",
        "count-set-in-the-nest",
        program(declare="integer :: cnt\n", before="cnt = 1\n", nest=COUNTING, call=COUNTED),
        program(declare="integer :: cnt\n", before="cnt = n*nz\n", call=COUNTED),
    ),
    Case(
        "ASP301",
        "count-set-after-the-nest",
        program(
            declare="integer :: cnt\n", before="cnt = 1\n", between="cnt = n*nz\n", call=COUNTED
        ),
        program(declare="integer :: cnt\n", before="cnt = 1\ncnt = n*nz\n", call=COUNTED),
    ),
    Case(
        "ASP301",
        "communicator-set-after-the-nest",
        program(declare="integer :: comm\n", between="comm = MPI_COMM_WORLD\n", call=COMM),
        program(declare="integer :: comm\n", before="comm = MPI_COMM_WORLD\n", call=COMM),
    ),
    Case(
        "ASP302",
        "receive-buffer-gets-another-shape",
        program(before="r = 0\n", between="call resize(r)\n", contained=REALLOCATING),
        program(before="r = 0\ncall resize(r)\n", contained=REALLOCATING),
    ),
    Case(
        "ASP303",
        "count-from-a-function",
        program(
            declare="integer :: calls = 0\n",
            call=CALL.replace("n*nz", "count_of()"),
            contained=FUNCTION,
        ),
        program(declare="integer :: calls = 0\n", contained=FUNCTION),
    ),
    Case(
        "ASP303",
        "count-of-which-no-function-is-left",
        program(declare=CALLS, call=CALL.replace("n*nz", "n*nz+0*count_of()"), contained=FUNCTION),
        program(declare=CALLS, call=CALL.replace("n*nz", "n*nz+0*np"), contained=FUNCTION),
    ),
    Case(
        "ASP303",
        "function-that-says-where-the-error-goes",
        program(declare=CALLS, call=CALL.replace("ierr", "e(count_of())"), contained=FUNCTION),
        program(declare=CALLS, call=CALL.replace("ierr", "e(np)"), contained=FUNCTION),
    ),
    Case(
        "ASP303",
        "function-in-what-is-asked-about",
        program(
            declare=CALLS,
            call=CALL.replace("n*nz,", "size(s(:,:,count_of())),", 1),
            contained=FUNCTION,
        ),
        program(
            declare=CALLS, call=CALL.replace("n*nz,", "size(s(:,:,1)),", 1), contained=FUNCTION
        ),
    ),
    Case(
        "ASP303",
        "function-for-an-argument-that-a-wrapper-does-not-need",
        program(
            declare=CALLS,
            call="call swap(s, r, n*nz, count_of())\n",
            contained=FUNCTION,
            beside=SWAP,
        ),
        program(declare=CALLS, call="call swap(s, r, n*nz, np)\n", contained=FUNCTION, beside=SWAP),
    ),
    Case(
        "ASP304",
        "long-loop-variable",
        program(declare="integer(8) :: k\n", nest=LONG),
        program(declare="integer(4) :: k\n", nest=LONG),
    ),
    Case(
        "ASP305",
        "constant-of-a-procedure",
        program(nest=PLANES, contained=PLANE.format(declare="  integer, parameter :: lead = 0\n")),
        program(
            declare="integer, parameter :: lead = 0\n",
            nest=PLANES,
            contained=PLANE.format(declare=""),
        ),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_refused(case: Case, tmp_path: Path) -> None:
    assert_refused(case, tmp_path)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_accepted_with_a_small_change(case: Case, tmp_path: Path) -> None:
    assert_accepted(case, tmp_path)
