"""What is under way in a simulated run: a program for each kind of operation, counted by hand."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from asphalt.cli.main import main
from asphalt.machine.choose import chosen
from asphalt.simulation.runs import BuiltProgram, Simulator, TimedPart
from asphalt.simulation.timeline import Doing, Timeline
from support.mpi_run import SMPI, compile_source, installed, link

pytestmark = pytest.mark.skipif(not installed(SMPI), reason="needs SMPI")

# Every message has 100 integers, 400 bytes; each operation is done twice.
PROGRAM = """\
program p
  use mpi
  implicit none
  integer, parameter :: all = MPI_COMM_WORLD, int = MPI_INTEGER
  integer :: ierr, rank, n, req(2), s(100), r(400), k, other, st(MPI_STATUS_SIZE), f(400)
  logical :: done
  call MPI_Init(ierr)
  call MPI_Comm_rank(all, rank, ierr)
  s = rank; r = 0; f = rank; st = 0; n = 0; done = .false.
  other = mod(rank+1, 2)
  do k = 1, 2
    if (rank == 0) then
{first}
    else if (rank == 1) then
{second}
    end if
{every}
  end do
  call MPI_Finalize(ierr)
end program p
"""
_SEND = "call MPI_Send(s, 100, int, other, 7, all, ierr)"
_ISEND = "call MPI_Isend(s, 100, int, other, 7, all, req(2), ierr)"
_RECV = "call MPI_Recv(r, 100, int, other, 7, all, st, ierr)"
_IRECV = "call MPI_Irecv(r, 100, int, other, 7, all, req(1), ierr)"
_ANY = _IRECV.replace("other, 7", "MPI_ANY_SOURCE, MPI_ANY_TAG")
_WAIT = "call MPI_Wait(req(1), st, ierr)"
_WAITS = f"{_WAIT}\ncall MPI_Wait(req(2), st, ierr)"
_ALL = "call MPI_Waitall(2, req, MPI_STATUSES_IGNORE, ierr)"
_INIT = (
    "if (k == 1) call MPI_Recv_init(r, 100, int, other, 7, all, req(1), ierr)\n"
    "if (k == 1) call MPI_Send_init(s, 100, int, other, 7, all, req(2), ierr)\n"
)
_SENDRECV = "call MPI_Sendrecv(s, 100, int, {to}, 7, r, 100, int, {of}, 7, all, st, ierr)"
_REPLACE = "call MPI_Sendrecv_replace(s, 100, int, other, 7, other, 7, all, st, ierr)"
_TEST = "do while (.not. done)\ncall MPI_Test(req(1), done, st, ierr)\nend do\ndone = .false."

ONE, AGAIN = [0, 400, 0], [0, 400, 0, 400, 0]
TWO = [0, 400, 800, 400, 0]
"""The bytes under way from a rank: one message, one after the other, two at a time."""


def simulated(
    folder: Path, ranks: int, first: str = "", second: str = "", every: str = ""
) -> Timeline:
    """The timeline of a program in which ranks 0 and 1, and every rank, do something twice."""
    source = folder / "p.f90"
    source.write_text(PROGRAM.format(first=first, second=second, every=every))
    assert compile_source(SMPI, source, folder, ["-O1", "-ffree-line-length-none"]).code == 0
    link(SMPI, ["p.o"], folder, name="p")
    (platform,) = chosen(("ethernet-1g",))
    program = BuiltProgram(folder, "./p")
    found = Simulator(platform, 1e9, 60).run(program, ranks, TimedPart.WHOLE, trace=True)
    assert found.timeline is not None
    return found.timeline


def levels(timeline: Timeline) -> list[list[float]]:
    """The bytes under way from each rank, one after the other."""
    found: list[list[float]] = []
    for lane in timeline.lanes:
        amounts = [amount for _, amount in lane.underway] or [0.0]
        changed = [b for a, b in pairwise(amounts) if a != b]
        found.append([amounts[0], *changed])
    return found


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (_SEND, _RECV, [TWO, [0]]),
        (_SEND.replace("Send", "Ssend"), _RECV, None),
        (_SEND.replace("Send", "Rsend"), _RECV, [TWO, [0]]),
        (f"{_ISEND}\n{_WAITS.splitlines()[1]}", _RECV, [TWO, [0]]),
        (_SEND, f"{_IRECV}\n{_WAIT}", [TWO, [0]]),
        (_SEND, f"{_IRECV}\n{_TEST}", [TWO, [0]]),
        (_SEND, f"{_ANY}\n{_WAIT}", [TWO, [0]]),
        (_SEND, f"{_IRECV}\ncall MPI_Waitany(1, req, n, st, ierr)", [TWO, [0]]),
        (f"{_IRECV}\n{_ISEND}\n{_WAITS}",) * 2 + ([AGAIN, AGAIN],),
        (f"{_IRECV}\n{_ISEND}\n{_ALL}",) * 2 + ([AGAIN, AGAIN],),
        (f"{_ANY}\n{_ISEND}\n{_ALL}",) * 2 + ([AGAIN, AGAIN],),
        (f"{_INIT}call MPI_Startall(2, req, ierr)\n{_ALL}",) * 2 + ([AGAIN, AGAIN],),
        (_SENDRECV.format(to="other", of="other"),) * 2 + ([AGAIN, AGAIN],),
        (_SENDRECV.format(to="other", of="MPI_ANY_SOURCE"),) * 2 + ([AGAIN, AGAIN],),
        (_REPLACE,) * 2 + ([AGAIN, AGAIN],),
    ],
)
def test_messages_between_two_ranks(
    tmp_path: Path, first: str, second: str, expected: list[list[float]] | None
) -> None:
    found = levels(simulated(tmp_path, 2, first, second))
    if expected is None:  # the second one is sent when the first one has arrived
        assert max(found[0]) == 400
        assert found[0][-1] == 0
    else:
        assert found == expected


def sent(timeline: Timeline) -> list[float]:
    """The bytes that each rank sends."""
    return [sum(b - a for a, b in pairwise(one) if b > a) for one in levels(timeline)]


@pytest.mark.parametrize("start", ["", "I"])
@pytest.mark.parametrize(
    ("operation", "arguments", "messages"),
    [
        ("bcast", "s, 100, int, 0, all", None),
        ("reduce", "s, r, 100, int, MPI_SUM, 0, all", [0, 1, 1]),
        ("allreduce", "s, r, 100, int, MPI_SUM, all", None),
        ("alltoall", "f, 100, int, r, 100, int, all", [2, 2, 2]),
    ],
)
def test_collective_operations(
    tmp_path: Path, start: str, operation: str, arguments: str, messages: list[int] | None
) -> None:
    call = f"call MPI_{start}{operation}({arguments}, {'req(1), ' * bool(start)}ierr)"
    timeline = simulated(tmp_path, 3, every=f"{call}\n{_WAIT if start else ''}")
    assert all(one[-1] == 0 for one in levels(timeline))
    found = sent(timeline)
    if messages is not None:
        assert found == [2 * 400 * count for count in messages]
    elif operation == "bcast":  # each rank but one gets it once, from whomever
        assert sum(found) == 2 * 2 * 400
    else:  # what each rank has must come to both others
        assert sum(found) >= 2 * 4 * 400


def test_sendrecv_with_no_rank_on_one_side_has_its_name(tmp_path: Path) -> None:
    null = "MPI_PROC_NULL"
    first = _SENDRECV.format(to=null, of="other")
    second = _SENDRECV.format(to="other", of=null)
    timeline = simulated(tmp_path, 2, first, second)
    assert levels(timeline) == [[0], TWO]
    waiting = [one for one in timeline.lanes[0].intervals if one.doing is Doing.WAITING]
    assert {one.call for one in waiting} == {"MPI_Sendrecv"}


HALO = """\
program heat
  use mpi
  implicit none
  integer, parameter :: n = 300
  integer :: ierr, rank, ranks, left, right, i, j, step
  double precision :: u(0:n+1, 0:n+1), v(0:n+1, 0:n+1)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  left = rank - 1
  right = rank + 1
  {ends}
  u = rank
  do step = 1, 5
    call MPI_Sendrecv(u(1, n), n, MPI_DOUBLE_PRECISION, right, 1, u(1, 0), n, &
                      MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call MPI_Sendrecv(u(1, 1), n, MPI_DOUBLE_PRECISION, left, 2, u(1, n+1), n, &
                      MPI_DOUBLE_PRECISION, right, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    do j = 1, n
      do i = 1, n
        v(i, j) = u(i, j) + 0.1d0*(u(i-1, j) + u(i+1, j) + u(i, j-1) + u(i, j+1) - 4*u(i, j))
      end do
    end do
    do j = 1, n
      do i = 1, n
        u(i, j) = v(i, j)
      end do
    end do
  end do
  if (rank == 0) print '(es23.15)', sum(u(1:n, 1:n))
  call MPI_Finalize(ierr)
end program heat
"""


@pytest.mark.parametrize(
    "ends",
    [
        "if (left < 0) left = MPI_PROC_NULL\n  if (right >= ranks) right = MPI_PROC_NULL",
        "left = modulo(left, ranks)\n  right = modulo(right, ranks)",
    ],
)
def test_a_halo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ends: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "heat.f90").write_text(HALO.format(ends=ends))
    options = ("--np", "4", "--platform", "ethernet-1g", "--no-cache", "-o", "out")
    assert main(["simulate", "heat.f90", *options]) == 0
    shown = capsys.readouterr().out
    assert "could be hidden: the time of the original beyond its computation alone" in shown
    (row,) = json.loads((tmp_path / "out/simulation.json").read_text())["runs"]
    assert row["difference"] is None
    assert row["transformed"] < row["original"]
    assert row["hideable"] == row["exposed_original"]
    assert 0.5 < row["overlap_efficiency"] < 1
    page = (tmp_path / "out/timeline-ethernet-1g-4.html").read_text()
    data = json.loads(page.partition("const data = ")[2].partition(";\n")[0])
    original, transformed = data["versions"]
    # two messages of 2,400 bytes are under way at most
    assert original["title"].endswith("up to 2.4 kB of a rank under way")
    assert transformed["title"].startswith("transformed: ")
    assert transformed["title"].endswith("up to 4.8 kB of a rank under way")
    for version in (original, transformed):
        assert "communicators" not in version["summary"]
        for lane in version["lanes"]:
            assert lane["underway"][-1] == 0
            assert sum(1 for amount in lane["underway"] if amount > 0) > 20
    assert "communicator" not in data["caption"]
