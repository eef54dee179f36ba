"""What is told of a transfer is told of the line where it stands in what the user wrote."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from asphalt.config.passes import TRANSFERS
from asphalt.config.settings import Settings
from asphalt.project import Project
from support.mpi_run import RUNTIME

HALO = """\
subroutine halo(u, n, left, right)
  use mpi
  implicit none
  integer, intent(in) :: n, left, right
  real(8), intent(inout) :: u(0:n+1)
  integer :: ierr, status(MPI_STATUS_SIZE)
  call MPI_Send(u(n), 1, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, ierr)
  call MPI_Recv(u(0), 1, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, status, ierr)
end subroutine halo
"""
MAIN = """\
program main
  use mpi
  {more}
  implicit none
  integer, parameter :: n = 100000
  real(8) :: u(0:n+1), v(n)
  integer :: me, np, i, k, ierr, left, right
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  left = MPI_PROC_NULL
  right = MPI_PROC_NULL
  if (me > 0) left = me - 1
  if (me < np - 1) right = me + 1
  u = me
  v = 1
  do k = 1, 20
    call halo(u, n, left, right)
    do i = 1, n
      v(i) = v(i)*0.5d0 + k
    end do
    u(1) = u(1) + u(0)
  end do
  print *, me, u(1), sum(v)
  call MPI_Finalize(ierr)
end program main
"""
SETTINGS = replace(
    Settings(cache=False, jobs=1), passes=("inline", "nonblocking", "motion", "branches")
)


def _told(folder: Path, files: dict[str, str]) -> list[tuple[str, int, str, str]]:
    for name, text in files.items():
        (folder / name).write_text(text)
    changes = Project(folder, settings=SETTINGS).transform()
    assert [change.path.name for change in changes] == ["main.f90"]
    return [
        (Path(site.file).name, site.line, site.operation, site.message)
        for change in changes
        for site in change.sites
    ]


def test_transfers_of_another_file(tmp_path: Path) -> None:
    found = _told(tmp_path, {"halo.f90": HALO, "main.f90": MAIN.format(more="")})
    assert found == [
        ("halo.f90", 7, "MPI_Send", "overlaps with do i = 1, n, in main"),
        ("halo.f90", 8, "MPI_Recv", "overlaps with do i = 1, n, in main"),
    ]


def _does(folder: Path, files: dict[str, str], passes: tuple[str, ...]) -> list[str]:
    """What the steps do to the main program."""
    for name, text in files.items():
        (folder / name).write_text(text)
    settings = replace(SETTINGS, passes=passes)
    (change,) = Project(folder, settings=settings).transform()
    return [step.does for step in change.sites[-1].steps]


def test_steps_name_the_lines_of_the_source(tmp_path: Path) -> None:
    """Each is found in a text that those before it have left, with other lines; the starts and
    waits that one makes are told by the call that they are of."""
    files = {"halo.f90": HALO, "main.f90": MAIN.format(more="")}
    halo = tmp_path / "halo.f90"
    assert _does(tmp_path, files, SETTINGS.passes) == [
        "halo (halo.f90) is inlined at its call in line 18",
        f"MPI_Send of {halo}:7 becomes a start and a wait",
        f"MPI_Recv of {halo}:8 becomes a start and a wait",
        f"the wait of {halo}:8 goes behind line 19",
        f"the wait of {halo}:7 goes behind line 19",
    ]


def test_transfers_of_another_unit(tmp_path: Path) -> None:
    """What is in front of the procedure has other lines when others are inlined there."""
    found = _told(tmp_path, {"main.f90": MAIN.format(more="") + HALO})
    first = MAIN.count("\n")
    assert [(line, message[-7:]) for _, line, _, message in found] == [
        (first + 7, "in main"),
        (first + 8, "in main"),
    ]


def test_a_procedure_whose_calls_are_inlined_stays(tmp_path: Path) -> None:
    """Nobody comes there any more: it is left as it is."""
    files = {"halo.f90": HALO.replace("end subroutine", "u(1:9) = 2*u(1:9)\nend subroutine")}
    _told(tmp_path, {**files, "main.f90": MAIN.format(more="")})


def test_a_module_that_is_not_there_is_named(tmp_path: Path) -> None:
    """Anything may be volatile that a module declares which nobody sees."""
    text = MAIN.format(more="use somewhere").replace("u(0:n+1), v(n)", "v(n)")
    call = (
        "call MPI_Recv(u, 1, MPI_DOUBLE_PRECISION, left, 1, &\n"
        "      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)"
    )
    text = text.replace("call halo(u, n, left, right)", call)
    (tmp_path / "main.f90").write_text(text)
    reports = Project(tmp_path, settings=SETTINGS).kept_blocking()
    (message,) = {report.message for report in reports if report.operation == "MPI_Recv"}
    assert message.endswith("u: it may be volatile: module somewhere is not among the given files")


def test_what_mpif_declares_is_seen_beside_a_module_that_is_not_there(tmp_path: Path) -> None:
    """No module can give a name that is declared here; of other names, one may."""
    text = MAIN.format(more="use somewhere").replace("u(0:n+1), v(n)", "u(0:n+1), v(n)")
    text = text.replace("  use mpi\n", "").replace(
        "implicit none", "implicit none\n  include 'mpif.h'"
    )
    call = (
        "call MPI_Recv(u, n, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, &\n"
        "      MPI_STATUS_IGNORE, ierr)"
    )
    for datatype, seen in (("MPI_DOUBLE_PRECISION", True), ("MPI_FIELD", False)):
        own = text.replace("call halo(u, n, left, right)", call)
        (tmp_path / "main.f90").write_text(own.replace("MPI_DOUBLE_PRECISION", datatype))
        reports = Project(tmp_path, settings=SETTINGS).kept_blocking()
        messages = {report.message for report in reports if report.operation == "MPI_Recv"}
        assert (not any("somewhere" in message for message in messages)) is seen, messages


def test_transfers_behind_what_another_pass_made(tmp_path: Path) -> None:
    """Where an exchange has been prepushed, the lines of transfers are still those given."""
    text = """\
module grid
  implicit none
  integer, parameter :: n = 24, q = 240
end module grid
subroutine trans(u, left, comm)
  use mpi
  use grid
  implicit none
  real(8), intent(inout) :: u(0:q,n)
  integer, intent(in) :: left, comm
  real(8) :: s(q,n), r(q,n), west(n)
  integer :: i, j, np, ierr, status(MPI_STATUS_SIZE)
  call MPI_Comm_size(comm, np, ierr)
  do j = 1, n
    do i = 1, q
      s(i,j) = u(i,j)*2 + j
    end do
  end do
  call MPI_Alltoall(s, q*n/np, MPI_DOUBLE_PRECISION, r, q*n/np, MPI_DOUBLE_PRECISION, comm, ierr)
  do j = 1, n
    do i = 1, q
      u(i,j) = r(i,j)
    end do
  end do
  if (left /= MPI_PROC_NULL) then
    call MPI_Recv(west, n, MPI_DOUBLE_PRECISION, left, 1, comm, status, ierr)
    do j = 1, n
      u(0,j) = west(j)
    end do
  end if
end subroutine trans
program main
  use mpi
  use grid
  implicit none
  real(8) :: u(0:q,n)
  integer :: me, np, left, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  left = merge(me - 1, MPI_PROC_NULL, me > 0)
  u = me
  if (me < np - 1) then
    call MPI_Send(u, n, MPI_DOUBLE_PRECISION, me + 1, 1, MPI_COMM_WORLD, ierr)
  end if
  call trans(u, left, MPI_COMM_WORLD)
  print *, sum(u)
  call MPI_Finalize(ierr)
end program main
"""
    (tmp_path / "main.f90").write_text(text)
    settings = replace(SETTINGS, passes=("all",))
    (change,) = Project(tmp_path, settings=settings).transform()
    assert [(site.line, site.operation, site.verdict) for site in change.sites] == [
        (19, "MPI_Alltoall", "applied"),
        (26, "MPI_Recv", "applied"),
    ]
    does = [step.does for step in change.sites[1].steps]
    assert "MPI_Recv of line 26 becomes a start and a wait" in does
    assert all("line 2" in text for text in does)  # 20 to 29


ALONE = """\
program main
  use mpi
  implicit none
  integer, parameter :: n = 4000
  integer :: ierr, step, i
  real(8) :: w(n), d, g
  call MPI_Init(ierr)
  d = 1
  w = 1
  do step = 1, 20
    call MPI_Allreduce(d, g, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
    do i = 1, n
      w(i) = sqrt(w(i) + i)
    end do
    d = d + g
  end do
  print *, d, sum(w)
  call MPI_Finalize(ierr)
end program main
"""


def test_the_runtime_beside_it_changes_nothing(tmp_path: Path) -> None:
    """Its own collective operations are none that a program's could meet."""
    runtime = {source.name: source.read_text() for source in RUNTIME}
    found = _told(tmp_path, {"main.f90": ALONE, **runtime})
    assert found == [("main.f90", 11, "MPI_Allreduce", "overlaps with do i = 1, n")]


_TWO_MAIN = """\
program main
  use mpi
  use halo
  implicit none
  real(8) :: u(n, 0:n + 1), v(n, 0:n + 1), w(n, n), x(n, n)
  integer :: me, np, ierr, k
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  left = modulo(me - 1, np)
  right = modulo(me + 1, np)
  u = me + 1
  v = 2*me
  w = 0
  x = 0
  do k = 1, 3
    call step(u, v, w, x)
  end do
  print '(i0, 2z17)', me, sum(w), sum(x)
  call MPI_Finalize(ierr)
end program main
"""
_TWO_HALO = """\
module halo
  implicit none
  integer, parameter :: n = 400
  integer :: left, right
contains
#ifdef TRACED
  subroutine traced
    print *, left
    print *, right
  end subroutine traced
#endif
  subroutine step(u, v, w, x)
    real(8), intent(inout) :: u(n, 0:n + 1), v(n, 0:n + 1), w(n, n), x(n, n)
    call first(u, w)
    call second(v, x)
  end subroutine step
  subroutine swap(u)
    use mpi
    real(8), intent(inout) :: u(n, 0:n + 1)
    integer :: ierr
    call MPI_Sendrecv(u(1, n), n, MPI_DOUBLE_PRECISION, right, 1, u(1, 0), n, &
                      MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call MPI_Sendrecv(u(1, 1), n, MPI_DOUBLE_PRECISION, left, 2, u(1, n + 1), n, &
                      MPI_DOUBLE_PRECISION, right, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  end subroutine swap
  subroutine first(u, w)
    real(8), intent(inout) :: u(n, 0:n + 1), w(n, n)
    integer :: i, j
    call swap(u)
    do j = 1, n
      do i = 1, n
        w(i, j) = w(i, j) + sqrt(u(i, j - 1) + u(i, j + 1))
      end do
    end do
  end subroutine first
  subroutine second(u, w)
    real(8), intent(inout) :: u(n, 0:n + 1), w(n, n)
    integer :: i, j
    do j = 1, n
      do i = 1, n
        w(i, j) = w(i, j) + 1
      end do
    end do
    call swap(u)
    do j = 1, n
      do i = 1, n
        w(i, j) = w(i, j) + sqrt(u(i, j - 1) + u(i, j + 1))
      end do
    end do
  end subroutine second
end module halo
"""


def test_lines_of_procedures_that_are_compared_with_others_as_they_would_become(
    tmp_path: Path,
) -> None:
    """To compare, the second procedure is optimised in the text that the first one would get; the
    preprocessor removes lines in front of both."""
    files = {"halo.F90": _TWO_HALO, "main.f90": _TWO_MAIN}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    settings = replace(SETTINGS, passes=TRANSFERS, one_configuration=True)
    (change,) = Project(tmp_path, settings=settings).transform()
    sent = [n for n, line in enumerate(_TWO_HALO.splitlines(), 1) if "call MPI_Sendrecv" in line]
    assert sorted({site.line for site in change.sites}) == sent
    assert {Path(site.file).name for site in change.sites} == {"halo.F90"}
