"""Pages for readers name files that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.places import ROOT

PAGES = [
    path
    for pattern in ("*.md", "docs/*.md", "docs/decisions/*.md", "bench/*.md", "kernels/*.md")
    for path in sorted(ROOT.glob(pattern))
]
_NAMED = re.compile(r"`((?:asphalt|tests|bench|docs|fortran_runtime|kernels)/[\w./]*)`")
_LINKED = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_that_a_page_names_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = [name for name in _NAMED.findall(text) if not (ROOT / name).exists()]
    linked = [name for name in _LINKED.findall(text) if not (page.parent / name).exists()]
    assert (named, linked) == ([], [])


def test_the_pages_for_newcomers_name_many() -> None:
    for name, least in {"ARCHITECTURE.md": 40, "CONTRIBUTING.md": 10}.items():
        assert len(_NAMED.findall((ROOT / name).read_text(encoding="utf-8"))) >= least
