"""``scan`` and ``apply`` give each site the same verdict, code and assumptions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from asphalt.cli.main import main

_HEAD = """\
subroutine work(n, v, w, lo, hi, next, last{dummies})
  use mpi
  implicit none
  integer, intent(in) :: n, next, last
  real(8), intent(inout) :: v(n), w(n), lo(4), hi(4)
  integer :: i, ierr{declared}
  real(8) :: began, took
"""
_LOOP = """\
  do i = 1, n
    w(i) = sqrt(v(i) + i)
  end do
"""
_END = "end subroutine work\n"
_MAIN = """\
program ring
  use mpi
  implicit none
  real(8) :: v(100000), w(100000), lo(4), hi(4)
  integer :: rank, ranks, ierr
  v = 1
  lo = 0
  hi = 0
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  lo(1) = rank
  call work(100000, v, w, lo, hi, mod(rank + 1, ranks), mod(rank - 1 + ranks, ranks))
  print *, w(1), w(100000), hi
  call MPI_Finalize(ierr)
end program ring
"""
_RING = """\
  call MPI_Sendrecv(lo, 4, MPI_DOUBLE_PRECISION, next, 1, hi, 4, MPI_DOUBLE_PRECISION, &
                    last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
"""
_SUM = """\
  call MPI_Allreduce(lo, hi, 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
"""
_CLOCKED = "  began = MPI_Wtime()\n{}  took = MPI_Wtime() - began\n{}  print *, took\n"
_TESTED = "  if (ierr /= 0) call stop_with(ierr)\n"
_OWN = """\
  call MPI_Irecv(hi, 4, MPI_DOUBLE_PRECISION, last, 1, MPI_COMM_WORLD, r(1), ierr)
  call MPI_Isend(lo, 4, MPI_DOUBLE_PRECISION, next, 1, MPI_COMM_WORLD, r(2), ierr)
  call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, ierr)
"""
_TRANSPOSE = """\
subroutine scatter(s, r, n, nz, np)
  use mpi
  implicit none
  integer, intent(in) :: n, nz, np
  real(8) :: s(n,nz,np), r(n,nz,np)
  integer :: z, p, i, ierr
{head}      do i = 1, n
        s(i,z,p) = dble(i + z)/p
      end do
    end do
  end do
  call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                    MPI_COMM_WORLD, ierr)
end subroutine scatter
"""
_NEST = "  do z = 1, nz\n    do p = 1, np\n"


def _work(body: str, dummies: str = "", declared: str = "") -> str:
    return _HEAD.format(dummies=dummies, declared=declared) + body + _END


_PROGRAMS: dict[str, tuple[dict[str, str], set[str]]] = {
    "proved": ({"work.f90": _work(_RING + _LOOP), "main.f90": _MAIN}, {"proved"}),
    "nothing beside": ({"work.f90": _work(_RING), "main.f90": _MAIN}, {"ASP026"}),
    "timers": (
        {"work.f90": _work(_CLOCKED.format(_RING, _LOOP)), "main.f90": _MAIN},
        {"timers"},
    ),
    "timers and nothing beside": (
        {"work.f90": _work(_CLOCKED.format(_RING, "")), "main.f90": _MAIN},
        {"ASP026"},
    ),
    "bits": ({"work.f90": _work(_SUM + _LOOP), "main.f90": _MAIN}, {"bits"}),
    "bits and nothing beside": ({"work.f90": _work(_SUM), "main.f90": _MAIN}, {"ASP026"}),
    "control": ({"work.f90": _work(_SUM.replace("SUM", "MAX") + _LOOP)}, {"control"}),
    "fatal": ({"work.f90": _work(_RING + _TESTED + _LOOP), "main.f90": _MAIN}, {"fatal"}),
    "fatal, and the program's own operations": (
        {
            "work.f90": _work(_OWN + _TESTED + _LOOP, declared=", r(2)"),
            "main.f90": _MAIN,
        },
        {"fatal"},
    ),
    "exchange": ({"scatter.f90": _TRANSPOSE.format(head=_NEST)}, {"proved"}),
    "a nest of two files": (
        {
            "scatter.F90": _TRANSPOSE.format(head='#include "nest.inc"\n'),
            "nest.inc": _NEST,
        },
        {"ASP004"},
    ),
}


@pytest.mark.parametrize("passes", ["prepush", "all"])
@pytest.mark.parametrize("name", _PROGRAMS)
def test_verdicts_are_the_same(
    name: str, passes: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files, expected = _PROGRAMS[name]
    source = tmp_path / "source"
    source.mkdir()
    for file, text in files.items():
        (source / file).write_text(text)
    usual = ["--no-cache", "--jobs", "1", "--passes", passes, "--format", "json", str(source)]
    assert main(["scan", *usual]) == 0
    scanned = _verdicts(capsys.readouterr().out)
    assert main(["apply", *usual, "--output", str(tmp_path / "out")]) == 0
    assert _verdicts(capsys.readouterr().out) == scanned
    if passes == "all" or "MPI_Alltoall" in str(files):
        said = {word for _, verdict, code, words in scanned for word in (verdict, code, *words)}
        assert expected <= said


def _verdicts(report: str) -> set[tuple[int, str, str | None, tuple[str, ...]]]:
    """Line, verdict, code and assumptions of each site; what is applied was proved."""
    return {
        (
            site["line"],
            "proved" if site["verdict"] == "applied" else site["verdict"],
            site["code"],
            tuple(site["assumptions"]),
        )
        for site in json.loads(report)["sites"]
    }


@pytest.mark.parametrize("name", ["bits", "bits and nothing beside", "control"])
def test_texts_agree_on_long_programs(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a report as JSON, too, where asphalt saves time on readings of clocks."""
    files, _ = _PROGRAMS[name]
    source = tmp_path / "source"
    source.mkdir()
    for file, text in files.items():
        (source / file).write_text(text + "! long\n" * 1000)
    usual = ["--no-cache", "--jobs", "1", str(source)]
    assert main(["scan", *usual]) == 0
    scanned = capsys.readouterr().out.splitlines()
    assert main(["apply", *usual, "--output", str(tmp_path / "out")]) == 0
    applied = capsys.readouterr().out.replace("not transformed: ", "").splitlines()
    assert applied == scanned
    assert scanned
