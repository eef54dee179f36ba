"""The pages of passes are what the passes say of themselves."""

from __future__ import annotations

import re
from pathlib import Path

from asphalt.config.passes import PASSES, Pass
from bench.docs_pages import outdated
from bench.passes import WIDTH, pages

INDEX = Path("passes.md")


def test_the_pages_that_are_checked_in_are_the_generated_ones() -> None:
    assert list(outdated(pages(), "passes")) == [], "run python -m bench.passes"


def test_every_pass_has_its_page_and_its_line() -> None:
    listed = re.findall(r"^\| \[`(\w+)`\]\((.*?)\) \|", pages()[INDEX], re.MULTILINE)
    assert listed == [(str(one), f"passes/{one}.md") for one in PASSES]
    assert list(PASSES) == list(Pass)
    for one in PASSES:
        assert pages()[Path(f"passes/{one}.md")].startswith(f"# {one}\n")


def test_every_link_leads_somewhere() -> None:
    for name, place in re.findall(r"\]\(([^#)]*)#(.*?)\)", pages()[INDEX]):
        lines = pages()[Path(name) if name else INDEX].splitlines()
        assert place in {line.lstrip("# ").lower().replace(" ", "-") for line in lines}


def test_their_prose_has_lines_of_at_most_100_characters() -> None:
    for text in pages().values():
        prose = [line for line in text.splitlines() if not line.startswith("|")]
        assert [line for line in prose if len(line) > WIDTH] == []
