"""Which macros stand for different things in different lines, and what becomes of those lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.frontend.lexical.conditionals import conditionals, selected
from asphalt.frontend.lexical.source_text import source_text

_TEXT = "#define W a\nW = 1\n#undef W\n#define W b\nW = 2\n"


def selection(text: str, name: str = "s.F90", width: int = 132, **headers: str) -> str:
    """A file as transformations see it; ``headers``: what it includes, with ``_`` for the dot."""
    files = {key.replace("_", "."): value for key, value in headers.items()}
    source = source_text(name, text.encode(), None, width, False)
    found = conditionals(source, (), (), lambda _, name: (name, files[name]))
    return selected(text, found)


def test_lines_have_what_the_macros_stand_for() -> None:
    assert selection(_TEXT) == ("!#asphalt 1\na = 1\n!#asphalt 2\n!#asphalt 3\nb = 2\n")


def test_a_name_stays_where_no_macro_has_it() -> None:
    shown = selection(f"W = 0\n{_TEXT}#undef W\nW = 3 ! W\n")
    assert shown.startswith("W = 0\n!#asphalt 1\n")
    assert shown.endswith("!#asphalt 4\nW = 3 ! W\n")


@pytest.mark.parametrize(
    "text",
    [
        "#define W a\nW = 1\n",  # one meaning
        _TEXT.replace("W a", "W(x) x").replace("W = 1", "W(a) = 1"),
        f"{_TEXT}#define V W\n",
        f"{_TEXT}#if W == 2\n#endif\n",
        f"{_TEXT}!$omp parallel private(W)\n",
        _TEXT.replace("W = 2", f"W = 2 + {'1' * 124}").replace("W b", "W longer"),
        _TEXT.replace("W b", "W \\\nb"),
    ],
)
def test_other_macros_stay(text: str) -> None:
    shown = [line for line in selection(text).split("\n") if not line.startswith("!#asphalt")]
    assert shown == [line for line in text.split("\n") if not line.startswith(("#if", "#endif"))]


def test_macros_of_included_files_stay(tmp_path: Path) -> None:
    text = f'{_TEXT}#include "w.h"\n'
    assert selection(text, w_h="W = 3\n").count("W") == text.count("W")
    assert selection(text, w_h="V = 3\n").count("W") == 0
