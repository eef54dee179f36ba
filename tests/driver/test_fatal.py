"""The assumption `fatal`: no error handler returns, so that tests of error codes are idle."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.effects import error_handlers
from asphalt.analysis.effects.procedure_effects import Effects
from asphalt.config.assumptions import folded
from asphalt.config.errors import InputError, UsageError
from asphalt.config.passes import TRANSFERS
from asphalt.config.settings import Settings
from asphalt.diagnostics.model import SiteReport
from asphalt.project import Project
from asphalt.report.project_reports import reports_after, reports_before
from asphalt.running.mpi import OPENMPI
from support.mpi_run import Mpi, installed, same_lines

_WORK = """\
module work
  use mpi
  implicit none
contains
  subroutine step(a, b, w, n, left, right)
    integer, intent(in) :: n, left, right
    real(8), intent(inout) :: a(n), b(n), w(n)
    integer :: ierr, i, file
{body}
    do i = 1, n
      w(i) = sqrt(w(i)) + 1
    end do
  end subroutine step
end module work
"""
_CHECK = "    if (ierr /= MPI_SUCCESS) call abort_with('work', ierr)\n"
_SENDRECV = f"""\
    call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, right, 1, b, n, MPI_DOUBLE_PRECISION, left, 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
{_CHECK}"""
_OWN = f"""\
    call MPI_Irecv(b, n, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, r(1), ierr)
{_CHECK}    call MPI_Isend(a, n, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, r(2), ierr)
{_CHECK}    call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, ierr)
{_CHECK}"""
_MAIN = """\
program main
  use mpi
  use work
  implicit none
  integer, parameter :: n = 2000
  integer :: ierr, me, np, k
  real(8) :: a(n), b(n), w(n)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  a = me
  w = 2
  do k = 1, 3
    call step(a, b, w, n, modulo(me - 1, np), modulo(me + 1, np))
    a = b + k
  end do
  print *, me, sum(a), sum(w)
  call MPI_Finalize(ierr)
end program main
"""
_ABORT = """\
subroutine abort_with(text, code)
  use mpi
  implicit none
  character(len=*), intent(in) :: text
  integer, intent(in) :: code
  integer :: ierr
  print *, text, code
  call MPI_Abort(MPI_COMM_WORLD, code, ierr)
end subroutine abort_with
"""


def _work(body: str) -> str:
    declared = "file, other, r(2); integer, allocatable :: spare(:)\n"
    return _WORK.format(body=body).replace("file\n", declared)


def _project(folder: Path, files: dict[str, str], *accepted: str) -> Project:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    own = Settings(cache=False, jobs=1, passes=tuple(TRANSFERS), assume=frozenset(accepted))
    return Project(folder, settings=own)


def _reports(folder: Path, files: dict[str, str], *accepted: str) -> tuple[SiteReport, ...]:
    return reports_before(_project(folder, files, *accepted))


@pytest.mark.parametrize("body", [_SENDRECV, _OWN])
def test_it_is_suggested_where_it_would_help(body: str, tmp_path: Path) -> None:
    for report in _reports(tmp_path, {"work.f90": _work(body)}):
        assert (report.verdict, report.code) == ("assumed", "ASP020")
        assert report.assumptions == ("fatal",)
        assert "overlaps with do i = 1, n, where no error handler returns" in report.message


@pytest.mark.parametrize("body", [_SENDRECV, _OWN])
def test_it_opens_a_tree(body: str, tmp_path: Path) -> None:
    project = _project(tmp_path, {"work.f90": _work(body)}, "fatal")
    outcome = project.outcome()
    reports = reports_after(project, outcome)
    assert reports
    assert {report.verdict for report in reports} == {"applied"}
    assert all(report.accepted == ("fatal",) for report in reports)
    (change,) = outcome.changes
    assert b"call abort_with" in change.after


def test_the_reader_and_the_unseen_call_are_named(tmp_path: Path) -> None:
    files = {"work.f90": _work(_SENDRECV), "main.f90": _MAIN}
    (report,) = _reports(tmp_path, files)
    assert report.verdict == "assumed"
    assert "line 11 reads its error code" in (report.witness or "")
    assert "what abort_with does is not known" in (report.witness or "")
    assert "work.f90:11)" in (report.witness or "")
    assert any(mark.role == "use" and mark.line == 11 for mark in report.marks)


def test_an_error_of_its_own_comes_before_the_reading_of_codes(tmp_path: Path) -> None:
    """What gets the code of a call with an argument too many is not known, so that it reads `ierr`
    perhaps.  Its owner has to mend the call; no assumption replaces that."""
    more = "    call MPI_Send(w, 1, MPI_REAL8, left, 9, MPI_COMM_WORLD, file, ierr)\n"
    body = _SENDRECV.replace(_CHECK, more)
    work = _work(body).replace("  use mpi\n  implicit none", "  implicit none\n  include 'mpif.h'")
    reports = _reports(tmp_path, {"work.f90": work, "main.f90": _MAIN})
    (report,) = (one for one in reports if one.operation == "MPI_Sendrecv")
    assert report.message == "its procedure is not transformed: line 11 has an error (ASP038)"
    assert (report.verdict, report.assumptions) == ("refused", ())


_UNKNOWN = """\
program main
  use constants
  implicit none
  include 'mpif.h'
  integer :: n, code
  real(8) :: a(40), b(40)
  call MPI_Init(code)
  n = 40
  a = 1
  call step(1, 1)
  call MPI_Finalize(code)
contains
  subroutine step(left, right)
    integer :: left, right
    call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, right, 1, b, n, MPI_DOUBLE_PRECISION, left, 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
  end subroutine step
end program main
"""


def test_a_module_that_is_not_given_is_the_reason(tmp_path: Path) -> None:
    """Where an MPI call may be of a module that is not among the files, this is what is told, not
    the reading of its error code."""
    (report,) = _reports(tmp_path / "away", {"main.f90": _UNKNOWN})
    assert report.code == "ASP007"
    assert "module constants is not among the given files" in report.message
    given = "module constants\n  real(8) :: pi = 3\nend module constants\n"
    (report,) = _reports(tmp_path / "given", {"main.f90": _UNKNOWN, "constants.f90": given})
    assert (report.code, report.assumptions) == ("ASP026", ())


def test_a_whole_program_needs_no_assumption(tmp_path: Path) -> None:
    files = {"work.f90": _work(_SENDRECV), "main.f90": _MAIN, "abort.f90": _ABORT}
    (report,) = _reports(tmp_path, files)
    assert (report.verdict, report.assumptions) == ("proved", ())
    (report,) = _reports(tmp_path, files, "fatal")
    assert (report.verdict, report.assumptions) == ("proved", ())


_HANDLER = "subroutine h\n  use mpi\n  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, {}, i)\nend\n"
_IN_C = "void quiet(void) { MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN); }\n"
_FATAL_IN_C = _IN_C.replace("RETURN", "ARE_FATAL")
_UNREAD = """\
subroutine cannot_be_read
  end do
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, &
                               MPI_ERRORS_ARE_FATAL, ierr)
"""


@pytest.mark.parametrize(
    "more",
    [
        {"handler.f90": _HANDLER.format("MPI_ERRORS_RETURN")},
        {"handler.f90": _HANDLER.format("MPI_ERRORS_ARE_FATAL + 1")},
        {
            "handler.f90": _HANDLER.format("MPI_ERRORS_ARE_FATAL")
            + _HANDLER.replace("h\n", "g\n", 1).format("mine")
        },
        {"handler.c": _IN_C},
        {"handler.c": _IN_C.replace("Errhandler_set", "Comm_set_errhandler")},
        {"handler.c": _FATAL_IN_C + _IN_C},
        {"handler.c": _FATAL_IN_C.replace("FATAL", "FATAL + 0")},
        {"handler.c": "int (*set)() = MPI_Errhandler_set;\n" + _FATAL_IN_C},
        {"handler.F90": _UNREAD + "  include 'more.inc'\nend\n", "more.inc": "  x = 1\n"},
    ],
)
def test_it_is_rejected_where_a_handler_is_set(more: dict[str, str], tmp_path: Path) -> None:
    for accepted in ((), ("fatal",)):
        files = {"work.f90": _work(_SENDRECV), **more}
        (report,) = _reports(tmp_path, files, *accepted)
        assert (report.verdict, report.code) == ("refused", "ASP020")
        assert next(iter(more)) in report.message


@pytest.mark.parametrize(
    "fatal",
    [
        {"handler.f90": _HANDLER.format("MPI_Errors_are_fatal")},
        {"handler.c": _FATAL_IN_C},
        {"handler.F90": _UNREAD + "end\n"},
    ],
)
def test_handlers_that_end_the_program_are_no_obstacle(
    fatal: dict[str, str], tmp_path: Path
) -> None:
    whole = {"work.f90": _work(_SENDRECV), "main.f90": _MAIN, "abort.f90": _ABORT}
    (report,) = _reports(tmp_path, {**whole, **fatal})
    assert (report.verdict, report.assumptions) == ("proved", ())


_OF_FILES = """\
subroutine watch_files(handler)
  use mpi
  external :: handler
  integer :: own, ierr
  call MPI_File_create_errhandler(handler, own, ierr)
  call MPI_{}_set_errhandler({}, own, ierr)
end subroutine watch_files
"""


def test_a_handler_of_files_gets_no_other_errors(tmp_path: Path) -> None:
    watch = _OF_FILES.format("File", "MPI_FILE_NULL")
    (report,) = _reports(tmp_path, {"work.f90": _work(_SENDRECV), "watch.f90": watch}, "fatal")
    assert (report.verdict, report.assumptions) == ("proved", ("fatal",))


@pytest.mark.parametrize(("object", "handle"), [("Comm", "MPI_COMM_WORLD"), ("Win", "win")])
def test_set_elsewhere_it_may_get_them(object: str, handle: str, tmp_path: Path) -> None:
    watch = _OF_FILES.format(object, handle)
    (report,) = _reports(tmp_path, {"work.f90": _work(_SENDRECV), "watch.f90": watch}, "fatal")
    assert (report.verdict, report.code) == ("refused", "ASP020")
    assert f"watch.f90:6 calls MPI_{object}_set_errhandler" in report.message


@pytest.mark.parametrize(
    "set_by",
    [
        # codes that MPI's error handlers do not decide about
        "    open(newunit=file, file='in.dat', status='old', iostat=ierr)\n",
        "    call MPI_File_open(MPI_COMM_SELF, 'in', 0, MPI_INFO_NULL, file, ierr)\n",
        "    deallocate(spare, stat=ierr)\n",
        "    call check(file, ierr)\n",
        "    ierr = n\n",
    ],
)
def test_other_codes_are_tested(set_by: str, tmp_path: Path) -> None:
    start = "    call MPI_Irecv(b, n, MPI_REAL8, left, 1, MPI_COMM_WORLD, r(1), other)\n"
    wait = "    call MPI_Wait(r(1), MPI_STATUS_IGNORE, other)\n"
    body = _work(f"{set_by}{start}{wait}{_CHECK}")
    (report,) = _reports(tmp_path, {"work.f90": body}, "fatal")
    assert report.verdict == "refused"
    assert "below, a call with unknown effects in line 12 (abort_with)" in report.message


def test_it_holds_for_the_whole_program_only(tmp_path: Path) -> None:
    assert folded("FATAL") == "fatal"
    with pytest.raises(UsageError, match="holds for the whole program only"):
        folded("fatal@step:10")
    directed = _work(f"    !$asphalt assume(fatal)\n{_SENDRECV}")
    with pytest.raises(InputError, match="holds for the whole program"):
        _reports(tmp_path, {"work.f90": directed})


@pytest.mark.parametrize("mpi", installed(OPENMPI))
@pytest.mark.parametrize("body", [_SENDRECV, _OWN])
def test_it_runs(body: str, mpi: Mpi, tmp_path: Path) -> None:
    whole = _work(body) + _MAIN + _ABORT.replace("  print", "  call unseen\n  print")
    more = "subroutine unseen\nend subroutine unseen\n"
    project = _project(tmp_path / "in", {"main.f90": whole}, "fatal")
    (change,) = project.outcome().changes
    same_lines(mpi, tmp_path, whole + more, change.after + more.encode())


def test_whether_errors_are_fatal_is_asked_once_for_all_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Effects] = []

    def seen(effects: Effects) -> str | None:
        asked.append(effects)
        return whole(effects)

    whole = error_handlers.why_not_closed_but_for_libraries
    monkeypatch.setattr(error_handlers, "why_not_closed_but_for_libraries", seen)
    files = {"work.f90": _work(_SENDRECV), "main.f90": _MAIN, "abort.f90": _ABORT}
    outcome = _project(tmp_path, files).outcome()
    assert outcome.changes
    assert sum(len(one.steps) for one in outcome.procedures) > 1
    assert asked
    assert all(effects.given is None for effects in asked)
