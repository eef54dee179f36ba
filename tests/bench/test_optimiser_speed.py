"""The table of how long asphalt optimises transfers: what is measured and written."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest

from bench import speed
from bench.lab.run import LabError
from bench.speed import Row, as_json, from_json, merged, page

HERE = Row("halo", "apply", 120, 4.0, 100.0, 0.5)


def test_rows_are_kept_until_they_are_measured_again() -> None:
    other = Row("own", "apply", 10, 1.0, 50.0, 0.5)
    again = Row("halo", "apply", 120, 2.0, 90.0, 0.5)
    assert merged([HERE, other], [again]) == [again, other]
    assert from_json(as_json([again, other])) == [again, other]


def test_the_page_compares_with_the_loop() -> None:
    assert "| halo | 120 | `apply` | 4.0 | 100 | 0.50 | 8.0 |" in page([HERE])


def test_the_committed_page_shows_the_committed_rows() -> None:
    rows = from_json(speed.RESULTS.read_text(encoding="utf-8"))
    assert speed.PAGE.read_text(encoding="utf-8") == page(rows)
    assert {(name, " ".join(how)) for name, how, _ in speed.ROWS} <= {
        (row.name, row.command) for row in rows
    }


def test_a_kernel_is_measured_with_what_it_shares(tmp_path: Path) -> None:
    speed.write_kernel("halo_2d", tmp_path)
    assert {"original.f90", "work.f90", "results.f90", "sizes.inc"} <= set(os.listdir(tmp_path))


def test_a_command_is_measured_with_its_processes(tmp_path: Path) -> None:
    (tmp_path / "unit.f90").write_text("subroutine unit()\nend subroutine unit\n")
    row = speed.measured("unit", tmp_path, ("scan",))
    assert row.lines == 2
    assert row.seconds > 0
    assert row.unit > 0
    assert row.peak_mb > 1


def test_a_command_that_fails_is_no_row(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="exit code 2"):
        speed.measured("none", tmp_path / "none", ("scan", "--no-such-option"))


def test_a_tree_is_a_directory(tmp_path: Path) -> None:
    with pytest.raises(click.BadParameter, match="NAME=PATH"):
        list(speed._trees([f"own={tmp_path / 'none'}"]))


def test_scans_are_measured_with_each_state_of_the_cache(tmp_path: Path) -> None:
    unit = tmp_path / "unit.f90"
    unit.write_text("subroutine unit()\nend subroutine unit\n")
    rows = list(speed.scans("unit", tmp_path))
    assert [row.command.rpartition(", ")[2] for row in rows] == [
        "empty cache",
        "full cache",
        "one file edited",
    ]
    assert [row.lines for row in rows] == [2, 2, 4]
    assert unit.read_text() == "subroutine unit()\nend subroutine unit\n"


def test_the_edited_file_is_one_that_names_mpi(tmp_path: Path) -> None:
    for name, text in (("long.f90", "! nothing\n" * 9), ("calls.F90", "call MPI_Init(ierr)\n")):
        (tmp_path / name).write_text(text)
    assert speed.edit(tmp_path) == tmp_path / "calls.F90"
