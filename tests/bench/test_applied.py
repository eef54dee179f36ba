"""What apply makes of real programs, as docs/coverage.md tells it."""

from __future__ import annotations

from pathlib import Path

from bench import applied

_SETS = {
    "A set": {
        "one": {
            "before": {"verdicts": {"refused ASP024": 3}, "seconds": 2.0, "megabytes": 70},
            "after": {
                "verdicts": {"applied": 2, "assumed ASP025": 1},
                "words": {"bits": 1, "timers": 2},
                "seconds": 2.5,
                "megabytes": 70,
                "ran": "4 ranks",
            },
        },
        "two": {"after": {"verdicts": {"refused ASP024": 1}, "seconds": 1.0, "megabytes": 60}},
    }
}


def test_a_set_has_a_row_for_each_program_and_each_code() -> None:
    lines = applied.section(_SETS)
    assert (
        "| one | 3 | 0 → 2 | 0 → 1 | 3 → 0 | 2.0 → 2.5 | 70 | `bits` 1, `timers` 2 | 4 ranks |"
        in lines
    )
    assert "| two | 1 | 0 | 0 | 1 | 1.0 | 60 |  |  |" in lines
    (row,) = (line for line in lines if "ASP024" in line)
    assert row.endswith(" | 3 → 0 | 1 |")


def test_the_part_is_the_last_one_and_is_written_anew() -> None:
    once = applied.with_section("# Page\n\nText.\n", _SETS)
    assert once.startswith("# Page\n\nText.\n\n## ")
    assert applied.with_section(once, _SETS) == once


def test_the_page_shows_what_is_kept() -> None:
    page = applied.PAGE.read_text(encoding="utf-8")
    assert applied.with_section(page, applied.kept()) == page


def test_a_tree_is_measured(tmp_path: Path) -> None:
    (tmp_path / "main.f90").write_text(
        "program main\n  use mpi\n  implicit none\n  integer :: ierr, a(4)\n"
        "  call MPI_Init(ierr)\n  a = 1\n"
        "  call MPI_Bcast(a, 4, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)\n"
        "  print *, a\n  call MPI_Finalize(ierr)\nend program main\n"
    )
    found = applied.measured(tmp_path)
    assert sum(found["verdicts"].values()) == 1
    assert found["seconds"] > 0
    assert found["megabytes"] > 0


def test_a_site_counts_once_with_its_best_verdict() -> None:
    reports = [
        {"file": "a.f90", "line": line, "operation": "MPI_Send", "verdict": verdict}
        for line, verdict in ((1, "refused"), (1, "applied"), (2, "refused"), (2, "refused"))
    ]
    found = [one["verdict"] for one in applied._each_once(reports)]
    assert found == ["applied", "refused"]
