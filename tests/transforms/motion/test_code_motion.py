"""Waits move behind work that accesses nothing of their operations."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from asphalt.config.passes import TRANSFERS
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import optimise
from asphalt.optimiser.options import Options
from asphalt.transforms.motion import code_motion
from support.stepping import Stepped

_PROGRAM = """\
module fields
  implicit none
  integer, parameter :: n = 200000
  type tile
    real(8){alloc} :: field(:), halo(:)
  end type tile
  type(tile), allocatable{target} :: tiles(:)
contains
  subroutine work(k)
    integer, intent(in) :: k
    integer :: i
    do i = 1, n
      tiles(k)%field(i) = sqrt(tiles(k)%field(i)) + {used}
    end do
  end subroutine work
end module fields
program main
  use mpi
  use fields
  implicit none
  integer :: ierr, requests(2), k
  real(8) :: s(n)
  call MPI_Init(ierr)
  allocate (tiles(2))
  do k = 1, 2
    allocate (tiles(k)%field(n), tiles(k)%halo(n))
    tiles(k)%field = k
  end do
  s = 1
  k = 2
  call MPI_Irecv(tiles(k)%halo, n, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_SELF, requests(1), ierr)
  call MPI_Isend(s, n, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_SELF, requests(2), ierr)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
  call work(1)
  print *, sum(tiles(2)%halo), sum(tiles(1)%field)
  call MPI_Finalize(ierr)
end program main
"""


def _passes(
    tmp_path: Path, used: str = "i", alloc: str = ", allocatable", target: str = ""
) -> bool:
    """Whether the work comes before the wait for the receive."""
    path = tmp_path / "main.f90"
    path.write_text(_PROGRAM.format(used=used, alloc=alloc, target=target))
    tree = load_tree([tmp_path], Settings(cache=False, jobs=1))
    (unit,) = (u for u in tree.units_of(str(path)) if u.unit.kind == "program")
    found = optimise(tree, unit, Options(TRANSFERS)).content or path.read_bytes()
    main = found.decode().lower().split("program main")[1]
    return main.index("call work") < main.index("call mpi_wait")


def test_a_component_of_another_name_is_no_obstacle(tmp_path: Path) -> None:
    assert _passes(tmp_path)


@pytest.mark.parametrize(
    "changed",
    [
        {"used": "tiles(k)%halo(i)"},
        {"used": "size(tiles)*tiles(1)%halo(1)"},
        {"alloc": ", pointer"},
    ],
)
def test_what_may_be_received_is(tmp_path: Path, changed: dict[str, str]) -> None:
    assert not _passes(tmp_path, **changed)


_SIDES = """\
program sides
  use mpi
  implicit none
  integer, parameter :: n = 200000
  integer :: ierr, me, np, left, number, k, requests(4)
  real(8) :: out(n), in(n), u(n), v(n)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  left = mod(me + 1, np)
  u = me
  v = 0
  number = 0
  if (left >= 0) then
    do k = 1, n
      {pack}
    end do
    call MPI_Isend(out, n, MPI_REAL8, left, 1, MPI_COMM_WORLD, requests(number+1), ierr)
    {starts}
    number = number + 2
  end if
  call MPI_Waitall(number, requests, MPI_STATUSES_IGNORE, ierr)
  v = in
  print *, sum(in), sum(v), requests(1) == requests(2)
  call MPI_Finalize(ierr)
end program sides
"""
_POSTED = "call MPI_Irecv(in, n, MPI_REAL8, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, {}, ierr)"


def _sides(
    tmp_path: Path,
    starts: str = _POSTED.format("requests(number+2)"),
    pack: str = "out(k) = sqrt(u(k) + k)",
) -> list[str]:
    """The order of computation and messages."""
    path = tmp_path / "main.f90"
    path.write_text(_SIDES.format(starts=starts, pack=pack))
    tree = load_tree([tmp_path], Settings(cache=False, jobs=1))
    (unit,) = tree.units_of(str(path))
    found = optimise(tree, unit, Options(TRANSFERS)).content or path.read_bytes()
    return re.findall(r"MPI_Isend|MPI_Irecv|MPI_Wait|(?<!end )do k", found.decode())


def test_receives_are_posted_before_what_is_sent_is_packed(tmp_path: Path) -> None:
    """Where the arm of a branch starts messages that are completed behind it."""
    assert _sides(tmp_path) == ["MPI_Irecv", "do k", "MPI_Isend", "MPI_Wait"]


@pytest.mark.parametrize(
    "changed",
    [
        {"pack": "out(k) = sqrt(u(k) + in(k))"},
        {"pack": "out(k) = sqrt(u(k))\n      in(k) = 0"},
        {"pack": "out(k) = sqrt(u(k))\n      number = number + 0*k"},
        {"starts": _POSTED.format("requests(k-n)")},
    ],
)
def test_receives_stay_behind_what_they_depend_on(changed: dict[str, str], tmp_path: Path) -> None:
    assert _sides(tmp_path, **changed)[0] == "do k"


_TWO_SENDS = """\
subroutine step(u, after, n, other, comm)
  use mpi
  implicit none
  integer, intent(in) :: n, other, comm
  real(8), intent(in) :: u(n)
  real(8), intent(inout) :: after(n)
  real(8) :: here(2*n), left(n), right(n)
  integer :: i, ierr, requests(3)
  call MPI_Irecv(here, 2*n, MPI_DOUBLE_PRECISION, other, 1, comm, requests(1), ierr)
{begun}  do i = 1, n
    after(i) = sqrt(u(i)) + after(i)
  end do
  do i = 1, n
    left(i) = u(i)
  end do
{start}  do i = 1, n
    right(i) = 2*u(i)
  end do
  call MPI_Wait(requests(2), MPI_STATUS_IGNORE, ierr)
  call MPI_Isend(right, n, MPI_DOUBLE_PRECISION, other, 2, comm, requests(3), ierr)
  call MPI_Wait(requests(3), MPI_STATUS_IGNORE, ierr)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierr)
end subroutine step
"""
_START = "  call MPI_Isend({0}, n, MPI_DOUBLE_PRECISION, other, 1, comm, requests(2), ierr)\n"


@pytest.mark.parametrize("begins_before", [False, True])
def test_work_goes_behind_the_last_send(begins_before: bool, tmp_path: Path) -> None:
    """It passes the wait for another one, unless it would leave the window of that."""
    parts = {"begun": _START.format("u"), "start": ""} if begins_before else {
        "begun": "", "start": _START.format("left")}  # fmt: skip
    stepped = Stepped.of(tmp_path, {"unit.f90": _TWO_SENDS.format(**parts)})
    stepped.applied(code_motion)
    text = stepped.tree.content(str(tmp_path / "unit.f90")).decode()
    assert (text.index("sqrt") > text.index("Isend(right")) is not begins_before
