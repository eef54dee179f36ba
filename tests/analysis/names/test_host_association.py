"""Variables of a unit that procedures inside of it may use."""

from __future__ import annotations

import pytest

from asphalt.analysis.names.host_association import named_inside
from support.analysed import Analysed

HOST = """\
subroutine host(n)
  integer, intent(in) :: n
  integer :: k
  k = n
  call inner(n)
contains
  subroutine other
    integer :: j
    j = 1
  end subroutine other
{inner}
end subroutine host
"""


def inner(*lines: str, arguments: str = "m") -> str:
    return "\n".join([f"  subroutine inner({arguments})", *lines, "  end subroutine inner"])


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        (("  j = m ! k",), False),
        (("  print *, 'about j'",), False),
        (("  k = m",), True),
        (("  print *, k",), True),
        (("  integer :: k", "  k = m"), False),
        (("  integer :: K(3)", "  k = m"), False),
        (("  real, allocatable :: k(:)", "  allocate(k(m))"), False),
        (("  volatile :: k", "  k = m"), True),
        (("  integer, volatile :: k", "  k = m"), True),  # said to be there for nothing
        (("  dimension :: k(3)", "  k = m"), True),
        (("  save :: k", "  k = m"), True),
        (("  namelist /list/ k", "  read (*, list)"), True),
        (("  associate (j => k)", "  j = m", "  end associate"), True),
        (("!$ k = m",), True),
        (("!$omp parallel private(k)",), True),
        (("#ifdef TWO", "  k = m", "#endif"), True),
        (("  include 'missing.inc'",), True),
    ],
)
def test_a_word_is_the_hosts_unless_it_is_declared(lines: tuple[str, ...], named: bool) -> None:
    unit = Analysed(HOST.format(inner=inner(*lines)), chain=("host",))
    assert named_inside("k", unit.scope) is named


def test_dummies_and_results_are_their_own() -> None:
    unit = Analysed(HOST.format(inner=inner("  k = 1", arguments="k")), chain=("host",))
    assert not named_inside("k", unit.scope)
    result = "  integer function k()\n    k = 1\n  end function k"
    unit = Analysed(HOST.format(inner=result), chain=("host",))
    assert not named_inside("n", unit.scope)


def test_without_procedures_inside_nothing_is_named() -> None:
    unit = Analysed("subroutine s(n)\ninteger :: n\nn = 1\nend subroutine s\n")
    assert not named_inside("n", unit.scope)


CALLED = """\
subroutine host(n)
  integer, intent(in) :: n
  integer :: k
{declared}
  k = n
{called}
contains
  subroutine one
    k = 1
  end subroutine one
  subroutine two
{two}
  end subroutine two
end subroutine host
"""


def test_who_names_a_namelist_may_read_what_is_in_it() -> None:
    declared = "  namelist /list/ k, n"
    for two, named in (("    read (*, list)", True), ("    print *, 'k'", True), ("", False)):
        unit = CALLED.format(declared=declared, called="  call two", two=two)
        assert named_inside("k", Analysed(unit, chain=("host",)).scope) is named


@pytest.mark.parametrize(
    ("declared", "called", "two", "named"),
    [
        ("", "", "", False),
        ("", "  call one", "", True),
        ("", "  call two", "", False),
        ("", "  call two", "    call one", True),
        ("", "  call elsewhere(one)", "", True),
        ("", "  print *, 'one'", "", True),  # a word is enough
        ("", "  ! call one", "", False),
        ("  interface both\n    procedure one\n  end interface both", "", "", True),
        ("", "#ifdef TWO\n  call one\n#endif", "", True),
        ("  include 'missing.inc'", "", "", True),
    ],
)
def test_what_nothing_calls_uses_nothing(declared: str, called: str, two: str, named: bool) -> None:
    unit = Analysed(CALLED.format(declared=declared, called=called, two=two), chain=("host",))
    assert named_inside("k", unit.scope) is named
