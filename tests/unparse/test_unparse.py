"""asphalt.unparse.unparse: statements print as what they mean, in both source forms."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asphalt.frontend.lexical.source_text import SourceText
from asphalt.frontend.lexical.split import split
from asphalt.frontend.lexical.tokens import tokenize
from asphalt.frontend.statements.expressions import parse_expression
from asphalt.frontend.statements.statements import statement
from asphalt.frontend.structure.parse import parse_file
from asphalt.ir.expr import (
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
from asphalt.ir.source import Form
from asphalt.ir.stmt import (
    IO,
    Allocation,
    ArmHead,
    Assign,
    Call,
    Decl,
    DoHead,
    Entity,
    Guarded,
    Include,
    Plain,
    Raw,
    Use,
    UseItem,
    What,
)
from asphalt.unparse.expr_text import expr_text
from asphalt.unparse.statement_text import statement_text
from asphalt.unparse.unparse import Style, lines_of, style_of

FREE = Style(Form.FREE, 132, False, "\n")
FIXED = Style(Form.FIXED, 72, True, "\n", upper_names=True)


def name(spelled: str) -> Ref:
    return Ref(spelled.lower(), spelled)


def number(value: int) -> Lit:
    return Lit("integer", str(value))


A, B, C = name("a"), name("b"), name("c")


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (Op("-", (A, Op("-", (B, C)))), "a - (b - c)"),
        (Op("-", (Op("-", (A, B)), C)), "a - b - c"),
        (Op("-", (A, Op("()", (Op("-", (B, C)),)))), "a - (b - c)"),
        (Op("*", (Op("+", (A, B)), C)), "(a + b)*c"),
        (Op("/", (A, Op("*", (B, C)))), "a/(b*c)"),
        (Op("**", (A, Op("**", (B, C)))), "a**b**c"),
        (Op("**", (Op("**", (A, B)), C)), "(a**b)**c"),
        (Op("**", (Op("-", (A,)), number(2))), "(-a)**2"),
        (Op("-", (Op("**", (A, number(2))),)), "-a**2"),
        (Op("+", (A, Op("-", (B,)))), "a + (-b)"),
        (Op("+", (Op("-", (A,)), B)), "-a + b"),
        (Op("-", (Op("+", (A, B)),)), "-(a + b)"),
        (Op("*", (A, Lit("integer", "-1"))), "a*(-1)"),
        (Op("==", (Op("==", (A, B)), C)), "(a == b) == c"),
        (Op(".not.", (Op(".and.", (A, B)),)), ".not. (a .and. b)"),
        (Op(".and.", (Op(".not.", (A,)), Op(">", (B, C)))), ".not. a .and. b > c"),
        (Op(".and.", (Op(".or.", (A, B)), C)), "(a .or. b) .and. c"),
        (Op(".eqv.", (A, Op(".neqv.", (B, C)))), "a .eqv. (b .neqv. c)"),
        (Op("//", (A, Op("//", (B, C)))), "a // (b // c)"),
        (Op(".x.", (A, Op(".y.", (B,)))), "a .x. .y. b"),
        (Op(".y.", (Op("+", (A, B)),)), ".y. (a + b)"),
        (Op("==", (A, B), ".EQ."), "a .EQ. b"),
        (Ref("s", "S", (number(1), Op("+", (A, number(1))), Section(B, None, C))), "S(1,a+1,b::c)"),
        (Ref("min", "min", (Op("+", (A, B)), C)), "min(a + b, c)"),
        (Ref("s", "s", (Ref("min", "min", (Op("+", (A, B)), C)),)), "s(min(a+b,c))"),
        (Component(Ref("x", "x", (A,)), "y", "Y", (B,)), "x(a)%Y(b)"),
        (Ref("f", "f", ()), "f()"),
        (Ref("f", "f", (Keyword("k", "K", A),)), "f(K=a)"),
        (Op("*", (ArrayConstructor((A, number(2))), A)), "[a, 2]*a"),
        (ArrayConstructor((B,), TypeSpec("real", A), "(/"), "(/ real(a) :: b /)"),
        (ArrayConstructor((), TypeSpec("integer")), "[integer ::]"),
        (ArrayConstructor((ImpliedDo((A, B), C, number(1), A, B),)), "[(a, b, c = 1, a, b)]"),
        (Op("*", (OpaqueExpr("[1, 2]", frozenset()), A)), "[1, 2]*a"),
        (Op("*", (OpaqueExpr("x + y", frozenset("xy")), A)), "(x + y)*a"),
    ],
)
def test_expression(expr: Expr, text: str) -> None:
    assert expr_text(expr) == text


def test_upper_case_leaves_the_users_spelling() -> None:
    expr = Op(
        ".and.",
        (Lit("logical", ".true."), Op(">", (name("asphalt_k"), Ref("mod", "mod", (A, B))))),
    )
    assert expr_text(expr, True, True) == ".TRUE. .AND. ASPHALT_K > MOD(a, b)"
    assert expr_text(expr, True) == ".TRUE. .AND. asphalt_k > mod(a, b)"
    assert expr_text(expr, upper_names=True) == ".true. .and. ASPHALT_K > MOD(a, b)"


def test_keywords_and_components_of_the_runtime_are_in_upper_case_too() -> None:
    x, user = name("asphalt_x"), name("x")
    ends = (Component(x, "lo", "lo"), Component(user, "lo", "lo"))
    for procedure, word in (("asphalt_start", "FIRST"), ("begin", "first")):
        call = Call(name(procedure), tuple(Keyword("first", "first", end) for end in ends))
        spelled = procedure.upper() if word.isupper() else procedure
        expected = f"call {spelled}({word}=ASPHALT_X%LO, {word}=x%lo)"
        assert statement_text(call, upper_names=True) == expected
    bound = Call(Component(x, "begin", "begin"), (Keyword("first", "first", A),))
    assert statement_text(bound, upper_names=True) == "call ASPHALT_X%BEGIN(FIRST=a)"
    done = Component(x, "finished", "finished", (A, B))
    assert expr_text(done, upper_names=True) == "ASPHALT_X%FINISHED(a, b)"
    assert expr_text(Component(user, "at", "at", (A, B)), upper_names=True) == "x%at(a,b)"
    types = ("asphalt_exchange_t", "own")
    declared = [
        statement_text(Decl("type", TypeSpec("type", name=one), (), None, ()), upper_names=True)
        for one in types
    ]
    assert declared == ["type(ASPHALT_EXCHANGE_T) :: ", "type(own) :: "]


@pytest.mark.parametrize(
    ("text", "keywords", "names"),
    [
        ("  integer :: i\n  call MPI_Wait(i, MPI_STATUS_IGNORE, MPI_ERR)\n" * 9, False, False),
        ("  INTEGER :: ierr\n  CALL mpi_barrier(mpi_comm_world, ierr)\n", True, False),
        ("  INTEGER :: IERR\n  CALL MPI_BARRIER(MPI_COMM_WORLD, IERR)\n", True, True),
        ("  Integer :: N\n  Call F(N, DX)\n", False, True),
        ("  print *, 'DO NOT STOP', \"IF\"\n  do k = 1, 2\n  end do ! END DO\n", False, False),
        ("  print *, .TRUE.\n", False, False),
        ("  x = 1D0\n", False, False),
    ],
)
def test_new_statements_are_in_the_letter_case_of_their_file(
    text: str, keywords: bool, names: bool
) -> None:
    style = style_of(parse_file(SourceText("a.f90", text, Form.FREE, 132, "\n", "")))
    assert (style.upper, style.upper_names) == (keywords, names)
    use, call = Use("mpi", True, (UseItem("mpi_send", "mpi_send"),)), Call(name("asphalt_x"), (A,))
    assert lines_of(use, style, 2).startswith("  USE " if keywords else "  use ")
    assert ("MPI, " if names else "mpi, ") in lines_of(use, style, 2)
    assert lines_of(call, style, 2).startswith("  CALL " if keywords else "  call ")
    assert (" ASPHALT_X(a)" if names else " asphalt_x(a)") in lines_of(call, style, 2)


@pytest.mark.parametrize(
    ("what", "text"),
    [
        (Assign(A, B), "a = b"),
        (Assign(A, B, pointer=True), "a => b"),
        (Call(A, (B, Keyword("ierr", "ierr", C))), "call a(b, ierr=c)"),
        (Call(Component(A, "p", "p"), ()), "call a%p()"),
        (DoHead("count", A, number(1), B), "do a = 1, b"),
        (DoHead("count", A, B, number(1), Lit("integer", "-1"), label=10), "do 10 a = b, 1, -1"),
        (DoHead("while", condition=A), "do while (a)"),
        (DoHead("forever"), "do"),
        (ArmHead("if", (A,)), "if (a) then"),
        (ArmHead("else_if", (A,)), "else if (a) then"),
        (ArmHead("else"), "else"),
        (ArmHead("select_case", (A,)), "select case (a)"),
        (ArmHead("case", (Section(number(1), None, None), B)), "case (1:, b)"),
        (ArmHead("associate", (Keyword("x", "x", B),)), "associate (x => b)"),
        (Guarded(A, Call(B, ())), "if (a) call b()"),
        (Plain("end do"), "end do"),
        (
            Allocation("allocate", (Ref("r", "r", (B,)),), (Keyword("source", "source", C),)),
            "allocate(r(b), source=c)",
        ),
        (Use("mpi", True, (UseItem("a", "a"), UseItem("x", "y"))), "use mpi, only: a, x => y"),
        (Use("mpi", False), "use mpi"),
        (Include("asphalt_params.inc"), "include 'asphalt_params.inc'"),
        (Raw("a  =  b"), "a  =  b"),
    ],
)
def test_statement(what: What, text: str) -> None:
    assert statement_text(what) == text


@pytest.mark.parametrize(
    "text",
    [
        "integer :: a, b(3), c(0:n,:)",
        "integer, parameter :: k = 3",
        "real(8), allocatable :: x(:,:)",
        "real*8, dimension(n) :: x",
        "real(dp), intent(in) :: x(n,*)",
        "character(len=*), intent(in) :: x",
        "character(len=:), allocatable :: x",
        "integer(kind=merge(kind(0), -1, k >= 0 .and. d >= 1)) :: m",
        "type(t), pointer :: p => null()",
        "double precision :: x",
        "asynchronous :: a, b",
        "implicit none",
        "save",
    ],
)
def test_declaration_is_what_was_parsed(text: str) -> None:
    assert statement_text(statement(text, True)) == text


def test_what_the_ir_does_not_hold_is_not_printed() -> None:
    for what in (IO("write", (A,)), Plain("format"), ArmHead("type_is"), Decl("common")):
        with pytest.raises(ValueError, match="no Fortran text"):
            statement_text(what)


# Expressions of all shapes, and statements made of them

_NAMES = st.sampled_from(
    ["a", "B", "asphalt_lo", "x1", "e5", "d0", "a_rather_long_name_of_the_user"]
)
_LITERALS = st.one_of(
    st.integers(0, 10**9).map(number),
    st.sampled_from(["1.", ".5", "1.0e-3", "2.d0", "1.0_dp"]).map(lambda text: Lit("real", text)),
    st.sampled_from([".true.", ".false._lk"]).map(lambda text: Lit("logical", text)),
    st.text(st.sampled_from("ab'\"!& ;%("), max_size=90).map(
        lambda text: Lit("character", "'" + text.replace("'", "''") + "'")
    ),
)
_ATOMS = _LITERALS | _NAMES.map(name)


def _larger(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    bound = st.none() | inner
    argument: st.SearchStrategy[Arg] = inner | st.builds(Section, bound, bound, bound)
    arguments = st.lists(argument, min_size=1, max_size=4).map(tuple)
    binary = ["+", "-", "*", "/", "**", "//", "==", "<", ".and.", ".or.", ".eqv.", ".x."]
    return st.one_of(
        st.builds(lambda s, args: Ref(s.lower(), s, args), _NAMES, arguments),
        st.builds(lambda op, x, y: Op(op, (x, y)), st.sampled_from(binary), inner, inner),
        st.builds(
            lambda op, x: Op(op, (x,)), st.sampled_from(["-", "+", ".not.", ".y.", "()"]), inner
        ),
    )


EXPRESSIONS = st.recursive(_ATOMS, _larger, max_leaves=25)
STATEMENTS = st.one_of(
    st.builds(Assign, _NAMES.map(name), EXPRESSIONS),
    st.builds(Call, _NAMES.map(name), st.lists(EXPRESSIONS, max_size=5).map(tuple)),
    st.builds(lambda e: ArmHead("if", (e,)), EXPRESSIONS),
    st.builds(lambda e, c: Guarded(e, Call(c, (e,))), EXPRESSIONS, _NAMES.map(name)),
    st.builds(
        lambda names: Decl("type", TypeSpec("integer"), (), None, tuple(names)),
        st.lists(_NAMES.map(lambda s: Entity(s.lower(), s)), min_size=1, max_size=20),
    ),
)


def without_parentheses(expr: Arg) -> Arg:
    match expr:
        case Op(op="()", operands=(inner,)):
            return without_parentheses(inner)
        case Op(op=op, operands=operands):
            return Op(op, tuple(map(without_parentheses, operands)))  # type: ignore[arg-type]
        case Ref(name=low, spelled=spelled, args=tuple(args)):
            return Ref(low, spelled, tuple(map(without_parentheses, args)))
        case Section(lower=lower, upper=upper, stride=stride):
            parts = [None if x is None else without_parentheses(x) for x in (lower, upper, stride)]
            return Section(*parts)  # type: ignore[arg-type]
    return expr


@given(EXPRESSIONS)
def test_text_is_read_as_the_same_tree(expr: Expr) -> None:
    again = parse_expression(expr_text(expr))
    assert without_parentheses(again) == without_parentheses(expr)
    assert parse_expression(expr_text(again)) == again  # and no more parentheses than needed


def joined(text: str, style: Style) -> str:
    """The statement in ``text``, as the splitter joins it."""
    source = SourceText("t", text, style.form, style.width, style.eol, "")
    leaves, tail = split(source)
    assert len(leaves) == 1
    assert not tail
    what = leaves[0].what
    assert isinstance(what, Raw)
    return what.code


def words(code: str) -> list[str]:
    """The tokens of a statement."""
    return [token.text for token in tokenize(code)]


@given(STATEMENTS, st.integers(50, 140), st.integers(0, 90), st.booleans())
def test_wrapped_lines_join_to_the_statement(
    what: What, width: int, indent: int, upper: bool
) -> None:
    for form in Form:
        style = Style(form, width, upper, "\n")
        text = lines_of(what, style, min(indent, width - 12))
        lines = text.splitlines()
        assert max(map(len, lines)) <= width
        code = joined(text, style)
        if form is Form.FREE:
            assert words(code) == words(statement_text(what, upper))
        else:
            plain = statement_text(what, upper)
            assert _without_blanks(code) == _without_blanks(plain)


def _without_blanks(code: str) -> list[str]:
    """The character constants of a statement, and what is between them without blanks."""
    parts: list[str] = [""]
    for token in tokenize(code):
        if token.kind == "string":
            parts += [token.text, ""]
        else:
            parts[-1] += token.text.replace(" ", "")
    return parts


@settings(max_examples=30)
@given(st.text(st.sampled_from("ab'&! "), max_size=400), st.integers(0, 60))
def test_long_constants_are_cut_without_a_change(text: str, indent: int) -> None:
    constant = "'" + text.replace("'", "''") + "'"
    for style in (Style(Form.FREE, 70, False, "\n"), Style(Form.FIXED, 72, False, "\n")):
        wrapped = lines_of(Assign(A, Lit("character", constant)), style, indent)
        assert max(map(len, wrapped.splitlines())) <= style.width
        assert tokenize(joined(wrapped, style))[2].text == constant


def test_free_form_breaks_where_a_person_would() -> None:
    call = Call(
        name("MPI_Isend"),
        (
            Ref(
                "s",
                "s",
                (number(1), name("asphalt_lo"), Op("+", (name("asphalt_peer"), number(1)))),
            ),
            Op("*", (name("n"), Op("-", (name("asphalt_hi"), name("asphalt_lo"))))),
            *map(name, ("MPI_DOUBLE_PRECISION", "asphalt_peer", "asphalt_comm", "asphalt_err")),
        ),
    )
    assert lines_of(call, FREE, 6) == (
        "      call MPI_Isend(s(1,asphalt_lo,asphalt_peer+1), n*(asphalt_hi - asphalt_lo), &\n"
        "                     MPI_DOUBLE_PRECISION, asphalt_peer, asphalt_comm, asphalt_err)\n"
    )
    assert lines_of(call, FIXED, 6) == (
        "      CALL MPI_ISEND(s(1,ASPHALT_LO,ASPHALT_PEER+1),\n"
        "     &               n*(ASPHALT_HI - ASPHALT_LO), MPI_DOUBLE_PRECISION,\n"
        "     &               ASPHALT_PEER, ASPHALT_COMM, ASPHALT_ERR)\n"
    )


def test_labels_and_construct_names() -> None:
    loop = DoHead("count", A, number(1), B)
    assert lines_of(loop, FREE, 2, name="outer") == "  outer: do a = 1, b\n"
    assert lines_of(Plain("end do"), FREE, 2, name="outer") == "  end do outer\n"
    assert lines_of(Plain("continue"), FREE, 4, label=10) == "10  continue\n"
    assert lines_of(Plain("continue"), FREE, 0, label=10) == "10 continue\n"
    assert lines_of(Plain("continue"), FIXED, 0, label=10) == "10    CONTINUE\n"
    crlf = Style(Form.FIXED, 72, False, "\r\n")
    assert lines_of(Plain("continue"), crlf, 8) == "        continue\r\n"


def test_doubled_quotes_and_ampersands_survive_a_compiler(tmp_path: Path) -> None:
    values = ["it''s & so on! " * 9, "&" * 150, "''" * 120, "ab " * 80 + "  "]
    for style, suffix in ((Style(Form.FREE, 60, False, "\n"), "f90"), (FIXED, "f")):
        lines = ["program p\n", "character(500) :: a\n"]
        lines = [f"      {line}" for line in lines]
        for value in values:
            lines.append(lines_of(Assign(A, Lit("character", f"'{value}'")), style, 8))
            lines.append("      print '(a)', trim(a)\n")
        lines.append("      end program p\n")
        source = tmp_path / f"quotes.{suffix}"
        source.write_text("".join(lines))
        program = tmp_path / suffix
        command = ["gfortran", "-Wall", str(source), "-o", str(program)]
        outcome = subprocess.run(command, capture_output=True, text=True, check=True)
        assert outcome.stderr == ""
        printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
        assert printed.splitlines() == [v.replace("''", "'").rstrip() for v in values]
