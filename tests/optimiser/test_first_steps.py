"""Units in which the search has nothing to begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.passes import TRANSFERS
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.optimiser.acceptance import key_of
from asphalt.optimiser.first_steps import has_first_step
from asphalt.optimiser.options import Context, Options
from asphalt.optimiser.unit_state import Workshop

SHIFT = """\
subroutine shift(u, n, comm)
  use mpi
  implicit none
  integer, intent(in) :: n, comm
  real(8), intent(inout) :: u(0:n)
  integer :: ierr
{more}  call MPI_Send(u(n), 1, MPI_REAL8, 1, 1, comm, ierr)
end subroutine shift
"""
CALLER = """\
subroutine caller(u, n, comm)
  {use}
  implicit none
  integer, intent(in) :: n, comm
  real(8), intent(inout) :: u(0:n)
  integer :: ierr, m
  m = n
  {calls}
end subroutine caller
"""


def may_begin(
    folder: Path, calls: str, more: str = "", use: str = "", passes: tuple[str, ...] = TRANSFERS
) -> bool:
    """The answer for ``caller``; ``more``: lines of the procedure that communicates."""
    (folder / "shift.f90").write_text(SHIFT.format(more=more))
    (folder / "caller.f90").write_text(CALLER.format(calls=calls, use=use))
    tree = load_tree([folder], Settings(jobs=1, cache=False))
    located = tree.external("caller")
    assert located is not None
    return has_first_step(Workshop(tree, *key_of(located), Options(passes), Context()))


@pytest.mark.parametrize(
    "calls",
    [
        "call MPI_Wait(m, MPI_STATUS_IGNORE, ierr)",
        "call MPI_Isend(u, 1, MPI_REAL8, 1, 1, comm, m, ierr)",
        "if (m > 1) call MPI_Bcast(u, 1, MPI_REAL8, 0, comm, ierr)",
    ],
)
def test_a_call_of_its_own(tmp_path: Path, calls: str) -> None:
    assert may_begin(tmp_path, calls, use="use mpi")


@pytest.mark.parametrize(
    "calls", ["m = m + 1", "call MPI_Comm_size(comm, m, ierr)", "call MPI_Barrier(comm, ierr)"]
)
def test_nothing_that_communicates(tmp_path: Path, calls: str) -> None:
    assert not may_begin(tmp_path, calls, use="use mpi")


def test_a_procedure_that_can_be_inlined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not inlined to find that out."""
    monkeypatch.setattr(Workshop, "applied", None)
    assert may_begin(tmp_path, "call shift(u, n, comm)")


def test_a_procedure_that_is_inlined_once_a_branch_is_decided(tmp_path: Path) -> None:
    """The construct around the call goes with the branch: it does not decide by itself."""
    calls = "if (1 == 1) then\n    call shift(u, n, comm)\n  end if"
    assert may_begin(tmp_path, calls)


def test_a_procedure_that_cannot_be_inlined_anywhere(tmp_path: Path) -> None:
    assert not may_begin(tmp_path, "call shift(u, n, comm)", "  call shift(u, n, comm)\n")


def test_nobody_asks_for_inlining(tmp_path: Path) -> None:
    passes = tuple(name for name in TRANSFERS if name != "inline")
    assert not may_begin(tmp_path, "call shift(u, n, comm)", passes=passes)
