"""asphalt in a project of CMake."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.mpi_run import OPENMPI, installed, run

pytestmark = [
    pytest.mark.skipif(not installed(OPENMPI), reason="needs Open MPI"),
    pytest.mark.skipif(shutil.which("cmake") is None, reason="needs CMake"),
]
ROOT = Path(__file__).resolve().parents[2]
LISTS = """\
cmake_minimum_required(VERSION 3.18)
project(halo Fortran)
find_package(asphalt REQUIRED)
add_library(kern STATIC kern.f90)
add_executable(halo main.f90)
target_link_libraries(halo kern)
asphalt_transform(TARGET kern)
asphalt_transform(TARGET halo PASSES nonblocking motion)
"""
KERN = """\
subroutine work(c, n)
  implicit none
  integer, intent(in) :: n
  double precision, intent(out) :: c(n)
  integer :: i
  do i = 1, n
    c(i) = sin(1d0*i)*cos(2d0*i)
  end do
end subroutine work
"""
MAIN = """\
program main
  use mpi
  implicit none
  integer, parameter :: n = 1000
  integer :: ierr, rank, other
  double precision :: a(n), b(n), c(n)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  other = 1 - rank
  a = rank
  call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, other, 1, b, n, MPI_DOUBLE_PRECISION, other, 1, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  call work(c, n)
  if (rank == 0) print *, sum(b), sum(c)
  call MPI_Finalize(ierr)
end program main
"""


def test_targets_are_transformed(tmp_path: Path) -> None:
    for name, text in (("CMakeLists.txt", LISTS), ("kern.f90", KERN), ("main.f90", MAIN)):
        (tmp_path / name).write_text(text)
    command = tmp_path / "bin" / "asphalt"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m asphalt "$@"\n')
    command.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "FC": OPENMPI.free,
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }

    def finished(*words: str) -> str:
        done = subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    place = finished(str(command), "mk", "--cmake").strip()
    finished("cmake", "-B", "build", f"-Dasphalt_DIR={place}", "-G", "Unix Makefiles")
    finished("cmake", "--build", "build")
    assert "asphalt_core" in finished("nm", "build/halo")
    assert run(OPENMPI, tmp_path / "build" / "halo", 2).code == 0
