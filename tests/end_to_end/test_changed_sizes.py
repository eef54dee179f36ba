"""Sizes that are named constants: what is emitted stays right when somebody changes them.

Trees that were transformed in place are built again with other values in an include file, without
asphalt.  Where the proof holds for any sizes nothing asks for them; elsewhere the original call is
made.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.project import Project
from support.judging import SETTINGS, program
from support.mpi_run import MPICH, RUNTIME, build, installed, run

ANY = program(declare="include 'sizes.inc'\n").replace(
    "  integer, parameter :: n = 3, nz = 8\n", ""
)
# right for n*nz = 24 only
FIXED = ANY.replace("s, n*nz,", "s, 24,").replace("r, n*nz,", "r, 24,")
# the receive buffer is read, so that pieces land in a clone
CLONED = program(
    arrays="real(8), allocatable :: s(:,:,:), r(:,:,:)\n",
    declare="include 'sizes.inc'\n",
    before="r = me\n",
    nest="""\
do z = 1, nz
  do p = 1, np
    do i = 1, n
      s(i,z,p) = r(i,z,p) + dble(i*z) + p*me
    end do
  end do
end do
""",
).replace("  integer, parameter :: n = 3, nz = 8\n", "")
# the loop inside may be unrolled, by compilers that know its length
SHORT = program(
    declare="include 'sizes.inc'\n",
    nest="""\
do p = 1, np
  do z = 1, nz
    do i = 1, n
      s(i,z,p) = sin(dble(i*z)) + p*me
    end do
  end do
end do
""",
).replace("  integer, parameter :: n = 3, nz = 8\n", "")

# only the allocation tells how long a plane is
ALLOCATED = FIXED.replace("do z = 1, nz", "do z = 1, 8").replace("do i = 1, n\n", "do i = 1, 3\n")
# the order of planes is a constant of the called procedure
CALLED = """\
module planes
  implicit none
contains
  subroutine fill(s, n, nz, z, np)
    integer, intent(in) :: n, nz, z, np
    real(8), intent(inout) :: s(n,nz,np)
    integer, parameter :: way = 1, start = 0
    integer :: i, p
    do p = 1, np
      do i = 1, n
        s(i, start + way*z, p) = i*z + p
      end do
    end do
  end subroutine fill
end module planes
subroutine transpose(n, nz, np, comm, s, r)
  use mpi
  use planes
  implicit none
  integer, intent(in) :: n, nz, np, comm
  real(8), intent(inout) :: s(n,nz,np), r(n,nz,np)
  integer :: z, ierr
  do z = 1, nz
    call fill(s, n, nz, z, np)
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, comm, ierr)
end subroutine transpose
"""
SEEN = CALLED.replace(
    "contains\n", "  integer, parameter :: way = 1, start = 0\ncontains\n", 1
).replace("    integer, parameter :: way = 1, start = 0\n", "", 1)


# the exchange has a constant of this name and value too, from another file
OTHER = CALLED.replace(
    "    integer, parameter :: way = 1, start = 0\n", "    include 'order.inc'\n"
)
OTHER = OTHER.replace("np, comm\n", "np, comm\n  include 'other.inc'\n")
# the same statement gives both their values
SAME = OTHER.replace("other.inc", "order.inc")
# nine calls away
DEEP = program(
    nest="""\
do z = 1, nz
  call down1(s, n, nz, z, np)
end do
""",
    beside="".join(
        f"""\
        subroutine down{level}(s, n, nz, z, np)
          integer :: n, nz, z, np
          real(8) :: s(n,nz,np)
          call down{level + 1}(s, n, nz, z, np)
        end subroutine
        """
        for level in range(1, 9)
    )
    + """\
        subroutine down9(s, n, nz, z, np)
          integer :: n, nz, z, np, i, p
          real(8) :: s(n,nz,np)
          include 'order.inc'
          do p = 1, np
            do i = 1, n
              s(i, start + way*z, p) = i*z + p
            end do
          end do
        end subroutine
        """,
)
# the planes are as large as a dummy's bounds say, which are constants of its procedure
DUMMY = program(
    nest="""\
do z = 1, nz
  do p = 1, np
    call plane(s(1,z,p), z)
  end do
end do
""",
    beside="""\
    subroutine plane(a, z)
      implicit none
      include 'sizes.inc'
      integer :: z, i
      real(8) :: a(n)
      do i = 1, n
        a(i) = sin(dble(i*z))
      end do
    end subroutine plane
    """,
)
# the size comes in through a variable, from before the nest
VARIABLE = (
    FIXED.replace("do z = 1, nz", "do z = 1, m")
    .replace("do i = 1, n\n", "do i = 1, 3\n")
    .replace("allocate(s(n,nz,np), r(n,nz,np))", "m = nz\n  allocate(s(3,m,np), r(3,m,np))")
    .replace("include 'sizes.inc'\n", "include 'sizes.inc'\n  integer :: m\n")
)
# ... or through the bounds of a component
COMPONENT = """\
module boxes
  implicit none
  include 'sizes.inc'
  type :: box
    real(8) :: s(n,nz,4)
  end type box
end module boxes
program main
  use mpi
  use boxes
  implicit none
  type(box) :: b
  real(8) :: r(3,8,4)
  integer :: i, p, z, me, np, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  b%s = 0
  r = 0
  do z = 1, 8
    do p = 1, np
      do i = 1, 3
        b%s(i,z,p) = sin(dble(i*z)) + p*me
      end do
    end do
  end do
  call MPI_Alltoall(b%s, 24, MPI_DOUBLE_PRECISION, r, 24, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
  print *, sum(r)
  call MPI_Finalize(ierr)
end program main
"""
ORDER = "      integer, parameter :: way = 1, start = 0\n"


def sizes(n: int, nz: int) -> str:
    return f"      integer, parameter :: n = {n}, nz = {nz}\n"


def project(folder: Path, text: str, n: int = 3, nz: int = 8) -> Project:
    """The program in a folder where its sizes are set."""
    (folder / "sizes.inc").write_text(sizes(n, nz))
    for name in ("order.inc", "other.inc"):
        (folder / name).write_text(ORDER)
    (folder / "exchange.f90").write_text(text)
    return Project(folder, settings=SETTINGS)


def applied(folder: Path, text: str, n: int, nz: int) -> str:
    """The program transformed in place."""
    (change,) = project(folder, text, n, nz).transform(tile=3, depth=2)
    (folder / "exchange.f90").write_bytes(change.after)
    header = "".join(
        f"      integer, parameter :: asphalt_{what}_{entry.site} = {value}\n"
        for entry in change.parameters
        for what, value in (("k", entry.tile), ("d", entry.depth))
    )
    (folder / "asphalt_params.inc").write_text(header)
    return change.after.decode("latin-1")


@pytest.mark.parametrize("text", [ANY, CLONED], ids=["direct", "cloned"])
def test_a_proof_for_any_sizes_needs_no_assumption(text: str, tmp_path: Path) -> None:
    emitted = applied(tmp_path, text, 3, 8)
    assert "tiled=" not in emitted
    assert "== 8" not in emitted


def test_what_holds_for_some_sizes_only_is_asked_for(tmp_path: Path) -> None:
    """The runtime asks whether `nz` planes of `n` elements are 24 elements."""
    emitted = applied(tmp_path, FIXED, 3, 8)
    assert (
        "begin(MPI_COMM_WORLD, s, r, 24, MPI_DOUBLE_PRECISION, storage_size(s)/8, unit=n, &"
        in emitted
    )
    assert "last=nz," in emitted
    assert "tiled=" not in emitted


def test_what_an_allocation_depends_on_is_asked_for(tmp_path: Path) -> None:
    emitted = applied(tmp_path, ALLOCATED, 3, 8)
    assert "tiled=8 == nz .and. 3 <= n," in " ".join(emitted.replace("&", "").split())


@pytest.mark.parametrize("text", [SEEN, SAME], ids=["module", "same include"])
def test_constants_of_called_procedures_are_asked_for(text: str, tmp_path: Path) -> None:
    assert "start == 0 .and. way == 1" in applied(tmp_path, text, 3, 8)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (CALLED, "proved for start = 0 of fill, way = 1 of fill only"),
        (OTHER, "proved for start = 0 of fill, way = 1 of fill only"),
        (DEEP, "proved for values of named constants only"),
        (DUMMY, "proved for n = 3 of plane"),
    ],
    ids=["local", "another include", "deep", "dummy"],
)
def test_a_proof_for_values_that_no_setting_gives_does_not_hold(
    text: str, told: str, tmp_path: Path
) -> None:
    (site,) = project(tmp_path, text).sites()
    assert (site.report.verdict, site.report.code) == ("refused", "ASP305")
    assert site.report.message.startswith(told)


def test_what_variables_and_components_are_made_of_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "variable").mkdir()
    (tmp_path / "component").mkdir()
    assert "tiled=3*nz == 24," in applied(tmp_path / "variable", VARIABLE, 3, 8)
    emitted = applied(tmp_path / "component", COMPONENT, 3, 8)
    assert "tiled=8 == nz .and. 3 <= n," in " ".join(emitted.replace("&", "").split())


def test_what_unrolling_would_change_is_proved_for_its_size_only(tmp_path: Path) -> None:
    emitted = applied(tmp_path, SHORT, 300, 8)
    assert "tiled=n == 300" in emitted


def compare(text: str, folder: Path) -> None:
    """Nothing is out of bounds with larger sizes than those that were there when asphalt ran, and
    all is as the original computes it."""
    flags = ("-O1", "-fcheck=all")
    original, changed = folder / "original", folder / "changed"
    for place in (original, changed):
        place.mkdir()
    applied(changed, text, 3, 8)
    (original / "exchange.f90").write_text(text)
    # the count of 24 is within the blocks of the larger sizes, too
    for place in (original, changed):
        (place / "sizes.inc").write_text(sizes(5, 13))
    first = build(MPICH, [original / "exchange.f90"], original, flags)
    second = build(MPICH, [*RUNTIME, changed / "exchange.f90"], changed, flags)
    for ranks in (1, 3):
        expected, found = run(MPICH, first, ranks), run(MPICH, second, ranks)
        assert expected.code == 0, expected.stderr
        assert (found.code, sorted(found.stdout.split())) == (0, sorted(expected.stdout.split()))


@pytest.mark.skipif(not installed(MPICH), reason="MPICH is not installed")
@pytest.mark.parametrize(
    "text", [ANY, CLONED, FIXED, ALLOCATED], ids=["direct", "cloned", "fixed", "allocated"]
)
def test_other_sizes_need_no_second_run(text: str, tmp_path: Path) -> None:
    compare(text, tmp_path)


@pytest.mark.wide
@pytest.mark.skipif(not installed(MPICH), reason="MPICH is not installed")
@pytest.mark.parametrize("text", [VARIABLE, COMPONENT], ids=["variable", "component"])
def test_other_sizes_in_variables_and_components_need_no_second_run(
    text: str, tmp_path: Path
) -> None:
    compare(text, tmp_path)
