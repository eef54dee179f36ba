"""What decides which steps for transfers are kept: the model, or simulations under real SMPI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from asphalt.cli import judging
from asphalt.cli.main import main
from asphalt.cli.simulated_program import FLAGS
from asphalt.config.errors import UsageError
from asphalt.gain.model import Judge, Model
from asphalt.machine.platforms import ETHERNET_1
from asphalt.optimiser.optimise import Optimised, optimise
from asphalt.optimiser.options import Context
from asphalt.running import mpi as running
from support.mpi_run import SMPI, installed
from support.opinions import Opinion
from support.stepping import Stepped

needs_smpi = pytest.mark.skipif(not installed(SMPI), reason="needs SMPI")

UNIT = """\
subroutine swap(u, v, n, left, right)
  use mpi
  implicit none
  integer, intent(in) :: n, left, right
  real(8), intent(inout) :: u(0:n+1), v(n)
  integer :: i, ierr, status(MPI_STATUS_SIZE)
  call MPI_Send(u(n), 1, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, ierr)
  call MPI_Recv(u(0), 1, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, status, ierr)
  do i = 1, n
    v(i) = v(i)*0.5d0 + i
  end do
  u(1) = u(1) + u(0)
end subroutine swap
"""
PROGRAM = """\
program main
  use mpi
  implicit none
  integer, parameter :: n = 100000
  real(8) :: u(0:n+1), v(n)
  integer :: me, np, ierr, left, right
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  left = merge(me - 1, MPI_PROC_NULL, me > 0)
  right = merge(me + 1, MPI_PROC_NULL, me < np - 1)
  u = me
  v = 1
  call swap(u, v, n, left, right)
  print *, me, u(1), sum(v)
  call MPI_Finalize(ierr)
end program main
"""


def _judged(folder: Path, judge: Judge) -> Optimised:
    stepped = Stepped.of(folder, {"unit.f90": UNIT})
    (facts,) = stepped.facts()
    return optimise(stepped.tree, facts.located, context=Context(judge))


def test_the_judge_decides_and_its_answer_is_reported(tmp_path: Path) -> None:
    """The model would keep the steps, by which the program only gets longer."""
    assert _judged(tmp_path / "model", Model((ETHERNET_1,))).content is not None
    longer = _judged(tmp_path / "longer", Opinion(lambda text: float(len(text))))
    assert longer.content is None
    told = longer.dropped[-1]
    assert told.transformation == "nonblocking, motion"
    assert told.tried["somewhere"] > told.before["somewhere"] == len(UNIT)
    shorter = _judged(tmp_path / "shorter", Opinion(lambda text: 1e6 - len(text)))
    assert shorter.content is not None
    assert shorter.dropped == ()
    gained = sum(step.gained["somewhere"] for step in shorter.steps)
    assert gained == len(shorter.content) - len(UNIT)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "swap.f90").write_text(UNIT)
    (tmp_path / "src" / "main.f90").write_text(PROGRAM)
    return tmp_path


QUIET = ("src", "--no-cache", "--jobs", "1", "--passes", "nonblocking,motion")
WHERE = ("--np", "2", "--platform", "ethernet-1g")


def _sites(folder: Path, *arguments: str) -> list[dict[str, object]]:
    out = ("--output", "out", "--force", "--report", "report.json")
    assert main(["apply", *QUIET, *out, *arguments]) == 0
    found: list[dict[str, object]] = json.loads((folder / "report.json").read_text())["sites"]
    return found


@needs_smpi
def test_a_step_gains_what_a_simulation_of_both_programs_says(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sites = _sites(here, "--judge", "simulation", *WHERE)
    capsys.readouterr()
    assert main(["simulate", *QUIET, *WHERE, "--format", "json", "-o", "results"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["difference"] is None
    gains = [gain for step in sites[0]["steps"] for gain in step["gained"]]  # type: ignore[attr-defined]
    assert {gain["network"] for gain in gains} == {"ethernet-1g with 2 ranks"}
    gained = sum(gain["seconds"] for gain in gains)
    assert gained == pytest.approx(run["original"] - run["transformed"], rel=1e-9)
    assert gained > 0


@needs_smpi
@pytest.mark.wide
def test_the_same_digits_come_out_each_time(here: Path) -> None:
    first, second = (_sites(here, "--judge", "simulation", *WHERE) for _ in range(2))
    assert first == second


GATHER = """\
subroutine gather(a, w, n, comm)
  use mpi
  implicit none
  integer, intent(in) :: n, comm
  real(8), intent(inout) :: w(n), a(n)
  integer :: i, p, ierr, status(MPI_STATUS_SIZE)
  do p = 1, 3
    call MPI_Recv(a, 1*n, MPI_DOUBLE_PRECISION, p, 1, comm, status, ierr)
    do i = 1, n/20
      w(i) = w(i) + a(i)
    end do
  end do
end subroutine gather
"""
GATHERING = """\
program main
  use mpi
  implicit none
  integer, parameter :: n = 200000
  real(8) :: w(n), a(n)
  integer :: me, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  w = 0
  a = me
  if (me == 0) then
    call gather(a, w, n, MPI_COMM_WORLD)
  else
    call MPI_Send(a, n, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, ierr)
  end if
  print *, me, sum(w)
  call MPI_Finalize(ierr)
end program main
"""


@needs_smpi
def test_a_simulation_sees_that_clones_cost_more_than_they_hide(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So does the model that knows n; one to which n is the length of a line keeps them."""
    (tmp_path / "gather.f90").write_text(GATHER)
    options = ("--no-cache", "--jobs", "1", "--passes", "expansion")
    assert main(["diff", str(tmp_path), *options]) == 0
    assert "asphalt_post" in capsys.readouterr().out
    (tmp_path / "main.f90").write_text(GATHERING)
    assert main(["diff", str(tmp_path), *options]) == 0
    assert capsys.readouterr().out == ""
    network = ("--np", "4", "--platform", "ib-ddr-2009")
    assert main(["diff", str(tmp_path), *options, "--judge", "simulation", *network]) == 0
    found = capsys.readouterr()
    assert found.out == ""
    told = "gather: not kept: expansion: the receives of the loop of line 7 are posted before it: "
    assert f"{told}execution would take longer: +" in found.err


@needs_smpi
def test_a_failed_build_is_reported_and_nothing_is_written(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = (*QUIET, "--output", "out", "--judge", "simulation", *WHERE)
    assert main(["apply", *arguments, "--compile", "{fc} -no-such-flag {sources} -o {exe}"]) == 2
    assert "the original program does not build" in capsys.readouterr().err
    assert not (here / "out").exists()


@needs_smpi
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("given", "used"), [((), FLAGS), (("--flags", ""), "")])
def test_flags_may_be_none(
    given: tuple[str, ...], used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def builder_of(project: object, paths: object, building: object, flags: str, *_: object) -> Any:
        seen.append(flags)
        raise UsageError("enough is known")

    monkeypatch.setattr(judging, "builder_of", builder_of)
    assert main(["diff", *QUIET, "--judge", "simulation", *WHERE, *given]) == 2
    assert seen == [used]


@needs_smpi
def test_a_failed_run_is_reported(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "src" / "main.f90").write_text(PROGRAM.replace("  u = me\n", "  stop 3\n"))
    assert main(["diff", *QUIET, "--judge", "simulation", *WHERE]) == 2
    assert "the original program on 2 ranks: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--platform", "ethernet-1g"), "--platform needs --judge simulation"),
        (("--build", "make"), "--build needs --judge simulation"),
        pytest.param(
            ("--judge", "simulation", "--platform", "ethernet-1"),
            "there is no platform",
            marks=needs_smpi,
        ),
    ],
)
def test_options_that_make_no_sense(
    here: Path, arguments: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert here.exists()
    assert main(["diff", *QUIET, *arguments]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.usefixtures("here")
def test_there_has_to_be_something_to_judge(capsys: pytest.CaptureFixture[str]) -> None:
    judge = ["--judge", "simulation"]
    assert main(["diff", "src", "--no-cache", "--passes", "prepush", *judge]) == 2
    assert "only steps for transfers are judged; choose passes" in capsys.readouterr().err


def test_without_smpi_there_is_no_simulation(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running.shutil, "which", lambda *_: None)
    assert main(["apply", *QUIET, "--output", "out", "--judge", "simulation"]) == 2
    assert "smpi" in capsys.readouterr().err.lower()
    assert not (here / "out").exists()
