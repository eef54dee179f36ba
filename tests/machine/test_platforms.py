"""The clusters to simulate on: what a message takes there is what their figures say."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.errors import AsphaltError
from asphalt.machine.choose import chosen
from asphalt.machine.platform_files import described, host_speed
from asphalt.machine.platforms import NETWORKS, Network, Platform
from asphalt.report.timeline_data import time_text
from asphalt.running.simgrid import MessageCosts
from asphalt.simulation.runs import BuiltProgram, Simulator, TimedPart
from support.mpi_run import SMPI, build, installed
from support.places import ROOT

LIMITS = tuple(sorted({network.eager for network in NETWORKS}))
SIZES = (8, 4000, *LIMITS, 4000000)  # a limit belongs to the longer messages

PING_PONG = f"""\
program pingpong
  use mpi
  implicit none
  integer, parameter :: sizes({len(SIZES)}) = [{", ".join(map(str, SIZES))}], repeats = 50
  character, allocatable :: a(:)
  integer :: ierr, me, i, r, request
  double precision :: began
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  allocate(a(maxval(sizes)))
  do i = 1, size(sizes)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    began = MPI_Wtime()
    do r = 1, repeats
      if (me == 0) call send(1)
      call MPI_Recv(a, sizes(i), MPI_CHARACTER, 1 - me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      if (me == 1) call send(0)
    end do
    if (me == 0) print *, (MPI_Wtime() - began)/(2*repeats)
  end do
  call MPI_Finalize(ierr)
contains
  subroutine send(to)
    integer, intent(in) :: to
    call MPI_Isend(a, sizes(i), MPI_CHARACTER, to, 0, MPI_COMM_WORLD, request, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  end subroutine send
end program pingpong
"""

LATE = f"""\
program late
  use mpi
  implicit none
  integer, parameter :: sizes({len(SIZES)}) = [{", ".join(map(str, SIZES))}]
  character, allocatable :: a(:)
  integer :: ierr, me, i, request
  double precision :: began
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  allocate(a(maxval(sizes)))
  do i = 1, size(sizes)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    if (me == 1) then
      call MPI_Isend(a, sizes(i), MPI_CHARACTER, 0, 0, MPI_COMM_WORLD, request, ierr)
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    else
      call smpi_execute_flops(1d9)
      began = MPI_Wtime()
      call MPI_Recv(a, sizes(i), MPI_CHARACTER, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      print *, MPI_Wtime() - began
    end if
  end do
  call MPI_Finalize(ierr)
end program late
"""

CLUSTER = """\
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n" suffix="" radical="0-3,7" speed="2.5Gf" bw="1GBps" lat="10us"/>
</platform>
"""

needs_smpi = pytest.mark.skipif(not installed(SMPI), reason="needs SMPI")


def built(folder: Path, text: str) -> BuiltProgram:
    source = folder / "program.f90"
    source.write_text(text)
    return BuiltProgram(folder, f"./{build(SMPI, [source], folder).name}")


@pytest.fixture(scope="module")
def ping_pong(tmp_path_factory: pytest.TempPathFactory) -> BuiltProgram:
    return built(tmp_path_factory.mktemp("pingpong"), PING_PONG)


def times(platform: Platform, program: BuiltProgram) -> list[float]:
    run = Simulator(platform, 1e9, 60.0).run(program, 2, TimedPart.WHOLE)
    return [float(word) for word in run.stdout.split()]


@needs_smpi
@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: network.name)
def test_messages_take_what_the_figures_say(network: Network, ping_pong: BuiltProgram) -> None:
    expected = [network.one_way(size) for size in SIZES]
    assert times(network, ping_pong) == pytest.approx(expected, rel=0.03)


@needs_smpi
def test_a_described_cluster_has_its_own_latency_and_bandwidth(
    tmp_path: Path, ping_pong: BuiltProgram
) -> None:
    file = tmp_path / "mine.xml"
    file.write_text(CLUSTER)
    found = times(described(file, MessageCosts(3e-6, 1e-7)), ping_pong)
    # both links of the way, no factors of SimGrid's; messages below 64 KiB cost at both ends, the
    # larger ones at the sender's
    assert found[0] == pytest.approx(2 * 10e-6 + 2 * 3e-6, rel=0.03)
    assert found[-1] == pytest.approx(2 * 10e-6 + 3e-6 + SIZES[-1] / 1e9, rel=0.03)


@needs_smpi
@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: network.name)
def test_short_messages_are_there_when_they_are_received_late(
    network: Network, tmp_path: Path
) -> None:
    for size, late in zip(SIZES, times(network, built(tmp_path, LATE)), strict=True):
        if size < network.eager:
            assert late == pytest.approx(network.of_receiver(size), rel=0.03, abs=2e-8)
        else:
            assert late > size / network.bandwidth


@needs_smpi
@pytest.mark.parametrize("name", ["ethernet-10g", "mine.xml"])
def test_a_free_network_takes_no_time(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ping_pong: BuiltProgram
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.xml").write_text(CLUSTER)
    simulator = Simulator(*chosen([name]), 1e9, 60.0)
    assert simulator.run(ping_pong, 2, TimedPart.COMPUTATION).seconds < 1e-5


@needs_smpi
def test_two_runs_give_the_same_digits(ping_pong: BuiltProgram) -> None:
    simulator = Simulator(NETWORKS[0], 1e9, 60.0)
    first, second = (simulator.run(ping_pong, 2, TimedPart.WHOLE, trace=True) for _ in range(2))
    assert first == second
    assert first.timeline is not None
    # tracing does not change what is traced
    assert simulator.run(ping_pong, 2, TimedPart.WHOLE).seconds == first.seconds


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: network.name)
def test_the_documentation_lists_the_figures_and_which_are_assumed(network: Network) -> None:
    text = (ROOT / "docs" / "simulate.md").read_text(encoding="utf-8")
    (row,) = (line for line in text.splitlines() if line.startswith(f"| `{network.name}` |"))
    _, _, bandwidth, one_byte, _, assumed, _ = (cell.strip() for cell in row.split("|"))
    assert bandwidth.split()[0] == f"{network.bandwidth / 1e9:.3g}"
    assert one_byte == time_text(network.one_way(0))
    assert assumed == ", ".join(network.assumed)


def test_faster_networks_are_faster() -> None:
    by_name = {network.name: network for network in NETWORKS}
    order = ("ethernet-1g", "ethernet-10g", "ethernet-25g", "ib-hdr")
    for size in (0, 1000, 10**7):
        found = [by_name[name].one_way(size) for name in order]
        assert found == sorted(found, reverse=True)


def test_hosts_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.xml"
    file.write_text(CLUSTER)
    cluster = described(file, MessageCosts())
    assert cluster.hosts == 5
    assert host_speed(cluster) == 2.5e9
    assert cluster.xml(5, 1e9) == CLUSTER
    with pytest.raises(AsphaltError, match=r"mine\.xml: 5 hosts are too few for 6 ranks"):
        cluster.xml(6, 1e9)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("atm", None, "there is no platform 'atm'; there are ethernet-1g, .* or a FILE.xml"),
        (
            "ib-hdx",
            None,
            r"no platform 'ib-hdx' \(did you mean 'ib-hdr'\?\); there are ethernet-1g",
        ),
        ("none.xml", None, "none.xml: No such file or directory; 'asphalt simulate --list-"),
        ("bad.xml", "<platform>\n<host", r"bad\.xml:2: is not XML"),
        ("other.xml", "<project/>", "is not a platform file: it holds a <project>"),
        ("empty.xml", "<platform version='4.1'/>", "describes no hosts"),
    ],
)
def test_what_is_no_platform(
    name: str, text: str | None, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path(name).write_text(text)
    with pytest.raises(AsphaltError, match=message):
        chosen([name])


def test_built_in_platforms_have_their_own_costs() -> None:
    with pytest.raises(AsphaltError, match="for platform files"):
        chosen(["ib-hdr"], 1e-6)
