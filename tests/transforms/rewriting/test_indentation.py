"""Statements of fixed form come to the columns of their surroundings, where that is safe; and what
inlining has declared goes where nothing uses it any more."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from asphalt.config.passes import TRANSFERS
from asphalt.ir.tree import leaves
from asphalt.project import Project
from asphalt.transforms.rewriting.indentation import further_in
from support.fortran_program import FortranProgram
from support.judging import SETTINGS


def _moved(lines: str, columns: int) -> str:
    """The text of the statements of a unit, moved."""
    text = f"      subroutine s(a, b)\n{lines}      end\n"
    unit = FortranProgram(text, suffix=".f").all[0].unit
    nodes = (further_in(node, columns, free=False) for node in unit.body)
    moved = (leaf for node in nodes for leaf in leaves(node))
    return "".join(f"{leaf.head}{leaf.body}{leaf.trail}" for leaf in moved)


def test_labels_stay_in_their_columns() -> None:
    assert _moved("      b = 2\n   10 a = 1\n", 3) == "         b = 2\n   10    a = 1\n"


def test_continued_lines_and_comments_between() -> None:
    text = "      a = b +\nc     one\n     &    2\n"
    assert _moved(text, 3) == "         a = b +\nc     one\n     &       2\n"


def test_outwards_as_far_as_there_are_blanks() -> None:
    assert _moved("         a = 1\n", -6) == "      a = 1\n"


@pytest.mark.parametrize(
    "text",
    [
        f"      a = {'1 + ' * 14}2\n",  # past column 72
        "      print *, 'one\n     &two'\n",  # the blanks are part of the constant
        "\ta = 1\n",
    ],
)
def test_what_would_be_something_else_stays(text: str) -> None:
    assert _moved(text, 9) == text


_PROGRAM = """\
      program relax
      implicit none
      include 'mpif.h'
      integer n
      parameter (n=400)
      double precision u(0:n+1,0:n+1), w(n,n)
      integer it, i, j, left, right, ierr
      call mpi_init(ierr)
      left = mpi_proc_null
      right = mpi_proc_null
      do it = 1, 20
         if (it .gt. 0) then
            call exch(u, n, left, right, 1)
            do j = 1, n
               do i = 1, n
                  w(i,j) = sqrt(dble(i*j+it))
               end do
            end do
         end if
      end do
      print *, u(1,1), w(2,2)
      call mpi_finalize(ierr)
      end

      subroutine exch(u, n, left, right, mode)
      implicit none
      include 'mpif.h'
      integer n, left, right, mode, extent
      parameter (extent=1000)
      double precision u(0:n+1,0:n+1)
      double precision buf(extent), other(extent)
      integer ierr, k
      integer status(mpi_status_size)
      if (mode .eq. 1) then
         call mpi_sendrecv(u(1,n), n, mpi_double_precision, right,
     &        1, u(1,0), n, mpi_double_precision, left, 1,
     &        mpi_comm_world, status, ierr)
      else if (mode .eq. 2) then
         do 10 k = 1, n
 10      other(k) = u(k,1)
         call mpi_sendrecv(other, n, mpi_double_precision, left, 2,
     &        buf, n, mpi_double_precision, right, 2,
     &        mpi_comm_world, status, ierr)
      end if
      end
"""


def test_what_is_inlined_in_fixed_form(tmp_path: Path) -> None:
    path = tmp_path / "relax.f"
    path.write_text(_PROGRAM)
    (change,) = Project(path, settings=replace(SETTINGS, passes=TRANSFERS)).transform()
    after = change.after.decode()
    unit = after[: after.index("subroutine exch")]
    starts = re.findall(r"^( *)call asphalt_\w+", unit, re.MULTILINE)
    assert starts == [" " * 12] * 3  # as far in as the call was
    declared = re.findall(r"^ +(?:integer|double precision) ::.*", unit, re.MULTILINE)
    assert [line.split("::")[1].split() for line in declared] == [["asphalt_requests_1(2)"]]
