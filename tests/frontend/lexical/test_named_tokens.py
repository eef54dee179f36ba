"""Statements with macros that stand for one name or number each keep their text, unfrozen."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.frontend.lexical.named_tokens import misread_words
from asphalt.frontend.lexical.preprocess import preprocess
from asphalt.frontend.lexical.source_text import source_text
from asphalt.frontend.lexical.split import split
from asphalt.frontend.statements.logical_line import logical_line
from asphalt.ir.source import Form
from asphalt.ir.stmt import Raw
from asphalt.ir.tree import Leaf


def leaves_of(path: Path, text: str, *defines: str) -> list[Leaf]:
    """The statements of a file."""
    source = source_text(str(path), text.encode())
    leaves, _ = split(source, preprocess(source, defines))
    return list(leaves)


def last(path: Path, text: str, *defines: str) -> tuple[str, bool]:
    """What the last statement of a file means, and whether it is frozen."""
    leaf = leaves_of(path, text, *defines)[-1]
    assert isinstance(leaf.what, Raw)
    return leaf.what.code, leaf.frozen


def test_the_text_stays_and_means_the_expanded_one(tmp_path: Path) -> None:
    text = "#define SENDS mpi_send\n#define TAG 7\n  call SENDS(a, & ! TAG\n    TAG, 'TAG')\n"
    (leaf,) = leaves_of(tmp_path / "a.F90", text)
    assert leaf.what == Raw("call mpi_send(a, 7, 'TAG')")
    assert leaf.body == "call SENDS(a, & ! TAG\n    TAG, 'TAG')"
    assert not leaf.frozen
    assert [(one.name, one.token) for one in leaf.macros] == [("SENDS", "mpi_send"), ("TAG", "7")]
    assert {"mpi_send"} <= leaf.cut
    assert logical_line(leaf, source_text("a.F90", b"").form) == "call mpi_send(a, 7, 'TAG')"


def test_several_statements_of_a_line_are_apart(tmp_path: Path) -> None:
    first, second = leaves_of(tmp_path / "a.F90", "#define N 5\nx = N; y = N ! N\n")
    assert (first.body, second.body) == ("x = N", "y = N")
    assert (first.what, second.what) == (Raw("x = 5"), Raw("y = 5"))
    assert (second.head, second.trail) == (" ", " ! N\n")


def test_macros_stand_for_each_other(tmp_path: Path) -> None:
    assert last(tmp_path / "a.F90", "#define B 5\n#define A B\nx = A\n") == ("x = 5", False)


def test_a_header_and_the_options_define_macros(tmp_path: Path) -> None:
    (tmp_path / "kinds.h").write_text("#ifdef DOUBLE\n#define WP 8\n#else\n#define WP 4\n#endif\n")
    text = '#include "kinds.h"\nx = real(y, WP) + N\n'
    found = last(tmp_path / "a.F90", text, "N=3", "DOUBLE")
    assert found == ("x = real(y, 8) + 3", False)


@pytest.mark.parametrize(
    "definition",
    [
        "#define N(x) 5",
        "#define N 5 + 1",
        "#define N (5)",
        "#define N 'a'",
        "#define N",
        "#define N 5, 6",
        "#define N x%y",
    ],
)
def test_other_macros_freeze_a_statement(tmp_path: Path, definition: str) -> None:
    (leaf,) = leaves_of(tmp_path / "a.F90", f"{definition}\nx = N(1)\n")
    assert leaf.frozen


@pytest.mark.parametrize(
    "lines",
    [
        "#define N 5\nx = 1\n#undef N\n#define N 6\ny = N\n",
        "#define N 5\nx = 1\n#undef N\ny = N\n",
        "x = N\n#define N 5\ny = N\n",
        "#define A N\nx = A\n#define N 5\ny = A\n",
    ],
)
def test_a_macro_that_means_two_things_freezes_its_statements(tmp_path: Path, lines: str) -> None:
    leaves = leaves_of(tmp_path / "a.F90", lines)
    assert [leaf.frozen for leaf in leaves] == [leaf.body != "x = 1" for leaf in leaves]


@pytest.mark.parametrize("first", ["#define N 5", "#undef N\n#define N 5"])
def test_a_definition_that_is_repeated_is_one(tmp_path: Path, first: str) -> None:
    text = f"{first}\nx = N\n#define N 5\ny = N\n"
    assert [leaf.frozen for leaf in leaves_of(tmp_path / "a.F90", text)] == [False, False]


def test_a_name_in_a_comment_is_no_use(tmp_path: Path) -> None:
    text = "/* N is five */\n! N\nx = 0 ! N\n#define N 5\ny = N\n"
    assert [leaf.frozen for leaf in leaves_of(tmp_path / "a.F90", text)] == [False, False]


@pytest.mark.parametrize("line", ["LOOP: do i = 1, 2", "LABEL continue"])
def test_labels_and_names_of_constructs_are_no_macros(tmp_path: Path, line: str) -> None:
    text = f"#define LOOP outer\n#define LABEL 10\n{line}\n"
    (leaf,) = leaves_of(tmp_path / "a.F90", text)
    assert leaf.frozen


def test_fixed_form(tmp_path: Path) -> None:
    text = "#define TAG 7\n      call f(a,\nC     TAG\n     &  TAG, 5hTAG  )\n      x = TAG\n"
    first, second = leaves_of(tmp_path / "a.F", text)
    assert first.frozen
    assert (second.frozen, second.body) == (False, "x = TAG")
    text = text.replace(", 5hTAG  ", "")
    first, _ = leaves_of(tmp_path / "a.F", text)
    assert (first.frozen, first.body) == (False, "call f(a,\nC     TAG\n     &  TAG)")


def test_the_mark_of_a_continuation_line_is_no_comment_and_no_code(tmp_path: Path) -> None:
    text = "#define WHO row\n      y = x\n     !  + WHO\n"
    assert last(tmp_path / "a.F", text) == ("y = x + row", False)
    assert last(tmp_path / "a.F", text.replace("!  + WHO", "W  + WHO"))[0] == "y = x + row"
    text = "      y = x\n     !  + WHO\n#define WHO row\n      z = 1\n     !  + WHO\n"
    assert [leaf.frozen for leaf in leaves_of(tmp_path / "a.F", text)] == [True, True]
    text = "#define W row\n      y = x\n     W  + 1\n"
    code, frozen = last(tmp_path / "a.F", text)
    assert (code.replace(" ", ""), frozen) == ("y=xow+1", True)


def test_a_line_of_fixed_form_that_a_macro_makes_too_long_stays(tmp_path: Path) -> None:
    room = 72 - len("      x = N")
    text = "#define N {}\n      x = N\n      y = 2\n"
    short, _ = leaves_of(tmp_path / "a.F", text.format("a" * (room - 1)))
    assert not short.frozen
    long, _ = leaves_of(tmp_path / "a.F", text.format("a" * (room + 1)))
    assert long.frozen


def test_words_beside_a_constant_that_goes_on_or_hides_a_quote() -> None:
    cut = ["call f(a, 'one ONE &\n", "  &two TWO &\n", "  &three THREE', b)\n", "c = B\n"]
    words = misread_words(cut, Form.FREE)
    assert {"ONE", "TWO", "THREE"} <= words
    assert "B" not in words
    assert "N" in misread_words(["if (c == '\\') x = N\n"], Form.FREE)
    assert not misread_words(["c = 'it''s N' ! don't\n", "! don't N\n"], Form.FREE)
