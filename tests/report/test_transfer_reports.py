"""What is told of transfers does not mislead: losses that belong to a gain, stores that are no
calls, advice that was followed already, procedures that are left alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from asphalt.cli.main import main
from asphalt.cli.unchanged import missing_passes, why_unchanged
from asphalt.config.passes import PASSES
from asphalt.diagnostics.model import (
    DroppedReport,
    GainReport,
    ProcedureReport,
    SiteReport,
    StepReport,
    store_before,
)
from asphalt.report.steps import procedure_lines
from asphalt.report.text import summary

_QUIET = ["--no-cache", "--jobs", "1", "--passes", "transfers"]
_RING = """\
program ring
  use mpi
  implicit none
  integer, parameter :: n = 1000
  integer :: ierr, me, np, i, one, two
  real(8) :: a(n), b(n), c(n)
  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
{body}
  print *, sum(b), sum(c)
  call MPI_Finalize(ierr)
end program ring
"""
_EXCHANGE = """\
subroutine ring(a, b, n, to, from)
  use mpi
  integer :: n, to, from, ierr
  real(8) :: a(n), b(n)
  call MPI_Sendrecv(a, n, MPI_REAL8, to, 1, b, n, MPI_REAL8, from, 1, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
end subroutine
"""
_RECEIVE = "call MPI_Irecv(b, n, MPI_REAL8, modulo(me-1,np), 9, MPI_COMM_WORLD, one, ierr)\n"
_SEND = "call MPI_Isend(a, n, MPI_REAL8, modulo(me+1,np), 9, MPI_COMM_WORLD, two, ierr)\n"
_WAITS = "call MPI_Wait(two, MPI_STATUS_IGNORE, ierr)\ncall MPI_Wait(one, MPI_STATUS_IGNORE, ierr)"
_FIRST = "do i = 1, n\n  c(i) = sqrt(dble(i*me))\nend do\n"
_SECOND = "do i = 1, n\n  a(i) = c(i) + sqrt(c(i))\nend do\n"


def _program(folder: Path, body: str) -> str:
    path = folder / "ring.f90"
    path.write_text(_RING.format(body=body))
    return str(path)


def _told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main([arguments[0], *_QUIET, *arguments[1:]]) == 0
    found = capsys.readouterr()
    return found.out + found.err


def _procedure(*gains: float) -> ProcedureReport:
    steps = tuple(
        StepReport("motion", f"step {n}", (), "a.f90", n, (GainReport("slow", gain),))
        for n, gain in enumerate(gains, 1)
    )
    return ProcedureReport("a.f90", "work", True, steps, (), "that is all", 1, 9)


def test_a_loss_is_reported_as_part_of_a_gain() -> None:
    assert list(procedure_lines([_procedure(-3e-6, 10e-6)])) == [
        "a.f90:1: work: motion: step 1: costs 3 us on slow, by itself: it is judged together "
        "with the steps around it",
        "a.f90:2: work: motion: step 2: saves 10 us on slow",
        "a.f90: work: all of it together: saves 7 us on slow",
        "a.f90: work: ended: that is all",
    ]
    assert "together" not in "".join(procedure_lines([_procedure(3e-6)]))


def test_what_several_steps_say_is_said_once() -> None:
    one = _procedure(1e-6, 2e-6, 1e-6)
    steps = (one.steps[0], one.steps[1], one.steps[0])
    assert list(procedure_lines([replace(one, steps=steps)])) == [
        "a.f90:1: work: motion: step 1: saves 1 us on slow (2 times)",
        "a.f90:2: work: motion: step 2: saves 2 us on slow",
        "a.f90: work: all of it together: saves 4 us on slow",
        "a.f90: work: ended: that is all",
    ]


def test_stores_are_no_sites() -> None:
    def site(operation: str, verdict: str) -> SiteReport:
        return SiteReport("work:3", "a.f90", 3, operation, "work", verdict)

    call, store = site("MPI_Recv", "applied"), site(store_before("MPI_Recv"), "refused")
    assert summary([call]) == "1 site: 1 applied"
    assert summary([call, store]) == "1 site: 1 applied; 1 store: 1 refused"
    assert summary([store, store]) == "no exchange found; 2 stores: 2 refused"


def test_a_store_is_reported_as_a_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = "b = me\n" + _FIRST + _SECOND + _RECEIVE.replace("n, MPI", "n - 1, MPI") + _SEND + _WAITS
    out = _told(capsys, "scan", _program(tmp_path, body), "--all")
    (line,) = (line for line in out.splitlines() if "ring.f90:10" in line)
    assert "store before MPI_Irecv  refused  ASP07" in line
    assert "; 1 store: 1 refused" in out


def test_a_loop_like_another_comes_beside_a_receive(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both have the same first line: what changes the file is told."""
    path = _program(tmp_path, _FIRST + _RECEIVE + _SECOND + _SEND + _WAITS)
    out = _told(capsys, "scan", path)
    assert "ring.f90:13  MPI_Irecv  proved           overlaps with do i = 1, n" in out
    assert "2 sites: 1 proved, 1 refused" in out


def test_requested_passes_are_not_recommended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _program(tmp_path, "a(1) = me\n" + _RECEIVE + _SEND + _WAITS)
    quiet = ["--no-cache", "--jobs", "1", "--passes", "nonblocking"]
    assert main(["scan", *quiet, path]) == 0
    out = capsys.readouterr().err
    assert "nonblocking gains only with other passes" in out
    assert main(["explain", *quiet, f"{path}:11"]) == 0
    out = capsys.readouterr().out
    assert (
        "MPI_Irecv is completed by line 14; with these --passes, no more computation to overlap"
        in out
    )
    assert "Try" not in out
    asked = ["--no-cache", "--jobs", "1", "--passes", "prepush"]
    assert main(["explain", *asked, f"{path}:11"]) == 0
    assert "Try `--passes transfers`" in capsys.readouterr().out


_NEEDS = "do i = 1, n\n  c(i) = c(i) + b(modulo(i*me,n)+1)\nend do"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            _RECEIVE + _SEND + _WAITS + "\n" + _NEEDS,
            ["ring.f90:10  MPI_Irecv  refused  ASP062  no computation to overlap: below, line 15 "
             "reads b; the nest of line 14 is not split into interior and "
             "edges: ",
             "ring.f90:11  MPI_Isend"],
        ),
        (
            _RECEIVE + _SEND + _WAITS + "\nc(1) = MPI_Wtime()\n" + _FIRST,
            ["ring.f90:10  MPI_Irecv  assumed  ASP026  it overlaps with do i = 1, n; "
             "the wait of line 12 goes behind line 15, behind the reading of a clock in line 14; ",
             "ring.f90:11  MPI_Isend  assumed  ASP026  as in line 10 with --assume timers"],
        ),
        (
            _RECEIVE + _SEND + _WAITS + "\nprint *, c(1)\n" + _FIRST,
            ["ring.f90:10  MPI_Irecv  refused  ASP026  no computation to overlap: below, "
             "the PRINT in line 14",
             "ring.f90:11  MPI_Isend  refused  ASP026  no computation to overlap: below, "],
        ),
        (
            "do i = 1, 2\n" + _RECEIVE + _SEND + "if (me > 1) exit\n" + _WAITS + "\nend do",
            ["ring.f90:11  MPI_Irecv  refused  ASP01"],
        ),
        (
            "if (me > 0) then\n" + _RECEIVE + "else\n" + _RECEIVE + "end if\n" + _SEND + _WAITS,
            ["ring.f90:11  MPI_Irecv  refused  ASP026  no computation to overlap"],
        ),
    ],
    ids=["needed", "timer", "printed", "not-complete", "nothing-there"],
)  # fmt: skip
def test_what_the_program_starts_itself_is_listed(
    body: str, told: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what stands in its way, and what keeps that whole."""
    out = _told(capsys, "scan", _program(tmp_path, body))
    assert [line for line in told if line not in out] == []


def test_what_stands_in_the_way_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Asked about the call, its wait, or the loop in its way."""
    path = _program(tmp_path, _RECEIVE + _SEND + _WAITS + "\n" + _NEEDS)
    for line in (10, 13, 14):
        out = _told(capsys, "explain", f"{path}:{line}")
        assert "ring.f90:10  MPI_Irecv  refused  ASP062  no computation to overlap" in out
        assert "the nest of line 14 is not split" in out
        assert "Nest the loops over the dimensions that have a halo perfectly" in out
    assert " completes it" in _told(capsys, "explain", f"{path}:12")


def test_what_comes_beside_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _program(tmp_path, _FIRST + _RECEIVE + _SECOND + _SEND + _WAITS)
    for line in (13, 14, 19):
        out = _told(capsys, "explain", f"{path}:{line}")
        assert "ring.f90:13  MPI_Irecv  proved           overlaps with do i = 1, n" in out
        assert "overlaps with it" in out
        assert " completes it" in out


_TWO = """\
subroutine heat(u, w, n, up, down)
  use mpi
  implicit none
  integer :: n, up, down, j, i, ierr, status(MPI_STATUS_SIZE)
  real(8) :: u(0:n+1,0:n+1), w(0:n+1,0:n+1)
  call MPI_Sendrecv(u(1,n), n, MPI_REAL8, up, 1, u(1,0), n, MPI_REAL8, down, 1, &
                    MPI_COMM_WORLD, status, ierr)
  do j = 1, n
    do i = 1, n
      u(i,j) = u(i,j-1) + w(i,j)
    end do
  end do
end subroutine heat
"""


def test_reasons_against_tiling_are_reported_for_blocking_calls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "heat.f90"
    path.write_text(_TWO)
    out = _told(capsys, "scan", str(path))
    assert "below, line 10 reads u" in out
    assert "; the message of line 6 is not cut: no loop has constant bounds" in out
    assert "refused  ASP066" in out
    assert "is not split" not in out  # each iteration needs the one before it


def test_a_procedure_says_why_its_caller_has_no_work_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "swap.f90"
    path.write_text(
        "subroutine swap(b)\n  use mpi\n  integer :: ierr, one\n  integer, save :: kept = 0\n"
        "  real(8) :: b(8)\n"
        "  call MPI_Irecv(b, 8, MPI_REAL8, merge(MPI_PROC_NULL, 0, kept > 9), 9, &\n"
        "                 MPI_COMM_WORLD, one, ierr)\n"
        "  call MPI_Wait(one, MPI_STATUS_IGNORE, ierr)\n  kept = kept + 1\nend subroutine\n"
        "program main\n  use mpi\n  integer :: i\n  real(8) :: b(8), c(999)\n  call swap(b)\n"
        "  do i = 1, 999\n    c(i) = sqrt(dble(i))\n  end do\n  print *, c(9), b\n"
        "end program main\n"
    )
    out = _told(capsys, "scan", str(path))
    assert "no computation to overlap: swap contains none below; " in out
    assert "swap.f90:15: swap is not inlined: " in out


@pytest.mark.parametrize(
    ("passes", "told"),
    [
        ("motion", "only nonblocking splits blocking calls into start and wait: --passes "
         "nonblocking,motion"),
        ("prepush", "--passes transfers says what they would overlap with"),
    ],
)  # fmt: skip
def test_a_tree_without_exchanges_leads_to_the_passes_for_messages(
    passes: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ring.f90"
    path.write_text(_EXCHANGE)
    out = ("--output", str(tmp_path / "out"))
    assert main(["apply", "--no-cache", "--jobs", "1", "--passes", passes, *out, str(path)]) == 0
    errors = capsys.readouterr().err
    assert "no exchange found" in errors
    assert "there are messages between two ranks: " in errors
    assert told in errors


_ALONE = "these passes gain nothing by themselves"
_NO_STEP = "no transformation finds another step"
_PASSES = {
    "nonblocking": (_ALONE, "nonblocking gains only with other passes, above all motion: "
                    "--passes nonblocking,motion"),
    "waits,inline": (_ALONE, "inline, waits gain only with other passes, above all motion: "
                     "--passes inline,nonblocking,motion,waits"),
    "motion": (_NO_STEP, "only nonblocking splits blocking calls into start and wait: "
               "--passes nonblocking,motion"),
    "stores": (_NO_STEP, "only nonblocking splits blocking calls into start and wait: "
               "--passes stores,nonblocking,motion"),
    "nonblocking,motion": (_NO_STEP, ""),
}  # fmt: skip


@pytest.mark.parametrize("command", ["diff", "apply"])
@pytest.mark.parametrize("passes", _PASSES)
def test_the_report_says_why_nothing_changes(
    passes: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended, missing = _PASSES[passes]
    path = tmp_path / "ring.f90"
    path.write_text(_EXCHANGE)
    out = ["--output", str(tmp_path / "out")] if command == "apply" else []
    assert main([command, "--no-cache", "--jobs", "1", "--passes", passes, *out, str(path)]) == 0
    told = capsys.readouterr().err.splitlines()
    (line,) = (line for line in told if "is not transformed" in line)
    assert line.startswith(f"asphalt: {path}: ring is not transformed: {ended}")
    assert not missing or [one.endswith(missing) for one in told].count(True) == 1


def test_no_pass_is_missing_where_all_or_none_for_transfers_are_chosen() -> None:
    assert missing_passes(PASSES) is missing_passes(["prepush"]) is None


def test_unchanged_procedures_are_reported_together() -> None:
    stays = ProcedureReport("a.f90", "", False, (), (), "that is all", 1, 9)
    dropped = DroppedReport("waits", "step", "a.f90", 1, "too little", ())
    assert why_unchanged([stays], ["prepush"]) == "a.f90: main is not transformed: that is all"
    two = [stays, replace(stays, ended="too many"), stays]
    assert why_unchanged(two, ["prepush"]) == (
        "3 procedures with messages are not transformed: that is all, or too many"
    )
    told = replace(stays, dropped=(dropped,))
    assert why_unchanged([told], ["nonblocking", "motion"]) is None
    assert why_unchanged([], ["waits"]) is None
    assert why_unchanged([told], ["waits"]) == missing_passes(["waits"])


def test_what_has_errors_is_not_inlined(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "lost.f90"
    path.write_text(
        "subroutine lost(a, n)\n  use mpi\n  integer :: n, ierr, one\n  real(8) :: a(n)\n"
        "  call MPI_Isend(a, n, MPI_REAL8, 1, 9, MPI_COMM_WORLD, one, ierr)\nend subroutine\n"
        "program work\n  use mpi\n  integer :: ierr\n  real(8) :: a(10)\n  call MPI_Init(ierr)\n"
        "  call lost(a, 10)\n  call MPI_Finalize(ierr)\nend program\n"
    )
    assert "1 finding" in _told(capsys, "scan", str(path))
    out = _told(capsys, "diff", str(path))
    assert "inline" not in out
    out = _told(capsys, "apply", str(path), "--output", str(tmp_path / "out"))
    assert "not kept" not in out
