"""The papers' figures, and the speed of asphalt itself: what is run, drawn and written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from matplotlib import image

from asphalt.config.settings import Settings
from asphalt.project import Project
from bench.lab import speed
from bench.lab.paper_page import Figures, slower
from bench.lab.papers import REPEATS, LinkSweep, Panel, Timed, runs_of, slowdown_panels
from bench.lab.papers import sweep_panels as panels_of_sweeps
from bench.lab.speed import Speed, from_json, schema, write_tree
from bench.lab.stages import STAGES, stages
from support.places import RESULTS

PREFIX = "PYTHONPYCACHEPREFIX"


def timed(panel: Panel, least: float = 0.6) -> Timed:
    """Times as they might be: a small and a large K are slow."""
    seconds = {
        (version, tiling): (1.0,)
        if tiling is None
        else (least + 0.9 / tiling[0] + 0.001 * tiling[0], 2.0)
        for version, tiling, _ in runs_of(panel)
    }
    return Timed(panel, seconds)


def test_figures_4_to_7_have_the_papers_ranks_and_arrays() -> None:
    panels = slowdown_panels()
    assert [panel.ranks for panel in panels] == [16, 24, 24, 48]
    assert [panel.planes for panel in panels] == [90, 60, 120, 30]
    points = [1440 * 1440 * 48] * 2 + [2880 * 1440 * 96] + [1440 * 1440 * 48]
    for panel, whole in zip(panels, points, strict=True):
        assert panel.sizes["n"] * panel.planes * panel.ranks * panel.ranks == whole
        assert {k for k, _ in panel.tilings} >= {1, panel.planes}
        exchange = (panel.ranks - 1) * panel.message * panel.planes / panel.network.bandwidth
        assert panel.computation == pytest.approx(exchange, rel=1e-2)


def test_what_is_repeated() -> None:
    panel = slowdown_panels()[0]
    runs = runs_of(panel)
    assert [seed for _, tiling, seed in runs if tiling == (90, 2)] == list(range(REPEATS))
    assert [seed for version, _, seed in runs if version == "original"] == list(range(REPEATS))
    assert [seed for _, tiling, seed in runs if tiling == (1, 2)] == [0]  # too many messages
    assert panel.messages((7, 2)) == 13 * 16 * 15


def test_rows_of_a_figure() -> None:
    panel = panels_of_sweeps()[0]
    rows = list(timed(panel).rows())
    assert len({row.key for row in rows}) == len(rows)
    assert {row.version for row in rows} == {"original", "hand", "ialltoall", "transformed"}
    assert all(row.ratio == row.seconds for row in rows)
    assert rows[0].kernel == "papers/003-figure-4.1"


def test_where_the_transformed_program_is_slower() -> None:
    panel = slowdown_panels()[0]
    assert slower(timed(panel)) == [1, 2]
    assert timed(panel).best("transformed")[0] == (30, 2)


def test_every_picture_of_the_page_is_drawn(tmp_path: Path) -> None:
    figures = Figures(tmp_path / "images")
    figures.timed = [timed(panel) for panel in (*slowdown_panels(), *panels_of_sweeps())]
    figures.link = [LinkSweep("MPI", (1.0, 1.1), (0.4, 0.5), {1: (0.7, 0.8), 2: (0.6, 0.9)})]
    figures.speeds = [
        Speed(what, series, count, count, 10**6, 0.1 * count, None)
        for series in ("files", "sites")
        for what in ("scan, cold", "emit")
        for count in (1, 10)
    ]
    written = figures.write(tmp_path / "figures.md")
    text = (tmp_path / "figures.md").read_text(encoding="utf-8")
    pictures = [path for path in written if path.suffix == ".png"]
    assert len(pictures) == 10
    for path in pictures:
        assert f"](images/{path.name})" in text
        assert image.imread(path).std() > 0
    assert text.count("](images/") == len(pictures)


def test_what_is_not_measured_is_left_out(tmp_path: Path) -> None:
    written = Figures(tmp_path).write(tmp_path / "figures.md")
    assert written == [tmp_path / "figures.md"]
    assert "slow link" not in written[0].read_text(encoding="utf-8")


def test_every_exchange_of_a_generated_tree_is_proved(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(speed, "PLACE", tmp_path)
    tree, size = write_tree(5, 2)
    files = list(tree.iterdir())
    assert len(files) == 5
    assert sum(path.stat().st_size for path in files) == size
    found = Project(tree, settings=Settings(cache=False, jobs=1)).sites()
    assert [site.verdict for site in found] == ["proved", "proved"]
    assert set(stages(tree)) == set(STAGES)


@pytest.mark.wide
def test_the_tool_is_compiled_before_it_is_timed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # with this every start would compile the whole package
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    (tmp_path / "plain.f90").write_text("subroutine s\nend subroutine s\n")
    with speed.compiled(tmp_path) as environment:
        assert "PYTHONDONTWRITEBYTECODE" not in environment
        kept = {path.name.split(".")[0] for path in Path(environment[PREFIX]).rglob("*.pyc")}
        assert {"project", "tree", "apply", "scan", "stages"} <= kept
    assert not Path(environment[PREFIX]).exists()


def test_growth_is_shown_over_a_factor_of_eight_and_more() -> None:
    assert speed.FILES[-1] >= 8 * speed.FILES[0]
    assert speed.SITES[-1] >= 8 * speed.SITES[0]
    assert max(speed.SITES) < speed.SOME_FILES


def test_speeds_survive_their_file() -> None:
    rows = [
        Speed("scan, cold", "files", 10, 5, 2_000_000, 0.5, 90.0),
        Speed("emit", "sites", 200, 1, 10**6, 0.0, None),
    ]
    text = speed.as_json(rows)
    assert from_json(text) == rows
    assert rows[0].mb_s == 4
    assert '"mb_per_s": 4.0' in text
    with pytest.raises(ValueError, match="speeds"):
        from_json("[1]")


@pytest.mark.parametrize("path", sorted(RESULTS.glob("tool/*.json")), ids=lambda path: path.name)
def test_committed_speeds_follow_the_schema(path: Path) -> None:
    Draft202012Validator(schema()).validate(json.loads(path.read_text(encoding="utf-8")))
