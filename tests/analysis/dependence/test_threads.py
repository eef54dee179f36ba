"""Why nothing is known about the order of statements beside parallel loops."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.dependence.commutation import Independence
from asphalt.analysis.dependence.threads import LoopThreads
from support.stepping import Stepped

_UNIT = """\
subroutine work(a, b, n)
{used}  implicit none
  integer, intent(in) :: n
  real, intent(inout) :: a(n), b(n)
  integer :: i, k
  !$omp parallel do private(k)
  do i = 1, n
    k = i + 1
    a(i) = k
  end do
{behind}
end subroutine work
"""
_AGAIN = "  do i = 1, n\n    k = i*2\n    b(i) = k\n  end do"


@pytest.mark.parametrize(
    ("used", "behind", "expected"),
    [
        ("", _AGAIN, None),
        ("", "  b(1) = k", "k has another value behind the parallel loop in line 7 with OpenMP"),
        ("", f"  if (n > 2) k = 1\n{_AGAIN.replace('k = i*2', 'b(i) = k')}", "k has another value"),
        (
            "  use unseen\n",  # it may define the operator, or the assignment
            _AGAIN.replace("i*2", "w(i)*2"),
            "it is not known whether line 13 defines k: it has a call with unknown effects",
        ),
    ],
)
def test_what_threads_leave_behind(
    used: str, behind: str, expected: str | None, tmp_path: Path
) -> None:
    text = _UNIT.format(used=used, behind=behind)
    (facts,) = Stepped.of(tmp_path, {"work.f90": text}).facts()
    found = LoopThreads(facts).unclear
    assert (found is None) if expected is None else (found or "").startswith(expected), found


_SET = """\
subroutine work(a, n)
  implicit none
  integer, intent(in) :: n
  real, intent(inout) :: a(n)
  integer :: i, m
  m = 3
  !$omp parallel do{clause}
  do i = 1, n
    a(i) = i
  end do
end subroutine work
"""


@pytest.mark.parametrize(
    "clause", [" schedule(dynamic, m)", " num_threads(m)", " if(m > 2)", " linear(i: m)"]
)
def test_what_a_directive_evaluates_is_defined_before(clause: str, tmp_path: Path) -> None:
    for name, text in (("free", ""), ("bound", clause)):
        (facts,) = Stepped.of(tmp_path / name, {"a.f90": _SET.format(clause=text)}).facts()
        why = Independence.of(facts).why_not(*facts.unit.body)
        assert (why is None) == (text == "")


_SHARED = """\
subroutine work(a, n)
  implicit none
  integer, intent(in) :: n
  real, intent(inout) :: a(n, n)
  integer :: i, j
  !$omp parallel do private(i)
  do 10 j = 1, n
{inner}  !$omp end parallel do
  a(1, 1) = 0
end subroutine work
"""


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        ("    do i = 1, n\n      a(i, j) = j\n    end do\n10 continue\n", None),
        (
            "  do 10 i = 1, n\n    a(i, j) = j\n10 continue\n",
            "line 11 ends a parallel loop whose DO construct has no end of its own",
        ),
    ],
    ids=["own", "shared"],
)
def test_an_end_of_a_parallel_loop_behind_a_shared_label(
    inner: str, expected: str | None, tmp_path: Path
) -> None:
    (facts,) = Stepped.of(tmp_path, {"work.f90": _SHARED.format(inner=inner)}).facts()
    assert LoopThreads(facts).unclear == expected
