"""The grammar of ``!$asphalt``, and which statement a directive belongs to."""

from __future__ import annotations

from contextlib import suppress
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asphalt.analysis.directives.directives import (
    Assume,
    Clause,
    Depth,
    Directive,
    Line,
    Match,
    Skip,
    Tile,
    directives,
    matches,
    parse,
)
from asphalt.config.errors import InputError
from asphalt.ir.tree import Leaf, Unit
from support.fortran_program import FortranProgram

FREE = """\
subroutine work(n, a)
  !$asphalt assume(control)
  integer :: n
  real :: a(n)

  !$ASPHALT Tile(8), DEPTH(2)   ! eight planes
  ! a comment between
  do i = 1, n
    !$asphalt match(north)
    a(i) = i
    if (a(i) > 3) then
      !$asphalt assume(uniform: n, &
      !$asphalt   m, &

      ! lines without directive
      !$asphalt & k)
      a(i) = 0
    end if
    !$asphalt match(north)
    a(i) = 2
  end do
end subroutine
"""


def unit(text: str, suffix: str = ".f90") -> Unit:
    return FortranProgram(text, suffix=suffix).all[0].unit


def seen(text: str, suffix: str = ".f90") -> list[tuple[Clause, int, str | None]]:
    """The clauses with their lines and the statements that they belong to."""
    return [(d.clause, d.line, _body(d)) for d in directives(unit(text, suffix))]


def _body(directive: Directive) -> str | None:
    return None if directive.leaf is None else directive.leaf.body


def test_each_belongs_to_the_statement_that_follows_or_to_the_unit() -> None:
    assert seen(FREE) == [
        (Assume("control"), 2, None),
        (Tile(8), 6, "do i = 1, n"),
        (Depth(2), 6, "do i = 1, n"),
        (Match("north"), 9, "a(i) = i"),
        (Assume("uniform", "n"), 12, "a(i) = 0"),
        (Assume("uniform", "m"), 12, "a(i) = 0"),
        (Assume("uniform", "k"), 12, "a(i) = 0"),
        (Match("north"), 19, "a(i) = 2"),
    ]


def test_matches_are_statements_by_id() -> None:
    found = matches(unit(FREE))
    assert {name: [leaf.body for leaf in pair] for name, pair in found.items()} == {
        "north": ["a(i) = i", "a(i) = 2"]
    }
    assert all(isinstance(leaf, Leaf) for pair in found.values() for leaf in pair)


def test_fixed_form_has_three_sentinels() -> None:
    text = """\
C$ASPHALT ASSUME(PURE: FFT1D)
      SUBROUTINE WORK(N)
*$asphalt assume(bits)
      INTEGER N
c$asphalt skip
      N = 1
!$asphalt assume(uniform: n,&
c$asphalt                 m)
   10 N = 2
      END
"""
    assert seen(text, ".f") == [
        (Assume("pure", "fft1d"), 1, None),
        (Assume("bits"), 3, None),
        (Skip(), 5, "N = 1"),
        (Assume("uniform", "n"), 7, "N = 2"),
        (Assume("uniform", "m"), 7, "N = 2"),
    ]


@pytest.mark.parametrize(
    ("directive", "message"),
    [
        ("skippy", "'skippy' is no directive"),
        ("", "the directive ends where skip"),
        ("tile", "the directive ends where '(' is expected"),
        ("tile 8", "'8' stands where '(' is expected"),
        ("tile(8", "the directive ends where ')' is expected"),
        ("tile(-1)", "tile takes a whole number from 0 to 2147483647, not '-1'"),
        ("tile(2147483648)", "tile takes a whole number"),
        ("tile(k)", "tile takes a whole number"),
        ("depth(0)", "depth takes a whole number from 1 to 4096, not '0'"),
        ("depth(4097)", "depth takes a whole number"),
        ("match()", "match: ')' is no id"),
        ("match(a b)", "'b' stands where ')' is expected"),
        ("assume()", "')' is no assumption"),
        ("assume(luck)", "'luck' is no assumption; use control, bits"),
        ("assume(control: x)", "':' stands where ',' or ')' is expected"),
        ("assume(uniform)", "')' stands where ':' is expected"),
        ("assume(uniform:)", "uniform: ')' is no name"),
        ("assume(uniform: n m)", "'m' stands where ',' or ')' is expected"),
        ("assume(uniform: 3)", "uniform: '3' is no name"),
        ("skip,", "the directive ends where skip"),
        ("skip;tile(3)", "';' is no directive"),
        ("skip &", "ends with '&'"),
    ],
)
def test_unparsable_statements_are_reported_with_their_line(directive: str, message: str) -> None:
    with pytest.raises(InputError) as complaint:
        directives(unit(f"subroutine f\nx = 1\n!$asphalt {directive}\nx = 2\nend\n"))
    assert complaint.value.line == 3
    assert message in complaint.value.message


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("subroutine f\nx = 1\n!$asphalt skip\nend\n", 3),
        ("subroutine f\ndo i = 1, 3\nx = 1\n!$asphalt skip\nend do\nend\n", 4),
        ("subroutine f\nif (a) then\nx = 1\n!$asphalt skip\nelse\nx = 2\nend if\nend\n", 4),
        ("subroutine f\nx = 1 + &\n!$asphalt skip\n2\nend\n", 3),
        ("subroutine f\nx = 1 !$asphalt skip\nend\n", 2),
        ("subroutine f\n!$asphaltskip\nx = 1\nend\n", 2),
        ("subroutine f\n!$asphalt tile( &\n!$omp parallel\nx = 1\nend\n", 2),
    ],
)
def test_directives_that_belong_to_nothing_are_reported(text: str, line: int) -> None:
    with pytest.raises(InputError) as complaint:
        directives(unit(text))
    assert complaint.value.line == line


CLAUSES = st.one_of(
    st.just((Skip(), "skip")),
    st.integers(0, 2**31 - 1).map(lambda k: (Tile(k), f"tile({k})")),
    st.integers(1, 4096).map(lambda d: (Depth(d), f"depth( {d})")),
    st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True).map(
        lambda name: (Match(name), f"match({name} )")
    ),
    st.tuples(
        st.sampled_from(["uniform", "pure"]),
        st.from_regex(r"[a-z][A-Za-z0-9_]{0,5}", fullmatch=True),
    ).map(lambda one: (Assume(one[0], one[1].lower()), f"assume({one[0]} : {one[1]})")),
    st.sampled_from(["control", "bits"]).map(lambda one: (Assume(one), f"assume({one})")),
)


@given(st.lists(CLAUSES, min_size=1, max_size=5), st.sampled_from([" ", ", ", " ,"]), st.booleans())
def test_clauses_come_back(clauses: list[tuple[Clause, str]], between: str, capitals: bool) -> None:
    text = between.join(text for _, text in clauses)
    lines = [Line(f" {text.upper() if capitals else text}", "a.f90", 1)]
    assert list(parse(lines)) == [clause for clause, _ in clauses]


@given(st.text(alphabet="skipdetha(ml:,)&1 x;'\"$%-", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(InputError):
        assert parse([Line(f" {text}", "a.f90", 7)])


def test_the_lines_of_a_continued_head_count() -> None:
    text = dedent("""\
        subroutine f
        x = 1
        !$asphalt skip

        10 &
          x = 2
        end
        """)
    assert seen(text) == [(Skip(), 3, "x = 2")]
