"""RETURN in called procedures: what it skips stands in a branch where the procedure is inlined."""

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
  subroutine pass_on(u, n, kind, right, left)
    integer, intent(in) :: n, kind, right, left
    real(8), intent(inout) :: u(0:n)
    integer :: ierr, i
{body}
    call MPI_Sendrecv(u(n), 1, MPI_DOUBLE_PRECISION, right, 1, u(0), 1, MPI_DOUBLE_PRECISION, &
                      left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    u(n) = u(0) + kind
  end subroutine pass_on
end module ghosts
program main
  use ghosts
  implicit none
  integer :: ierr, me, np, k
  real(8) :: v(0:5)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  v = me
  do k = 1, 4
    call pass_on(v, 5, k, modulo(me + 1, np), modulo(me - 1, np))
  end do
  print '(i0, 6z17)', me, v
  call MPI_Finalize(ierr)
end program main
"""
ONE = """\
    if (kind == 2) then
      u(1) = 7
      ! nothing is passed on
      return
    end if"""
TWO = """\
    u(2) = kind
    if (kind == 1) then
      u(0) = 3
      return
    else if (kind == 3) then
      return
    end if
    if (kind > 3) return"""


def _tree(folder: Path, body: str) -> Stepped:
    return Stepped.of(folder, {"main.f90": PROGRAM.format(body=body)})


@pytest.mark.parametrize("body", [ONE, TWO], ids=["one", "two"])
@pytest.mark.parametrize("mpi", installed(MPICH, OPENMPI), ids=lambda mpi: mpi.name)
def test_the_rest_is_the_else_arm(body: str, mpi: Mpi, tmp_path: Path) -> None:
    given, tree = _tree(tmp_path / "given", body), _tree(tmp_path / "inlined", body)
    assert tree.applied(inline, unit="main") == 1
    assert "return" not in tree.text("main.f90").partition("program main")[2]
    results = [
        one.result(mpi, tmp_path / folder, ["main.f90"], 3)
        for folder, one in (("one", given), ("two", tree))
    ]
    assert results[0] == results[1]


def test_the_text(tmp_path: Path) -> None:
    tree = _tree(tmp_path, ONE)
    tree.applied(inline, unit="main")
    text = tree.text("main.f90").partition("program main")[2]
    branch = """\
    if (k == 2) then
      v(1) = 7
      ! nothing is passed on
    else
      call MPI_Sendrecv("""
    assert branch in text
    assert "      v(5) = v(0) + k\n    end if\n  end do" in text


@pytest.mark.parametrize(
    "body",
    [
        "    if (kind == 2) then\n      if (u(1) > 0) return\n      u(1) = 7\n      return\n"
        "    end if",
        "    if (kind == 2) then\n      return\n    else\n      u(1) = 7\n    end if",
        "    if (kind == 2) then\n      u(1) = 7\n      return\n    else if (kind == 3) then\n"
        "      u(1) = 8\n    end if",
        "    part: if (kind == 2) then\n      u(1) = 7\n      return\n    end if part",
        "    do i = 1, n\n      if (u(i) > 9) then\n        u(1) = 7\n        return\n"
        "      end if\n"
        "    end do",
        "    if (kind == 2) then\n      u(1) = 7\n      return\n    end if\n"
        "    if (kind == 3) goto 10\n    u(2) = 1\n10  u(3) = 1",
        "    if (kind == 2) then\n      u(1) = 7; return\n    end if",
        "    if (kind == 2) then\n      u(1) = 7\n      return; end if",
        "    if (kind == 2) then; return; end if",
        "    if (kind == 1) then\n      return; else if (kind == 2) then\n      return\n    end if",
    ],
    ids=["inside", "else", "else-if", "named", "loop", "labels", "one-line", "end", "all", "arm"],
)
def test_other_ways_out_stay(body: str, tmp_path: Path) -> None:
    tree = _tree(tmp_path, body)
    (refused,) = tree.refusals(inline)
    assert "RETURN" in refused.message
    assert tree.applied(inline) == 0
