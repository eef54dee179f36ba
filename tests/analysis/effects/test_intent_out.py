"""INTENT(OUT) alone changes what a caller passes (F2018 8.5.10): it deallocates, and gives initial
values."""

from __future__ import annotations

import pytest

from support.analysed import Analysed, described

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
