"""What a statement is, in a language without reserved words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asphalt.frontend.statements.expressions import parse_expression as e
from asphalt.frontend.statements.statements import statement
from asphalt.ir.stmt import (
    Assign,
    Include,
    Opaque,
    Plain,
    Raw,
    StatementFunction,
    What,
)

KEYWORDS = [
    "allocate", "assign", "associate", "backspace", "block", "byte", "call", "case", "character",
    "class", "close", "common", "complex", "contains", "continue", "critical", "cycle", "data",
    "deallocate", "dimension", "do", "double", "else", "elseif", "elsewhere", "end", "enddo",
    "endfile", "endif", "entry", "enum", "equivalence", "error", "exit", "external", "flush",
    "forall", "format", "function", "goto", "if", "implicit", "import", "include", "inquire",
    "integer", "interface", "intrinsic", "logical", "module", "namelist", "nullify", "open",
    "parameter", "pause", "pointer", "print", "private", "procedure", "program", "public", "pure",
    "read", "real", "return", "rewind", "save", "select", "sequence", "stop", "subroutine",
    "target", "then", "to", "type", "use", "wait", "where", "write",
]  # fmt: skip


@pytest.mark.parametrize("word", KEYWORDS)
def test_every_keyword_is_also_a_name(word: str) -> None:
    for in_spec in (False, True):
        assert statement(f"{word} = 1", in_spec) == Assign(e(word), e("1"))
        assert statement(f"{word}(1, :) = x", in_spec) == Assign(e(f"{word}(1, :)"), e("x"))
        assert statement(f"{word}%a(i) = x", in_spec) == Assign(e(f"{word}%a(i)"), e("x"))
        assert statement(f"{word.upper()} => x", in_spec) == Assign(e(word.upper()), e("x"), True)
    assert statement(f"{word}(i) = x", False) == Assign(e(f"{word}(i)"), e("x"))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("do10i = 1.5", Assign(e("do10i"), e("1.5"))),
        ("x = a == b", Assign(e("x"), e("a == b"))),
        ("x = f(k=1)", Assign(e("x"), e("f(k=1)"))),
        ("format(i) = 3", Assign(e("format(i)"), e("3"))),
        ("format (1x, 3habc, i5, '=', \"a;b\")", Plain("format")),
        ("FORMAT(/)", Plain("format")),
        ("include 'mpif.h'", Include("mpif.h")),
        ('INCLUDE "a/b.inc"', Include("a/b.inc")),
        ("entry e(a, b)", Plain("entry")),
        ("contains", Plain("contains")),
        ("sequence", Plain("sequence")),
        ("  x = 1  ", Assign(e("x"), e("1"))),
    ],
)
def test_traps(code: str, expected: What) -> None:
    assert statement(code, False) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("f(x, Y) = x*y + a", StatementFunction("f", ("x", "y"), e("x*y + a"))),
        ("F() = 3", StatementFunction("f", (), e("3"))),
        ("f(1) = 3", Assign(e("f(1)"), e("3"))),
        ("f(x+1) = 3", Assign(e("f(x+1)"), e("3"))),
        ("f(x(1)) = 3", Assign(e("f(x(1))"), e("3"))),
        ("f(x:y) = 3", Assign(e("f(x:y)"), e("3"))),
        ("f%g(x) = 3", Assign(e("f%g(x)"), e("3"))),
        ("f(x) => y", Assign(e("f(x)"), e("y"), pointer=True)),
    ],
)
def test_statement_functions_stand_in_specifications(code: str, expected: What) -> None:
    assert statement(code, True) == expected
    assert isinstance(statement(code, False), Assign)


def test_opaque_says_why_and_names_all_names() -> None:
    what = statement("  sync images (Me, 'x', that%y) ", False)
    assert isinstance(what, Opaque)
    assert what.code == "sync images (Me, 'x', that%y)"
    assert what.names == {"sync", "images", "me", "that", "y"}
    assert "sync" in what.reason


@pytest.mark.parametrize("code", ["", "1 = 2", "x =", "= 3", "@", "x = y z", "'a'", "a b", "x; y"])
def test_what_is_no_statement_is_opaque(code: str) -> None:
    for in_spec in (False, True):
        assert isinstance(statement(code, in_spec), Opaque)


def test_nesting_beyond_all_bounds_is_opaque() -> None:
    assert isinstance(statement("x = " + "(" * 100_000 + "1" + ")" * 100_000, False), Opaque)


_PIECES = st.sampled_from(
    [*KEYWORDS, "(", ")", "=", "=>", ",", ":", "::", "*", "/", "%", "10", "1.5", "'a'", "x", "[",
     "]", "is", "default", ".not.", "-", "only", "none", "\n", "\u00e9", "3h", "'", '"']
)  # fmt: skip


@given(st.lists(_PIECES, max_size=9), st.booleans(), st.sampled_from(["", "type", "interface"]))
def test_nothing_raises_and_nothing_stays_raw(pieces: list[str], in_spec: bool, block: str) -> None:
    code = " ".join(pieces)
    what = statement(code, in_spec, block)
    assert not isinstance(what, Raw)
    if isinstance(what, Opaque):
        assert what.reason
        assert what.code == code.strip()


@given(st.text(max_size=40))
def test_any_text_has_an_answer(code: str) -> None:
    assert not isinstance(statement(code, False), Raw)
