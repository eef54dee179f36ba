"""Two fields that smooth each other, exchanged axis by axis: all transformations together."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import Optimised, optimise
from support.mpi_run import MPICH, OPENMPI, RUNTIME, Mpi, build, installed, run

_TEXT = """\
module field
  use mpi
  implicit none
  integer, parameter :: n1 = 50, n2 = 20, n3 = 20, steps = 3
  integer, save :: me, np, request(-1:1)
  logical, save :: exchanged(2:3)
  real(8), save :: outgoing(n1*max(n2, n3), -1:1), incoming(n1*max(n2, n3), -1:1)

contains

  !> Fills the planes around u, axis by axis: those of an axis have what came on the one before.
  subroutine exchange(u)
    real(8), intent(inout) :: u(n1, n2, n3)
    integer :: axis

    do axis = 2, 3
      if (.not. exchanged(axis)) cycle
      call ready(axis, -1)
      call ready(axis, 1)
      call give(axis, 1, u)
      call give(axis, -1, u)
      call take(axis, -1, u)
      call take(axis, 1, u)
    end do
  end subroutine exchange

  subroutine ready(axis, dir)
    integer, intent(in) :: axis, dir
    integer :: ierr

    call MPI_Irecv(incoming(1, dir), n1*max(n2, n3), MPI_DOUBLE_PRECISION, modulo(me + dir, np), &
                   10*axis - dir, MPI_COMM_WORLD, request(dir), ierr)
  end subroutine ready

  subroutine give(axis, dir, u)
    integer, intent(in) :: axis, dir
    real(8), intent(in) :: u(n1, n2, n3)
    integer :: face, count, i, j, ierr

    count = 0
    select case (axis)
    case (2)
      face = merge(2, n2 - 1, dir < 0)
      do j = 2, n3 - 1
        do i = 1, n1
          count = count + 1
          outgoing(count, dir) = u(i, face, j)
        end do
      end do
    case (3)
      face = merge(2, n3 - 1, dir < 0)
      do j = 1, n2
        do i = 1, n1
          count = count + 1
          outgoing(count, dir) = u(i, j, face)
        end do
      end do
    end select
    call MPI_Send(outgoing(1, dir), count, MPI_DOUBLE_PRECISION, modulo(me + dir, np), &
                  10*axis + dir, MPI_COMM_WORLD, ierr)
  end subroutine give

  subroutine take(axis, dir, u)
    integer, intent(in) :: axis, dir
    real(8), intent(inout) :: u(n1, n2, n3)
    integer :: status(MPI_STATUS_SIZE), face, count, i, j, ierr

    call MPI_Wait(request(dir), status, ierr)
    count = 0
    select case (axis)
    case (2)
      face = merge(1, n2, dir < 0)
      do j = 2, n3 - 1
        do i = 1, n1
          count = count + 1
          u(i, face, j) = incoming(count, dir)
        end do
      end do
    case (3)
      face = merge(1, n3, dir < 0)
      do j = 1, n2
        do i = 1, n1
          count = count + 1
          u(i, j, face) = incoming(count, dir)
        end do
      end do
    end select
  end subroutine take

  subroutine smooth(step, r, u)
    integer, intent(in) :: step
    real(8), intent(in) :: r(n1, n2, n3)
    real(8), intent(inout) :: u(n1, n2, n3)
    real(8) :: near(n1)
    integer :: i, j, k

    do k = 2, n3 - 1
      do j = 2, n2 - 1
        do i = 1, n1
          near(i) = r(i, j-1, k-1) + r(i, j+1, k+1) + r(i, j-1, k+1) + r(i, j+1, k-1)
        end do
        do i = 1, n1
          u(i, j, k) = u(i, j, k)/2 + sqrt(abs(near(i)*r(i, j, k)))/(step + near(n1 + 1 - i)**2)
        end do
      end do
    end do
  end subroutine smooth

end module field

program in_turn
  use mpi
  use field, only: exchange, exchanged, me, n1, n2, n3, np, smooth, steps
  implicit none
  real(8), allocatable :: u(:,:,:), r(:,:,:)
  integer :: ierr, step, i, j, k

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  exchanged = [n2 > 2, n3 > 2]
  allocate(u(n1, n2, n3), r(n1, n2, n3))
  do k = 1, n3
    do j = 1, n2
      do i = 1, n1
        u(i, j, k) = mod(7*i + 3*j + 5*k + 11*me, 23)/23.0d0
        r(i, j, k) = mod(2*i + 9*j + 4*k + 13*me, 29)/29.0d0
      end do
    end do
  end do
  do step = 1, steps
    call smooth(step, r, u)
    call exchange(u)
    call smooth(step, u, r)
    call exchange(r)
  end do
  print '(i0, 1x, i0, 1x, i0)', me, sum(transfer(u, [0_8])), sum(transfer(r, [0_8]))
  call MPI_Finalize(ierr)
end program in_turn
"""


def _found(folder: Path, text: str = _TEXT) -> Optimised:
    path = folder / "in_turn.f90"
    path.write_text(text)
    tree = load_tree([path], Settings(cache=False, jobs=1))
    (main,) = tree.main_programs()
    return optimise(tree, main)


@pytest.fixture(scope="module")
def optimised(tmp_path_factory: pytest.TempPathFactory) -> Optimised:
    return _found(tmp_path_factory.mktemp("in_turn"))


@pytest.mark.wide
def test_the_interior_is_shared_by_both_axes_of_both_exchanges(optimised: Optimised) -> None:
    done = [step.does for step in optimised.steps]
    assert sum("begins behind its first work" in does for does in done) == 1
    assert sum("is split into its interior and its edges" in does for does in done) == 2
    assert sum(does.endswith("is shared by 2 windows") for does in done) == 2
    assert optimised.content is not None
    lines = [line.strip() for line in optimised.content.decode().splitlines()]
    assert "if (1 <= steps) call smooth(1, r, u)" in lines
    receives = [one for one in optimised.transfers if one.operation == "MPI_Irecv"]
    assert len(receives) == 8
    assert all(one.overlaps for one in receives)


@pytest.mark.wide
def test_nothing_is_done_a_second_time(tmp_path: Path, optimised: Optimised) -> None:
    assert optimised.content is not None
    again = _found(tmp_path, optimised.content.decode())
    assert not again.steps or again.content == optimised.content


SIZES = [(4, 9, 8, 3), (3, 3, 3, 2), (1, 4, 5, 1), (2, 5, 4, 0), (3, 2, 6, 2), (2, 7, 2, 2)]


@pytest.mark.wide
@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH), ids=str)
def test_results_are_the_same(tmp_path: Path, optimised: Optimised, mpi: Mpi) -> None:
    """For sizes without an interior, without planes and without steps, too."""
    assert optimised.content is not None
    old = "n1 = 50, n2 = 20, n3 = 20, steps = 3"
    for case, (n1, n2, n3, steps) in enumerate(SIZES):
        new = f"n1 = {n1}, n2 = {n2}, n3 = {n3}, steps = {steps}"
        programs = []
        for name, content in (("before", _TEXT), ("after", optimised.content.decode())):
            folder = tmp_path / f"{name}{case}"
            folder.mkdir()
            source = folder / f"{name}.f90"
            assert old in content
            source.write_text(content.replace(old, new))
            programs.append(build(mpi, [*RUNTIME, source], folder, ("-O2", "-fcheck=all")))
        for ranks in (1, 2, 3, 4):
            before, after = (run(mpi, program, ranks) for program in programs)
            assert before.code == after.code == 0, after.stderr
            assert sorted(before.stdout.splitlines()) == sorted(after.stdout.splitlines())
