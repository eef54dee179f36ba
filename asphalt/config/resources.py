"""The files that are shipped beside the Python modules: run-time parts and ``asphalt.mk``."""

from __future__ import annotations

from pathlib import Path

FORTRAN = "fortran_runtime"  # the folder of the run-time parts
CHARGES = f"{FORTRAN}/asphalt_charge.f90"
RACE = f"{FORTRAN}/race"  # a folder of C sources
MAKEFILE = "asphalt.mk"
CMAKE = "cmake/asphaltConfig.cmake"

_PACKAGE = Path(__file__).resolve().parents[1]


def shipped(name: str) -> Path:
    """Where the file or folder ``name`` is: in the installed package, else in the repository."""
    installed = _PACKAGE / "data" / name
    return installed if installed.exists() else _PACKAGE.parent / name
