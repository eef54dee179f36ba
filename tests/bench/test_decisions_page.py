"""The list of decisions names all of them, in their order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.emitted import ROOT

FOLDER = ROOT / "docs" / "decisions"
PAGES = sorted(path for path in FOLDER.glob("*.md") if path.name != "README.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_every_decision_is_listed(page: Path) -> None:
    headings = re.findall(r"^## (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    places = [re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings]
    listed = re.findall(
        rf"^- \[(.*)\]\({page.name}#(.*)\)$", (FOLDER / "README.md").read_text(), re.MULTILINE
    )
    assert listed == list(zip(headings, places, strict=True))
