"""Type declarations."""

from __future__ import annotations

import pytest

from asphalt.frontend.statements.expressions import parse_expression as e
from asphalt.frontend.statements.statements import statement
from asphalt.ir.expr import Lit, Op, OpaqueExpr, Ref, Section, TypeSpec
from asphalt.ir.stmt import Decl, Dim, Entity, Opaque

INTEGER, REAL = TypeSpec("integer"), TypeSpec("real")
ANY = OpaqueExpr("*", frozenset())


def _dim(text: str) -> Dim:
    """``n`` or ``0:n``."""
    lower, _, upper = text.rpartition(":")
    return Dim("explicit", e(lower) if lower else None, e(upper))


def _decl(spec: TypeSpec, *entities: Entity, attrs: tuple[str, ...] = ()) -> Decl:
    return Decl("type", spec, attrs, entities=entities)


X = Entity("x", "x")

DECLARATIONS: list[tuple[str, Decl]] = [
    ("integer x", _decl(INTEGER, X)),
    ("INTEGER :: X", _decl(INTEGER, Entity("x", "X"))),
    ("integer*4 x", _decl(TypeSpec("integer", Lit("integer", "4"), star=True), X)),
    ("real*8 x(10)", _decl(
        TypeSpec("real", Lit("integer", "8"), star=True), Entity("x", "x", (_dim("10"),)))),
    ("real(dp) x", _decl(TypeSpec("real", Ref("dp", "dp")), X)),
    ("real(kind=kind(1.d0)) :: x", _decl(TypeSpec("real", e("kind(1.d0)")), X)),
    ("double precision x", _decl(TypeSpec("double_precision"), X)),
    ("doubleprecision x", _decl(TypeSpec("double_precision"), X)),
    ("double complex x", _decl(TypeSpec("double_complex"), X)),
    ("complex*16 x", _decl(TypeSpec("complex", Lit("integer", "16"), star=True), X)),
    ("logical(1) x", _decl(TypeSpec("logical", Lit("integer", "1")), X)),
    ("byte x", _decl(TypeSpec("integer", Lit("integer", "1"), star=True), X)),
    ("character x", _decl(TypeSpec("character"), X)),
    ("character*8 x", _decl(TypeSpec("character", length=Lit("integer", "8"), star=True), X)),
    ("character*8, x", _decl(TypeSpec("character", length=Lit("integer", "8"), star=True), X)),
    ("character*(*) x, y*3", _decl(
        TypeSpec("character", length=ANY, star=True), X, Entity("y", "y", length=e("3")))),
    ("character(len=n+1) x", _decl(TypeSpec("character", length=e("n+1")), X)),
    ("character(*) x", _decl(TypeSpec("character", length=ANY), X)),
    ("character(:), allocatable :: x", _decl(
        TypeSpec("character", length=Section(None, None, None)), X, attrs=("allocatable",))),
    ("character(len=5, kind=ck) x", _decl(TypeSpec("character", e("ck"), length=e("5")), X)),
    ("character(kind=ck, len=5) x", _decl(TypeSpec("character", e("ck"), length=e("5")), X)),
    ("character(5, ck) x", _decl(TypeSpec("character", e("ck"), length=e("5")), X)),
    ("character x(3)*8", _decl(
        TypeSpec("character"), Entity("x", "x", (_dim("3"),), Lit("integer", "8")))),
    ("character x*8(3)", _decl(
        TypeSpec("character"), Entity("x", "x", (_dim("3"),), Lit("integer", "8")))),
    ("type(T) x", _decl(TypeSpec("type", name="t"), X)),
    ("class(*), intent( in ) :: x", _decl(TypeSpec("class", name="*"), X, attrs=("intent(in)",))),
    ("class(t), pointer :: x", _decl(TypeSpec("class", name="t"), X, attrs=("pointer",))),
    ("type(integer) :: x", _decl(INTEGER, X)),
    ("type(real(8)) :: x", _decl(TypeSpec("real", Lit("integer", "8")), X)),
    ("type(t(4)) :: x", _decl(TypeSpec("type", name="t"), X)),
    ("type(MPI_Comm), value :: x", _decl(TypeSpec("type", name="mpi_comm"), X, attrs=("value",))),
    ("integer, intent(IN OUT), target :: x", _decl(
        INTEGER, X, attrs=("intent(inout)", "target"))),
    ("integer, bind(C, name='X') :: x", _decl(INTEGER, X, attrs=("bind(c,name='X')",))),
    ("integer x /1/", _decl(INTEGER, Entity("x", "x", initial=Lit("integer", "1")))),
    ("integer x(2) /2*-1/", _decl(
        INTEGER, Entity("x", "x", (_dim("2"),), initial=Op("*", (e("2"), e("-1")))))),
    ("real x(3) /1., 2., 3./", _decl(
        REAL, Entity("x", "x", (_dim("3"),), initial=OpaqueExpr("1., 2., 3.", frozenset())))),
    ("integer, parameter :: x = 2*n, y = x", _decl(
        INTEGER, Entity("x", "x", initial=e("2*n")), Entity("y", "y", initial=e("x")),
        attrs=("parameter",))),
    ("real, pointer :: x => null()", _decl(
        REAL, Entity("x", "x", initial=e("null()"), points_to_initial=True),
        attrs=("pointer",))),
    ("real x(n, 0:m, -1:1)", _decl(
        REAL, Entity("x", "x", (_dim("n"), _dim("0:m"), _dim("-1:1"))))),
    ("real x(n, *)", _decl(REAL, Entity("x", "x", (_dim("n"), Dim("assumed_size"))))),
    ("real x(0:*)", _decl(REAL, Entity("x", "x", (Dim("assumed_size", e("0")),)))),
    ("real :: x(:, 0:)", _decl(
        REAL, Entity("x", "x", (Dim("assumed_shape"), Dim("assumed_shape", e("0")))))),
    ("type(*) :: x(..)", _decl(
        TypeSpec("type", name="*"), Entity("x", "x", (Dim("assumed_rank"),)))),
    ("real :: x[*]", _decl(REAL, X)),
    ("real, dimension(n,0:m) :: x, y(3)", Decl(
        "type", REAL, (), (_dim("n"), _dim("0:m")), (X, Entity("y", "y", (_dim("3"),))))),
    ("real, dimension(:), allocatable, save :: x", Decl(
        "type", REAL, ("allocatable", "save"), (Dim("assumed_shape"),), (X,))),
    ("real function", _decl(REAL, Entity("function", "function"))),
    ("integer do, end, if(3)", _decl(
        INTEGER, Entity("do", "do"), Entity("end", "end"), Entity("if", "if", (_dim("3"),)))),
]  # fmt: skip


@pytest.mark.parametrize(("code", "expected"), DECLARATIONS, ids=[c for c, _ in DECLARATIONS])
def test_declaration(code: str, expected: Decl) -> None:
    assert statement(code, True) == expected
    assert statement(code, False) == expected


@pytest.mark.parametrize(
    "code",
    ["integer, x", "real :: ", "real x y", "real*x y", "integer x(", "type() x", "real, a b :: x"],
)
def test_what_is_no_declaration_is_opaque(code: str) -> None:
    assert isinstance(statement(code, True), Opaque)
