"""Halos whose widths are named constants, exchanged by a procedure that does more on one rank.

What becomes of them rests on the values of the constants, so that the compiler checks these.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.passes import TRANSFERS
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import Optimised, optimise
from asphalt.optimiser.options import Options
from support.mpi_run import MPICH, OPENMPI, Mpi, compile_source, installed, same_lines

PROGRAM = """\
module grid
  use mpi
  implicit none
  integer, parameter :: ng = 2, points = 4, fields = 3
  integer :: n, m, ranks, me, below, above
  real(8), allocatable :: low(:,:,:), high(:,:,:), first(:,:,:), last(:,:,:)
contains
  subroutine fill_ghosts(q)
    real(8), intent(inout) :: q(1-ng:n+ng,m,fields)
    integer :: j, l, g, ierr, wanted(2), given(2)
    if (ranks == 1) then
      do l = 1, fields
        do j = 1, m
          do g = 1, ng
            q(g-ng,j,l) = q(n-ng+g,j,l)
            q(n+g,j,l) = q(g,j,l)
          end do
        end do
      end do
      return
    end if
    call MPI_Irecv(low, ng*m*fields, MPI_DOUBLE_PRECISION, below, 1, MPI_COMM_WORLD, wanted(1), &
                   ierr)
    call MPI_Irecv(high, ng*m*fields, MPI_DOUBLE_PRECISION, above, 2, MPI_COMM_WORLD, wanted(2), &
                   ierr)
    do l = 1, fields
      do j = 1, m
        do g = 1, ng
          first(g,j,l) = q(g,j,l)
          last(g,j,l) = q(n-ng+g,j,l)
        end do
      end do
    end do
    call MPI_Isend(first, ng*m*fields, MPI_DOUBLE_PRECISION, below, 2, MPI_COMM_WORLD, given(1), &
                   ierr)
    call MPI_Isend(last, ng*m*fields, MPI_DOUBLE_PRECISION, above, 1, MPI_COMM_WORLD, given(2), &
                   ierr)
    call MPI_Waitall(2, wanted, MPI_STATUSES_IGNORE, ierr)
    do l = 1, fields
      do j = 1, m
        do g = 1, ng
          q(g-ng,j,l) = low(g,j,l)
          q(n+g,j,l) = high(g,j,l)
        end do
      end do
    end do
    call MPI_Waitall(2, given, MPI_STATUSES_IGNORE, ierr)
  end subroutine fill_ghosts
  subroutine slopes(q, f, tau)
    real(8), intent(in) :: q(1-ng:n+ng,m,fields), tau
    real(8), intent(out) :: f(n+1,m,fields)
    real(8) :: around(points), mean(fields), scale
    integer :: i, j, l, s
    scale = tau/16
    do j = 1, m
      do i = 1, n + 1
        do l = 1, fields
          do s = 1, points
            around(s) = q(i-ng-1+s,j,l)
          end do
          mean(l) = (around(2) + around(3) - around(1) - around(4))*scale
        end do
        f(i,j,1) = mean(1)*mean(2)
        f(i,j,2) = mean(2) - mean(3)
        f(i,j,3) = mean(3)*mean(1)
      end do
    end do
  end subroutine slopes
  subroutine advance(q, f, tau, kind_of_step)
    real(8), intent(inout) :: q(1-ng:n+ng,m,fields)
    real(8), intent(out) :: f(n+1,m,fields)
    real(8), intent(in) :: tau
    integer, intent(in) :: kind_of_step
    integer :: i, j, l
    if (kind_of_step == 1) then
      call fill_ghosts(q)
      call slopes(q, f, tau)
    else
      f = tau
    end if
    do l = 1, fields
      do j = 1, m
        do i = 1, n
          q(i,j,l) = q(i,j,l) + f(i,j,l) - f(i+1,j,l)
        end do
      end do
    end do
  end subroutine advance
end module grid
program main
  use grid
  implicit none
  integer :: ierr, k, l
  real(8), allocatable :: q(:,:,:), f(:,:,:)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  below = modulo(me - 1, ranks)
  above = modulo(me + 1, ranks)
  n = 200
  m = 60
  allocate (q(1-ng:n+ng,m,fields), f(n+1,m,fields))
  allocate (low(ng,m,fields), high(ng,m,fields), first(ng,m,fields), last(ng,m,fields))
  q = 0
  do l = 1, fields
    do k = 1, n
      q(k,:,l) = sin(0.1d0*(k + me*n)) + l
    end do
  end do
  do k = 1, 6
    call advance(q, f, 0.01d0*k, merge(0, 1, k == 4))
  end do
  print '(i0, 2z17)', me, sum(q(1:n,:,:)), sum(f)
  call MPI_Finalize(ierr)
end program main
"""
CHECKED = "fields == 3 .and. ng == 2 .and. points == 4"


def _optimised(folder: Path, text: str) -> Optimised:
    source = folder / "in"
    source.mkdir()
    (source / "main.f90").write_text(text)
    tree = load_tree([source], Settings(cache=False, jobs=1))
    units = tree.units_of(str(source / "main.f90"))
    (unit,) = (one for one in units if one.unit.name == "advance")
    return optimise(tree, unit, Options(TRANSFERS))


def _text(found: Optimised) -> str:
    return "" if found.content is None else found.content.decode()


@pytest.mark.parametrize("mpi", installed(MPICH, OPENMPI), ids=lambda mpi: mpi.name)
def test_the_interior_stands_beside_the_messages(mpi: Mpi, tmp_path: Path) -> None:
    found = _optimised(tmp_path, PROGRAM)
    text = _text(found)
    head, _, rest = text.partition("subroutine advance")
    assert CHECKED in rest
    assert CHECKED not in head
    # the nest needs what is computed in front of it
    scale, nest = rest.index("scale = tau/16"), rest.index("= 3, n - 1")
    assert rest.index("call MPI_Isend(last") < scale < nest < rest.index("MPI_Waitall(2, wanted")
    # the branch around both stays whole
    assert rest.count("kind_of_step == 1") == 1
    assert same_lines(mpi, tmp_path, PROGRAM, found.content, 1, 2, 3, 4)


def test_only_constants_that_the_proof_takes_are_checked(tmp_path: Path) -> None:
    text = PROGRAM.replace("fields = 3\n", "fields = 3, copies = 2\n").replace(
        "    do l = 1, fields\n      do j = 1, m\n        do i = 1, n\n",
        "    q(1,:,copies) = q(1,:,copies) + 1\n"
        "    do l = 1, fields\n      do j = 1, m\n        do i = 1, n\n",
    )
    made = _text(_optimised(tmp_path, text))
    assert CHECKED in made
    assert "copies ==" not in made


def test_other_values_do_not_compile(tmp_path: Path) -> None:
    mpi = installed(OPENMPI, MPICH)[0]
    text = _text(_optimised(tmp_path, PROGRAM)).replace("use asphalt_core, only: asphalt_sync", "")
    for number, (given, builds) in enumerate([("ng = 2", True), ("ng = 3", False)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        source = folder / "a.f90"
        source.write_text(text.replace("ng = 2", given))
        assert (compile_source(mpi, source, folder).code == 0) == builds


_UNPACKED = "          q(n+g,j,l) = high(g,j,l)\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # a width that changes: the edges are not known
        ("parameter :: ng = 2, points", "parameter :: points"),
        # as wide as problems are
        ("ng = 2", "ng = 40"),
        # what the nest needs is computed from what arrives
        ("scale = tau/16", "scale = q(0,1,1)"),
        # the message brings what all iterations need
        (_UNPACKED, _UNPACKED + "          q(n/2,j,l) = low(g,j,l)\n"),
    ],
    ids=["variable", "large", "received", "in-the-middle"],
)
def test_the_nest_stays_whole(old: str, new: str, tmp_path: Path) -> None:
    text = PROGRAM.replace(old, new)
    if old.startswith("parameter"):
        text = text.replace("integer :: n, m,", "integer :: ng = 2, n, m,")
    text = _text(_optimised(tmp_path, text))
    assert "= 3, n - 1" not in text
    assert "asphalt_checked" not in text


@pytest.mark.parametrize("macro", ["WIDTH", "(WIDTH)"])
def test_a_width_that_the_build_gives_stays_unknown(macro: str, tmp_path: Path) -> None:
    """Builds with another one would not compile."""
    text = PROGRAM.replace("ng = 2", f"ng = {macro}")
    source = tmp_path / "in"
    source.mkdir()
    (source / "main.F90").write_text(text)
    settings = Settings(defines=("WIDTH=2",), cache=False, jobs=1)
    tree = load_tree([source], settings)
    units = tree.units_of(str(source / "main.F90"))
    (unit,) = (one for one in units if one.unit.name == "advance")
    assert "asphalt_checked" not in _text(optimise(tree, unit, Options(TRANSFERS)))


def test_constants_of_other_units_stay_unknown(tmp_path: Path) -> None:
    """No declaration of the unit can check a constant that it does not see."""
    text = PROGRAM.replace("points = 4, ", "").replace(
        "real(8) :: around(points)",
        "integer, parameter :: points = 4\n    real(8) :: around(points)",
    )
    assert "asphalt_checked" not in _text(_optimised(tmp_path, text))
