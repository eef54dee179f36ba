from __future__ import annotations

import pytest

from asphalt.frontend.structure.specification import is_specification, is_statement_function
from asphalt.ir.source import Form


@pytest.mark.parametrize(
    "code",
    [
        "use mpi, only: mpi_send",
        "implicit none",
        "integer :: a = 3",
        "integer(kind=4) a",
        "real*8 x(10)",
        "double precision x",
        "type(t) :: x",
        "class(t), pointer :: x => null()",
        "procedure(f), pointer :: p => null()",
        "character(len=*), parameter :: a = 'b'",
        "parameter (n = 3)",
        "data a, b /1, 2/",
        "common /c/ x",
        "include 'mpif.h'",
        "save",
        "entry e(x)",
        "format (i3)",
        "namelist /n/ a",
    ],
)
@pytest.mark.parametrize("form", list(Form))
def test_specifications(code: str, form: Form) -> None:
    assert is_specification(code, form)


@pytest.mark.parametrize(
    "code",
    [
        "x = 1",
        "call f",
        "real = 1",
        "data(3) = 1",
        "type(1)%a = 3",
        "save%a = 2",
        "parameter = 3",
        "if (a) b = 1",
        "write (*, *) x",
    ],
)
@pytest.mark.parametrize("form", list(Form))
def test_executables(code: str, form: Form) -> None:
    assert not is_specification(code, form)


def test_keyword_may_touch_a_name_in_fixed_form_only() -> None:
    assert is_specification("INTEGERX", Form.FIXED)
    assert not is_specification("integerx", Form.FREE)


@pytest.mark.parametrize(
    ("code", "declared", "inherits", "expected"),
    [
        ("f(x) = x + 1", ["real f, x"], True, True),
        ("f(x) = x + 1", ["real :: x"], False, True),
        ("f(x) = x + 1", ["real :: x"], True, False),  # an array of a module
        ("f(x) = x + 1", ["dimension f(10)"], False, False),
        ("f(x) = x + 1", ["real, dimension(10) :: f"], False, False),
        ("f(x) = x + 1", ["real f(10)"], False, False),
        ("g(x) = f(x)", ["real f, g", "f(x) = x"], True, True),
        ("f() = 1", ["real f"], False, True),
        ("f(1) = 1", ["real f"], False, False),
        ("f(x) => y", ["real f"], False, False),
        ("f = 1", [], False, False),
        ("f(x)%a = 1", [], False, False),
    ],
)
def test_statement_functions(
    code: str, declared: list[str], inherits: bool, expected: bool
) -> None:
    assert is_statement_function(code, declared, inherits) is expected
