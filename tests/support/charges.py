"""What the charging statements of a program add to the clock."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

from asphalt.analysis.cost.classes import CLASSES, UNKNOWN, CoreCache
from asphalt.config.settings import Settings
from asphalt.machine.machine import LATENCIES, Machine
from asphalt.simulation.charged import charge_tree


def charges(
    folder: Path,
    text: str,
    name: str = "a.f90",
    window: float = 0.0,
    cache: CoreCache = UNKNOWN,
    **seconds: float,
) -> list[str]:
    """What the charging statements add to the clock, in order."""
    (folder / "source").mkdir()
    (folder / "source" / name).write_text(dedent(text))
    latency = {c: seconds[f"{c}_waits"] for c in LATENCIES if f"{c}_waits" in seconds}
    own = {c: seconds.get(c, 0.0) for c in CLASSES}
    machine = Machine("m", "", (), own, latency, window, cache)
    made = charge_tree(folder / "source", folder / "out", machine, Settings(cache=False, jobs=1))
    assert made.not_charged == ()
    after = (made.root / name).read_text().replace("\n     &", "")
    after = re.sub(r"&\s*\n\s*&?", "", after)
    return [
        re.sub(r"\s", "", one)
        for one in re.findall(r"call asphalt_charge\((.*)\)\n", after, re.IGNORECASE)
    ]
