"""``python -m bench.ratios``: whether the default (K = 0) ever loses, into bench/results.

Every shape of exchange, from 8 bytes to 8 MiB for each rank, beside computation that takes a tenth
of the exchange's time to ten times it, on four simulated platforms.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence

from rich.console import Console

from bench.lab.case import ROOT
from bench.lab.ratios import PLATFORMS, SHAPES, Compared, Example, Shape, compare, examples_of
from bench.lab.run import LabError
from bench.lab.tables import markdown

RESULTS = ROOT / "bench" / "results"
LIMIT = 1.03
KIB, MIB = 1024, 1024**2
# What 16 ranks exchange at once is 16 times as much as what one sends to another.
SIZES = {
    4: (8, 64, 512, 4 * KIB, 32 * KIB, 256 * KIB, MIB, 8 * MIB),
    16: (8, 512, 4 * KIB, 32 * KIB, 128 * KIB, 512 * KIB),
}
PLANES = {4: (1, 8, 64, 256), 16: (1, 16)}
RATIOS = {4: (0.1, 0.3, 1, 3, 10), 16: (0.1, 1, 10)}
QUICK = (0.1, 10)
HEADER = (
    "shape",
    "platform",
    "ranks",
    "exchanges",
    "worst ratio",
    "at",
    "worst first",
    "at",
    "best ratio",
)


def examples(shape: Shape, ranks: int, quick: bool) -> list[Example]:
    """What is tried of a shape: a plane has four runs where tiles are strided."""
    least = 4 if shape.source == "strided" else 1
    ratios = QUICK if quick else RATIOS[ranks]
    found = examples_of(SIZES[ranks], PLANES[ranks], ratios, least)
    # the longest ones are slow to simulate
    return [e for e in found if e.bytes < 8 * MIB or (e.planes == 64 and e.ratio in QUICK)]


def groups(
    shapes: Sequence[Shape], platforms: Sequence[str], ranks: Sequence[int], quick: bool
) -> Iterator[list[Compared]]:
    """All comparisons of a shape on a platform, one list after the other."""
    for name in platforms:
        for shape in shapes:
            for count in ranks:
                tried = examples(shape, count, quick)
                yield compare(shape, name, PLATFORMS[name], count, tried)


def summary(group: Sequence[Compared]) -> tuple[str, ...]:
    """One line of the table."""
    worst = max(group, key=lambda c: c.ratio)
    first = max(group, key=lambda c: c.first_ratio)
    best = min(group, key=lambda c: c.ratio)
    one = group[0]
    return (
        one.shape,
        one.platform,
        str(one.ranks),
        str(len(group)),
        f"{worst.ratio:.3f}",
        worst.example.title,
        f"{first.first_ratio:.3f}",
        first.example.title,
        f"{best.ratio:.3f}",
    )


def main() -> int:
    """Measures, prints and writes; 1 if the default loses somewhere."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only the ratios 1:10 and 10:1")
    parser.add_argument("--ranks", type=int, nargs="+", default=sorted(SIZES), choices=SIZES)
    parser.add_argument("--shape", nargs="+", choices=[shape.name for shape in SHAPES])
    parser.add_argument("--platform", nargs="+", choices=list(PLATFORMS), default=list(PLATFORMS))
    options = parser.parse_args()
    shapes = [s for s in SHAPES if options.shape is None or s.name in options.shape]
    console = Console(width=max(150, Console().width))
    measured: list[Compared] = []
    lines = []
    try:
        for group in groups(shapes, options.platform, options.ranks, options.quick):
            measured += group
            lines.append(summary(group))
            console.print("  ".join(lines[-1]), highlight=False)
    except LabError as error:
        console.print(f"[red]{error}", highlight=False)
        return 1
    rows = [row for compared in measured for row in compared.rows()]
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "ratios.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    (RESULTS / "ratios.md").write_text(markdown(HEADER, lines), encoding="utf-8")
    lost = [compared for compared in measured if compared.ratio > LIMIT]
    for compared in sorted(lost, key=lambda c: -c.ratio):
        title = f"{compared.shape}/{compared.example.title}"
        console.print(f"[red]{title}, {compared.platform}, {compared.ranks} ranks: ", end="")
        console.print(f"{compared.ratio:.3f}", highlight=False)
    console.print(f"{len(lost)} of {len(measured)} lose more than 3 %")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
