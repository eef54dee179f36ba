"""The lab: cases, builds, runs, what is made of measurements, and set-up."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from asphalt.running import simgrid
from asphalt.running.mpi import MPICH, OPENMPI, SMPI
from asphalt.running.simgrid import Cluster, MessageCosts
from bench.lab.build import COMMON, Recipe, constants, include_text, sources_of, with_stand_in
from bench.lab.case import KERNELS, ROOT, Case, load_case, load_cases
from bench.lab.checks import checks_of, difference
from bench.lab.counted import counted
from bench.lab.curves import Curve, draw_slowdown
from bench.lab.link import LinkLab, slow_link
from bench.lab.measure import Measured, Parts
from bench.lab.rows import Row
from bench.lab.run import LabError, run_program
from bench.lab.speed import LINES, write_long_file, write_plain_tree
from bench.lab.sweep import Sweep
from bench.lab.tables import COLUMNS, markdown, row, table
from bench.lab.transform import HEADER, set_tiling

PARTS = Parts(original=101.0, before=45.0, communication=56.0, after=0.0)


def case(name: str = "synthetic_fig3") -> Case:
    return load_case(KERNELS / name)


def measured(seconds: Mapping[str, float], parts: Parts | None = PARTS) -> Measured:
    return Measured("kernel", "variant", "place", 16, (4, 2), parts, seconds)


def test_efficiency_is_one_at_the_floor_and_nothing_at_the_original() -> None:
    assert PARTS.floor == 56.0
    assert PARTS.efficiency(56.0) == 1.0
    assert PARTS.efficiency(101.0) == 0.0


def test_work_after_the_exchange_cannot_be_hidden() -> None:
    parts = Parts(original=146.0, before=45.0, communication=56.0, after=45.0)
    assert parts.floor == 101.0
    assert parts.efficiency(101.0) == 1.0


def test_the_floor_is_that_of_the_fastest_exchange() -> None:
    faster = PARTS.beside(95.0)
    assert (faster.floor, faster.communication) == (50.0, 56.0)
    assert faster.efficiency(95.0) == pytest.approx(6 / 51)
    assert PARTS.beside(110.0).floor == PARTS.floor


@given(before=st.floats(0.1, 10), communication=st.floats(0.1, 10), after=st.floats(0, 10))
def test_efficiency_falls_with_time(before: float, communication: float, after: float) -> None:
    parts = Parts(before + communication + after, before, communication, after)
    assert parts.floor < parts.original
    best, worst = parts.efficiency(parts.floor), parts.efficiency(parts.original)
    assert worst is None or (best is not None and best > worst)


@given(
    st.dictionaries(st.from_regex(r"[a-z][a-z0-9_]{0,9}", fullmatch=True), st.integers(0, 10**6))
)
def test_includes_are_read_as_they_are_written(values: dict[str, int]) -> None:
    text = include_text(values)
    assert constants(text) == values
    assert all(len(line) <= 72 for line in text.splitlines())


def test_sizes_of_a_measurement_replace_those_of_the_kernel() -> None:
    files = sources_of(Recipe(case(), "original", OPENMPI, {"nz": 5}))
    sizes = constants(files["sizes.inc"].decode())
    assert sizes["nz"] == 5
    assert sizes.keys() == {"n", "na", "nz", "rounds", "steps"}


def test_a_size_that_a_kernel_does_not_have_is_an_error() -> None:
    with pytest.raises(LabError, match="typo"):
        sources_of(Recipe(case(), "original", OPENMPI, {"typo": 5}))


def test_tiles_of_the_hand_written_version() -> None:
    files = sources_of(Recipe(case(), "hand", OPENMPI, tiling=(7, 3)))
    assert constants(files["hand.inc"].decode()) == {"tile": 7, "depth": 3}
    assert "original.f90" not in files


def test_the_stand_in_replaces_the_work_and_nothing_else() -> None:
    recipe = Recipe(case(), "original", SMPI, charge={"charge": 7})
    before = sources_of(recipe)
    after = with_stand_in(recipe, before)
    assert {name for name in before if before[name] != after[name]} == {"work.f90"}
    charged = constants(after["charge.inc"].decode())
    assert charged == {"charge": 7, "charge_after": 0, "noise": 0, "seed": 0}


def test_counted_costs_stand_where_the_work_is() -> None:
    smoother = next(one for one in load_cases() if one.counted)
    before = sources_of(Recipe(smoother, "original", SMPI, charge={}))
    after = counted(before, COMMON)
    calls = {name: text.lower().count(b"call asphalt_charge(") for name, text in after.items()}
    assert {name for name in before if calls[name]} == {"work.f90", "original.f90"}
    assert after["results.f90"] == before["results.f90"]
    assert b"subroutine asphalt_charge(" in after[next(iter(after))]


def test_computation_without_a_known_cost_is_reported() -> None:
    text = (
        b"program p\n  integer :: i\n  integer :: a(9) = [(i, i=1,9)]\n  a = [(a(i), i=1,9)]\nend\n"
    )
    with pytest.raises(LabError, match=r"p\.f90:4: not charged"):
        counted({"p.f90": text}, ())
    assert counted({"p.f90": text}, ("p.f90",))["p.f90"] == text


def test_k_and_d_are_edited_in_the_header_as_a_person_would() -> None:
    header = (
        "integer, parameter :: asphalt_k_run = 0  ! planes a tile\n"
        "integer, parameter :: asphalt_d_run = 2\n"
    )
    edited = set_tiling({HEADER: header.encode()}, 8, 4)[HEADER].decode()
    assert edited == header.replace("= 0", "= 8").replace("= 2", "= 4")


def test_every_measured_variant_is_within_its_sweep() -> None:
    for name in ("synthetic_fig3", "spectral_transpose", "plane_slab"):
        kernel = case(name)
        assert kernel.link is not None
        for what in kernel.simulated:
            assert what.best[0] in what.tiles
            assert what.best[1] in what.depths
            assert (
                what.sizes.keys()
                <= constants((kernel.directory / "sizes.inc").read_text(encoding="utf-8")).keys()
            )


def test_checks_cover_all_ranks_and_versions() -> None:
    found = list(checks_of((case(),), ("hand", "transformed"), (OPENMPI, MPICH)))
    assert {(c.version, c.mpi.name, c.ranks) for c in found} == {
        (version, mpi, ranks)
        for version in ("hand", "transformed")
        for mpi in ("openmpi", "mpich")
        for ranks in (1, 2, 3, 4)
    }
    assert all(c.reference.version == "original" for c in found)


def test_the_first_difference_is_shown() -> None:
    shown = difference(b"same\nrank 1 AA\n", b"same\nrank 1 AB\n")
    assert "rank 1 AA" in shown
    assert "rank 1 AB" in shown
    assert "same" not in shown


def test_a_run_says_its_time_on_standard_error(tmp_path: Path) -> None:
    run = run_program(["sh", "-c", "echo result; echo 'seconds  1.5E-03' >&2"], tmp_path, 20)
    assert run.output == b"result\n"
    assert run.seconds == 1.5e-3


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo broken >&2; exit 3", "exit code 3.*\n.*broken"),
        ("echo done", "no time"),
        ("exec sleep 30", "no end after"),
    ],
)
def test_a_run_that_fails_says_how(tmp_path: Path, script: str, message: str) -> None:
    with pytest.raises(LabError, match=message):
        run_program(["sh", "-c", script], tmp_path, 0.5 if "sleep" in script else 20)


def test_simulation_takes_no_time_from_the_host() -> None:
    command = simgrid.command(
        16, Path("prog"), Path("c.xml"), MessageCosts(), {"smpi/list-leaks": "9"}
    )
    assert "--cfg=smpi/simulate-computation:no" in command
    assert "--cfg=smpi/test:1e-07" in command
    assert "--cfg=smpi/list-leaks:9" in command
    assert command[-1] == "prog"
    assert 'bw="1.25GBps"' in Cluster().xml()


def test_without_root_ranks_share_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with slow_link() as lab:
        assert lab.agent is None
        assert "root" in lab.reason
        assert lab.command(Path("prog"))[0] == OPENMPI.launcher


def test_over_the_link_both_hosts_are_used() -> None:
    lab = LinkLab(("a", "b"), Path("agent"))
    command = lab.command(Path("prog"))
    assert command[:4] == ["ip", "netns", "exec", "a"]
    assert "10.77.0.1:1,10.77.0.2:1" in command
    command = lab.command(Path("prog"), MPICH)
    assert command[:4] == ["ip", "netns", "exec", "a"]
    assert "10.77.0.1,10.77.0.2" in command
    assert "UCX_TLS=tcp,self" in command  # else the ranks share memory behind the link's back


def test_an_mpi_that_cannot_use_the_link_is_reported() -> None:
    with pytest.raises(LabError, match="SMPI"):
        LinkLab(("a", "b"), Path("agent")).command(Path("prog"), SMPI)


def test_a_row_of_the_table() -> None:
    cells = row(measured({"original": 101.0, "hand": 56.0}))
    assert len(cells) == len(COLUMNS)
    assert cells[0] == "kernel (variant)"
    assert cells[COLUMNS.index("hand ratio")] == "0.55"
    assert cells[COLUMNS.index("hand overlap")] == "1.00"
    assert cells.count("-") == 3  # what asphalt would take


def test_the_table_shows_every_number_whole() -> None:
    console = Console(width=120)
    long = measured({"original": 1.1, "hand": 1.06, "ialltoall": 1.1, "transformed": 1.06})
    long = replace(long, platform="Open MPI 1 Gb/s", tiling=(1, 256))
    with console.capture() as captured:
        console.print(table([replace(long, kernel="spectral_transpose", variant="small")], "t"))
    assert "1100 " in captured.get()
    assert "…" not in captured.get()


def test_results_for_a_machine() -> None:
    found = list(measured({"original": 101.0, "transformed": 56.0}).rows())
    assert found == [
        Row("kernel/variant", "original", "place", 16, None, None, 101.0, 1.0, 0.0),
        Row("kernel/variant", "transformed", "place", 16, 4, 2, 56.0, 56 / 101, 1.0),
    ]
    (alone,) = measured({"original": 1.0}, None).rows()
    assert alone.overlap_efficiency is None


def test_markdown_has_a_line_for_each_row() -> None:
    assert markdown(("a", "b"), [("1", "2")]).splitlines() == [
        "| a | b |",
        "| --- | --- |",
        "| 1 | 2 |",
    ]


def test_best_tiling_of_a_sweep() -> None:
    kernel = case()
    times = {"hand": {(1, 2): 60.0, (2, 2): 58.0}, "transformed": {(1, 2): 57.9, (2, 2): 58.0}}
    sweep = Sweep(kernel, kernel.simulated[0], "place", PARTS, times)
    assert (sweep.best("hand"), sweep.best("transformed")) == ((2, 2), (1, 2))


def test_the_curve_is_a_picture(tmp_path: Path) -> None:
    path = tmp_path / "new" / "curve.png"
    draw_slowdown([Curve("D = 2", {1: 60.0, 2: 58.0, 4: 59.0})], 101.0, 45.0, "title", path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_the_file_that_is_timed_has_a_thousand_lines(tmp_path: Path) -> None:
    text = write_long_file(tmp_path).read_text(encoding="utf-8")
    assert text.count("\n") == LINES
    assert text.count("MPI_Alltoall") == 1
    assert text.count("\nsubroutine") == text.count("\nend subroutine")


def test_the_tree_that_is_scanned_has_no_mpi(tmp_path: Path) -> None:
    size = write_plain_tree(tmp_path, 3, 5000)
    texts = [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()]
    assert sum(map(len, texts)) == size
    assert len(texts) == 3
    assert not any("mpi" in text.lower() for text in texts)


def test_missing_packages_are_named(tmp_path: Path) -> None:
    for name in ("id", "sh"):
        (tmp_path / name).symlink_to(shutil.which(name) or name)
    script = (ROOT / "bench" / "packages.sh").read_text(encoding="utf-8")
    script = script.replace("PATH=$PATH:/usr/sbin:/sbin\n", "")
    (tmp_path / "packages.sh").write_text(script, encoding="utf-8")
    done = subprocess.run(
        [shutil.which("sh") or "sh", "packages.sh"],
        cwd=tmp_path,
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    for package in ("gfortran", "libopenmpi-dev", "libmpich-dev", "libsimgrid-dev", "iproute2"):
        assert package in done.stderr
