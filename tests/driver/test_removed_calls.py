"""Calls of a collective operation that the preprocessor removes: a call of it starts the operation
only in configurations in which they are not compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.settings import Settings
from asphalt.project import Outcome, Project
from driver.test_configurations import preprocessed
from support.mpi_run import MPICH, OPENMPI, RUNTIME, Mpi, build, installed, run

_WORK = """\
module work
  use mpi
  implicit none
contains
  subroutine step(a, b, n, s)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(n), b(n), s
    integer :: ierr, i
{before}    call MPI_Allreduce(MPI_IN_PLACE, s, 1, MPI_REAL8, MPI_MAX, MPI_COMM_WORLD, ierr)
    do i = 1, n
      b(i) = b(i) + sqrt(abs(a(i)))
    end do
    a = a + s
  end subroutine step
end module work
"""
_HALO = """\
    call MPI_Sendrecv(a(1), 1, MPI_REAL8, 0, 1, a(n), 1, MPI_REAL8, 0, 1, MPI_COMM_SELF, &
                      MPI_STATUS_IGNORE, ierr)
    do i = 1, n
      b(i) = b(i) + sqrt(abs(b(i)))
    end do
    b(n) = b(n) + a(n)
"""
_REPORT = """\
  subroutine report(s)
    use mpi
    real(8), intent(inout) :: s
    integer :: ierr
{call}    s = s + 1
  end subroutine report
"""
_REMOVED = """\
#ifdef DETAILS
    {} MPI_Allreduce(MPI_IN_PLACE, s, 1, MPI_REAL8, MPI_MAX, MPI_COMM_WORLD, ierr)
#endif
"""
_MAIN = """\
program main
  use mpi
  use work
  implicit none
  integer, parameter :: n = 100000
  real(8) :: a(n), b(n), s
  integer :: ierr, k, me
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  a = me
  b = 0
  s = me
  do k = 1, 3
    call step(a, b, n, s)
    s = sum(b)
    call report(s)
  end do
  print '(i0, 2z17)', me, sum(a), s
  call MPI_Finalize(ierr)
end program main
"""
_CALL = _REMOVED.format("call")
_HIDDEN = _CALL.split("\n")[1].replace("  ", "!$", 1) + "\n"
_TRANSFERS = ("motion", "nonblocking", "waits")


def _outcome(folder: Path, work: str, report: str, main: str = _MAIN, **more: str) -> Outcome:
    files = {"work.F90": work, "report.F90": report, "main.F90": main}
    files |= {".".join(name.rsplit("_", 1)): text for name, text in more.items()}
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        if text:
            (folder / name).write_text(text)
    settings = Settings(passes=_TRANSFERS, assume=("control",), cache=False, jobs=1)
    return Project(folder, settings=settings).outcome()


def _starts(found: Outcome) -> bool:
    return any(b"asphalt_iallreduce" in change.after for change in found.changes)


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH))
def test_a_condition_keeps_the_other_configurations(mpi: Mpi, tmp_path: Path) -> None:
    work, report = _WORK.format(before=""), _REPORT.format(call=_CALL)
    found = _outcome(tmp_path / "given", work, report)
    (change,) = found.changes
    after = change.after.decode()
    assert "asphalt_iallreduce" in after
    assert preprocessed(after, ["DETAILS"]) == preprocessed(work, ["DETAILS"])
    assert preprocessed(after, []) != preprocessed(work, [])
    for defines in ([], ["-DDETAILS"]):
        printed = []
        for text in (work, after):
            place = tmp_path / f"built{len(defines)}{len(printed)}"
            place.mkdir()
            (place / "work.F90").write_text(text)
            sources = [*RUNTIME, place / "work.F90"]
            sources += [tmp_path / "given" / name for name in ("report.F90", "main.F90")]
            ran = run(mpi, build(mpi, sources, place, ["-O1", "-w", *defines]), 3)
            assert ran.code == 0, ran.stderr
            printed.append(sorted(ran.stdout.splitlines()))
        assert printed[0] == printed[1]


@pytest.mark.parametrize(
    ("work", "report"),
    [
        # the macro is another one where the text changes
        ("#undef DETAILS\n" + _WORK.format(before=""), _REPORT.format(call=_CALL)),
        # only compilers without OpenMP remove it
        (_WORK.format(before=""), _REPORT.format(call=_HIDDEN)),
        # one of several cannot be excluded
        (
            _WORK.format(before=""),
            _REPORT.format(call=_CALL + "#undef OTHERS\n" + _CALL.replace("DETAILS", "OTHERS")),
        ),
    ],
    ids=["another-macro", "openmp", "one-of-two"],
)  # fmt: skip
def test_where_no_condition_excludes_them_the_operation_stays(
    tmp_path: Path, work: str, report: str
) -> None:
    found = _outcome(tmp_path / "given", work, report)
    assert not _starts(found)
    without = _outcome(tmp_path / "without", work, _REPORT.format(call=""))
    assert _starts(without)


def test_a_file_that_is_not_preprocessed_stays(tmp_path: Path) -> None:
    work, report = _WORK.format(before=""), _REPORT.format(call=_CALL)
    assert not _starts(_outcome(tmp_path / "given", "", report, work_f90=work))
    assert _starts(_outcome(tmp_path / "without", "", _REPORT.format(call=""), work_f90=work))


def test_a_call_of_an_unrelated_procedure_of_the_file_is_excluded(tmp_path: Path) -> None:
    """Also behind other steps, after which the text has no removed lines any more."""
    other = "end subroutine step\n" + _REPORT.format(call=_CALL).replace("    use mpi\n", "")
    work = _WORK.format(before=_HALO).replace("end subroutine step\n", other)
    found = _outcome(tmp_path / "given", work, "", "")
    (change,) = found.changes
    after = change.after.decode()
    assert "asphalt_iallreduce" in after
    assert preprocessed(after, ["DETAILS"]) == preprocessed(work, ["DETAILS"])
