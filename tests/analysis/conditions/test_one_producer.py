"""Condition 1: one nest defines what is sent, and it runs exactly as often as the call."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.judging import CALL, NEST, Case, assert_accepted, assert_refused, program, site

IN_A_PROCEDURE = """\
subroutine fill(x)
  real(8), intent(out) :: x(n,nz,np)
  x = 1.5d0
end subroutine fill
"""
ONE_PLANE = """\
subroutine fill(x, z)
  real(8), intent(out) :: x(n,nz,np)
  integer, intent(in) :: z
  x(:,z,:) = z
end subroutine fill
"""
GUARDED = f"if (np > 1) then\n{NEST}end if\n"
EXIT = "do z = 1, nz\n  if (z > 5) exit\n  s(:,z,:) = z\nend do\n"
WHILE = "z = 1\ndo while (z <= nz)\n  s(:,z,:) = z\n  z = z + 1\nend do\n"
COUNTED = "do z = 1, nz\n  s(:,z,:) = z\nend do\n"
BOUND_CHANGES = "last = nz\ndo z = 1, last\n  s(:,z,:) = z\n  last = nz\nend do\n"
WORK = "do z = 1, nz\n  w(:,z,:) = sqrt(dble(z))\nend do\n"
BACKWARDS = """\
do z = 1, nz
  do p = 1, np
    do i = 1, n
      s(i,z,p) = w(i,nz+1-z,p)
    end do
  end do
end do
"""
STRAIGHT = BACKWARDS.replace("nz+1-z", "z")
SUM = """\
do p = 1, np, 2
  do z = 1, nz
    x = x + z
    s(:,z,p) = x
  end do
end do
"""
JUMP_IN = """\
if (nz > 100) goto 10
do z = 1, nz
  s(:,z,:) = z
10 continue
end do
"""
JUMP_OUT = """\
do z = 1, nz
  if (nz > 100) goto 10
  s(:,z,:) = z
end do
10 continue
"""
FILE_END = "read (1, *, end=10) p\n"
ALTERNATE = "subroutine again(*)\n  if (nz > 100) return 1\nend subroutine again\n"
WORKSPACE = "real(8), allocatable :: w(:,:,:)\n"
ALLOCATED = "allocate(w(n,nz,np))\n"
USED = "print *, sum(s)\n"  # so that packing it cannot be left out

CASES = (
    Case("ASP101", "no-loop", program(nest="s = 1.5d0\n"), program(nest=COUNTED)),
    Case("ASP101", "nothing-at-all", program(nest=NEST.replace("s(", "r(")), program()),
    Case(
        "ASP101",
        "a-procedure-defines-it",
        program(nest="call fill(s)\n", contained=IN_A_PROCEDURE),
        program(nest=COUNTED, contained=IN_A_PROCEDURE),
    ),
    Case("ASP102", "nest-under-a-condition", program(nest=GUARDED), program()),
    Case(
        "ASP102",
        "call-under-a-condition",
        program(call=f"if (np > 1) then\n{CALL}end if\n"),
        program(nest=f"if (np > 1) then\n{NEST}", call=f"{CALL}end if\n"),
    ),
    Case(
        "ASP102",
        "call-with-a-condition-of-its-own",
        program(call=f"if (np > 1) {CALL}"),
        program(),
    ),
    Case(
        "ASP102",
        "call-repeated",
        program(nest=f"{NEST}do i = 1, 3\n", call=f"{CALL}end do\n"),
        program(nest=f"do it = 1, 3\n{NEST}", call=f"{CALL}end do\n", declare="integer :: it\n"),
    ),
    Case("ASP103", "exit", program(nest=EXIT), program(nest=EXIT.replace("exit", "i = z"))),
    Case("ASP103", "jump-out", program(nest=JUMP_OUT), program(nest=COUNTED)),
    Case("ASP103", "jump-in", program(nest=JUMP_IN), program(nest=COUNTED)),
    Case(
        "ASP103",
        "input-leads-past-the-nest",
        program(nest=f"{FILE_END}{NEST}", between="10 continue\n"),
        program(nest=f"{FILE_END}10 continue\n{NEST}"),
    ),
    Case(
        "ASP103",
        "alternate-return-leads-past-the-nest",
        program(nest=f"call again(*10)\n{NEST}", between="10 continue\n", contained=ALTERNATE),
        program(nest=f"call again(*10)\n10 continue\n{NEST}", contained=ALTERNATE),
    ),
    Case(
        "ASP103",
        "repeated-without-the-call",
        program(nest=f"10 continue\n{NEST}", between="i = i + 1\nif (i < 10) goto 10\n"),
        program(nest=f"10 continue\n{NEST}", after="i = i + 1\nif (i < 10) goto 10\n"),
    ),
    Case("ASP104", "while", program(nest=WHILE), program(nest=COUNTED)),
    Case(
        "ASP104",
        "step",
        program(nest=COUNTED.replace("1, nz", "1, nz, 2")),
        program(nest=COUNTED.replace("1, nz", "1, nz, 1")),
    ),
    Case(
        "ASP104",
        "bounds-change",
        program(nest=BOUND_CHANGES, declare="integer :: last\n"),
        program(nest=BOUND_CHANGES.replace("  last = nz\n", ""), declare="integer :: last\n"),
    ),
    Case(
        "ASP104",
        "real-loop-variable",
        program(nest=COUNTED.replace("do z", "do x"), declare="real :: x\n"),
        program(nest=COUNTED, declare="real :: x\n"),
    ),
    Case(
        "ASP105",
        "planes-in-another-order",
        program(declare=WORKSPACE, before=ALLOCATED, nest=WORK + BACKWARDS, after=USED),
        program(declare=WORKSPACE, before=ALLOCATED, nest=WORK + STRAIGHT, after=USED),
    ),
    Case(
        "ASP105",
        "planes-in-another-order-and-used-later",
        program(declare=WORKSPACE, before=ALLOCATED, nest=WORK + BACKWARDS, after=USED),
        program(declare=WORKSPACE, before=ALLOCATED, nest=WORK + BACKWARDS),
    ),
    Case(
        "ASP105",
        "computed-by-no-loop",
        program(declare=WORKSPACE, before=ALLOCATED, nest=f"w = 1.5d0\n{STRAIGHT}"),
        program(declare=WORKSPACE, before=ALLOCATED, nest=f"w = 1.5d0\n{WORK}{STRAIGHT}"),
    ),
    Case(
        "ASP106",
        "running-sum",
        program(declare="real(8) :: x\n", before="x = 0\n", nest=SUM),
        program(
            declare="real(8) :: x\n",
            before="x = 0\n",
            nest=SUM.replace("x = x + z", "x = p + z"),
        ),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_refused(case: Case, tmp_path: Path) -> None:
    assert_refused(case, tmp_path)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_accepted_with_a_small_change(case: Case, tmp_path: Path) -> None:
    assert_accepted(case, tmp_path)


def test_the_order_that_would_change_has_a_witness(tmp_path: Path) -> None:
    running = next(case for case in CASES if case.name == "running-sum")
    report = site(tmp_path, running.refused).report
    assert "the order of x" in report.message
    assert report.witness is not None
    assert "line" in report.witness


WITNESSES = {
    "no-loop": "the definition in line 13 reaches the call",
    "a-procedure-defines-it": "the definition in line 13 reaches the call",
    "nest-under-a-condition": "from the entry; line 13: the condition is false; line 22",
    "call-under-a-condition": (
        "line 13: there are no more iterations; line 20: the condition is false; "
        "to the end of the procedure"
    ),
    "call-with-a-condition-of-its-own": (
        "line 13: there are no more iterations; line 20: the condition is false; "
        "to the end of the procedure"
    ),
    "call-repeated": (
        "line 13: there are no more iterations; line 20: there are no more iterations; "
        "to the end of the procedure"
    ),
    "exit": "line 14: the condition is true; line 14: it leaves the loop; line 17",
    "jump-out": "line 14: the condition is true; line 14: it goes to label 10; line 17",
    "jump-in": "line 13: the condition is true; line 13: it goes to label 10; line 16",
    "input-leads-past-the-nest": (
        "from the entry; line 13: an I/O condition leads to label 10; line 22"
    ),
    "alternate-return-leads-past-the-nest": (
        "from the entry; line 13: it returns to label 10; line 22"
    ),
    "repeated-without-the-call": (
        "line 14: there are no more iterations; line 22: the condition is true; "
        "line 22: it goes to label 10; line 14"
    ),
}


@pytest.mark.parametrize("name", WITNESSES)
def test_the_way_that_breaks_it(name: str, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name == name)
    assert site(tmp_path, case.refused).report.witness == WITNESSES[name]


def test_a_definition_behind_the_nest_is_the_witness(tmp_path: Path) -> None:
    report = site(tmp_path, program(between="s(1,1,1) = 0\n")).report
    assert report.code == "ASP601"
    assert report.witness == "the definitions in lines 11, 16 and 20 reach the call"


_RUNNING = """\
subroutine pack(s, r, w, first, np, n, nz)
  use mpi
  implicit none
  integer, intent(in) :: np, n, nz, first(np)
  real(8), intent(inout) :: s(n*nz*np), r(n*nz*np)
  real(8), intent(in) :: w(n*nz*np)
  integer :: ierr, p, k, i, at
  at = 0
  do p = 1, np
    do k = 1, nz
      do i = 1, n
        s(i + (k - 1)*n + (p - 1)*n*nz) = {value}
      end do
    end do
    at = at + first(p)
  end do
  call MPI_Alltoall(s(1), n*nz, MPI_REAL8, r(1), n*nz, MPI_REAL8, MPI_COMM_WORLD, ierr)
end subroutine pack
"""


def test_a_copy_with_scalars_for_its_subscripts_is_told_as_a_copy(tmp_path: Path) -> None:
    """Subscripts in another form would not help it; they do what computes."""
    copies = site(tmp_path, _RUNNING.format(value="w(at + i + (k - 1)*nz)")).report
    assert copies.code == "ASP105"
    assert copies.message.endswith("no nest before it computes what is copied")
    computes = site(tmp_path, _RUNNING.format(value="2*w(at + i + (k - 1)*nz)")).report
    assert computes.code == "ASP902"
