"""What the preprocessor decides and changes in a file."""

from __future__ import annotations

import pytest

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


_SIZES = "#ifdef WIDE\n#define K 8\n#else\n#define K 4\n#endif\n"


def choices(header: str) -> list[str]:
    """The tests that choose among the text of a file, which includes ``header`` twice."""
    text = '#include "sizes.h"\nx = K\n#include "sizes.h"\n'
    source = source_text("a.F90", text.encode())
    found = conditionals(source, (), (), lambda path, name: ("sizes.h", header))
    assert found.clear
    return sorted({test.condition for one in found.found for test in one.tests})


@pytest.mark.parametrize(
    "header",
    [
        f"#ifndef SIZES_H\n#define SIZES_H\n{_SIZES}#endif\n",
        f"! sizes\n#ifndef SIZES_H\n\n! of reals\n#define SIZES_H\n{_SIZES}#endif\n",
        f"/* of\n   x */\n#if !defined(SIZES_H)\n#define SIZES_H\n{_SIZES}#endif /* it */\n",
        f"#ifndef SIZES_H /* once */\n{_SIZES}#define SIZES_H\n#endif\n",
    ],
)
def test_the_guard_of_a_header_is_no_choice(header: str) -> None:
    """The header is included once, whatever a build defines."""
    assert choices(header) == ["!defined(WIDE)"]


@pytest.mark.parametrize(
    "header",
    [
        # the macro has a value, is one of two, or another one; text around it, or no definition
        f"#ifndef SIZES_H\n{_SIZES}#define SIZES_H 1\n#endif\n",
        f"#ifndef SIZES_H\n{_SIZES}#define SIZES_H\n#else\n#define L 3\n#endif\n",
        f"#ifndef SIZES_H\n{_SIZES}#ifdef WIDE\n#define SIZES_H\n#endif\n#endif\n",
        f"#ifndef SIZES_H\n{_SIZES}#define SIZES_H\n#endif\n#define L 3\n",
        f"#ifndef SIZES_H\n{_SIZES}#define SIZES_H\n#endif\nx = 2\n",
        f"#ifndef SIZES_H\n{_SIZES}#define SIZES_H\n#ifdef SIZES_H\n#define L 3\n#endif\n#endif\n",
        f"#ifndef SIZES_H\n{_SIZES}#define SIZES_H\n#undef SIZES_H\n#endif\n",
        f"#ifndef SIZES_H\n{_SIZES}#endif\n",
        f"#ifndef SIZES_H\n{_SIZES}#define SIZE_H\n#endif\n",
    ],
)
def test_a_condition_that_is_no_guard_is_a_choice(header: str) -> None:
    assert any("SIZES_H" in test for test in choices(header))


def test_the_guard_of_a_file() -> None:
    """Where the macro is defined, nothing of the file is compiled."""
    text = "#ifndef MAIN\n#define MAIN\nx = 1\n#endif\n"
    found = conditionals(source_text("a.F90", text.encode()), (), ())
    assert found.found == ()
    assert found.path(3) == ()
    outside = conditionals(source_text("a.F90", f"{text}y = 2\n".encode()), (), ())
    assert [one.tests[0].condition for one in outside.found] == ["!defined(MAIN)"]
    removed = conditionals(source_text("a.F90", text.encode()), ("MAIN",), ())
    assert [one.tests[0].condition for one in removed.found] == ["defined(MAIN)"]
