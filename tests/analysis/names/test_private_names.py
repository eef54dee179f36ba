"""What a module keeps PRIVATE is not meant where the module is used (F2018 8.6.1)."""

from __future__ import annotations

import pytest

from asphalt.analysis.names.derived_types import type_definition
from asphalt.analysis.names.resolve import procedure_named
from asphalt.ir.expr import Ref
from support.analysed import Analysed

TEXT = """
module first
  {private}
  type{attribute} :: thing
    integer :: n
  end type thing
  interface give
    module procedure put
  end interface
contains
  subroutine put(a)
    integer, intent(in) :: a
  end subroutine put
end module first
module second
  type thing
    integer, pointer :: n
  end type thing
end module second
subroutine unit
  use first
  use second
  type(thing) :: t
  call put(1)
end subroutine unit
"""
EXTERNAL = "subroutine put(a)\n  integer :: a\nend subroutine put\n"


def unit_with(private: str, attribute: str = "") -> Analysed:
    text = TEXT.format(private=private, attribute=attribute)
    return Analysed(text, EXTERNAL, chain=("unit",))


@pytest.mark.parametrize(
    ("private", "external"),
    [
        ("public", False),
        ("private :: put", True),
        ("private\n  public :: give", True),
        ("private\n  public :: put", False),
    ],
)
def test_procedures(private: str, external: bool) -> None:
    found = procedure_named(Ref("put", "put"), unit_with(private).scope)
    assert found is not None
    assert (len(found.chain) == 1) is external


@pytest.mark.parametrize(
    ("private", "attribute", "home"),
    [
        ("public", "", "first"),
        ("private :: thing", "", "second"),
        ("private", "", "second"),
        ("private", ", public", "first"),
        ("public", ", private", "second"),
    ],
)
def test_types(private: str, attribute: str, home: str) -> None:
    found = type_definition("thing", unit_with(private, attribute).scope)
    assert found is not None
    assert found[1].unit.name == home
