"""The logical line of a leaf: what splitting said, said again from the leaf alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from asphalt.frontend.lexical.source_text import SourceText, read_source
from asphalt.frontend.lexical.split import split
from asphalt.frontend.statements.logical_line import logical_line
from asphalt.ir.source import Form
from asphalt.ir.stmt import Raw
from asphalt.ir.tree import Leaf
from support.places import KERNELS

FREE = """\
program p   ! a comment
  call s(a, & ! of the first argument
         ! a line between

         b, 'it''s &
       &so', i&
       &j)
10 outer: do i = 1, n; x = 'a;b' ; y = 2   ; end do outer
  s = "! no comment"  ! one
end
"""
FIXED = """\
c     a comment
      call s(a,                                                         ignored
c     a line between
     &       b, 'no blanks are lost at the end of this line
     &', c)
   10 do 20 i = 1, n ; x(i) = 1
\ty = x(i)
\t1 + 2
   20 continue
      end
"""


def _split(text: str, form: Form, width: int) -> tuple[Leaf, ...]:
    return split(SourceText("a", text, form, width))[0]


@pytest.mark.parametrize(
    ("text", "form", "width"), [(FREE, Form.FREE, 132), (FIXED, Form.FIXED, 72)]
)
def test_awkward_statements(text: str, form: Form, width: int) -> None:
    leaves = _split(text, form, width)
    assert len(leaves) >= 6
    for leaf in leaves:
        assert Raw(logical_line(leaf, form) or "") == leaf.what


def test_the_line_limit_counts() -> None:
    text = "      a = b +" + " " * 70 + "c\n     & + d\n"
    (leaf,) = _split(text, Form.FIXED, 132)
    assert logical_line(leaf, Form.FIXED, 132) == leaf.what.code  # type: ignore[union-attr]
    assert logical_line(leaf, Form.FIXED, 72) != leaf.what.code  # type: ignore[union-attr]


def test_there_is_none_where_the_text_is_not_the_statement() -> None:
    (leaf,) = _split("  a = b\n", Form.FREE, 132)
    assert logical_line(leaf, Form.FREE) == "a = b"
    assert logical_line(replace(leaf, frozen=True), Form.FREE) is None
    assert logical_line(replace(leaf, body=None), Form.FREE) is None
    assert logical_line(replace(leaf, span=None), Form.FREE) is None
    assert logical_line(replace(leaf, body="a = b; c = d"), Form.FREE) is None


@pytest.mark.parametrize(
    "path", sorted(KERNELS.glob("*/*.f*")), ids=lambda p: f"{p.parent.name}-{p.name}"
)
def test_the_kernels(path: Path) -> None:
    source = read_source(path)
    for leaf in split(source)[0]:
        assert leaf.what == Raw(logical_line(leaf, source.form, source.width) or "")
