"""What is known about integer variables: forward substitution, and where it would be wrong."""

from __future__ import annotations

import pytest

from asphalt.analysis.symbolic.polynomials import poly
from support.analysed import Analysed, e

UNIT = """
subroutine unit(n, m, a)
  use sizes
  integer, intent(in) :: n
  integer :: m, blk, k, i, a(10)
  integer, target :: t
  integer, parameter :: width = 4
  real :: x
  logical :: yes
  {before}
  a(1) = 0
  {after}
end subroutine unit
"""
SIZES = """
module sizes
  integer :: shared
  integer, parameter :: fixed = 6
end module sizes
"""


def value(text: str, before: str = "", after: str = "") -> object:
    """The polynomial of an expression where ``a(1) = 0`` stands."""
    unit = Analysed(UNIT.format(before=before, after=after), SIZES)
    return unit.values.polynomial(e(text), unit.leaf("a(1)"))


@pytest.mark.parametrize(
    ("text", "before", "expected"),
    [
        ("blk", "blk = n*4", "4*n"),
        ("blk", "k = n + 1\nblk = 2*k", "2*n + 2"),
        ("width*fixed", "", "24"),
        ("blk", "do i = 1, n\nblk = n\nk = blk\nend do", "blk"),  # maybe never executed
        ("blk", "if (yes) then\nblk = n\nend if", "blk"),
        ("blk", "if (yes) blk = n", "blk"),
        ("blk", "blk = n\nblk = blk + 1", "blk"),  # two definitions
        ("blk", "blk = m\nm = 2", "blk"),  # what it was made of changes
        ("blk", "blk = a(2)", "blk"),  # an array element: a(1) is assigned below
        ("blk", "read *, blk", "blk"),
        ("blk", "call elsewhere(blk)", "blk"),
        ("blk", "blk = 7.5", "blk"),  # not the value of an integer expression
        ("blk", "blk = x", "blk"),
        ("blk", "10 blk = n\nif (yes) goto 10", "blk"),
        ("blk", "10 continue\nblk = n\nread (5, *, end=10) t", "blk"),
        ("blk", "if (yes) goto 10\nblk = n\n10 continue", "blk"),
        ("blk", "do i = 1, n\nif (yes) goto 10\nend do\nblk = n\n10 continue", "blk"),
        ("blk", "blk = n\nif (yes) goto 10\nm = 2\n10 continue", "n"),
        ("blk", "blk = m\nif (yes) goto 10\nm = 2\n10 continue", "blk"),
        ("blk", "if (yes) goto 10\ndo i = 1, n\nblk = n\n10 k = blk\nend do", "blk"),
        ("blk", "blk = n\nassociate (b => blk)\nb = 3\nend associate", "blk"),
        ("blk", "blk = n\nassociate (b => m)\nb = 3\nend associate", "n"),
        ("t", "t = n", "t"),  # it may have a second name
        ("shared", "shared = n\ncall elsewhere(k)", "shared"),
        ("blk", "blk = min(n, 3)", "min(n, 3)"),
        ("blk", "blk = n/2", "n/2"),
        ("m", "m = n", "m"),  # a dummy: only locals are replaced
        # a constant is the only value that the variable may have
        ("blk", "if (yes) then\nblk = width + 1\nend if", "5"),
        ("blk", "do i = 1, n\nblk = -fixed\nend do", "-6"),
        ("blk", "if (yes) then\nblk = width\nelse\nblk = fixed\nend if", "blk"),
        ("k", "if (yes) then\nblk = n\nk = blk\nend if", "k"),
        ("t", "if (yes) then\nt = 4\nend if", "t"),
        ("merge(2, n - 1, -1 < 0)", "", "2"),
        ("merge(2, n - 1, (1 < 0))", "", "n - 1"),
        ("merge(2, n, width >= 5)", "", "n"),
        ("merge(2, n, n < 0)", "", "merge(2, n, n < 0)"),
        ("merge(2, n, yes)", "", "merge(2, n, yes)"),
        ("merge(2, n, mask=1 < 0)", "", "merge(2, n, mask=1 < 0)"),
        ("blk", "if (yes) then\nblk = merge(1, width, 1 < 0)\nend if", "4"),
        ("merge(2, n, x < 0)", "", "merge(2, n, x < 0)"),
    ],
)
def test_forward_substitution(text: str, before: str, expected: str) -> None:
    assert value(text, before) == poly(e(expected))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("if (yes) goto 99\nblk = n", "99 continue", "n"),
        ("blk = n\nif (yes) goto 99", "99 continue", "n"),
        ("read (5, *, err=99) i\nblk = n", "99 continue", "n"),
        ("if (yes) goto 99\nblk = n", "99 blk = 3", "blk"),
        ("blk = n", "if (yes) goto 99\ni = 2\n99 continue", "n"),
        ("blk = n", "do i = 1, n\n99 continue\nend do\nif (yes) goto 99", "blk"),
    ],
)
def test_a_jump_past_the_statement(before: str, after: str, expected: str) -> None:
    """Where it leaves out the definition, it leaves out the statement, too."""
    assert value("blk", before, after) == poly(e(expected))


@pytest.mark.parametrize("after", ["blk = 3", "read *, blk", "call elsewhere(blk)"])
def test_a_later_definition_counts_too(after: str) -> None:
    """There may be a loop around, or a jump back."""
    assert value("blk", "blk = n", after) == poly(e("blk"))


def test_an_initialised_variable_is_no_constant() -> None:
    """It has another one before its only definition."""
    text = """
    subroutine unit(yes, a)
      logical, intent(in) :: yes
      integer :: a(10), k = 3
      integer, save :: l
      integer :: m
      data m / 4 /
      if (yes) then
        k = 1
        l = 1
        m = 1
      end if
      a(1) = k + l + m
    end subroutine unit
    """
    unit = Analysed(text)
    assert unit.values.polynomial(e("k + l + m"), unit.leaf("a(1)")) == poly(e("k + l + m"))


def test_merge_may_be_something_else() -> None:
    text = """
    subroutine unit(a)
      integer :: a(10), merge(2, 2, 2)
      a(1) = merge(1, 2, 1)
    end subroutine unit
    """
    unit = Analysed(text)
    own = e("merge(1, 2, 1)")
    assert unit.values.polynomial(own, unit.leaf("a(1)")) == poly(own)


def test_inside_of_the_loop_that_defines_it() -> None:
    text = """
    subroutine unit(n, a)
      integer, intent(in) :: n
      integer :: a(10), i, k
      do i = 1, n
        k = n + 1
        a(1) = k
      end do
      a(2) = k
    end subroutine unit
    """
    unit = Analysed(text)
    assert unit.values.polynomial(e("k"), unit.leaf("a(1)")) == poly(e("n + 1"))
    assert unit.values.polynomial(e("k"), unit.leaf("a(2)")) == poly(e("k"))


def test_a_value_that_varies_with_the_loop_is_no_value() -> None:
    text = """
    subroutine unit(n, a)
      integer, intent(in) :: n
      integer :: a(10), i, k
      do i = 1, n
        k = i + 1
        a(1) = k
      end do
    end subroutine unit
    """
    unit = Analysed(text)
    assert unit.values.polynomial(e("k"), unit.leaf("a(1)")) == poly(e("k"))


def test_internal_procedures_may_change_what_they_name() -> None:
    text = """
    subroutine unit(n, a)
      integer, intent(in) :: n
      integer :: a(10), k, l
      k = n
      l = n
      call inner
      a(1) = k + l
    contains
      subroutine inner
        k = 2
      end subroutine inner
    end subroutine unit
    """
    unit = Analysed(text, chain=("unit",))
    assert unit.values.polynomial(e("k + l"), unit.leaf("a(1)")) == poly(e("k + n"))


def test_what_is_written_in_the_unit() -> None:
    unit = Analysed(UNIT.format(before="blk = n\ndo i = 1, n\nend do", after=""), SIZES)
    written = [name for name in ("n", "m", "blk", "i", "k", "width", "shared", "t") if
               unit.values.written_in_unit(name)]  # fmt: skip
    assert written == ["blk", "i", "t"]


def test_named_constants_alone() -> None:
    unit = Analysed(UNIT.format(before="blk = n", after=""), SIZES)
    assert unit.values.constants(e("blk*width")) == poly(e("4*blk"))


def test_positions_are_those_of_the_text() -> None:
    unit = Analysed(UNIT.format(before="blk = n\nk = 1", after="m = 1"), SIZES)
    places = [unit.values.position(unit.leaf(text)) for text in ("blk =", "k =", "a(1)", "m =")]
    assert places == sorted(places)


def test_writes_of_a_storage() -> None:
    unit = Analysed(UNIT.format(before="blk = n\nread *, blk", after=""), SIZES)
    assert len(unit.values.writes_of("blk")) == 2
    assert unit.values.writes_of("n") == ()


STRUCTURES = """
module sizes
  type extents
    integer :: rows = 2, columns
    integer, pointer :: layers
  end type extents
end module sizes
subroutine unit(n, given)
  use sizes
  integer, intent(in) :: n
  type(extents) :: own, other, given, many(3)
  type(extents), target :: seen
  integer :: a(10)
  {before}
  a(1) = 0
  {after}
end subroutine unit
"""


@pytest.mark.parametrize(
    ("text", "before", "after", "expected"),
    [
        ("own%columns", "own%columns = n*4", "", "4*n"),
        ("own%columns", "own%columns = own%rows + 1", "", "own%rows + 1"),
        ("own%columns", "own%columns = n\nown%rows = 3", "own%rows = 4", "n"),
        # not the only definition, or not certainly executed before
        ("own%columns", "own%columns = n\nown = other", "", "own%columns"),
        ("own%columns", "own%columns = n\ncall elsewhere(own)", "", "own%columns"),
        ("own%columns", "own%columns = n\nread *, own%columns", "", "own%columns"),
        ("own%columns", "own%columns = own%rows", "own%rows = 3", "own%columns"),
        ("own%rows", "if (n > 3) own%rows = 7", "", "own%rows"),  # else it is 2
        # it may have another name, or be one of several
        ("seen%columns", "seen%columns = n", "", "seen%columns"),
        ("own%layers", "own%layers = n", "", "own%layers"),
        ("many(2)%columns", "many(2)%columns = n", "", "many(2)%columns"),
        ("given%columns", "given%columns = n", "", "given%columns"),  # as dummies of any type
    ],
)
def test_components(text: str, before: str, after: str, expected: str) -> None:
    unit = Analysed(STRUCTURES.format(before=before, after=after), chain=("unit",))
    assert unit.values.polynomial(e(text), unit.leaf("a(1)")) == poly(e(expected))
