"""The bench of the default choice: a tiny exchange, simulated as it is and as asphalt leaves it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.lab import ratios
from bench.lab.ratios import PLATFORMS, SHAPES, Example, compare
from support.mpi_run import SMPI, installed

# a message that is too short to be tiled, and one that is not
EXAMPLES = (Example(64, 8, 1.0, 2, 4), Example(1 << 19, 8, 1.0, 1, 3))
PLATFORM = "SMPI 10 Gb/s"


@pytest.mark.wide
@pytest.mark.skipif(not installed(SMPI), reason="needs SMPI")
def test_the_default_leaves_short_exchanges_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ratios, "BUILD", tmp_path)
    (shape,) = (shape for shape in SHAPES if shape.name == "every-block")
    short, long = compare(shape, PLATFORM, PLATFORMS[PLATFORM], 2, EXAMPLES)
    # simulated times are the same digits each time: nothing is added where nothing is tiled
    assert short.transformed.rest == short.original.rest
    assert short.ratio == 1
    assert long.ratio < 1
    assert 0 < long.efficiency <= 1
    assert short.original.hash == short.transformed.hash != long.transformed.hash
    rows = list(short.rows())
    assert [(row.kernel, row.version, row.platform, row.ranks) for row in rows] == [
        (f"{name}/every-block/64B/8/1:1", version, PLATFORM, 2)
        for name in ("ratios", "ratios, early")
        for version in ("original", "transformed")
    ]
    assert [(row.tile, row.depth) for row in rows] == [(None, None), (0, None)] * 2
    for original, transformed in (rows[:2], rows[2:]):
        assert original.ratio == 1
        assert transformed.ratio == transformed.seconds / original.seconds
        assert original.overlap_efficiency is None
