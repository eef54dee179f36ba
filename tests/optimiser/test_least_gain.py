"""A procedure stays as it is where all its steps together save less than what is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.cli.main import main
from asphalt.config.errors import UsageError
from asphalt.config.settings import Settings, load_settings
from asphalt.project import Project

_RING = """\
program ring
  use mpi
  implicit none
  integer, parameter :: n = {n}
  real(8) :: a(n), b(n), c(n) = 1
  integer :: me, np, i, ierr, requests(2)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  do i = 1, n
    a(i) = sqrt(real(i + me, 8))
  end do
  call MPI_Irecv(b, n, MPI_REAL8, modulo(me - 1, np), 1, MPI_COMM_WORLD, requests(1), ierr)
  call MPI_Isend(a, n, MPI_REAL8, modulo(me + 1, np), 1, MPI_COMM_WORLD, requests(2), ierr)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
{behind}  print *, sum(b), sum(c)
  call MPI_Finalize(ierr)
end program ring
"""
_WORK = """\
  do i = 1, n
    c(i) = exp(-c(i)) + i
  end do
"""


def _changed(folder: Path, text: str, least_gain: float | None) -> tuple[bool, str]:
    """Whether a program is changed, and what ended the search."""
    folder.mkdir(exist_ok=True)
    (folder / "ring.f90").write_text(text)
    settings = Settings(cache=False, jobs=1, least_gain=least_gain)
    outcome = Project(folder, settings=settings).outcome()
    (procedure,) = outcome.procedures
    return bool(outcome.changes), procedure.ended


def test_an_earlier_receive_saves_nothing(tmp_path: Path) -> None:
    """The partner sends behind the same nest: only the order of starts changes."""
    text = _RING.format(n=20000, behind="")
    assert _changed(tmp_path, text, None)[0]
    assert _changed(tmp_path, text, 0.0) == (False, "all steps together save nothing")


def test_what_saves_something_is_done(tmp_path: Path) -> None:
    text = _RING.format(n=20000, behind=_WORK)
    assert _changed(tmp_path, text, 0.0)[0]
    assert _changed(tmp_path, text, 90.0) == (
        False,
        "all steps together save less than the least gain that is asked for",
    )


def test_the_option_and_the_setting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "ring.f90").write_text(_RING.format(n=20000, behind=""))
    asked = ["--no-cache", "--jobs", "1", str(tree)]
    assert main(["diff", "--check", *asked]) == 1
    assert main(["diff", "--check", "--least-gain", "0", *asked]) == 0
    assert "all steps together save nothing" in capsys.readouterr().err
    (tree / "asphalt.toml").write_text("least_gain = 0.5\n")
    assert load_settings(tree).least_gain == 0.5
    assert main(["diff", "--check", *asked]) == 0


@pytest.mark.parametrize("value", ['"much"', "true", "-1", "101"])
def test_bad_values(value: str, tmp_path: Path) -> None:
    (tmp_path / "asphalt.toml").write_text(f"least_gain = {value}\n")
    with pytest.raises(UsageError, match="least_gain must be"):
        load_settings(tmp_path)
