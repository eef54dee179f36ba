"""Writes docs/targets.md: the targets, the measured values, and the places that miss."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import jinja2

from bench.lab.papers import PAPERS
from bench.lab.rows import Row
from bench.lab.targets import SIMULATED, SLOWER_THAN_HAND, Target, slower_than_hand

TEMPLATE = Path(__file__).with_name("targets.md.jinja")
VERSIONS = ("hand", "ialltoall", "transformed")


def targets_text(found: Sequence[Target], rows: Sequence[Row]) -> str:
    """The page of all targets; ``rows``: the measurements."""
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    text = environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        targets=found,
        slower=slower_than_hand(rows),
        most=SLOWER_THAN_HAND,
        real=list(_real(rows)),
        versions=VERSIONS,
    )
    return text.rstrip() + "\n"


def _real(rows: Iterable[Row]) -> Iterator[tuple[Row, Mapping[str, Row]]]:
    """The kernels on two real ranks: the original, and the other versions by name."""
    own = [r for r in rows if not (r.platform.startswith(SIMULATED) or r.kernel.startswith(PAPERS))]
    for original in own:
        if original.version == "original":
            place = original.kernel, original.platform
            yield original, {r.version: r for r in own if (r.kernel, r.platform) == place}
