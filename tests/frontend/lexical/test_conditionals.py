"""What the preprocessor decides and changes in a file."""

from __future__ import annotations

from asphalt.frontend.lexical.conditionals import conditionals
from asphalt.frontend.lexical.source_text import source_text


def test_what_macros_change_in_comments_is_no_expansion() -> None:
    lines = (
        "! about N",
        "x = 1 ! about N",
        "y = N ! N",
        "z = 'it''s ! here' + N",
        "!$omp parallel num_threads(N)",
        "s = 'a ! &",
        "  & b ! N'",
    )
    text = "\n".join(("#define M", *lines, ""))
    found = conditionals(source_text("a.F90", text.encode()), ("N=2",), ())
    assert [one.line for one in found.expansions] == [4, 5, 6, 8]
