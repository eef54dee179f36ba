"""USE, IMPORT, PROCEDURE, GENERIC, FINAL."""

from __future__ import annotations

import pytest

from asphalt.frontend.statements.expressions import parse_expression as e
from asphalt.frontend.statements.statements import statement
from asphalt.ir.expr import TypeSpec
from asphalt.ir.stmt import Decl, Entity, Opaque, Use, UseItem, What


def _n(*names: str) -> tuple[Entity, ...]:
    return tuple(Entity(name, name) for name in names)


STATEMENTS: list[tuple[str, What]] = [
    ("import", Decl("import")),
    ("import :: a, b", Decl("import", entities=_n("a", "b"))),
    ("import, only: a", Decl("import", attrs=("only",), entities=_n("a"))),
    ("import, none", Decl("import", attrs=("none",))),
    ("use m", Use("m", False)),
    ("USE :: M", Use("m", False)),
    ("use, intrinsic :: iso_c_binding", Use("iso_c_binding", False, intrinsic=True)),
    ("use m, only:", Use("m", True)),
    ("use m, only: a, B => c, operator(.x.)", Use("m", True, (
        UseItem("a", "a"), UseItem("b", "c"), UseItem("operator(.x.)", "operator(.x.)")))),
    ("use m, a => b", Use("m", False, (UseItem("a", "b"),))),
    ("procedure(f), pointer :: p => null()", Decl(
        "procedure", attrs=("interface(f)", "pointer"),
        entities=(Entity("p", "p", initial=e("null()"), points_to_initial=True),))),
    ("procedure(real(8)) :: p", Decl("procedure", TypeSpec("real", e("8")), entities=_n("p"))),
    ("procedure() p", Decl("procedure", entities=_n("p"))),
    ("procedure, pass(x) :: p, q => r", Decl(
        "procedure", attrs=("pass(x)",),
        entities=(*_n("p"), Entity("q", "q", initial=e("r"), points_to_initial=True)))),
    ("generic, public :: operator(+) => a, b", Decl(
        "procedure", attrs=("generic", "public"), groups=(("operator(+)", _n("a", "b")),))),
    ("final :: a", Decl("procedure", attrs=("final",), entities=_n("a"))),
]  # fmt: skip


@pytest.mark.parametrize(("code", "expected"), STATEMENTS, ids=[code for code, _ in STATEMENTS])
def test_statement(code: str, expected: What) -> None:
    assert statement(code, True) == expected


@pytest.mark.parametrize(
    "code",
    [
        "use",
        "use m only: a",
        "import a b",
        "generic :: a",
        "procedure",
        "use m, only",
    ],
)
def test_what_is_no_binding_is_opaque(code: str) -> None:
    assert isinstance(statement(code, True), Opaque)


def test_module_procedures_of_an_interface() -> None:
    expected = Decl("procedure", attrs=("module",), entities=_n("a", "b"))
    assert statement("module procedure a, b", True, "interface") == expected
    assert statement("MODULE PROCEDURE :: a, b", True, "interface") == expected
