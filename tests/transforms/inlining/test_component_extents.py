"""Extents of dummy arrays that are components of another dummy: those of the actual argument are
the same where the structure is the same, and nothing changed it since."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.transforms.inlining import inline
from support.mpi_run import OPENMPI, Mpi, installed, same_lines
from support.stepping import Stepped

_TEXT = """\
module grids
  use mpi
  implicit none
  type grid
    integer :: n, m, first, next
  end type grid
contains
  subroutine exchange(b, {extents}u)
    type(grid), intent(inout) :: b
    {declared}real(8), intent(inout) :: u({shape})
    integer :: ierr
    {inside}
    call MPI_Sendrecv(u(1,b%m), b%n, MPI_DOUBLE_PRECISION, b%next, 1, u(1,0), b%n, &
                      MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, ierr)
    u({element}) = u({element}) + 1
  end subroutine exchange
end module grids
program main
  use grids
  implicit none
  type(grid) :: g, other
  real(8), allocatable :: u(:,:)
  integer :: n, m, me, np, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  g = grid(30, 20, 0, modulo(me + 1, np))
  other = g
  n = g%n
  m = g%m
  allocate (u({allocated}))
  u = me
  {between}
  call exchange({passed}u)
  print *, me, sum(u), lbound(u, 2)
  call MPI_Finalize(ierr)
end program main
"""
_USUAL = {
    "extents": "", "declared": "", "shape": "0:b%n+1, 0:b%m+1", "inside": "", "element": "b%n+1, 1",
    "allocated": "0:g%n+1, 0:g%m+1", "between": "", "passed": "g, ",
}  # fmt: skip
_GIVEN = {
    "extents": "n, m, ", "declared": "integer, intent(in) :: n, m\n    ", "shape": "0:n+1, 0:m+1",
    "allocated": "0:n+1, 0:m+1", "passed": "g, n, m, ",
}  # fmt: skip


def _made(folder: Path, parts: dict[str, str]) -> tuple[str, str, list[str]]:
    text = _TEXT.format(**{**_USUAL, **parts})
    tree = Stepped.of(folder / "src", {"main.f90": text})
    refused = [one.message for one in tree.refusals(inline)]
    tree.applied(inline)
    return text, tree.text("main.f90"), refused


@pytest.mark.parametrize("mpi", installed(OPENMPI))
@pytest.mark.parametrize(
    "parts",
    [
        {},
        _GIVEN,  # local copies, which are passed
        {"allocated": "0:n+1, 0:m+1"},  # local copies for the array alone
        {**_GIVEN, "allocated": "0:g%n+1, 0:g%m+1"},
        {"shape": "b%first:b%n+1, 0:b%m+1", "allocated": "g%first:g%n+1, 0:g%m+1"},
        {"shape": "b%first:b%n+1, 0:b%m+1", "allocated": "0:g%n+1-g%first, 0:g%m+1"},  # shifted
        {"inside": "b%next = b%next"},
        {"between": "g%next = modulo(me - 1, np)"},
    ],
)
def test_the_same_extents(mpi: Mpi, parts: dict[str, str], tmp_path: Path) -> None:
    before, after, refused = _made(tmp_path, parts)
    assert refused == []
    assert "call exchange(" not in after
    same_lines(mpi, tmp_path, before, after.encode())


@pytest.mark.parametrize(
    "parts",
    [
        {"between": "g%n = g%n - 1"},
        {"between": "other%n = 29\n  g = other"},
        {"between": "call elsewhere(g)"},
        {"passed": "other, "},  # has the same values, but that is not known
        {"shape": "0:b%m+1, 0:b%n+1", "element": "b%m+1, 1"},
        {"shape": "0:b%n, 0:b%m+1", "element": "b%n, 1"},
        {**_GIVEN, "between": "n = n - 1"},
        {"shape": "b%first:b%n+1, b%first:b%m+1", "inside": "b%first = 1"},
    ],
)
def test_extents_that_may_differ(parts: dict[str, str], tmp_path: Path) -> None:
    before, after, refused = _made(tmp_path, parts)
    assert len(refused) == 1
    assert after == before


_PRIVATE = """\
module grids
  use mpi
  implicit none
  type inner
    integer :: n
  end type inner
  type grid
    {general}
    integer :: n
    integer{of_one} :: m
    type(inner) :: in
  end type grid
contains
  subroutine exchange(b, u, next)
    type(grid), intent(in) :: b
    integer, intent(in) :: next
    real(8), intent(inout) :: u(30, 20)
    integer :: ierr
    call MPI_Sendrecv_replace(u, {count}, MPI_DOUBLE_PRECISION, next, 1, MPI_ANY_SOURCE, 1, &
                              MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  end subroutine exchange
{end}subroutine step(b, u, next)
  {use}
  type(grid), intent(in) :: b
  real(8), intent(inout) :: u(30, 20)
  integer, intent(in) :: next
  call exchange(b, u, next)
end subroutine step
{last}"""


@pytest.mark.parametrize(
    ("general", "of_one", "count", "own", "accessible"),
    [
        ("", "", "b%n", False, True),
        ("private", "", "b%n", False, False),
        ("private", "", "b%in%n", False, False),
        ("private", ", public", "b%n", False, False),
        ("private", ", public", "b%m", False, True),
        ("", ", private", "b%m", False, False),
        ("", ", private", "b%n", False, True),
        ("private", "", "b%n", True, True),  # the caller stands in the module
    ],
)
def test_private_components_stay_in_their_module(
    general: str, of_one: str, count: str, own: bool, accessible: bool, tmp_path: Path
) -> None:
    end = "end module grids\n"
    around = (
        {"end": "", "use": "implicit none", "last": end}
        if own
        else {"end": end, "use": "use grids", "last": ""}
    )
    text = _PRIVATE.format(general=general, of_one=of_one, count=count, **around)
    tree = Stepped.of(tmp_path, {"main.f90": text})
    refused = [one.message for one in tree.refusals(inline)]
    assert [" is private" in message for message in refused] == [True] * (not accessible)
    assert tree.applied(inline) == accessible


@pytest.mark.parametrize(
    ("between", "told"),
    [
        (
            "allocate (v(7, 7))\n  call move_alloc(v, u)",
            ": the MOVE_ALLOC in line 35 may change it",
        ),
        ("deallocate (u)\n  allocate (u(40,40))", ""),
    ],
)
def test_what_may_change_an_extent_is_told(between: str, told: str, tmp_path: Path) -> None:
    text = _TEXT.format(**{**_USUAL, "between": between})
    text = text.replace("allocatable :: u(:,:)\n", "allocatable :: u(:,:), v(:,:)\n")
    tree = Stepped.of(tmp_path, {"main.f90": text})
    (refused,) = tree.refusals(inline)
    has = "is not known to have the extent of that of the array u"
    assert refused.message.endswith(f"dimension 1 of the dummy u {has}{told}")
