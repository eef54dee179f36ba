"""Nests under a condition of their own are divided and shared like others, each part under it."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.transforms.loops import sharing, splitting
from asphalt.transforms.motion import code_motion
from support.stepping import Stepped

_UNIT = """\
subroutine guarded(u, after, left, n, m, k, below, comm)
  use mpi
  implicit none
  integer, intent(in) :: n, m, below, comm
  integer, intent(inout) :: k(0:9)
  real(8), intent(inout) :: u(0:n+1,0:m+1), after(n,m), left(m)
  integer :: i, j, ierr, request, other
  logical, external :: wanted
  call MPI_Irecv(u(1,0), n, MPI_DOUBLE_PRECISION, below, 1, comm, request, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
{body}
{behind}
end subroutine guarded
"""
_NEST = """\
  if (k(1) < m) then ! not always
    do j = 1, m
      do i = 1, n
        after(i,j) = u(i,j) + u(i,j-1)
      end do
    end do
  end if
"""
_NEXT = """\
  call MPI_Irecv(left, m, MPI_DOUBLE_PRECISION, below, 2, comm, other, ierr)
  call MPI_Wait(other, MPI_STATUS_IGNORE, ierr)
"""


def _stepped(folder: Path, body: str = _NEST, behind: str = "") -> Stepped:
    return Stepped.of(folder, {"guarded.f90": _UNIT.format(body=body, behind=behind)})


def _lines(stepped: Stepped) -> list[str]:
    lines = [line.strip() for line in stepped.text("guarded.f90").splitlines()]
    return [x for x in lines if x.startswith(("call MPI", "if", "do j", "end if"))]


def test_interior_and_edges_have_the_condition(tmp_path: Path) -> None:
    stepped = _stepped(tmp_path)
    assert stepped.applied(splitting) == 1
    assert stepped.applied(code_motion) == 1
    irecv, *parts = (x for x in _lines(stepped) if not x.startswith("call MPI_Wait"))
    assert irecv.startswith("call MPI_Irecv")
    assert parts == [
        "if (k(1) < m) then ! not always",
        "do j = 2, m",
        "end if",
        "if (k(1) < m) then",
        "do j = 1, min(1, m)",
        "end if",
    ]
    order = [line.split("(")[0] for line in _lines(stepped)]
    assert order.index("call MPI_Wait") == 4


def test_parts_for_two_windows_have_it(tmp_path: Path) -> None:
    wait = "  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)\n"
    nest = _NEST.replace("u(i,j-1)", "u(i,j+1)")
    text = _UNIT.format(body="", behind=_NEXT).replace(wait, nest + wait)
    stepped = Stepped.of(tmp_path, {"guarded.f90": text})
    assert stepped.applied(sharing) == 1
    heads = [line for line in _lines(stepped) if line.startswith(("if", "do"))]
    assert heads == [
        "if (k(1) < m) then ! not always",
        "do j = 1, m/2",
        "if (k(1) < m) then",
        "do j = 1 + m/2, m",
    ]


@pytest.mark.parametrize(
    "body",
    [
        _NEST.replace("after(i,j) = ", "k(i) = j\n        after(i,j) = "),  # changes it
        _NEST.replace("k(1) < m", "wanted(u)"),  # may do anything
        _NEST.replace("  end if", "  else\n    after(1,1) = 0\n  end if"),
        _NEST.replace("  end if", "    after(1,1) = 0\n  end if"),
        _NEST.replace("  if (k", "  own: if (k").replace("  end if", "  end if own"),
    ],
)
def test_a_nest_stays_whole(tmp_path: Path, body: str) -> None:
    assert not _stepped(tmp_path, body).steps(splitting)
