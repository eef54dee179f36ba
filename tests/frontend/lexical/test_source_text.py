from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.errors import InputError
from asphalt.frontend.lexical.source_text import (
    form_by_content,
    form_of,
    read_source,
    source_text,
)
from asphalt.ir.source import Form


@pytest.mark.parametrize("name", ["a.f", "a.F", "a.for", "a.FOR", "a.ftn", "a.f77", "a.fpp"])
def test_fixed_suffixes(name: str) -> None:
    assert form_of(name) is Form.FIXED


@pytest.mark.parametrize("name", ["a.f90", "a.F90", "a.f03", "a.f08", "a", "a.inc"])
def test_free_suffixes(name: str) -> None:
    assert form_of(name) is Form.FREE


def test_defaults_follow_the_name() -> None:
    fixed = source_text("a.f", b"      end\n")
    free = source_text("a.f90", b"end\n")
    assert (fixed.form, fixed.width) == (Form.FIXED, 72)
    assert (free.form, free.width) == (Form.FREE, 132)


def test_form_and_width_can_be_set() -> None:
    source = source_text("a.f", b"end\n", form=Form.FREE)
    assert (source.form, source.width) == (Form.FREE, 132)
    assert source_text("a.f", b"", width=132).width == 132


@pytest.mark.parametrize(
    ("content", "eol"),
    [(b"", "\n"), (b"a", "\n"), (b"a\nb\n", "\n"), (b"a\r\nb\r\n", "\r\n"), (b"a\r\nb\nc\n", "\n")],
)
def test_line_ending_of_most_lines(content: bytes, eol: str) -> None:
    assert source_text("a.f90", content).eol == eol


def test_byte_order_mark_is_kept_apart() -> None:
    source = source_text("a.f90", b"\xef\xbb\xbfend\n")
    assert source.bom.encode("latin-1") == b"\xef\xbb\xbf"
    assert source.text == "end\n"


def test_every_byte_is_one_character() -> None:
    content = bytes(range(1, 256))
    assert source_text("a.f90", content).text.encode("latin-1") == content


def test_binary_file_names_the_line() -> None:
    with pytest.raises(InputError) as caught:
        source_text("a.f90", b"end\nend\0\n")
    assert str(caught.value).startswith("a.f90:2: not a text file")


def test_read_source(tmp_path: Path) -> None:
    path = tmp_path / "a.F"
    path.write_bytes(b"      end\r\n")
    source = read_source(path)
    assert (source.text, source.path, source.form) == ("      end\r\n", str(path), Form.FIXED)


def test_missing_file_and_directory(tmp_path: Path) -> None:
    for path in (tmp_path / "none.f90", tmp_path):
        with pytest.raises(InputError, match="cannot be read"):
            read_source(path)


FREE = "subroutine s(a)\nreal :: a\na = 1\nend\n"


@pytest.mark.parametrize(
    "text", [FREE, "  integer :: i\nmodule m\nend\n", "use mpi\n", "x(1) = 2 + &\n  3\n", " &b\n"]
)
def test_text_that_is_free_form_alone(text: str) -> None:
    assert form_by_content("a.F", text) is Form.FREE
    assert form_by_content("a.f90", text) is Form.FREE


@pytest.mark.parametrize(
    "text",
    [
        "      subroutine s(a)\nc     a is set\n      a = 1\n      end\n",
        f"C\n{FREE}",
        f"* x\n{FREE}",
        "c = 1\n",
        "call s\n",
        "d = 1\n",
        "\tx = 1\n",
        "10    continue\n",
        "      a = b\n     &  + c\n",
        "#ifdef X\n      end\n#endif\n",
        "",
    ],
)
def test_text_that_may_be_fixed_form(text: str) -> None:
    assert form_by_content("a.F", text) is Form.FIXED
    assert form_by_content("a.f90", text) is Form.FREE
