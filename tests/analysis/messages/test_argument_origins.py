"""What a dummy argument may be in any call: a part of a variable, a value, or not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.analysis.messages.argument_origins import ArgumentOrigins
from support.stepping import Stepped

_PROGRAM = """\
module layer
  implicit none
contains
  subroutine work(b)
    character(1), intent(in) :: b(3)
    print *, b
  end subroutine work
end module layer
program main
  use layer
  implicit none
  character(9) :: c(2)
  character(9) :: e
  call work({actual})
end program main
"""


def _storages(folder: Path, actual: str) -> set[str] | None:
    """The variables that the dummy argument may be; None: not known."""
    found = Stepped.of(folder, {"a.f90": _PROGRAM.format(actual=actual)}).facts()
    (facts,) = (one for one in found if one.unit.name == "work")
    origins = ArgumentOrigins(facts).of("b")
    return None if origins is None else {part.storage.split("/")[-1] for part in origins}


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        ("e", {"e"}),
        ("e(2:4)", {"e"}),
        ("c(2)", {"c"}),
        ("c(2)(1:3)", None),
        ("c(2)(:)", None),
        ("[c(2)(1:1), e(1:1), 'a']", set()),
        ("(/ 'a', e(1:1), 'c' /)", set()),
        ("(c(2))", set()),
        ("'abc'", set()),
    ],
)
def test_a_substring_of_an_element_is_no_value(
    actual: str, expected: set[str] | None, tmp_path: Path
) -> None:
    assert _storages(tmp_path, actual) == expected
