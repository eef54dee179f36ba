"""Composed text is divided into the files that it was made of."""

from __future__ import annotations

import pytest

from asphalt.frontend.source_tree.composition import (
    Composition,
    NotDividedError,
    Part,
    border,
)
from asphalt.frontend.source_tree.inclusions import Inclusions
from asphalt.ir.source import Span
from asphalt.ir.stmt import Raw
from asphalt.ir.tree import Leaf, Unit

_MAIN = b"program m\ninclude 'a.inc'\nend\n"


def composed(part: bytes, main: bytes = _MAIN, **options: object) -> Composition:
    """``main`` with ``part`` in place of its second line."""
    lines = main.splitlines(keepends=True)
    kept = Part("src/a.inc", "src/m.f90", lines[1], False, **options)  # type: ignore[arg-type]
    inside = [*part.splitlines(keepends=True)]
    begin, end = (border(1, word, b"\n") for word in ("begin", "end"))
    content = b"".join((lines[0], begin, *inside, end, *lines[2:]))
    inner = [("src/a.inc", number) for number in range(1, len(inside) + 1)]
    places = (("src/m.f90", 1), ("src/m.f90", 2), *inner, ("src/m.f90", 2), ("src/m.f90", 3))
    texts = {"src/m.f90": main, "src/a.inc": part}
    return Composition("src/m.f90", content, places, (kept,), texts)


def test_each_line_has_its_place() -> None:
    one = composed(b"call a\ncall b\n")
    assert one.place(4) == ("src/a.inc", 2)
    assert one.place(6) == ("src/m.f90", 3)
    assert one.line("src/a.inc", 2) == 4
    assert one.line("src/a.inc", 9) is None
    assert one.owners(one.content)[2:4] == ["src/a.inc", "src/a.inc"]


def test_borders_that_have_lost_each_other_count_for_nothing() -> None:
    one = composed(b"call a\n")
    end = border(1, "end", b"\n")
    assert one.owners(end + b"call b\n" + end) == ["src/m.f90"] * 3


def test_changed_text_is_divided_at_the_borders() -> None:
    one = composed(b"call a\ncall b\n")
    after = one.content.replace(b"call b\n", b"call c\ncall d\n").replace(
        b"program m", b"program n"
    )
    assert one.divided(one.content) == one.texts
    assert one.divided(after) == {
        "src/m.f90": b"program n\ninclude 'a.inc'\nend\n",
        "src/a.inc": b"call a\ncall c\ncall d\n",
    }


def test_a_part_keeps_its_line_ends() -> None:
    one = composed(b"call a\ncall b\n", ended=False, eol=b"\r\n")
    divided = one.divided(one.content.replace(b"call b\n", b"call c\ncall d\n"))
    assert divided["src/a.inc"] == b"call a\r\ncall c\r\ncall d"
    assert divided["src/m.f90"] == _MAIN


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (border(1, "begin", b"\n"), b"", "crosses the border"),
        (border(1, "end", b"\n"), b"", "crosses the border"),
        (b"call a\n", b"#if 1\ncall a\n#endif\n", "is not preprocessed"),
    ],
)
def test_what_belongs_to_no_file_is_not_divided(old: bytes, new: bytes, why: str) -> None:
    one = composed(b"call a\ncall b\n")
    with pytest.raises(NotDividedError, match=why):
        one.divided(one.content.replace(old, new))


def test_the_files_of_lines_are_found_once_for_contents_that_alternate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A tree and those that edits make of it ask in turn."""
    one = composed(b"call a\n")
    longer = one.content.replace(b"program m\n", b"program m\nuse b\n")
    searched: list[bytes] = []
    owners = Composition.owners
    monkeypatch.setattr(
        Composition, "owners", lambda own, text: searched.append(text) or owners(own, text)
    )
    known = Inclusions({one.path: one})
    for _ in range(3):
        assert known.part_of(one.path, one.content, _unit(3)) == "src/a.inc"
        assert known.part_of(one.path, longer, _unit(3)) is None
        assert known.part_of(one.path, longer, _unit(4)) == "src/a.inc"
    assert searched == [one.content, longer]


def _unit(line: int) -> Unit:
    head = Leaf(Raw("subroutine s"), Span("src/m.f90", line, 0, line, 12))
    return Unit("subroutine", "s", head, (), (), None, (), None)
