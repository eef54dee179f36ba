"""What the bench makes of measurements: rows, targets, changes, the page, and its own versions."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator, ValidationError
from rich.console import Console

from asphalt.running.mpi import OPENMPI, SMPI
from bench.full import Bench
from bench.lab.build import Recipe, build, sources_of
from bench.lab.case import KERNELS, Case, load_case, load_cases
from bench.lab.changes import compare, gone
from bench.lab.jobs import Job, count, simulate
from bench.lab.later import LATER, Again, later_rows, of_panels
from bench.lab.measure import Simulator, run_smpi
from bench.lab.nonblocking import without_blocking
from bench.lab.page import page
from bench.lab.papers import Timed as TimedPanel
from bench.lab.papers import sweep_panels
from bench.lab.places import place_for
from bench.lab.platforms import named
from bench.lab.ratios import Compared, Example, Timed
from bench.lab.rows import Row, as_json, from_json, schema
from bench.lab.run import LabError
from bench.lab.sweep import CHOSEN, Run, runs_of
from bench.lab.targets import Target, rows_by_kernel, targets
from bench.lab.targets_page import targets_text
from bench.lab.terminal import kernel_figure, kernel_table
from support.places import RESULTS

ROW = Row("kernel/variant", "transformed", "SMPI 10 Gb/s", 16, 4, 2, 0.5, 0.5, 0.9)


def exchanges_of_all() -> tuple[Case, ...]:
    return tuple(case for case in load_cases() if "ialltoall" in case.versions)


def test_rows_survive_their_file() -> None:
    rows = (ROW, replace(ROW, version="original", tile=None, depth=None, overlap_efficiency=None))
    assert from_json(as_json(rows)) == rows
    Draft202012Validator(schema()).validate([*map(dict, _plain(rows))])


def _plain(rows: tuple[Row, ...]) -> list[dict[str, object]]:
    return [{name: getattr(row, name) for name in Row.__slots__} for row in rows]


@pytest.mark.parametrize(
    "wrong", [{"seconds": 0.0}, {"tile": -1}, {"version": "fast"}, {"ranks": 0}, {"depth": 0}]
)
def test_the_schema_refuses_what_is_no_measurement(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Draft202012Validator(schema()).validate([_plain((ROW,))[0] | wrong])


@pytest.mark.parametrize("text", ["{}", '[{"kernel": "k"}]', "[1]"])
def test_a_file_without_rows_is_reported(text: str) -> None:
    with pytest.raises(ValueError, match="row"):
        from_json(text)


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.name)
def test_committed_results_follow_the_schema(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    Draft202012Validator(schema()).validate(_plain(from_json(text)))


@pytest.mark.parametrize("case", exchanges_of_all(), ids=lambda case: case.name)
def test_only_the_call_becomes_non_blocking(case: object) -> None:
    found = load_case(KERNELS / str(getattr(case, "name", "")))
    before = sources_of(Recipe(found, "original", OPENMPI))
    after = without_blocking(before)
    program = found.sources[-1]
    assert {name for name in before if before[name] != after[name]} == {program}
    new = after[program].decode("latin-1").upper()
    calls = before[program].decode("latin-1").upper().count("CALL MPI_ALLTOALL")
    assert new.count("CALL MPI_ALLTOALL") == 0
    assert new.count("CALL MPI_IALLTOALL") == new.count("CALL MPI_WAIT(") == calls
    kept = [line for line in before[program].splitlines() if line in after[program].splitlines()]
    assert len(before[program].splitlines()) - len(kept) <= 3 * calls


@pytest.mark.parametrize("name", ["fixed_legacy", "plane_slab"])
def test_the_non_blocking_version_gives_the_same(name: str) -> None:
    case = load_case(KERNELS / name)
    recipe = Recipe(case, "ialltoall", SMPI, flags=("-O1",))
    assert run_smpi(recipe, 3).output == run_smpi(replace(recipe, version="original"), 3).output


def test_an_exchange_under_a_one_line_if_is_reported() -> None:
    program = (
        "program p\n  use mpi\n  integer :: s(4), r(4), e\n"
        "  if (e > 0) call MPI_Alltoall(s, 1, MPI_INTEGER, r, 1, MPI_INTEGER, MPI_COMM_WORLD, e)\n"
        "end program p\n"
    )
    with pytest.raises(LabError, match="one-line IF"):
        without_blocking({"p.f90": program.encode()})


def test_a_message_holds_as_much_on_any_number_of_ranks() -> None:
    for case in exchanges_of_all():
        for what in case.simulated:
            assert what.all_ranks == (4, 16, 24, 48, 64)
    (fig3,) = load_case(KERNELS / "synthetic_fig3").simulated
    assert fig3.at(24).sizes["n"] == fig3.sizes["n"]  # elements of a plane for one rank
    assert fig3.at(24).charge["charge"] == round(fig3.charge["charge"] * 23 / 15)
    (slab,) = load_case(KERNELS / "plane_slab").simulated
    assert slab.at(48).sizes["nz"] / 48 == slab.sizes["nz"] / 16
    assert slab.at(48).charge == slab.charge
    with pytest.raises(KeyError):
        slab.at(5)


def test_what_is_run() -> None:
    (fig3,) = load_case(KERNELS / "synthetic_fig3").simulated
    few = replace(fig3, tilings=((1, 2), (4, 2)))
    assert runs_of(few, ("hand", "ialltoall", "transformed")) == (
        Run("hand", (1, 2)),
        Run("hand", (4, 2)),
        Run("ialltoall", None),
        Run("transformed", (1, 2)),
        Run("transformed", (4, 2)),
        Run("transformed", CHOSEN),
    )
    assert Run("transformed", CHOSEN).asked is None


def test_times_are_the_same_where_ranks_share_memory() -> None:
    case = load_case(KERNELS / "synthetic_fig3")
    (what,) = case.simulated
    sizes = {"n": 2**17, "nz": 2, "na": 2, "rounds": 1, "steps": 1}
    small = replace(what, ranks=3, sizes=sizes, tilings=((1, 2),))
    simulator = Simulator()
    recipe = simulator.recipe(case, small, "original", None)
    assert not recipe.shared
    alone = simulator.time(recipe, 3)
    shared = simulator.time(replace(recipe, shared=True), 3)
    assert shared.seconds == pytest.approx(alone.seconds, rel=1e-3)
    assert shared.output != alone.output  # so they did share it


def test_one_kernel_that_fails_does_not_stop_the_others() -> None:
    sort = load_case(KERNELS / "sample_sort")
    what = replace(sort.simulated[0], ranks=2, sizes={"n": 64, "samples": 4, "steps": 1})
    broken = replace(what, sizes={"typo": 1})
    jobs = [Job(sort, broken, ("hand",)), Job(sort, what, ("hand", "ialltoall"))]
    steps: list[None] = []
    done = simulate(jobs, Simulator(), lambda: steps.append(None))
    assert len(steps) == count(jobs) == 5
    assert "typo" in done.failures[0]
    (sweep,) = done.sweeps
    rows = list(sweep.rows())
    assert [row.version for row in rows] == ["original", "hand", "ialltoall"]
    assert all(row.tile is None and row.overlap_efficiency is None for row in rows)
    assert rows[0].ratio == 1
    assert rows[1].ratio == rows[1].seconds / rows[0].seconds


def test_a_kernel_says_what_it_takes_part_in() -> None:
    console = Console(quiet=True)
    quick = {case.name for case in Bench(console, True, ()).cases}
    full = {case.name for case in Bench(console, False, ()).cases}
    assert quick < full
    assert "halo_2d" in full - quick
    halo = load_case(KERNELS / "halo_2d")
    assert Bench(console, True, ("halo_2d",)).cases == (halo,)
    assert Bench(console, False, ()).versions(halo) == ("hand",)


def test_a_measurement_may_have_platforms_of_its_own() -> None:
    halo = load_case(KERNELS / "halo_2d")
    assert [what.platform for what in halo.simulated] == ["ib-ddr-2009", "ethernet-1g"]
    assert named("ethernet-1g").title == "SMPI ethernet-1g, eager"
    assert named(None).title == "SMPI 10 Gb/s"


def test_where_times_do_not_add_up_there_is_no_efficiency() -> None:
    halo = load_case(KERNELS / "halo_2d")
    small = replace(halo.simulated[0], ranks=2, sizes={"nx": 8, "ny": 8, "steps": 1})
    done = simulate([Job(halo, small, ("hand",))], Simulator(), lambda: None)
    assert not done.failures
    rows = [row for sweep in done.sweeps for row in sweep.rows()]
    assert [(row.version, row.overlap_efficiency) for row in rows] == [
        ("original", None),
        ("hand", None),
    ]


def test_a_place_is_whole_or_not_there(tmp_path: Path) -> None:
    place = tmp_path / "build" / "place"
    with pytest.raises(FileNotFoundError), place_for(place) as unfinished:
        (unfinished / "missing" / "half").touch()
    assert list(place.parent.iterdir()) == []
    with place_for(place) as first, place_for(place) as second:
        (first / "first").touch()
        (second / "second").touch()
    assert [path.name for path in place.iterdir()] == ["second"]
    assert [path.name for path in place.parent.iterdir()] == ["place"]


def rows_of(**changed: object) -> Row:
    return replace(ROW, **changed)  # type: ignore[arg-type]


def verdicts(*rows: Row) -> dict[str, bool | None]:
    return {target.demand: target.met for target in targets(rows)}


@pytest.mark.parametrize(("efficiency", "met"), [(0.95, True), (0.949, False)])
def test_the_best_efficiency_counts(efficiency: float, met: bool) -> None:
    best = rows_of(kernel="synthetic_fig3", overlap_efficiency=efficiency)
    found = verdicts(best, replace(best, tile=8, overlap_efficiency=0.2))
    of_16 = "synthetic_fig3, 16 ranks: best overlap efficiency at least 0.95"
    assert found[of_16] is met
    assert found[of_16.replace("16", "48")] is None
    assert verdicts(replace(best, platform="Open MPI 1 Gb/s"))[of_16] is None


@pytest.mark.parametrize(("seconds", "met"), [(0.5101, False), (0.5099, True)])
def test_the_hand_written_version_is_the_measure(seconds: float, met: bool) -> None:
    found = verdicts(rows_of(seconds=seconds), rows_of(version="hand"))
    assert found["transformed at most 2% slower than hand at the same K and D"] is met
    assert found["transformed at most 2% slower than hand, each at its best K, D"] is met


@pytest.mark.parametrize(("seconds", "met"), [(0.5101, False), (0.5099, True)])
def test_later_exchanges_have_a_target_beside_that_of_the_first(seconds: float, met: bool) -> None:
    later = rows_of(kernel=LATER + ROW.kernel)
    rows = (rows_of(seconds=0.6), rows_of(version="hand"))
    found = verdicts(*rows, replace(later, seconds=seconds), replace(later, version="hand"))
    same = "transformed at most 2% slower than hand at the same K and D"
    assert (found[same], found[f"{same}, behind the first exchange"]) == (False, met)
    assert verdicts(*rows)[f"{same}, behind the first exchange"] is False


def test_what_is_too_slow_in_one_exchange_is_measured_behind_the_first() -> None:
    panel = sweep_panels()[0]
    hand = {("hand", (tile, 2)): (1.0,) for tile in (1, 2, 4)}
    new = {("transformed", (tile, 2)): (s,) for tile, s in ((1, 1.03), (2, 1.01), (8, 9.0))}
    timed = TimedPanel(panel, {("original", None): (2.0,)} | hand | new)
    again = list(of_panels([timed], 0.02))
    assert [(a.row.version, a.row.tile) for a in again] == [("hand", 1), ("transformed", 1)]

    def whole(simulator: Simulator, steps: int) -> float:
        return 0.4 + 0.6 * steps

    (row,) = later_rows([Again(again[1].row, again[1].platform, whole, lambda s: 1 - s)])
    assert row.kernel == LATER + again[1].row.kernel
    expected = (0.6, 0.3, 0.4)  # of an original that takes 2 seconds
    assert (row.seconds, row.ratio, row.overlap_efficiency) == pytest.approx(expected)


@pytest.mark.parametrize(("ratio", "met"), [(1.031, False), (1.029, True)])
def test_the_default_must_not_lose(ratio: float, met: bool) -> None:
    found = verdicts(rows_of(tile=0, depth=None, ratio=ratio), rows_of(ratio=9.0))
    assert found["K = 0 (chosen on entry) at most 3% slower than the original"] is met


def test_the_first_exchanges_have_a_target_of_their_own() -> None:
    ten = Example(8, 1, 0.1, 1, 65)
    old, new = Timed(1.0, 10.0, "A"), Timed(1.5, 9.0, "A")
    rows = list(Compared("slab", "SMPI 10 Gb/s", 4, ten, 9.0, old, new).rows())
    Draft202012Validator(schema()).validate(_plain(tuple(rows)))
    found = verdicts(*rows)
    assert found["K = 0 (chosen on entry) at most 3% slower than the original"] is True
    early = "programs that end when all is paid that is made once"
    assert found[f"K = 0 at most 3% slower than the original: {early}"] is False


def test_changes_are_distinguished_from_noise() -> None:
    now = (ROW, rows_of(ranks=24), rows_of(ranks=48), rows_of(ranks=64))
    before = (
        rows_of(seconds=0.495),
        rows_of(ranks=24, seconds=0.4),
        rows_of(ranks=48, seconds=0.6),
        rows_of(version="hand"),
    )
    assert [one.mark for one in compare(now, before)] == ["", "slower", "faster", "new"]
    assert gone(now, before) == (before[-1],)


def test_the_page_needs_no_other_file() -> None:
    rows = [
        rows_of(kernel="<kernel>", version="original", tile=None, depth=None, ratio=1.0),
        rows_of(kernel="<kernel>"),
    ]
    compared = {
        name: compare(group, [rows_of(kernel="<kernel>", seconds=0.1)])
        for name, group in rows_by_kernel(rows).items()
    }
    text = page(compared, (), [Target("demand", "found", False)], ["busy & slow"])
    assert "&lt;kernel&gt;" in text
    assert "<kernel>" not in text
    assert "+400.00 %" in text
    assert "busy &amp; slow" in text
    assert 'class="missed"' in text
    assert "<svg" in text
    for outside in ("<script", "<link", "src=", "@import"):
        assert outside not in text


def test_every_version_stands_in_the_terminal() -> None:
    rows = [
        rows_of(version="original", tile=None, depth=None, ratio=1.0),
        ROW,
        rows_of(tile=0, depth=None, ratio=0.6),
        rows_of(ranks=24),
    ]
    console = Console(width=120)
    with console.capture() as captured:
        console.print(kernel_table("kernel/variant", rows))
        console.print(kernel_figure("kernel/variant", rows))
    for shown in ("original", "4, 2", "chosen", "0.600", "24", "transformed, K chosen"):
        assert shown in captured.get()


def test_the_page_of_targets_shows_where_hand_is_faster() -> None:
    def row(kernel: str, version: str, seconds: float) -> Row:
        return Row(kernel, version, "SMPI 10 Gb/s", 4, 1, 2, seconds, seconds, None)

    rows = [row("fft", "hand", 1.0), row("fft", "transformed", 1.019)]
    assert "Nowhere by more than 2 %" in targets_text(targets(rows), rows)
    rows += [row("slabs", "hand", 1.0), row("slabs", "transformed", 1.05)]
    later = [row(f"{LATER}slabs", "hand", 0.5), row(f"{LATER}slabs", "transformed", 0.501)]
    text = targets_text(targets([*rows, *later]), [*rows, *later])
    (told,) = (line for line in text.splitlines() if line.startswith("| slabs"))
    assert told == "| slabs | SMPI 10 Gb/s | 4, 1, 2 | +5.0 % | +0.2 % |"
    assert "| fft |" not in text
    assert "+5.00 % of 2 (slabs, SMPI 10 Gb/s, 4 ranks, K, D: 1, 2); 1 above | missed |" in text


def test_the_page_of_targets_has_the_real_runs() -> None:
    def row(kernel: str, version: str, ratio: float) -> Row:
        return Row(kernel, version, "MPICH 1 Gb/s", 2, None, None, ratio / 2, ratio, None)

    rows = [row("fft", "original", 1.0), row("fft", "transformed", 0.7)]
    rows += [row("papers/fft", "original", 1.0)]
    text = targets_text((), rows)
    assert text.splitlines()[-1] == "| fft | MPICH 1 Gb/s | 500 |  |  | 0.70 |"
    assert "papers/fft" not in text
    assert "two ranks" not in targets_text((), []).lower()


def test_rows_of_kernels_that_were_not_chosen_stay(tmp_path: Path) -> None:
    def row(kernel: str, seconds: float) -> Row:
        return Row(kernel, "hand", "SMPI 10 Gb/s", 4, 1, 2, seconds, seconds, None)

    names = ("halo_2d", "sample_sort", "sample_sort/small", "later exchanges/sample_sort", "fft")
    bench = Bench(Console(file=(tmp_path / "log").open("w")), True, ("sample_sort",))
    bench.out = tmp_path
    new = [row("sample_sort", 2.0)]
    assert bench.among_others("rows.json", new) == new
    (tmp_path / "rows.json").write_text(as_json([row(name, 1.0) for name in names]))
    wanted = [row("halo_2d", 1.0), *new, row("fft", 1.0)]
    assert bench.among_others("rows.json", new) == wanted
    bench.kernels = frozenset()
    assert bench.among_others("rows.json", new) == new


def test_without_smpi_the_rest_is_done(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    bench = Bench(Console(file=(tmp_path / "log").open("w")), True, ("sample_sort",))
    bench.measure_simulated()
    assert not bench.failures
    assert "libsimgrid-dev" in bench.remarks[0]
    bench.measure_link()
    assert any("openmpi-bin" in remark for remark in bench.remarks)
    assert any("libmpich-dev" in remark for remark in bench.remarks)


def test_without_root_memory_is_shared_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    bench = Bench(Console(file=(tmp_path / "log").open("w")), True, ("sample_sort",))
    bench.measure_link()
    assert any("root" in remark and "shared memory" in remark for remark in bench.remarks)


def test_programs_are_built_once() -> None:
    recipe = Recipe(load_case(KERNELS / "sample_sort"), "original", SMPI, flags=("-O1",))
    assert build(recipe) == build(recipe)
