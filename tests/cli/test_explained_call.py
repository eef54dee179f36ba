"""``explain`` at the call of a procedure that exchanges messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.cli.main import main

_TEXTS = {
    "halo.f90": """\
module halo
  use mpi
  implicit none
contains
  subroutine exchange(u, n, next, last)
    integer, intent(in) :: n, next, last
    real(8), intent(inout) :: u(0:n+1)
    integer :: ierr
    call MPI_Sendrecv(u(n), 1, MPI_REAL8, next, 1, u(0), 1, MPI_REAL8, last, 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  end subroutine exchange
  subroutine double(u, n)
    integer, intent(in) :: n
    real(8), intent(inout) :: u(0:n+1)
    u = 2*u
  end subroutine double
end module halo
""",
    "steps.f90": """\
subroutine steps(u, n, next, last)
  use halo
  implicit none
  integer, intent(in) :: n, next, last
  real(8), intent(inout) :: u(0:n+1)
  call double(u, n)
  call exchange(u, n, next, &
                last)
end subroutine steps
""",
}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (7, "steps.f90:7 calls exchange, whose exchanges are these:"),
        (8, "steps.f90:8 calls exchange, whose exchanges are these:"),
        (6, "steps.f90:6: no exchange here"),
        (5, "steps.f90:5: no exchange here"),
    ],
)
def test_a_call_stands_for_what_its_procedure_exchanges(
    line: int, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in _TEXTS.items():
        (tmp_path / name).write_text(text)
    place = f"{tmp_path / 'steps.f90'}:{line}"
    exit_code = main(["explain", place, str(tmp_path), "--no-cache", "--jobs", "1"])
    told = capsys.readouterr()
    assert expected in told.err
    has_any = "calls" in expected
    assert (exit_code == 0) is has_any
    assert ("halo.f90:9  MPI_Sendrecv" in told.out) is has_any
