from __future__ import annotations

import pytest

from asphalt.frontend.lexical.cpp_facts import CppFacts
from asphalt.frontend.lexical.source_text import SourceText
from asphalt.frontend.lexical.split import split
from asphalt.ir.source import Form, Trivia, TriviaKind
from asphalt.ir.stmt import Raw
from asphalt.ir.tree import Leaf


def _split(
    text: str, form: Form = Form.FREE, cpp: CppFacts | None = None, width: int | None = None
) -> tuple[list[Leaf], tuple[Trivia, ...]]:
    """Splits a text, and checks that every character is kept and every span is exact."""
    if width is None:
        width = 132 if form is Form.FREE else 72
    leaves, tail = split(SourceText("t", text, form, width), cpp)
    parts = []
    lines = text.split("\n")
    for leaf in leaves:
        assert leaf.body is not None
        assert leaf.span is not None
        parts += [entry.text for entry in leaf.lead]
        parts += [leaf.head, leaf.body, leaf.trail]
        if leaf.body:
            first, last = leaf.span.first - 1, leaf.span.last - 1
            inside = "\n".join(lines[first : last + 1])[leaf.span.first_col - 1 :]
            after = len(lines[last]) - leaf.span.last_col
            assert inside[: len(inside) - after] == leaf.body
    assert "".join(parts) + "".join(entry.text for entry in tail) == text
    return list(leaves), tail


def _codes(leaves: list[Leaf]) -> list[str]:
    found = []
    for leaf in leaves:
        assert isinstance(leaf.what, Raw)
        found.append(leaf.what.code)
    return found


def _free(text: str) -> list[str]:
    return _codes(_split(text)[0])


def _fixed(text: str, width: int = 72) -> list[str]:
    return _codes(_split(text, Form.FIXED, width=width)[0])


def _kinds(lines: tuple[Trivia, ...]) -> list[str]:
    return [entry.kind.name for entry in lines]


# Free form


def test_parts_of_a_leaf() -> None:
    (leaf,), tail = _split("! before\n\n 10 outer: do i = 1, n  ! why\n! after\n")
    assert leaf.what == Raw("do i = 1, n")
    assert (leaf.head, leaf.body, leaf.trail) == (" 10 outer: ", "do i = 1, n", "  ! why\n")
    assert (leaf.label, leaf.name, leaf.joined) == (10, "outer", False)
    assert _kinds(leaf.lead) == ["COMMENT", "BLANK"]
    assert tail == (Trivia(TriviaKind.COMMENT, "! after\n"),)
    assert leaf.span is not None
    assert (leaf.span.first, leaf.span.first_col, leaf.span.last_col) == (3, 12, 22)


def test_semicolons() -> None:
    leaves, _ = _split("a = 1; b = ';' ;; 20 c = 3 ; ! d = 4\ne = 5;\n; f = 6\n;\ng = 7")
    assert _codes(leaves) == ["a = 1", "b = ';'", "c = 3", "e = 5", "f = 6", "g = 7"]
    assert [leaf.joined for leaf in leaves] == [False, True, True, False, False, False]
    assert leaves[0].trail == ";"
    assert leaves[1].head == " "
    assert leaves[2].label == 20
    assert leaves[2].trail == " ; ! d = 4\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("call f(a, &\n       b)\n", "call f(a, b)"),
        ("call f(a, & ! one\n ! two\n\n  & b)\n", "call f(a,  b)"),
        ("ca&\n  &ll f\n", "call f"),
        ("a = b&\nc = d\n", "a = b c = d"),
        ("x = 'a & ! b &\n   & c'\n", "x = 'a & ! b  c'"),
        ("x = 'it''s&\n&''!'\n", "x = 'it''s''!'"),
        ('x = "a&\n! comment\n&b"\n', 'x = "ab"'),
        ("x = 'a&\n   b'\n", "x = 'ab'"),
        ("x = 1 + &\r\n  2\r\n", "x = 1 + 2"),
        ("x = a&b\n", "x = a&b"),
        ("x = 1 &\n", "x = 1"),
    ],
)
def test_continuation(text: str, code: str) -> None:
    assert _free(text) == [code]


def test_continuation_mark_alone_ends_the_statement() -> None:
    assert _free("x = 1 &\n  &\ny = 2\n") == ["x = 1", "y = 2"]


def test_continuation_after_label_name_and_semicolon() -> None:
    leaves, _ = _split("10 &\n x = 1; &\n y = 2\nouter: &\n do\n")
    assert _codes(leaves) == ["x = 1", "y = 2", "do"]
    assert leaves[0].label == 10
    assert leaves[0].head == "10 &\n "
    assert leaves[1].joined
    assert leaves[2].name == "outer"


def test_promised_statement_that_never_comes() -> None:
    leaves, tail = _split("a = 1; &\n! c\n")
    assert _codes(leaves) == ["a = 1"]
    assert leaves[0].trail == "; &\n"
    leaves, tail = _split("10 &\n! c\n")
    assert not leaves
    assert _kinds(tail) == ["COMMENT", "COMMENT"]


def test_unclosed_character_constant_ends_with_its_line() -> None:
    assert _free("x = 'abc; d ! e\ny = 1\n") == ["x = 'abc; d ! e", "y = 1"]


def test_name_is_not_a_double_colon_or_a_keyword_argument() -> None:
    leaves, _ = _split("integer::a\nlook:if (a) then\nx = a(b:c)\n")
    assert [leaf.name for leaf in leaves] == [None, "look", None]


def test_kinds_of_lines() -> None:
    text = (
        "!$omp parallel do\n!$ACC loop\n !dir$ ivdep\n!$asphalt skip\n!$ x = omp()\n!$    & + 1\n"
        "#ifdef A\n#define B \\\n  c\n/* d\n   e */\n  \t\n! plain\n!$\n;\nx = 1\n"
    )
    (leaf,), _ = _split(text)
    assert _kinds(leaf.lead) == [
        *("DIRECTIVE",) * 4,
        *("CONDITIONAL",) * 2,
        *("CPP",) * 3,
        *("COMMENT",) * 2,
        "BLANK",
        *("COMMENT",) * 2,
        "BLANK",
    ]


def test_preprocessor_line_inside_a_statement_freezes_it() -> None:
    text = "call f(a, &\n#ifdef B\n  b, &\n#endif\n  c)\nd = 1\n"
    leaves, _ = _split(text)
    assert _codes(leaves) == ["call f(a, b, c)", "d = 1"]
    assert [leaf.frozen for leaf in leaves] == [True, False]


@pytest.mark.parametrize("text", ["", "\n", "\f\n", "! a", "x = 1", "\r\n", "x = 1\f\n", "\x1a"])
def test_small_files(text: str) -> None:
    _split(text)
    _split(text, Form.FIXED)


def test_form_feed_and_latin_1() -> None:
    leaves, _ = _split("\fx = 'ä'\xa0\f\ny = 1 ! \x85\n")
    assert _codes(leaves) == ["x = 'ä'\xa0", "y = 1"]


# The preprocessor


def test_dead_lines() -> None:
    facts = CppFacts(dead=frozenset({2}))
    leaves, _ = _split("#if 0\nx = 1\n#endif\ny = 2\n", cpp=facts)
    assert _codes(leaves) == ["y = 2"]
    assert _kinds(leaves[0].lead) == ["CPP", "DEAD", "CPP"]


@pytest.mark.parametrize(("form", "head"), [(Form.FREE, "  "), (Form.FIXED, "      ")])
def test_changed_line(form: Form, head: str) -> None:
    facts = CppFacts(changed={1: head + "call f(1); call g ! h"})
    (first, second, third), _ = _split(f"{head}CALLS(1) ! c\n{head}x = 1\n", form, facts)
    assert _codes([first, second, third]) == ["call f(1)", "call g", "x = 1"]
    assert (first.head, first.body, first.trail) == (head, "CALLS(1) ! c", "")
    assert (second.body, second.trail) == ("", "\n")
    assert first.frozen
    assert second.frozen
    assert not third.frozen


def test_macro_that_leaves_nothing() -> None:
    (leaf,), _ = _split("NOTHING\nx = 1\n", cpp=CppFacts(changed={1: "  "}))
    assert _kinds(leaf.lead) == ["CPP"]


def test_changed_continuation() -> None:
    facts = CppFacts(changed={2: "  real(8) + &"})
    (leaf,), _ = _split("x = &\n  KIND + &\n  1\n", cpp=facts)
    assert _codes([leaf]) == ["x = real(8) + 1"]
    assert leaf.frozen


@pytest.mark.parametrize(("form", "head"), [(Form.FREE, "  "), (Form.FIXED, "      ")])
def test_included_statements_have_no_text(form: Form, head: str) -> None:
    facts = CppFacts(included={2: f"{head}call f\n!$omp barrier\n{head}call g\n"})
    text = f"{head}a = 1\n#include <x>\n{head}b = 1\n"
    leaves, _ = _split(text, form, facts)
    assert _codes(leaves) == ["a = 1", "call f", "call g", "b = 1"]
    assert _kinds(leaves[1].lead) == ["INCLUDED"]
    assert leaves[2].lead == (Trivia(TriviaKind.DIRECTIVE, ""),)
    assert [leaf.frozen for leaf in leaves] == [False, True, True, False]
    assert leaves[2].span is not None
    assert leaves[2].span.first == 2


def test_include_inside_a_statement_spoils_it() -> None:
    facts = CppFacts(included={2: "b, &\n"})
    (leaf,), _ = _split("call f(a, &\n#include <x>\n  c)\n", cpp=facts)
    assert _codes([leaf]) == ["call f(a,  #include c)"]
    assert leaf.frozen


# Fixed form


def test_fixed_columns() -> None:
    leaves, _ = _split(
        "C comment\n"
        "  1 0 X = 1                                                             SEQ00010\n"
        "     1  + 2\n"
        "     !  + 3\n"
        "     0Y = 4\n",
        Form.FIXED,
    )
    assert _codes(leaves) == ["X = 1 + 2 + 3", "Y = 4"]
    assert leaves[0].label == 10
    assert leaves[0].head == "  1 0 "
    assert leaves[1].head == "     0"


def test_fixed_comments_stay_before_the_next_statement() -> None:
    leaves, tail = _split(
        "      X = 1\nc one\n\n     & + 2\n* two\n      Y = 3 ! why\nd three\n", Form.FIXED
    )
    assert _codes(leaves) == ["X = 1 + 2", "Y = 3"]
    assert _kinds(leaves[1].lead) == ["COMMENT"]
    assert leaves[1].trail == " ! why\n"
    assert _kinds(tail) == ["COMMENT"]


def test_fixed_kinds_of_lines() -> None:
    text = (
        "c$omp parallel do\n!$omp& private(i)\n*$acc loop\ncdir$ ivdep\n!$    x = 1\nc$   & + 1\n"
        "C$100 continue\n#ifdef A\n      x = 1\n"
    )
    (leaf,), _ = _split(text, Form.FIXED)
    assert _kinds(leaf.lead) == [*("DIRECTIVE",) * 4, *("CONDITIONAL",) * 3, "CPP"]


def test_tab_form() -> None:
    assert _fixed("\tX = 1\n\t1 + 2\n10\tY = 3\n \tZ = 4\n") == ["X = 1 + 2", "Y = 3", "Z = 4"]


def test_tab_form_is_cut_as_if_the_tab_filled_six_columns() -> None:
    (leaf,), _ = _split("\tX = " + "1" * 63 + "\n", Form.FIXED)
    assert _codes([leaf]) == ["X = " + "1" * 62]
    assert leaf.trail == "1\n"


@pytest.mark.parametrize(("width", "digits"), [(72, 62), (132, 122), (0, 140)])
def test_line_limit(width: int, digits: int) -> None:
    assert _fixed("      X = " + "1" * 140 + "\n", width) == ["X = " + "1" * digits]


def test_token_across_full_lines() -> None:
    first = "      IF (A) CALL".ljust(70) + "FU"
    assert len(first) == 72
    assert " ".join(_fixed(f"{first}\n     &N(X)\n")[0].split()) == "IF (A) CALL FUN(X)"
    assert _fixed("      X = A\n     &B\n") == ["X = A B"]


def test_character_constant_is_padded_to_the_line_limit() -> None:
    assert _fixed("      S = 'abc\n     &def! ;'\n") == ["S = 'abc" + " " * 58 + "def! ;'"]
    assert _fixed("      S = 'abc\n     &def'\n", width=0) == ["S = 'abcdef'"]


def test_hollerith_hides_quotes_and_comment_marks() -> None:
    assert _fixed("      CALL F(5Hdon't, 3h!;', 1) ! c\n") == ["CALL F(5Hdon't, 3h!;', 1)"]


def test_fixed_semicolons() -> None:
    leaves, _ = _split("   10 A = 1; B = ';' ; C = 3\n     & + 4\n      D = 5;\n", Form.FIXED)
    assert _codes(leaves) == ["A = 1", "B = ';'", "C = 3 + 4", "D = 5"]
    assert [leaf.joined for leaf in leaves] == [False, True, True, False]


def test_label_alone_is_no_statement() -> None:
    assert _fixed("  10\n      X = 1\n") == ["X = 1"]


def test_free_text_in_a_fixed_file_is_kept() -> None:
    assert _fixed("program a\n x = 1\nend\n") == ["program a", "x = 1", "end"]
