"""Specification statements other than type declarations."""

from __future__ import annotations

import pytest

from asphalt.frontend.statements.attributes import declared_dims
from asphalt.frontend.statements.expressions import parse_expression as e
from asphalt.frontend.statements.statements import statement
from asphalt.ir.stmt import Decl, Dim, Entity, Opaque, What


def _n(*names: str) -> tuple[Entity, ...]:
    return tuple(Entity(name, name) for name in names)


def _sized(name: str, *bounds: str) -> Entity:
    return Entity(name, name, tuple(Dim("explicit", None, e(bound)) for bound in bounds))


STATEMENTS: list[tuple[str, What]] = [
    ("dimension a(3), b(n,m)", Decl(
        "dimension", entities=(_sized("a", "3"), _sized("b", "n", "m")))),
    ("save", Decl("save")),
    ("save a, /blk/", Decl("save", entities=_n("a", "/blk/"))),
    ("SAVE :: A", Decl("save", entities=(Entity("a", "A"),))),
    ("external f, g", Decl("external", entities=_n("f", "g"))),
    ("intrinsic :: sin", Decl("intrinsic", entities=_n("sin"))),
    ("target a(10), b", Decl("target", entities=(_sized("a", "10"), *_n("b")))),
    ("allocatable :: a(:)", Decl(
        "allocatable", entities=(Entity("a", "a", (Dim("assumed_shape"),)),))),
    ("optional a", Decl("optional", entities=_n("a"))),
    ("intent(in out) :: a, b", Decl("intent", attrs=("intent(inout)",), entities=_n("a", "b"))),
    ("contiguous a", Decl("contiguous", entities=_n("a"))),
    ("asynchronous :: a", Decl("asynchronous", entities=_n("a"))),
    ("volatile a", Decl("volatile", entities=_n("a"))),
    ("value :: a", Decl("value", entities=_n("a"))),
    ("protected a", Decl("protected", entities=_n("a"))),
    ("public", Decl("public")),
    ("private :: a, operator(+), assignment(=)", Decl(
        "private", entities=_n("a", "operator(+)", "assignment(=)"))),
    ("bind(c) :: a, /blk/", Decl("bind", attrs=("bind(c)",), entities=_n("a", "/blk/"))),
    ("parameter (a = 1, b = 2*a)", Decl("parameter", entities=(
        Entity("a", "a", initial=e("1")), Entity("b", "b", initial=e("2*a"))))),
    ("parameter a = 1", Decl("parameter", entities=(Entity("a", "a", initial=e("1")),))),
    ("common a, b(3)", Decl("common", groups=(("", (*_n("a"), _sized("b", "3"))),))),
    ("common /Blk/ a, b(3) // c", Decl("common", groups=(
        ("blk", (*_n("a"), _sized("b", "3"))), ("", _n("c"))))),
    ("common /x/ a, /y/ b", Decl("common", groups=(("x", _n("a")), ("y", _n("b"))))),
    ("common / / a", Decl("common", groups=(("", _n("a")),))),
    ("equivalence (a, b), (c(1,2), d)", Decl("equivalence", groups=(
        ("", _n("a", "b")), ("", (Entity("c", "c", initial=e("c(1,2)")), *_n("d")))))),
    ("namelist /io/ a, b /more/ c", Decl(
        "namelist", groups=(("io", _n("a", "b")), ("more", _n("c"))))),
    ("data a /1/, b, c /2*0.5, -1/", Decl("data", entities=_n("a", "b", "c"))),
    ("data (a(i), (b(i,j), j=1,3), i=1,n,2) /9*0/ c(2)/z'ff'/", Decl(
        "data", entities=_n("a", "b", "c"))),
    ("data x%y /.true./", Decl("data", entities=_n("x"))),
    ("implicit none", Decl("implicit", attrs=("none",))),
    ("implicit none (type, external)", Decl("implicit", attrs=("none", "none(external)"))),
    ("implicit none (external)", Decl("implicit", attrs=("none(external)",))),
    ("IMPLICIT REAL*8 (A-H, O-Z)", Decl("implicit", attrs=("real*8(a-h,o-z)",))),
    ("implicit real(8) (a-h), integer (i-n)", Decl(
        "implicit", attrs=("real(8)(a-h)", "integer(i-n)"))),
    ("implicit double precision (a-h)", Decl("implicit", attrs=("double precision(a-h)",))),
    ("implicit character*(8) (c)", Decl("implicit", attrs=("character*(8)(c)",))),
    ("implicit type(t) (x, y)", Decl("implicit", attrs=("type(t)(x,y)",))),
    ("pointer a(:)", Decl("pointer", entities=(Entity("a", "a", (Dim("assumed_shape"),)),))),
    ("pointer (p, x(n)), (q, y)", Decl(
        "cray_pointer", groups=(("p", (_sized("x", "n"),)), ("q", _n("y"))))),
    ("enumerator :: a = 1, b", Decl(
        "enumerator", entities=(Entity("a", "a", initial=e("1")), *_n("b")))),
]  # fmt: skip


@pytest.mark.parametrize(("code", "expected"), STATEMENTS, ids=[code for code, _ in STATEMENTS])
def test_statement(code: str, expected: What) -> None:
    assert statement(code, True) == expected


@pytest.mark.parametrize(
    "code",
    [
        "common /a x", "data x 1", "data x /1", "equivalence a, b", "parameter (a)", "namelist a",
        "implicit", "implicit real", "save /a", "data (a(i), i=1) 3", "pointer (p)", "save a b",
    ],
)  # fmt: skip
def test_what_is_no_specification_is_opaque(code: str) -> None:
    assert isinstance(statement(code, True), Opaque)


def test_declared_dimensions() -> None:
    def of(code: str) -> dict[str, int | None]:
        decl = statement(code, True)
        assert isinstance(decl, Decl)
        return {n: None if d is None else len(d) for n, d in declared_dims(decl).items()}

    assert of("real, dimension(n) :: a, b(2,2)") == {"a": 1, "b": 2}
    assert of("integer a, b(3)") == {"a": None, "b": 1}
    assert of("common /x/ a(3) // b") == {"a": 1, "b": None}
    assert of("pointer (p, x(2))") == {"x": 1}
    assert of("external f") == {}
