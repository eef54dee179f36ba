"""Runs of the bench: what they printed, also where they do not end."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.lab.run import LabError, run_program

_TOLD = "echo result; echo 'seconds 1.5' >&2; sleep 30"


def test_a_run_that_does_not_end_counts_only_where_its_time_is_enough(tmp_path: Path) -> None:
    run = run_program(["bash", "-c", _TOLD], tmp_path, 0.5, time_is_enough=True)
    assert (run.output, run.seconds, run.ended) == (b"result\n", 1.5, False)
    with pytest.raises(LabError, match="no end after"):
        run_program(["bash", "-c", _TOLD], tmp_path, 0.5)


def test_a_run_that_never_told_its_time_does_not_count(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="no end after"):
        run_program(["bash", "-c", "sleep 30"], tmp_path, 0.5, time_is_enough=True)
