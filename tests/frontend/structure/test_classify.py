from __future__ import annotations

import pytest

from asphalt.frontend.structure.classify import (
    NestingRole,
    NestingStatement,
    after_parenthesis,
    classify,
)
from asphalt.ir.source import Form


def _unit(kind: str, name: str = "") -> NestingStatement:
    return NestingStatement(NestingRole.UNIT, kind, name)


def _do(label: int | None = None) -> NestingStatement:
    return NestingStatement(NestingRole.DO, "do", label=label)


BOTH_FORMS = [
    ("program a", _unit("program", "a")),
    ("PROGRAM a (input, output)", _unit("program", "a")),
    ("MODULE Foo", _unit("module", "foo")),
    ("module procedure foo", _unit("module_procedure", "foo")),
    ("submodule (a:b) c", _unit("submodule", "c")),
    ("block data", _unit("block_data")),
    ("block data b", _unit("block_data", "b")),
    ("subroutine s", _unit("subroutine", "s")),
    ("subroutine s(a, *) bind(c, name='s')", _unit("subroutine", "s")),
    ("pure recursive subroutine s ()", _unit("subroutine", "s")),
    ("module subroutine s(a)", _unit("subroutine", "s")),
    ("function f(x)", _unit("function", "f")),
    ("function f(x) result(y)", _unit("function", "f")),
    ("real function f(x)", _unit("function", "f")),
    ("real*8 function f(x)", _unit("function", "f")),
    ("double precision function f(x)", _unit("function", "f")),
    ("elemental real(kind(1d0)) function f(x)", _unit("function", "f")),
    ("real(dp) elemental function f(x)", _unit("function", "f")),
    ("character(len=max(n, size(a(1)))) function f(x)", _unit("function", "f")),
    ("character*(*) function f(x)", _unit("function", "f")),
    ("type(t) function f(x)", _unit("function", "f")),
    ("class(t) function f(x)", _unit("function", "f")),
    ("do", _do()),
    ("do i = 1, n", _do()),
    ("DO 10 i = 1, n", _do(10)),
    ("do 10, i = 1, n, 2", _do(10)),
    ("do 10", _do(10)),
    ("do x = f(1, 2), 3.", _do()),
    ("do while (a(1) == ')')", _do()),
    ("do 10 while (a)", _do(10)),
    ("do, while (a)", _do()),
    ("do concurrent (i = 1:n) local(x)", _do()),
    ("if (a) then", NestingStatement(NestingRole.BRANCH, "if")),
    ("if (f(')') == then(1)) then", NestingStatement(NestingRole.BRANCH, "if")),
    ("else", NestingStatement(NestingRole.ARM, "if")),
    ("else if (a) then", NestingStatement(NestingRole.ARM, "if")),
    ("elseif (a) then name", NestingStatement(NestingRole.ARM, "if")),
    ("select case (i)", NestingStatement(NestingRole.BRANCH, "select")),
    ("select type (p => a%b)", NestingStatement(NestingRole.BRANCH, "select")),
    ("select rank (x)", NestingStatement(NestingRole.BRANCH, "select")),
    ("case (1, 2:)", NestingStatement(NestingRole.ARM, "select")),
    ("case default", NestingStatement(NestingRole.ARM, "select")),
    ("case (1) name", NestingStatement(NestingRole.ARM, "select")),
    ("type is (real(8))", NestingStatement(NestingRole.ARM, "select")),
    ("class is (t)", NestingStatement(NestingRole.ARM, "select")),
    ("class default", NestingStatement(NestingRole.ARM, "select")),
    ("rank (2)", NestingStatement(NestingRole.ARM, "select")),
    ("where (a > 0)", NestingStatement(NestingRole.BRANCH, "where")),
    ("elsewhere", NestingStatement(NestingRole.ARM, "where")),
    ("else where (b)", NestingStatement(NestingRole.ARM, "where")),
    ("forall (i = 1:n)", NestingStatement(NestingRole.BLOCK, "forall")),
    ("associate (a => b, c => d(1))", NestingStatement(NestingRole.BLOCK, "associate")),
    ("block", NestingStatement(NestingRole.BLOCK, "block")),
    ("critical", NestingStatement(NestingRole.BLOCK, "critical")),
    ("critical (stat=i)", NestingStatement(NestingRole.BLOCK, "critical")),
    ("change team (t)", NestingStatement(NestingRole.BLOCK, "team")),
    ("interface", NestingStatement(NestingRole.BLOCK, "interface")),
    ("interface foo", NestingStatement(NestingRole.BLOCK, "interface")),
    ("abstract interface", NestingStatement(NestingRole.BLOCK, "interface")),
    ("interface operator(+)", NestingStatement(NestingRole.BLOCK, "interface")),
    ("interface assignment (=)", NestingStatement(NestingRole.BLOCK, "interface")),
    ("type t", NestingStatement(NestingRole.BLOCK, "type")),
    ("type :: t", NestingStatement(NestingRole.BLOCK, "type")),
    ("type, extends(a), public :: t(k)", NestingStatement(NestingRole.BLOCK, "type")),
    ("enum, bind(c)", NestingStatement(NestingRole.BLOCK, "enum")),
    ("structure /s/", NestingStatement(NestingRole.BLOCK, "type")),
    ("contains", NestingStatement(NestingRole.CONTAINS, "contains")),
    ("end", NestingStatement(NestingRole.END, "")),
    ("END DO", NestingStatement(NestingRole.END, "do")),
    ("enddo outer", NestingStatement(NestingRole.END, "do")),
    ("end if", NestingStatement(NestingRole.END, "if")),
    ("end block data b", NestingStatement(NestingRole.END, "block_data")),
    ("end block", NestingStatement(NestingRole.END, "block")),
    ("end procedure p", NestingStatement(NestingRole.END, "module_procedure")),
    ("end interface operator (.x.)", NestingStatement(NestingRole.END, "interface")),
    ("end subroutine s", NestingStatement(NestingRole.END, "subroutine")),
    ("endfunction", NestingStatement(NestingRole.END, "function")),
]

NEITHER_FORM = [
    "end = 3",
    "end(1) = 3",
    "enddo = 4",
    "end file 10",
    "endfile (10)",
    "if(i) = 2",
    "if (a) b = c",
    "if (a) goto 10",
    "if (a) then = 3",
    "if (a) 10, 20, 30",
    "else = 3",
    "elsewhere(i) = f(3)",
    "do = 3",
    "do(i) = f(1, 2)",
    "do i = 3",
    "dowhile(i) = 3",
    "select = 1",
    "select case(i) = f(2)",
    "case(3) = 1",
    "rank(1) = 2",
    "where (a > 0) b = 1",
    "where(i) = 3",
    "forall (i = 1:n) a(i) = 1",
    "associate(1) = 2",
    "block = 3",
    "critical = 3",
    "type(t) :: x",
    "type (t), pointer :: x",
    "type(1) = 2",
    "type *, x",
    "class(t) :: x",
    "interface = 3",
    "contains = 3",
    "program = 3",
    "module = 3",
    "function(3) = 5",
    "subroutine = 3",
    "real function",
    "integer :: function",
    "call subroutine(a)",
    "real, dimension(3) :: x",
    "procedure(f), pointer :: p",
    "import",
    "x = 'end if'",
    "print *, 'function f(x)'",
]

FREE_ONLY = [
    ("end program_name = 3", None),
    ("module proceduralia", _unit("module", "proceduralia")),
    ("doi = 1, 5", None),
    ("typet", None),
    ("do 10 i = 1, 5", _do(10)),
    ("select type(x)", NestingStatement(NestingRole.BRANCH, "select")),
]

FIXED_ONLY = [
    ("DO10I=1,5", _do(10)),
    ("D O 1 0 I = 1, 5", _do(10)),
    ("DO 10 I = 1.5", None),
    ("DO I = 1, 5", _do()),
    ("DOI=1.5", None),
    ("E N D", NestingStatement(NestingRole.END, "")),
    ("ENDI F", NestingStatement(NestingRole.END, "if")),
    ("SUBROUTINEFOO(X)", _unit("subroutine", "foo")),
    ("INTEGERFUNCTIONFOO(X)", _unit("function", "foo")),
    ("I F (X) T H E N", NestingStatement(NestingRole.BRANCH, "if")),
    ("DOUBLE PRECISION X", None),
    ("DOUBLEPRECISIONX(10)", None),
]


@pytest.mark.parametrize(("code", "shape"), BOTH_FORMS)
@pytest.mark.parametrize("form", list(Form))
def test_statements_that_nest(code: str, shape: NestingStatement, form: Form) -> None:
    assert classify(code, form, opening=True) == shape
    assert classify(code.upper(), form, opening=True) == shape


@pytest.mark.parametrize("code", NEITHER_FORM)
@pytest.mark.parametrize("form", list(Form))
def test_statements_that_only_look_so(code: str, form: Form) -> None:
    assert classify(code, form, opening=True) is None


@pytest.mark.parametrize(("code", "shape"), FREE_ONLY)
def test_free_form(code: str, shape: NestingStatement | None) -> None:
    assert classify(code, Form.FREE, opening=True) == shape


@pytest.mark.parametrize(("code", "shape"), FIXED_ONLY)
def test_fixed_form(code: str, shape: NestingStatement | None) -> None:
    assert classify(code, Form.FIXED, opening=True) == shape


def test_declaration_that_reads_as_a_function_without_blanks() -> None:
    assert classify("REAL FUNCTIONX(N)", Form.FIXED, opening=False) is None


@pytest.mark.parametrize(
    ("code", "stop"), [("(a)", 3), ("((a)(b))c", 8), ("(')')x", 5), ('("(")', 5), ("(a", -1)]
)
def test_after_parenthesis(code: str, stop: int) -> None:
    assert after_parenthesis(code, 0) == stop
