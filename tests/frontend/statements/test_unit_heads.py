"""First and last statements of units, types, interfaces and enums."""

from __future__ import annotations

import pytest

from asphalt.frontend.statements.expressions import parse_expression as e
from asphalt.frontend.statements.statements import statement
from asphalt.frontend.statements.unit_heads import end_statement
from asphalt.ir.expr import Lit, OpaqueExpr, TypeSpec
from asphalt.ir.stmt import Opaque, Plain, UnitHead

HEADS: list[tuple[str, UnitHead]] = [
    ("program P", UnitHead("program", "p")),
    ("program p(input, output)", UnitHead("program", "p")),
    ("module M", UnitHead("module", "m")),
    ("submodule (a:b) c", UnitHead("submodule", "c", prefix=("parent(a:b)",))),
    ("module procedure p", UnitHead("module_procedure", "p")),
    ("block data", UnitHead("block_data", "")),
    ("BLOCKDATA b", UnitHead("block_data", "b")),
    ("subroutine S", UnitHead("subroutine", "s")),
    ("subroutine s(A, *, b)", UnitHead("subroutine", "s", ("a", "*", "b"))),
    ("subroutine s bind(c)", UnitHead("subroutine", "s", prefix=("bind(c)",))),
    ("pure recursive subroutine s()", UnitHead("subroutine", "s", prefix=("pure", "recursive"))),
    ("module subroutine s(a)", UnitHead("subroutine", "s", ("a",), ("module",))),
    ("function f()", UnitHead("function", "f")),
    ("real function f(x)", UnitHead("function", "f", ("x",), type=TypeSpec("real"))),
    ("REAL(8) PURE FUNCTION F(X) RESULT(Y) BIND(C, NAME='f')", UnitHead(
        "function", "f", ("x",), ("pure", "bind(c,name='f')"), "y",
        TypeSpec("real", Lit("integer", "8")))),
    ("elemental double precision function f(x)", UnitHead(
        "function", "f", ("x",), ("elemental",), type=TypeSpec("double_precision"))),
    ("integer*8 function f(x)", UnitHead(
        "function", "f", ("x",), type=TypeSpec("integer", Lit("integer", "8"), star=True))),
    ("real function f*8 (x)", UnitHead(
        "function", "f", ("x",), type=TypeSpec("real", Lit("integer", "8"), star=True))),
    ("character(len=*) function f(x)", UnitHead(
        "function", "f", ("x",),
        type=TypeSpec("character", length=OpaqueExpr("*", frozenset())))),
    ("type(t) function f(x)", UnitHead("function", "f", ("x",), type=TypeSpec("type", name="t"))),
    ("module real function f(x)", UnitHead(
        "function", "f", ("x",), ("module",), type=TypeSpec("real"))),
    ("interface", UnitHead("interface", "")),
    ("interface G", UnitHead("interface", "g")),
    ("interface operator(.Cross.)", UnitHead("interface", "operator(.cross.)")),
    ("interface assignment ( = )", UnitHead("interface", "assignment(=)")),
    ("interface read(formatted)", UnitHead("interface", "read(formatted)")),
    ("abstract interface", UnitHead("interface", "", prefix=("abstract",))),
    ("type T", UnitHead("type", "t")),
    ("type :: t", UnitHead("type", "t")),
    ("type, extends(b), public :: t", UnitHead("type", "t", prefix=("extends(b)", "public"))),
    ("type :: t(k, n)", UnitHead("type", "t", ("k", "n"))),
    ("enum, bind(c)", UnitHead("enum", "", prefix=("bind(c)",))),
]  # fmt: skip


@pytest.mark.parametrize(("code", "expected"), HEADS, ids=[code for code, _ in HEADS])
def test_head(code: str, expected: UnitHead) -> None:
    assert statement(code, False) == expected


@pytest.mark.parametrize(
    ("code", "keyword"),
    [
        ("end", "end"),
        ("END DO", "end do"),
        ("enddo", "end do"),
        ("endif", "end if"),
        ("End If Name", "end if"),
        ("endselect", "end select"),
        ("end where", "end where"),
        ("endforall", "end forall"),
        ("end associate", "end associate"),
        ("end block", "end block"),
        ("end blockdata b", "end block data"),
        ("end block data", "end block data"),
        ("end critical", "end critical"),
        ("endsubroutine s", "end subroutine"),
        ("end function f", "end function"),
        ("end program", "end program"),
        ("end module m", "end module"),
        ("end submodule m", "end submodule"),
        ("end procedure p", "end procedure"),
        ("end interface operator(+)", "end interface"),
        ("end type t", "end type"),
        ("end enum", "end enum"),
    ],
)
def test_end(code: str, keyword: str) -> None:
    assert statement(code, False) == Plain(keyword)


@pytest.mark.parametrize("code", ["end = 1", "end do 3", "endfile 10", "end if (x)", "ender"])
def test_what_is_no_end(code: str) -> None:
    assert end_statement(code) is None


@pytest.mark.parametrize(
    "code", ["program", "module", "subroutine", "function f", "type", "end foo bar", "enum"]
)
def test_what_is_no_head_is_opaque(code: str) -> None:
    assert isinstance(statement(code, False), Opaque)


def test_a_variable_called_function() -> None:
    assert e("function(3)") == e("function (3)")
    assert not isinstance(statement("real function", True), UnitHead)
