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
{loops}
  a(1, 1) = 0
end subroutine work
"""
_DO = "  !$omp parallel do private(i)\n"
_END = "10 continue\n  !$omp end parallel do"
_ENDS = "line 11 ends a parallel loop whose DO construct has no end of its own"


@pytest.mark.parametrize(
    ("loops", "expected"),
    [
        (f"{_DO}  do 10 j = 1, n\n  do i = 1, n\n  a(i, j) = j\n  end do\n{_END}", None),
        (f"{_DO}  do 10 j = 1, n\n  do 10 i = 1, n\n  a(i, j) = j\n{_END}", None),
        (
            "  !$omp parallel do &\n  !$omp private(i)\n  do 10 j = 1, n\n  do 10 i = 1, n\n"
            f"  a(i, j) = j\n{_END}",
            None,
        ),
        # loops of a region, the inner loop alone, a last statement that does something
        (
            "  !$omp parallel private(i)\n  !$omp do\n  do 10 j = 1, n\n  do 10 i = 1, n\n"
            "  a(i, j) = j\n10 continue\n  !$omp end do\n  !$omp end parallel",
            "line 6 has a directive of OpenMP or OpenACC that is no parallel loop: "
            "parallel private(i)",
        ),
        (f"  do 10 j = 1, n\n{_DO}  do 10 i = 1, n\n  a(i, j) = j\n{_END}", _ENDS),
        (
            f"{_DO}  do 10 j = 1, n\n  do 10 i = 1, n\n{_END}".replace(
                "10 continue", "10 a(i, j) = 0"
            ),
            _ENDS.replace("11", "10"),
        ),
    ],
    ids=["own", "shared", "in-two-lines", "region", "inner", "no-continue"],
)
def test_an_end_of_a_parallel_loop_behind_a_shared_label(
    loops: str, expected: str | None, tmp_path: Path
) -> None:
    """It belongs to the outermost of the loops (OpenMP 4.5 2.7.1), and goes where they go."""
    text = _SHARED.format(loops=loops)
    (facts,) = Stepped.of(tmp_path, {"work.f90": text}).facts()
    assert LoopThreads(facts).unclear == expected
