"""What counts as the same meaning."""

from __future__ import annotations

import pytest

from asphalt.frontend.second_opinion.same_meaning import same, same_statement
from asphalt.frontend.statements.expressions import parse_expression as e
from asphalt.ir.expr import Keyword, Lit, OpaqueExpr, Ref
from asphalt.ir.stmt import IO, Assign, Call, Guarded


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("A(I)", "a(i)"),
        ("a .EQ. b", "a == b"),
        ("1.0E-3_DP", "1.0e-3_dp"),
        (".TRUE.", ".true."),
        ("CK_'X'", "ck_'X'"),
        ("( 1.0, -2.0)", "(1.0,-2.0)"),
        ("z'fF'", "Z'FF'"),
        ("[a, b(i)]", "(/ a, b( i ) /)"),
        ("(a, 1)", "(A, 1)"),
        ("f(K = a)", "f(k=a)"),
    ],
)
def test_spelling_does_not_count(ours: str, theirs: str) -> None:
    assert same(e(ours), e(theirs))
    assert same(e(theirs), e(ours))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("a", "b"),
        ("a", "a()"),
        ("a(i)", "a(i, i)"),
        ("a(i)", "a(:)"),
        ("a%b", "a%c"),
        ("a%b", "b"),
        ("a + b", "a - b"),
        ("a - b - c", "a - (b - c)"),
        ("(a)", "a"),
        ("1", "1_8"),
        ("1.0", "1.0d0"),
        ("'x'", "'X'"),
        ("'a b'", "'ab'"),
        ("'1'", "1"),
        ("[a, b]", "[a, c]"),
        ("[a, b]", "[a]"),
        ("f(k=a)", "f(a)"),
        ("a(1:2)", "a(1:2:1)"),
    ],
)
def test_everything_else_does(ours: str, theirs: str) -> None:
    assert not same(e(ours), e(theirs))
    assert not same(e(theirs), e(ours))


def test_an_opaque_expression_is_compared_by_its_names() -> None:
    opaque = OpaqueExpr("a(i)(1:n)", frozenset("ain"))
    assert same(opaque, e("a(i, 1:n)"))
    assert same(e("a(i, 1:n)"), opaque)
    assert not same(opaque, e("a(i, 1:m)"))
    assert not same(opaque, e("a(i)"))
    assert not same(opaque, None)


def test_words_of_a_text_are_not_missing_names() -> None:
    ours = OpaqueExpr("character(n)", frozenset(("character", "n")))
    assert same(ours, OpaqueExpr("CHARACTER(LEN = n)", frozenset("n")))
    assert not same(ours, OpaqueExpr("CHARACTER(LEN = m)", frozenset("m")))


def test_statements_of_two_kinds_differ() -> None:
    assign = Assign(e("a"), e("b"))
    assert same_statement(assign, assign)
    assert not same_statement(assign, Call(e("a"), ()))
    assert not same_statement(assign, Assign(e("a"), e("b"), pointer=True))
    guarded = Guarded(e("c"), assign)
    assert same_statement(guarded, guarded)
    assert not same_statement(guarded, assign)
    assert not same_statement(guarded, Guarded(e("c"), assign, "where"))


UNIT, GROUP = Keyword("unit", "unit", e("s")), Keyword("nml", "nml", e("g"))


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (IO("write", (e("x"),), (e("s"),)), IO("write", (e("x"),), (UNIT,)), True),
        (IO("write", (e("x"),), ()), IO("write", (e("x"),), (UNIT,)), True),
        (IO("write", (e("x"),), (UNIT,)), IO("write", (e("x"),), (UNIT,)), True),
        (IO("write", (e("x"),), (e("s"),)), IO("write", (e("x"),)), False),
        (IO("write", (e("y"),), (e("s"),)), IO("write", (e("x"),), (UNIT,)), False),
        (IO("read", (e("g"),), (e("x"), e("y"))), IO("read", (e("g"),), (GROUP,)), True),
        (IO("read", (), (e("x"), e("y"))), IO("read", (e("g"),), (GROUP,)), True),
        (IO("read", (), (e("x"),)), IO("read", (e("g"), e("u")), (GROUP,)), False),
        (IO("read", (e("g"),), (e("x"),)), IO("read", (e("g"),), (GROUP, e("y"))), False),
        (IO("read", (), (e("x"),), (10,)), IO("read", (), (e("x"),)), False),
        (IO("read", (), (e("x"), e("y"))), IO("read", (), (e("y"), e("x"))), False),
    ],
)
def test_only_declarations_explain_units_and_namelists(
    ours: IO, theirs: IO, expected: bool
) -> None:
    assert same_statement(ours, theirs) is expected


def test_kinds_of_literals() -> None:
    assert not same(Lit("boz", "b'1'"), Lit("character", "b'1'"))
    assert not same(Lit("integer", "1"), Ref("a", "a"))
