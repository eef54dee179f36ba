"""Writes the HTML page of the results, a single file."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import jinja2
import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib import rc_context

from bench.lab.changes import WORTH_A_MARK, Compared
from bench.lab.rows import Row
from bench.lab.targets import Target
from bench.lab.terminal import curves

TEMPLATE = Path(__file__).with_name("page.html.jinja")


def page(
    compared: Mapping[str, Sequence[Compared]],
    gone: Sequence[Row],
    found: Sequence[Target],
    remarks: Sequence[str],
) -> str:
    """The page; ``compared``: the rows by kernel, ``remarks``: reservations about them."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    everything = [one for group in compared.values() for one in group]
    return template.render(
        kernels=compared,
        figures={name: figure([c.row for c in group]) for name, group in compared.items()},
        targets=found,
        gone=gone,
        remarks=remarks,
        slower=sum(one.mark == "slower" for one in everything),
        faster=sum(one.mark == "faster" for one in everything),
        new=sum(one.mark == "new" for one in everything),
        total=len(everything),
        limit=WORTH_A_MARK,
    )


def figure(rows: Sequence[Row]) -> str:
    """The ratios of a kernel's versions over the number of ranks, as SVG; empty without rows."""
    lines = curves(rows)
    if not lines:
        return ""
    ranks = sorted({n for _, values in lines for n in values})
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "bench", "font.size": 8}):
        drawing, axes = plt.subplots(figsize=(5.2, 2.8), layout="constrained")
        for marker, (label, values) in zip(("", "s", "x", "o", "^"), lines, strict=False):
            style = "--" if label == "original" else "-"
            at = [ranks.index(n) for n in values]
            axes.plot(at, list(values.values()), style, marker=marker, lw=1, ms=4, label=label)
        axes.set_xticks(range(len(ranks)), [str(n) for n in ranks])
        axes.set_ylim(bottom=0)
        axes.set_xlabel("ranks")
        axes.set_ylabel("time / original's")
        axes.legend(fontsize=7)
        text = io.StringIO()
        drawing.savefig(text, format="svg", metadata={"Date": None})
        plt.close(drawing)
    svg = text.getvalue()
    return svg[svg.index("<svg") :]
