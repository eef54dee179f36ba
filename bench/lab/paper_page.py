"""Writes docs/figures.md and its pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

import jinja2

from bench.lab import paper_plots as plots
from bench.lab.papers import LINK_REPEATS, MANY_MESSAGES, NOISE, REPEATS, LinkSweep, Timed
from bench.lab.speed import Speed

TEMPLATE = Path(__file__).with_name("figures.md.jinja")
DEPTHS = ("003-depths", "003-depths-16")
SLOWDOWN = "001-"


class Figures:
    """The figures to draw, and where; missing measurements are left out."""

    def __init__(self, images: Path) -> None:
        self.images = images
        self.timed: Sequence[Timed] = ()
        self.link: list[LinkSweep] = []
        self.speeds: list[Speed] = []
        self.remarks: list[str] = []

    def write(self, page: Path) -> list[Path]:
        """Draw everything and write the page; returns the written files."""
        slowdown = [t for t in self.timed if t.panel.name.startswith(SLOWDOWN)]
        depths = [t for t in self.timed if t.panel.name in DEPTHS]
        sweeps = [t for t in self.timed if t not in slowdown and t not in depths]
        written = [plots.draw_slowdown(t, self._image(t.panel.name)) for t in slowdown]
        for timed in sweeps:
            (depth,) = {d for _, d in timed.panel.tilings}
            written.append(plots.draw_times(timed, depth, self._image(timed.panel.name)))
        if depths:
            written.append(plots.draw_depths(depths, self._image("003-depths")))
            best = sorted((*sweeps, *depths), key=lambda t: (t.panel.ranks, t.panel.name))
            written.append(plots.draw_best(best, self._image("003-figure-4.3")))
        if self.link:
            written.append(plots.draw_link(self.link, self._image("003-link")))
        if self.speeds:
            written.append(plots.draw_speed(self.speeds, self._image("speed")))
        page.write_text(self._text(slowdown, sweeps), encoding="utf-8")
        return [*written, page]

    def _image(self, name: str) -> Path:
        return self.images / f"{name}.png"

    def _text(self, slowdown: Sequence[Timed], sweeps: Sequence[Timed]) -> str:
        environment = jinja2.Environment(
            undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
        text = template.render(
            slowdown=slowdown,
            sweeps=sweeps,
            link=self.link,
            speeds=self.speeds,
            remarks=self.remarks,
            networks=sorted({t.panel.network.name for t in slowdown}),
            noise=NOISE // 10,
            repeats=REPEATS,
            many=MANY_MESSAGES,
            link_repeats=LINK_REPEATS,
            median=median,
            slower=slower,
        )
        return text.rstrip() + "\n"


def slower(timed: Timed) -> list[int]:
    """The values of K for which even the fastest run is slower than the original."""
    original = median(timed.of("original"))
    curve = timed.curve("transformed", timed.panel.tilings[0][1])
    return sorted(k for k, times in curve.items() if min(times) > original)
