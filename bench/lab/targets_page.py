"""docs/targets.md: what the bench demands, what was found, and where that is too little."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import jinja2

from bench.lab.rows import Row
from bench.lab.targets import SLOWER_THAN_HAND, Target, slower_than_hand

TEMPLATE = Path(__file__).with_name("targets.md.jinja")


def targets_text(found: Sequence[Target], rows: Sequence[Row]) -> str:
    """The page of all targets; ``rows``: what was measured."""
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    text = environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        targets=found, slower=slower_than_hand(rows), most=SLOWER_THAN_HAND
    )
    return text.rstrip() + "\n"
