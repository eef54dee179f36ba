"""A procedure is called again where the call evaluates what it did, also for what the inlined
statements do not name."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.optimiser.optimise import optimise
from support.stepping import Stepped

_FIELDS = """\
module fields
  use mpi
  implicit none
  integer :: nx, ny, left, right
  real(8), allocatable :: u(:, :), w(:, :), t(:, :)
contains
  subroutine exchange(a, sizes)
    real(8), intent(inout) :: a(nx, 0:ny+1)
    integer, intent(inout) :: sizes(2)
    integer :: req(4), ierr
    call MPI_Irecv(a(1, 0), nx, MPI_REAL8, left, 1, MPI_COMM_WORLD, req(1), ierr)
    call MPI_Irecv(sizes(1), 1, MPI_INTEGER, left, 2, MPI_COMM_WORLD, req(2), ierr)
    call MPI_Isend(a(1, ny), nx, MPI_REAL8, right, 1, MPI_COMM_WORLD, req(3), ierr)
    call MPI_Isend(sizes(2), 1, MPI_INTEGER, right, 2, MPI_COMM_WORLD, req(4), ierr)
    call MPI_Waitall(4, req, MPI_STATUSES_IGNORE, ierr)
  end subroutine exchange
  subroutine limit(dt, c, a, n)
    real(8), intent(inout) :: dt, c(3)
    integer, intent(in) :: n
    real(8), intent(in) :: a(nx, n)
    integer :: ierr
    c(1) = a(5, 5)
    call MPI_Sendrecv_replace(c, 3, MPI_REAL8, right, 7, left, 7, MPI_COMM_WORLD, &
                              MPI_STATUS_IGNORE, ierr)
    dt = 0.1d0/(1 + abs(c(1)))
  end subroutine limit
end module fields
"""
_MAIN = """\
program steps
  use mpi
  use fields
  implicit none
  real(8) :: dt, c(3)
  integer :: sizes(2), known, changing, ierr, me, np, i, j, n
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  nx = 300
  ny = 100
  left = mod(me + np - 1, np)
  right = mod(me + 1, np)
  allocate(u(nx, 0:ny+1), w(nx, 0:ny+1), t(nx, ny))
  u = 1
  w = 0
  t = me
  c = 0
  sizes = ny
  known = ny
  changing = ny
  do n = 1, 4
    call exchange(u, sizes)
    call limit(dt, c, t, {size})
    do j = 1, ny
      do i = 1, nx
        t(i, j) = t(i, j)*0.5d0 + sqrt(t(i, j) + dt*i)
      end do
    end do
    do j = 1, ny
      do i = 1, nx
        w(i, j) = u(i, j) + dt*(u(i, j-1) + u(i, j+1) - 2*u(i, j))
      end do
    end do
    do j = 1, ny
      do i = 1, nx
        u(i, j) = w(i, j)
      end do
    end do
    changing = ny - n
  end do
  print *, sum(u), sum(t)
  call MPI_Finalize(ierr)
end program steps
"""


@pytest.mark.parametrize(
    ("size", "is_called"),
    [
        ("100", True),
        ("known", True),
        # a statement computes it behind the wait
        ("sizes(1) + 0", True),
        # the wait that brings it has passed the statements, which do not name it
        ("sizes(1)", False),
        ("sizes(sizes(1) - 99)", False),
        # is what changes it where it was?
        ("changing", False),
    ],
)
def test_a_call_evaluates_what_it_did(size: str, is_called: bool, tmp_path: Path) -> None:
    stepped = Stepped.of(tmp_path, {"fields.f90": _FIELDS, "steps.f90": _MAIN.format(size=size)})
    (main,) = (entry for entry in stepped.tree.files if entry.path.endswith("steps.f90"))
    (located,) = stepped.tree.units_of(main.path)
    found = optimise(stepped.tree, located)
    assert found.content is not None
    text = found.content.decode()
    assert "! asphalt: exchange of fields.f90 stands here" in text
    assert (f"call limit(dt, c, t, {size})" in text) is is_called
    assert ("limit of fields.f90 stands here" in text) is not is_called


_SECOND = """\
  subroutine second(a, n)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(nx, 0:n+1)
    integer :: i, req(2), ierr
    real(8) :: out(300)
    do i = 1, nx
      out(i) = a(i, 2)
    end do
    do i = 1, nx
      out(i) = 0.5d0*out(i)
    end do
    out(1) = 0
    out(nx) = 0
    call MPI_Irecv(a(1, 0), nx, MPI_REAL8, left, 3, MPI_COMM_WORLD, req(1), ierr)
    call MPI_Isend(out, nx, MPI_REAL8, right, 3, MPI_COMM_WORLD, req(2), ierr)
    call MPI_Waitall(2, req, MPI_STATUSES_IGNORE, ierr)
    do i = 1, nx
      a(i, 1) = a(i, 1) + a(i, 0)
    end do
  end subroutine second
end module fields
"""


@pytest.mark.parametrize(("size", "is_split"), [("known", True), ("sizes(1)", False)])
def test_the_phases_of_a_call_evaluate_what_it_did(
    size: str, is_split: bool, tmp_path: Path
) -> None:
    """The wait that brings the size has passed the statements of the exchange."""
    fields = _FIELDS.replace("end module fields\n", _SECOND)
    main = _MAIN.replace("call limit(dt, c, t, {size})", f"dt = 0.1d0\n    call second(w, {size})")
    stepped = Stepped.of(tmp_path, {"fields.f90": fields, "steps.f90": main})
    (entry,) = (entry for entry in stepped.tree.files if entry.path.endswith("steps.f90"))
    (located,) = stepped.tree.units_of(entry.path)
    found = optimise(stepped.tree, located)
    assert found.content is not None
    text = found.content.decode()
    assert ("call second_asphalt_start(w, known, " in text) is is_split
    assert ("second of fields.f90 stands here" in text) is not is_split
