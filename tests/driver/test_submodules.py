"""Exchanges in submodules: what they have from their parents decides, as in the parents."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.judging import site

_PARENT = """\
module grid
  use mpi
  implicit none
  private
  integer, parameter :: wp = kind(1d0), n = 3
  real(wp), allocatable{more} :: s(:,:,:), r(:,:,:)
  integer :: nz = 8, np, me, ierr
  public :: start, exchange, total, me
  interface exchange
    module subroutine exchange_all(scale)
      real(wp), intent(in) :: scale
    end subroutine
  end interface
contains
  subroutine start
    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
{before}
    allocate(s(n,nz,np), r(n,nz,np))
  end subroutine
  subroutine total
    print *, me, sum(r)
    call MPI_Finalize(ierr)
  end subroutine
{own}
end module
"""
_CHILD = """\
submodule (grid) moves
contains
  module subroutine exchange_all(scale)
    real(wp), intent(in) :: scale
    integer :: i, z, p
    do z = 1, nz
      do p = 1, np
        do i = 1, n
          s(i,z,p) = scale*dble(i*z) + p*me
        end do
      end do
{inside}
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
  end subroutine
{beside}
end submodule
"""
_MAIN = """\
program p
  use grid
  call start
  {condition}call exchange(2d0)
  call total
end program
"""


def _text(
    *,
    more: str = "",
    before: str = "",
    own: str = "",
    inside: str = "",
    beside: str = "",
    condition: str = "",
) -> str:
    return (
        _PARENT.format(more=more, before=before, own=own)
        + _CHILD.format(inside=inside, beside=beside)
        + _MAIN.format(condition=condition)
    )


_CLEAR = "  subroutine clear\n    s = 0\n  end subroutine"
_NOTE = "  subroutine clear\n    integer :: total\n    total = nz\n  end subroutine"
_CALL = "      call clear"


@pytest.mark.parametrize(
    "text",
    [
        _text(),
        _text(inside=_CALL, own=_NOTE),
        _text(inside=_CALL, beside=_NOTE),
    ],
    ids=["plain", "a procedure of the parent", "a procedure of the submodule"],
)
def test_an_exchange_of_a_submodule(tmp_path: Path, text: str) -> None:
    report = site(tmp_path, text).report
    assert report.verdict == "proved", report.message


def _short(text: str) -> str:
    """The procedure of the submodule, as one that leaves its dummies to the interface."""
    head = "  module subroutine exchange_all(scale)\n    real(wp), intent(in) :: scale\n"
    before, _, below = text.rpartition(head)
    below = below.replace("  end subroutine\n", "  end procedure\n", 1)
    return f"{before}  module procedure exchange_all\n{below}"


def test_a_procedure_that_leaves_its_dummies_to_the_interface(tmp_path: Path) -> None:
    report = site(tmp_path, _short(_text())).report
    assert report.verdict == "proved", report.message
    unseen = _short(_text()).replace("exchange_all(scale)", "exchange_one(scale)")
    assert site(tmp_path, unseen).report.verdict == "refused"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (_text(before="    nz = 8 + me"), "ASP1001"),
        (_text(inside=_CALL, own=_CLEAR), "ASP302"),
        (_text(inside=_CALL, beside=_CLEAR), "ASP302"),
        (_text(condition="if (me > 0) "), "ASP201"),
        (_CHILD.format(inside="", beside=""), "ASP007"),
    ],
    ids=[
        "planes differ",
        "the parent's procedure sets it",
        "the submodule's procedure sets it",
        "ranks call it by its generic name",
        "no parent",
    ],
)
def test_what_the_parent_has_decides(tmp_path: Path, text: str, code: str) -> None:
    report = site(tmp_path, text).report
    assert report.verdict != "proved"
    assert report.code == code, report.message


_SHORT = """\
module fields
  use mpi
  implicit none
  private
  interface {generic}
    module subroutine turn(a, b, n, ranks)
      integer, intent(in) :: n, ranks
      real(8), intent(inout) :: a(n, n*ranks), b(n, n*ranks)
    end subroutine
  end interface
  public :: turn, {public}
end module
submodule (fields) inside
contains
  module procedure turn
    integer :: i, j, k, ierr
    k = 0
    do j = 1, n*ranks
      do i = 1, n
        a(i, j + k) = sin(1d0*i*j) + cos(2d0*j)
      end do
      {call}
    end do
    call MPI_Alltoall(a, n*n, MPI_REAL8, b, n*n, MPI_REAL8, MPI_COMM_WORLD, ierr)
  end procedure
  module procedure note
    integer :: own
    own = {value}
  end procedure
end submodule
program main
  use mpi
  use fields
  implicit none
  integer :: ierr, ranks
  integer, parameter :: n = 120
  real(8), allocatable :: a(:, :), b(:, :)
  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  allocate (a(n, n*ranks), b(n, n*ranks))
  call {name}(a, {second}, n, ranks)
  print *, sum(b)
  call MPI_Finalize(ierr)
end program
"""


def _in_short(
    generic: str = "", name: str = "turn", second: str = "b", call: str = "", value: str = "size"
) -> str:
    text = _SHORT.format(
        generic=generic,
        public=generic or "n",
        name=name,
        second=second,
        call=call,
        value=value,
    )
    declared = "  integer :: n\n  interface\n    module subroutine note(size)\n"
    declared += "      integer, intent(inout) :: size\n    end subroutine\n  end interface\n"
    return text.replace("  public ::", declared.replace("integer :: n\n", "integer :: kept = 2\n")
                        + "  public ::").replace(", n\nend module", "\nend module")  # fmt: skip


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (_in_short(), ""),
        (_in_short("around", "around"), ""),
        (_in_short("around"), ""),
        (_in_short(call="call note(k)"), ""),
        # one array twice, and a procedure that changes its dummy
        (_in_short(second="a"), "ASP602"),
        (_in_short(call="call note(k)", value="1\n    size = 1 - size"), "ASP402"),
    ],
)
def test_the_dummies_of_an_interface(tmp_path: Path, text: str, code: str) -> None:
    """A module procedure has the dummies of its interface body, for its calls, too."""
    report = site(tmp_path, text).report
    assert (report.code or "") == code, report.message
