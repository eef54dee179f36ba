"""Nests in tiles get an object of the runtime, but for those with a statement that is not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.transforms.rewriting.edit import replace_unit
from asphalt.transforms.tiling.segment_objects import with_objects
from asphalt.unparse.unparse import unparse
from support.stepping import Stepped

PROGRAM = """\
subroutine sweep(u, left, right, comm)
  use mpi
  use asphalt_core, only: asphalt_irecv, asphalt_issend
  use asphalt_segments, only: asphalt_segment
  use asphalt_transfers, only: asphalt_wait
  implicit none
  integer, parameter :: n = 12, m = 2000
  real(8), intent(inout) :: u(0:m, 0:n+1)
  integer, intent(in) :: left, right, comm
  real(8) :: west(2,0:n), east(2,0:n)
  integer :: i, j
  include 'asphalt_params.inc'
  ! does not compile with K < 0, D < 1, or no iteration
  integer(merge(kind(0),-1,asphalt_k_sweep_j >= 0 .and. asphalt_d_sweep_j >= 1)) :: asphalt_k_1
  integer :: asphalt_lo_1, asphalt_hi_1
  integer :: asphalt_requests_1(n), asphalt_requests_2(n)
  asphalt_k_1 = asphalt_segment(asphalt_k_sweep_j, n, 4.0 + 12.0*m)
  do asphalt_lo_1 = 1, n, asphalt_k_1
    asphalt_hi_1 = min(asphalt_lo_1 + asphalt_k_1 - 1, n)
    call asphalt_irecv(west(1,asphalt_lo_1-1), 2*(asphalt_hi_1 - asphalt_lo_1 + 1), &
                       MPI_DOUBLE_PRECISION, left, 1, comm, asphalt_requests_1(asphalt_lo_1))
  end do
  ! asphalt: tiles of K iterations over j, each with its part of the messages
  do asphalt_lo_1 = 1, n, asphalt_k_1
    asphalt_hi_1 = min(asphalt_lo_1 + asphalt_k_1 - 1, n)
    if (left >= 0) call asphalt_wait(asphalt_requests_1(asphalt_lo_1), west)
    do j = asphalt_lo_1, asphalt_hi_1
      u(1:2,j) = west(:,j-1)
    end do
    do j = asphalt_lo_1, asphalt_hi_1
      east(:,j-1) = u(m-1:,j)
    end do
    ! to the next
    if ((asphalt_lo_1 - 1)/asphalt_k_1 >= asphalt_d_sweep_j) then
      call asphalt_wait(asphalt_requests_2(asphalt_lo_1-asphalt_d_sweep_j*asphalt_k_1), east)
    end if
    call asphalt_issend(east(1,asphalt_lo_1-1), 2*(asphalt_hi_1 - asphalt_lo_1 + 1), &
                        MPI_DOUBLE_PRECISION, right, 1, comm, asphalt_requests_2(asphalt_lo_1))
  end do
  do asphalt_lo_1 = 1, n, asphalt_k_1
    call asphalt_wait(asphalt_requests_2(asphalt_lo_1), east)
  end do
end subroutine
"""
OBJECT = """\
  integer :: i, j
  include 'asphalt_params.inc'
  type(asphalt_segments_t) :: asphalt_segments_1
  call asphalt_begin_segments(asphalt_segments_1, first=1, last=n, work=4.0 + 12.0*m, &
                              k=asphalt_k_sweep_j, d=asphalt_d_sweep_j)
  call asphalt_receive_segments(asphalt_segments_1, west, 2, MPI_DOUBLE_PRECISION, left, 1, comm)
  ! asphalt: tiles of K iterations over j, each with its part of the messages
  do while (asphalt_next_segment(asphalt_segments_1))
    if (left >= 0) call asphalt_await_segment(asphalt_segments_1, west)
    do j = asphalt_segments_1%lo, asphalt_segments_1%hi
      u(1:2,j) = west(:,j-1)
    end do
    do j = asphalt_segments_1%lo, asphalt_segments_1%hi
      east(:,j-1) = u(m-1:,j)
    end do
    ! to the next
    call asphalt_send_segment(asphalt_segments_1, east, 2, MPI_DOUBLE_PRECISION, right, 1, comm, &
                              synchronous=.true.)
  end do
  call asphalt_finish_segments(asphalt_segments_1, east)
end subroutine
"""


def made(folder: Path, text: str) -> str:
    """What becomes of a unit."""
    stepped = Stepped.of(folder, {"a.f90": text})
    (facts,) = stepped.facts()
    file = stepped.tree.file(str(folder / "a.f90"))
    return unparse(replace_unit(file, facts.unit, with_objects(facts)))


def test_the_object_does_what_loops_did(tmp_path: Path) -> None:
    after = made(tmp_path, PROGRAM)
    assert OBJECT in after
    assert "use asphalt_core" not in after
    assert "use asphalt_transfers" not in after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("u(1:2,j) = west(:,j-1)", "u(1,j) = asphalt_lo_1", id="a-bound"),
        pytest.param("do j = asphalt_lo_1, asphalt_hi_1", "do j = asphalt_lo_1, n", id="other-end"),
        pytest.param("do j = asphalt_lo_1, asphalt_hi_1", "do j = 1, asphalt_hi_1", id="begin"),
        pytest.param("u(1:2,j) = west(:,j-1)", "asphalt_k_1 = 3", id="another-choice"),
        pytest.param("- 1, n)", "- 1, n - 1)", id="other-tiles"),
        pytest.param(")/asphalt_k_1 >= asphalt_d", ")/asphalt_k_1 > asphalt_d", id="other-pace"),
        pytest.param("asphalt_d_sweep_j*asphalt_k_1)", "2*asphalt_k_1)", id="another-tile"),
        pytest.param("asphalt_lo_1), west)", "asphalt_lo_1), west(:,1))", id="none-or-two-buffers"),
        pytest.param("2*(asphalt_hi_1 - asphalt_lo_1 + 1)", "2*m", id="another-count"),
        pytest.param("  do asphalt_lo_1 = 1, n, asphalt_k_1\n    call asphalt_wait",
                     "  do asphalt_lo_1 = 2, n, asphalt_k_1\n    call asphalt_wait", id="not-all"),
        pytest.param("u(1:2,j) = west(:,j-1)", "asphalt_requests_1 = MPI_REQUEST_NULL",
                     id="the-requests"),
    ],
)  # fmt: skip
def test_other_statements_keep_the_loops(before: str, after: str, tmp_path: Path) -> None:
    text = PROGRAM.replace(before, after)
    assert text != PROGRAM
    if before == "asphalt_lo_1), west)":  # one of two waits names another buffer
        wait = "    call asphalt_wait(asphalt_requests_1(asphalt_lo_1), west)\n"
        text = text.replace("    do j =", f"{wait}    do j =", 1)
    assert made(tmp_path, text) == text
