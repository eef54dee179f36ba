"""Elements of one array that callers pass for two dummies."""

from __future__ import annotations

import pytest

from asphalt.analysis.effects.aliased_arguments import passed_under_two_names
from asphalt.analysis.names.scopes import Scopes
from support.fortran_program import FortranProgram

_CALLER = """\
subroutine caller(d, e, i, j)
  integer :: d(9), e(3,3), i, j
  call work({arguments})
end subroutine caller
"""
_WORK = "subroutine work(n, m)\n  integer :: n{dims}, m{dims}\n  n = m\nend subroutine work\n"


def _is_clear(arguments: str, dims: str = "") -> bool:
    texts = _CALLER.format(arguments=arguments), _WORK.format(dims=dims)
    program = FortranProgram(*texts)
    located = program.at("work")
    return passed_under_two_names(Scopes(program).of(located), located).no


@pytest.mark.parametrize(
    "arguments",
    ["d(1), d(2)", "d(i), d(i+1)", "e(1,j), e(2,j)", "e(i,1), e(j,2)", "d(2*i), d(2*i-1)", "i, j"],
)
def test_two_elements_for_two_scalars(arguments: str) -> None:
    assert _is_clear(arguments)


@pytest.mark.parametrize(
    "arguments", ["d(1), d(1)", "d(i), d(j)", "e(i,j), e(j,i)", "d(d(1)), d(d(2))", "d(i), d(2*i)"]
)
def test_they_may_be_one(arguments: str) -> None:
    assert not _is_clear(arguments)


_PARTS = """\
subroutine caller(i, j)
  type parts
    integer :: d(9), e, f
  end type parts
  type(parts) :: p, q, all(3)
  integer :: i, j
  call work({arguments})
end subroutine caller
"""


@pytest.mark.parametrize(
    ("arguments", "clear"),
    [
        ("p%d(1), p%d(6)", True),
        ("p%d(i), p%d(i+1)", True),
        ("p%e, p%f", True),
        ("all(i)%d(1), all(i)%d(2)", True),
        ("p%d(i), p%d(j)", False),
        ("all(i)%d(1), all(j)%d(1)", False),
        ("all(i)%e, all(j)%e", False),
    ],
)
def test_components_for_two_scalars(arguments: str, clear: bool) -> None:
    program = FortranProgram(_PARTS.format(arguments=arguments), _WORK.format(dims=""))
    located = program.at("work")
    assert passed_under_two_names(Scopes(program).of(located), located).no is clear


@pytest.mark.parametrize(
    ("dims", "clear"), [("(2)", False), ("(1)", True), ("(*)", False), ("(i)", False)]
)
def test_a_dummy_array_goes_on_behind_the_element(dims: str, clear: bool) -> None:
    assert _is_clear("d(1), d(2)", dims) is clear


def test_a_procedure_that_may_be_passed_is_no_scalar() -> None:
    text = "subroutine work(n, m)\n  external :: n, m\n  call n\nend subroutine work\n"
    program = FortranProgram(_CALLER.format(arguments="d(1), d(2)"), text)
    located = program.at("work")
    assert not passed_under_two_names(Scopes(program).of(located), located).no
