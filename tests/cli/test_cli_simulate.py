"""``asphalt simulate``, with a real compiler and the real SMPI."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from asphalt.cli.main import main
from asphalt.machine.platforms import NETWORKS
from asphalt.running import process
from support.cli_programs import MAIN, TRANSPOSES
from support.mpi_run import SMPI, installed

pytestmark = pytest.mark.skipif(not installed(SMPI), reason="needs SMPI")
ETHERNET = next(network for network in NETWORKS if network.name == "ethernet-10g")

# Two exchanges of data that takes about as long to compute as to send.
PLANES = """\
program planes
  use mpi
  implicit none
  integer, parameter :: n = 60, nz = 16
  real(8), allocatable :: a(:,:,:), b(:,:,:)
  integer :: np, me, ierr, i, j, k, step
  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  allocate(a(n, n, nz), b(n, n, nz))
  do k = 1, nz
    b(:,:,k) = me
  end do
  do step = 1, 2
    do k = 1, nz
      do j = 1, n
        do i = 1, n
          a(i,j,k) = 1/(b(i,j,k) + sqrt(i + j*k + 0.5d0*me))/(1.5d0 + b(i,j,k))
        end do
      end do
    end do
    call MPI_Alltoall(a, n*n*nz/np, MPI_DOUBLE_PRECISION, b, n*n*nz/np, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
  end do
  if (me == 0) then
    print '(es24.16)', sum(b)
    open(7, file='sum.out')
    write(7, *) sum(b)
    close(7)
  end if
  call MPI_Finalize(ierr)
end program planes
"""

# 10 ms, an exchange of 1 MB with the other rank, 5 ms
ANALYTIC = """\
program analytic
  use mpi
  implicit none
  integer, parameter :: n = 125000
  real(8) :: a(n, 2), b(n, 2)
  integer :: ierr
  call MPI_Init(ierr)
  a = 1
  call smpi_execute_flops(1.0d7)
  call MPI_Alltoall(a, n, MPI_DOUBLE_PRECISION, b, n, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
  call smpi_execute_flops(5.0d6)
  call MPI_Finalize(ierr)
end program analytic
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "planes.f90").write_text(PLANES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def simulate(*arguments: str) -> int:
    return main(["simulate", "--no-cache", "--jobs", "1", *arguments])


def test_what_it_would_gain(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # by a makefile that knows neither of the runtime nor of charges
    (here / "src" / "Makefile").write_text("planes: planes.f90\n\t$(FC) -O1 planes.f90 -o $@\n")
    options = ("--tile", "1", "--depth", "2", "--build", "make FC={fc}", "--output", "sum.out")
    assert simulate("src", "--np", "4", *options, "-o", "one") == 0
    shown = capsys.readouterr()
    assert "│ output                             │ equal" in shown.out
    assert "could be hidden: 2 exchanges of" in shown.out
    stem = "timeline-ethernet-10g-4"
    assert (here / f"one/{stem}.png").read_bytes().startswith(b"\x89PNG")
    assert "MPI_Alltoall" in (here / f"one/{stem}.html").read_text()
    (row,) = json.loads((here / "one/simulation.json").read_text())["runs"]
    assert row["pictures"] == [f"{stem}.html", f"{stem}.png"]
    assert row["difference"] is None
    assert row["transformed"] < row["original"]
    # communication is not hidden, and nothing waits: the parts add up to the whole
    assert row["computation"] + row["communication"] == pytest.approx(row["original"], rel=0.02)
    assert 0.2 < row["overlap_efficiency"] < 1
    assert row["tiled"] is True
    gain = row["original"] - row["transformed"]
    assert row["overlap_efficiency"] == pytest.approx(gain / row["hideable"])


LARGEST = """\
program largest
  use mpi
  implicit none
  integer, parameter :: n = 4000, m = 20000
  real(8) :: a(n), b(n), w(m)
  integer :: ierr, i, step
  call MPI_Init(ierr)
  do i = 1, n
    a(i) = i
  end do
  do i = 1, m
    w(i) = i
  end do
  do step = 1, 3
    call MPI_Allreduce(a, b, n, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
    do i = 1, m
      w(i) = 1/(1 + w(i))
    end do
    do i = 1, n
      a(i) = a(i)/(1 + b(i))
    end do
  end do
  print *, sum(a) + sum(w)
  call MPI_Finalize(ierr)
end program largest
"""


def test_small_exchanges_are_not_tiled_on_entry(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = PLANES.replace("n = 60", "n = 4")
    (here / "src" / "planes.f90").write_text(small)
    assert main(["simulate", "src", "--np", "2", "--platform", ETHERNET.name]) == 0
    out = capsys.readouterr().out
    assert "no exchange was tiled: K = 0 chose the original calls on entry" in out
    (row,) = json.loads((here / "asphalt-simulation" / "simulation.json").read_text())["runs"]
    assert row["tiled"] is False


@pytest.mark.parametrize(("elements", "is_longer"), [(4000, True), (4, False)])
def test_an_operation_of_whole_buffers(
    here: Path, capsys: pytest.CaptureFixture[str], elements: int, is_longer: bool
) -> None:
    # the step is made with both; SMPI's MPI_Iallreduce of 32 kB takes longer than MPI_Allreduce
    # and the loop behind it, for it is another algorithm; that of 32 bytes does not
    (here / "p.f90").write_text(LARGEST.replace("n = 4000", f"n = {elements}"))
    assert main(["diff", "--no-cache", "p.f90"]) == 0
    assert "+    call asphalt_iallreduce(" in capsys.readouterr().out
    assert simulate("p.f90", "--np", "8", "--platform", "ethernet-1g", "-o", "one") == 0
    (row,) = json.loads((here / "one/simulation.json").read_text())["runs"]
    assert (row["transformed"] > row["original"]) == is_longer
    told = "its MPI_Iallreduce sends the whole buffer" in capsys.readouterr().out
    assert told == is_longer


EARLY = """\
program early
  use mpi
  implicit none
  real(8) :: table(1000000), total
  integer :: i, ierr
  do i = 1, size(table)
    table(i) = sqrt(real(i, 8))
  end do
  call MPI_Init(ierr)
  call MPI_Allreduce(table(1), total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (total < 0) print *, total
  call MPI_Finalize(ierr)
end program early
"""


def test_computation_before_mpi_init_is_charged_and_traced(here: Path) -> None:
    # SMPI has no lane for a rank before MPI_Init, and ends a program that computes there
    (here / "src" / "planes.f90").write_text(EARLY)
    assert simulate("src", "--np", "2", "-o", "early") == 0
    (row,) = json.loads((here / "early/simulation.json").read_text())["runs"]
    assert row["pictures"]
    assert row["computation"] > 1e-4


@pytest.mark.wide
def test_the_same_digits_and_pictures_every_time(here: Path) -> None:
    arguments = ("src", "--np", "4", "--tile", "1", "--depth", "2")
    assert simulate(*arguments, "--compile", "{fc} -O1 {sources} -o {exe}", "-o", "one") == 0
    # by a makefile that knows neither of the runtime nor of charges
    (here / "src" / "Makefile").write_text("planes: planes.f90\n\t$(FC) -O1 planes.f90 -o $@\n")
    assert simulate(*arguments, "--build", "make FC={fc}", "-o", "two") == 0
    names = sorted(path.name for path in (here / "one").iterdir())
    assert len(names) == 3
    for name in names:
        assert (here / "one" / name).read_bytes() == (here / "two" / name).read_bytes()


def test_a_program_of_several_files_is_built_in_a_tree_around_them(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "src/deep").mkdir()
    (here / "src/planes.f90").unlink()
    (here / "src/deep/transposes.f90").write_text(TRANSPOSES)
    (here / "src/main.f90").write_text(MAIN)
    (here / "Makefile").write_text(
        "main: src/*.f90 src/deep/*.f90\n\t$(FC) src/deep/transposes.f90 src/main.f90 -o $@\n"
    )
    files = ("src/main.f90", "src/deep/transposes.f90")
    options = ("--np", "2", "--tile", "2", "--depth", "1", "--format", "json")
    rows = []
    for how in (("--tree", ".", "--build", "make FC={fc}"), ()):
        assert simulate(*files, *options, *how) == 0
        (row,) = json.loads(capsys.readouterr().out)["runs"]
        assert row["difference"] is None
        rows.append({name: row[name] for name in ("original", "transformed")})
    assert rows[0] == rows[1]
    (here / "other").mkdir()
    assert simulate(*files, "--tree", "other") == 2
    assert "lies outside --tree other" in capsys.readouterr().err


def test_a_program_that_charges_itself(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "analytic.f90").write_text(ANALYTIC)
    assert simulate("analytic.f90", "--np", "2", "--format", "json") == 0
    shown = capsys.readouterr()
    assert "nothing is transformed: the original is simulated alone" in shown.err
    assert "so asphalt adds no charges for its computation" in shown.err
    (row,) = json.loads(shown.out)["runs"]
    assert row["transformed"] is None
    # traffic in both directions costs 5 % in SimGrid's model
    message = ETHERNET.one_way(1000000)
    assert row["computation"] == pytest.approx(0.015, rel=1e-3)
    assert row["communication"] == pytest.approx(message, rel=0.08)
    assert row["original"] == pytest.approx(0.015 + message, rel=0.01)
    assert row["exposed_original"] == pytest.approx(message, rel=0.08)


@pytest.mark.wide
def test_sweep(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate("src", "--np", "2", "--sweep", "tile", "--tiles", "1,4", "--depth", "2") == 0
    assert "best" in capsys.readouterr().out
    folder = here / "asphalt-simulation"
    (found,) = json.loads((folder / "simulation.json").read_text())["sweeps"]
    # K = 0, what the default does, is always among them
    assert [(run["tile"], run["depth"]) for run in found["transformed"]] == [(0, 2), (1, 2), (4, 2)]
    for run in found["transformed"]:
        assert run["difference"] is None
        assert run["slowdown"] == pytest.approx(run["seconds"] / found["computation"])
        assert found["computation"] < run["seconds"]
    assert found["pictures"] == ["slowdown-ethernet-10g-2.png"]
    assert (folder / "slowdown-ethernet-10g-2.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.wide
def test_files_are_compared(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # the time on the simulated clock, which tells both versions apart
    told = "  open(7, file='time.out')\n  write(7, *) MPI_Wtime()\n  close(7)\n  call MPI_Finalize"
    text = PLANES.replace("  call MPI_Finalize", told).replace("nz = 16", "nz = 4")
    (here / "src" / "planes.f90").write_text(text)
    options = ("--np", "2", "--tile", "1", "--format", "json")
    compared = ("--output", "*.out", "--output", "none.out")
    assert simulate("src", *options, *compared) == 1
    shown = capsys.readouterr()
    (row,) = json.loads(shown.out)["runs"]
    assert row["difference"].startswith("time.out: line 1: ")
    assert "asphalt: --output none.out: no run wrote such a file; check the name" in shown.err


def test_list_platforms(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate("--list-platforms") == 0
    shown = capsys.readouterr().out
    assert all(network.name in shown for network in NETWORKS)


FINE = "program p\n  use mpi\n  integer :: ierr\n  call MPI_Init(ierr)\n{}end program p\n"


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (
            "program p\n  implicit none\n  use mpi_f08\nend program p\n".replace(
                "  implicit none\n", ""
            ),
            (),
            r"error: p.f90:2: uses the module mpi_f08, which SMPI does not have",
        ),
        (FINE.format("  x = none(\n"), (), "the original program does not build: "),
        (FINE.format(""), ("--platform", "no.xml"), "error: no.xml: No such file or directory"),
        (FINE.format(""), ("--platform", "ib-hd"), "no platform 'ib-hd' (did you mean 'ib-hdr'?);"),
        (FINE.format(""), ("--machine", "no.toml"), "error: no.toml: "),
        (
            FINE.format(""),
            ("--sweep", "tile"),
            "nothing is transformed, so there is nothing to sweep",
        ),
        (FINE.format(""), ("--build", "make", "--compile", ""), "give either --build or --compile"),
        (FINE.format(""), ("--np", "0"), "'0' is not a list of integers"),
    ],
    ids=["mpi_f08", "build", "platform", "name", "machine", "sweep", "builds", "np"],
)
def test_bad_input(
    text: str,
    arguments: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.f90").write_text(text)
    assert simulate("p.f90", *arguments) == 2
    assert message in capsys.readouterr().err
    assert not Path("asphalt-simulation").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("  call MPI_Pcontrol(1)\n", "SMPI does not have MPI_Pcontrol, which the program calls"),
        (
            "  call MPI_Recv(i, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)\n",
            "it ends in a deadlock: ranks 0, 1 wait in MPI_RECV, called by the main program\n",
        ),
        ("  do\n    call sleep(60)\n  end do\n", "did not end within 10 s of this machine's time"),
        ("  stop 3\n", "without calling MPI_Finalize"),
    ],
    ids=["unknown", "deadlock", "hang", "status"],
)
def test_runs_that_fail(
    text: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.f90").write_text(FINE.format("  i = 0\n" + text))
    monkeypatch.setattr(process, "_GRACE", 0.5)
    # the limit is for the build, too, which takes seconds on a busy machine
    assert simulate("p.f90", "--np", "2", "--timeout", "10" if "10 s" in message else "60") == 1
    shown = capsys.readouterr().err
    assert "Ethernet 10 Gb/s, TCP: the original" in shown
    assert message in shown
    assert "no run succeeded, so there are no timelines" in shown
    assert "timelines are in" not in shown
    found = json.loads(Path("asphalt-simulation/simulation.json").read_text())
    assert found["runs"] == []
    assert len(found["failures"]) == 1
    assert [path.name for path in Path("asphalt-simulation").iterdir()] == ["simulation.json"]


def test_without_smpi(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert simulate("src") == 2
    told = capsys.readouterr().err
    assert "SimGrid's SMPI is not installed: no smpif90" in told
    assert "apt-get install libsimgrid-dev gfortran" in told
    assert shutil.which("smpirun") is None
