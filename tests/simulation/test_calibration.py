"""``asphalt calibrate``, with a real compiler: what its machine file holds, and that it is used."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from asphalt.analysis.cost.classes import CLASSES, LINE, CoreCache
from asphalt.cli.main import main
from asphalt.machine.core_caches import own_cache
from asphalt.machine.machine import LATENCIES, Machine, load_machine
from asphalt.machine.machine_file import machine_text
from asphalt.simulation.calibration import _counts, _miss_time, _time, _units
from asphalt.simulation.calibration_runs import COLUMNS, DATA, FILES, reordered, steps, usual
from asphalt.transforms.charging.program import Costs
from support.mpi_run import SMPI, installed

# Divisions that do not wait for each other: their number times the seconds of one is the least.
DIVISIONS = """\
program divisions
  use mpi
  implicit none
  integer, parameter :: n = 100000
  real(8) :: a(n), b(n)
  integer :: i, ierr
  call MPI_Init(ierr)
  do i = 1, n
    a(i) = i
    b(i) = 1.5d0
  end do
  do i = 1, n
    a(i) = a(i)/(a(i)/(a(i)/(a(i)/b(i))))
  end do
  if (sum(a) < 0) print *, a(1)
  call MPI_Finalize(ierr)
end program divisions
"""
TURNS = 100000


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A machine file, and what was said on stderr, as if that were a terminal."""
    file = tmp_path_factory.mktemp("calibrated") / "machine.toml"
    options = ("--repeats", "1", "--flags", "-O1", "--name", "a box", "-o", str(file))
    done = subprocess.run(
        [sys.executable, "-m", "asphalt", "calibrate", *options],
        env=os.environ | {"FORCE_COLOR": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return file, done.stderr


@pytest.fixture
def written(calibrated: tuple[Path, str]) -> Path:
    return calibrated[0]


def test_the_machine_file_is_valid_and_positive(written: Path) -> None:
    machine = load_machine(written)  # which refuses unknown and missing classes
    assert (machine.name, machine.compiler, machine.flags) == ("a box", "gfortran", ("-O1",))
    times = [*machine.seconds.values(), *machine.latency.values()]
    assert all(math.isfinite(time) and 0 <= time < 1e-4 for time in times)
    # loops differ in these alone, so that no other class can explain their times
    for name in ("divide", "sqrt", "power", "exp", "log", "sin", "integer_divide"):
        assert machine.seconds[name] > 0
        assert machine.latency[name] > 0
    assert machine.seconds["divide"] <= machine.latency["divide"]
    assert machine.cache == own_cache()


def test_every_machine_file_has_the_same_form(written: Path) -> None:
    machine = load_machine(written)
    assert tuple(machine.seconds) == CLASSES
    assert tuple(machine.latency) == LATENCIES
    assert machine_text(machine) == written.read_text()


@pytest.mark.wide
@pytest.mark.skipif(not installed(SMPI), reason="needs SMPI")
def test_simulate_charges_what_the_machine_file_says(
    written: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("divisions.f90").write_text(DIVISIONS)
    machine = load_machine(written)
    slow = Machine("slow", "", (), {k: 10 * v for k, v in machine.seconds.items()}, machine.latency)
    Path("slow.toml").write_text(machine_text(slow))
    found = []
    for file in (written, Path("slow.toml")):
        arguments = ["simulate", "divisions.f90", "--np", "1", "--no-cache", "--format", "json"]
        assert main([*arguments, "--machine", str(file)]) == 0
        (row,) = json.loads(capsys.readouterr().out)["runs"]
        found.append(row["computation"])
    assert found[0] > 4 * TURNS * machine.seconds["divide"]
    assert found[1] > 40 * TURNS * machine.seconds["divide"]
    assert found[1] > found[0]


def test_the_time_of_a_lost_line_is_found_again() -> None:
    costs = Costs(dict.fromkeys(CLASSES, 1e-10), dict.fromkeys(LATENCIES, 1e-9))
    lines = {name: unit for name, unit in _units().items() if name.startswith("line_")}
    small, large = CoreCache(COLUMNS * LINE // 2), CoreCache(COLUMNS * LINE * 4)
    times = {n: _time(u, costs) + 3e-9 * _counts(u, small)["line"] for n, u in lines.items()}
    assert len(times) == 2
    assert _miss_time("line", lines, times, costs, small) == pytest.approx(3e-9)
    assert _miss_time("line", lines, times, costs, large) == 0  # which loses none


def test_the_time_of_a_conflict_is_found_again() -> None:
    """One set holds 8 of 128 lines; of two sets, each holds 8 of 64."""
    costs = Costs(dict.fromkeys(CLASSES, 1e-10), dict.fromkeys(LATENCIES, 1e-9))
    loops = {name: unit for name, unit in _units().items() if name.startswith("conflict_")}
    cache = CoreCache(COLUMNS * LINE * 4, ways=8, way=4096)
    found = {name: _counts(unit, cache)["conflict"] for name, unit in loops.items()}
    assert sorted(found.values()) == [64 * (64 - 8)] * 2 + [64 * (128 - 8)] * 2
    times = {n: _time(u, costs) + 3e-9 * found[n] for n, u in loops.items()}
    assert _miss_time("conflict", loops, times, costs, cache) == pytest.approx(3e-9)
    assert _miss_time("conflict", loops, times, costs, CoreCache(ways=128, way=4096)) == 0


def test_nothing_is_timed_for_a_file_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path, tmp_path / "file" / "machine.toml"):
        assert main(["calibrate", "-o", str(place)]) == 2
        told = capsys.readouterr().err
        assert f"--output {place}: cannot be written" in told
        assert "timing" not in told


def test_progress_is_reported(calibrated: tuple[Path, str]) -> None:
    _, told = calibrated
    assert "asphalt: timing small loops, 1 times each" in told
    assert f"/{steps(1)}" in told  # the bar
    # it compiles three orders, times in runs of 5, 5 and 2 repeats, and fits
    assert steps(12) == 3 + 3 + 1
    assert steps(200) == 5 + 40 + 1


def test_of_several_orders_the_usual_times_count() -> None:
    quiet = {f"loop_{number}": 10.0 + number for number in range(9)}
    places = [{"copy": 5.0}, {"copy": 10.0}, {"copy": 5.0}]  # badly placed in the second one
    orders = [quiet | place for place in places]
    assert usual(orders) == pytest.approx(quiet | {"copy": 5.0})
    busy = [{name: 1.1 * time for name, time in orders[0].items()}, *orders[1:]]
    assert usual(busy) == pytest.approx(quiet | {"copy": 5.0})
    assert usual(orders[1:2]) == pytest.approx(orders[1])
    nothing = [order | {"page": 0.0} for order in orders]
    assert usual(nothing)["page"] == 0


def test_procedures_are_timed_in_several_orders() -> None:
    text = (DATA / FILES[0]).read_text()
    assert reordered(text, 0) == text
    orders = [reordered(text, number) for number in range(5)]
    assert orders == [reordered(text, number) for number in range(5)]
    found = [re.findall(r"^  subroutine (\w+)\(n", one, re.MULTILINE) for one in orders]
    assert len(set(map(tuple, found))) == 5
    assert all(sorted(one) == sorted(found[0]) for one in found)
    assert all(sorted(one.split("\n")) == sorted(text.split("\n")) for one in orders)
    comment = "  ! other decisions in each call, so that no processor learns them\n"
    assert all(f"{comment}  subroutine busy_decisions(" in one for one in orders)
