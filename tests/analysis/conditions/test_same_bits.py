"""Bit for bit: cutting a loop into tiles must not make a compiler compute other last digits."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.judging import NEST, Case, assert_accepted, assert_refused, program, site

SINES = "do z = 1, nz\n  s(:,z,:) = sin(0.1d0*z)\nend do\n"

CASES = (
    Case(
        "ASP903",
        "sines-in-an-innermost-loop",
        program(nest=SINES),
        program(nest=SINES.replace("sin(", "sqrt(")),
        verdict="assumed",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_refused(case: Case, tmp_path: Path) -> None:
    assert_refused(case, tmp_path)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_accepted_with_a_small_change(case: Case, tmp_path: Path) -> None:
    assert_accepted(case, tmp_path)


def test_inner_loops_keep_their_trip_counts(tmp_path: Path) -> None:
    text = program(nest=NEST.replace("dble(i*z)", "sin(dble(i*z))"))
    assert site(tmp_path, text).report.verdict == "proved"


@pytest.mark.parametrize(
    ("inner", "verdict"),
    [
        ("do i = 1, 2", "assumed"),
        ("do i = 1, n", "assumed"),
        ("do i = few, 1, -1", "assumed"),
        ("do i = 1, np", "proved"),
        ("do i = 1, 1000", "proved"),
    ],
)
def test_short_loops_are_unrolled(inner: str, verdict: str, tmp_path: Path) -> None:
    nest = f"do z = 1, nz\n  {inner}\n    s(:,z,:) = sin(dble(i*z))\n  end do\nend do\n"
    text = program(nest=nest, declare="integer :: few\n", before="few = 3\n")
    assert site(tmp_path, text).report.verdict == verdict


@pytest.mark.parametrize(
    ("inside", "verdict"),
    [
        ("t = 0.5d0*t + i", "assumed"),
        ("t = t + w(z,i)", "assumed"),
        ("t = t + w(i,z)", "proved"),
        ("t = t + w(i,z)*w(z,i)", "assumed"),
    ],
)
def test_outer_loops_are_vectorised(inside: str, verdict: str, tmp_path: Path) -> None:
    """Unless a loop inside of them goes along the columns of an array."""
    nest = f"do z = 1, nz\n  t = 0\n  do i = 1, 300\n    {inside}\n  end do\n"
    nest += "  s(:,z,:) = sin(t)\nend do\n"
    text = program(nest=nest, declare="real(8) :: t, w(300,300)\n", before="w = 1\n")
    assert site(tmp_path, text).report.verdict == verdict


@pytest.mark.parametrize(("count", "verdict"), [("2", "assumed"), ("np", "proved")])
def test_arguments_that_compilers_know(count: str, verdict: str, tmp_path: Path) -> None:
    called = """\
  subroutine plane(x, n, z)
    integer, intent(in) :: n, z
    real(8), intent(out) :: x(n)
    integer :: i
    do i = 1, n
      x(i) = sin(dble(i*z))
    end do
  end subroutine plane
"""
    nest = f"do z = 1, nz\n  call plane(s(:,z,:), {count}, z)\nend do\n"
    nest = nest.replace("s(:,z,:)", "s(:2,z,1)" if count == "2" else "s(1,z,:)")
    assert site(tmp_path, program(nest=nest, contained=called)).report.verdict == verdict
