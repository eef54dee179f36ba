"""The pages of verdicts are what the checks say of themselves."""

from __future__ import annotations

import re
from pathlib import Path

from asphalt.diagnostics.catalogue import ALL_CODES, CONDITIONS
from asphalt.report.sarif import documentation
from bench.docs_pages import DOCS, outdated
from bench.verdicts import pages


def test_the_pages_that_are_checked_in_are_the_generated_ones() -> None:
    assert list(outdated(pages(), "codes")) == [], "run python -m bench.verdicts"


def test_every_code_has_its_page_and_its_line() -> None:
    listed = re.findall(r"^\| \[(\w+)\]\((.*?)\) \|", pages()[Path("verdicts.md")], re.MULTILINE)
    assert sorted(listed) == sorted((code, f"codes/{code.lower()}.md") for code in ALL_CODES)
    for code in ALL_CODES:
        assert documentation(code) == f"docs/codes/{code.lower()}.md"
        assert (DOCS / f"codes/{code.lower()}.md").read_text().startswith(f"# {code}: ")


def test_every_condition_has_a_title() -> None:
    assert list(CONDITIONS) == list(range(12))
    assert {code.condition for code in ALL_CODES.values()} <= set(CONDITIONS)
