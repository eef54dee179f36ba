"""``python -m bench.ratios``: measures whether the default (K = 0) loses; writes a table.

Every shape of exchange, from 8 bytes to 8 MiB for each rank, with computation from a tenth of the
exchange's time to ten times as long, on four simulated platforms.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from bench.lab.case import ROOT
from bench.lab.ratios import PLATFORMS, SHAPES, SIZES, Compared, Shape, compare_all
from bench.lab.run import LabError
from bench.lab.tables import markdown

RESULTS = ROOT / "bench" / "results"
LIMIT = 1.03
HEADER = (
    "shape",
    "platform",
    "ranks",
    "exchanges",
    "worst ratio",
    "at",
    "worst early",
    "at",
    "best ratio",
)


def groups(
    shapes: Sequence[Shape], platforms: Sequence[str], ranks: Sequence[int], quick: bool
) -> Iterator[list[Compared]]:
    """All comparisons of a shape on a platform, one list after the other."""
    for name in platforms:
        for shape in shapes:
            for count in ranks:
                yield compare_all(shape, name, count, quick)


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
    """Measure, print and write; returns 1 if the default loses somewhere."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only the ratios 1:10 and 10:1")
    parser.add_argument("--ranks", type=int, nargs="+", default=sorted(SIZES), choices=SIZES)
    parser.add_argument("--shape", nargs="+", choices=[shape.name for shape in SHAPES])
    parser.add_argument("--platform", nargs="+", choices=list(PLATFORMS), default=list(PLATFORMS))
    parser.add_argument("--output", type=Path, default=RESULTS / "ratios.md")
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
    lost = [compared for compared in measured if compared.ratio > LIMIT]
    for compared in sorted(lost, key=lambda c: -c.ratio):
        title = f"{compared.shape}/{compared.example.title}"
        console.print(f"[red]{title}, {compared.platform}, {compared.ranks} ranks: ", end="")
        console.print(f"{compared.ratio:.3f}", highlight=False)
    said = f"{len(lost)} of {len(measured)} lose more than 3 %"
    console.print(said)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(f"{markdown(HEADER, lines)}\n{said}.\n", encoding="utf-8")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
