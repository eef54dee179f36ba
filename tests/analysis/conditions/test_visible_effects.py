"""Condition 7: nothing that another rank, or the outside, can see happens before the call."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support.judging import (
    CALL,
    NEST,
    SETTINGS,
    Case,
    assert_accepted,
    assert_refused,
    program,
    project,
    site,
    transformed,
)

PLAIN = "do z = 1, nz\n  s(:,z,:) = z\nend do\n"
PRINTS = "do z = 1, nz\n  s(:,z,:) = z\n  print *, z\nend do\n"
STOPS = "do z = 1, nz\n  if (z > 100) stop\n  s(:,z,:) = z\nend do\n"
WORKS = "do z = 1, nz\n  call work(s(:,z,1))\n  s(:,z,:) = z\nend do\n"
BLOCK = "do z = 1, nz\n  block\n    real :: x\n    x = z\n    s(:,z,:) = x\n  end block\nend do\n"
ALLOCATES = """\
do z = 1, nz
  allocate(t(n))
  t = z
  s(:,z,1) = t
  s(:,z,:) = z
  deallocate(t)
end do
"""
WORK = """\
subroutine work(x)
  real(8), intent(out) :: x(3)
  integer :: i
{body}  do i = 1, 3
    x(i) = i
  end do
end subroutine work
"""
SAVED = WORK.format(body="  integer, save :: calls = 0\n  calls = calls + 1\n")
HARMLESS = WORK.format(body="  integer :: calls\n  calls = 1\n")
STATE = "module state\n  integer :: calls = 0\nend module state\n"
COUNTS = WORK.format(body="  calls = calls + 1\n").replace("  real(8)", "  use state\n  real(8)")
INNER = "!$omp parallel\n!$omp single\ni = 1\n!$omp end single\n"
BARRIER = "call MPI_Barrier(MPI_COMM_WORLD, ierr)\n"
MEMORY = "real(8) :: w(8)\ninteger(MPI_ADDRESS_KIND) :: bytes\ninteger :: window\n"
WINDOW = """\
bytes = 64
call MPI_Win_create(w, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, window, ierr)
"""

CASES = (
    Case("ASP701", "print-in-the-nest", program(nest=PRINTS), program(nest=PLAIN)),
    Case(
        "ASP701",
        "print-before-the-call",
        program(between="print *, me\n"),
        program(after="print *, me\n"),
    ),
    Case("ASP702", "barrier", program(between=BARRIER), program(before=BARRIER)),
    Case(
        "ASP702",
        "timer",
        program(declare="real(8) :: x\n", between="x = MPI_Wtime()\n", after="if (x > 3) stop\n"),
        program(declare="real(8) :: x\n", before="x = MPI_Wtime()\n", after="if (x > 3) stop\n"),
    ),
    Case(
        "ASP702",
        "what-waits-and-what-only-asks",
        program(
            declare="logical :: flag\n",
            between="call MPI_Iprobe(0, 1, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE, ierr)\n",
        ),
        program(
            declare="integer :: bytes\n",
            between="call MPI_Type_size(MPI_DOUBLE_PRECISION, bytes, ierr)\n",
        ),
    ),
    Case(
        "ASP703",
        "no-source",
        program(nest=WORKS),
        program(nest=WORKS, beside=HARMLESS),
        verdict="assumed",
    ),
    Case(
        "ASP703",
        "hidden-state-of-an-intrinsic",
        program(
            declare="real(8) :: x\n",
            nest=PLAIN.replace("end do", "  call random_number(x)\nend do"),
        ),
        program(declare="real(8) :: x\n", nest=PLAIN.replace("end do", "  x = sqrt(2d0)\nend do")),
    ),
    Case("ASP704", "stop", program(nest=STOPS), program(nest=STOPS.replace("stop", "i = 1"))),
    Case(
        "ASP705",
        "worksharing",
        program(nest=f"!$omp parallel\n!$omp do\n{PLAIN}!$omp end parallel\n"),
        program(nest=f"!$omp parallel do\n{PLAIN}"),
    ),
    Case(
        "ASP705",
        "parallel-region-around",
        program(nest=f"!$omp parallel\n!$omp master\n{PLAIN}", after="!$omp end parallel\n"),
        program(before="!$omp parallel\ni = 1\n!$omp end parallel\n", nest=f"z = 1\n{PLAIN}"),
    ),
    Case(
        "ASP705",
        "worksharing-loop-around",
        program(
            declare="integer :: q\n",
            before="!$omp parallel do\ndo q = 1, 2\n",
            nest=PLAIN,
            after="end do\n",
        ),
        program(
            declare="integer :: q\n",
            before="do q = 1, 2\n",
            nest=PLAIN,
            after="end do\n",
        ),
    ),
    Case(
        "ASP706",
        "statement-not-understood-elsewhere",
        program(before="total = = (3\n", nest=PLAIN),
        program(before="ierr = 3\n", nest=PLAIN),
    ),
    Case(
        "ASP705",
        "conditional-compilation",
        program(nest=PLAIN.replace("end do", "!$ s(1,1,1) = 0\nend do")),
        program(nest=PLAIN.replace("end do", "! s(1,1,1) = 0\nend do")),
    ),
    Case(
        "ASP705",
        "conditional-compilation-elsewhere",
        program(nest=PLAIN, after="!$ i = 2; i = 3\n"),
        program(nest=PLAIN, declare="!$ integer :: threads\n", after="!$ i = 2\n!$ i = 3\n"),
    ),
    Case(
        "ASP705",
        "region-of-which-an-inner-one-ends",
        program(before=INNER, nest=f"z = 1\n{PLAIN}", after="!$omp end parallel\n"),
        program(before=f"{INNER}!$omp end parallel\n", nest=f"z = 1\n{PLAIN}"),
    ),
    Case(
        "ASP706",
        "procedure-with-conditional-compilation",
        program(nest=WORKS, beside=HARMLESS.replace("  do i", "  !$ x = 0; x = 1\n  do i")),
        program(nest=WORKS, beside=HARMLESS.replace("  do i", "  ! x = 0\n  do i")),
    ),
    Case(
        "ASP701",
        "output-with-openmp-alone",
        program(nest=WORKS, beside=HARMLESS.replace("  do i", "  !$ print *, x\n  do i")),
        program(nest=WORKS, beside=HARMLESS.replace("  do i", "  ! print *, x\n  do i")),
    ),
    Case("ASP706", "construct-not-understood", program(nest=BLOCK), program(nest=PLAIN)),
    Case(
        "ASP707",
        "saved-variable",
        program(nest=WORKS, beside=SAVED),
        program(nest=WORKS, beside=HARMLESS),
    ),
    Case(
        "ASP708",
        "allocate",
        program(declare="real(8), allocatable :: t(:)\n", nest=ALLOCATES),
        program(
            declare="real(8), allocatable :: t(:)\n",
            before="allocate(t(n))\n",
            nest=ALLOCATES.replace("  allocate(t(n))\n", "").replace("  deallocate(t)\n", ""),
        ),
    ),
    Case(
        "ASP709",
        "window-memory-is-stored-to",
        program(declare=MEMORY, before=WINDOW, nest=PLAIN.replace("end do", "  w(z) = z\nend do")),
        program(declare=MEMORY, before=WINDOW, nest=PLAIN, after="w = 1\n"),
    ),
    Case(
        "ASP709",
        "window-memory-is-read-before-the-call",
        program(declare=MEMORY, before=WINDOW, between="w(2) = w(1)\n"),
        program(declare=MEMORY, before=WINDOW, after="w(2) = w(1)\n"),
    ),
)

SAME = "associate (q => {selector})\n"
CHANGES = NEST.replace("  do p", "  {change}\n  do p", 1)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_refused(case: Case, tmp_path: Path) -> None:
    assert_refused(case, tmp_path)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_accepted_with_a_small_change(case: Case, tmp_path: Path) -> None:
    assert_accepted(case, tmp_path)


def test_a_module_variable_is_judged_by_its_accesses(tmp_path: Path) -> None:
    text = program(nest=WORKS, beside=STATE + COUNTS)
    assert site(tmp_path, text).report.verdict == "proved"  # tiles keep the order of the counts
    counted = text.replace("  implicit none\n", "  use state\n  implicit none\n", 1)
    used = counted.replace("MPI_Alltoall(s, n*nz,", "MPI_Alltoall(s, n*nz + calls,")
    assert site(tmp_path, used).report.code == "ASP301"  # a count that the nest changes


def test_the_message_says_in_which_line(tmp_path: Path) -> None:
    text = program(nest=PRINTS)
    line = text.splitlines().index("    print *, z") + 1
    assert site(tmp_path, text).report.message == (
        f"no tile can be sent before the PRINT in line {line}"
    )


@pytest.mark.parametrize("before", [PRINTS, STOPS, BARRIER])
def test_what_happens_before_the_nest_does_not_matter(before: str, tmp_path: Path) -> None:
    text = program(before=before, nest=NEST, call=CALL)
    assert site(tmp_path, text).report.verdict == "proved"


@pytest.mark.parametrize(
    ("selector", "change"),
    [
        ("s", "q = q + 1"),
        ("s(1,1,1)", "q = q + 1"),
        ("r(1,1,1)", "i = int(q)"),
        ("d", "q%x(1) = z"),
        ("d", "i = int(q%x(1))"),
        ("s", "call work(q)"),
        ("d", "call work(q%x)"),
    ],
)
def test_a_name_that_a_construct_binds_may_be_another_one_of_a_buffer(
    selector: str, change: str, tmp_path: Path
) -> None:
    text = program(
        declare="type pair\n  real(8) :: x(3)\nend type\ntype(pair) :: d\n",
        nest=SAME.format(selector=selector) + CHANGES.format(change=change),
        after="end associate\n",
        beside=HARMLESS,
    )
    report = site(tmp_path, text).report
    assert report.code in ("ASP703", "ASP706")
    assert report.verdict == "refused"


def test_a_construct_that_is_not_used_does_not_matter(tmp_path: Path) -> None:
    text = program(nest=SAME.format(selector="s") + NEST, after="end associate\n")
    assert site(tmp_path, text).report.verdict == "proved"


def test_buffers_of_a_block_construct_are_not_those_of_the_procedure(tmp_path: Path) -> None:
    other = "module other\n  real(4) :: s(2,2,2)\nend module other\n"
    text = program(nest="block\nuse other\n" + NEST, after="end block\n", beside=other)
    assert site(tmp_path, text).report.code == "ASP004"
    listed = text.replace("use other\n", "use other, only: s\n")
    assert site(tmp_path, listed).report.code == "ASP602"


COPIED = """\
do z = 1, nz
  call work(w(:,z))
  print *, z
end do
do z = 1, nz
  do p = 1, np
    s(:,z,p) = w(:,z)
  end do
end do
"""
USES_TOOLS = "  use tools, only: work\n  implicit none\n"
TOOLS = "module tools\ncontains\n{work}end module tools\n"


@pytest.mark.parametrize(
    ("old", "beside", "reason"),
    [
        ("  implicit none\n", "", "its source is not among the given files"),
        ("  implicit none\n", HARMLESS + HARMLESS, "work is defined 2 times, in {0}, {0}"),
        (USES_TOOLS, "", "module tools is not among the given files"),
        (
            USES_TOOLS,
            2 * TOOLS.format(work=HARMLESS),
            "module tools is defined 2 times, in {0}, {0}",
        ),
    ],
)
@pytest.mark.parametrize("nest", [WORKS.replace("end do", "  print *, z\nend do"), COPIED])
def test_why_a_procedure_is_not_known(
    nest: str, old: str, beside: str, reason: str, tmp_path: Path
) -> None:
    """Also where the computation that calls it stands in front of a nest that only copies; no
    assumption helps where something is printed, too."""
    text = program(declare="real(8) :: w(n,nz)\n", nest=nest, beside=beside)
    text = text.replace("  implicit none\n", old, 1)
    report = site(tmp_path, text).report
    assert report.code == "ASP703"
    why = reason.format(tmp_path / "exchange.f90")
    line = next(n for n, read in enumerate(text.splitlines(), 1) if "call work" in read)
    assert report.message == (
        f"no tile can be sent before a call with unknown effects in line {line} (work): {why}"
    )


def test_a_module_that_is_defined_twice_is_reported(tmp_path: Path) -> None:
    text = program(beside=2 * "module tools\nend module tools\n")
    found = project(tmp_path, text.replace("  implicit none\n", USES_TOOLS, 1))
    (told,) = found.remarks
    assert told.note
    assert told.message.startswith("module tools is defined 2 times")
    assert project(tmp_path, text).remarks == ()


@pytest.mark.parametrize("verdict", ["assumed", None])
def test_a_clock_before_the_call_is_passed_under_an_assumption(
    verdict: str | None, tmp_path: Path
) -> None:
    """As long as its reading decides nothing: here the bound of another loop."""
    loop = "do z = 1, int(x)\n  s(1,1,1) = 1\nend do\n" if verdict is None else "print *, x\n"
    text = program(declare="real(8) :: x\n", between="x = MPI_Wtime()\n", after=loop)
    report = site(tmp_path, text).report
    assert report.verdict == (verdict or "refused")
    assert report.assumptions == (("timers",) if verdict else ())
    accepted = replace(SETTINGS, assume=frozenset({"timers"}))
    change = transformed(tmp_path, text, settings=accepted)
    assert (change != text) == (verdict is not None)
