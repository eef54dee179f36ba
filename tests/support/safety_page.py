"""The page of the documentation that shows the matrix of safety."""

from __future__ import annotations

from support.places import ROOT
from support.safety_matrix import MATRIX, RULES, Never, pairs

PAGE = ROOT / "docs" / "safety.md"
_HEAD = [
    "# What keeps transformations of transfers safe",
    "",
    "Made of the table in [tests/support/safety_matrix.py](../tests/support/safety_matrix.py) by "
    "`make docs`.",
    "",
    "The rules are those of *MPI-aware compiler optimizations for improving "
    "communication-computation overlap* (Danalis, Pollock, Swany, Cavazos, 2009), section 4:",
    "",
]
_LEGEND = [
    "",
    "A number `n`: so many pairs of programs of the tests "
    "([tests/support/safety_pairs.py](../tests/support/safety_pairs.py)). In one of a pair the "
    "pass takes a step; "
    "in the other one, which is nearly the same, the step would break the rule, and there is none. "
    "`+n`: so many other tests with a program in which the pass does not do what would break the "
    "rule; they are listed below. A letter: why the pass cannot break the rule. What each pass "
    "does is told at the beginning of its modules in `asphalt/transforms/`.",
    "",
]


def page() -> str:
    """The text of the page."""
    rules = [f"{n}. **{rule}**: {text}." for n, (rule, text) in enumerate(RULES.items(), 1)]
    table = ["", f"| pass | {' | '.join(RULES)} |", f"| --- |{' --- |' * len(RULES)}"]
    letters: dict[str, str] = {}
    tests: list[str] = []
    for name, row in MATRIX.items():
        cells = []
        for rule, cell in row.cells.items():
            if isinstance(cell, Never):
                cells.append(letters.setdefault(cell.reason, chr(ord("a") + len(letters))))
                continue
            cells.append(_counts(len(pairs(name, rule)), len(cell)))
            tests += (f"- `{name}`, {rule}: `{one.node}`" for one in cell)
        table.append(f"| `{name}` | {' | '.join(cells)} |")
    reasons = [f"- {letter}: {reason}" for reason, letter in letters.items()]
    listed = ["", "## The other tests", "", *tests]
    return "\n".join([*_HEAD, *rules, *table, *_LEGEND, *reasons, *listed]) + "\n"


def _counts(in_pairs: int, others: int) -> str:
    first = str(in_pairs) if in_pairs else ""
    return f"{first} +{others}".strip() if others else first


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
