"""Compile and run Fortran MPI programs in tests, with Open MPI, MPICH or SimGrid's SMPI.

Compilers and MPI are never mocked: an MPI that is not installed makes the test skip
(``pytest.mark.parametrize("mpi", installed())`` gives the ones that are there).
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

RUNTIME = Path(__file__).parent.parent / "fortran_runtime" / "asphalt_rt.f90"

_ENVIRONMENT = {
    # containers run tests as root, and there are more ranks than cores
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    # keeps shared memory segments of a container without CAP_SYS_PTRACE from complaining
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMP_NUM_THREADS": "1",
}

_CLUSTER = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n" suffix="" radical="0-63" speed="1Gf" bw="1.25GBps" lat="5us"/>
</platform>
"""


@dataclass(frozen=True, slots=True)
class Mpi:
    """One MPI: its compiler wrappers for free and fixed form, and its launcher."""

    name: str
    free: str
    fixed: str
    launcher: str

    def __str__(self) -> str:
        return self.name

    @property
    def simulated(self) -> bool:
        """Whether ranks are simulated (no ``mpi_f08``, sources are rewritten by text)."""
        return self.name == "smpi"


OPENMPI = Mpi("openmpi", "mpif90.openmpi", "mpif90.openmpi", "mpirun.openmpi")
MPICH = Mpi("mpich", "mpif90.mpich", "mpif90.mpich", "mpirun.mpich")
SMPI = Mpi("smpi", "smpif90", "smpiff", "smpirun")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a compiler or a program did: exit code and what it printed."""

    code: int
    stdout: str
    stderr: str

    @property
    def warnings(self) -> tuple[str, ...]:
        """The diagnostics of a compilation: lines that start with ``Warning:`` or ``Error:``."""
        lines = self.stderr.splitlines()
        return tuple(line for line in lines if line.startswith(("Warning:", "Error:", "Fatal")))


class BuildError(AssertionError):
    """A program that a test needs did not compile."""


def installed(*wanted: Mpi) -> list[Mpi]:
    """Which of ``wanted`` (default: all three) can compile and run here."""
    return [
        mpi
        for mpi in wanted or (OPENMPI, MPICH, SMPI)
        if all(shutil.which(tool) for tool in (mpi.free, mpi.fixed, mpi.launcher))
    ]


def compile_source(mpi: Mpi, source: Path, folder: Path, flags: Sequence[str] = ()) -> Outcome:
    """Compile one file to ``folder/STEM.o``, modules included; the caller looks at the outcome.

    The source is copied to ``folder`` first: SMPI's wrappers write beside it.
    """
    copy = folder / source.name
    if copy.resolve() != source.resolve():
        shutil.copyfile(source, copy)
    fixed = source.suffix.lower() in (".f", ".for", ".ftn")
    # wrappers place their own -I last, so that ours comes first
    command = [mpi.fixed if fixed else mpi.free, "-c", *flags, copy.name, "-o", copy.stem + ".o"]
    return _finished(command, folder, 120)


def build(
    mpi: Mpi, sources: Sequence[Path], folder: Path, flags: Sequence[str] = (), name: str = "prog"
) -> Path:
    """Compile ``sources`` in order, link them, and return the program.

    Raises:
        BuildError: with the compiler's words.
    """
    for source in sources:
        outcome = compile_source(mpi, source, folder, flags)
        if outcome.code != 0:
            raise BuildError(f"{mpi} {source.name}:\n{outcome.stderr}")
    return link(mpi, [source.stem + ".o" for source in sources], folder, flags, name)


def link(
    mpi: Mpi, objects: Sequence[str], folder: Path, flags: Sequence[str] = (), name: str = "prog"
) -> Path:
    """Link what was compiled, and return the program.

    Raises:
        BuildError: with the linker's words.
    """
    outcome = _finished([mpi.free, *flags, *objects, "-o", name], folder, 120)
    if outcome.code != 0:
        raise BuildError(f"{mpi} link:\n{outcome.stderr}")
    return folder / name


def run(
    mpi: Mpi, program: Path, ranks: int, arguments: Sequence[str] = (), timeout: float = 60.0
) -> Outcome:
    """Run a program on ``ranks`` ranks in its own folder.

    A run that takes longer than ``timeout`` seconds is killed: exit code 124.
    """
    command = [mpi.launcher, "-np", str(ranks)]
    if mpi.simulated:
        platform = program.parent / "cluster.xml"
        platform.write_text(_CLUSTER)
        command += ["-platform", str(platform), "--cfg=smpi/simulate-computation:no"]
        command += ["--cfg=smpi/test:1e-7", "--cfg=smpi/grow-injected-times:no"]
        command += ["--log=root.thresh:error"]
    return _finished([*command, str(program.resolve()), *arguments], program.parent, timeout)


def _finished(command: Sequence[str], folder: Path, timeout: float) -> Outcome:
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **_ENVIRONMENT},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.terminate()  # launchers end their ranks, which may be in other process groups
        try:
            stdout, stderr = process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            stdout, stderr = process.communicate()
        return Outcome(124, stdout, stderr + f"\nno end after {timeout:g} s")
    return Outcome(process.returncode, stdout, stderr)
