"""Runs of the bench: what they printed, also where they do not end."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.lab.case import load_cases
from bench.lab.measure import check_results
from bench.lab.run import LabError, Run, run_program, same_output
from support.mpi_run import SMPI, installed

_TOLD = "echo result; echo 'seconds 1.5' >&2; sleep 30"


def test_a_run_that_does_not_end_counts_only_where_its_time_is_enough(tmp_path: Path) -> None:
    run = run_program(["bash", "-c", _TOLD], tmp_path, 0.5, time_is_enough=True)
    assert (run.output, run.seconds, run.ended) == (b"result\n", 1.5, False)
    with pytest.raises(LabError, match="no end after"):
        run_program(["bash", "-c", _TOLD], tmp_path, 0.5)


def test_what_a_launcher_says_when_it_is_asked_to_end_is_no_result(tmp_path: Path) -> None:
    script = "trap 'echo; echo stopped; exit 1' TERM; echo result; echo 'seconds 1.5' >&2; "
    command = ["bash", "-c", f"{script} sleep 30 & wait"]
    run = run_program(command, tmp_path, 0.5, time_is_enough=True)
    assert (run.output, run.seconds, run.ended) == (b"result\n", 1.5, False)


def test_a_run_that_printed_no_time_does_not_count(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="no end after"):
        run_program(["bash", "-c", "sleep 30"], tmp_path, 0.5, time_is_enough=True)


def test_other_results_are_reported_with_their_first_line_also_of_a_run_that_did_not_end() -> None:
    expected = Run(b"one\ntwo\n", 1.0)
    same_output(expected, Run(b"one\ntwo\n", 2.0, ended=False), "a run")
    for output, line in ((b"one\nten\n", "line 2"), (b"", "line 1"), (b"one\ntwo", "line 2")):
        with pytest.raises(LabError, match=f"a run differs from the original in {line}"):
            same_output(expected, Run(output, 1.0, ended=False), "a run")


@pytest.mark.skipif(not installed(SMPI), reason="no SMPI")
@pytest.mark.parametrize("ranks", [48, pytest.param(64, marks=pytest.mark.wide)])
def test_results_on_many_ranks_can_be_compared(ranks: int) -> None:
    """SimGrid does not bear any network on so many."""
    (case,) = [case for case in load_cases() if case.name == "synthetic_fig3"]
    what = next(what for what in case.simulated if ranks in what.all_ranks).at(ranks)
    check_results(case, what, "hand", what.tilings[-1])
