"""A message leaves in segments while the nest that fills it goes on, and the nest behind the
receive uses them one by one; only where all ranks cut alike, and no iteration needs a later one."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from asphalt.analysis.verdicts.pipelining_codes import MESSAGES, NEEDED, PARTS
from asphalt.analysis.verdicts.splitting_codes import DIGITS
from asphalt.analysis.verdicts.verdict import Code
from asphalt.config.settings import Settings
from asphalt.project import Project
from asphalt.transforms.loops import branch_fission
from asphalt.transforms.motion import code_motion
from asphalt.transforms.nonblocking import nonblocking
from asphalt.transforms.tiling import segmentation
from support.mpi_run import MPICH, OPENMPI, SMPI, Mpi, installed
from support.shift_programs import (
    ALLOWED,
    CHAIN,
    FILL,
    FIXED,
    RECV,
    SEND,
    SENDRECV,
    USE,
    branch,
    nest,
    program,
)
from support.stepping import Stepped
from support.tiled_runs import outputs, transformed, with_values

QUICK = {"sendrecv", "arms", "fills_alone"}


def _started(folder: Path, text: str) -> Stepped:
    """The program with all messages non-blocking, and their windows filled."""
    tree = Stepped.of(folder, {"a.f90": text})
    tree.any_sizes = True
    tree.applied(nonblocking)
    tree.applied(branch_fission, code_motion)
    return tree


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.wide)
        for name in sorted(ALLOWED)
    ],
)
def test_messages_are_cut(name: str, tmp_path: Path) -> None:
    made, header = transformed(tmp_path, {"a.f90": ALLOWED[name]})
    messages = 2 if name == "both_ways" else 1
    ends = 1 if name.endswith("_alone") else 2
    assert header.count("asphalt_k_") == messages
    assert made["a.f90"].count("! asphalt: tiles of K iterations over j") == messages * ends
    for procedure in ("receive_segments", "send_segment", "finish_segments"):
        assert len(re.findall(rf"call asphalt_{procedure}s?\(", made["a.f90"])) == messages
    assert "asphalt_segment(" not in made["a.f90"]
    assert "call MPI_Send" not in made["a.f90"]
    assert "call MPI_Recv" not in made["a.f90"]


SEGMENTS = """\
  ! asphalt: MPI_Sendrecv made non-blocking
  ! asphalt: K of shift_j in asphalt_params.inc; 0: chosen here, the same on all ranks
  asphalt_k_1 = asphalt_segment(asphalt_k_shift_j,n,11.0*m)
  do asphalt_lo_1 = 1, n, asphalt_k_1
    asphalt_hi_1 = min(asphalt_lo_1 + asphalt_k_1 - 1, n)
    call asphalt_irecv(west(1,asphalt_lo_1), m*(asphalt_hi_1 - asphalt_lo_1 + 1), &
                       MPI_DOUBLE_PRECISION, left, 1, comm, asphalt_requests_1(asphalt_lo_1))
  end do
"""
PRODUCED = """\
  ! asphalt: tiles of K iterations over j, each with its part of the messages
  do asphalt_lo_1 = 1, n, asphalt_k_1
    asphalt_hi_1 = min(asphalt_lo_1 + asphalt_k_1 - 1, n)
    do j = asphalt_lo_1, asphalt_hi_1
      do i = 1, m
        east(i,j) = 0.5d0*u(i,j) + k
      end do
    end do
    if ((asphalt_lo_1 - 1)/asphalt_k_1 >= asphalt_d_shift_j) then
      call asphalt_wait(asphalt_requests_2(asphalt_lo_1-asphalt_d_shift_j*asphalt_k_1), east)
    end if
    call asphalt_isend(east(1,asphalt_lo_1), m*(asphalt_hi_1 - asphalt_lo_1 + 1), &
                       MPI_DOUBLE_PRECISION, right, 1, comm, asphalt_requests_2(asphalt_lo_1))
  end do
"""
CONSUMED = """\
  ! asphalt: tiles of K iterations over j, each with its part of the messages
  do asphalt_lo_1 = 1, n, asphalt_k_1
    asphalt_hi_1 = min(asphalt_lo_1 + asphalt_k_1 - 1, n)
    call asphalt_wait(asphalt_requests_1(asphalt_lo_1), west)
    do j = asphalt_lo_1, asphalt_hi_1
      do i = 1, m
        u(i,j) = u(i,j) + 0.25d0*west(i,j)
      end do
    end do
  end do
"""
WAITED = """\
  do asphalt_lo_1 = 1, n, asphalt_k_1
    call asphalt_wait(asphalt_requests_2(asphalt_lo_1), east)
  end do
"""
ALL_SENT = """\
  do asphalt_lo_1 = 1, n, asphalt_k_1
    asphalt_hi_1 = min(asphalt_lo_1 + asphalt_k_1 - 1, n)
    call asphalt_isend(east(1,asphalt_lo_1), m*(asphalt_hi_1 - asphalt_lo_1 + 1), &
                       MPI_DOUBLE_PRECISION, right, 1, comm, asphalt_requests_2(asphalt_lo_1))
  end do
"""
ALL_RECEIVED = """\
  do asphalt_lo_1 = 1, n, asphalt_k_1
    call asphalt_wait(asphalt_requests_1(asphalt_lo_1), west)
  end do
"""


def test_the_text(tmp_path: Path) -> None:
    tree = _started(tmp_path / "src", ALLOWED["sendrecv"])
    assert tree.applied(segmentation) == 1
    text = tree.text("a.f90")
    assert SEGMENTS + PRODUCED + CONSUMED + WAITED in text
    assert "  include 'asphalt_params.inc'\n" in text
    assert "  integer :: asphalt_requests_1(n), asphalt_requests_2(n)\n" in text


def test_a_nest_at_one_end(tmp_path: Path) -> None:
    tree = _started(tmp_path / "fills", ALLOWED["fills_alone"])
    assert tree.applied(segmentation) == 1
    assert PRODUCED + ALL_RECEIVED in tree.text("a.f90")
    tree = _started(tmp_path / "uses", ALLOWED["uses_alone"])
    assert tree.applied(segmentation) == 1
    assert ALL_SENT + CONSUMED + WAITED in tree.text("a.f90")


def test_no_wait_comes_in_front_of_another_message(tmp_path: Path) -> None:
    """Behind its send and in front of its wait, another one starts, which the next rank may need
    before it receives any segment."""
    made, _ = transformed(tmp_path, {"a.f90": ALLOWED["both_ways"]})
    text = made["a.f90"]
    assert re.findall(r"d=asphalt_d_(\w+)\)", text) == ["shift_j_2"]
    first = text.index("call asphalt_send_segment(asphalt_segments_1, east")
    assert "call asphalt_finish_segments(asphalt_segments_1, east)" in text[first:]


VECTORS = """\
program main
  use mpi
  implicit none
  integer, parameter :: n = 200001
  real(8) :: east(n), west(n)
  integer :: j, me, np, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  do j = 1, n
    east(j) = sin(dble(j)) + exp(-dble(j)/n) + me
  end do
  call MPI_Sendrecv(east, n, MPI_DOUBLE_PRECISION, modulo(me + 1, np), 1, &
                    west, n, MPI_DOUBLE_PRECISION, modulo(me - 1, np), 1, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  if (me == 0) print '(z16.16)', west
  call MPI_Finalize(ierr)
end program main
"""
ROWS = VECTORS.replace("  integer :: j,", "  real(8) :: x(n) = 0.37d0\n  integer :: i, j,").replace(
    "    east(j) = sin(dble(j)) + exp(-dble(j)/n) + me\n",
    "    east(j) = x(j)*j\n    do i = 1, 300\n      east(j) = 0.5d0*east(j) + x(j)*j\n    end do\n"
    "    east(j) = sin(east(j))\n",
)
"""A loop that gfortran vectorises around another one."""
COLUMNS = """\
  do j = 1, n
    do i = 1, 20000
      east(i,j) = sin(0.5d0*u(i,j)) + k
    end do
  end do
"""


@pytest.mark.parametrize("text", [VECTORS, ROWS], ids=["innermost", "outer"])
def test_other_bounds_may_change_last_digits(text: str, tmp_path: Path) -> None:
    tree = _started(tmp_path / "src", text)
    (refused,) = tree.refusals(segmentation)
    assert (refused.code, refused.lifted_by) == (DIGITS, "bits")
    assert "evaluates sin" in refused.message
    tree.accepted = frozenset({"bits"})
    (step,) = tree.steps(segmentation)
    assert step.assumed == ("bits",)


@pytest.mark.parametrize("where", ["the call", "the declarations"])
def test_directives_accept_other_digits(where: str, tmp_path: Path) -> None:
    line = {"the call": "  call MPI_Sendrecv", "the declarations": "  real(8) :: east"}[where]
    text = _replaced(line, f"  !$asphalt assume(bits)\n{line}", VECTORS)
    made, header = transformed(tmp_path, {"a.f90": text})
    assert "asphalt_k_main_j" in header
    assert made["a.f90"].count("! asphalt: assumed: bits\n") == 1


def test_inner_loops_keep_their_bounds(tmp_path: Path) -> None:
    tree = _started(tmp_path / "src", program(COLUMNS + SENDRECV + USE))
    assert [step.assumed for step in tree.steps(segmentation)] == [()]


def test_assumptions_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a.f90").write_text(VECTORS)
    settings = replace(Settings(cache=False, jobs=1), passes=("transfers",))
    whole = Project(tmp_path, settings=settings).transform()
    assert all(site.assumptions == () for change in whole for site in change.sites)
    (change,) = Project(
        tmp_path, settings=replace(settings, assume=frozenset({"bits"}))
    ).transform()
    assert "is cut into segments along j" in change.sites[0].message
    assert change.sites[0].accepted == ("bits",)


@pytest.mark.parametrize("text", [VECTORS, ROWS], ids=["innermost", "outer"])
def test_optimised_programs_print_the_same(text: str, tmp_path: Path) -> None:
    """Without the assumption; and with it, as long as tiles hold whole vectors."""
    installed(OPENMPI)
    files = {"a.f90": text}
    expected = outputs(tmp_path / "before", OPENMPI, files, (2,), level="-O3")
    made, header = transformed(tmp_path, files)
    assert "asphalt_k_" not in header
    assert outputs(tmp_path / "after", OPENMPI, made, (2,), header or "!\n", "-O3") == expected
    made, header = transformed(tmp_path / "assumed", files, accepted=frozenset({"bits"}))
    assert "asphalt_k_main_j" in header
    assert outputs(tmp_path / "tiles", OPENMPI, made, (2,), header, "-O3") == expected
    odd = with_values(header, 5, 4)
    assert outputs(tmp_path / "odd", OPENMPI, made, (2,), odd, "-O3") != expected


_OTHER = """\
subroutine other(u, k)
  use mpi
  implicit none
  real(8) :: u(*)
  integer :: k, ierr
  {what}
end subroutine other
"""
_ALONE = "  t = sum(west)\n"


def _with(what: str) -> str:
    return program(more="  call other(u, 1)\n", other=_OTHER.format(what=what))


def _replaced(before: str, after: str, text: str) -> str:
    assert before in text
    return text.replace(before, after)


REFUSED: dict[str, tuple[Code, str]] = {
    "another_send": (
        MESSAGES,
        _with("if (k < 0) call MPI_Send(u, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, ierr)"),
    ),
    "any_tag": (
        MESSAGES,
        _with(
            "if (k < 0) call MPI_Recv(u, 1, MPI_INTEGER, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &\n"
            "    MPI_STATUS_IGNORE, ierr)"
        ),
    ),
    "a_probe": (
        MESSAGES,
        _with("if (k < 0) call MPI_Probe(0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)"),
    ),
    "unknown_procedure": (MESSAGES, program(more="  call somewhere(u)")),
    "two_receives": (
        MESSAGES, program(FILL + SENDRECV + USE + branch("k < 0", RECV))
    ),
    "datatype": (
        MESSAGES,
        _replaced("west, m*n, &\n                    MPI_DOUBLE_PRECISION",
                  "west, m*n, &\n                    MPI_REAL8", program()),
    ),
    "receives_more": (
        PARTS, _replaced("west, m*n, &", "west, m*n + 1, &", program()).replace(
            "real(8) :: west(m, n), east", "real(8) :: west(m, n + 1), east")
    ),
    "not_all_of_it": (PARTS, _replaced("m*n", "m*n - 1", program())),
    "number_varies": (
        PARTS,
        _replaced("n = 12, m = 20000", "m = 20000\n  integer :: n = 12", program()).replace(
            "m, n)", "m, 12)"),
    ),
    "backwards": (
        PARTS,
        program(nest("east(i,j) = u(i,j)", along="n, 1, -1") + SENDRECV + _ALONE),
    ),
    "all_in_each": (
        NEEDED, program(nest("east(i,j) = u(i,j)", "east(i,1) = u(i,j)") + SENDRECV + _ALONE)
    ),
    "from_behind": (
        NEEDED, program(nest("east(i,n+1-j) = u(i,j)") + SENDRECV + _ALONE)
    ),
    "needs_later": (
        NEEDED, program("  east = u\n" + SENDRECV + nest("u(i,j) = west(i,n)"))
    ),
    "needs_next": (
        NEEDED,
        program("  east = u\n" + SENDRECV + nest("u(i,j) = west(i,min(n,j+1))")),
    ),
    "written_over": (
        NEEDED,
        program("  east = u\n" + SENDRECV + nest("u(i,j) = west(i,j)", "west(i,n) = 0")),
    ),
}  # fmt: skip
QUICK_REFUSED = {"another_send", "number_varies", "all_in_each", "needs_later", "any_tag"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in QUICK_REFUSED else pytest.mark.wide)
        for name in sorted(REFUSED)
    ],
)
def test_messages_stay_whole(name: str, tmp_path: Path) -> None:
    code, text = REFUSED[name]
    tree = _started(tmp_path / "src", text)
    assert {one.code for one in tree.refusals(segmentation)} == {code}
    assert tree.steps(segmentation) == []


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("needs_later", "datatype") else pytest.mark.wide)
        for name in sorted(REFUSED)
    ],
)
def test_the_reason_why_messages_stay_whole_is_reported(name: str, tmp_path: Path) -> None:
    """Of the calls as they are, blocking ones."""
    code, text = REFUSED[name]
    (tmp_path / "a.f90").write_text(text)
    settings = replace(Settings(cache=False, jobs=1), passes=("transfers",))
    told, *_ = Project(tmp_path, settings=settings).not_overlapped(())
    assert (told.operation, told.code) == ("MPI_Sendrecv", code.id)
    assert f"; the message of line {told.line} is not cut: " in told.message


def test_the_reason_why_messages_of_two_calls_stay_whole_is_reported(tmp_path: Path) -> None:
    filled, late = nest("east(i,n+1-j) = u(i,j)"), nest("u(i,j) = west(i,n)")
    (tmp_path / "a.f90").write_text(program(filled + SEND + RECV + late, CHAIN))
    settings = replace(Settings(cache=False, jobs=1), passes=("transfers",))
    send, receive = Project(tmp_path, settings=settings).not_overlapped(())
    assert [send.operation, receive.operation] == ["MPI_Send", "MPI_Recv"]
    assert send.code == receive.code == NEEDED.id
    lines = f"; the messages of lines {receive.line} and {send.line} are not cut: "
    assert lines in send.message
    assert lines in receive.message


@pytest.mark.parametrize(
    "body",
    [
        RECV + USE + FILL + SEND,  # what comes has left in another turn
        f"  do i = 1, 2\n{FILL}{SEND}  end do\n  do i = 1, 2\n{RECV}{USE}  end do\n".replace(
            "do i = 1, m", "do me = 1, m"
        ).replace("(i,", "(me,"),
        "  t = u(1,1)\n  east = u\n" + SEND + RECV + _ALONE,
    ],
    ids=["receive_first", "other_loops", "no_nest"],
)
def test_other_messages_are_left_alone(body: str, tmp_path: Path) -> None:
    assert _started(tmp_path / "src", program(body, CHAIN)).found(segmentation) == []


@pytest.mark.parametrize("name", ["kind", "merge", "min"])
def test_functions_of_tiles_that_a_variable_hides(name: str, tmp_path: Path) -> None:
    hidden = program().replace("  real(8) :: t\n", f"  real(8) :: t, {name}\n")
    assert _started(tmp_path / "src", hidden).found(segmentation) == []


_WORK = nest("u(i,j) = u(i,j)*1.5d0 + 1") + nest("u(i,j) = u(i,j)/1.5d0", along="1, n - 1")


@pytest.mark.parametrize(
    "text",
    [program(rows=40), program(FILL + SENDRECV + _WORK * 60 + USE)],
    ids=["little", "hidden_as_a_whole"],
)
def test_what_gains_nothing_stays_whole(text: str, tmp_path: Path) -> None:
    assert _started(tmp_path / "src", text).steps(segmentation) != []
    made, header = transformed(tmp_path, {"a.f90": text})
    assert header == ""
    assert "asphalt_segment" not in made["a.f90"]


def test_messages(tmp_path: Path) -> None:
    (tmp_path / "a.f90").write_text(program())
    settings = replace(Settings(cache=False, jobs=1), passes=("transfers",))
    (change,) = Project(tmp_path, settings=settings).transform()
    assert [one.operation for one in change.parameters] == ["MPI_Sendrecv"]
    assert [site.message for site in change.sites] == [
        "is cut into segments along j, K and D of shift_j in asphalt_params.inc"
    ]


def test_two_ranks_compute_the_same(tmp_path: Path) -> None:
    installed(OPENMPI)
    files = {"a.f90": ALLOWED["send_receive"]}
    made, header = transformed(tmp_path, files, 5, 1)
    expected = outputs(tmp_path / "before", OPENMPI, files, (2,))
    assert outputs(tmp_path / "after", OPENMPI, made, (2,), header) == expected


@pytest.mark.wide
@pytest.mark.parametrize("mpi", [OPENMPI, MPICH, SMPI], ids=lambda mpi: mpi.name)
@pytest.mark.parametrize("name", [*sorted(ALLOWED), "fixed"])
def test_all_ranks_compute_the_same(mpi: Mpi, name: str, tmp_path: Path) -> None:
    installed(mpi)
    files = FIXED if name == "fixed" else {"a.f90": ALLOWED[name]}
    made, header = transformed(tmp_path, files)
    assert header != ""
    ranks = (1, 2, 3, 4)
    expected = outputs(tmp_path / "before", mpi, files, ranks)
    for tile, depth in ((0, 4), (1, 1), (5, 2), (99, 9)):
        values = with_values(header, tile, depth)
        assert outputs(tmp_path / "after", mpi, made, ranks, values) == expected
