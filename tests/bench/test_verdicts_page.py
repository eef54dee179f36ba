"""The page of verdicts is what the checks say of themselves."""

from __future__ import annotations

from asphalt.diagnostics.catalogue import ALL_CODES, CONDITIONS
from asphalt.report.sarif import documentation
from bench.verdicts import PAGE, page


def test_the_page_that_is_checked_in_is_the_generated_one() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m bench.verdicts"


def test_every_code_has_its_anchor() -> None:
    headings = [line.removeprefix("### ") for line in page().splitlines() if line[:4] == "### "]
    assert sorted(headings) == sorted(ALL_CODES)
    for code in ALL_CODES:
        assert documentation(code) == f"docs/verdicts.md#{code.lower()}"


def test_every_condition_has_a_title() -> None:
    assert list(CONDITIONS) == list(range(12))
    assert {code.condition for code in ALL_CODES.values()} <= set(CONDITIONS)
