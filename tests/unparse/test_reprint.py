from __future__ import annotations

from dataclasses import replace

import pytest

from asphalt.frontend.lexical.source_text import SourceText
from asphalt.frontend.structure.parse import parse_file
from asphalt.ir.source import Form, Trivia, TriviaKind
from asphalt.ir.stmt import Raw
from asphalt.ir.tree import Block, File, Leaf, rewrite
from asphalt.unparse.reprint import text_of


def _print_raw(leaf: Leaf, indent: int) -> str:
    """A printer for tests: the code of a Raw leaf on one line."""
    assert isinstance(leaf.what, Raw)
    label = "" if leaf.label is None else f"{leaf.label} "
    name = "" if leaf.name is None else f"{leaf.name}: "
    return f"{label.ljust(indent)}{name}{leaf.what.code}\n"


def _file(text: str, form: Form = Form.FREE, width: int | None = None) -> File:
    if width is None:
        width = 72 if form is Form.FIXED else 132
    return parse_file(SourceText("t", text, form, width))


def _with_body(file: File, *body: Leaf) -> File:
    (unit,) = file.units
    return replace(file, units=(replace(unit, body=body),))


def _body(file: File) -> list[Leaf]:
    (unit,) = file.units
    found = []
    for node in unit.body:
        assert isinstance(node, Leaf)
        found.append(node)
    return found


def _free(*lines: str) -> File:
    return _file("\n".join(("subroutine s", *lines, "end\n")))


def _fixed(*lines: str) -> File:
    return _file("\n".join(("      subroutine s", *lines, "      end\n")), Form.FIXED)


def _printed(file: File) -> list[str]:
    """The lines between the first and the last."""
    return text_of(file, _print_raw).split("\n")[1:-2]


def test_verbatim() -> None:
    text = "\tsubroutine s ! c\r\n\r\n x = 1; y = 2 ;\r\n END"
    file = replace(_file(text), bom="\xef\xbb\xbf")
    assert text_of(file, _print_raw) == "\xef\xbb\xbf" + text


def test_rewritten_leaf_keeps_lead_label_name_and_trail() -> None:
    file = _free("! before", "  10 x = 1 + &", "       2 ! after", "")
    (leaf,) = _body(file)
    file = _with_body(file, rewrite(leaf, Raw("y = 2")))
    assert _printed(file) == ["! before", "  10 y = 2 ! after", ""]


def test_rewritten_construct_name() -> None:
    file = _free("a: associate (x => y)", "end associate a")
    (unit,) = file.units
    (block,) = unit.body
    assert isinstance(block, Block)
    block = replace(block, head=rewrite(block.head, Raw("associate (x => z)")))
    file = replace(file, units=(replace(unit, body=(block,)),))
    assert _printed(file) == ["a: associate (x => z)", "end associate a"]


def test_new_leaf_stands_at_its_shift() -> None:
    file = _free("  x = 1")
    (leaf,) = _body(file)
    comment = Trivia(TriviaKind.COMMENT, "! new\n")
    new = Leaf(Raw("y = 2"), lead=(comment,), label=7, shift=4)
    assert _printed(_with_body(file, leaf, new)) == ["  x = 1", "    ! new", "7   y = 2"]


def test_new_leaf_in_fixed_form() -> None:
    file = _fixed("        x = 1")
    (leaf,) = _body(file)
    new = Leaf(Raw("y = 2"), shift=2)
    assert _printed(_with_body(file, leaf, new)) == ["        x = 1", "        y = 2"]


def test_new_leaf_after_a_line_without_ending() -> None:
    file = _file("subroutine s\nx = 1\nend")
    (unit,) = file.units
    first = replace(unit, end=replace(unit.end, trail=""))
    again = text_of(replace(file, units=(first, unit)), _print_raw)
    assert again == "subroutine s\nx = 1\nend\nsubroutine s\nx = 1\nend"


def test_moved_leaf() -> None:
    file = _free("! c", "", "  x = 1 + & ! d", "    ! e", "", "      2", "")
    (leaf,) = _body(file)
    moved = _printed(_with_body(file, replace(leaf, shift=2)))
    assert moved == ["  ! c", "", "    x = 1 + & ! d", "      ! e", "", "        2", ""]
    back = _printed(_with_body(file, replace(leaf, shift=-4)))
    assert back == ["! c", "", "x = 1 + & ! d", "! e", "", "  2", ""]


def test_directives_and_preprocessor_lines_never_move() -> None:
    file = _free("!$omp single", "#define A", "!$ y = 1", " x = 1")
    (leaf,) = _body(file)
    moved = _printed(_with_body(file, replace(leaf, shift=2)))
    assert moved == ["!$omp single", "#define A", "!$ y = 1", "   x = 1"]


@pytest.mark.parametrize(
    "lines",
    [
        ("x = 'a&", "&b'"),
        ('x = "it\'s" // "a&', '  ! c\n  &b"'),
        ("x = 1 &", "#ifdef A", " + 2"),
        ("x = 1 &", "!$ + 3 &", " + 2"),
        ("x = 1 + &", " " * 120 + "+ 2 + 3 + 4"),
        ("x = 1" + " " * 120 + "! comment",),
    ],
)
def test_leaves_that_stay_where_they_are(lines: tuple[str, ...]) -> None:
    file = _free(*lines)
    (leaf,) = _body(file)
    assert _printed(_with_body(file, replace(leaf, shift=2))) == "\n".join(lines).split("\n")


def test_apostrophe_in_a_comment_is_no_constant() -> None:
    file = _free("x = 1 + & ! don't", "2")
    (leaf,) = _body(file)
    moved = _printed(_with_body(file, replace(leaf, shift=1)))
    assert moved == [" x = 1 + & ! don't", " 2"]


def test_fixed_form_is_never_shifted() -> None:
    file = _fixed("c d", "      x = 1", "     & + 2")
    (leaf,) = _body(file)
    moved = _printed(_with_body(file, replace(leaf, shift=2)))
    assert moved == ["c d", "      x = 1", "     & + 2"]


def test_semicolon_when_the_statement_before_is_gone() -> None:
    file = _free("  x = 1; y = 2")
    first, second = _body(file)
    assert _printed(_with_body(file, second)) == ["y = 2"]
    fixed = _fixed("      x = 1; 10 y = 2 ! c")
    first, second = _body(fixed)
    assert _printed(_with_body(fixed, second)) == ["10    y = 2 ! c"]
    assert _printed(_with_body(fixed, first)) == ["      x = 1;"]


def test_semicolon_when_the_statement_before_is_new() -> None:
    file = _free("  x = 1; y = 2")
    first, second = _body(file)
    file = _with_body(file, rewrite(first, Raw("z = 3")), second)
    assert _printed(file) == ["  z = 3;", "  y = 2"]


def test_semicolon_when_the_statement_after_is_new() -> None:
    file = _free("  x = 1; y = 2 ! c")
    first, second = _body(file)
    assert _printed(_with_body(file, first, rewrite(second, Raw("z = 3")))) == [
        "  x = 1; z = 3 ! c"
    ]
    long = "z = " + "1 + " * 40 + "1"
    assert _printed(_with_body(file, first, rewrite(second, Raw(long)))) == [
        "  x = 1;",
        f"  {long} ! c",
    ]


def test_sequence_numbers_stay_beyond_the_line_limit() -> None:
    file = _fixed("      x = 1".ljust(72) + "00000010")
    (leaf,) = _body(file)
    file = _with_body(file, rewrite(leaf, Raw("yy = 2")))
    assert _printed(file) == ["      yy = 2".ljust(72) + "00000010"]


def test_tail_begins_a_line() -> None:
    file = _file("subroutine s\nend\n! tail\n")
    (unit,) = file.units
    unit = replace(unit, end=replace(unit.end, trail=""))
    assert text_of(replace(file, units=(unit,)), _print_raw) == "subroutine s\nend\n! tail\n"
