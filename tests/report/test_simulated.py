"""What ``asphalt simulate`` says about the times that it found."""

from __future__ import annotations

import pytest

from asphalt.report.simulated import study_lines, study_rows, sweep_lines
from asphalt.simulation.deadlock import ranks_text
from asphalt.simulation.hideable import Hideable
from asphalt.simulation.runs import Simulation, output_difference
from asphalt.simulation.study import Study
from asphalt.simulation.sweep import Sweep
from asphalt.verify.compare import Likeness
from asphalt.verify.files import Outputs, WrittenFile


def swept(seconds: dict[tuple[int, int], float], differences: tuple[int, int] | None = None) -> str:
    """What is said of a sweep whose original takes 10 ms, its computation alone 5 ms."""
    wrong = {} if differences is None else {differences: "line 1"}
    return "\n".join(sweep_lines("net", Sweep(4, 10e-3, 5e-3, seconds, wrong, {})))


def test_a_sweep_that_only_loses() -> None:
    told = swept({(0, 4): 10e-3, (1, 4): 30e-3, (8, 4): 15e-3})
    assert (
        "net, 4 ranks: the original is fastest: the best tiled run is 15 ms (3.000) at K = 8, "
        "D = 4, 1.500 times as long as the original" in told
    )
    assert (
        "net, 4 ranks: with K chosen on entry (the default): 10 ms (2.000) at K = 0, D = 4, as "
        "long as the original" in told
    )
    assert "faster" not in told


def test_a_sweep_that_gains() -> None:
    told = swept({(0, 4): 8e-3, (1, 4): 12e-3, (8, 4): 5e-3})
    assert (
        "net, 4 ranks: best 5 ms (1.000) at K = 8, D = 4, 2.000 times faster than the original"
        in told
    )
    assert "D = 4, 1.250 times faster than the original" in told
    assert "fastest" not in told


def test_a_time_with_another_output_is_not_the_best() -> None:
    told = swept({(1, 4): 12e-3, (8, 4): 5e-3}, differences=(8, 4))
    assert "the best tiled run is 12 ms" in told


def studied(transformed: float) -> list[str]:
    found = Study(
        4, 10e-3, transformed, 5e-3, 5e-3, Hideable(1, 4e-3, 5e-3, 4e-3), None, timelines=()
    )
    return list(study_lines("net", [found]))


def test_a_negative_efficiency_is_explained() -> None:
    (explained,) = [line for line in studied(12e-3) if "negative" in line]
    assert "a loss: the transformed program takes 2 ms longer" in explained
    assert "--tile 0" in explained
    assert not [line for line in studied(8e-3) if "negative" in line]


def told_of_tiles(transformed: float, *, tiled: bool, on_entry: bool) -> str:
    hidden = Hideable(1, 4e-3, 5e-3, 4e-3)
    found = Study(4, 10e-3, transformed, 5e-3, 5e-3, hidden, None, timelines=(), tiled=tiled)
    assert ("overlap efficiency", "not tiled") in study_rows(found) or tiled
    return "\n".join(study_lines("net", [found], on_entry=on_entry))


def test_the_original_call_is_no_loss_by_messages() -> None:
    told = told_of_tiles(10.0002e-3, tiled=False, on_entry=True)
    assert "net, 4 ranks: no exchange was tiled: K = 0 chose the original calls on entry" in told
    assert "the 200 ns that it takes longer are the choice's own" in told
    assert "--tile 0" not in told
    assert "messages" not in told
    assert "longer" not in told_of_tiles(10e-3, tiled=False, on_entry=True)
    told = told_of_tiles(10.0002e-3, tiled=False, on_entry=False)
    assert "it made the original calls, because a condition" in told
    assert "K = 0" not in told


def test_what_was_simulated_is_not_advised() -> None:
    told = told_of_tiles(12e-3, tiled=True, on_entry=True)
    assert "more and shorter messages cost more than they hide; try another K" in told
    assert "--tile 0" not in told
    assert "--tile 0" in told_of_tiles(12e-3, tiled=True, on_entry=False)


def told_of_whole_buffers(transformed: float, ranks: int, operations: tuple[str, ...]) -> str:
    found = Study(
        ranks, 10e-3, transformed, 5e-3, 5e-3, None, None, timelines=(), whole_buffers=operations
    )
    return "\n".join(line for line in study_lines("net", [found]) if "simulator's" in line)


def test_a_loss_that_may_be_of_the_simulator_alone() -> None:
    one, two = ("MPI_Iallreduce",), ("MPI_Iallreduce", "MPI_Ibcast")
    assert "its MPI_Iallreduce sends the whole buffer" in told_of_whole_buffers(12e-3, 4, one)
    told = told_of_whole_buffers(12e-3, 4, two)
    assert told.startswith("net, 4 ranks: this loss may be")
    assert "its MPI_Iallreduce and MPI_Ibcast send the whole buffer" in told
    # its own: no such operation; one message of each rank in any algorithm; no loss
    assert not told_of_whole_buffers(12e-3, 4, ())
    assert not told_of_whole_buffers(12e-3, 2, one)
    assert not told_of_whole_buffers(8e-3, 4, one)


def test_blocked_ranks() -> None:
    blocked = "".join(
        f"[0.0] [ker_engine/INFO] Actor {rank + 1} ({rank}@n{rank}): waiting for communication\n"
        for rank in (4, 0, 5, 6, 7, 9)
    )
    assert ranks_text(blocked) == "ranks 0, 4-7, 9 wait for ever"
    assert ranks_text("Deadlock detected") == "ranks wait for ever"


@pytest.mark.parametrize(
    ("tolerance", "message"), [(None, "a.out: line 1: '1.0' became '1.1'"), (0.2, None)]
)
def test_files_are_part_of_what_a_run_gives(tolerance: float | None, message: str | None) -> None:
    first, second = (
        Simulation(1.0, b"", {"a.out": WrittenFile(text, Likeness(tolerance))}, frozenset("a"))
        for text in (b"1.0\n", b"1.1\n")
    )
    found = output_difference(first, second, Outputs())
    assert (found and found.message) == message
