"""Messages that the program starts and waits for itself are cut into segments as those are that
were blocking calls; only where nobody else knows their requests, and one wait completes each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asphalt.analysis.verdicts.pipelining_codes import BETWEEN, PARTS
from asphalt.config.settings import Settings
from asphalt.driver.overlap import Outcome
from asphalt.project import Project
from asphalt.transforms.tiling import segmentation
from support.mpi_run import MPICH, OPENMPI, SMPI, Mpi, installed
from support.shift_programs import CHAIN, FILL, USE, branch, program
from support.stepping import Stepped
from support.tiled_runs import outputs, transformed, with_values

FIGURE = """\
program figure
  use mpi
  implicit none
  integer, parameter :: n = 200000
  real(8) :: sb(n), rb(n)
  integer :: i, ierr, me, np, to, from, sreq, rreq, status(MPI_STATUS_SIZE)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  to = modulo(me + 1, np)
  from = modulo(me - 1, np)
  call MPI_Irecv(rb(1), n, MPI_DOUBLE_PRECISION, from, 1, MPI_COMM_WORLD, rreq, ierr)
  do i = 1, n
    sb(i) = sqrt(dble(i)) + sqrt(dble(i)/n) + me
  end do
  call MPI_Isend(sb(1), n, MPI_DOUBLE_PRECISION, to, 1, MPI_COMM_WORLD, sreq, ierr)
  call MPI_Wait(sreq, status, ierr)
  call MPI_Wait(rreq, status, ierr)
  print *, me, sum(sb), sum(rb)
  call MPI_Finalize(ierr)
end program figure
"""
"""Danalis et al., ICS 2009, figure 3(a)."""
CUT = """\
  ! asphalt: K of figure_i in asphalt_params.inc; 0: chosen here, the same on all ranks
  call asphalt_begin_segments(asphalt_segments_1, first=1, last=n, work=8.0, &
                              k=asphalt_k_figure_i, d=asphalt_d_figure_i)
  call asphalt_receive_segments(asphalt_segments_1, rb(1), 1, MPI_DOUBLE_PRECISION, from, 1, &
                                MPI_COMM_WORLD)
  ! asphalt: tiles of K iterations over i, each with its part of the messages
  do while (asphalt_next_segment(asphalt_segments_1))
    do i = asphalt_segments_1%lo, asphalt_segments_1%hi
      sb(i) = sqrt(dble(i)) + sqrt(dble(i)/n) + me
    end do
    call asphalt_send_segment(asphalt_segments_1, sb(1), 1, MPI_DOUBLE_PRECISION, to, 1, &
                              MPI_COMM_WORLD)
  end do
  call asphalt_finish_segments(asphalt_segments_1, sb(1))
  call asphalt_await_segments(asphalt_segments_1, rb(1))
  print *, me, sum(sb), sum(rb)
"""
_LOCAL = "  integer :: sreq, rreq, req(2)\n  logical :: flag\n"
POST = "  call MPI_Irecv(west, m*n, MPI_DOUBLE_PRECISION, left, 1, comm, rreq, ierr)\n"
START = "  call MPI_Isend(east, m*n, MPI_DOUBLE_PRECISION, right, 1, comm, sreq, ierr)\n"
SENT = "  call MPI_Wait(sreq, status, ierr)\n"
CAME = "  call MPI_Wait(rreq, MPI_STATUS_IGNORE, ierr)\n"
ALL = "  call MPI_Waitall(2, req, MPI_STATUSES_IGNORE, ierr)\n"


def _own(body: str, local: str = _LOCAL, neighbours: str = CHAIN, **others: str) -> str:
    text = program(body, neighbours, **others)
    return text.replace("  real(8) :: t\n", f"  real(8) :: t\n{local}", 1)


def _elements(body: str) -> str:
    return body.replace("rreq", "req(1)").replace("sreq", "req(2)")


def _guarded(line: str, condition: str) -> str:
    return line.replace("  call", f"  if ({condition}) call")


ALLOWED = {
    "ring": _own(POST + FILL + START + SENT + CAME + USE).replace(
        CHAIN, "  left = modulo(me - 1, np)\n  right = modulo(me + 1, np)\n"
    ),
    "waits_late": _own(POST + FILL + START + CAME + USE + SENT),
    "posted_behind": _own(FILL + START + POST + SENT + CAME + USE),
    "waitall": _own(_elements(POST + FILL + START) + ALL + USE),
    "synchronous": _own((POST + FILL + START).replace("Isend", "Issend") + CAME + SENT + USE),
    "conditions": _own(
        "  sreq = MPI_REQUEST_NULL\n"
        + _guarded(POST, "left >= 0")
        + FILL
        + _guarded(START, "right >= 0")
        + _guarded(SENT, "right >= 0")
        + _guarded(CAME, "left >= 0")
        + USE
    ),
    "receive_blocks": _own(
        FILL + START + POST.replace("Irecv", "Recv").replace("rreq", "status") + SENT + USE
    ),
    "send_blocks": _own(
        POST + FILL + START.replace("Isend", "Send").replace(" sreq,", "") + CAME + USE
    ),
    "typed": _own(POST + FILL + START + SENT + CAME + USE, _LOCAL.replace(
        "integer", "type(MPI_Request)")).replace("use mpi\n", "use mpi_f08\n").replace(
        "integer, intent(in) :: comm, k", "type(MPI_Comm), intent(in) :: comm\n  integer :: k"
        ).replace(", status(MPI_STATUS_SIZE)", "\n  type(MPI_Status) :: status"),
}  # fmt: skip
QUICK = {"ring", "waitall", "receive_blocks"}


def _names(quick: set[str], found: Iterable[str]) -> list[Any]:
    return [
        pytest.param(name, marks=() if name in quick else pytest.mark.wide)
        for name in sorted(found)
    ]


def test_the_figure(tmp_path: Path) -> None:
    made, header = transformed(tmp_path, {"a.f90": FIGURE})
    assert CUT in made["a.f90"]
    assert "call MPI_Wait" not in made["a.f90"]
    assert header.count("asphalt_k_figure_i") == 1


@pytest.mark.parametrize("name", _names(QUICK, ALLOWED))
def test_messages_are_cut(name: str, tmp_path: Path) -> None:
    made, header = transformed(tmp_path, {"a.f90": ALLOWED[name]})
    text = made["a.f90"]
    assert header.count("asphalt_k_") == 1
    assert text.count("! asphalt: tiles of K iterations over j") == 2
    for procedure in ("MPI_Isend", "MPI_Issend", "MPI_Irecv", "MPI_Wait"):
        assert f"call {procedure}(" not in text


REFUSED = {
    "tested": (
        POST + FILL + START + "  call MPI_Test(sreq, flag, status, ierr)\n" + SENT + CAME + USE,
        "may use its request",
    ),
    "asked_for": (
        POST + FILL + START + SENT + "  if (sreq == MPI_REQUEST_NULL) t = 1\n" + CAME + USE,
        "may use its request",
    ),
    "under_a_condition": (
        POST + FILL + START + branch("k < 9", SENT) + CAME + USE, "not known what completes it"
    ),
    "status": (
        POST + FILL + START + CAME + SENT + "  t = status(MPI_TAG)\n" + USE, "its status is read"
    ),
    "two_waits": (
        POST + FILL + START + f"  if (k < 2) then\n{SENT}  else\n{SENT}  end if\n" + CAME + USE,
        "may complete it",
    ),
    "wait_of_none": (
        "  sreq = MPI_REQUEST_NULL\n"
        + POST + FILL + _guarded(START, "me >= k") + SENT + CAME + USE,
        "may wait where nothing was started",
    ),
    "wait_for_two": (_elements(POST + FILL + START) + ALL + ALL + USE, "several"),
    "unknown_element": (
        (POST + FILL + START + SENT + CAME + USE).replace("sreq", "req(me + 1)"),
        "its request is no local variable",
    ),
    "receive_with_others": (
        (POST + FILL + START).replace("rreq", "req(1)") + SENT + ALL.replace("2, req", "1, req")
        + USE,
        "several",
    ),
    "receive_under_a_condition": (
        POST + FILL + START + SENT + branch("k < 9", CAME) + USE, "not known what completes it"
    ),
}  # fmt: skip
QUICK_REFUSED = {"tested", "status", "wait_of_none"}


@pytest.mark.parametrize("name", _names(QUICK_REFUSED, REFUSED))
def test_messages_stay_whole(name: str, tmp_path: Path) -> None:
    body, reason = REFUSED[name]
    tree = Stepped.of(tmp_path / "src", {"a.f90": _own(body)})
    tree.any_sizes = True
    assert tree.steps(segmentation) == []
    assert {one.code for one in tree.refusals(segmentation)} == {BETWEEN}
    assert all(reason in one.message for one in tree.refusals(segmentation))


def test_a_request_of_a_module_stays(tmp_path: Path) -> None:
    text = _own(POST + FILL + START + SENT + CAME + USE, _LOCAL.replace("sreq, ", ""))
    text = text.replace("m = 20000\n", "m = 20000\n  integer :: sreq\n", 1)
    tree = Stepped.of(tmp_path / "src", {"a.f90": text})
    tree.any_sizes = True
    (found,) = tree.refusals(segmentation)
    assert "its request is no local variable that no others see" in found.message
    assert tree.steps(segmentation) == []


def _project(path: Path, text: str, *passes: str) -> Project:
    (path / "a.f90").write_text(text)
    settings = replace(Settings(cache=False, jobs=1), passes=passes or ("transfers",))
    return Project(path, settings=settings)


def test_messages_about_both_calls(tmp_path: Path) -> None:
    (change,) = _project(tmp_path, FIGURE).transform()
    assert [site.operation for site in change.sites] == ["MPI_Irecv", "MPI_Isend"]
    assert {site.message for site in change.sites} == {
        "is cut into segments along i, K and D of figure_i in asphalt_params.inc"
    }


def test_the_reasons_of_both_are_reported(tmp_path: Path) -> None:
    body, reason = REFUSED["status"]
    project = _project(tmp_path, _own(body), "nonblocking", "pipelining")
    told = project.own_operations(Outcome(()))
    assert [one.operation for one in told] == ["MPI_Irecv", "MPI_Isend"]
    assert {one.code for one in told} == {BETWEEN.id}
    assert all(reason in one.message for one in told)


def test_the_reason_why_overlapped_messages_stay_whole_is_reported(tmp_path: Path) -> None:
    """Sizes are known at run time only, so that ranks may have others."""
    text = FIGURE.replace("integer, parameter :: n = 200000", "integer :: n")
    text = text.replace("real(8) :: sb(n), rb(n)", "real(8), allocatable :: sb(:), rb(:)")
    text = text.replace("  to = ", "  n = 100000*np\n  allocate(sb(n), rb(n))\n  to = ")
    first, second = text.index("  call MPI_Irecv"), text.index("  do i = 1, n")
    post = text[first:second]
    text = text.replace(post, "").replace("  call MPI_Isend", f"{post}  call MPI_Isend")
    project = _project(tmp_path, text)
    (change,) = project.transform()
    told = project.kept_whole(change.sites)
    assert [site.operation for site in told] == ["MPI_Irecv"]
    assert told[0].message == "overlaps with do i = 1, n"  # there is nothing to do
    (whole,) = (one for one in told[0].dropped if one.transformation == "pipelining")
    assert whole.why.startswith("the messages of lines")
    assert whole.why.endswith(f"no loop has constant bounds and the step 1 ({PARTS.id})")


def test_a_call_between_start_and_wait_lets_no_wait_come_first(tmp_path: Path) -> None:
    """What the procedure sends, the next rank may need before it receives any segment."""
    beside = "  call other(u, k)\n"
    text = _own(POST + FILL + START + beside + SENT + CAME + USE, other="""\
subroutine other(u, k)
  use mpi
  implicit none
  real(8) :: u(*), x
  integer :: k, ierr
  x = k
  call MPI_Bcast(x, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)
end subroutine other
""")  # fmt: skip
    tree = Stepped.of(tmp_path / "src", {"a.f90": text})
    tree.any_sizes = True
    steps = [one for one in tree.steps(segmentation) if isinstance(one, segmentation.Segmented)]
    assert [step.send.message.paced for step in steps] == [False]


def test_two_ranks_compute_the_same(tmp_path: Path) -> None:
    installed(MPICH)
    files = {"a.f90": FIGURE.replace("print *, me", "print '(i3, 2es25.17)', me")}
    made, header = transformed(tmp_path, files, 70000, 1)
    expected = outputs(tmp_path / "before", MPICH, files, (2,))
    assert outputs(tmp_path / "after", MPICH, made, (2,), header) == expected


@pytest.mark.wide
@pytest.mark.parametrize("mpi", [OPENMPI, MPICH, SMPI], ids=lambda mpi: mpi.name)
@pytest.mark.parametrize("name", sorted(ALLOWED))
def test_all_ranks_compute_the_same(mpi: Mpi, name: str, tmp_path: Path) -> None:
    installed(mpi)
    if name == "typed" and mpi is SMPI:
        pytest.skip("no mpi_f08")
    files = {"a.f90": ALLOWED[name]}
    made, header = transformed(tmp_path, files)
    assert header != ""
    ranks = (1, 2, 3)
    expected = outputs(tmp_path / "before", mpi, files, ranks)
    for tile, depth in ((0, 4), (1, 1), (5, 2)):
        values = with_values(header, tile, depth)
        assert outputs(tmp_path / "after", mpi, made, ranks, values) == expected
