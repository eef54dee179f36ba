"""What is charged, in seconds, where the machine file gives one class or a few a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.cost.classes import Counts
from support.charges import charges

HEAD = """\
subroutine s(n, m, a, b)
  integer, intent(in) :: n, m
  real(8), intent(inout) :: a(5, n), b(n, m)
  integer :: i, j
"""


def test_divisions_are_made_beside_all_else() -> None:
    seconds = {"divide": 1.0, "sqrt": 2.0, "add": 0.5, "integer_divide": 3.0}
    assert Counts.of(divide=4, sqrt=1, add=2).seconds(seconds) == 6
    assert Counts.of(divide=4, sqrt=1, add=14).seconds(seconds) == 7
    assert Counts.of(divide=4, sqrt=1, integer_divide=3).seconds(seconds) == 9
    assert Counts.of().seconds(seconds) == 0


def test_statements_that_are_done_equally_often_overlap(tmp_path: Path) -> None:
    text = HEAD + (
        "  do i = 1, n\n"
        "    a(1, i) = a(2, i)/a(3, i)\n"
        "    a(4, i) = (a(5, i) + 1)*(a(5, i) + 2) + 3\n"
        "  end do\nend subroutine s\n"
    )
    found = charges(tmp_path, text, divide=4e-9, add=1e-9)
    assert found == ["4.0e-9_8*max(0.0_8,real(n,8))"]


def test_short_loops_of_known_length_overlap_with_what_is_around(tmp_path: Path) -> None:
    text = HEAD + (
        "  do j = 1, n\n"
        "    do i = 1, 5\n"
        "      a(i, j) = a(i, j)/(a(i, j) + 1)\n"
        "    end do\n"
        "  end do\nend subroutine s\n"
    )
    found = charges(tmp_path, text, divide=4e-9, add=1e-9, loop_entry=2e-9)
    assert found == ["2.0e-9_8+2.0e-8_8*max(0.0_8,real(n,8))"]


@pytest.mark.parametrize(
    ("element", "seconds"),
    [
        ("b(i, 3)", 1),
        ("b(n - i, 3)", 1),
        ("b(2*i, 3)", 1),
        ("b(100*i, 3)", 2),
        ("b(m*i, 3)", 3),
        ("b(3, i)", 2),
        ("a(2, i)", 1),
        ("a(i, m)", 1),
        ("b(int(b(i, 1)), 3)", 3),
    ],
)
def test_references_by_the_distance_between_iterations(
    tmp_path: Path, element: str, seconds: int
) -> None:
    text = HEAD + f"  do i = 1, n\n    {element} = 0\n  end do\nend subroutine s\n"
    (found,) = charges(tmp_path, text, store=1e-9, store_far=2e-9, store_indexed=3e-9)
    assert found == f"{seconds}.0e-9_8*max(0.0_8,real(n,8))"


def test_an_element_that_stays_is_near_though_its_array_changes(tmp_path: Path) -> None:
    text = HEAD + "  do i = 2, n\n    b(i, m) = b(1, m)\n  end do\nend subroutine s\n"
    found = charges(tmp_path, text, load=1e-9, load_far=2e-9, load_indexed=3e-9)
    assert found == ["1.0e-9_8*max(0.0_8,real(n-1,8))"]


def test_stores_of_the_previous_iteration_are_waited_for(tmp_path: Path) -> None:
    text = HEAD + "  do i = 2, n\n    b(i, 1) = b(i - 1, 1) + 1\n  end do\nend subroutine s\n"
    found = charges(tmp_path, text, add_waits=1e-9, load_waits=4e-9, store_waits=8e-9)
    assert found == ["9.0e-9_8*max(0.0_8,real(n-1,8))"]


def test_divisions_fill_the_window_as_all_else_does(tmp_path: Path) -> None:
    text = HEAD + "  do i = 1, n\n    a(1, i) = exp(1/a(2, i))\n  end do\nend subroutine s\n"
    waits = {"divide_waits": 10e-9, "exp_waits": 30e-9}
    found = charges(tmp_path, text, window=20e-9, divide=5e-9, exp=5e-9, **waits)
    assert found == ["2.0e-8_8*max(0.0_8,real(n,8))"]  # 40 ns a turn, two turns at once


def test_integer_powers_wait_for_their_products(tmp_path: Path) -> None:
    text = HEAD + "  do i = 1, n\n    x = a(1, i) + x**5\n  end do\nend subroutine s\n"
    found = charges(tmp_path, text, power_waits=50e-9, multiply_waits=2e-9, add_waits=1e-9)
    assert found == ["7.0e-9_8*max(0.0_8,real(n,8))"]


CALLS = """\
module m
contains
  real(8) function half(x)
    real(8), intent(in) :: x
    half = 0.5d0*x
  end function half
  real(8) function sum_of(x)
    real(8), intent(in) :: x(4)
    integer :: i
    sum_of = 0
    do i = 1, 4
      sum_of = sum_of + x(i)
    end do
  end function sum_of
  real(8) function large(x)
    real(8), intent(in) :: x
    large = {large}
  end function large
  subroutine s(x, y, z)
    real(8), intent(inout) :: x(4), y, z
    y = half(y)
    z = {called}
  end subroutine s
end module m
"""


@pytest.mark.parametrize(
    ("called", "seconds"),
    [("half(z)", []), ("sum_of(x)", ["1.0e-9_8"]), ("large(z)", ["1.0e-9_8"])],
)
def test_small_procedures_of_the_file_are_inlined(
    tmp_path: Path, called: str, seconds: list[str]
) -> None:
    text = CALLS.format(called=called, large="x" + "*x" * 16)
    assert charges(tmp_path, text, call=1e-9) == seconds


def test_what_does_not_change_is_charged_outside_of_a_loop_that_a_label_ends(
    tmp_path: Path,
) -> None:
    lines = (
        "      SUBROUTINE S(N, J, A)",
        "      INTEGER N, J, I",
        "      DOUBLE PRECISION A(N), X",
        "      DO 10 I = 1, N",
        "      X = A(I)",
        "   10 A(I) = X*COS(0.01D0*J)",
        "      END",
    )
    text = "\n".join(lines) + "\n"
    found = charges(tmp_path, text, "a.f", sin=1e-9)
    assert found == ["1.0e-9_8"]


def test_a_label_that_a_statement_goes_to_begins_anew(tmp_path: Path) -> None:
    lines = (
        "      SUBROUTINE S(N, J, A)",
        "      INTEGER N, J, I",
        "      DOUBLE PRECISION A(N)",
        "      DO 10 I = 1, N",
        "      IF (J .GT. I) GO TO 10",
        "      A(I) = COS(A(I))",
        "   10 CONTINUE",
        "      END",
    )
    found = charges(tmp_path, "\n".join(lines) + "\n", "a.f", sin=1e-9)
    assert found == ["1.0e-9_8"]
