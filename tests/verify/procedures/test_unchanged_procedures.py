"""Procedures that apply leaves as they are, and draws that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.cli.main import main
from asphalt.config.settings import Settings
from asphalt.project import Project
from asphalt.running.mpi import OPENMPI
from asphalt.running.process import CommandResult
from asphalt.verify.procedures.tally import Tally
from asphalt.verify.procedures.task import Event
from asphalt.verify.procedures.versions import Versions

SETTINGS = Settings(cache=False, jobs=1)
needs_openmpi = pytest.mark.skipif(bool(OPENMPI.missing()), reason="needs Open MPI")

FIELDS = """\
module fields
  implicit none
  integer :: n, m, left, right
contains
  subroutine fill_ghosts(t)
    use mpi
    real(8), intent(inout) :: t(n, 0:m+1)
    integer :: ierr
    call MPI_Sendrecv(t(1, m), n, MPI_DOUBLE_PRECISION, right, 11, &
                      t(1, 0), n, MPI_DOUBLE_PRECISION, left, 11, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  end subroutine fill_ghosts
end module fields
"""
STEPS = """\
module steps
  implicit none
  integer :: n, m, left, right
contains
  subroutine advance(t, g)
    use mpi
    real(8), intent(inout) :: t(n, 0:m+1), g(n, m)
    integer :: ierr, i, j
    call MPI_Sendrecv(t(1, m), n, MPI_DOUBLE_PRECISION, right, 11, &
                      t(1, 0), n, MPI_DOUBLE_PRECISION, left, 11, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    do j = 1, m
      do i = 1, n
        g(i, j) = 0.5d0*abs(t(i, j) - t(i, j-1))
      end do
    end do
  end subroutine advance
end module steps
"""
SOLVER = """\
program solver
  use mpi
  use fields
  implicit none
  real(8), allocatable :: t(:,:), g(:,:)
  integer :: ierr, i, j, rank, np
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  left = modulo(rank - 1, np)
  right = modulo(rank + 1, np)
  n = 300
  m = 30
  allocate(t(n, 0:m+1), g(n, m))
  t = rank
  call fill_ghosts(t)
  do j = 1, m
    do i = 1, n
      g(i, j) = 0.5d0*abs(t(i, j) - t(i, j-1))
    end do
  end do
  print *, sum(g)
  call MPI_Finalize(ierr)
end program solver
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "fields.f90").write_text(FIELDS)
    (tmp_path / "src" / "solver.f90").write_text(SOLVER)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "steps.f90").write_text(STEPS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def versions(path: str, name: str) -> Versions:
    return Versions.of(Project(Path(path).parent, settings=SETTINGS), (name,), path)


def verify(target: str, *arguments: str) -> int:
    folder = str(Path(target).parent)
    return main(["verify", "--no-cache", "--jobs", "1", target, folder, "--np", "2", *arguments])


def test_a_procedure_whose_text_is_changed_where_it_is_called(here: Path) -> None:
    why = versions("src/fields.f90", "fill_ghosts").why_unchanged()
    assert why is not None
    assert why.startswith("src/fields.f90:5: apply changes nothing that fields::fill_ghosts exec")
    assert "in place of calls in src/solver.f90" in why


def test_a_procedure_with_a_transfer_of_its_own_is_changed(here: Path) -> None:
    found = versions("own/steps.f90", "advance")
    assert found.why_unchanged() is None
    assert not found.may_tile


@needs_openmpi
def test_what_is_not_changed_is_not_compared(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify("src/fields.f90:fill_ghosts") == 0
    captured = capsys.readouterr()
    assert "equal" not in captured.out
    assert "there is nothing to compare" in captured.err


@needs_openmpi
def test_a_module_variable_cannot_be_set(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify("own/steps.f90:advance", "--set", "n=12") == 2
    err = capsys.readouterr().err
    assert "--set n: a variable that is no argument of steps::advance" in err
    assert "--first" in err


@needs_openmpi
def test_draws_that_all_fail_alike_end_soon(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """n and m are 0: each reference to an element is outside of the array."""
    assert verify("own/steps.f90:advance", "--draws", "10") == 2
    err = capsys.readouterr().err
    assert "no draw could be used; call what sets the module variables" in err
    assert "--set" not in err


def test_three_failures_for_one_reason_are_enough() -> None:
    def thrown(reasons: list[str], compared: int = 0) -> Tally:
        tally = Tally(10)
        for number, reason in enumerate(reasons):
            if not tally.wants_more:
                break
            log = [Event("begin", number, "original", f"n={number}")]
            if number < compared:
                log.append(Event("done", number, "original"))
                tally.add([log], CommandResult(0, b"", b""), ["original"], number)
            else:
                tally.add([log], CommandResult(2, b"", reason.encode()), ["original"], number)
        return tally

    same = "Fortran runtime error: Index '1' of dimension 1 above upper bound of 0\n"
    other = "Fortran runtime error: Index '5' of dimension 1 above upper bound of 4\n"
    assert len(thrown([same] * 9).thrown) == 3
    assert len(thrown([same, other] * 4).thrown) == 8
    assert len(thrown([same] * 9, compared=1).thrown) == 8
