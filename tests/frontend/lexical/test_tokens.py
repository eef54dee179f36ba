"""Tokens of one logical line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asphalt.frontend.lexical.tokens import Cursor, FortranSyntaxError, names_in_text, tokenize


def _texts(code: str) -> list[str]:
    return [token.text for token in tokenize(code)][:-1]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a(i)+1", ["a", "(", "i", ")", "+", "1"]),
        ("1.eq.x", ["1", ".eq.", "x"]),
        ("1.e5.eq.x", ["1.e5", ".eq.", "x"]),
        ("1.0.and.x", ["1.0", ".and.", "x"]),
        ("1.+2.", ["1.", "+", "2."]),
        ("x.le..5", ["x", ".le.", ".5"]),
        ("a. EQ. 3. or. b", ["a", ".EQ.", "3", ".or.", "b"]),
        ("3.d0*x", ["3.d0", "*", "x"]),
        ("1d-3_dp", ["1d-3_dp"]),
        ("2.5_8", ["2.5_8"]),
        ("1_int64", ["1_int64"]),
        ("a**-b//c", ["a", "**", "-", "b", "//", "c"]),
        ("a/=b", ["a", "/=", "b"]),
        ("p=>q", ["p", "=>", "q"]),
        ("a(::2,:)", ["a", "(", "::", "2", ",", ":", ")"]),
        ("x(..)", ["x", "(", "..", ")"]),
        ("'it''s'//\"a\"\"b'c\"", ["'it''s'", "//", '"a""b\'c"']),
        ("kanji_'a b'", ["kanji_'a b'"]),
        ("z'ff'+b\"01\"+'17'o", ["z'ff'", "+", 'b"01"', "+", "'17'o"]),
        ("3ha b//x", ["3ha b", "//", "x"]),
        (".true._lk.or.F", [".true._lk", ".or.", "F"]),
        ("do10i=1,5", ["do10i", "=", "1", ",", "5"]),
        ("do 10i=1,5", ["do", "10", "i", "=", "1", ",", "5"]),
        ("a$b%c", ["a$b", "%", "c"]),
    ],
)
def test_tokens(code: str, expected: list[str]) -> None:
    assert _texts(code) == expected


@pytest.mark.parametrize("code", ["a ? b", "'open", "a; b", "9hcut off", "_macro", "x = `a`"])
def test_what_is_no_token_is_an_error(code: str) -> None:
    with pytest.raises(FortranSyntaxError):
        tokenize(code)


@given(st.text(alphabet="aE1.'\"()+*/=,:%_ hd", max_size=30))
def test_tokens_stand_in_the_text_in_order(code: str) -> None:
    try:
        tokens = tokenize(code)
    except FortranSyntaxError:
        return
    at = 0
    for token in tokens:
        assert code[at : token.start].strip() == ""
        if token.kind != "dot":
            assert code[token.start : token.end] == token.text
        at = token.end
    assert at == len(code)


def test_text_and_names_of_a_stretch() -> None:
    cursor = Cursor("call F( a(i) , 'b' )")
    cursor.at = 2
    first = cursor.at
    cursor.skip_group()
    assert cursor.text_from(first) == "( a(i) , 'b' )"
    assert cursor.names_from(first) == {"a", "i"}
    assert cursor.folded_from(0) == "call f(a(i),'b')"
    assert cursor.at_end


def test_names_in_text_leave_out_strings() -> None:
    assert names_in_text("PRINT *, 'it''s x', Y1(i), \"z\" 'open") == {"print", "y1", "i", "open"}
