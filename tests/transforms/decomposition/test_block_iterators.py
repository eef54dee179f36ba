"""Loops over blocks get iterators, where the runtime can count their turns."""

from __future__ import annotations

from pathlib import Path

import pytest

from transforms.decomposition.test_decomposition import iterated

PROGRAM = """\
subroutine exchange(s, r, n, np, comm)
  use mpi
  use asphalt_decomposition, only: asphalt_alltoall_blocks, asphalt_await_block, asphalt_blocks, &
                                   asphalt_finish_blocks, asphalt_send_block, &
                                   asphalt_send_blocks, asphalt_to_send, asphalt_to_take
  implicit none
  integer, intent(in) :: n, np, comm
  real(8), intent(inout) :: s(n,0:np-1), r(n,0:np-1)
  integer :: p
  type(asphalt_blocks) :: asphalt_blocks_1
  integer :: asphalt_turn_1
  call asphalt_alltoall_blocks(s, n, MPI_DOUBLE_PRECISION, r, n, MPI_DOUBLE_PRECISION, comm, &
                               asphalt_blocks_1, later=.true.)
  do asphalt_turn_1 = 0, np - 1  ! fills
    p = asphalt_to_send(asphalt_blocks_1,asphalt_turn_1,0,np - 1,0)
    s(:,p) = p
    call asphalt_send_block(asphalt_blocks_1, p, s)
  end do
  call asphalt_send_blocks(asphalt_blocks_1, s, r)
  do asphalt_turn_1 = 1, np
    p = asphalt_to_take(asphalt_blocks_1,asphalt_turn_1,1,np,1)
    call asphalt_await_block(asphalt_blocks_1, p - 1, r)
    ! uses
    r(:,p-1) = 2*r(:,p-1)
  end do
  call asphalt_finish_blocks(asphalt_blocks_1, s, r)
end subroutine
"""
FILLS = """\
  do while (asphalt_next_to_send(asphalt_blocks_1,p,0,np-1,0))  ! fills
    s(:,p) = p
    call asphalt_send_block(asphalt_blocks_1, p, s)
  end do
"""
USES = """\
  do while (asphalt_next_to_take(asphalt_blocks_1,p,1,np,1))
    call asphalt_await_block(asphalt_blocks_1, p - 1, r)
    ! uses
    r(:,p-1) = 2*r(:,p-1)
  end do
"""


def made(folder: Path, text: str) -> str:
    return iterated(folder, text.encode()).decode()


def test_the_runtime_counts_the_turns(tmp_path: Path) -> None:
    after = made(tmp_path, PROGRAM)
    assert FILLS in after
    assert USES in after
    assert not {"asphalt_turn_1", "asphalt_to_take", "asphalt_to_send"} & set(after.split())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("integer :: p\n", "integer(8) :: p\n", id="another-kind"),
        pytest.param("    p = asphalt_to_take", "    r = 0\n    p = asphalt_to_take", id="behind"),
        pytest.param("asphalt_turn_1,1,np,1)", "asphalt_turn_1,1,np - 1,1)", id="other-turns"),
        pytest.param("asphalt_turn_1,1,np,1)", "asphalt_turn_1,1,np,p)", id="what-it-changes"),
        pytest.param("do asphalt_turn_1 = 1, np\n", "do asphalt_turn_1 = 1, np, 2\n", id="a-step"),
    ],
)  # fmt: skip
def test_other_loops_stay(before: str, after: str, tmp_path: Path) -> None:
    text = PROGRAM.replace(before, after)
    assert text != PROGRAM
    assert "asphalt_next_to_take" not in made(tmp_path, text)
