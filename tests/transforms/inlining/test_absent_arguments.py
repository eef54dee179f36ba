"""Optional arguments for which a call passes nothing: what needs them is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.transforms.inlining import inline
from support.mpi_run import MPICH, OPENMPI, Mpi, installed
from support.stepping import Stepped

PROGRAM = """\
module ghosts
  use mpi
  implicit none
contains
  subroutine pass_on(u, n, right, left, wide, log)
    integer, intent(in) :: n, right, left
    integer, intent(in), optional :: wide
    real(8), intent(inout) :: u(0:n)
    logical, intent(in), optional :: log
    integer :: ierr, k
    k = 1
{body}
    call MPI_Sendrecv(u(n), k, MPI_DOUBLE_PRECISION, right, 1, u(0), k, MPI_DOUBLE_PRECISION, &
                      left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  end subroutine pass_on
end module ghosts
program main
  use ghosts
  implicit none
  integer :: ierr, me, np, t
  real(8) :: v(0:5)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  v = me
  do t = 1, 4
    call pass_on(v, 5, modulo(me + 1, np), modulo(me - 1, np){more})
    v(5) = v(0) + t
  end do
  print '(i0, 6z17)', me, v
  call MPI_Finalize(ierr)
end program main
"""
ONE = """\
    ! how many
    if (present(wide)) k = wide
    if (.not. present(wide) .and. n > 3) u(1) = u(1) + 1
    if (.not. (present(wide) .or. present(log))) u(2) = 7"""
ARMS = """\
    if (present(wide)) then
      k = wide
    else
      ! nothing is given
      u(2) = n
      do k = 1, 2
        u(3) = k
      end do
      k = 1
    end if
    if (present(wide)) then
      u(1) = wide
    else if (n > 4) then
      u(1) = 4
    else if (.not. present(wide)) then
      u(1) = 5
    else
      u(1) = 6
    end if
    if (.not. (present(wide))) then
      u(3) = 8
    else
      u(3) = wide
    end if
    if (n > 2) then
      if (present(wide)) then
        u(4) = wide
      end if
      u(4) = u(4) + 1
    end if"""


def _tree(folder: Path, body: str, more: str = "") -> Stepped:
    return Stepped.of(folder, {"main.f90": PROGRAM.format(body=body, more=more)})


@pytest.mark.parametrize("body", [ONE, ARMS], ids=["one", "arms"])
@pytest.mark.parametrize("mpi", installed(MPICH, OPENMPI), ids=lambda mpi: mpi.name)
def test_the_same_is_computed(body: str, mpi: Mpi, tmp_path: Path) -> None:
    given, tree = _tree(tmp_path / "given", body), _tree(tmp_path / "inlined", body)
    assert tree.applied(inline, unit="main") == 1
    assert "wide" not in tree.text("main.f90").partition("program main")[2]
    results = [
        one.result(mpi, tmp_path / folder, ["main.f90"], 3)
        for folder, one in (("one", given), ("two", tree))
    ]
    assert results[0] == results[1]


def test_the_text(tmp_path: Path) -> None:
    tree = _tree(tmp_path, f"{ONE}\n{ARMS}")
    tree.applied(inline, unit="main")
    text = tree.text("main.f90").partition("program main")[2]
    assert "present" not in text
    assert "    if (5 > 3) v(1) = v(1) + 1\n" in text
    assert "    v(2) = 7\n" in text
    assert "    ! nothing is given\n    v(2) = 5\n" in text
    assert "    do k = 1, 2\n      v(3) = k\n" in text
    assert (
        "    if (5 > 4) then\n      v(1) = 4\n    else\n      v(1) = 5\n    end if\n"
        "    v(3) = 8\n"
        "    if (5 > 2) then\n      v(4) = v(4) + 1\n    end if\n"
    ) in text


def test_what_is_passed_is_present(tmp_path: Path) -> None:
    tree = _tree(tmp_path, ARMS, ", 1")
    assert tree.applied(inline, unit="main") == 1
    assert "wide = 1" in tree.text("main.f90").partition("program main")[2]


@pytest.mark.parametrize(
    "body",
    [
        "    if (present(wide) .or. n > 3) k = wide",
        "    k = wide",
        "    if (present(wide)) goto 10\n    goto 20\n10  k = wide\n20  u(1) = k",
        "    part: if (present(wide)) then\n      k = wide\n      if (k > 1) exit part\n"
        "    end if part",
        "    if (present(wide)) k = wide; u(1) = k",
        "    k = 2\n    if (present(wide)) print *, wide\n    u(1) = merge(1, 2, present(wide))",
    ],
    ids=["or", "needed", "labels", "named", "one-line", "asked"],
)
def test_what_may_be_executed_stays(body: str, tmp_path: Path) -> None:
    tree = _tree(tmp_path, body)
    assert tree.refusals(inline)
    assert tree.applied(inline) == 0


def test_a_function_of_that_name_is_no_inquiry(tmp_path: Path) -> None:
    own = "  logical function present(i)\n    integer, optional :: i\n    present = .true.\n"
    text = PROGRAM.format(body=ONE, more="").replace(
        "contains\n", f"contains\n{own}  end function\n", 1
    )
    tree = Stepped.of(tmp_path, {"main.f90": text})
    assert tree.applied(inline, unit="main") == 0
