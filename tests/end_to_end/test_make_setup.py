"""``make setup`` says what it is doing, one line a step, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.mpi_run import MPICH, OPENMPI, SMPI, installed
from support.places import ROOT


def output(command: list[str], place: Path) -> str:
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def test_each_step_of_the_setup_has_a_line(tmp_path: Path) -> None:
    for name in ("Makefile", "bench/packages.sh", "requirements.lock", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    # what would be executed
    planned = output(["make", "-n", "setup", f"PYTHON={sys.executable}"], tmp_path).splitlines()
    steps = ["packages.sh", 'echo "setup: Python packages', 'echo "setup: asphalt itself']
    places = [next(i for i, line in enumerate(planned) if step in line) for step in steps]
    assert places == sorted(places)
    # nothing else is shown: make tells the commands that have no @ in front
    rules = (ROOT / "Makefile").read_text().split("demo: setup")[0].split("setup: .venv")[1]
    commands = [line for line in rules.replace("\\\n", "").splitlines() if line[:1] == "\t"]
    assert commands
    assert all(line.startswith("\t@") for line in commands)


@pytest.mark.skipif(
    not all(map(installed, (SMPI, OPENMPI, MPICH))), reason="needs what the setup installs"
)
def test_system_packages_are_looked_for_without_noise(tmp_path: Path) -> None:
    for tool in ("ip", "tc", "dpkg-source", "gdb"):
        if shutil.which(tool, path="/usr/bin:/bin:/usr/sbin:/sbin") is None:
            pytest.skip(f"needs {tool}")
    told = output(["sh", str(ROOT / "bench/packages.sh"), sys.executable], tmp_path)
    assert told == "setup: compilers, MPI libraries and tools are all there\n"
