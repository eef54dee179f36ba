"""Writes docs/safety.md from the matrix of safety."""

from __future__ import annotations

from support.places import ROOT
from support.safety_facts import FACTS
from support.safety_matrix import MATRIX, RULES, Never, pairs

PAGE = ROOT / "docs" / "safety.md"
_HEAD = [
    "# Safety of the transformations of transfers",
    "",
    "`make docs` writes this page from the table in",
    "[tests/support/safety_matrix.py](../tests/support/safety_matrix.py).",
    "",
    "The rules are those of section 4 of *MPI-aware compiler optimizations for improving",
    "communication-computation overlap* (Danalis, Pollock, Swany, Cavazos, 2009):",
    "",
]
_LEGEND = [
    "",
    "The cells of the table:",
    "",
    "- A number `n`: the tests contain `n` pairs of programs",
    "  ([tests/support/safety_pairs.py](../tests/support/safety_pairs.py)). In one program of a",
    "  pair, the pass takes a step. In the other one, which is nearly the same, the step would",
    "  break the rule, and the pass does not take it.",
    "- `+n`: `n` other tests, listed below, check that no step of the pass breaks the rule.",
    "- A letter: the pass cannot break the rule, for the reason given below.",
    "",
    "[passes.md](passes.md) describes the passes.",
    "",
]


_LOOKED_THROUGH = [
    "",
    "## What proofs look through",
    "",
    "For each fact, the tests contain pairs of programs",
    "([tests/support/safety_facts.py](../tests/support/safety_facts.py)). In one program of a",
    "pair, the fact holds, and asphalt takes a step. In the other one, which is nearly the same,",
    "it does not hold, and asphalt does not take the step. If asphalt did not ask for the fact, it",
    "would take the step in both: the tests switch the question off and see that.",
    "",
    "| about | the fact | pairs |",
    "| --- | --- | --- |",
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
    facts = [
        f"| {name} | {'; '.join(one.allows for one in group)} | {len(group)} |"
        for name, group in FACTS.items()
    ]
    parts = [*_HEAD, *rules, *table, *_LEGEND, *reasons, *_LOOKED_THROUGH, *facts, *listed]
    return "\n".join(parts) + "\n"


def _counts(in_pairs: int, others: int) -> str:
    first = str(in_pairs) if in_pairs else ""
    return f"{first} +{others}".strip() if others else first


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
