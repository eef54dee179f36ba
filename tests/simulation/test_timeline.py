"""Traces become timelines, timelines numbers and pictures."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asphalt.report.timeline_data import (
    MOST_LANES,
    Drawing,
    Version,
    bytes_text,
    remark,
    shown,
    time_text,
)
from asphalt.report.timeline_html import write_timelines
from asphalt.simulation.hideable import hideable
from asphalt.simulation.paje import read_trace
from asphalt.simulation.timeline import (
    Doing,
    Interval,
    Lane,
    TimedCall,
    Timeline,
    means,
    without_busy,
)

# Numbers of events differ from release to release: the head says what they are.
TRACE = """\
%EventDef PajeDefineEntityValue 5
%  Alias string
%  Type string
%  Name string
%  Color color
%EndEventDef
%EventDef PajeCreateContainer 6
%  Time date
%  Alias string
%  Type string
%  Container string
%  Name string
%EndEventDef
%EventDef PajePushState 12
%  Time date
%  Type string
%  Container string
%  Value string
%EndEventDef
%EventDef PajePopState 13
%  Time date
%  Type string
%  Container string
%EndEventDef
%EventDef PajeStartLink 15
%  Time date
%  Type string
%  Container string
%  Value string
%  StartContainer string
%  Key string
%  Size int
%EndEventDef
%EventDef PajeEndLink 16
%  Time date
%  Type string
%  Container string
%  Value string
%  EndContainer string
%  Key string
%EndEventDef
#a comment
6 0.0 1 0 0 "rank-0"
6 0.0 2 0 0 "rank-1"
5 10 2 computing "0 1 1"
5 11 2 PMPI_Isend "0 1 1"
5 12 2 PMPI_Wait "0 1 1"
5 13 2 PMPI_Alltoall "0 1 1"
12 0.0 2 1 10 1000
12 0.0 2 2 12
13 1.0 2 1
12 1.0 2 1 11
15 1.0 3 0 PTP 1 1_2_7_1 100
15 1.0 3 0 PTP 1 1_2_7_2 100
13 1.5 2 1
16 3.0 3 0 PTP 2 1_2_7_1
16 3.0 3 0 PTP 2 1_2_7_2
13 3.0 2 2
12 3.0 2 1 13
15 3.0 3 0 PTP 1 1_2_-5_3 40
16 4.0 3 0 PTP 2 1_2_-5_3
13 4.0 2 1
"""


def test_a_trace_is_read() -> None:
    found = read_trace(TRACE.splitlines(), 4.0, {"mpi_isend"})
    first, second = found.lanes
    assert first.intervals == (
        Interval(0.0, 1.0, Doing.COMPUTING),
        Interval(1.0, 1.5, Doing.MESSAGING, "MPI_Isend"),
        Interval(1.5, 3.0, Doing.WAITING),
        Interval(3.0, 4.0, Doing.WAITING, "MPI_Alltoall"),
    )
    assert first.calls == (TimedCall("MPI_Alltoall", 3.0, 4.0),)
    assert first.underway == ((0.0, 0.0), (1.0, 100.0), (3.0, 40.0), (4.0, 0.0))
    assert second.intervals == (Interval(0.0, 3.0, Doing.WAITING, "MPI_Wait"),)
    assert second.underway == ()


class Costly:
    """A platform on which starting a message takes 0.25 s, receiving one 0.5 s."""

    def of_sender(self, size: float) -> float:
        return 0.25

    def of_receiver(self, size: float) -> float:
        return 0.5


def test_messages_are_handled_inside_of_waiting_calls_too() -> None:
    first, second = read_trace(TRACE.splitlines(), 4.0, {"mpi_isend"}, Costly()).lanes
    # a collective operation of the original starts and ends messages as an MPI_Isend does
    assert first.intervals[-2:] == (
        Interval(3.0, 3.25, Doing.MESSAGING, "MPI_Alltoall"),
        Interval(3.25, 4.0, Doing.WAITING, "MPI_Alltoall"),
    )
    assert first.intervals[1] == Interval(1.0, 1.5, Doing.MESSAGING, "MPI_Isend")
    assert second.intervals == (Interval(0.0, 3.0, Doing.WAITING, "MPI_Wait"),)


def test_busy_times_are_cut_out_of_waiting_alone() -> None:
    computing, waiting = Doing.COMPUTING, Doing.WAITING
    found = without_busy(
        (Interval(0, 2, computing), Interval(2, 4, waiting, "a"), Interval(4, 8, waiting, "b")),
        # before, over a border, one inside of another, and at the end
        ((0.5, 1), (3, 5), (4.5, 4.75), (7, 9)),
    )
    assert found == (
        Interval(0, 2, computing),
        Interval(2, 3, waiting, "a"),
        Interval(3, 4, Doing.MESSAGING, "a"),
        Interval(4, 5, Doing.MESSAGING, "b"),
        Interval(5, 7, waiting, "b"),
        Interval(7, 8, Doing.MESSAGING, "b"),
    )


def test_what_is_no_trace() -> None:
    with pytest.raises(ValueError, match="an event that the trace's head does not have: 99 1"):
        read_trace(["99 1"], 1.0, ())


@given(
    st.lists(st.tuples(st.floats(0, 10), st.floats(0, 100)), max_size=8).map(sorted),
    st.integers(1, 20),
)
def test_means_keep_the_sum(steps: list[tuple[float, float]], bins: int) -> None:
    ends = [time for time, _ in steps[1:]] + [10.0][: len(steps)]
    whole = sum(value * (end - start) for (start, value), end in zip(steps, ends, strict=True))
    found = means(steps, 10.0, bins)
    assert sum(found) * 10.0 / bins == pytest.approx(whole, rel=1e-9, abs=1e-9)


def lane(rank: int, *parts: tuple[str, float, float]) -> Lane:
    """A rank that computes ("") or is in a call, from and to."""
    intervals = tuple(
        Interval(start, end, Doing.WAITING if call else Doing.COMPUTING, call)
        for call, start, end in parts
    )
    calls = tuple(TimedCall(call, start, end) for call, start, end in parts if call)
    return Lane(rank, intervals, calls, ())


def test_what_can_be_hidden_is_the_computation_since_the_last_wait_or_the_exchange() -> None:
    found = hideable(
        Timeline(
            12.0,
            (
                lane(
                    0,
                    *(("", 0, 1), ("MPI_Barrier", 1, 2), ("", 2, 5), ("MPI_Alltoall", 5, 7)),
                    *(("", 7, 8), ("MPI_Alltoall", 8, 11), ("", 11, 12)),
                ),
                lane(
                    1,
                    *(("", 0, 2), ("MPI_Barrier", 2, 2), ("", 2, 4), ("MPI_Alltoall", 4, 6.5)),
                    *(("", 6.5, 7.5), ("MPI_Alltoall", 7.5, 11), ("", 11, 12)),
                ),
            ),
        ),
        {"mpi_alltoall"},
    )
    assert found is not None
    # the first: 3 s of computation, 2 s from the last arrival on; the second: 1 s and 3 s
    assert (found.exchanges, found.computation, found.communication) == (2, 4.0, 5.0)
    assert found.seconds == 2.0 + 1.0


def test_exchanges_that_not_all_ranks_take_part_in() -> None:
    ranks = (lane(0, ("MPI_Alltoall", 0, 1)), lane(1, ("", 0, 1)))
    assert hideable(Timeline(1.0, ranks), {"mpi_alltoall"}) is None


def test_many_ranks_are_not_all_drawn() -> None:
    lanes = tuple(lane(rank, ("", 0, 1)) for rank in range(100))
    drawn = [one.rank for one in shown(lanes)]
    assert (len(drawn), drawn[0], drawn[-1]) == (MOST_LANES, 0, 99)
    assert len(set(drawn)) == MOST_LANES
    assert remark(Drawing("t", (Version("v", Timeline(1.0, lanes)),))) == (
        "32 of 100 ranks, evenly spread"
    )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (1.5, "1.5 s"), (0.01234567, "12.35 ms"), (-2e-6, "-2 µs"), (3e-10, "0.3 ns")],
)
def test_times_for_people(seconds: float, text: str) -> None:
    assert time_text(seconds) == text


def test_bytes_for_people() -> None:
    assert [bytes_text(count) for count in (12, 4500, 2e6, 3.21e9)] == [
        *("12 B", "4.5 kB"),
        *("2 MB", "3.21 GB"),
    ]


def test_both_versions_are_drawn_and_explained_alike(tmp_path: Path) -> None:
    def version(name: str, most: float, *parts: tuple[str, float, float]) -> Version:
        one = lane(0, *parts)
        moving = Lane(0, one.intervals, one.calls, ((0.0, 0.0), (0.5, most), (1.0, 0.0)))
        return Version(name, Timeline(1.0, (moving,)))

    drawing = Drawing(
        "t",
        (
            version("original", 4e6, ("", 0, 0.5), ("MPI_Alltoall", 0.5, 1)),
            version("transformed", 1e6, ("", 0, 0.5), ("MPI_Wait", 0.5, 0.9), ("MPI_B", 0.9, 0.91)),
        ),
    )
    original, transformed = drawing.versions
    assert original.summary == (
        "a rank computes 500 ms, handles messages 0 s, waits 500 ms: 500 ms in MPI_Alltoall"
    )
    assert transformed.summary.endswith("waits 410 ms: 400 ms in MPI_Wait")
    # one scale for what is under way
    assert drawing.underway_name == "how much is under way (full height: 4 MB)"
    write_timelines(drawing, tmp_path / "t.html")
    page = (tmp_path / "t.html").read_text()
    data = json.loads(re.search(r"const data = (.*);\n", page)[1])  # type: ignore[index]
    assert data["versions"][0]["most"] == data["versions"][1]["most"] == 4e6
    assert max(data["versions"][1]["lanes"][0]["underway"]) == 0.25
    assert data["versions"][1]["summary"] == transformed.summary
    assert "Green below blue is communication that computation hides" in data["caption"]
    names = [name for name, _ in data["legend"]]
    assert names[:3] == [doing.value for doing in Doing]
    assert names[-1] == drawing.underway_name


def test_the_page_stands_alone(tmp_path: Path) -> None:
    found = read_trace(TRACE.splitlines(), 4.0, {"mpi_isend"})
    name = "a </script> & <b>"
    write_timelines(Drawing(name, (Version("original", found),)), tmp_path / "t.html")
    page = (tmp_path / "t.html").read_text()
    assert page.count("</script>") == 1
    assert "<title>a &lt;/script&gt; &amp; &lt;b&gt;</title>" in page
    assert not re.search(r"https?:|src=|@import", page)
    data = json.loads(re.search(r"const data = (.*);\n", page)[1])  # type: ignore[index]
    assert data["title"] == name
    assert data["versions"][0]["title"] == "original: 4 s, up to 100 B of a rank under way"
    assert data["versions"][0]["lanes"][0]["intervals"][0] == [0.0, 1.0, 0, 0]
    assert data["calls"] == ["", "MPI_Isend", "MPI_Alltoall", "MPI_Wait"]
