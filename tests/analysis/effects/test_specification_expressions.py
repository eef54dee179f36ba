"""Bounds and lengths in the declarations of a procedure are evaluated by each call of it, and so
are expressions in directives of OpenMP."""

from __future__ import annotations

import pytest

from asphalt.analysis.memory.accesses import EffectKind
from support.analysed import Analysed, described

_CALLER = """
subroutine caller(x, k, list)
  use state, only: shared, table, work
  real :: x
  integer :: k, list(10)
  {call}
end subroutine caller
"""
_STATE = """
module state
  integer :: shared, table(10)
contains
  subroutine work(a, m, c)
    real :: a
    integer :: m, c(10)
    {declared}
    {body}
  end subroutine work
  pure integer function extent(c)
    integer, intent(in) :: c(10)
    extent = c(4) + shared
  end function extent
end module state
"""


def _called(declared: str, body: str = "a = 1", call: str = "call work(x, k, list)") -> Analysed:
    texts = _CALLER.format(call=call), _STATE.format(declared=declared, body=body)
    return Analysed(*texts, chain=("caller",))


def _accesses(found: Analysed) -> set[str]:
    return {described(access) for access in found.footprint.accesses}


@pytest.mark.parametrize(
    ("declared", "read"),
    [
        ("real :: own(m)", "reads k"),
        ("real :: own(m:10)", "reads k"),
        ("character(m) :: own", "reads k"),
        ("character :: own*(m)", "reads k"),
        ("integer, allocatable :: p\nreal, dimension(2, 2*m + 1) :: own", "reads k"),
        ("real :: own(c(4))", "reads list"),
        ("real :: own(shared)", "reads state::shared"),
        ("real :: own(table(3))", "reads state::table"),
        ("real :: own(extent(c))", "reads list"),
        ("real :: own(extent(c))", "reads state::shared"),
        ("real :: own(extent(table))", "reads state::table"),
    ],
)
def test_they_are_read(declared: str, read: str) -> None:
    assert read in _accesses(_called(declared))
    assert read not in _accesses(_called(""))


def test_what_the_body_defines_afterwards_was_read() -> None:
    assert {"reads k", "may write k"} <= _accesses(_called("real :: own(m)", "m = 3\na = 1"))
    assert _accesses(_called("", "m = 3\na = 1")) == {"writes k", "writes x"}


def test_functions_with_unknown_effects_may_do_anything() -> None:
    found = _called("interface\npure integer function f(m)\ninteger, intent(in) :: m\n"
                    "end function f\nend interface\nreal :: own(f(m))")  # fmt: skip
    assert EffectKind.UNKNOWN_CALL in {effect.kind for effect in found.footprint.effects}


@pytest.mark.parametrize("body", ["a = c(1)", ""])
def test_any_element_may_be_read(body: str) -> None:
    (access, *_) = [
        access
        for access in _called("real :: own(c(4))", body).footprint.accesses
        if described(access) == "reads list"
    ]
    assert access.part is not None
    assert access.part.callee.flow("c").exposed.is_all


def test_sizes_alone_read_no_value() -> None:
    found = _called("real :: own(size(c)), more(10)")
    (access,) = [a for a in found.footprint.accesses if a.storage == "list"]
    assert access.part is not None
    assert access.part.callee.flow("c").exposed.is_empty()


_LOOP = "{}\ndo i = 1, 10\na = i\nend do"


@pytest.mark.parametrize(
    ("directive", "read"),
    [
        ("!$omp parallel do num_threads(m)", "reads k"),
        ("!$omp parallel do if(c(4) > 0)", "reads list"),
        ("!$omp parallel do private(i) schedule(dynamic, shared)", "reads state::shared"),
        ("!$omp parallel num_threads(m)", "reads k"),
        ("!$omp parallel private(i) &\n!$omp if (c(4) > 0) default(shared)", "reads list"),
    ],
)
def test_directives_are_evaluated(directive: str, read: str) -> None:
    assert read in _accesses(_called("integer :: i", _LOOP.format(directive)))
    assert read not in _accesses(_called("integer :: i", _LOOP.format("")))


def test_lists_of_directives_are_not_evaluated() -> None:
    directive = "!$omp parallel shared(m, c) private(i) firstprivate(table) default(none)"
    found = _accesses(_called("integer :: i", _LOOP.format(directive)))
    assert not found & {"reads k", "reads list", "reads state::table"}
