"""Arrays that each iteration allocates are allocated once, where that is the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.transforms.buffers import allocation_hoisting
from support.mpi_run import MPICH, OPENMPI, installed
from support.optimised import optimised_and_run
from support.stepping import Stepped

_TEXT = """\
module other
  implicit none
contains
  subroutine grown(x)
    real(8), allocatable, intent(inout) :: x(:)
    if (size(x) < 9) deallocate (x)
    if (.not. allocated(x)) allocate (x(9))
  end subroutine grown
  subroutine filled(x)
    real(8), intent(inout) :: x(:)
    x = 0.5d0*x
  end subroutine filled
end module other
subroutine work(u, n, steps, far)
  use mpi
  use other
  implicit none
  integer, intent(in) :: n, steps, far
  real(8), allocatable, intent(inout) :: u(:,:)
  real(8), allocatable :: a(:), b(:)
  integer :: step, m, k, ierr
{before}  do {loop}
    m = {size}
    allocate (a(m){second}{options})
    a(1) = 1
    {body}
    {end}
  end do
{after}end subroutine work
"""
_USUAL = {
    "before": "",
    "loop": "step = 1, steps",
    "size": "size(u, 1)",
    "second": ", b(n)",
    "options": "",
    "body": "call MPI_Bcast(a, m, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)",
    "end": "if (allocated(a)) deallocate (a)\n    deallocate (b)",
    "after": "",
}


def _tree(folder: Path, **changes: str) -> Stepped:
    return Stepped.of(folder, {"a.f90": _TEXT.format(**{**_USUAL, **changes})})


def _around_the_loop(tree: Stepped) -> list[str]:
    text = tree.text("a.f90").split("subroutine work")[1]
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if "allocate" in line.replace("allocatable", "")]


def test_each_array_leaves_by_itself_where_the_loop_has_iterations(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    assert tree.applied(allocation_hoisting) == 2
    assert _around_the_loop(tree) == [
        "if (1 <= steps) allocate(a(size(u,1)))",
        "if (1 <= steps) allocate(b(n))",
        "if (allocated(b)) deallocate(b)",
        "if (allocated(a)) deallocate(a)",
    ]


def test_a_loop_that_certainly_has_iterations_needs_no_condition(tmp_path: Path) -> None:
    tree = _tree(tmp_path, loop="step = 1, 3", second="", end="deallocate (a)")
    assert tree.applied(allocation_hoisting) == 1
    assert _around_the_loop(tree) == ["allocate(a(size(u,1)))", "deallocate(a)"]


_ALONE = {"second": "", "end": "deallocate (a)"}
_STAYS = {
    "another size in each iteration": {"size": "step"},
    "a size that depends on one": {"size": "n + step"},
    "a size that a procedure changes": {"body": "call MPI_Bcast(m, 1, MPI_INTEGER, 0, "
                                        "MPI_COMM_WORLD, ierr)"},
    "the array asked about has another shape": {
        "body": "deallocate (u)\n    allocate (u(n,step))"},
    "it is assigned as a whole": {"body": "u = reshape([a(1)], [1, 1])"},
    "a real size": {"size": "sqrt(2d0*n)"},
    "the loop may be left": {"body": "if (u(1,1) > step) exit"},
    "the rest may be skipped": {"body": "if (u(1,1) > step) cycle"},
    "a failure is asked for": {"options": ", stat=ierr"},
    "no iterations": {"loop": "step = 3, 1"},
    "a loop of another kind": {"loop": "while (u(1,1) < 5)"},
    "a step that is not known": {"loop": "step = 1, steps, far"},
    "another condition": {"end": "if (u(1,1) > 0) deallocate (a)"},
    "somebody asks whether it is there": {"body": "if (allocated(a)) u = 0"},
    "its size changes": {"body": "a = [1d0, 2d0]"},
    "a procedure may change its size": {"body": "call grown(a)"},
    "a procedure that is not seen": {"body": "call elsewhere(a)"},
    "it lives on": {"end": "if (step == 2) deallocate (a)"},
    "a label": {"end": "10 deallocate (a)"},
    "threads share the iterations": {
        "before": "  !$omp parallel do private(a, m)\n", "after": "  !$omp end parallel do\n"},
    "each thread executes the loop": {
        "before": "  !$omp parallel private(a, m, step)\n", "after": "  !$omp end parallel\n"},
    "tasks have arrays of their own": {
        "body": "!$omp task private(a)", "end": "!$omp end task\n    deallocate (a)"},
    "a size that anything may change": {"before": "  volatile :: n\n", "size": "n"},
    "a persistent receive defines its size": {
        "before": "  call MPI_Recv_init(k, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, far, ierr)\n",
        "size": "k",
        "body": "call MPI_Start(far, ierr)\n    call MPI_Wait(far, MPI_STATUS_IGNORE, ierr)"},
    "it is used behind the loop": {"after": "  if (allocated(a)) u = 1\n"},
}  # fmt: skip


@pytest.mark.parametrize("name", _STAYS)
def test_it_stays(name: str, tmp_path: Path) -> None:
    tree = _tree(tmp_path, **{**_ALONE, **_STAYS[name]})
    assert tree.steps(allocation_hoisting) == []


@pytest.mark.parametrize("body", ["u(1,1) = a(1)", "call filled(a)", "a = 2"])
def test_what_keeps_shapes_is_no_obstacle(body: str, tmp_path: Path) -> None:
    assert len(_tree(tmp_path, **_ALONE, body=body).steps(allocation_hoisting)) == 1


_FIELDS = """\
module rows
  use mpi
  implicit none
contains
  subroutine exchange(f, up, down)
    real(8), intent(inout) :: f(:,0:)
    integer, intent(in) :: up, down
    real(8), allocatable :: out(:), in(:)
    integer :: n, m, i, ierr
    n = size(f, 1)
    m = ubound(f, 2) - 1
    allocate (out(n), in(n))
    do i = 1, n
      out(i) = f(i,m)
    end do
    call MPI_Sendrecv(out, n, MPI_DOUBLE_PRECISION, up, 1, in, n, MPI_DOUBLE_PRECISION, down, 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    do i = 1, n
      f(i,0) = in(i)
    end do
  end subroutine exchange
end module rows
program fields
  use mpi
  use rows
  implicit none
  integer, parameter :: n = 200, m = 50
  real(8), allocatable :: u(:,:), v(:,:), new(:,:)
  integer :: me, np, up, down, step, i, j, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  up = mod(me + 1, np)
  down = mod(me + np - 1, np)
  allocate (u(n,0:m+1), v(n,0:m+1), new(n,0:m+1))
  do j = 0, m + 1
    do i = 1, n
      u(i,j) = mod(3*i + 5*j + me, 17)
      v(i,j) = mod(7*i + 2*j + me, 13)
    end do
  end do
  do step = 1, {steps}
    call exchange(u, up, down)
    call exchange(v, up, down)
    do j = 1, m
      do i = 1, n
        new(i,j) = 0.5d0*u(i,j-1) + 0.25d0*v(i,j-1)*v(i,j) + 0.125d0*sqrt(1 + v(i,j)**2)
      end do
    end do
    do j = 1, m
      do i = 1, n
        u(i,j) = new(i,j)
      end do
    end do
  end do
  print '(i3, 2es25.16)', me, sum(u(:,0:m)), sum(v(:,0:m))
  call MPI_Finalize(ierr)
end program fields
"""


_SIZED = """\
module grids
  use mpi
  implicit none
  type grid
    integer :: n, fixed(2)
    integer, pointer :: far
  end type grid
  type(grid) :: shared
contains
  subroutine work(g, u, steps)
    type(grid), intent(inout){attribute} :: g
    real(8), intent(inout) :: u(:,:)
    integer, intent(in) :: steps
    real(8), allocatable :: a(:)
    integer :: step, ierr, request
    do step = 1, steps
      allocate (a({size}))
      a = 1
      {body}
      deallocate (a)
    end do
  end subroutine work
end module grids
"""


@pytest.mark.parametrize(
    ("body", "size", "attribute", "leaves"),
    [
        ("call MPI_Bcast(a, g%n, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)", "g%n", "", 1),
        ("call MPI_Irecv(u(1,g%n), 1, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, request, ierr)",
         "0:g%n+1", "", 1),
        ("g%fixed(1) = step", "g%n", "", 1),
        ("g%n = g%n - 1", "g%n", "", 0),
        ("call MPI_Bcast(g%n, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)", "g%n", "", 0),
        ("call MPI_Irecv(g%n, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, request, ierr)", "g%n", "", 0),
        ("g = shared", "g%n", "", 0),
        ("call elsewhere(g)", "g%n", "", 0),
        ("u = 0", "g%far", "", 0),
        ("u = 0", "g%fixed(step)", "", 0),
        ("u = 0", "g%n", ", volatile", 0),
    ],
)  # fmt: skip
def test_a_size_may_be_a_component_that_the_loop_does_not_change(
    body: str, size: str, attribute: str, leaves: int, tmp_path: Path
) -> None:
    text = _SIZED.format(body=body, size=size, attribute=attribute)
    tree = Stepped.of(tmp_path, {"a.f90": text})
    assert len(tree.steps(allocation_hoisting)) == leaves


def test_an_exchange_with_buffers_of_its_own_is_overlapped_in_the_caller(tmp_path: Path) -> None:
    text = optimised_and_run(
        tmp_path, _FIELDS.format(steps=4), "fields", *installed(OPENMPI, MPICH)
    )
    loop = text.split("program fields")[1].split("do step")
    assert "allocate(" in loop[0].split("end do")[-1]
    assert "allocate(" not in loop[1].split("end do\n  deallocate")[0]
    assert "the interior of the nest" in loop[1]
