"""Which loops a compiler may vectorise: those in called procedures protect the calling loop."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.data_flow.unit import UnitFacts
from asphalt.analysis.dependence.permutable_loops import region_of
from asphalt.analysis.dependence.vector_rounding import why_other_digits
from asphalt.analysis_manager.analyses import Analyses
from asphalt.config.settings import Settings
from asphalt.frontend.source_tree.tree import load_tree
from asphalt.ir.tree import Do

_PROGRAM = """\
module works
  implicit none
  integer, parameter :: few = 3
contains
  subroutine work(n, x, y, k)
    integer, intent(in) :: n
    real(8), intent(in) :: x(n)
    real(8), intent(inout) :: y(n)
    integer, intent(in), optional :: k
    integer :: i
    do i = 1, n
      y(i) = y(i) + cos(x(i))
    end do
  end subroutine work
end module works
subroutine caller(n, np, m, r, x, flat)
  use works
  implicit none
  integer, intent(in) :: n, np, m
  real(8), intent(in) :: r(n,np), flat(n*np)
  real(8), intent(inout) :: x(n,np)
  integer :: p, short
  short = 2
  do p = 1, np
    call work(n, r(1,p), x(1,p))
  end do
end subroutine caller
"""
_CALL = "call work(n, r(1,p), x(1,p))"
_PROTECTED = {
    "columns": {},
    "sections": {_CALL: "call work(n, r(:,p), x(:,p))"},
    "parts-of-columns": {_CALL: "call work(m, r(2,p), x(2,p))"},
    "constant": {_CALL: "call work(1000, r(1,p), x(1,p))"},
    "with-its-neighbour": {"cos(x(i))": "cos(x(i-1))", "i = 1": "i = 2"},
    "beside-a-condition": {"    do i = 1, n\n": "    if (present(k)) return\n    do i = 1, n\n"},
}
_OPEN = {
    "few-iterations": {_CALL: "call work(4, r(1,p), x(1,p))"},
    "named-constant": {_CALL: "call work(few, r(1,p), x(1,p))"},
    "few-in-a-variable": {_CALL: "call work(short, r(1,p), x(1,p))"},
    "few-in-the-procedure": {"do i = 1, n": "do i = 1, few"},
    "own-number-of-iterations": {"do i = 1, n": "do i = 1, n - 1"},
    "rows": {_CALL: "call work(n, r(p,1), x(p,1))"},
    "neighbours": {_CALL: "call work(n, flat(p), x(1,p))"},
    "other-steps": {"y(i) = y(i) + cos(x(i))": "y(1+(i-1)*n) = cos(x(i))"},
    "another-dimension": {
        "x(n)": "x(n,n)", "y(n)": "y(n,n)", "y(i) = y(i) + cos(x(i))": "y(1,i) = cos(x(1,i))",
    },
    "value": {_CALL: "call work(n, r(1,p), x(1,p), p)"},
    "no-column": {_CALL: "call work(n, r, x)"},
    "condition": {"    do i = 1, n\n": "    if (n > 3) then\n    do i = 1, n\n",
                  "do\n  end subroutine work": "do\n    end if\n  end subroutine work"},
    "vector-version": {"    integer, intent(in) :: n\n    real": "    !$omp declare simd(work)\n"
                       "    integer, intent(in) :: n\n    real"},
    "no-loop": {"    do i = 1, n\n": "    i = 1\n", "    end do\n  end sub": "  end sub"},
}  # fmt: skip


def _digits(tmp_path: Path, changes: dict[str, str]) -> str | None:
    text = _PROGRAM
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "main.f90"
    path.write_text(text)
    tree = load_tree([tmp_path], Settings(cache=False, jobs=1))
    effects, uniformity = Analyses(tree).of(any_sizes=True)
    caller = next(u for u in tree.units_of(str(path)) if u.unit.name == "caller")
    facts = UnitFacts(caller, effects, "\n", uniformity)
    (loop,) = (node for node in caller.unit.body if isinstance(node, Do))
    return why_other_digits((loop,), loop.body, facts, region_of(loop, facts))


@pytest.mark.parametrize("name", _PROTECTED)
def test_a_loop_in_a_called_procedure_keeps_the_digits(name: str, tmp_path: Path) -> None:
    assert _digits(tmp_path, _PROTECTED[name]) is None


@pytest.mark.parametrize("name", _OPEN)
def test_what_a_compiler_may_inline_and_vectorise(name: str, tmp_path: Path) -> None:
    assert _digits(tmp_path, _OPEN[name]) == "cos"
