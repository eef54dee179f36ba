"""Messages from and into components of elements of an array of structures."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import Optimised, optimise
from asphalt.optimiser.options import Options
from support.mpi_run import MPICH, OPENMPI, Mpi, installed, same_lines

_PROGRAM = """\
module chunks
  implicit none
  integer, parameter :: n = 40
  type :: part
    real(8), allocatable :: halo(:)
  end type part
  type :: tile
    integer :: length
    real(8) :: x, low(n), high(n)
    type(part) :: sides(2)
    real(8), allocatable :: values(:,:), halo(:), edge(:)
    real(8), pointer :: window(:)
  end type tile
  type(tile){kind} :: tiles(2)
  type(tile), allocatable :: more(:)
  real(8), pointer :: view(:)
contains
  subroutine step(t, spare, left, right, comm)
    use mpi
    integer, intent(inout) :: t
    real(8), allocatable, intent(inout) :: spare(:)
    integer, intent(in) :: left, right, comm
    integer :: i, j, ierr, list(n)
    list = [(i, i = 1, n)]
    do i = 1, n
      tiles(t)%edge(i) = tiles(t)%values(i,n)
    end do
    call MPI_Sendrecv({sent}, {count}, MPI_DOUBLE_PRECISION, right, 3, &
                      {received}, {count}, MPI_DOUBLE_PRECISION, left, 3, comm, &
                      MPI_STATUS_IGNORE, ierr)
    do j = 1, n
      do i = 1, n
        tiles(1)%values(i,j) = 0.5d0*tiles(1)%values(i,j) + sqrt(1d0*i*j)
      end do
    end do
{work}
    do i = 1, n
      tiles(t)%values(i,0) = tiles(t)%values(i,0) + tiles(t)%halo(i)
    end do
  end subroutine step
end module chunks

program main
  use mpi
  use chunks
  implicit none
  real(8), allocatable :: spare(:)
  integer :: me, np, ierr, k, t
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  allocate(spare(n), more(2))
  spare = 0
  do t = 1, 2
    allocate(tiles(t)%values(n,0:n), tiles(t)%halo(n), tiles(t)%edge(n), tiles(t)%window(n))
    allocate(more(t)%halo(n), tiles(t)%sides(1)%halo(n), tiles(t)%sides(2)%halo(n))
    tiles(t)%length = n
    tiles(t)%values = me + 0.125d0*t
    tiles(t)%halo = 0
    tiles(t)%edge = 0
    tiles(t)%window = 0
    tiles(t)%low = me
    tiles(t)%high = 0
    tiles(t)%x = me
  end do
  do k = 1, 4
    t = 1 + mod(k, 2)
    call step(t, spare, modulo(me - 1, np), modulo(me + 1, np), MPI_COMM_WORLD)
  end do
  print '(i0, 6z17)', me, sum(tiles(1)%values), sum(tiles(2)%values), sum(tiles(1)%halo), &
                      sum(tiles(2)%halo), sum(tiles(1)%high), sum(tiles(2)%high)
  call MPI_Finalize(ierr)
end program main
"""


def program(
    sent: str, received: str, count: str = "n", work: str = "    i = 0", kind: str = ""
) -> str:
    return _PROGRAM.format(sent=sent, received=received, count=count, work=work, kind=kind)


def optimised(folder: Path, text: str) -> Optimised:
    path = folder / "main.f90"
    path.write_text(text)
    tree = load_tree([folder], Settings(cache=False, jobs=1))
    (unit,) = (one for one in tree.units_of(str(path)) if one.unit.name == "step")
    return optimise(tree, unit, Options(("nonblocking", "motion")))


MOVED = {
    "whole-arrays": program("tiles(t)%edge", "tiles(t)%halo"),
    "first-elements": program("tiles(t)%edge(1)", "tiles(t)%halo(1)"),
    "sections": program("tiles(t)%edge(2:n)", "tiles(t)%halo(:n - 1)", "n - 1"),
    "columns": program("tiles(t)%values(:,n)", "tiles(t)%halo"),
    "with-a-component-as-count": program("tiles(t)%edge", "tiles(t)%halo", "tiles(t)%length"),
    "with-a-size-as-count": program("tiles(t)%edge", "tiles(t)%halo", "size(tiles(t)%halo)"),
    "of-elements-of-elements": program("tiles(t)%edge", "tiles(t)%sides(2)%halo"),
    "subscripts-from-elements": program("tiles(t)%edge", "tiles(tiles(1)%length/n)%halo"),
}


def waits(found: Optimised, text: str) -> int:
    """The line of the last wait, or of the call if it remains blocking."""
    lines = (found.content or text.encode()).decode().splitlines()
    calls = [n for n, line in enumerate(lines) if "asphalt_wait" in line or "MPI_Sendrecv(" in line]
    return max(calls)


def line_of(found: Optimised, text: str, part: str) -> int:
    lines = (found.content or text.encode()).decode().splitlines()
    return next(n for n, line in enumerate(lines) if part in line)


@pytest.mark.parametrize("name", MOVED)
def test_they_are_no_copies(name: str, tmp_path: Path) -> None:
    text = MOVED[name]
    found = optimised(tmp_path, text)
    assert found.content is not None
    assert b"MPI_Sendrecv(" not in found.content


@pytest.mark.parametrize("name", ["whole-arrays", "first-elements", "of-elements-of-elements"])
@pytest.mark.parametrize("mpi", [OPENMPI, MPICH], ids=lambda mpi: mpi.name)
def test_results_stay(name: str, mpi: Mpi, tmp_path: Path) -> None:
    if not installed(mpi):
        pytest.skip(f"{mpi.name} is not installed")
    text = MOVED[name]
    content = optimised(tmp_path, text).content
    assert content is not None
    same_lines(mpi, tmp_path, text, content, 1, 2, 4)


COPIES = {
    "pointers": ("tiles(t)%edge", "tiles(t)%window"),
    "of-several-elements": ("tiles(t)%edge(:2)", "tiles(1:2)%x"),
    "of-all-elements": ("tiles(t)%edge(:2)", "tiles%x"),
    "of-listed-elements": ("tiles(t)%edge(:2)", "tiles([2, 1])%x"),
    "of-several-inside": ("tiles(t)%edge(:2)", "tiles(t)%sides(:)%halo(1)"),
    "listed-elements": ("tiles(t)%edge", "tiles(t)%halo(list)"),
    "elements-with-gaps": ("tiles(t)%edge", "tiles(t)%values(1,:)"),
}


@pytest.mark.parametrize("name", COPIES)
def test_what_may_be_a_copy_stays(name: str, tmp_path: Path) -> None:
    sent, received = COPIES[name]
    text = program(sent, received, "2")
    content = optimised(tmp_path, text).content
    assert content is None or b"MPI_Sendrecv(" in content


BEHIND = {
    "another-element": "t = 3 - t",
    "a-structure": "tiles(t) = tiles(2)",
    "all-structures": "tiles = more",
    "a-removal": "deallocate(tiles(1)%halo)",
    "a-move": "call move_alloc(spare, tiles(1)%halo)",
    "the-component-of-another": "tiles(2)%halo = 1",
    "the-component-of-all": "tiles%halo(3) = 1",
    "another-size": "tiles(1)%halo = [1d0, 2d0]",
}


@pytest.mark.parametrize("name", BEHIND)
def test_what_changes_the_buffer_stays_behind(name: str, tmp_path: Path) -> None:
    statement = BEHIND[name]
    text = program("tiles(t)%edge", "tiles(t)%halo", work=f"    {statement}")
    found = optimised(tmp_path, text)
    lines = (found.content or text.encode()).decode().splitlines()
    received = [
        n
        for n, line in enumerate(lines)
        if "MPI_Sendrecv(" in line or ("asphalt_wait" in line and "%halo" in line)
    ]
    assert received[-1] < line_of(found, text, statement)


def test_targets_stay_where_pointers_may_see_them(tmp_path: Path) -> None:
    work = "    view => tiles(1)%halo\n    view(3) = 2"
    text = program("tiles(t)%edge", "tiles(t)%halo", work=work, kind=", target")
    found = optimised(tmp_path, text)
    assert waits(found, text) < line_of(found, text, "view(3) = 2")


RECEIVED = {
    "the subscript of a buffer": ("tiles(list(2))%edge", "list", "1"),
    "a subscript in a count": ("tiles(1)%edge", "list", "list(1)"),
    "its own subscript": ("tiles(1)%edge", "list(list(3))", "1"),
}


@pytest.mark.parametrize("name", RECEIVED)
def test_what_the_arguments_evaluate_is_not_received_later(name: str, tmp_path: Path) -> None:
    text = program(*RECEIVED[name]).replace("DOUBLE_PRECISION, right", "INTEGER, right")
    content = optimised(tmp_path, text).content
    assert content is None or b"MPI_Sendrecv(" in content
