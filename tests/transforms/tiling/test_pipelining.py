"""A nest between a receive and a send is cut into tiles with both messages, only where every tile
has what it needs, and every rank cuts alike."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from asphalt.analysis.verdicts.pipelining_codes import BETWEEN, CODES, MESSAGES, NEEDED, PARTS
from asphalt.analysis.verdicts.splitting_codes import DIGITS
from asphalt.analysis.verdicts.verdict import Code
from asphalt.config.settings import Settings
from asphalt.diagnostics.examples import examples_of
from asphalt.project import Project
from asphalt.transforms.nonblocking import nonblocking
from asphalt.transforms.tiling import pipelining
from support.mpi_run import MPICH, OPENMPI, SMPI, Mpi, installed
from support.stepping import Stepped
from support.sweep_programs import (
    GRID,
    MAIN,
    POINT,
    RECV,
    SEND,
    SWEEP,
    changed,
    nest,
    program,
    with_other,
)
from support.tiled_runs import output, outputs, transformed, with_values

REFUSED: dict[str, tuple[Code, str]] = {
    "another_send": (MESSAGES, with_other(SEND.format(tag=1))),
    "another_tag_not_known": (MESSAGES, with_other(SEND.format(tag="k"))),
    "another_receive": (MESSAGES, with_other(RECV.format(source=0, tag=1))),
    "two_in_the_unit": (MESSAGES, program(behind="  " + SEND.format(tag=1))),
    "any_tag_elsewhere": (MESSAGES, with_other(RECV.format(source=0, tag="MPI_ANY_TAG"))),
    "any_source_elsewhere": (MESSAGES, with_other(RECV.format(source="MPI_ANY_SOURCE", tag=3))),
    "any_source": (MESSAGES, changed("left, 1, comm, s", "MPI_ANY_SOURCE, 1, comm, s")),
    "any_tag": (MESSAGES, changed("left, 1, comm, s", "left, MPI_ANY_TAG, comm, s")),
    "a_probe": (
        MESSAGES,
        with_other("if (k < 0) call MPI_Probe(0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)"),
    ),
    "sent_and_received": (
        MESSAGES,
        with_other(
            "if (k < 0) call MPI_Sendrecv(u, 1, MPI_DOUBLE_PRECISION, 0, 2, u(9), 1, &\n"
            "    MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)"
        ),
    ),
    "prepared": (
        MESSAGES,
        with_other(
            "if (k < 0) call MPI_Send_init(u, 1, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, &\n"
            "    i, ierr)"
        ).replace("integer :: k, ierr", "integer :: k, ierr, i"),
    ),
    "a_send_by_another_name": (
        MESSAGES,
        with_other("call give(u, 1, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, ierr)").replace(
            "  use mpi\n  implicit none\n  real(8) :: u(*)",
            "  use mpi, give => MPI_Send\n  implicit none\n  real(8) :: u(*)",
        ),
    ),
    "a_send_of_a_generic_name": (
        MESSAGES,
        with_other("call give(u, 1, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, ierr)").replace(
            "subroutine other", "module gives\n  use mpi\n  interface give\n"
            "    procedure MPI_Send\n  end interface\nend module gives\nsubroutine other", 1
        ).replace("  use mpi\n  implicit none\n  real(8) :: u(*)",
                  "  use gives\n  implicit none\n  real(8) :: u(*)"),
    ),
    "a_send_as_an_argument": (
        MESSAGES,
        with_other("call MPI_Barrier(MPI_COMM_WORLD, ierr)\n  call pass(MPI_Send)")
        + "subroutine pass(f)\n  external :: f\nend subroutine pass\n",
    ),
    "unknown_procedure": (MESSAGES, program(more="  call somewhere(u)")),
    "no_main": (MESSAGES, program().split("program main", maxsplit=1)[0]),
    "ready_send": (MESSAGES, with_other(SEND.format(tag=2).replace("MPI_Send", "MPI_Rsend"))),
    "datatype": (
        MESSAGES,
        changed(
            "MPI_Recv(west, n, MPI_DOUBLE_PRECISION", "MPI_Recv(west, n, MPI_REAL8"
        ),
    ),
    "shorter": (PARTS, changed("MPI_Send(east, n,", "MPI_Send(east, n - 1,")),
    "halves": (PARTS, changed("MPI_Recv(west, n,", "MPI_Recv(west, n/2,")),
    "number_varies": (
        PARTS,
        program()
        .replace("integer, parameter :: n = 12, m = 2000", "integer, parameter :: m = 400\n  "
                 "integer :: n = 12")
        .replace("real(8) :: west(n), east(n)", "real(8) :: west(12), east(12)"),
    ),
    "no_nest_alike": (PARTS, program(nest(rows="2, n"))),
    "backwards": (PARTS, program(nest(rows="n, 1, -1"))),
    "strided": (PARTS, program(nest(rows="1, n, 2"))),
    "later_part": (NEEDED, program(nest("u(i,j) = u(i,j) + u(0,n)"))),
    "next_part": (NEEDED, program(nest("u(i,j) = u(i,j) + u(i-1,j+1)"))),
    "later_element_of_the_buffer": (NEEDED, program(nest("u(i,j) = u(i,j) + west(n)"))),
    "changed_later": (NEEDED, program(nest("u(i,j-1) = u(i,j)"))),
    "anywhere": (NEEDED, program(nest("u(i,k) = u(i,j)"))),
    "sent_before_it_is_complete": (NEEDED, program(nest(POINT, "east(1) = u(i,j)"))),
    "unpacked_over": (
        NEEDED, changed("      u(0,j) = west(j)\n", "      u(0,j) = west(j)\n      u(m,1) = 0\n")
    ),
    "carried": (
        NEEDED,
        changed("u(0,j) = west(j)", "t = west(j)", work=nest("u(i,j) = t + u(i-1,j)")),
    ),
    "condition": (BETWEEN, program(nest(POINT, "if (u(i,j) < 0) left = MPI_PROC_NULL"))),
    "printed": (BETWEEN, program("  print *, u(0,n)\n" + nest())),
    "printed_inside": (PARTS, program(nest(POINT, "if (u(i,j) < 0) print *, i"))),
    "barrier": (BETWEEN, program(nest() + "  call MPI_Barrier(comm, ierr)\n")),
    "return": (BETWEEN, program(nest() + "  if (k < 0) return\n")),
    "exit": (
        PARTS, program("  do j = 1, n\n    if (u(0,j) < -9) exit\n    u(m,j) = u(0,j)\n  end do\n")
    ),
    "sum_between": (
        BETWEEN, program("  t = sum(u(0,1:n))\n" + nest("u(i,j) = u(i,j) + t*u(i-1,j)"))
    ),
    "destination": (BETWEEN, program(nest() + "  right = right + 0\n")),
    "variable": (PARTS, program(nest() + "  u(0,0) = j\n")),
    "first_nest_needs_it": (NEEDED, program(nest() + nest("u(i,j) = 1"))),
}  # fmt: skip


WAVE = """\
program main
  use mpi
  implicit none
  integer, parameter :: n = 200001
  real(8) :: v(n), east(n), west(n)
  integer :: j, ierr, me, np
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  west = 0
  if (me > 0) call MPI_Recv(west, n, MPI_DOUBLE_PRECISION, me - 1, 1, MPI_COMM_WORLD, &
                            MPI_STATUS_IGNORE, ierr)
  do j = 1, n
    v(j) = sin(dble(j)/100) + exp(-dble(j)/n) + west(j)*0.5d0
    east(j) = v(j)
  end do
  if (me < np - 1) call MPI_Send(east, n, MPI_DOUBLE_PRECISION, me + 1, 1, MPI_COMM_WORLD, ierr)
  if (me == np - 1) print '(z16.16)', v
  call MPI_Finalize(ierr)
end program main
"""


def test_the_error_code_of_a_wave_is_stored_by_a_call_that_stays(tmp_path: Path) -> None:
    text = WAVE.replace("if (me > 0) call MPI_Recv", "call MPI_Recv")
    text = text.replace("me - 1, 1,", "merge(me - 1, MPI_PROC_NULL, me > 0), 1,")
    text = text.replace("if (me < np - 1) call MPI_Send", "call MPI_Send")
    text = text.replace("me + 1, 1,", "merge(me + 1, MPI_PROC_NULL, me < np - 1), 1, &\n    ")
    text = text.replace("  call MPI_Finalize", "  print *, ierr\n  call MPI_Finalize")
    tree = Stepped.of(tmp_path / "known", {"a.f90": text})
    tree.accepted = frozenset({"bits"})
    assert [type(step) for step in tree.steps(pipelining)] == [pipelining.Pipeline]
    # the send relies on the receive, whose own code nothing reads
    text = text.replace("  west = 0\n", "  west = 0\n  ierr = 7\n")
    tree = Stepped.of(tmp_path / "stored", {"a.f90": text})
    tree.accepted = frozenset({"bits"})
    assert tree.steps(pipelining) == []


def test_other_bounds_may_change_last_digits(tmp_path: Path) -> None:
    tree = Stepped.of(tmp_path, {"a.f90": WAVE})
    tree.any_sizes = True
    (refused,) = tree.refusals(pipelining)
    assert (refused.code, refused.lifted_by) == (DIGITS, "bits")
    for accepted in ("bits", "bits@main:11", "bits@main:17"):
        tree.accepted = frozenset({accepted})
        assert [step.assumed for step in tree.steps(pipelining)] == [("bits",)]
    tree.accepted = frozenset({"bits@main:10"})
    assert tree.steps(pipelining) == []


def test_inner_loops_keep_their_bounds(tmp_path: Path) -> None:
    tree = Stepped.of(
        tmp_path, {"a.f90": program(nest(POINT, "u(i,j) = sin(u(i,j))").replace("1, m", "1, 2000"))}
    )
    tree.any_sizes = True
    assert [step.assumed for step in tree.steps(pipelining)] == [()]


def test_optimised_programs_print_the_same(tmp_path: Path) -> None:
    """Without the assumption; and with it, as long as tiles hold whole vectors."""
    installed(OPENMPI)
    files = {"a.f90": WAVE}
    expected = outputs(tmp_path / "before", OPENMPI, files, (2,), level="-O3")
    made, header = transformed(tmp_path, files)
    assert "asphalt_k_" not in header
    made, header = transformed(tmp_path / "assumed", files, accepted=frozenset({"bits"}))
    assert made["a.f90"].count("! asphalt: assumed: bits\n") == 1
    assert outputs(tmp_path / "tiles", OPENMPI, made, (2,), header, "-O3") == expected
    odd = with_values(header, 5, 4)
    assert outputs(tmp_path / "odd", OPENMPI, made, (2,), odd, "-O3") != expected


QUICK = {
    *("another_send", "another_receive", "any_source", "any_tag", "unknown_procedure", "no_main"),
    *("number_varies", "shorter", "later_part", "sent_before_it_is_complete", "carried"),
    *("return", "barrier", "destination", "plain", "temporary", "moved_behind"),
}
"""One or two for each rule; the others are tested among the wide ones."""


def _names(programs: Iterable[str]) -> list[ParameterSet]:
    return [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.wide)
        for name in sorted(programs)
    ]


@pytest.mark.parametrize("name", _names(REFUSED))
def test_messages_stay_whole(name: str, tmp_path: Path) -> None:
    code, text = REFUSED[name]
    tree = Stepped.of(tmp_path / "src", {"a.f90": text})
    tree.any_sizes = True
    assert code in [one.code for one in tree.refusals(pipelining)]
    assert tree.steps(pipelining) == []


_STATUS = "  call MPI_Get_count(status, MPI_DOUBLE_PRECISION, i, ierr)\n  u(0,0) = i\n"


@pytest.mark.parametrize(
    "text",
    [
        program(behind=_STATUS),  # the count of the whole message
        program(nest() + "  if (ierr /= 0) u = 0\n"),  # its error
        changed("  if (right /= MPI_PROC_NULL) then", "  if (k == 1) then\n    u = 0\n  else"),
        changed("  if (left /= MPI_PROC_NULL) then", "  do while (left /= MPI_PROC_NULL)").replace(
            "  end if\n  ! the work", "    exit\n  end do\n  ! the work"
        ),
        changed("call MPI_Send(", "call MPI_Bsend("),
    ],
    ids=["status", "error", "one_path", "in_a_loop", "buffered"],
)
def test_messages_of_other_kinds_are_left_alone(text: str, tmp_path: Path) -> None:
    tree = Stepped.of(tmp_path / "src", {"a.f90": text})
    tree.any_sizes = True
    assert tree.found(pipelining) == []


_SENDS = """\
  if (right /= MPI_PROC_NULL) then
    do j = 1, n
      east(j) = u(m,j)
    end do
    call MPI_Send(east, n, MPI_DOUBLE_PRECISION, right, 1, comm, ierr)  ! to the east
  end if
"""
ALONE = changed(
    _SENDS,
    "  call MPI_Send(east, n, MPI_DOUBLE_PRECISION, right, 1, comm, ierr)\n",
    work=nest().replace("    end do\n", "    end do\n    east(j) = u(m,j)\n"),
)
"""The send is a statement of its own, under no condition."""
TOKEN = (
    ALONE.replace(
        "  if (left /= MPI_PROC_NULL) then\n",
        """\
  other = 0
  token = k
  west(1) = k
  call MPI_Send(token, 1, MPI_INTEGER, left, 2, comm, ierr)
  token = token + int(west(1))
  if (left /= MPI_PROC_NULL) then
""",
        1,
    )
    .replace(
        "  ! to the next\n",
        """\
  do i = 1, m
    row(i) = row(i) + other + u(i,1)
  end do
  call MPI_Recv(other, 1, MPI_INTEGER, right, 2, comm, status, ierr)
  do i = 1, m
    row(i) = row(i) + other
  end do
  u(2,0) = row(2)
  ! to the next
""",
    )
    .replace("  real(8) :: t, row(m)\n", "  real(8) :: t, row(m)\n  integer :: token, other\n")
    .replace("  other = 0\n", "  other = 0\n  row = 0\n")
)
"""The next rank sends a token before it receives: motion brings the send in front of that."""


ALLOWED = {
    "plain": program(),
    "alone": ALONE,
    "another_tag": with_other(SEND.format(tag=2) + "\n  " + RECV.format(source=0, tag=2)),
    "own_part_of_the_buffer": program(nest("u(i,j) = u(i,j) + u(i-1,j) + west(j)")),
    "earlier_parts": program(nest("u(i,j) = u(i,j) + u(i-1,j-1)")),
    "two_nests": program(nest("u(i,j) = u(i,j) + u(i-1,j)") + nest("u(i,j) = u(i,j) + u(i,j-1)")),
    "temporary": program(nest("t = u(i-1,j)", "u(i,j) = u(i,j) + t") + nest("t = 1", "u(i,j) = t")),
    "row": program(nest("row(i) = u(i-1,j)", "u(i,j) = u(i,j) + row(i)")),
    "moved_before": program("  u(3,0) = u(2,0)\n" + nest()),
    "moved_behind": program(nest() + "  t = u(1,n)\n  u(m,0) = t\n"),
    "elements": changed("(west, n,", "(west(1), n,"),
    "unconditional": changed("if (left /= MPI_PROC_NULL) then", "if (.true.) then"),
}


@pytest.mark.parametrize("name", _names(ALLOWED))
def test_nests_are_cut(name: str, tmp_path: Path) -> None:
    tree = Stepped.of(tmp_path / "src", {"a.f90": ALLOWED[name]})
    tree.any_sizes = True
    assert [one.does for one in tree.steps(pipelining)] != []


EMITTED = """\
  ! asphalt: K of sweep_j in asphalt_params.inc; 0: chosen here, the same on all ranks
  asphalt_k_1 = asphalt_segment(asphalt_k_sweep_j,n,4.0+12.0*m)
  if (left /= MPI_PROC_NULL) then
    do asphalt_lo_1 = 1, n, asphalt_k_1
      asphalt_hi_1 = min(asphalt_lo_1 + asphalt_k_1 - 1, n)
      call asphalt_irecv(west(asphalt_lo_1), asphalt_hi_1 - asphalt_lo_1 + 1, &
                         MPI_DOUBLE_PRECISION, left, 1, comm, asphalt_requests_1(asphalt_lo_1))
    end do
  end if
  ! asphalt: tiles of K iterations over j, each with its part of the messages
  do asphalt_lo_1 = 1, n, asphalt_k_1
    asphalt_hi_1 = min(asphalt_lo_1 + asphalt_k_1 - 1, n)
    if (left /= MPI_PROC_NULL) then
      call asphalt_wait(asphalt_requests_1(asphalt_lo_1), west)  ! from the west
      do j = asphalt_lo_1, asphalt_hi_1
        u(0,j) = west(j)
      end do
    end if
    ! the work
    do j = asphalt_lo_1, asphalt_hi_1
      do i = 1, m
        u(i,j) = 0.5d0*u(i,j) + 0.25d0*(u(i-1,j) + u(i,j-1))
      end do
    end do

    ! to the next
    if (right /= MPI_PROC_NULL) then
      do j = asphalt_lo_1, asphalt_hi_1
        east(j) = u(m,j)
      end do
      ! to the east
      if ((asphalt_lo_1 - 1)/asphalt_k_1 >= asphalt_d_sweep_j) then
        call asphalt_wait(asphalt_requests_2(asphalt_lo_1-asphalt_d_sweep_j*asphalt_k_1), east)
      end if
      call asphalt_isend(east(asphalt_lo_1), asphalt_hi_1 - asphalt_lo_1 + 1, &
                         MPI_DOUBLE_PRECISION, right, 1, comm, asphalt_requests_2(asphalt_lo_1))
    end if
  end do
  if (right /= MPI_PROC_NULL) then
    do asphalt_lo_1 = 1, n, asphalt_k_1
      call asphalt_wait(asphalt_requests_2(asphalt_lo_1), east)
    end do
  end if
"""


def test_the_text(tmp_path: Path) -> None:
    tree = Stepped.of(tmp_path / "src", {"a.f90": program()})
    tree.any_sizes = True
    assert tree.applied(pipelining) == 1
    text = tree.text("a.f90")
    begin = text.index("  ! asphalt: K of")
    assert text[begin : text.index("end subroutine sweep")].rstrip() == EMITTED.rstrip()
    assert "  include 'asphalt_params.inc'\n" in text
    assert "  integer :: asphalt_requests_1(n), asphalt_requests_2(n)\n" in text


def test_a_send_alone(tmp_path: Path) -> None:
    tree = Stepped.of(tmp_path / "src", {"a.f90": ALONE})
    tree.any_sizes = True
    assert tree.applied(pipelining) == 1
    text = tree.text("a.f90")
    begin = text.index("      east(j) = u(m,j)")
    assert text[begin : text.index("end subroutine sweep")].rstrip() == EMITTED_ALONE.rstrip()


EMITTED_ALONE = """\
      east(j) = u(m,j)
    end do

    ! to the next
    if ((asphalt_lo_1 - 1)/asphalt_k_1 >= asphalt_d_sweep_j) then
      call asphalt_wait(asphalt_requests_2(asphalt_lo_1-asphalt_d_sweep_j*asphalt_k_1), east)
    end if
    call asphalt_isend(east(asphalt_lo_1), asphalt_hi_1 - asphalt_lo_1 + 1, MPI_DOUBLE_PRECISION, &
                       right, 1, comm, asphalt_requests_2(asphalt_lo_1))
  end do
  do asphalt_lo_1 = 1, n, asphalt_k_1
    call asphalt_wait(asphalt_requests_2(asphalt_lo_1), east)
  end do
"""


BARE = re.sub(
    r"  if \(left /=.*?\n  end if\n",
    "  ! what comes\n  call MPI_Recv(west, n, MPI_DOUBLE_PRECISION, left, 1, comm, status, ierr)\n",
    program(nest("u(i,j) = 0.5d0*u(i,j) + 0.25d0*(u(i-1,j) + west(j))")).replace(
        "  real(8) :: t, row(m)\n", "  real(8) :: t, row(m)\n  west = 0\n"
    ),
    count=1,
    flags=re.S,
)


def test_a_receive_without_condition_becomes_a_wait(tmp_path: Path) -> None:
    made, _ = transformed(tmp_path, {"a.f90": BARE})
    assert "MPI_Recv" not in made["a.f90"]
    assert made["a.f90"].count("! what comes") == 1
    assert made["a.f90"].count("call asphalt_await_segment(asphalt_segments_1, west)") == 1


def test_no_wait_comes_in_front_of_a_receive(tmp_path: Path) -> None:
    """The next rank receives no part of what is sent before its token is received."""
    made, _ = transformed(tmp_path, {"a.f90": TOKEN})
    _, _, text = made["a.f90"].partition("tiles of K")
    tiles, _, behind = text.partition("call MPI_Recv(other")
    assert "call asphalt_send_segment(asphalt_segments_1, east" in tiles
    assert "d=asphalt_d_sweep_j" not in made["a.f90"]
    assert "call asphalt_finish_segments(asphalt_segments_1, east)" in behind


def test_messages_that_are_non_blocking_already(tmp_path: Path) -> None:
    tree = Stepped.of(tmp_path / "src", {"a.f90": program()})
    tree.any_sizes = True
    text = tree.text("a.f90")
    for _ in range(2):
        facts, step = next((f, s) for f, s in tree.found(nonblocking) if f.unit.name == "sweep")
        assert not hasattr(step, "code")
        tree.apply(nonblocking, facts, step)  # type: ignore[arg-type]
    assert tree.text("a.f90") != text
    # a send that is waited for in the same branch is none of the list
    assert tree.found(pipelining) == []


FIXED = {
    "sizes.inc": "      integer, parameter :: n = 8, m = 900\n",
    "wave.f": """\
      PROGRAM WAVE
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      INCLUDE 'sizes.inc'
      DOUBLE PRECISION U(3,0:M,0:N)
      INTEGER ME, NP, STEP, IERR, I, J, L
      COMMON /RANKS/ ME, NP
      CALL MPI_INIT(IERR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, ME, IERR)
      CALL MPI_COMM_SIZE(MPI_COMM_WORLD, NP, IERR)
      DO 5 J = 0, N
      DO 5 I = 0, M
      DO 5 L = 1, 3
    5 U(L,I,J) = MOD(5*I + 3*J + L + ME, 13)
      DO STEP = 1, 40
         CALL SWEEP(N, U)
      END DO
      PRINT '(I3, 2ES25.17)', ME, U(2,M,N), SUM(U)
      CALL MPI_FINALIZE(IERR)
      END

C     FROM THE LEFT TO THE RIGHT
      SUBROUTINE SWEEP(LN, U)
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      INCLUDE 'sizes.inc'
      INTEGER LN, I, J, L, IERR, ISTAT(MPI_STATUS_SIZE)
      DOUBLE PRECISION U(3,0:M,0:N), DUM(3,M+N), DUM1(3,M+N)
      INTEGER ME, NP
      COMMON /RANKS/ ME, NP
      IF (ME .GT. 0) THEN
         CALL MPI_RECV(DUM1, 3*N, MPI_DOUBLE_PRECISION, ME-1, 7,
     &        MPI_COMM_WORLD, ISTAT, IERR)
         DO 10 J = 1, N
         DO 10 L = 1, 3
   10    U(L,0,J) = DUM1(L,J)
      END IF
      DO 20 J = 1, LN
      DO 20 I = 1, M
      DO 20 L = 1, 3
   20 U(L,I,J) = 0.5D0*U(L,I,J) + 0.3D0*U(L,I-1,J) + 0.1D0*U(L,I,J-1)
      IF (ME .LT. NP - 1) THEN
         DO 30 J = 1, N
         DO 30 L = 1, 3
   30    DUM(L,J) = U(L,M,J)
         CALL MPI_SEND(DUM, 3*N, MPI_DOUBLE_PRECISION, ME+1, 7,
     &        MPI_COMM_WORLD, IERR)
      END IF
      END
""",
}


def test_two_ranks_compute_the_same(tmp_path: Path) -> None:
    installed(OPENMPI)
    made, header = transformed(tmp_path, FIXED, 3, 1)
    assert "DO WHILE (ASPHALT_NEXT_SEGMENT(ASPHALT_SEGMENTS_1))" in made["wave.f"]
    assert re.findall(r"asphalt_([kd])_\w+_j = (\d+)", header) == [("k", "3"), ("d", "1")]
    expected = output(tmp_path / "before", OPENMPI, FIXED, 2)
    assert output(tmp_path / "after", OPENMPI, made, 2, header) == expected


def _back(text: str) -> str:
    """The same from the other side, with another tag."""
    for before, after in (
        ("subroutine sweep", "subroutine back"),
        ("left, 1, comm", "left, 2, comm"),
        ("right, 1, comm", "right, 2, comm"),
    ):
        text = text.replace(before, after)
    return text


_ONE = SWEEP.format(nest=nest(), declared="", behind="")
_CALLED = "    call sweep(u, left, right, MPI_COMM_WORLD, step)\n"
_BOTH = MAIN.format(more="").replace(
    _CALLED, _CALLED + "    call back(u, right, left, MPI_COMM_WORLD, step)\n"
)
_BODY = re.compile(r"  if \(left /= .*(?=\nend subroutine)", re.S)
_THERE = _BODY.search(_ONE)
assert _THERE is not None
_AND_BACK = re.sub(
    r"left|right", lambda side: {"left": "right", "right": "left"}[side[0]], _back(_THERE[0])
).replace("right, 1", "right, 2").replace("left, 1", "left, 2")  # fmt: skip
TWO_PROCEDURES = GRID + _ONE + _back(_ONE) + _BOTH
TWO_NESTS = GRID + _ONE.replace(_THERE[0], _THERE[0] + _AND_BACK) + MAIN.format(more="")


def test_a_name_in_the_header_is_new(tmp_path: Path) -> None:
    """Neither K nor D has a name that a unit has already."""
    text = program(declared="  real(8) :: asphalt_d_sweep_j", behind="  asphalt_d_sweep_j = 2\n")
    _, header = transformed(tmp_path, {"a.f90": text})
    assert set(re.findall(r"asphalt_[kd]_(\w+) =", header)) == {"sweep_j_2"}


@pytest.mark.parametrize(
    ("text", "sites"),
    [(TWO_PROCEDURES, {"back_j", "sweep_j"}), (TWO_NESTS, {"sweep_j", "sweep_j_2"})],
    ids=["procedures", "nests"],
)
def test_a_program_may_have_several(text: str, sites: set[str], tmp_path: Path) -> None:
    made, header = transformed(tmp_path, {"a.f90": text})
    assert set(re.findall(r"asphalt_k_(\w+) =", header)) == sites
    assert made["a.f90"].count("call asphalt_begin_segments(") == 2
    assert made["a.f90"].count("include 'asphalt_params.inc'") == made["a.f90"].count(
        "use asphalt_segments"
    )


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (
            2000,
            {
                "is cut into tiles along j, K and D of sweep_j in asphalt_params.inc",
                "is cut into tiles along j, K and D of sweep_j_2 in asphalt_params.inc",
            },
        ),
        pytest.param(
            20,
            {"is posted before its loop, in main", "overlaps with do asphalt_j_1 = 1, n, in main"},
            marks=pytest.mark.wide,
        ),
    ],
    ids=["tiles", "ahead"],
)
def test_messages(columns: int, expected: set[str], tmp_path: Path) -> None:
    (tmp_path / "a.f90").write_text(TWO_NESTS.replace("m = 2000", f"m = {columns}"))
    settings = replace(Settings(cache=False, jobs=1), passes=("transfers",))
    (change,) = Project(tmp_path, settings=settings).transform()
    assert {site.message for site in change.sites} == expected


@pytest.mark.wide
@pytest.mark.parametrize("mpi", [OPENMPI, MPICH, SMPI], ids=lambda mpi: mpi.name)
@pytest.mark.parametrize(
    "files",
    [{"a.f90": t} for t in (program(), TWO_PROCEDURES, TWO_NESTS, BARE)] + [FIXED],
    ids=["free", "two_procedures", "two_nests", "bare", "fixed"],
)
def test_all_ranks_compute_the_same(mpi: Mpi, files: dict[str, str], tmp_path: Path) -> None:
    installed(mpi)
    made, header = transformed(tmp_path, files)
    for ranks in (1, 2, 3, 5):
        expected = output(tmp_path / "before", mpi, files, ranks)
        for tile, depth in ((0, 4), (1, 1), (1, 3), (3, 1), (5, 2), (8, 1), (99, 9)):
            values = with_values(header, tile, depth)
            assert output(tmp_path / "after", mpi, made, ranks, values) == expected


@pytest.mark.wide
def test_little_work_is_not_cut(tmp_path: Path) -> None:
    files = {"a.f90": program().replace("m = 2000", "m = 90")}
    made, header = transformed(tmp_path, files)
    assert header == ""
    assert "asphalt_segment" not in made["a.f90"]


@pytest.mark.parametrize("code", sorted(code.id for code in CODES))
def test_examples(code: str) -> None:
    examples = examples_of(code)
    assert examples.refused is not None
    tree = Stepped.at(examples.refused)
    tree.any_sizes = True
    assert {one.code.id for one in tree.refusals(pipelining)} == {code}
    mended = Stepped.at(examples.accepted)
    mended.any_sizes = True
    assert mended.refusals(pipelining) == []
    assert len(mended.steps(pipelining)) == 1
