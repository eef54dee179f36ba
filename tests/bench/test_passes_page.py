"""The page of passes, and the list in the README, are what the passes say of themselves."""

from __future__ import annotations

import re
from pathlib import Path

from asphalt.config.passes import PASSES, TRANSFERS, Pass
from bench.passes import PAGE, WIDTH, page

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_page_that_is_checked_in_is_the_generated_one() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m bench.passes"


def test_every_pass_has_its_section() -> None:
    headings = [line.removeprefix("## ") for line in page().splitlines() if line[:3] == "## "]
    assert headings == ["Phases", *PASSES]


def test_every_link_leads_somewhere() -> None:
    lines = page().splitlines()
    headings = {line.lstrip("# ").lower().replace(" ", "-") for line in lines if line[:1] == "#"}
    assert set(re.findall(r"\]\(#(.*?)\)", page())) <= headings


def test_its_prose_has_lines_of_at_most_100_characters() -> None:
    prose = [line for line in page().splitlines() if not line.startswith("|")]
    assert [line for line in prose if len(line) > WIDTH] == []


def test_the_readme_lists_all_passes() -> None:
    text = " ".join(README.read_text(encoding="utf-8").split())
    (names,) = re.findall(r"The passes for messages, in their order, are (.*?);", text)
    listed = re.findall(r"`(\w+)`", names)
    assert tuple(listed) == TRANSFERS
    assert "`all` stands for these and `prepush`" in text
    assert [Pass.PREPUSH, *listed] == list(PASSES) == list(Pass)
