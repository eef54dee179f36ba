"""Writes docs/steps.md and its picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import jinja2
import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

from asphalt.config.passes import Pass
from bench.lab.paper_plots import save
from bench.lab.step_targets import step_targets
from bench.lab.steps import FIRST, HAND, ORIGINAL, Stepped, steps

TEMPLATE = Path(__file__).with_name("steps.md.jinja")
IMAGE = "004-steps"
SMOOTHER = "multigrid_smooth"
CLONING = (Pass.RENAMING, Pass.EXPANSION)
"""The transformations that copy buffers, in the order of addition."""


def write(measured: Sequence[Stepped], page: Path, images: Path) -> list[Path]:
    """Draw the figure and write the page; returns the written files."""
    picture = draw(measured, images / f"{IMAGE}.png")
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    text = template.render(
        platforms=_by_platform(measured),
        steps=steps(),
        first=FIRST,
        hand=HAND,
        image=IMAGE,
        smoother=SMOOTHER,
        cloning=CLONING,
        cloned=_cloned(measured),
        charged_apart=_charged_apart(measured),
        targets=step_targets([row for one in measured for row in one.rows()]),
    )
    page.write_text(text.rstrip() + "\n", encoding="utf-8")
    return [picture, page]


def draw(measured: Sequence[Stepped], path: Path) -> Path:
    """Speed-ups as bars, a group for each kernel, a panel for each platform."""
    platforms = _by_platform(measured)
    versions = [*(added.version for added in steps()), HAND]
    figure, panels = plt.subplots(
        len(platforms), 1, figsize=(9.0, 3.2 * len(platforms)), layout="constrained", squeeze=False
    )
    colours = plt.get_cmap("viridis")
    for axes, (platform, here) in zip(panels[:, 0], platforms.items(), strict=True):
        width = 0.8 / len(versions)
        for number, version in enumerate(versions):
            at = [place + (number - len(versions) / 2) * width for place in range(len(here))]
            colour = "0.3" if version == HAND else colours(number / len(versions))
            heights = [one.speed_up(version) for one in here]
            axes.bar(at, heights, width, color=colour, label=version)
        axes.axhline(1.0, color="0.6", lw=0.8)
        axes.set_xticks(range(len(here)), [f"{o.case.name}\n{o.what.ranks} ranks" for o in here])
        axes.set_ylabel(f"speed-up over the {ORIGINAL}")
        axes.set_title(platform, fontsize=9)
        axes.tick_params(labelsize=8)
    panels[0, 0].legend(fontsize=7, ncols=3)
    return save(figure, path)


def _cloned(measured: Sequence[Stepped]) -> dict[str, float]:
    """By platform, the time of the smoother with copies of buffers divided by that without."""
    names = [added.name for added in steps()]
    versions = [added.version for added in steps()]
    before, after = names.index(CLONING[0]) - 1, names.index(CLONING[-1])
    return {
        one.platform: one.seconds[versions[after]] / one.seconds[versions[before]]
        for one in measured
        if one.case.name == SMOOTHER
    }


def _charged_apart(measured: Sequence[Stepped]) -> list[str]:
    """The kernels whose charges differ between platforms."""
    charges: dict[str, set[frozenset[tuple[str, int]]]] = {}
    for one in measured:
        charges.setdefault(one.case.name, set()).add(frozenset(one.what.charge.items()))
    return sorted(name for name, found in charges.items() if len(found) > 1)


def _by_platform(measured: Sequence[Stepped]) -> dict[str, list[Stepped]]:
    found: dict[str, list[Stepped]] = {}
    for one in measured:
        found.setdefault(one.platform, []).append(one)
    return found
