"""What directives, and assumptions for one line, say of transfers and collective operations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from asphalt.config.errors import UsageError
from asphalt.config.passes import TRANSFERS
from asphalt.project import Project
from asphalt.report.project_reports import reports_before
from support.judging import SETTINGS

_UNIT = """\
{before}program shift
  use mpi
  implicit none{declared}
  integer, parameter :: n = 800000
  integer :: i, left, ierr, request
  real(8) :: a(n), b(n), mine, total
  call MPI_Init(ierr)
  left = merge(MPI_PROC_NULL, 0, ierr > 0)
  mine = 1
{body}
  do i = 1, n
    b(i) = sqrt(dble(i))
  end do
  print *, total, b(1), a(1)
  call MPI_Finalize(ierr)
end program shift
"""
_FIRST = 10  # the line of the body
_RECEIVE = "  call MPI_Recv(a, n, MPI_REAL8, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)"
_REDUCE = "  call MPI_Allreduce(mine, total, 1, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD, ierr)"


def _project(
    path: Path, body: str, *accepted: str, declared: str = "", before: str = ""
) -> Project:
    path.write_text(_UNIT.format(body=body, declared=declared, before=before))
    settings = replace(SETTINGS, passes=TRANSFERS, assume=frozenset(accepted))
    return Project(path.parent, settings=settings)


def _after(project: Project) -> str:
    return "".join(change.after.decode() for change in project.transform())


@pytest.mark.parametrize(
    "where", [{"body": "  !$asphalt skip\n"}, {"declared": "\n  !$asphalt skip"},
              {"before": "!$asphalt skip\n"}]
)  # fmt: skip
def test_skip_leaves_a_transfer_as_it_is(tmp_path: Path, where: dict[str, str]) -> None:
    body = where.pop("body", "") + _RECEIVE
    project = _project(tmp_path / "shift.f90", body, **where)
    assert project.transform() == ()
    (report,) = reports_before(project)
    assert (report.verdict, report.code) == ("skipped", "ASP006")
    assert project.remarks == ()
    assert "asphalt_irecv" in _after(_project(tmp_path / "shift.f90", _RECEIVE))


def test_what_completes_a_skipped_transfer_stays(tmp_path: Path) -> None:
    start = _RECEIVE.replace("Recv", "Irecv").replace("MPI_STATUS_IGNORE", "request")
    wait = "\n  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)"
    assert _after(_project(tmp_path / "shift.f90", start + wait)) != ""
    assert _after(_project(tmp_path / "shift.f90", f"  !$asphalt skip\n{start}{wait}")) == ""


def test_a_skipped_procedure_stays_at_its_call(tmp_path: Path) -> None:
    halo = f"""
subroutine halo(a, n, left)
  use mpi
  implicit none
  SKIP
  integer, intent(in) :: n, left
  real(8), intent(inout) :: a(n)
  integer :: ierr
{_RECEIVE}
end subroutine halo
"""
    (tmp_path / "halo.f90").write_text(halo.replace("SKIP", "!"))
    assert "of halo.f90 stands here" in _after(
        _project(tmp_path / "shift.f90", "  call halo(a, n, left)")
    )
    (tmp_path / "halo.f90").write_text(halo.replace("SKIP", "!$asphalt skip"))
    assert _after(_project(tmp_path / "shift.f90", "  call halo(a, n, left)")) == ""


@pytest.mark.parametrize("how", ["bits", f"bits@shift:{_FIRST}", "line", "unit"])
def test_other_digits_are_accepted(tmp_path: Path, how: str) -> None:
    """By an option, for all or for one line, or by a directive; the code says so."""
    body = f"  !$asphalt assume(bits)\n{_REDUCE}" if how == "line" else _REDUCE
    declared = "\n  !$asphalt assume(bits)" if how == "unit" else ""
    accepted = (how,) if how.startswith("bits") else ()
    after = _after(_project(tmp_path / "shift.f90", body, *accepted, declared=declared))
    assert "asphalt_iallreduce" in after
    assert "  ! asphalt: assumed: bits\n" in after
    (report,) = reports_before(_project(tmp_path / "shift.f90", body, *accepted, declared=declared))
    assert report.accepted == ("bits",)


def test_only_the_line_that_is_named(tmp_path: Path) -> None:
    """Lines are those of the source as it was given, whatever was done to it before."""
    work = "\n  do i = 1, n\n    b(i) = sqrt(b(i))\n  end do\n  print *, total\n"
    body = _RECEIVE + work + _REDUCE + work + _REDUCE
    line = _FIRST + body[: body.rindex(_REDUCE)].count("\n")
    after = _after(_project(tmp_path / "shift.f90", body, f"bits@shift:{line}"))
    assert "asphalt_irecv" in after
    assert after.count("call asphalt_iallreduce") == 1
    assert after.index(_REDUCE) < after.index("call asphalt_iallreduce")
    assert _after(_project(tmp_path / "shift.f90", _REDUCE, "bits@shift:3")) == ""


def test_a_line_of_a_procedure_that_is_inlined(tmp_path: Path) -> None:
    total = f"""
subroutine total_of(a, n, left, mine, total)
  use mpi
  implicit none
  integer, intent(in) :: n, left
  real(8), intent(inout) :: a(n)
  real(8), intent(in) :: mine
  real(8), intent(out) :: total
  integer :: ierr
{_RECEIVE}
{_REDUCE}
end subroutine total_of
"""
    (tmp_path / "total.f90").write_text(total)
    call = "  call total_of(a, n, left, mine, total)"
    assert _after(_project(tmp_path / "shift.f90", call, "bits@total_of:10")) == ""
    after = _after(_project(tmp_path / "shift.f90", call, "bits@total_of:11"))
    assert "call asphalt_iallreduce" in after


def test_a_line_behind_what_was_inlined(tmp_path: Path) -> None:
    """What stands on the line only since statements were inlined in front of it is not meant."""
    halo = f"""
subroutine halo(a, n, left)
  use mpi
  implicit none
  integer, intent(in) :: n, left
  real(8), intent(inout) :: a(n)
  integer :: ierr
{_RECEIVE}
end subroutine halo
"""
    work = "  do i = 1, n\n    b(i) = b(i) + sqrt(dble(i))\n  end do\n"
    head = f"""
subroutine both(mine, total, other, n)
  use mpi
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: mine, total, other
  integer :: i, ierr
  real(8) :: b(n)
{_REDUCE}
{work}"""
    second = _REDUCE.replace("mine, total", "total, other")
    tail = f"{second}\n{work}  print *, b(1), other\nend subroutine both\n"
    body = "  call halo(a, n, left)"
    begin = _UNIT.format(body=body, declared="", before="") + halo
    begin = begin.replace(
        "  print *, total", "  ierr = 0; call both(mine, total, a(1), n)\n  print *"
    )

    def text(blank: int, accepted: frozenset[str] = frozenset()) -> str:
        (tmp_path / "shift.f90").write_text(begin + head + "\n" * blank + tail)
        settings = replace(SETTINGS, passes=TRANSFERS, assume=accepted)
        return _after(Project(tmp_path, settings=settings))

    moved = text(0).split(_REDUCE)[0].count("\n") + 1
    blank = moved - (begin + head).count("\n") - 1
    assert blank >= 0
    after = text(blank, frozenset({f"bits@both:{moved}"}))
    assert (tmp_path / "shift.f90").read_text().splitlines()[moved - 1] == second
    assert "call asphalt_irecv" in after
    assert _REDUCE in after
    assert second not in after


_CALLED = f"""
{{before}}subroutine total_of(a, n, left, mine, total)
  use mpi
  implicit none
  integer, intent(in) :: n, left
  real(8), intent(inout) :: a(n)
  real(8), intent(in) :: mine
  real(8), intent(out) :: total
  integer :: ierr
{_REDUCE}
{_RECEIVE}
end subroutine total_of
"""


@pytest.mark.parametrize("by", ["caller", "called"])
def test_declarations_are_about_the_calls_that_stand_below_them(tmp_path: Path, by: str) -> None:
    """Wherever those come to be: what is inlined is not accepted by the declarations of its new
    place, and still is by those of its old one."""
    before = "!$asphalt assume(bits)\n" if by == "called" else ""
    (tmp_path / "total.f90").write_text(_CALLED.format(before=before))
    declared = "\n  !$asphalt assume(bits)" if by == "caller" else ""
    own = _REDUCE.replace("total", "a(n)") + "\n  call total_of(a, n, left, mine, total)"
    project = _project(tmp_path / "shift.f90", own, declared=declared)
    after = _after(project)
    assert after.count("of total.f90 stands here") == 1
    assert after.count("call asphalt_irecv") == 1
    assert after.count("call asphalt_iallreduce") == (by == "called")
    reports = {Path(r.file).name: r for r in reports_before(project) if r.operation[:5] == "MPI_A"}
    assert reports["total.f90"].accepted == (("bits",) if by == "called" else ())
    assert reports["shift.f90"].accepted == (() if by == "called" else ("bits",))


def test_stores_before_a_skipped_receive_are_not_reported(tmp_path: Path) -> None:
    stored = "  a = 0\n"
    receive = _RECEIVE.replace("left", "MPI_PROC_NULL")
    (told,) = _project(tmp_path / "shift.f90", stored + receive).kept_stores()
    assert told.code == "ASP074"
    skipped = f"{stored}  !$asphalt skip\n{receive}"
    assert _project(tmp_path / "shift.f90", skipped).kept_stores() == ()


def test_a_line_of_two_procedures_is_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        module = f"module {name}\ncontains\n{_CALLED.format(before='')}end module {name}\n"
        (tmp_path / f"{name}.f90").write_text(module)
    line = module[: module.index(_REDUCE)].count("\n") + 1
    settings = replace(SETTINGS, passes=TRANSFERS, assume=frozenset({f"bits@total_of:{line}"}))
    for ask in (Project.transform, Project.sites):
        with pytest.raises(UsageError, match=r"one\.f90:4 and .*two\.f90:4 have this line"):
            ask(Project(tmp_path, settings=settings))
    (tmp_path / "two.f90").write_text("\n" * 20 + module)
    assert Project(tmp_path, settings=settings).sites() == ()
