"""Heads of DO, IF, SELECT, WHERE, FORALL, ASSOCIATE and their arms; one-line IF and the like."""

from __future__ import annotations

import pytest

from asphalt.frontend.statements.expressions import parse_expression as e
from asphalt.frontend.statements.statements import statement
from asphalt.ir.expr import Keyword, OpaqueExpr, Ref, Section
from asphalt.ir.stmt import (
    IO,
    ArmHead,
    Assign,
    Call,
    DoHead,
    Guarded,
    Jump,
    JumpKind,
    Opaque,
    Plain,
    What,
)

INDEX, S = Ref("i", "i"), Ref("s", "s")


def _count(*bounds: str, label: int | None = None) -> DoHead:
    first, last, *step = map(e, bounds)
    return DoHead("count", INDEX, first, last, step[0] if step else None, label=label)


def _goto(*labels: int) -> Jump:
    return Jump(JumpKind.GOTO, labels)


STATEMENTS: list[tuple[str, What]] = [
    ("do", DoHead("forever")),
    ("do i = 1, n", _count("1", "n")),
    ("DO i = n, 1, -1", _count("n", "1", "-1")),
    ("do 10 i = 1, n", _count("1", "n", label=10)),
    ("do 10, i = 1, n", _count("1", "n", label=10)),
    ("do 10i=1,n", _count("1", "n", label=10)),
    ("do10i=1,n", _count("1", "n", label=10)),
    ("doi=1,n,2", _count("1", "n", "2")),
    ("do, i = 1, n", _count("1", "n")),
    ("do while (x < 3)", DoHead("while", condition=e("x<3"))),
    ("do 10 while(x < 3)", DoHead("while", condition=e("x<3"), label=10)),
    ("do, while (x < 3)", DoHead("while", condition=e("x<3"))),
    ("do 10", DoHead("forever", label=10)),
    ("do concurrent (i=1:n, j=1:m, i/=j)", DoHead("concurrent", condition=OpaqueExpr(
        "(i=1:n, j=1:m, i/=j)", frozenset(("i", "j", "n", "m"))))),
    ("do concurrent (i=1:n) local(t)", DoHead("concurrent", condition=OpaqueExpr(
        "(i=1:n) local(t)", frozenset(("i", "n", "local", "t"))))),
    ("if (a == b) then", ArmHead("if", (e("a==b"),))),
    ("IF(a)THEN", ArmHead("if", (e("a"),))),
    ("else", ArmHead("else")),
    ("else name", ArmHead("else")),
    ("else if (a) then", ArmHead("else_if", (e("a"),))),
    ("ELSEIF(a)THEN name", ArmHead("else_if", (e("a"),))),
    ("select case (i)", ArmHead("select_case", (INDEX,))),
    ("selectcase(i)", ArmHead("select_case", (INDEX,))),
    ("case (1, 3:5, :0)", ArmHead("case", (
        e("1"), Section(e("3"), e("5"), None), Section(None, e("0"), None)))),
    ("case ('a') name", ArmHead("case", (e("'a'"),))),
    ("case default", ArmHead("case_default")),
    ("select type (x)", ArmHead("select_type", (e("x"),))),
    ("select type (a => x%y)", ArmHead("select_type", (Keyword("a", "a", e("x%y")),))),
    ("type is (t)", ArmHead("type_is")),
    ("type is (character(len=*))", ArmHead("type_is")),
    ("class is (t)", ArmHead("class_is")),
    ("class default", ArmHead("class_default")),
    ("select rank (x)", ArmHead("select_rank", (e("x"),))),
    ("rank (2)", ArmHead("rank", (e("2"),))),
    ("rank (*)", ArmHead("rank")),
    ("rank default", ArmHead("rank_default")),
    ("where (m > 0)", ArmHead("where", (e("m>0"),))),
    ("elsewhere", ArmHead("elsewhere")),
    ("else where (m)", ArmHead("elsewhere", (e("m"),))),
    ("forall (i=1:n)", ArmHead("forall", (OpaqueExpr("(i=1:n)", frozenset("in")),))),
    ("associate (a => b, c => d(i))", ArmHead("associate", (
        Keyword("a", "a", e("b")), Keyword("c", "c", e("d(i)"))))),
    ("block", ArmHead("block")),
    ("critical", ArmHead("critical")),
    ("if (a) goto 10", Guarded(e("a"), _goto(10))),
    ("if (a) b(i) = c", Guarded(e("a"), Assign(e("b(i)"), e("c")))),
    ("if (a) p => q", Guarded(e("a"), Assign(e("p"), e("q"), pointer=True))),
    ("if (a) call s", Guarded(e("a"), Call(S, ()))),
    ("if (a) write(6,*) x", Guarded(e("a"), IO("write", (e("6"), e("x"))))),
    ("if (a) return", Guarded(e("a"), Jump(JumpKind.RETURN))),
    ("if (a) then = 3", Guarded(e("a"), Assign(e("then"), e("3")))),
    ("if (a) continue", Guarded(e("a"), Plain("continue"))),
    ("if (a) where (m) x = y", Guarded(
        e("a"), Guarded(e("m"), Assign(e("x"), e("y")), "where"))),
    ("where (m) x = y", Guarded(e("m"), Assign(e("x"), e("y")), "where")),
    ("forall (i=1:n) a(i) = b", Guarded(
        OpaqueExpr("(i=1:n)", frozenset("in")), Assign(e("a(i)"), e("b")), "forall")),
    ("if (a) 10, 20, 30", Jump(JumpKind.ARITHMETIC_IF, (10, 20, 30), exprs=(e("a"),))),
]  # fmt: skip


@pytest.mark.parametrize(("code", "expected"), STATEMENTS, ids=[code for code, _ in STATEMENTS])
def test_statement(code: str, expected: What) -> None:
    assert statement(code, False) == expected


@pytest.mark.parametrize(
    "code",
    [
        "do i = 1",
        "do i = 1, 2, 3, 4",
        "do 10 while",
        "if (a)",
        "if (a) if (b) c = d",
        "if (a) integer x",
        "if (a) do i = 1, 3",
        "else if (a)",
        "case 1",
        "select (i)",
        "associate (a)",
        "where m",
        "forall (i=1:n",
        "if (a) 10, b",
        "class is t",
    ],
)
def test_what_is_no_construct_is_opaque(code: str) -> None:
    assert isinstance(statement(code, False), Opaque)
