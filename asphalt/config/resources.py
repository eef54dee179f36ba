"""The files that are shipped beside the Python modules: run-time parts and ``asphalt.mk``."""

from __future__ import annotations

from pathlib import Path

RUNTIME = "asphalt_rt.f90"
RUNTIME_F08 = "asphalt_rt_f08.f90"  # a part of it
CHARGES = "asphalt_charge.f90"
RACE = "race"  # a folder of C sources
MAKEFILE = "asphalt.mk"

_PACKAGE = Path(__file__).resolve().parents[1]
_IN_REPOSITORY = {
    RUNTIME: Path("fortran_runtime") / RUNTIME,
    RUNTIME_F08: Path("fortran_runtime") / RUNTIME_F08,
    CHARGES: Path("fortran_runtime") / CHARGES,
    RACE: Path("fortran_runtime") / RACE,
    MAKEFILE: Path(MAKEFILE),
}


def shipped(name: str) -> Path:
    """Where the file or folder ``name`` is: in the installed package, else in the repository."""
    installed = _PACKAGE / "data" / name
    return installed if installed.exists() else _PACKAGE.parent / _IN_REPOSITORY[name]
