"""The MPI implementations: how each compiles and starts a program, and how to get it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from asphalt.config.errors import UsageError

_FIXED = (".f", ".for", ".ftn", ".f77")


@dataclass(frozen=True, slots=True)
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
        """Whether ranks are simulated (no ``mpi_f08``, sources are rewritten by text)."""
        return self.name == "smpi"

    def missing(self) -> tuple[str, ...]:
        """The programs that are not installed."""
        tools = dict.fromkeys((self.free, self.fixed, self.c, self.launcher))
        return tuple(tool for tool in tools if shutil.which(tool) is None)

    def require(self) -> None:
        """Raises ``UsageError``, which says what is missing and how to get it."""
        if missing := self.missing():
            raise UsageError(
                f"{self.title} is not there: no {', '.join(missing)}; {self.installation()}"
            )

    def installation(self) -> str:
        """How to get it."""
        return f"on Debian it comes with 'apt-get install {' '.join(self.packages)}'"

    def compiler(self, source: Path) -> str:
        """The compiler driver for ``source``, by its suffix."""
        if source.suffix.lower() == ".c":
            return self.c
        return self.fixed if source.suffix.lower() in _FIXED else self.free

    def command(self, ranks: int, program: Path | str) -> list[str]:
        """Starts ``program`` on this machine; a simulated MPI needs ``simgrid.command``."""
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
    """How to get a program that an MPI would bring; None for other programs."""
    for mpi in MPIS:
        if program in (mpi.free, mpi.fixed, mpi.c, mpi.launcher):
            return mpi.installation()
    return OPENMPI.installation() if program in _ANY else None


# Open MPI refuses to run as root, and more ranks than cores, unless it is told; waiting ranks give
# their core to others; containers that forbid the single-copy mechanism make it complain.
_SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_btl_base_warn_component_unused": "0",
}


def environment() -> Mapping[str, str]:
    """The environment of every run: the user's, and what lets any MPI run here."""
    return _SETTINGS | dict(os.environ)
