"""Why a transfer has no computation to overlap: what keeps its window empty."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from asphalt.config.passes import TRANSFERS, Pass
from asphalt.diagnostics.model import SiteReport
from asphalt.optimiser import unchanged_units
from asphalt.optimiser.blocking import NOT_MOVED
from asphalt.project import Project
from support.judging import SETTINGS

_UNIT = """\
program step
  use mpi
  implicit none
  integer, parameter :: n = 400
  integer :: left = MPI_PROC_NULL, right, comm
  real(8) :: a(n), b(n), c(n), t
  integer :: i, ierr, status(MPI_STATUS_SIZE)
{body}
end program step
"""
_FIRST = _UNIT[: _UNIT.index("{body}")].count("\n") + 1
_RECEIVE = "  call MPI_Recv(a, n, MPI_REAL8, left, 1, comm, MPI_STATUS_IGNORE, ierr)\n"
_SEND = "  call MPI_Send(b, n, MPI_REAL8, right, 2, comm, ierr)\n"


def _work(array: str, value: str = "0.5d0*i") -> str:
    return f"  do i = 1, n\n    {array}(i) = {array}(i) + {value}\n  end do\n"


def _told(tmp_path: Path, source: str, suffix: str = ".f90") -> tuple[SiteReport, ...]:
    path = tmp_path / f"step{suffix}"
    path.write_text(source)
    project = Project(tmp_path, settings=replace(SETTINGS, passes=TRANSFERS))
    return project.not_overlapped(project.transform())


_NEEDED = _work("a") + "  print *, a(1), c(1)"


@pytest.mark.parametrize(
    ("body", "line", "why"),
    [
        (
            _RECEIVE + "  t = MPI_Wtime()\n" + _work("c") + _NEEDED, 1,
            "the reading of a clock in line",
        ),
        (_RECEIVE + "  print *, t\n" + _work("c") + _NEEDED, 1, "the PRINT in line"),
        (
            _RECEIVE + "  call MPI_Comm_free(comm, ierr)\n" + _work("c") + _NEEDED,
            1,
            "mpi_comm_free in line",
        ),
        (
            _RECEIVE + "  call MPI_File_read(ierr, c, n, MPI_REAL8, status, ierr)\n"
            + _work("c") + _NEEDED,
            1,
            ", for messages may order how ranks access files",
        ),
        (_RECEIVE + _NEEDED, 2, "reads a"),
        (_work("b") + _SEND, -2, "defines b"),
        (_work("c") + "  t = MPI_Wtime()\n" + _SEND, -1, "the reading of a clock in line"),
        (
            "  if (left >= 0) then\n  " + _RECEIVE + "    t = MPI_Wtime()\n  end if\n" + _work("c"),
            1,
            "the reading of a clock in line",
        ),
        (
            "  if (left >= 0) then\n  " + _RECEIVE + "  else\n    print *, t\n  end if\n"
            + _work("c"),
            2,
            "the PRINT in line",
        ),
    ],
    ids=["timer", "output", "communicator", "file", "data", "sent-data", "before", "arm", "else"],
)  # fmt: skip
def test_statements_in_between_are_reported(tmp_path: Path, body: str, line: int, why: str) -> None:
    (report,) = _told(tmp_path, _UNIT.format(body=body))
    assert report.code == "ASP026"
    assert why in report.message
    call = next(n for n, text in enumerate(body.split("\n")) if "MPI_R" in text or "MPI_S" in text)
    assert f"line {_FIRST + call + line}" in report.message
    assert any(mark.line >= _FIRST and mark.role == "offending" for mark in report.marks)


def test_nothing_is_reported_where_there_is_nothing(tmp_path: Path) -> None:
    (report,) = _told(tmp_path, _UNIT.format(body=_RECEIVE + "  print *, a(1)"))
    assert report.message.endswith("that is worth it")


def test_work_that_could_come_beside_is_named(tmp_path: Path) -> None:
    """With what would let it, or that it does not pay."""
    (tmp_path / "step.f90").write_text(_UNIT.format(body=_RECEIVE + _work("c") + _NEEDED))
    loop = f"the loop of line {_FIRST + 1}"
    for passes, told in (
        (TRANSFERS, f"{loop} {NOT_MOVED}"),
        (("nonblocking",), f"{loop} might be overlapped with --passes fission,motion"),
    ):
        project = Project(tmp_path, settings=replace(SETTINGS, passes=passes))
        (report,) = project.not_overlapped(())
        assert report.message == f"no computation to overlap: {told}"


def test_what_is_received_counts(tmp_path: Path) -> None:
    """Work that only what is sent could come beside is no reason."""
    body = (
        "  call MPI_Sendrecv(b, n, MPI_REAL8, right, 2, a, n, MPI_REAL8, left, 2, comm, &\n"
        "    status, ierr)\n" + _work("c", "a(n+1-i)") + "  print *, c(1)"
    )
    (tmp_path / "step.f90").write_text(_UNIT.format(body=body))
    project = Project(tmp_path, settings=replace(SETTINGS, passes=TRANSFERS))
    (report,) = project.not_overlapped(())
    assert report.message.startswith(
        f"no computation to overlap: below, line {_FIRST + 3} reads a; "
    )


_TWO_SIDES = """
module planes
  use mpi
  implicit none
  integer, parameter :: n = 40
contains
  subroutine both(u, left, right)
    real(8), intent(inout) :: u(n,0:n+1)
    integer, intent(in) :: left, right
    integer :: ierr
    integer, save :: count = 0
    count = count + 1
    call MPI_Sendrecv(u(:,1), n, MPI_REAL8, left, 1, u(:,n+1), n, MPI_REAL8, right, 1, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call MPI_Sendrecv(u(:,n), n, MPI_REAL8, right, 2, u(:,{received}), n, MPI_REAL8, left, 2, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  end subroutine both
end module planes
subroutine step(u, left, right)
  use planes
  implicit none
  real(8), intent(inout) :: u(n,0:n+1)
  integer, intent(in) :: left, right
  call both(u, left, right)
end subroutine step
"""


@pytest.mark.parametrize(("received", "above"), [("0", None), ("n+1", "above, line 13 defines u")])
def test_only_the_parts_that_a_transfer_has_of_an_array_count(
    received: str, above: str | None, tmp_path: Path
) -> None:
    reports = _told(tmp_path, _TWO_SIDES.format(received=received))
    (second,) = (one for one in reports if one.line == 15)
    assert "both is not inlined" in second.message
    assert ("above" in second.message) == (above is not None)
    assert above is None or above in second.message


_HALO = """
subroutine halo(a, n, left, comm)
  use mpi
  implicit none
  integer, intent(in) :: n, left, comm
  real(8), intent(inout) :: a(n)
  integer :: ierr
  integer, save :: count = 0
  call MPI_Recv(a, n, MPI_REAL8, left, 1, comm, MPI_STATUS_IGNORE, ierr)
  count = count + 1
end subroutine halo
"""


def test_why_a_procedure_stays_at_its_call(tmp_path: Path) -> None:
    """The work of a caller would come beside the transfer, were it not for a variable it keeps."""
    body = "  call halo(a, n, left, comm)\n" + _work("c") + _NEEDED
    (report,) = _told(tmp_path, _UNIT.format(body=body) + _HALO)
    assert report.message.startswith("no computation to overlap: ")
    assert f"step.f90:{_FIRST}: halo is not inlined: " in report.message


def test_a_caller_in_another_language_is_told(tmp_path: Path) -> None:
    (tmp_path / "caller.c").write_text("void f() { halo_(); }\n")
    (report,) = _told(tmp_path, _HALO)
    assert "caller.c names halo in text that is not analysed" in report.message


_STAYS = """
subroutine halo(a, n, left, comm)
  use mpi
  implicit none
  integer, intent(in) :: n, left, comm
  real(8), intent(inout) :: a(n)
  integer :: ierr, i
  real(8), save :: sum = 0
  {first}
  call MPI_Recv(a, n, MPI_REAL8, left, 1, comm, MPI_STATUS_IGNORE, ierr)
  {last}
end subroutine halo
"""
_USED = "do i = 1, n\n    sum = sum + a(i)\n  end do"
_GIVEN = "do i = 1, n\n    a(i) = sum + i\n  end do"


@pytest.mark.parametrize(
    ("first", "last", "told"),
    [
        ("", _USED, True),  # its start could move out of the procedure
        (_GIVEN, "", True),  # its wait could
        (_GIVEN, _USED, False),  # neither, wherever the procedure stands
    ],
)
def test_calls_are_told_where_the_way_ends_with_the_procedure(
    first: str, last: str, told: bool, tmp_path: Path
) -> None:
    body = _work("c") + "  call halo(a, n, left, comm)\n" + _work("c") + _NEEDED
    reports = _told(tmp_path, _UNIT.format(body=body) + _STAYS.format(first=first, last=last))
    (report,) = (one for one in reports if one.operation == "MPI_Recv")
    assert ("halo is not inlined: sum is saved" in report.message) is told


@pytest.mark.parametrize(
    ("value", "told"),
    [("a(modulo(i*right, n) + 1)", False), ("c(i) + a(modulo(i*right, n) + 1)", True)],
)
def test_a_nest_that_only_copies_has_no_interior(value: str, told: bool, tmp_path: Path) -> None:
    copied = f"if (i > 3) then\n      b(i) = {value}\n    end if"
    nest = f"  do i = 1, n\n    right = right + 1\n    {copied}\n  end do\n"
    receives = (_RECEIVE, _RECEIVE.replace("Recv", "Irecv").replace("MPI_STATUS_IGNORE", "left"))
    for receive, wait in zip(receives, ("", "  call MPI_Wait(left, status, ierr)\n"), strict=True):
        (tmp_path / "step.f90").write_text(_UNIT.format(body=receive + wait + nest))
        project = Project(tmp_path, settings=replace(SETTINGS, passes=TRANSFERS))
        outcome = project.outcome()
        found = (*outcome.own, *project.not_overlapped((), outcome.tries))
        (report,) = (one for one in found if one.operation in ("MPI_Recv", "MPI_Irecv"))
        assert ("is not split into interior and edges" in report.message) is told
        assert (report.code == "ASP026") is not told


@pytest.mark.parametrize(
    ("buffer", "count", "use", "told"),
    [
        ("t", "1", "print *, t", False),
        ("t", "1", "do i = 1, n\n    b(i) = t + 1\n  end do", False),
        ("a", "n", "print *, a", False),
        ("a", "n", "b(1) = a(1) + a(2)", False),
        ("a", "n", "do i = 1, n\n    b(i) = a(1) + a(i)\n  end do", True),
    ],
)
def test_what_no_loop_uses_has_no_blocks(
    buffer: str, count: str, use: str, told: bool, tmp_path: Path
) -> None:
    body = (
        f"  comm = MPI_COMM_WORLD\n  call MPI_Init(ierr)\n  {buffer} = 1\n  print *, {buffer}\n"
        f"  call MPI_Bcast({buffer}, {count}, MPI_REAL8, 0, comm, ierr)\n  {use}\n  print *, b\n"
        + _work("c")
    )
    (report,) = _told(tmp_path, _UNIT.format(body=body))
    assert report.operation == "MPI_Bcast"
    assert ("is not decomposed" in report.message) is told
    assert (report.code == "ASP026") is not told


@pytest.mark.parametrize(
    ("use", "code", "told"),
    [
        ("t = t + c(i)", "ASP026", "above, line 9 defines t"),
        (
            "a(i) = c(i)",
            "ASP061",
            "above, the nest of line 8 is not split into interior and edges",
        ),
    ],
)
def test_a_nest_is_only_split_for_elements(use: str, code: str, told: str, tmp_path: Path) -> None:
    """A nest in which all iterations change what is sent has no interior, output or not."""
    nest = f"  do i = 1, n\n    {use}\n    if (c(i) > 2) print *, i\n  end do\n"
    sent = "t, 1" if code == "ASP026" else "a, 2"
    body = f"{nest}  call MPI_Send({sent}, MPI_REAL8, right, 2, comm, ierr)\n" + "  c(1) = 0\n"
    (tmp_path / "step.f90").write_text(_UNIT.format(body=body))
    project = Project(tmp_path, settings=replace(SETTINGS, passes=TRANSFERS))
    (report,) = project.not_overlapped((), project.outcome().tries)
    assert (report.operation, report.code) == ("MPI_Send", code)
    assert told in report.message
    assert report.message.count("PRINT") == (code == "ASP061")


def test_the_loop_of_a_region_that_needs_the_message_is_told(tmp_path: Path) -> None:
    loops = "".join(
        f"!$omp do\n  do i = 1, n\n    {work}\n  end do\n!$omp end do\n"
        for work in ("c(i) = c(i) + 1", "b(i) = c(i) + t")
    )
    body = f"  call MPI_Recv(t, 1, MPI_REAL8, left, 1, comm, MPI_STATUS_IGNORE, ierr)\n{_REGION}"
    (report,) = _told(tmp_path, _UNIT.format(body=body.format(loops=loops)))
    assert report.code == "ASP026"
    assert report.message == "no computation to overlap: below, line 17 reads t"


_REGION = "!$omp parallel\n{loops}!$omp end parallel\n  print *, b"


_NORM = """\
subroutine norm(r, n, total, most)
  use mpi
  implicit none
  integer, intent(in) :: n
  real(8), intent(in) :: r(n,n)
  real(8), intent(out) :: total, most
  real(8) :: s, all
  integer :: i, j, ierr
  s = 0
  most = 0
  do j = 2, n - 1
    do i = 2, n - 1
      s = s + r(i,j)**2
      if (r(i,j) > most) most = r(i,j)
    end do
  end do
  call MPI_Allreduce(most, all, 1, MPI_REAL8, MPI_MAX, MPI_COMM_WORLD, ierr)
  most = all
  total = sqrt(s)
end subroutine norm
program main
  use mpi
  implicit none
  real(8) :: r(200,200), total, most
  integer :: ierr
  call MPI_Init(ierr)
  r = 2
  call norm(r, 200, total, most)
  print *, total, most
  call MPI_Finalize(ierr)
end program main
"""


def test_a_nest_that_finds_a_scalar_has_no_interior(tmp_path: Path) -> None:
    (tmp_path / "norm.f90").write_text(_NORM)
    passes = (Pass.NONBLOCKING, Pass.MOTION, Pass.SPLITTING, Pass.PEELING)
    project = Project(tmp_path, settings=replace(SETTINGS, passes=passes))
    reports = project.not_overlapped((), project.outcome().tries)
    (report,) = (one for one in reports if one.operation == "MPI_Allreduce")
    assert report.message.endswith("above, line 14 defines most")
    assert report.code == "ASP026"


_WAVE = """\
program wave
  use mpi
  implicit none
  integer, parameter :: nx = 400, ny = 400
  integer :: i, j, west, east, ierr
  real(8) :: v(0:nx,0:ny), col(ny), out(ny)
  call MPI_Init(ierr)
  west = MPI_PROC_NULL
  east = MPI_PROC_NULL
  if (west /= MPI_PROC_NULL) then
    call MPI_Recv(col, ny, MPI_REAL8, west, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  else
    col = 0
  end if
  do j = 1, ny
    v(0,j) = col(j)
    do i = 1, nx
      v(i,j) = 0.5d0*(v(i-1,j) + v(i,j-1))
    end do
    out(j) = v(nx,j)
  end do
  if (east /= MPI_PROC_NULL) call MPI_Send(out, ny, MPI_REAL8, east, 1, MPI_COMM_WORLD, ierr)
  print *, sum(v)
  call MPI_Finalize(ierr)
end program wave
"""


def test_an_else_arm_in_front_of_a_wave(tmp_path: Path) -> None:
    receive, _ = _told(tmp_path, _WAVE)
    assert receive.code == "ASP068"
    assert "line 10: the IF construct around the message has another arm" in receive.message


_SHARED = """\
      subroutine step(w, n, left)
      include 'mpif.h'
      integer n, left
      real*8 w(n,n), got(1000)
      integer ierr, i, j, k, status(mpi_status_size)
      do 10 k = 1, 2
         call mpi_sendrecv(w, n, mpi_double_precision, left, 1,
     &        got, n, mpi_double_precision, left, 1,
     &        mpi_comm_world, status, ierr)
         do 10 j = 1, n
         do 10 i = 1, n
   10       w(i,j) = w(i,j)*2
      end
"""


def test_a_label_that_ends_the_loop_around_it(tmp_path: Path) -> None:
    (report,) = _told(tmp_path, _SHARED, ".f")
    assert "line 12 also ends the enclosing loop" in report.message


def test_nothing_of_a_procedure_with_an_error_is_changed(tmp_path: Path) -> None:
    unit = _UNIT.replace("left = MPI_PROC_NULL", "left")
    reports = _told(tmp_path, unit.format(body=_SEND + _RECEIVE + _work("c")))
    assert reports
    for report in reports:  # no rank sends what is received
        assert f"line {_FIRST + 1} has an error (" in report.message


def test_what_two_parsers_read_differently_is_not_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unchanged_units, "_disagreement", lambda *_: "line 3, say")
    (report,) = _told(tmp_path, _UNIT.format(body=_RECEIVE + _work("c")))
    assert report.message.endswith("its procedure is not transformed: line 3, say")


def test_an_assumption_is_needed_all_the_same(tmp_path: Path) -> None:
    """Who accepts it is not told that nothing here needs it."""
    body = "  call MPI_Allreduce(a, b, n, MPI_REAL8, MPI_SUM, comm, ierr)\n  print *, b(1)\n"
    (tmp_path / "step.f90").write_text(_UNIT.format(body=body))
    settings = replace(SETTINGS, passes=TRANSFERS, assume=frozenset({"bits"}))
    project = Project(tmp_path, settings=settings)
    (report,) = project.not_overlapped(project.transform())
    assert (report.verdict, report.assumptions, report.accepted) == (
        "refused",
        ("bits",),
        ("bits",),
    )


@pytest.mark.parametrize(
    ("first", "told"),
    [
        (
            "  b = 1; c = 2; t = me\n",
            "above, line 8 defines t",
        ),  # which several lines do not change
        (
            "  b = 1; t = 2; c = 1\n",
            "above, line 8 has several statements",
        ),  # c = 1 could be passed
    ],
)
def test_data_is_told_before_the_form_of_a_line(first: str, told: str, tmp_path: Path) -> None:
    sent = "  call MPI_Send(t, 1, MPI_REAL8, right, 2, comm, ierr)\n"
    report = _told(tmp_path, _UNIT.format(body=f"{first}{sent}  t = 0\n"))[-1]
    assert report.operation == "MPI_Send"
    assert told in report.message


_WRAPPER = """\
module wrappers
  use mpi
contains
  subroutine put(a, n, to)
    integer, intent(in) :: n, to
    real(8), intent(inout) :: a(n)
    integer :: ierr, length
{body}
    call MPI_Send(a, length, MPI_REAL8, to, 1, MPI_COMM_WORLD, ierr)
  end subroutine put
end module wrappers
program main
  use mpi
  use wrappers
  integer :: ierr
  real(8) :: b(10)
  call MPI_Init(ierr)
  b = 1
  call put(b, 10, MPI_PROC_NULL)
  print *, b(1)
  call MPI_Finalize(ierr)
end program main
"""


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("    if (to < 0) return\n    length = n", ": put contains none"),
        ("    length = n\n    a(1) = n", ": above, line 9 defines a"),
        ("    length = n\n    length = a(1)\n    a(2) = n", ": above, line 10 defines a"),
        ("    if (to < 0) print *, n\n    length = n", ": above, the PRINT in line 8"),
    ],
)
def test_the_way_up_in_a_wrapper(body: str, told: str, tmp_path: Path) -> None:
    """Where the procedure may return is no obstacle, nor what gives the start its arguments."""
    (tmp_path / "main.f90").write_text(_WRAPPER.format(body=body))
    project = Project(tmp_path, settings=replace(SETTINGS, passes=TRANSFERS))
    (report,) = project.not_overlapped((), project.outcome().tries)
    assert f"no computation to overlap{told}" in report.message


@pytest.mark.parametrize(
    ("last", "why"),
    [
        ("call move_alloc(w, u)", ", for the MOVE_ALLOC in line 17 may change them"),
        ("if (n == 3) deallocate (u)", ""),
    ],
)
def test_bounds_that_move_alloc_may_change(last: str, why: str, tmp_path: Path) -> None:
    text = """\
subroutine step(u, w, m, left, comm)
  use mpi
  implicit none
  integer, intent(in) :: m, left, comm
  real(8), allocatable :: u(:,:), w(:,:)
  real(8) :: c(m)
  integer :: i, n, ierr
  do n = 1, 3
    do i = 1, m
      c(i) = u(i,1)
    end do
    call MPI_Recv(u(1,0), m, MPI_REAL8, left, 1, comm, MPI_STATUS_IGNORE, ierr)
    do i = 1, m
      c(i) = c(i) + u(i,m)
    end do
    print *, c
    {last}
  end do
end subroutine step
"""
    (told,) = _told(tmp_path, text.replace("{last}", last))
    assert f"reads u, the bounds of which are not known{why};" in f"{told.message};"


def test_why_receives_of_a_loop_are_not_posted_before_it(tmp_path: Path) -> None:
    body = f"""\
  do j = 1, 9
    if (ranks(j) >= 0) then
      allocate (h(n))
      {_RECEIVE.strip().replace("(a,", "(h,").replace("left", "ranks(j)")}
      u(:,j) = h
      deallocate (h)
    end if
  end do
  print *, u
"""
    text = _UNIT.replace("i, ierr,", "i, j, ranks(9), ierr,").replace("c(n), t", "c(n), t, u(n,9)")
    text = text.replace("{body}", "  real(8), allocatable :: h(:)\n  ranks = left\n  u = 0\n{body}")
    (site,) = _told(tmp_path, text.format(body=body))
    assert site.code == "ASP085"
    assert "; the receives of its loop are not posted before the loop: the ALLOCATE" in site.message


def test_a_file_that_is_not_found_is_named(tmp_path: Path) -> None:
    body = _RECEIVE + "  include 'gone.inc'\n" + _work("c") + _NEEDED
    (tmp_path / "step.f90").write_text(_UNIT.format(body=body))
    settings = replace(SETTINGS, passes=TRANSFERS, assume=frozenset({"fatal"}))
    project = Project(tmp_path, settings=settings)
    (site,) = project.not_overlapped(project.transform())
    assert "the text of gone.inc is not analysed here" in site.message
