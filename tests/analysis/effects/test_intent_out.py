"""INTENT(OUT) alone changes what a caller passes (F2018 8.5.10): it deallocates, and gives initial
values."""

from __future__ import annotations

import pytest

from asphalt.unparse.expr_text import expr_text
from support.analysed import Analysed, described, e

TEXT = """
module parts
  type part
    integer :: n = 1
    real, allocatable :: a(:)
  end type part
contains
  subroutine work(x)
    {declared} :: x
    {body}
  end subroutine work
end module parts
subroutine unit(p, a, v)
  use parts
  type(part) :: p
  real, allocatable :: a(:)
  real :: v(9)
  call work({actual})
end subroutine unit
"""


@pytest.mark.parametrize(
    ("declared", "actual", "written"),
    [
        ("type(part), intent(out)", "p", True),
        ("class(part), intent(out)", "p", True),
        ("type(part), intent(in)", "p", False),
        ("type(part)", "p", False),
        ("real, allocatable, intent(out)", "a", True),
        ("real, allocatable, intent(in)", "a", False),
        ("real, intent(out)", "v(1)", False),  # undefined, and as it was
    ],
)
@pytest.mark.parametrize("body", ["", "integer :: k\n    k = 2"])
def test_what_a_call_changes(declared: str, actual: str, written: bool, body: str) -> None:
    shape = "allocatable" in declared
    text = TEXT.format(declared=declared, actual=actual, body=body)
    unit = Analysed(text.replace(":: x\n", ":: x(:)\n") if shape else text, chain=("unit",))
    found = [described(one) for one in unit.footprint.accesses]
    name = actual.partition("(")[0]
    assert any(f"write {name}" in one or f"writes {name}" in one for one in found) is written


RENAMED = """
module work_on
contains
  subroutine work(n)
    integer, intent({intent}) :: n
    {body}
  end subroutine work
end module work_on
subroutine unit
  use work_on
  integer :: n
  n = 3
  call work(n)
  print *, n
end subroutine unit
"""


@pytest.mark.parametrize(
    ("intent", "body", "value"),
    [
        ("inout", "associate (m => n)\n      m = 4\n    end associate", "n"),
        ("inout", "associate (m => n + 1)\n      print *, m\n    end associate", "n"),
        ("in", "associate (m => n)\n      print *, m\n    end associate", "3"),
        ("inout", "print *, n", "3"),
    ],
)
def test_a_dummy_with_another_name_may_be_defined_by_it(intent: str, body: str, value: str) -> None:
    unit = Analysed(RENAMED.format(intent=intent, body=body), chain=("unit",))
    found = unit.values.polynomial(e("n"), unit.leaf("print"))
    assert expr_text(found.expression()) == value
