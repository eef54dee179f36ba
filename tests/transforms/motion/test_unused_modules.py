"""A call that changes variables of a module which its caller does not use."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.passes import Pass
from asphalt.config.settings import Settings
from asphalt.project import Project
from asphalt.running.mpi import OPENMPI
from support.mpi_run import Mpi, installed, same_lines

_PROGRAM = """\
module counts
  integer{attribute} :: calls = 0
end module counts
subroutine tick
  use counts
  {tick}
end subroutine tick
subroutine step(n, a, b, r, left, right)
  use mpi
  implicit none
  integer, intent(in) :: n, left, right
  real(8), intent(inout) :: a(n), b(n), r(n)
  integer :: ierr, i, request, calls
  calls = n
  call MPI_Irecv(r, n, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, request, ierr)
  call MPI_Send(b, n, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  call tick
  do i = 1, calls
    a(i) = sqrt(b(i))*2
  end do
  a = a + r
end subroutine step
program main
  use mpi
  use counts, only: total => calls
  implicit none
  integer, parameter :: n = 5000
  integer :: ierr, me, np
  real(8) :: a(n), b(n), r(n)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  a = 0
  b = me + 1
  r = 0
  call step(n, a, b, r, modulo(me - 1, np), modulo(me + 1, np))
  call step(n, a, b, r, modulo(me - 1, np), modulo(me + 1, np))
  print *, me, sum(a), total
  call MPI_Finalize(ierr)
end program main
"""
_COUNT = "calls = calls + 1"


def _made(folder: Path, attribute: str = "", tick: str = _COUNT) -> tuple[str, bytes]:
    text = _PROGRAM.format(attribute=attribute, tick=tick)
    folder.mkdir(exist_ok=True)
    (folder / "main.f90").write_text(text)
    settings = Settings(cache=False, jobs=1, passes=(Pass.NONBLOCKING, Pass.MOTION))
    changes = Project(folder, settings=settings).outcome().changes
    return text, changes[0].after if changes else text.encode()


def _passes_the_call(content: bytes) -> bool:
    """Whether a wait for the receive stands behind the call in the procedure."""
    text = content.decode().split("subroutine step", 1)[1].lower()
    return text.index("call tick") < text.index("call mpi_wait")


@pytest.mark.parametrize("mpi", installed(OPENMPI))
def test_the_call_moves(mpi: Mpi, tmp_path: Path) -> None:
    text, after = _made(tmp_path / "in")
    assert _passes_the_call(after)
    same_lines(mpi, tmp_path, text, after)


@pytest.mark.parametrize(
    ("attribute", "tick"),
    [
        (", volatile", _COUNT),  # somebody else may look at it at any time
        ("", "print *, calls"),
        ("", "call unseen(calls)"),
    ],
)
def test_the_call_stays(attribute: str, tick: str, tmp_path: Path) -> None:
    _, after = _made(tmp_path / "in", attribute, tick)
    assert not _passes_the_call(after)
