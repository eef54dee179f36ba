"""Expressions: precedence, names, sections, and two compilers' opinion of them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from asphalt.frontend.lexical.tokens import FortranSyntaxError
from asphalt.frontend.second_opinion.same_meaning import same
from asphalt.frontend.second_opinion.second_opinion import meaning
from asphalt.frontend.statements.expressions import parse_expression
from asphalt.ir.expr import (
    AltReturn,
    Arg,
    ArrayConstructor,
    Component,
    Expr,
    ImpliedDo,
    Keyword,
    Lit,
    Op,
    OpaqueExpr,
    Ref,
    Section,
    TypeSpec,
)
from asphalt.ir.stmt import Assign

A, B, C = Ref("a", "a"), Ref("b", "b"), Ref("c", "c")
INDEX, ONE, TWO = Ref("i", "i"), Lit("integer", "1"), Lit("integer", "2")


def _op(op: str, *operands: Expr, spelled: str = "") -> Op:
    return Op(op, operands, spelled)


TREES: list[tuple[str, Expr]] = [
    ("a", A),
    ("Alpha_1", Ref("alpha_1", "Alpha_1")),
    ("12", Lit("integer", "12")),
    ("1_8", Lit("integer", "1_8")),
    ("1.0E-3_dp", Lit("real", "1.0E-3_dp")),
    (".TRUE.", Lit("logical", ".TRUE.")),
    ("'it''s'", Lit("character", "'it''s'")),
    ("z'fF'", Lit("boz", "z'fF'")),
    ("3habc", Lit("character", "3habc")),
    ("(1.0, -2.0)", Lit("complex", "(1.0, -2.0)")),
    ("(a, 1)", OpaqueExpr("(a, 1)", frozenset("a"))),
    ("a + b*c", _op("+", A, _op("*", B, C))),
    ("a - b - c", _op("-", _op("-", A, B), C)),
    ("a / b * c", _op("*", _op("/", A, B), C)),
    ("a ** b ** c", _op("**", A, _op("**", B, C))),
    ("-a**2", _op("-", _op("**", A, TWO))),
    ("-a + b", _op("+", _op("-", A), B)),
    ("-a * b", _op("-", _op("*", A, B))),
    ("a * -b", _op("*", A, _op("-", B))),
    ("a ** -b * c", _op("*", _op("**", A, _op("-", B)), C)),
    ("a + -b * c", _op("+", A, _op("-", _op("*", B, C)))),
    ("a == -1", _op("==", A, _op("-", ONE))),
    ("(a)", _op("()", A)),
    ("(a + b) * c", _op("*", _op("()", _op("+", A, B)), C)),
    ("a // b // c", _op("//", _op("//", A, B), C)),
    ("a.EQ.b", _op("==", A, B, spelled=".EQ.")),
    ("a .ge. b", _op(">=", A, B, spelled=".ge.")),
    ("a /= b", _op("/=", A, B)),
    (".not. a .and. b", _op(".and.", _op(".not.", A), B)),
    (".NOT. a == b", _op(".not.", _op("==", A, B), spelled=".NOT.")),
    ("a .or. b .and. c", _op(".or.", A, _op(".and.", B, C))),
    ("a .or. b .eqv. c", _op(".eqv.", _op(".or.", A, B), C)),
    ("a .neqv. .not. b", _op(".neqv.", A, _op(".not.", B))),
    ("a .xor. b", _op(".neqv.", A, B, spelled=".xor.")),
    ("a .Cross. b + c", _op(".cross.", A, _op("+", B, C), spelled=".Cross.")),
    (".inv. a * b", _op("*", _op(".inv.", A), B)),
    ("a(i)", Ref("a", "a", (INDEX,))),
    ("F()", Ref("f", "F", ())),
    ("a(1, i:2, :, ::2)", Ref("a", "a", (
        ONE, Section(INDEX, TWO, None), Section(None, None, None), Section(None, None, TWO)))),
    ("a(i:)", Ref("a", "a", (Section(INDEX, None, None),))),
    ("a(:i:2)", Ref("a", "a", (Section(None, INDEX, TWO),))),
    ("f(a, Key=b)", Ref("f", "f", (A, Keyword("key", "Key", B)))),
    ("f(*10, a)", Ref("f", "f", (AltReturn(10), A))),
    ("f(a == b)", Ref("f", "f", (_op("==", A, B),))),
    ("max(1, i)", Ref("max", "max", (ONE, INDEX))),
    ("epsilon(1, 2, i)", Ref("epsilon", "epsilon", (ONE, TWO, INDEX))),
    ("a%B(i)%c", Component(Component(A, "b", "B", (INDEX,)), "c", "c")),
    ("a(i)%b(1:2)", Component(Ref("a", "a", (INDEX,)), "b", "b", (Section(ONE, TWO, None),))),
    ("a % f()", Component(A, "f", "f", ())),
    ("(/ 1, i /)", ArrayConstructor((ONE, INDEX))),
    ("(/-1,i/2/)", ArrayConstructor((_op("-", ONE), _op("/", INDEX, TWO)))),
    ("[a(i), [1, 2], (a)]", ArrayConstructor((
        Ref("a", "a", (INDEX,)), ArrayConstructor((ONE, TWO)), _op("()", A)))),
    ("[real(a) :: b, 1]", ArrayConstructor((B, ONE), TypeSpec("real", A))),
    ("(/ complex*16 :: a /)", ArrayConstructor((A,), TypeSpec(
        "complex", Lit("integer", "16"), star=True))),
    ("[integer ::]", ArrayConstructor((), TypeSpec("integer"))),
    ("[(a, (b, I=1,2,c), k=1,2)]", ArrayConstructor((ImpliedDo((A, ImpliedDo(
        (B,), Ref("i", "I"), ONE, TWO, C)), Ref("k", "k"), ONE, TWO),))),
    ("[(i, 1)]", ArrayConstructor((OpaqueExpr("(i, 1)", frozenset("i")),))),
    ("[t :: a, (i, i=1,2)]", OpaqueExpr("[t :: a, (i, i=1,2)]", frozenset("tai"))),
    ("[character(3) :: 'a']", OpaqueExpr("[character(3) :: 'a']", frozenset(("character",)))),
    ("a(i)(1:2)", OpaqueExpr("a(i)(1:2)", frozenset(("a", "i")))),
    ("a(i)[2]", OpaqueExpr("a(i)[2]", frozenset(("a", "i")))),
    ("'abc'(1:2)", OpaqueExpr("'abc'(1:2)", frozenset())),
    ("f(%val(a))", Ref("f", "f", (OpaqueExpr("%val(a)", frozenset(("val", "a"))),))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), TREES, ids=[text for text, _ in TREES])
def test_tree(text: str, expected: Expr) -> None:
    assert parse_expression(text) == expected


@pytest.mark.parametrize(
    "text", ["", "a +", "a b", "(a", "a)", "f(a,)", "* a", "a % 1", "a(1:2:)", "a = b", ".and. = 1"]
)
def test_what_is_no_expression_is_an_error(text: str) -> None:
    with pytest.raises(FortranSyntaxError):
        parse_expression(text)


# -- whatever we print, we read back --------------------------------------------------------------

_NAMES = st.sampled_from(["a", "Bc", "do", "end", "x_1", "if"])
_LITERALS = st.sampled_from(
    [
        ONE,
        Lit("real", "1.5e-3_dp"),
        Lit("real", "2."),
        Lit("logical", ".true."),
        Lit("real", ".5d0"),
    ]
)
_LEVELS = [
    (".eqv.", ".neqv."), (".or.",), (".and.",), (), ("==", "/=", "<", "<=", ">", ">="), ("//",),
    ("+", "-"), ("*", "/"), ("**",),
]  # fmt: skip
_LEVEL_OF = {op: level for level, ops in enumerate(_LEVELS) for op in ops}


def _ref(name: str, args: list[Arg] | None) -> Ref:
    return Ref(name.lower(), name, None if args is None else tuple(args))


def _extended(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    part = st.none() | inner
    argument = (
        inner
        | st.builds(Section, part, part, part)
        | st.builds(lambda name, value: Keyword(name.lower(), name, value), _NAMES, inner)
    )
    arguments = st.lists(argument, max_size=3)
    return st.one_of(
        st.builds(_ref, _NAMES, arguments),
        st.builds(
            lambda base, name, args: Component(base, name.lower(), name, args and tuple(args)),
            st.builds(_ref, _NAMES, st.none() | st.lists(argument, min_size=1, max_size=2)),
            _NAMES,
            st.none() | arguments,
        ),
        st.builds(lambda op, a, b: Op(op, (a, b)), st.sampled_from(list(_LEVEL_OF)), inner, inner),
        st.builds(lambda op, a: Op(op, (a,)), st.sampled_from(["-", "+", ".not.", "()"]), inner),
    )


EXPRESSIONS = st.recursive(
    st.builds(lambda name: _ref(name, None), _NAMES) | _LITERALS, _extended, max_leaves=12
)


def _tightness(expr: Expr) -> int:
    match expr:
        case Op(op="()"):
            return len(_LEVELS)
        case Op(op=".not."):
            return 3
        case Op(op="+" | "-", operands=(_,)):
            return _LEVEL_OF["+"]
        case Op(op=op):
            return _LEVEL_OF[op]
    return len(_LEVELS)


def _legal(arg: Arg) -> Arg:
    """The expression with the parentheses that the grammar asks for put in as operations."""
    match arg:
        case Op(op="()", operands=(inner,)):
            return Op("()", (_legal_expr(inner),))
        case Op(op=op, operands=(inner,)):
            return Op(op, (_wrapped(inner, 4 if op == ".not." else _LEVEL_OF["*"]),))
        case Op(op="**", operands=(left, right)):
            return Op("**", (_wrapped(left, 9), _wrapped(right, 8)))
        case Op(op=op, operands=(left, right)):
            level = _LEVEL_OF[op]
            # A relation does not associate; nothing may stand unary right of an operator.
            return Op(op, (_wrapped(left, level + (level == 4)), _wrapped(right, level + 1)))
        case Ref(name=name, spelled=spelled, args=args) if args is not None:
            return Ref(name, spelled, tuple(map(_legal, args)))
        case Component(base=base, name=name, spelled=spelled, args=args):
            return Component(
                _legal_expr(base), name, spelled, None if args is None else tuple(map(_legal, args))
            )
        case Section(lower=lower, upper=upper, stride=stride):
            ends = [None if part is None else _legal_expr(part) for part in (lower, upper, stride)]
            return Section(*ends)
        case Keyword(name=name, spelled=spelled, value=value):
            return Keyword(name, spelled, _legal_expr(value))
    return arg


def _legal_expr(expr: Expr) -> Expr:
    legal = _legal(expr)
    assert isinstance(legal, Lit | Ref | Component | Op | OpaqueExpr)
    return legal


def _wrapped(expr: Expr, least: int) -> Expr:
    legal = _legal_expr(expr)
    return legal if _tightness(legal) >= least else Op("()", (legal,))


def _printed(arg: Arg) -> str:
    match arg:
        case Lit(text=text) | OpaqueExpr(text=text):
            return text
        case Ref(spelled=spelled, args=args):
            return spelled + _printed_list(args)
        case Component(base=base, spelled=spelled, args=args):
            return f"{_printed(base)}%{spelled}{_printed_list(args)}"
        case Op(op="()", operands=(inner,)):
            return f"({_printed(inner)})"
        case Op(op=op, operands=(inner,)):
            return f"{op}{_printed(inner)}"
        case Op(op=op, operands=(left, right)):
            return f"{_printed(left)} {op} {_printed(right)}"
        case Section(lower=lower, upper=upper, stride=stride):
            ends = ["" if part is None else _printed(part) for part in (lower, upper)]
            return ":".join(ends) + ("" if stride is None else f":{_printed(stride)}")
        case Keyword(spelled=spelled, value=value):
            return f"{spelled}={_printed(value)}"
    raise AssertionError(arg)


def _printed_list(args: tuple[Arg, ...] | None) -> str:
    return "" if args is None else f"({','.join(map(_printed, args))})"


@given(EXPRESSIONS)
def test_what_is_printed_is_read_back(expr: Expr) -> None:
    legal = _legal_expr(expr)
    text = _printed(legal)
    assert parse_expression(text) == legal
    assert parse_expression(text.replace(" ", "")) == legal


# -- fparser as an oracle -------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(EXPRESSIONS)
def test_fparser_sees_the_same_tree(expr: Expr) -> None:
    text = _printed(_legal_expr(expr))
    theirs = meaning(f"x = {text}", "Assignment_Stmt")
    event("rejected" if theirs is None else "understood")
    assert theirs is None or same(Assign(Ref("x", "x"), parse_expression(text)), theirs)


@pytest.mark.parametrize(
    "text",
    [
        "-a**2*b(i)/c - (d + 1.5e-3_dp)", "a // b // 'it''s'", "a**b**c", "a - b - c", "f(a, K=b)",
        ".not. a == b .and. c .or. d .eqv. e .neqv. f", "a .cross. b + c", ".inv. a*b", "f()",
        "a%b(i)%c(1:n:2, :)", "a(i)%b(f(j))%c", "max(a, b)%c", "(a < b) .neqv. (c .GE. d)",
    ],
)  # fmt: skip
def test_fparser_understands_these(text: str) -> None:
    theirs = meaning(f"x = {text}", "Assignment_Stmt")
    assert same(Assign(Ref("x", "x"), parse_expression(text)), theirs)


# -- gfortran as an oracle ------------------------------------------------------------------------

NUMERIC = [
    "-a**2 + b*c/d - (a-b)", "a*-b", "a + -b*c", "-a - b - c**d**a", "a**(-b)", "a**-b*c",
    "-a*b*c", "a/b/c*d", "a - b + c - d", "+a - -b", "a*b**c/d", "(a + b)*(c - d)**2 - (-(a))",
]  # fmt: skip
LOGICAL = [
    ".not. p .or. q .and. a == b .eqv. p .neqv. q", "a-b > -c .and. d/a <= b**c",
    "p .or. .not. q .or. p", ".not. a == b", "p .eqv. q .neqv. p .eqv. q", "a.lt.b.or.c.ge.d",
    "p .and. (q .or. p)", ".not. (p .and. q) .or. .not. p .and. q",
]  # fmt: skip
_GFORTRAN = {
    "U-": "-", "U+": "+", "parens": "()", "NOT": ".not.", "AND": ".and.", "OR": ".or.",
    "EQV": ".eqv.", "NEQV": ".neqv.",
}  # fmt: skip


def _prefix(expr: Arg) -> str:
    """The expression the way gfortran dumps it."""
    match expr:
        case Op(op=op, operands=operands):
            return f"({op} {' '.join(map(_prefix, operands))})"
        case Ref(name=name):
            return name
        case Lit(text=text):
            return text
    raise AssertionError(expr)


@pytest.mark.skipif(shutil.which("gfortran") is None, reason="gfortran is not installed")
def test_gfortran_sees_the_same_tree(tmp_path: Path) -> None:
    source = tmp_path / "t.f90"
    lines = [*(f"x = {text}" for text in NUMERIC), *(f"t = {text}" for text in LOGICAL)]
    head = ["subroutine s(a, b, c, d, x, p, q, t)", "real a, b, c, d, x", "logical p, q, t"]
    source.write_text("\n".join([*head, *lines, "end", ""]))
    command = ["gfortran", "-std=legacy", "-fsyntax-only", "-fdump-fortran-original", str(source)]
    dump = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = []
    for line in dump.splitlines():
        if match := re.match(r"\s*ASSIGN s:[xt] (.*)", line):
            text = re.sub(r"\((\S+) ", lambda m: f"({_GFORTRAN.get(m[1], m[1])} ", match[1])
            found.append(text.replace("s:", ""))
    assert found == [_prefix(parse_expression(text)) for text in (*NUMERIC, *LOGICAL)]
