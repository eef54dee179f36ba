"""The MPI implementations: how to compile and start a program, and how to install each."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from asphalt.config.errors import UsageError
from asphalt.ir.records import record

_FIXED = (".f", ".for", ".ftn", ".f77")


@record
class Mpi:
    """An MPI: its compilers for free form, fixed form and C, its launcher, its Debian packages."""

    name: str
    title: str
    free: str
    fixed: str
    c: str
    launcher: str
    packages: tuple[str, ...]

    def __str__(self) -> str:
        return self.name

    @property
    def simulated(self) -> bool:
        """Whether ranks are simulated (no ``mpi_f08``; sources are rewritten as text)."""
        return self.name == "smpi"

    def missing(self) -> tuple[str, ...]:
        """The programs that are not installed."""
        tools = dict.fromkeys((self.free, self.fixed, self.c, self.launcher))
        return tuple(tool for tool in tools if shutil.which(tool) is None)

    def require(self) -> None:
        """Raise ``UsageError`` if programs are missing, with how to install them."""
        if missing := self.missing():
            raise UsageError(
                f"{self.title} is not installed: no {', '.join(missing)}; {self.installation()}"
            )

    def installation(self) -> str:
        """How to install it."""
        return f"on Debian it comes with 'apt-get install {' '.join(self.packages)}'"

    def compiler(self, source: Path) -> str:
        """The compiler driver for ``source``, by its suffix."""
        if source.suffix.lower() == ".c":
            return self.c
        return self.fixed if source.suffix.lower() in _FIXED else self.free

    def command(self, ranks: int, program: Path | str) -> list[str]:
        """The command that starts ``program``; for a simulated MPI see ``simgrid.command``."""
        return [self.launcher, "-np", str(ranks), str(program)]


OPENMPI = Mpi(
    "openmpi",
    "Open MPI",
    "mpif90.openmpi",
    "mpif90.openmpi",
    "mpicc.openmpi",
    "mpirun.openmpi",
    ("openmpi-bin", "libopenmpi-dev", "gfortran"),
)
MPICH = Mpi(
    "mpich",
    "MPICH",
    "mpif90.mpich",
    "mpif90.mpich",
    "mpicc.mpich",
    "mpirun.mpich",
    ("mpich", "libmpich-dev", "gfortran"),
)
SMPI = Mpi(
    "smpi",
    "SimGrid's SMPI",
    "smpif90",
    "smpiff",
    "smpicc",
    "smpirun",
    ("libsimgrid-dev", "gfortran"),
)
MPIS = (OPENMPI, MPICH, SMPI)

_ANY = ("mpif90", "mpifort", "mpif77", "mpicc", "mpirun", "mpiexec")


def how_to_get(program: str) -> str | None:
    """How to install a program that belongs to an MPI; None for other programs."""
    for mpi in MPIS:
        if program in (mpi.free, mpi.fixed, mpi.c, mpi.launcher):
            return mpi.installation()
    return OPENMPI.installation() if program in _ANY else None


# By default, Open MPI refuses to run as root, or more ranks than cores; waiting ranks should yield
# their core; and it complains in containers that forbid its single-copy mechanism.
_SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_btl_base_warn_component_unused": "0",
}


def environment() -> Mapping[str, str]:
    """The environment of every run: the user's, and variables that let any MPI run here."""
    return _SETTINGS | dict(os.environ)


def rank_count(count: int) -> str:
    """A number of ranks for people."""
    return "1 rank" if count == 1 else f"{count} ranks"
