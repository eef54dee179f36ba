"""Each activation of a procedure has an exchange of its own, on each path: recursion, SAVE, two
sites, and what leaves a nest or the procedure."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.limits import HEADER
from asphalt.config.settings import Settings
from asphalt.output.write import write_tree
from asphalt.project import Project
from support.mpi_run import MPICH, OPENMPI, Mpi, build, installed, run
from support.tiled_runs import with_values

PROGRAM = """\
module levels
  use mpi
  implicit none
  integer, parameter :: n = 20, nz = 10
  integer :: me, np
contains
  recursive subroutine descend(level, total)
    integer, intent(in) :: level
    real(8), intent(inout) :: total
    real(8) :: s(n, nz, 4), r(n, nz, 4)
    integer :: i, z, p, ierr
    {save}
    do z = 1, nz
      do p = 1, np
        do i = 1, n
          s(i,z,p) = dble(i*z)*level + p*me
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    total = total + level*sum(r(:,:,:np))
    if (level < 3) call descend(level + 1, total)
    do z = 1, nz
      do p = 1, np
        do i = 1, n
          s(i,z,p) = dble(i + z) + p*level
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    total = total + sum(r(:,:,:np))
  end subroutine descend
end module levels
program main
  use levels
  implicit none
  integer :: ierr, step
  real(8) :: total
  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  total = 0
  do step = 1, 3
    call descend(1, total)
  end do
  print '(i0,es24.16)', me, total
  call MPI_Finalize(ierr)
end program main
"""
LEAVING = """\
module leaving
  use mpi
  implicit none
  integer, parameter :: n = 6, nz = 10
  integer :: me, np
contains
  subroutine exit_of_rows(last, total)
    integer, intent(in) :: last
    real(8), intent(inout) :: total
    real(8) :: s(n, nz, 4), r(n, nz, 4)
    integer :: i, z, p, ierr
    s = -1
    do z = 1, nz
      do p = 1, np
        do i = 1, n
          if (i > last) exit
          s(i,z,p) = dble(i*z) + p*me
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    total = total + sum(r(:,:,:np))
  end subroutine exit_of_rows

  subroutine exit_of_planes(last, total)
    integer, intent(in) :: last
    real(8), intent(inout) :: total
    real(8) :: s(n, nz, 4), r(n, nz, 4)
    integer :: i, z, p, ierr
    s = -1
    do z = 1, nz
      if (z > last) exit
      do p = 1, np
        do i = 1, n
          s(i,z,p) = dble(i*z) + p*me
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    total = total + sum(r(:,:,:np)) + z
  end subroutine exit_of_planes

  subroutine return_of_planes(last, total)
    integer, intent(in) :: last
    real(8), intent(inout) :: total
    real(8) :: s(n, nz, 4), r(n, nz, 4)
    integer :: i, z, p, ierr
    s = -1
    do z = 1, nz
      do p = 1, np
        do i = 1, n
          if (z > last) return
          s(i,z,p) = dble(i*z) + p*me
          total = total + s(i,z,p)
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    total = total + sum(r(:,:,:np)) + z
  end subroutine return_of_planes

  subroutine one_leaves_early(last, total)
    integer, intent(in) :: last
    real(8), intent(inout) :: total
    real(8) :: s(n, nz, 4), r(n, nz, 4)
    integer :: i, z, p, ierr
    do z = 1, nz
      do p = 1, np
        do i = 1, n
          s(i,z,p) = dble(i*z) + p*me
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    total = total + sum(r(:,:,:np))
    if (last < nz) return
    do z = 1, nz
      do p = 1, np
        do i = 1, n
          s(i,z,p) = dble(i + z) + p*last
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    total = total + sum(r(:,:,:np))
  end subroutine one_leaves_early

  subroutine exit_of_turns(last, total)
    integer, intent(in) :: last
    real(8), intent(inout) :: total
    real(8) :: s(n, nz, 4), r(n, nz, 4)
    integer :: i, z, p, turn, ierr
    s = -1
    turns: do turn = 1, 3
      do z = 1, nz
        do p = 1, np
          do i = 1, n
            if (z*turn > 2*last) exit turns
            s(i,z,p) = dble(i*z) + turn*p*me
          end do
        end do
      end do
      call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                        MPI_COMM_WORLD, ierr)
      total = total + sum(r(:,:,:np))
    end do turns
    total = total + sum(s(:,:,:np)) + turn
  end subroutine exit_of_turns
end module leaving
program main
  use leaving
  implicit none
  integer :: ierr, step
  real(8) :: total
  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  total = 0
  do step = 4, nz + 1, 3
    call exit_of_rows(step/2, total)
    call exit_of_planes(step, total)
    call return_of_planes(step, total)
    call one_leaves_early(step, total)
    call exit_of_turns(step, total)
  end do
  print '(i0,es24.16)', me, total
  call MPI_Finalize(ierr)
end program main
"""


@pytest.mark.parametrize("save", ["", "save"], ids=["recursion", "save"])
@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH)[:1], ids=str)
def test_each_activation_has_its_own(mpi: Mpi, save: str, tmp_path: Path) -> None:
    assert_same(mpi, PROGRAM.format(save=save), 2, tmp_path)


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH)[:1], ids=str)
def test_ways_out(mpi: Mpi, tmp_path: Path) -> None:
    """A way out of the rows of a plane, or from one exchange to the end, passes by no message; a
    nest that may be left between two tiles is not tiled."""
    (tmp_path / "main.f90").write_text(LEAVING)
    found = Project(tmp_path, settings=SETTINGS).sites()
    assert {site.name: site.report.code for site in found} == {
        "exit_of_rows": None,
        "exit_of_planes": "ASP103",
        "return_of_planes": "ASP103",
        "one_leaves_early_1": None,
        "one_leaves_early_2": None,
        "exit_of_turns": "ASP103",
    }
    assert_same(mpi, LEAVING, 3, tmp_path)


SETTINGS = Settings(tile=3, depth=2, cache=False)


def assert_same(mpi: Mpi, text: str, objects: int, folder: Path) -> None:
    """A program with so many exchanges in tiles prints the same, not tiled and with two K."""
    given, out = folder / "src", folder / "out"
    given.mkdir()
    main = given / "main.f90"
    main.write_text(text)
    written = write_tree([given], Project(given, settings=SETTINGS).transform(), out)
    assert (out / "main.f90").read_text().count("call asphalt_x%begin(") == objects
    expected = run(mpi, build(mpi, [main], given, ["-w"]), 3)
    header = (out / HEADER).read_text()
    for tile in (0, 1, 3):
        (out / HEADER).write_text(with_values(header, tile, 2))
        sources = [*written.runtime, out / "main.f90"]
        outcome = run(mpi, build(mpi, sources, out, ["-O2", "-Wall"]), 3)
        assert outcome.code == expected.code == 0
        assert sorted(outcome.stdout.splitlines()) == sorted(expected.stdout.splitlines()), tile
