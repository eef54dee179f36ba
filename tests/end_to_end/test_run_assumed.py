"""What is transformed under assumptions that hold, run: the same bits as the original."""

from __future__ import annotations

from pathlib import Path

import pytest

from asphalt.config.settings import Settings
from asphalt.project import Project
from support.mpi_run import OPENMPI, RUNTIME, build, installed, run

PROGRAM = """\
program exchange
  use mpi
  implicit none
  integer, parameter :: n = 3
  integer :: z, p, me, np, nz, ierr
  real(8), allocatable :: s(:,:,:), r(:,:,:)
  logical :: often
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  open(9, file='input', status='old', action='read')
  read(9, *) often, nz
  allocate(s(n,nz,np), r(n,nz,np))
  !$asphalt assume(uniform: often)
  if (often) then
    !$asphalt assume(uniform: NZ) tile(2), &
    !$asphalt   depth(3)
    do z = 1, nz
      do p = 1, np
        call work(s(:,z,p), n, z, p + 10*me)
      end do
    end do
    !$asphalt assume(pure: work)
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
  else
    s = 1
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
  end if
  open(20, file='out'//achar(48 + me), status='replace')
  write(20, '(z16)') r
  close(20)
  call MPI_Finalize(ierr)
end program exchange
"""
WORK = """\
subroutine work(a, n, z, p)
  integer :: n, z, p
  real(8) :: a(n)
  a = [(sin(0.1d0*i*z) + p, i = 1, n)]
end subroutine work
"""


@pytest.mark.skipif(not installed(OPENMPI), reason="needs Open MPI")
def test_assumptions_of_the_source(tmp_path: Path) -> None:
    source = tmp_path / "given" / "exchange.f90"
    source.parent.mkdir()
    source.write_text(PROGRAM)
    (change,) = Project(source, settings=Settings(cache=False, jobs=1)).transform()
    text = change.after.decode()
    for line in PROGRAM.splitlines():
        if "$asphalt" in line:
            assert f"{line}\n" in text
    (assumed,) = (line for line in text.splitlines() if "! asphalt: assumed: " in line)
    names = assumed.partition("assumed: ")[2].split(", ")
    assert {*names} >= {"pure:work", "uniform:nz", "uniform:often"}
    assert change.sites[0].assumptions == change.sites[0].accepted

    for folder in (before := tmp_path / "before", after := tmp_path / "after"):
        folder.mkdir()
        (folder / "work.f90").write_text(WORK)
    (before / "exchange.f90").write_text(PROGRAM)
    (after / "exchange.f90").write_text(text)
    (after / "asphalt_params.inc").write_text(
        "".join(
            f"      integer, parameter :: asphalt_{what}_{p.site} = {p.of(what)}\n"
            for p in change.parameters
            for what in ("k", "d")
        )
    )
    flags = ["-O2", "-fallow-argument-mismatch"]
    programs = [
        build(OPENMPI, [before / "work.f90", before / "exchange.f90"], before, flags),
        build(OPENMPI, [*RUNTIME, after / "work.f90", after / "exchange.f90"], after, flags),
    ]
    for often, ranks in (("T", 3), ("F", 3), ("T", 1)):
        seen = []
        for program in programs:
            (program.parent / "input").write_text(f"{often} 7\n")
            outcome = run(OPENMPI, program, ranks)
            assert outcome.code == 0, outcome.stderr
            seen.append([(program.parent / f"out{rank}").read_text() for rank in range(ranks)])
        assert seen[0] == seen[1]
