"""Steps that are tried and not kept are told, with what the cost model said of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import cast

import jsonschema
import pytest

from asphalt.cli.main import main
from asphalt.diagnostics.model import (
    DroppedReport,
    GainReport,
    PriceReport,
    ProcedureReport,
    SiteReport,
    StepReport,
)
from asphalt.driver.overlap import Outcome
from asphalt.gain.model import Model
from asphalt.machine.platforms import ETHERNET_1, INFINIBAND_HDR, Network
from asphalt.optimiser import overlap
from asphalt.optimiser.dropped import IDLE, SLOWER, distinct, together_not_kept
from asphalt.optimiser.optimise import Done, Dropped, Optimised, optimise
from asphalt.optimiser.options import Context, Options
from asphalt.optimiser.origins import SourceLine
from asphalt.optimiser.unit_state import Workshop
from asphalt.report.json import SCHEMA
from asphalt.report.steps import dropped_text, step_text
from support.opinions import Opinion
from support.places import KERNELS
from support.stepping import Stepped

FACES = """\
subroutine faces(w, b, me, comm)
  use mpi
  implicit none
  integer, parameter :: n = 100000
  integer, intent(in) :: me, comm
  real(8), intent(inout) :: w(n+2), b(n)
  integer :: i, p, ierr
  do p = 1, 2
    do i = 1, n
      b(i) = w(i + p)
    end do
    call MPI_Send(b, n, MPI_DOUBLE_PRECISION, me + p, 1, comm, ierr)
  end do
end subroutine faces
"""
GATHER = """\
subroutine gather(a, w, comm)
  use mpi
  implicit none
  integer, parameter :: n = {count}, m = 2000
  integer, intent(in) :: comm
  real(8), intent(inout) :: w(n), a(n)
  integer :: i, p, ierr, status(MPI_STATUS_SIZE)
  do p = 1, 3
    call MPI_Recv(a, n, MPI_DOUBLE_PRECISION, p, 1, comm, status, ierr)
    do i = 1, m
      w(i) = w(i) + a(i)
    end do
  end do
end subroutine gather
"""
LONG, SHORT = GATHER.format(count=1000000), GATHER.format(count=2000)
QUIET = ("--no-cache", "--jobs", "1", "--passes", "transfers")


def _optimised(folder: Path, text: str, *networks: Network) -> Optimised:
    stepped = Stepped.of(folder, {"unit.f90": text})
    (facts,) = stepped.facts()
    return optimise(
        stepped.tree, facts.located, context=Context(Model(networks) if networks else None)
    )


def test_a_clone_that_costs_more_than_it_hides_is_reported(tmp_path: Path) -> None:
    """The harm of cloning in a smoother, with what the copy would have cost."""
    (dropped,) = _optimised(tmp_path / "fast", FACES, INFINIBAND_HDR).dropped
    assert (dropped.transformation, dropped.why) == ("expansion", SLOWER)
    assert dropped.does == "MPI_Send of line 12 leaves from a copy"
    assert dropped.place == SourceLine(str(tmp_path / "fast" / "unit.f90"), 12)
    (network,) = dropped.before
    assert dropped.tried[network] > dropped.before[network] > 0
    kept = _optimised(tmp_path / "slow", FACES, ETHERNET_1)
    assert [step.place.line for step in kept.steps] == [12]
    assert kept.dropped == ()


AGAIN = """\
subroutine again(w, b, other, comm)
  use mpi
  implicit none
  integer, parameter :: n = 100000
  integer, intent(in) :: other, comm
  real(8), intent(inout) :: w(n), b(n)
  integer :: i, ierr
  do i = 1, n
    b(i) = w(i)
  end do
  call MPI_Send(b, n, MPI_DOUBLE_PRECISION, other, 1, comm, ierr)
  do i = 1, n
    b(i) = sqrt(w(i))/(1 + w(i))
  end do
end subroutine again
"""


def test_a_send_outside_of_loops_leaves_from_a_copy_only_where_that_gains(tmp_path: Path) -> None:
    slow = _optimised(tmp_path / "slow", AGAIN, ETHERNET_1)
    assert [step.does for step in slow.steps] == ["MPI_Send of line 11 leaves from a copy"]
    fast = _optimised(tmp_path / "fast", AGAIN, INFINIBAND_HDR)
    assert fast.content is None
    assert [dropped.why for dropped in fast.dropped] == [SLOWER]
    alone = AGAIN.replace("b(i) = sqrt(w(i))/(1 + w(i))", "w(i) = b(i)")  # beside the send
    kept = _optimised(tmp_path / "alone", alone, ETHERNET_1)
    assert [step.transformation for step in kept.steps] == ["nonblocking", "motion"]


CUBE = KERNELS / "multigrid_smooth"


def _of_the_smoother(folder: Path, unit: str) -> Optimised:
    sources = (CUBE / "original.f90", CUBE / "work.f90", CUBE / "sizes.inc")
    common = CUBE.parent / "common" / "results.f90"
    texts = {path.name: path.read_text() for path in (*sources, common)}
    sizes = "integer, parameter :: n1 = 34, n2 = 34, n3 = 34, steps = 2\n"  # of its case.toml
    stepped = Stepped.of(folder, {**texts, "sizes.inc": sizes})
    (facts,) = (facts for facts in stepped.facts() if facts.unit.name == unit)
    return optimise(stepped.tree, facts.located)


def _rejected_clone(found: Optimised) -> Dropped:
    """What is told of the copy that the faces of the smoother would have left from."""
    (clone,) = (one for one in found.dropped if one.transformation == "expansion")
    assert clone.does == "MPI_Send of line 110 leaves from a copy"
    assert (Path(clone.place.path).name, clone.place.line) == ("original.f90", 110)
    assert clone.why == SLOWER
    assert any(clone.tried[name] > clone.before[name] for name in clone.before)
    assert "expansion" not in {step.transformation for step in found.steps}
    return clone


def test_the_harmful_clone_of_the_smoother_is_rejected(tmp_path: Path) -> None:
    """Danalis et al., section 6: their greedy order cloned, and MG took longer by it."""
    clone = _rejected_clone(_of_the_smoother(tmp_path, "give"))
    assert all(clone.tried[name] > 1.01 * clone.before[name] for name in clone.before)


@pytest.mark.wide
def test_the_harmful_clone_is_rejected_in_all_of_the_smoother(tmp_path: Path) -> None:
    """With the exchange inlined, and its other sends beside the work on the interior."""
    found = _of_the_smoother(tmp_path, "multigrid_smooth")
    _rejected_clone(found)
    assert found.content is not None


def test_copies_that_lose_are_reported_where_another_one_is_the_last_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first send gains nothing by a copy; behind that of the second, no more steps are made."""
    second = AGAIN[AGAIN.index("  do i = 1, n") : AGAIN.index("end subroutine")]
    twice = AGAIN.replace("end subroutine", second.replace("1, comm", "2, comm") + "end subroutine")

    copied = "call asphalt_send"

    def cost(text: str) -> float:
        first = text.index("1, comm")
        return 2.0 + (copied in text[:first]) - (copied in text[first:])

    stepped = Stepped.of(tmp_path, {"unit.f90": twice})
    (facts,) = stepped.facts()
    monkeypatch.setattr(overlap, "MOST_STEPS", 1)
    passes = ("nonblocking", "expansion")
    found = optimise(stepped.tree, facts.located, Options(passes), Context(Opinion(cost)))
    assert [one.does for one in found.dropped] == ["MPI_Send of line 11 leaves from a copy"]


def test_each_procedure_has_its_own_tried_steps() -> None:
    """Those of one name may stand in one file: in two hosts, say."""
    lost = DroppedReport("renaming", "x is renamed", "a.f90", 3, "no gain")
    here = ProcedureReport("a.f90", "swap", False, (), (), "one", 2, 9)
    there = ProcedureReport("a.f90", "swap", False, (), (lost,), "two", 12, 19)
    site = SiteReport("swap:14", "a.f90", 14, "MPI_Send", "swap", "refused")
    told = Outcome((), (here, there)).tried(site)
    assert (told.dropped, told.ended) == ((lost,), "two")


def test_steps_are_reported_once_and_only_if_none_is_kept() -> None:
    place = SourceLine("a.f90", 3)
    first = Dropped("renaming", "x is renamed", place, IDLE)
    last = Dropped("renaming", "x is renamed", place, SLOWER)
    other = Dropped("expansion", "x is renamed", place, SLOWER)
    assert distinct((first, other, last), ()) == (other, last)
    done = Done("renaming", "x is renamed", (), place)
    assert distinct((first, other, last), (done,)) == (other,)


def test_text_for_people() -> None:
    prices = (PriceReport("fast", 10e-6, 10.3e-6), PriceReport("slow", 2e-6, 1e-6))
    told = DroppedReport("renaming", "x is renamed", "a.f90", 3, "no gain", prices)
    assert dropped_text(told) == (
        "not kept: renaming: x is renamed: no gain: +3.0 % on fast (10 us to 10.3 us); "
        "no network may lose, whatever others gain: -50.0 % on slow (2 us to 1 us)"
    )


def test_prices_have_the_unit_that_their_length_asks_for() -> None:
    prices = (PriceReport("fast", 17.17e-3, 17.95e-3), PriceReport("slow", 999.96e-6, 2.2))
    told = DroppedReport("renaming", "x is renamed", "a.f90", 3, "no gain", prices)
    assert dropped_text(told).endswith(
        "no gain: +4.5 % on fast (17.17 ms to 17.95 ms), +219908.8 % on slow (1000 us to 2.2 s)"
    )
    same = replace(told, prices=(PriceReport("fast", 1e5, 1e5 - 1),))
    assert dropped_text(same).endswith("no gain: +0.0 % on fast (100000 s to 99999 s)")
    step = StepReport("motion", "it goes", (), "a.f90", 3, (GainReport("fast", -1.25e-2),))
    judged = "by itself: it is judged together with the steps around it"
    assert step_text(step) == f"motion: it goes: costs 12.5 ms on fast, {judged}"


def test_no_steps_at_all_are_not_reported() -> None:
    assert together_not_kept(cast("Workshop", None), ()) == ()


def test_gains_are_reported_to_the_nanosecond() -> None:
    gained = (GainReport("fast", 12.5e-6), GainReport("slow", -7e-19), GainReport("far", 4e-18))
    step = StepReport("motion", "the wait goes down", ("it may",), "a.f90", 3, gained)
    assert step_text(step) == (
        "motion: the wait goes down (it may): saves 12.5 us on fast, saves nothing on slow, "
        "saves nothing on far"
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "long.f90").write_text(LONG)
    (tmp_path / "short.f90").write_text(SHORT)
    return tmp_path


def _told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main([arguments[0], *QUIET, *arguments[1:]]) == 0
    found = capsys.readouterr()
    return found.out + found.err


_LOST = "not kept: expansion: the receives of the loop of line 8 are posted before it"


@pytest.mark.usefixtures("here")
def test_commands_report_them(capsys: pytest.CaptureFixture[str]) -> None:
    """Where nothing comes of a procedure, too; and not where the step is kept."""
    diff = _told(capsys, "diff", "long.f90")
    assert f"asphalt: long.f90:8: gather: {_LOST}: execution would take longer: +" in diff
    assert "asphalt: long.f90: gather: ended: no transformation finds another step" in diff
    assert _LOST in _told(capsys, "explain", "long.f90:9")
    apply = _told(capsys, "apply", "long.f90", "--output", "out")
    assert "1 step was tried and not kept: 'asphalt diff' says why" in apply
    assert "not kept" not in _told(capsys, "diff", "short.f90")
    assert "not kept" not in _told(capsys, "explain", "short.f90:9")
    assert "not kept" not in _told(capsys, "apply", "short.f90", "--output", "other")


def test_the_report_has_them(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _told(capsys, "apply", "long.f90", "short.f90", "--output", "out", "--report", "r.json")
    report = json.loads((here / "r.json").read_text())
    jsonschema.validate(report, json.loads(SCHEMA.read_text()))
    lost, kept = report["sites"]
    (dropped,) = lost["dropped"]
    assert (dropped["file"], dropped["line"]) == ("long.f90", 8)
    assert [price["network"] for price in dropped["prices"]] == ["ib-ddr-2009", "ethernet-1g"]
    assert any(price["tried"] > price["before"] for price in dropped["prices"])
    assert (lost["verdict"], lost["ended"]) == ("refused", kept["ended"])
    assert kept["dropped"] == []
    assert [(step["file"], step["line"]) for step in kept["steps"]] == [("short.f90", 8)]
