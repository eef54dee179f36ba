"""New text keeps the macros of its statement, and has no others."""

from __future__ import annotations

from asphalt.ir.source import Form
from asphalt.ir.stmt import Raw
from asphalt.ir.tree import NamedToken
from asphalt.unparse.macro_names import with_macros
from asphalt.unparse.unparse import Style, lines_of

TYPE = NamedToken("MTYPE", "mpi_real8")


def test_the_macros_of_a_statement_stay() -> None:
    code = "call f(a, MPI_REAL8, 'mpi_real8', mpi_real8_t, x%mpi_real8)"
    made = "call f(a, MTYPE, 'mpi_real8', mpi_real8_t, x%MTYPE)"
    assert with_macros(code, [TYPE], ["MTYPE"]) == (made, 8)


def test_a_token_that_the_user_also_wrote_is_no_macro() -> None:
    assert with_macros("f(mpi_real8)", [NamedToken("T", "mpi_real8", False)], []) == (
        "f(mpi_real8)",
        0,
    )
    two = [NamedToken("T", "mpi_real8"), NamedToken("U", "mpi_real8")]
    assert with_macros("f(mpi_real8)", two, [])[0] == "f(mpi_real8)"


def test_a_number_that_is_new_is_no_macro() -> None:
    one = NamedToken("FIRST", "1")
    assert with_macros("do i = 1, n", [one], [])[0] == "do i = FIRST, n"
    assert with_macros("do i = 1, n - 1", [one], [])[0] == "do i = 1, n - 1"
    assert with_macros("do i = 1, n - 1", [NamedToken("FIRST", "1", uses=2)], [])[0] == (
        "do i = FIRST, n - FIRST"
    )


def test_other_names_of_macros_get_another_letter_case() -> None:
    code, _ = with_macros("call MPI_ISEND(n, 'n')", [], ["MPI_ISEND", "n"])
    assert code == "call mpi_isend(N, 'n')"


def test_lines_hold_what_the_preprocessor_makes_of_them() -> None:
    long = NamedToken("K", "k" * 30)
    code = Raw(f"call f({long.token}, {'a' * 100}, b)")
    style = Style(Form.FREE, 132, False, "\n", macros=frozenset({"K"}))
    lines = lines_of(code, style, 2, macros=[long]).splitlines()
    assert any(" K," in line or "(K," in line for line in lines)
    assert all(len(line.replace("K", long.token)) <= 132 for line in lines)
    longer = NamedToken("K", "k" * 60)
    lines = lines_of(Raw(f"call f({longer.token})"), style, 2, macros=[longer]).splitlines()
    assert lines == [f"  call f({longer.token})"]
