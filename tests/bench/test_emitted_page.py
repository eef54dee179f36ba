"""The page of emitted code is what asphalt emits, and what is emitted is short."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.emitted import PAGE, SHOWN, added_lines, page, transformed
from support.places import GOLDEN

BEFORE = sorted(GOLDEN.glob("*.before.f*"))


def test_the_page_that_is_checked_in_is_the_generated_one() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m bench.emitted"
    assert len(SHOWN) == 6


@pytest.mark.parametrize("before", BEFORE, ids=lambda path: path.name.split(".")[0])
def test_a_site_of_any_shape_adds_few_lines(before: Path) -> None:
    after = before.with_name(before.name.replace(".before.", ".after."))
    texts = [path.read_text(encoding="latin-1") for path in (before, after)]
    assert 8 < added_lines(*texts) <= (24 if before.suffix == ".f" else 16)


def test_messages_between_two_ranks_add_few_lines() -> None:
    counts = [added_lines(*transformed(one.file, one.passes)) for one in SHOWN[-2:]]
    assert counts == [20, 20]


def test_blanks_do_not_count() -> None:
    assert added_lines("a b\nc\n", "  a  b\nc\n") == 0
    assert added_lines("a\nb\n", "a\nnew\nb\nnew\n") == 2
    assert added_lines("do z = 1, n\n", "do z = lo, hi\n") == 1
