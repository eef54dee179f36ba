"""Two libraries that were transformed apart, each with the runtime that it uses, in one program."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from asphalt.cli.main import main
from asphalt.running.mpi import environment
from support.cli_programs import TRANSPOSES
from support.mpi_run import MPICH, OPENMPI, Mpi, installed, run

SHIFTS = """\
module shifts
  implicit none
contains

  subroutine shift(n, me, np, comm, a, b, c)
    use mpi
    implicit none
    integer, intent(in) :: n, me, np, comm
    real(8), intent(in) :: a(n)
    real(8), intent(out) :: b(n), c(n)
    integer :: i, ierr

    call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, modulo(me+1,np), 1, b, n, MPI_DOUBLE_PRECISION, &
                      modulo(me-1,np), 1, comm, MPI_STATUS_IGNORE, ierr)
    do i = 1, n
      c(i) = sin(dble(i)) + 1
    end do
    c(1) = c(1) + b(n)
  end subroutine shift

end module shifts
"""
MAIN = """\
program both
  use mpi
  use transposes, only: transpose
  use shifts, only: shift
  implicit none
  integer, parameter :: n = 3, nz = 10, m = 5000
  integer :: me, np, ierr
  real(8), allocatable :: s(:,:,:), r(:,:,:)
  real(8) :: a(m), b(m), c(m)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, np, ierr)
  allocate(s(n, nz, np), r(n, nz, np))
  call transpose(n, nz, np, me, MPI_COMM_WORLD, s, r)
  a = me + sum(r)
  call shift(m, me, np, MPI_COMM_WORLD, a, b, c)
  print '(i0,2es24.16)', me, sum(r), sum(b) + sum(c)
  call MPI_Finalize(ierr)
end program both
"""
LIBRARIES = {"transposes": TRANSPOSES, "shifts": SHIFTS}


def called(folder: Path, *words: str) -> str:
    done = subprocess.run(
        words, cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stderr}"
    return done.stdout


def library(mpi: Mpi, folder: Path, runtime: list[str]) -> Path:
    """An archive of a library and the files of its runtime, in the order that asphalt gives."""
    user = next(path.name for path in folder.glob("*.f90") if path.stem in LIBRARIES)
    for name in (*runtime, user):
        called(folder, mpi.free, "-O1", "-c", name)
    objects = [f"{Path(name).stem}.o" for name in (*runtime, user)]
    called(folder, "ar", "rcs", "lib.a", *objects)
    return folder / "lib.a"


def printed(mpi: Mpi, folder: Path, parts: dict[Path, list[str]]) -> list[str]:
    folder.mkdir()
    (folder / "main.f90").write_text(MAIN)
    modules = [f"-I{part}" for part in parts]
    archives = [str(library(mpi, part, runtime)) for part, runtime in parts.items()]
    called(folder, mpi.free, "-O1", *modules, "main.f90", *archives, "-o", "both")
    outcome = run(mpi, folder / "both", 2)
    assert outcome.code == 0, outcome.stderr
    return sorted(outcome.stdout.splitlines())


@pytest.mark.parametrize("mpi", installed(OPENMPI, MPICH)[:1], ids=str)
def test_two_libraries_are_linked_into_one_program(
    mpi: Mpi, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given, made = dict[Path, list[str]](), dict[Path, list[str]]()
    for name, text in LIBRARIES.items():
        source, out = tmp_path / "given" / name, tmp_path / "made" / name
        source.mkdir(parents=True)
        (source / f"{name}.f90").write_text(text)
        common = ["--no-cache", "--jobs", "1", "--passes", "all", "--tile", "3"]
        assert main(["apply", str(source), "--output", str(out), *common]) == 0
        given[source] = []
        made[out] = re.findall(r"asphalt_\w+\.f90", capsys.readouterr().err)
        assert sorted(made[out]) == sorted(path.name for path in out.glob("asphalt_*.f90"))
    one, other = made
    assert "asphalt_exchange.f90" in {*made[one]} - {*made[other]}
    assert "asphalt_transfers.f90" in {*made[other]} - {*made[one]}
    both = {*made[one]} & {*made[other]}
    assert "asphalt_core.f90" in both
    for name in both:
        assert (one / name).read_bytes() == (other / name).read_bytes()
    monkeypatch.setenv("ASPHALT_TILED", str(tmp_path / "tiled"))
    expected = printed(mpi, tmp_path / "before", given)
    assert len(expected) == 2
    assert printed(mpi, tmp_path / "after", made) == expected
    turned = dict(reversed(made.items()))
    assert printed(mpi, tmp_path / "turned", turned) == expected
    assert (tmp_path / "tiled").exists()
