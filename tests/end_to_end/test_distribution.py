"""The distributions: built, installed into an empty environment, and used there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

HALO = """\
program halo
  use mpi
  implicit none
  integer, parameter :: n = 1000
  integer :: ierr, rank, other, i
  double precision :: a(n), b(n), c(n)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  other = 1 - rank
  a = rank
  call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, other, 1, b, n, MPI_DOUBLE_PRECISION, other, 1, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  do i = 1, n
    c(i) = sin(1d0*i)*cos(2d0*i)
  end do
  print *, sum(b), sum(c)
  call MPI_Finalize(ierr)
end program halo
"""


def finished(command: list[str], folder: Path, **variables: str) -> str:
    left = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    environment = {name: value for name, value in os.environ.items() if name not in left}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def built(tree: Path, kind: str, folder: Path) -> Path:
    """The distribution of one kind that is built of a tree."""
    finished([sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)], tree)
    (found,) = folder.iterdir()
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from nothing but the source distribution."""
    folder = tmp_path_factory.mktemp("distributions")
    with tarfile.open(built(ROOT, "sdist", folder / "sdist")) as archive:
        archive.extractall(folder / "source", filter="data")
    (tree,) = (folder / "source").iterdir()
    assert (tree / "LICENSE").exists()
    return built(tree, "wheel", folder / "wheel")


def test_the_wheel_is_complete(wheel: Path) -> None:
    name = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["name"]
    assert wheel.name.startswith(name.replace("-", "_") + "-")
    shipped = {"asphalt.mk": "asphalt/data/asphalt.mk"}
    listed = subprocess.run(
        ["git", "ls-files", "asphalt", "fortran_runtime"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    files = listed.stdout.split()
    if not files:
        pytest.skip("no repository")
    shipped |= {f: f"asphalt/data/{f}" if f.startswith("fortran_") else f for f in files}
    with zipfile.ZipFile(wheel) as archive:
        assert set(shipped.values()) <= set(archive.namelist())


@pytest.fixture(scope="module")
def command(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The command ``asphalt`` of an environment that has the wheel, and what it depends on."""
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, symlinks=True, with_pip=False)
    python = str(place / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps"]
    finished([*pip, "--no-index", str(wheel)], place)
    (packages,) = place.glob("lib/python*/site-packages")
    # the packages of this environment, without what its own .pth files name: the checkout
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    where = "import asphalt; print(asphalt.__file__)"
    assert finished([python, "-c", where], place).startswith(str(place))
    return str(place / "bin" / "asphalt")


def test_it_is_used_without_the_checkout(command: str, tmp_path: Path) -> None:
    (tmp_path / "halo.f90").write_text(HALO)
    assert "simulate" in finished([command, "--help"], tmp_path)
    assert "MPI_Sendrecv  proved" in finished([command, "scan", "halo.f90"], tmp_path)
    assert "applied" in finished([command, "apply", "halo.f90", "--output", "out"], tmp_path)
    assert (tmp_path / "out" / "asphalt_core.f90").exists()
    assert "ASP101" in finished([command, "explain", "ASP101"], tmp_path)
    assert Path(finished([command, "mk"], tmp_path).strip()).is_file()
    finished([command, "doctor"], tmp_path)


@pytest.mark.wide
@pytest.mark.skipif(shutil.which("gfortran") is None, reason="needs gfortran")
def test_it_calibrates_without_the_checkout(command: str, tmp_path: Path) -> None:
    finished([command, "calibrate", "--repeats", "1", "-o", "machine.toml"], tmp_path)
    assert tomllib.loads((tmp_path / "machine.toml").read_text())


@pytest.mark.wide
@pytest.mark.skipif(shutil.which("smpif90") is None, reason="needs SMPI")
def test_it_simulates_without_the_checkout(command: str, tmp_path: Path) -> None:
    (tmp_path / "halo.f90").write_text(HALO)
    options = ["--np", "2", "--format", "json"]
    assert '"difference": null' in finished([command, "simulate", "halo.f90", *options], tmp_path)


@pytest.mark.skipif(shutil.which("mpif90.mpich") is None, reason="needs MPICH")
def test_it_verifies_without_the_checkout(command: str, tmp_path: Path) -> None:
    (tmp_path / "halo.f90").write_text(HALO)
    options = ["--np", "2", "--mpi", "mpich", "--any-order", "--race"]
    assert "equal" in finished([command, "verify", "halo.f90", *options], tmp_path)
