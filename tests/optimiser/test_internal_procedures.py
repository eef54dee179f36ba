"""Transfers of units that contain procedures: these see the unit's variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.optimise import Optimised, optimise

_PROGRAM = """\
program shift
  use mpi
  implicit none
  integer, parameter :: n = 8
  integer :: i, me, np, ierr
  integer :: status(MPI_STATUS_SIZE)
  real(8) :: s(n), r(n), w(n)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  s = me
  w = me
  call MPI_Sendrecv(s, n, MPI_DOUBLE_PRECISION, modulo(me + 1, np), 0, &
                    r, n, MPI_DOUBLE_PRECISION, modulo(me - 1, np), 0, &
                    MPI_COMM_WORLD, status, ierr)
  call change(w)
  print *, sum(w), sum(r)
  call MPI_Finalize(ierr)
contains
  subroutine change(x)
    real(8), intent(inout) :: x(n)
    integer :: i
{inside}
    do i = 1, n
      x(i) = 2*x(i)
    end do
  end subroutine change
end program shift
"""


_RETURNED = "  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)"


def _optimised(folder: Path, *inside: str, first: str = "") -> Optimised:
    path = folder / "shift.f90"
    text = _PROGRAM.format(inside="\n".join(f"    {line}" for line in inside))
    path.write_text(text.replace("  s = me\n", f"{first}\n  s = me\n"))
    tree = load_tree([folder])
    return optimise(tree, tree.units_of(str(path))[0])


@pytest.mark.parametrize(
    "inside",
    [(), ("integer :: ierr", "ierr = i"), ("integer :: status(2)", "status = 1")],
    ids=["nothing", "its own code", "its own status"],
)
def test_work_of_an_internal_procedure_comes_into_the_window(
    tmp_path: Path, inside: tuple[str, ...]
) -> None:
    found = _optimised(tmp_path, *inside)
    assert found.content is not None
    lines = [line.strip() for line in found.content.decode().splitlines()]
    work = lines.index("call change(w)")
    assert any("asphalt_irecv" in line for line in lines[:work])
    assert any("asphalt_wait" in line for line in lines[work:])
    assert not any("call MPI_Sendrecv" in line for line in lines)


def test_an_error_code_that_an_internal_procedure_reads_keeps_the_call(tmp_path: Path) -> None:
    found = _optimised(tmp_path, "if (ierr /= 0) x(1) = 0", first=_RETURNED)
    assert found.content is None
    assert [refused.code.id for refused in found.refused] == ["ASP020"]
    assert _optimised(tmp_path, "if (ierr /= 0) x(1) = 0").content is not None


@pytest.mark.parametrize("inside", ["x(1) = r(1)", "r(1) = x(1)"])
def test_what_an_internal_procedure_accesses_has_arrived(tmp_path: Path, inside: str) -> None:
    found = _optimised(tmp_path, inside)
    assert found.content is not None
    lines = [line.strip() for line in found.content.decode().splitlines()]
    (received,) = (n for n, line in enumerate(lines) if line.endswith("_1, r)"))
    assert received < lines.index("call change(w)")


def test_what_an_internal_procedure_overwrites_has_left(tmp_path: Path) -> None:
    found = _optimised(tmp_path, "s(1) = x(1)")
    assert found.content is not None
    lines = [line.strip() for line in found.content.decode().splitlines()]
    (sent,) = (n for n, line in enumerate(lines) if line.endswith("_2, s)"))
    assert sent < lines.index("call change(w)")
