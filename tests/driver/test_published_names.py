"""Inlined statements use private names of a module in another file, which makes them public."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.settings import Settings
from asphalt.diagnostics.change import Change, with_dependents
from asphalt.driver.overlap import Outcome
from asphalt.project import Project
from support.mpi_run import RUNTIME, Mpi, build, installed, run

_FACES = """\
module faces
  use mpi
  implicit none
  private
  public :: exchange
{declared}
contains
  subroutine exchange(u, n)
    integer, intent(in) :: n
    real(8), intent(inout) :: u(0:n+1, 400)
    integer :: j, me, np, ierr
    call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
    do j = 1, 400
      last(j) = u(n, j)
    end do
    call MPI_Sendrecv(last, 400, MPI_DOUBLE_PRECISION, modulo(me + 1, np), 1, &
                      first, 400, MPI_DOUBLE_PRECISION, modulo(me - 1, np), 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    do j = 1, 400
      u(0, j) = first(j)
    end do
  end subroutine exchange
end module faces
"""
_MAIN = """\
program steps
  use faces{used}
  use mpi
  implicit none
  integer, parameter :: n = 400
  real(8) :: u(0:n+1, n), w(n, n)
  integer :: i, j, step, me, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  u = me
  w = 1
  do step = 1, 3
    call exchange(u, n)
    do j = 1, n
      do i = 1, n
        w(i, j) = sqrt(w(i, j) + i*j)
      end do
    end do
    do j = 1, n
      u(n, j) = w(n, j) + u(0, j)
    end do
  end do
  print '(i0, 2z17)', me, sum(u), sum(w)
  call MPI_Finalize(ierr)
end program steps
"""
_PLAIN = "  real(8), save :: first(400), last(400)\n"
_UNDER_A_CONDITION = f"""\
#ifdef LARGE
  real(8), save :: first(40000), last(40000)
#else
{_PLAIN}#endif
"""


def _outcome(folder: Path, declared: str = _PLAIN, used: str = "", more: str = "") -> Outcome:
    texts = {
        "faces.F90": _FACES.format(declared=declared),
        "steps.F90": _MAIN.format(used=used),
        "more.f90": more,
    }
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        if text:
            (folder / name).write_text(text)
    return Project(folder, settings=Settings(cache=False, jobs=1)).outcome()


@pytest.mark.parametrize("used", ["", ", only: exchange"], ids=["all", "ONLY"])
@pytest.mark.parametrize("mpi", installed(), ids=str)
def test_both_files_change(used: str, mpi: Mpi, tmp_path: Path) -> None:
    outcome = _outcome(tmp_path / "given", used=used)
    after = {change.path.name: change.after for change in outcome.changes}
    assert b"  public :: last, first\n" in after["faces.F90"]
    assert b"call exchange" not in after["steps.F90"]
    printed: list[list[str]] = []
    for kind in ("before", "after"):
        place = tmp_path / kind
        place.mkdir()
        for path in (tmp_path / "given").iterdir():
            text = path.read_bytes()
            (place / path.name).write_bytes(after[path.name] if kind == "after" else text)
        sources = [*RUNTIME, place / "faces.F90", place / "steps.F90"]
        found = run(mpi, build(mpi, sources, place, ["-O2", "-w"]), 3)
        assert found.code == 0, found.stderr
        printed.append(sorted(found.stdout.splitlines()))
    assert printed[0] == printed[1]


def test_a_file_that_needs_one_which_is_not_written_stays(tmp_path: Path) -> None:
    outcome = _outcome(tmp_path, declared=_UNDER_A_CONDITION)
    assert outcome.changes == ()
    reasons = {Path(note.file).name: note.message for note in outcome.notes if note.note}
    assert "would reach configurations" in reasons["faces.F90"]
    assert reasons["steps.F90"].startswith(f"it needs a change of {tmp_path / 'faces.F90'}, ")


_NAMES_ONE = """\
subroutine other
  use faces
  implicit none
  integer :: first
  first = 1
end subroutine other
"""


def test_a_name_of_another_unit_stays_private(tmp_path: Path) -> None:
    after = [change.after for change in _outcome(tmp_path, more=_NAMES_ONE).changes]
    assert all(text.count(b"public ::") == 1 for text in after)  # of faces.F90 alone


def test_what_needs_a_file_that_is_left_out_is_left_out(tmp_path: Path) -> None:
    outcome = _outcome(tmp_path)
    assert len(outcome.changes) == 2
    faces = next(one.path for one in outcome.changes if one.path.name == "faces.F90")
    left = outcome.without({faces: "edited by hand"})
    assert left.changes == ()
    assert any("it needs a change of" in why for why in left.unwritten.values())


def test_dependents_of_dependents() -> None:
    a, b, c, d = map(Path, "abcd")
    needs = {b: {a}, c: {b}, d: set[Path]()}
    changes = [Change(p, b"", b"x", (), (), frozenset(n)) for p, n in needs.items()]
    assert with_dependents(changes, {a: "no"}) == {
        a: "no",
        b: "it needs a change of a, which is not written: no",
        c: "it needs a change of b, which is not written: "
        "it needs a change of a, which is not written: no",
    }
