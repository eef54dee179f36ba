"""Executable statements."""

from __future__ import annotations

import pytest

from asphalt.frontend.statements.expressions import parse_expression as e
from asphalt.frontend.statements.statements import statement
from asphalt.ir.expr import AltReturn, Component, Keyword, Lit, OpaqueExpr, Ref
from asphalt.ir.stmt import (
    IO,
    Allocation,
    Assign,
    Call,
    Jump,
    JumpKind,
    Opaque,
    Plain,
    What,
)

INDEX, S = Ref("i", "i"), Ref("s", "s")


def _goto(*labels: int) -> Jump:
    return Jump(JumpKind.GOTO, labels)


STATEMENTS: list[tuple[str, What]] = [
    ("a(i) = b + 1", Assign(e("a(i)"), e("b+1"))),
    ("A%b(i)%c = 0", Assign(e("A%b(i)%c"), e("0"))),
    ("s(1:3) = 'x = y'", Assign(e("s(1:3)"), Lit("character", "'x = y'"))),
    ("a(i)[2] = b", Assign(OpaqueExpr("a(i)[2]", frozenset(("a", "i"))), e("b"))),
    ("p => q(1:n)", Assign(e("p"), e("q(1:n)"), pointer=True)),
    ("p(1:) => q", Assign(e("p(1:)"), e("q"), pointer=True)),
    ("x%p => null()", Assign(e("x%p"), e("null()"), pointer=True)),
    ("call s", Call(S, ())),
    ("CALL S()", Call(Ref("s", "S"), ())),
    ("call s(a, b(i), Key=3)", Call(S, (e("a"), e("b(i)"), Keyword("key", "Key", e("3"))))),
    ("call s(*10, &20)", Call(S, (AltReturn(10), AltReturn(20)))),
    ("call x%p(a)", Call(Component(e("x"), "p", "p"), (e("a"),))),
    ("call x(i)%y%p", Call(Component(e("x(i)%y"), "p", "p"), ())),
    ("call s(a(:,1), %loc(b), null())", Call(S, (
        e("a(:,1)"), OpaqueExpr("%loc(b)", frozenset(("loc", "b"))), e("null()")))),
    ("callfoo(x)", Call(Ref("foo", "foo"), (e("x"),))),
    ("goto 10", _goto(10)),
    ("GO TO 10", _goto(10)),
    ("goto10", _goto(10)),
    ("goto (10, 20), i", Jump(JumpKind.COMPUTED_GOTO, (10, 20), exprs=(INDEX,))),
    ("go to (10,20) i+1", Jump(JumpKind.COMPUTED_GOTO, (10, 20), exprs=(e("i+1"),))),
    ("goto i", Jump(JumpKind.ASSIGNED_GOTO, exprs=(INDEX,))),
    ("goto i, (10, 20)", Jump(JumpKind.ASSIGNED_GOTO, (10, 20), exprs=(INDEX,))),
    ("assign 10 to i", Assign(INDEX, OpaqueExpr("10", frozenset()))),
    ("cycle", Jump(JumpKind.CYCLE)),
    ("EXIT Outer", Jump(JumpKind.EXIT, construct="outer")),
    ("return", Jump(JumpKind.RETURN)),
    ("return 1", Jump(JumpKind.RETURN, exprs=(e("1"),))),
    ("stop", Jump(JumpKind.STOP)),
    ("stop 'message'", Jump(JumpKind.STOP, exprs=(e("'message'"),))),
    ("error stop 3, quiet=q", Jump(JumpKind.ERROR_STOP, exprs=(e("3"), e("q")))),
    ("continue", Plain("continue")),
    ("pause", IO("pause")),
    ("pause 'x'", IO("pause", (e("'x'"),))),
    ("allocate(a(n), x%b(0:m), stat=ios)", Allocation(
        "allocate", (e("a(n)"), e("x%b(0:m)")), (Keyword("stat", "stat", e("ios")),))),
    ("allocate(character(len=n) :: s)", Allocation("allocate", (S,), (
        Keyword("type", "type", OpaqueExpr(
            "character(len=n)", frozenset(("character", "len", "n")))),))),
    ("allocate(a, source=b)", Allocation(
        "allocate", (e("a"),), (Keyword("source", "source", e("b")),))),
    ("deallocate(a, x%b)", Allocation("deallocate", (e("a"), e("x%b")))),
    ("nullify(p, x%q)", Allocation("nullify", (e("p"), e("x%q")))),
]  # fmt: skip


@pytest.mark.parametrize(("code", "expected"), STATEMENTS, ids=[code for code, _ in STATEMENTS])
def test_statement(code: str, expected: What) -> None:
    assert statement(code, False) == expected


@pytest.mark.parametrize(
    "code",
    [
        "call", "call s(", "call s(a,)", "call s a",
        "allocate(character(len=n :: s)", "allocate(a(1::2)", "allocate(t ::",
        "goto", "goto 10, 20", "cycle 3", "allocate(1)",
        "sync all", "stop 1 2",
    ],
)  # fmt: skip
def test_what_is_no_statement_is_opaque(code: str) -> None:
    assert isinstance(statement(code, False), Opaque)
